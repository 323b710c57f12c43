package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite what the README shows")

// TestReadmeShowsWhatIsPrinted keeps the README's first text block equal to the
// beginning of the starter suite's report, and its figures of a replay true.
func TestReadmeShowsWhatIsPrinted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	var out, errs bytes.Buffer
	if code := run(context.Background(), &out, &errs, []string{"run", "-q", "-o", dir, "--fsync", "never"}); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	text := out.String()
	end := strings.Index(text, "\nEvery arm\n")
	if end < 0 {
		t.Fatalf("the report has no part about every arm:\n%.2000s", text)
	}
	want := strings.TrimRight(text[:end], "\n") + "\n"
	path := filepath.Join("..", "..", "README.md")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)## What a run says\n\n```text\n(.*?)```")
	at := block.FindSubmatchIndex(b)
	if at == nil {
		t.Fatal("the README has no text block under: What a run says")
	}
	if got := string(b[at[2]:at[3]]); got != want {
		if *update {
			b = append(append(append([]byte{}, b[:at[2]]...), want...), b[at[3]:]...)
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
		} else {
			t.Errorf("the README shows another report than run prints; see: go test ./cmd/harnessbench -run Readme -update\nwant:\n%s", want)
		}
	}
	out.Reset()
	if code := run(context.Background(), &out, &errs, []string{"replay", "-q", dir}); code != 0 {
		t.Fatalf("replay: exit %d: %s", code, out.String())
	}
	if !bytes.Contains(b, bytes.TrimSpace(out.Bytes())) {
		t.Errorf("the README does not show what replay prints: %s", out.String())
	}
}
