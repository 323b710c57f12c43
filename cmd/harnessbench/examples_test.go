package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
)

// The examples run as they stand, and their sessions replay.
func TestExamples(t *testing.T) {
	t.Setenv("GITHUB_ACTIONS", "") // no summaries of these runs
	for name, want := range map[string]string{
		"my-suite.yaml": "5 scenarios x 2 models x 4 arms x 2 repetitions = 80 trials",
		"gates.yaml":    "all of 10 gates hold",
		"my-note":       "1 scenario x 2 models x 14 arms x 5 repetitions = 140 trials",
	} {
		out := filepath.Join(t.TempDir(), "run")
		var stdout, stderr bytes.Buffer
		args := []string{"run", "-q", "--fsync", "never", "-o", out, filepath.Join("..", "..", "examples", name)}
		if code := run(context.Background(), &stdout, &stderr, args); code != 0 || !strings.Contains(stdout.String()+stderr.String(), want) {
			t.Errorf("%s: exit %d: %s\n%.600s", name, code, stderr.String(), stdout.String())
		}
		stdout.Reset()
		if code := run(context.Background(), &stdout, &stderr, []string{"replay", "-q", out}); code != 0 {
			t.Errorf("replay %s: exit %d: %.600s", name, code, stdout.String())
		}
	}
}
