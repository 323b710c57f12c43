package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A replay that fails fast reports the same sessions however many run at a time.
func TestFailFastIsDeterministic(t *testing.T) {
	dir := t.TempDir()
	var out, errs bytes.Buffer
	made := filepath.Join(dir, "run")
	if code := run(context.Background(), &out, &errs, []string{"run", "-q", "-o", made, "--repetitions", "1", "--fsync", "never"}); code != 0 {
		t.Fatalf("run: exit %d: %s", code, errs.String())
	}
	all, err := filepath.Glob(filepath.Join(made, "sessions", "*.jsonl"))
	if err != nil || len(all) < 50 {
		t.Fatal(len(all), err)
	}
	for _, i := range []int{20, 21, 40} { // cut off: EXHAUSTED
		b, err := os.ReadFile(all[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(all[i], b[:len(b)-10], 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var first string
	for round := range 12 {
		out.Reset()
		code := run(context.Background(), &out, &errs, []string{"replay", "-q", "--json", "--fail-fast", "-j", fmt.Sprint(1 + round%6), made})
		if code != 1 {
			t.Fatalf("exit %d: %s", code, errs.String())
		}
		if first == "" {
			first = out.String()
			if n := bytes.Count(out.Bytes(), []byte(`"path"`)); n != 21 {
				t.Errorf("%d sessions are reported, want 21", n)
			}
		}
		if out.String() != first {
			t.Fatalf("-j %d reports otherwise", 1+round%6)
		}
	}
}
