package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/recorder/session"
)

const corpusGood = "../../testdata/corpus/good"

// loopMutants are the mutants that are in no guard: among stops that are due at
// once the table's order alone decides; feedback is dropped; the retries of the
// turns before are still counted.
var loopMutants = []string{"loop_order_of_stops", "loop_dropped_feedback", "loop_retry_budget"}

// always are guards whose mutant changes every firing.
var always = []string{"stuck", "monotony", "dedupe", "result_ceiling", "tool_deadline", "goal_reminder"}

// TestMutantsDiverge builds the program with a wrong decision in each guard and
// three in the loop (build tag mutants, one of them chosen by
// HARNESSBENCH_MUTANT) and replays the corpus: each diverges somewhere, a guard's
// nowhere but in sessions in which that guard fired, and not before it did. The
// right build, and the same one with none chosen, diverge nowhere.
func TestMutantsDiverge(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "mutant.exe")
	if b, err := exec.Command("go", "build", "-tags", "mutants", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, b)
	}
	fired := firings(t)
	for name, r := range replayMutant(t, bin, "") {
		if r.Divergence != nil {
			t.Errorf("%s diverges with no mutant chosen: %s", name, r.Reason)
		}
	}
	for _, name := range append(guard.Names(), loopMutants...) {
		t.Run(name, func(t *testing.T) {
			var where []string
			for file, r := range replayMutant(t, bin, name) {
				first, here := fired[file][name]
				switch ok := r.Verdict == "EXACT" || r.Verdict == "NOOP"; {
				case ok && here && slices.Contains(always, name):
					t.Errorf("%s: %s fired in turn %d and nothing diverges", file, name, first)
				case !ok && !here && !slices.Contains(loopMutants, name):
					t.Errorf("%s: %s never fired there, the mutant says %s: %s", file, name, r.Verdict, r.Reason)
				case !ok && r.Divergence != nil && r.Divergence.Turn < first:
					t.Errorf("%s: %s fired in turn %d, the mutant diverges in turn %d", file, name, first, r.Divergence.Turn)
				case !ok:
					where = append(where, strings.TrimSuffix(file, session.Suffix))
				}
			}
			slices.Sort(where)
			if len(where) == 0 {
				t.Error("no session of the corpus notices")
			}
			t.Logf("%d sessions notice: %s", len(where), strings.Join(where, " "))
		})
	}
	readmeShows(t, bin)
}

// firings tells in which turn each guard first fired, in force or in shadow, in
// each recording of the corpus.
func firings(t *testing.T) map[string]map[string]int {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(corpusGood, "*"+session.Suffix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]int{}
	for _, path := range paths {
		s, err := session.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		first := map[string]int{}
		for l, err := s.Next(); err == nil; l, err = s.Next() {
			if l.Type != session.TypeGuard {
				continue
			}
			g, err := l.Guard()
			if err != nil {
				t.Fatal(err)
			}
			if _, seen := first[g.Name]; !seen {
				first[g.Name] = l.Turn
			}
		}
		s.Close()
		out[filepath.Base(path)] = first
	}
	return out
}

// mutantReport is what these tests read of a replay's report.
type mutantReport struct {
	Path, Verdict, Reason string
	Divergence            *struct{ Turn int }
}

// replayMutant replays the recordings of the corpus with a mutant.
func replayMutant(t *testing.T, bin, name string) map[string]mutantReport {
	t.Helper()
	cmd := exec.Command(bin, "replay", "-q", "--json", corpusGood)
	cmd.Env = append(os.Environ(), "HARNESSBENCH_MUTANT="+name)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // the verdicts say it
	var got struct{ Sessions []mutantReport }
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil || len(got.Sessions) == 0 {
		t.Fatalf("mutant %s: %v: %s", name, err, stderr.String())
	}
	out := map[string]mutantReport{}
	for _, r := range got.Sessions {
		out[filepath.Base(r.Path)] = r
	}
	return out
}

// readmeShows checks that the README's example of a divergence is what a wrong
// build prints.
func readmeShows(t *testing.T, mutant string) {
	t.Helper()
	dir := t.TempDir()
	sound(t, dir)
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(mutant, "replay", "-q", filepath.Join(dir, "run", "sessions", "retry-trap.sim_weak.default.0.session.jsonl"))
	cmd.Env = append(os.Environ(), "HARNESSBENCH_MUTANT=stuck")
	out, _ := cmd.Output() // exit 1: it diverges
	lines := strings.Split(string(out), "\n")
	if len(lines) < 5 {
		t.Fatalf("the mutant stuck does not diverge: %s", out)
	}
	for _, line := range lines[1:5] {
		if !strings.Contains(string(readme), line) {
			t.Errorf("the README's divergence lacks %q", line)
		}
	}
}
