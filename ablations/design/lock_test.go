package design

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares with a file of testdata, or of the docs.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (run the test with -update when this is meant):\n%s", path, diff)
	}
}

// full is a suite that uses all that a lock can hold.
const full = `schema: harnessbench/suite/v1
name: full
scenarios: [builtin/retry-trap, builtin/big-answer]
models: [sim/weak, sim/strong]
arms:
  - {name: base}
  - {name: odd, prompt: {text: "It's \"odd\":\n\ttwo lines, \u00e9, \u2028, \U0001F600, \x7f and \\ # no: comment"}, models: [sim/strong]}
design: {kind: full-factorial, base: base}
factors:
  - {name: stuck, guard: stuck, levels: [off, enforce]}
  - {name: abort, guard: stuck, param: abort, levels: [4, 6]}
comparisons: [{a: base, b: odd, margin: 0.05}]
gates:
  - {arm: base, model: sim/weak, metric: pass_hat, k: 2, of: lo, min: 0}
  - {comparison: {a: base, b: odd}, metric: difference, min: -0.1, max: 1}
repetitions: 3
seed: 18446744073709551615
concurrency: 2
coupling: independent
limits: {turns: 8, tool_calls: 30, tokens: 100000, cost_usd: 0.25, wall: 90s}
budgets: {usd: 2.5, tokens: 2000000, trial_usd: 0.1}
errors: {allow: 0.05}
`

func planOf(t *testing.T, text string) *Plan {
	t.Helper()
	s := parse(t, text)
	list, err := s.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlan(s, list)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func encode(t *testing.T, l Lock) []byte {
	t.Helper()
	data, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The format of a lock. What guards there are, and how a standard prompt reads,
// is not what is tested here.
func TestLockGolden(t *testing.T) {
	p := planOf(t, strings.Replace(full, "[builtin/retry-trap, builtin/big-answer]", "[\"testdata/tasks/*.txtar\"]", 1))
	l := p.Lock()
	for i := range l.Arms {
		a := &l.Arms[i]
		if a.Prompt == l.Prompts[0].Digest {
			a.Prompt = "standard"
		}
		a.Guards, a.Digest = `{"stuck":{"mode":"`+string(p.Arms[i].Guards.Mode("stuck"))+`"}}`, "guards and prompt"
	}
	l.Prompts[0] = LockPrompt{"standard", "You complete one task.\nLook before you act."}
	golden(t, filepath.Join("testdata", "full.lock.yaml"), encode(t, l))
}

// What is written is what is read, and the plan of a lock is the plan that the
// lock was made of: the same trials in the same order under the same limits.
func TestLockRoundTrip(t *testing.T) {
	texts := map[string]string{"full": full, "plain": head}
	for name, text := range texts {
		p := planOf(t, text)
		data := encode(t, p.Lock())
		l, err := ParseLock("lock", data)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, data)
		}
		if again := encode(t, l); !bytes.Equal(data, again) {
			t.Errorf("%s: %s", name, cmp.Diff(string(data), string(again)))
		}
		q, err := PlanFromLock(l, "nowhere")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(p.Trials) != len(q.Trials) {
			t.Fatalf("%s: %d and %d trials", name, len(p.Trials), len(q.Trials))
		}
		for i := range p.Trials {
			a, b := &p.Trials[i], &q.Trials[i]
			if a.Key() != b.Key() || !a.Arm.same(&b.Arm) || !reflect.DeepEqual(a.Arm.Levels, b.Arm.Levels) || a.Scenario.Limits != b.Scenario.Limits {
				t.Fatalf("%s: trial %d: %s and %s differ", name, i, a.Key(), b.Key())
			}
		}
		s, r := *p.Suite, *q.Suite
		s.Limits.Pos, s.Budgets.Pos = strictyaml.Pos{}, strictyaml.Pos{}
		if s.Limits != r.Limits || s.Budgets != r.Budgets || s.Errors != r.Errors || s.Coupling != r.Coupling || s.Seed != r.Seed ||
			s.Concurrency != r.Concurrency || s.Digest != r.Digest || len(s.Gates) != len(r.Gates) {
			t.Errorf("%s: the suites differ:\n%+v\n%+v", name, s, r)
		}
	}
}

