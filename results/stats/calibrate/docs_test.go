package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocs: the tables of docs/statistics.md are those that the command prints: the
// same titles, heads and cells, by 20,000 suites, with no bound broken. How many
// there are and what stands before the numbers is compared, not the numbers.
func TestDocs(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "statistics.md"))
	if err != nil {
		t.Fatal(err)
	}
	doc := string(b)
	if !strings.Contains(doc, "go run ./results/stats/calibrate -suites 20000\n") {
		t.Error("the command is not the one that made the tables")
	}
	if !strings.Contains(doc, "\n0 bounds broken.\n") {
		t.Error("it does not say that no bound was broken")
	}
	for _, s := range sections {
		_, rest, ok := strings.Cut(doc, "<!-- calibrate: "+s.name+" -->\n")
		block, _, end := strings.Cut(rest, "<!-- end -->")
		if !ok || !end {
			t.Errorf("no block for %s", s.name)
			continue
		}
		heads, rows := layout(s.name)
		for _, h := range heads {
			if !strings.Contains(block, h) {
				t.Errorf("%s: no head %q", s.name, h)
			}
		}
		for _, title := range s.titles {
			if !strings.Contains(block, title+"\n") {
				t.Errorf("%s: no title %q", s.name, title)
			}
		}
		got := 0
		for line := range strings.Lines(block) {
			if strings.HasPrefix(line, "| ") && strings.Count(line, "|") > 3 {
				got++
			}
		}
		if got != rows+len(heads) {
			t.Errorf("%s: %d lines of tables, want %d", s.name, got, rows+len(heads))
		}
		for _, first := range firsts(s.name) {
			if !strings.Contains(block, "\n| "+first+" |") {
				t.Errorf("%s: no row that begins %q", s.name, first)
			}
		}
	}
}

// layout is the heads of a section's tables, and how many rows they have.
func layout(name string) (heads []string, rows int) {
	switch name {
	case "size":
		return []string{"| bias, no effect | bias, effect |"}, len(sizeCells(false))
	case "margin":
		return []string{"| margin | not inferior | equivalent |"}, len(sizeCells(false))
	case "coverage":
		return []string{"| true rate | 10 x 1 |", "| interval | 10 x 1 |"}, len(coverageRates(false)) + intervals + 1
	}
	return []string{"| power by formula | power seen |"}, len(powerCells(false))
}

// firsts are how rows begin.
func firsts(name string) (out []string) {
	switch name {
	case "size", "margin":
		for _, c := range sizeCells(false) {
			out = append(out, strings.Join(c.columns(), " | "))
		}
	case "coverage":
		out = append(out, intervalNames[:]...)
	}
	return out
}
