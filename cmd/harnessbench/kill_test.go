//go:build unix

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/results"
)

// longSuite is a suite of few long trials, one call a turn, so that a kill mostly
// falls inside a trial.
func longSuite(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`schema: harnessbench/scenario/v1
id: pages
summary: fetch page after page and write the last one down
limits: {turns: 60, tool_calls: 100}
tools:
- write_file
- name: fetch
  kind: mock
  description: Fetches the next page.
  takes: 5ms
  cycle: true
  responses:
`)
	for i := range 40 {
		fmt.Fprintf(&b, "  - {text: \"page %d of 40%s\"}\n", i+1, strings.Repeat(" and so on", 20))
	}
	b.WriteString("graders:\n- {type: file_equals, path: last.txt, want: \"page 40\"}\n")
	files := map[string]string{
		"pages/scenario.yaml":  b.String(),
		"pages/instruction.md": "Fetch all pages; write the last one's number into last.txt.",
		"pages/oracle.yaml": `facts:
  last: {in: tool, from: fetch, match: '(page 40)'}
  written: {in: tool, from: write_file, match: 'wrote \d+ bytes'}
rules:
- {id: answer, need: [written], do: {say: done}}
- {id: write, need: [last], trap: wrong, do: {tool: write_file, args: {path: /workspace/last.txt, content: "page 40"}},
   habit: {tool: write_file, args: {path: /workspace/last.txt, content: "page 39"}}}
- {id: fetch, do: {tool: fetch, args: {}}}
`,
		"suite.yaml": `schema: harnessbench/suite/v1
name: long
scenarios: [./pages]
models: [sim/weak, sim/medium]
arms: [{name: default}, {name: none, profile: none}]
design: {kind: leave-one-out, base: default, guards: [stuck]}
repetitions: 2
seed: 3
`,
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "suite.yaml")
}

// program builds the real program once.
func program(t *testing.T, dir string) string {
	t.Helper()
	bin := filepath.Join(dir, "harnessbench")
	if b, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, b)
	}
	return bin
}

// contents reads what two equal runs have in common: sessions, sorted journal,
// tables and reports.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, sub := range []string{"sessions", "parquet"} {
		entries, err := os.ReadDir(filepath.Join(dir, sub))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.IsDir() {
				continue
			}
			b, err := os.ReadFile(filepath.Join(dir, sub, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			out[sub+"/"+e.Name()] = string(b)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, results.JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(b), "\n")
	slices.Sort(lines)
	out["journal"] = strings.Join(lines, "\n")
	for _, name := range []string{"report.json", "report.md", "report.html", "suite.lock.yaml"} {
		if b, err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		out[name] = string(b)
	}
	return out
}

func sameRun(t *testing.T, want, got map[string]string) {
	t.Helper()
	for name := range want {
		if _, ok := got[name]; !ok {
			t.Errorf("%s is missing", name)
		} else if got[name] != want[name] {
			t.Errorf("%s differs", name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s should not be there", name)
		}
	}
}

// TestKilledRunsResume kills a real run 60 times at random moments, most of them
// inside an unfinished trial and many of them during a resumption, and resumes:
// what comes out is what comes out of a run that was never killed.
func TestKilledRunsResume(t *testing.T) {
	dir := t.TempDir()
	bin, suite := program(t, dir), longSuite(t, dir)
	ref := filepath.Join(dir, "reference")
	if b, err := exec.Command(bin, "run", "-q", suite, "-o", ref).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	want := contents(t, ref)
	rng := rand.New(rand.NewPCG(1, 2)) // only the moments of the kills hang on it
	kills, inside, resumedKills := 0, 0, 0
	for n := 0; (kills < 60 || inside < 30 || resumedKills < 10) && kills < 300; n++ {
		out := filepath.Join(dir, fmt.Sprintf("run%d", n))
		args := []string{"run", "-q", "--fsync", "turns", suite, "-o", out}
		for first := true; ; first = false {
			cmd := exec.Command(bin, args...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			var done bool
			select {
			case err := <-ended:
				if err != nil {
					t.Fatalf("run %d: %v\n%s", n, err, stderr.String())
				}
				done = true
			case <-time.After(time.Duration(20+rng.IntN(220)) * time.Millisecond):
				_ = cmd.Process.Kill() // it may have ended just now
				done = <-ended == nil
			}
			if done {
				break
			}
			kills++
			if open, _ := filepath.Glob(filepath.Join(out, "sessions", "*.partial")); len(open) > 0 {
				inside++
			}
			if !first {
				resumedKills++
			}
			if _, err := os.Stat(filepath.Join(out, "run.json")); err == nil {
				if _, err := os.Stat(filepath.Join(out, "suite.lock.yaml")); err == nil {
					args = []string{"run", "-q", "--fsync", "turns", "--resume", out}
				}
			}
			if args[len(args)-2] == "-o" { // killed before there was a run: begin again
				if err := os.RemoveAll(out); err != nil {
					t.Fatal(err)
				}
			}
		}
		sameRun(t, want, contents(t, out))
		if t.Failed() {
			t.Fatalf("run %d came out differently after %d kills", n, kills)
		}
	}
	t.Logf("%d kills, %d of them inside a trial, %d during a resumption", kills, inside, resumedKills)
	if inside < 30 || resumedKills < 10 {
		t.Errorf("%d kills inside a trial, %d during a resumption: too few to prove anything", inside, resumedKills)
	}
}