// A lock does not depend on where its suite stands, and its scenarios are found
// again from another folder.
func TestLockIsPortable(t *testing.T) {
	var locks [][]byte
	folders := []string{"a", "b[1]{x,*}/c"} // what a folder is called is no glob
	if runtime.GOOS == "windows" {
		folders[1] = "b/c" // such names are not possible, and nothing could escape them
	}
	for _, below := range folders {
		dir := filepath.Join(t.TempDir(), below)
		writeScenario(t, filepath.Join(dir, "tasks", "note"), "Write hello into note.txt.")
		path := filepath.Join(dir, "suite.yaml")
		if err := os.WriteFile(path, []byte("schema: harnessbench/suite/v1\nname: own\nscenarios: [tasks/*]\nmodels: [sim/weak]\narms: [{name: base}]\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		s, list, err := OpenSuite(path)
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewPlan(s, list)
		if err != nil {
			t.Fatal(err)
		}
		l := p.Lock()
		if l.Scenarios[0].Source != "tasks/note" || s.Folder() != dir {
			t.Errorf("source %q, folder %q", l.Scenarios[0].Source, s.Folder())
		}
		locks = append(locks, encode(t, l))
		if _, err := PlanFromLock(l, dir); err != nil {
			t.Error(err)
		}
		if _, err := PlanFromLock(l, t.TempDir()); err == nil || !strings.Contains(err.Error(), "scenario note is not at ") {
			t.Error(err)
		}
		writeScenario(t, filepath.Join(dir, "tasks", "note"), "Write goodbye into note.txt.")
		if _, err := PlanFromLock(l, dir); err == nil || !strings.HasPrefix(err.Error(), "scenario note changed since the run began: ") {
			t.Error(err)
		}
	}
	if !bytes.Equal(locks[0], locks[1]) {
		t.Error(cmp.Diff(string(locks[0]), string(locks[1])))
	}
}

func writeScenario(t *testing.T, dir, task string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	yaml := "schema: harnessbench/scenario/v1\nid: note\nsummary: writes a note\ntools: [write_file]\ngraders: [{type: file_equals, path: note.txt, want: hello}]\n"
	for name, text := range map[string]string{"scenario.yaml": yaml, "instruction.md": task} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A lock that is not what a run wrote is refused.
func TestLockRefused(t *testing.T) {
	whole := string(encode(t, planOf(t, full).Lock()))
	for _, c := range []struct{ old, new, want string }{
		{"schema: harnessbench/suite-lock/v1", "schema: harnessbench/suite-lock/v2", "this version reads"},
		{"coupling: independent\n", "", "was imported, or begun by a version"},
		{"coupling: independent\n", "coupling: loose\n", "changed by hand"},
		{"repetitions: 3", "repetitions: 0", "changed by hand"},
		{"repetitions: 3", "repetitions: 300000000", "the limit is 10000000 trials"},
		{"errors_allow: 0.05", "errors_allow: 7", "changed by hand"},
		{"wall: '1m30s'", "wall: soon", "wall is no duration"},
		{`"abort":4`, `"abort":5`, "the arm \"stuck-off.abort-4\" does not have its digest"},
		{"two lines", "ten lines", "a prompt does not have its digest"},
		{"name: odd", "name: 'o d'", "does not have its digest"},
		{"id: retry-trap", "id: other", "scenario other changed since the run began"},
		{"source: builtin/retry-trap", "source: builtin/gone", "no embedded scenario"},
		{"date: '2026", "date: '2025", "prices changed since the run began"},
		{"wall: '1m30s'", "wall: '90s'", "changed by hand, or made by another version"},
		{"seed: 18446744073709551615", "seed: 18446744073709551616", "lock:4:7: this must be a whole number"},
		{"name: full", "nome: full", `unknown key "nome"`},
	} {
		text := strings.Replace(whole, c.old, c.new, 1)
		if text == whole {
			t.Errorf("the lock has no %q:\n%s", c.old, whole)
			continue
		}
		l, err := ParseLock("lock", []byte(text))
		if err == nil {
			_, err = PlanFromLock(l, "")
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s -> %s: %v, want %q", c.old, c.new, err, c.want)
		}
	}
}

// The lock of the largest suite can be read back.
func TestLargestLock(t *testing.T) {
	p := planOf(t, head)
	base := p.Arms[0]
	p.Arms = nil
	for i := range MaxArms {
		a := base
		a.Name = strings.Repeat("x", 90) + "-" + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676))
		p.Arms = append(p.Arms, a)
		p.Comparisons = append(p.Comparisons, Comparison{A: base.Name, B: a.Name, Guard: "stuck"})
	}
	data := encode(t, p.Lock())
	l, err := ParseLock("lock", data)
	if err != nil || len(l.Arms) != MaxArms {
		t.Fatalf("%d bytes: %d arms, %v", len(data), len(l.Arms), err)
	}
}

func TestReadLockErrors(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := ReadLock(filepath.Join(dir, "none")); !os.IsNotExist(err) {
		t.Error(err)
	}
	if _, _, err := ReadLock(dir); err == nil || !strings.Contains(err.Error(), "a lock is a file") {
		t.Error(err)
	}
}

// Any text comes back as it was, and what is no text is refused.
func FuzzLockText(f *testing.F) {
	for _, s := range []string{"", "a", "no", "~", "1e3", "a: b", " a", "a ", "'", `"`, "a\nb\n", "\t", "#x", "é\u2028", "\x00", "- a", "{a}", "\\", "0x1", ".inf", "a'b", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		data, err := Lock{Schema: LockSchema, Name: s, Models: []string{s, s}, Arms: []LockArm{{Name: s, Guards: s}}}.Encode()
		if !validText(s) {
			if err == nil || !strings.Contains(err.Error(), "not UTF-8") {
				t.Errorf("%q was written, with error %v; a lock holds UTF-8", s, err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		l, err := ParseLock("lock", data)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if l.Name != s || l.Models[1] != s || l.Arms[0].Name != s || l.Arms[0].Guards != s {
			t.Fatalf("%q came back as %q\n%s", s, l.Name, data)
		}
	})
}

// Whatever a lock holds: a plan, or an error; never a panic.
func FuzzPlanFromLock(f *testing.F) {
	f.Add([]byte("schema: harnessbench/suite-lock/v1\nname: a\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ParseLock("lock", data)
		if err != nil {
			return
		}
		if p, err := PlanFromLock(l, "nowhere"); err == nil && len(p.Trials) == 0 {
			t.Error("a plan without trials")
		}
	})
}

// A half fraction and a comparison of two models come back from a lock as they
// went in.
func TestLockRoundTripDesigns(t *testing.T) {
	const fraction = front + `design: {kind: fractional, base: default}
factors:
  - {name: a, guard: stuck, levels: [off, enforce]}
  - {name: b, guard: spill, levels: [off, enforce]}
  - {name: c, guard: stuck, param: abort, levels: [4, 6]}
`
	for _, text := range []string{fraction, cross} {
		p := planOf(t, text)
		l, err := ParseLock("suite.lock.yaml", encode(t, p.Lock()))
		if err != nil {
			t.Fatal(err)
		}
		again, err := PlanFromLock(l, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(encode(t, p.Lock())), string(encode(t, again.Lock()))); diff != "" {
			t.Error(diff)
		}
		if again.Aliases() != p.Aliases() || (p.Aliases() == "") != (text == cross) || !reflect.DeepEqual(again.Factors, p.Factors) {
			t.Errorf("aliases %q and %q, factors %v and %v", p.Aliases(), again.Aliases(), p.Factors, again.Factors)
		}
		if text != cross {
			continue
		}
		arms, err := l.ArmList()
		if err != nil {
			t.Fatal(err)
		}
		if a, b, ok := CrossModels(&arms[1], &arms[0]); !ok || a != "sim/weak" || b != "sim/strong" {
			t.Errorf("models %q and %q, %v", a, b, ok)
		}
	}
}
