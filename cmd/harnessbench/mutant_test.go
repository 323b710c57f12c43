package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/results"
)

// TestMutantStuckDiverges builds the program with a wrong stuck guard (build tag
// mutant_stuck: it nudges one round too late) and replays a run of the right one:
// exactly the sessions in which stuck fired diverge, each in the turn of its
// first firing.
func TestMutantStuckDiverges(t *testing.T) {
	dir := t.TempDir()
	run1 := filepath.Join(dir, "run")
	var out, errs bytes.Buffer
	if code := run(context.Background(), &out, &errs, []string{"run", "-q", "-o", run1, "--repetitions", "2", "--fsync", "never"}); code != 0 {
		t.Fatalf("run: exit %d: %s", code, errs.String())
	}
	c, err := results.ReadJournalFile(filepath.Join(run1, results.JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	fired := map[string]int{} // session -> turn
	for _, tr := range c.Trials() {
		for _, g := range tr.Guards {
			if g.Guard == "stuck" && g.Fired > 0 {
				fired[tr.Session] = *g.FirstTurn
			}
		}
	}
	if len(fired) == 0 || len(fired) == len(c.Trials()) {
		t.Fatalf("stuck fired in %d of %d sessions: the test needs some of each", len(fired), len(c.Trials()))
	}
	mutant := filepath.Join(dir, "mutant.exe")
	if b, err := exec.Command("go", "build", "-tags", "mutant_stuck", "-o", mutant, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, b)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(mutant, "replay", "-q", "--json", run1)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("mutant replay: %v, want exit 1: %s", err, stderr.String())
	}
	var got replayJSON
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for _, r := range got.Sessions {
		name := filepath.Base(r.Path)
		turn, want := fired[name]
		switch {
		case want && (r.Divergence == nil || r.Divergence.Turn != turn):
			t.Errorf("%s: stuck fired in turn %d, the mutant says %s %+v", name, turn, r.Verdict, r.Divergence)
		case !want && r.Verdict != "EXACT":
			t.Errorf("%s: stuck never fired, the mutant says %s: %s", name, r.Verdict, r.Reason)
		}
	}
	readmeShows(t, mutant, filepath.Join(run1, "sessions", "retry-trap.sim_weak.default.0.session.jsonl"))
}

// readmeShows checks that the README's example of a divergence is what a wrong
// build prints.
func readmeShows(t *testing.T, mutant, session string) {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	out, _ := exec.Command(mutant, "replay", "-q", session).Output() // exit 1: it diverges
	lines := strings.Split(string(out), "\n")
	for _, line := range lines[1:min(5, len(lines))] {
		if !strings.Contains(string(readme), line) {
			t.Errorf("the README's divergence lacks %q", line)
		}
	}
}
