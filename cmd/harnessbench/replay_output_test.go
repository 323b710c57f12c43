package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/replayer"
)

// TestCodesAreDocumented keeps the list of codes in docs/replay.md equal to the
// table, and every code that the documentation names known.
func TestCodesAreDocumented(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "replay.md")
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- generated: codes -->\n", "<!-- end of generated -->\n"
	head, rest, ok := strings.Cut(string(doc), begin)
	old, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("docs/replay.md has no %q ... %q", begin, end)
	}
	want := codesMarkdown()
	if old != want {
		if !*update {
			t.Fatal("the codes of docs/replay.md are not those of the table: go test ./cmd/harnessbench -run Documented -update")
		}
		if err := os.WriteFile(path, []byte(head+begin+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, filepath.Join("..", "..", "README.md")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, code := range regexp.MustCompile(`HB\d+`).FindAllString(string(text), -1) {
			if _, ok := replayer.Explain(code); !ok {
				t.Errorf("%s names the code %s, which does not exist", file, code)
			}
		}
	}
	for _, c := range replayer.Codes {
		if !strings.Contains(want, "#### "+string(c.Code)+" ") {
			t.Errorf("%s has no section", c.Code)
		}
	}
}

// codesMarkdown is the table of codes as the documentation has it: an overview,
// then a section for each.
func codesMarkdown() string {
	var b strings.Builder
	b.WriteString("\n| code | name | what happened |\n|---|---|---|\n")
	for _, c := range replayer.Codes {
		b.WriteString("| [" + string(c.Code) + "](#" + strings.ToLower(string(c.Code)) + "-" + c.Name + ") | " + c.Name + " | " + c.Title + " |\n")
	}
	list := func(head string, lines []string) {
		b.WriteString("\n" + head + "\n\n")
		for _, s := range lines {
			b.WriteString("- " + s + "\n")
		}
	}
	for _, c := range replayer.Codes {
		b.WriteString("\n#### " + string(c.Code) + " " + c.Name + "\n\n" + strings.ToUpper(c.Title[:1]) + c.Title[1:] + ". " + c.Means + "\n")
		list("Usual causes:", c.Causes)
		list("What to do:", c.Do)
	}
	b.WriteString("\n")
	return b.String()
}
