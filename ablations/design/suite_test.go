package design

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

// head is the start of a suite that is right; tests add what they are about
// from line 6.
const head = `schema: harnessbench/suite/v1
name: test
scenarios: [builtin/retry-trap, builtin/big-answer]
models: [sim/weak, sim/strong]
arms: [{name: default}, {name: none, profile: none}]
`

// cross compares two arms that run on one model each.
const cross = `schema: harnessbench/suite/v1
name: test
scenarios: [builtin/retry-trap]
arms: [{name: default, models: [sim/strong]}, {name: none, profile: none, models: [sim/weak]}]
comparisons: [{a: none, b: default}]
`

func parse(t *testing.T, text string) *Suite {
	t.Helper()
	s, err := ParseSuite("suite.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSuiteKeys(t *testing.T) {
	s := parse(t, head+`summary: all keys
tags: [retry]
exclude_tags: [harms]
repetitions: 3
seed: 7
concurrency: 4
coupling: independent
limits: {turns: 8, tool_calls: 20, tokens: 5000, cost_usd: 0.25, wall: 90s}
budgets: {usd: 1.5, tokens: 1000000, trial_usd: 0.000001}
errors: {allow: 0.05}
comparisons: [{a: none, b: default, margin: 0.05}]
gates:
  - {arm: default, metric: rate, of: lo, min: 0.4}
  - {comparison: {a: none, b: default}, model: sim/weak, metric: difference, min: 0}
`)
	if s.Repetitions != 3 || s.Seed != 7 || s.Concurrency != 4 || s.Coupling != Independent || s.Errors.Allow != 0.05 {
		t.Errorf("scalars: %+v", s)
	}
	if l := s.Limits; l.Turns != 8 || l.ToolCalls != 20 || l.Tokens != 5000 || l.CostMicroUSD != 250_000 || l.Wall != 90*time.Second {
		t.Errorf("limits: %+v", l)
	}
	if b := s.Budgets; b.MicroUSD != 1_500_000 || b.Tokens != 1_000_000 || b.TrialMicroUSD != 1 {
		t.Errorf("budgets: %+v", b)
	}
	if c := s.Comparisons[0]; c.Margin != 0.05 || c.String() != "default against none" {
		t.Errorf("comparison: %+v", c)
	}
	if g := s.Gates; len(g) != 2 || *g[0].Min != 0.4 || g[0].Of != "lo" || *g[1].Min != 0 || g[1].Comparison.B != "default" {
		t.Errorf("gates: %+v", g)
	}
	d := parse(t, head)
	if d.Digest != hexDigest(head) || s.Digest == d.Digest {
		t.Errorf("digests %q, %q", s.Digest, d.Digest)
	}
	if d.Repetitions != 1 || d.Seed != 1 || d.Coupling != SharedPrefix || d.Errors.Allow != 0 || d.Limits.Turns != 0 {
		t.Errorf("defaults: %+v", d)
	}
}

// Every mistake is an error with its place and a remedy.
func TestSuiteErrors(t *testing.T) {
	const minimal = "schema: harnessbench/suite/v1\nname: test\n"
	for _, c := range []struct{ text, want string }{
		{"", "1:1: the file is empty"},
		{"schema: x/v9\nname: a\n", "1:9: schema is"},
		{"schema: harnessbench/suite/v1\nname: a/b\n", "2:7: the name"},
		{minimal + "scenarois: [a]\n", `3:1: unknown key "scenarois"; did you mean "scenarios"?`},
		{minimal + "models: [sim/weak]\n", "1:1: no scenarios"},
		{minimal + "scenarios: [builtin/*]\narms: [{name: a}]\n", "1:1: no models"},
		{minimal + "scenarios: [builtin/*]\nmodels: [sim/weak]\n", "1:1: no arms"},
		{minimal + "scenarios: [a, b, a]\n", "3:19: the scenarios"},
		{minimal + "scenarios: [a]\nmodels: [sim/weak, weak]\n", `4:20: "weak" names no model`},
		{minimal + "scenarios: [a]\nmodels: [sim/weak, sim/weak]\n", "4:20: the model"},
		{minimal + "scenarios: [a]\nmodels: [\"sim/a b\"]\n", "4:10: \"sim/a b\" names no model"},
		{head + "tags: [a]\nexclude_tags: [b, a]\n", `7:19: the tag "a" is wanted and excluded`},
		{head + "summary: \"a\\nb\"\n", "6:10: the summary has several lines"},
		{head + "repetitions: 0\n", "6:14: repetitions is 0; use 1 to 100000"},
		{head + "repetitions: many\n", "6:14: this must be a whole number"},
		{head + "concurrency: -1\n", "6:14: concurrency is -1"},
		{head + "seed: -1\n", "6:7: -1 is no whole number in range"},
		{head + "coupling: loose\n", `6:11: no coupling "loose"; write shared-prefix or independent`},
		{head + "limits: {turns: 0}\n", "6:17: turns is 0; use 1 to 100000"},
		{head + "limits: {cost_usd: 0}\n", `6:20: "0" is no amount`},
		{head + "limits: {cost_usd: 0.0000001}\n", `6:20: "0.0000001" is no amount`},
		{head + "limits: {wall: 10}\n", `6:16: "10" is no duration`},
		{head + "limits: {wall: -5s}\n", `6:16: "-5s" is no duration`},
		{head + "limits: {stops: 1}\n", `6:10: unknown key "stops"`},
		{head + "budgets: {usd: free}\n", `6:16: "free" is no amount`},
		{head + "budgets: {tokens: 0}\n", "6:19: tokens is 0; use 1 or more"},
		{head + "errors: {allow: 1.5}\n", "6:17: allow is 1.5; use 0 to 1"},
		{head + "comparisons: [{a: none, b: defualt}]\n", `6:15: the comparison's b is no arm: "defualt"`},
		{head + "comparisons: [{a: none, b: none}]\n", `6:15: the arm "none" is compared with itself`},
		{head + "comparisons: [{a: none, b: default, guard: spil}]\n", `6:15: no guard "spil"`},
		{head + "comparisons: [{a: none, b: default, guard: stuck}]\n", "6:15: none and default do not differ in the guard stuck alone"},
		{head + "comparisons: [{a: none, b: default, margin: 2}]\n", "6:45: margin is 2"},
		{head + "comparisons: [{a: none, b: default}, {a: none, b: default}]\n", "6:38: none and default are compared twice"},
		{head + "comparisons: [{a: none}]\n", `6:15: the key "b" is missing`},
		{head + "gates: [{metric: rate, min: 1}]\n", "6:9: a gate holds either an arm or a comparison"},
		{head + "gates: [{arm: x, metric: rate, min: 1}]\n", `6:9: the gate's arm is no arm: "x"`},
		{head + "gates: [{arm: none, metric: speed, min: 1}]\n", `6:9: no metric "speed" here; write one of rate`},
		{head + "gates: [{arm: none, metric: difference, min: 1}]\n", `6:9: no metric "difference" here`},
		{head + "gates: [{arm: none, metric: rate}]\n", "6:9: the gate has no bound"},
		{head + "gates: [{arm: none, metric: rate, min: 2, max: 1}]\n", "6:9: min 2 is more than max 1"},
		{head + "gates: [{arm: none, metric: pass_hat, min: 1}]\n", "6:9: metric pass_hat with k 0"},
		{head + "gates: [{arm: none, metric: pass_hat, k: -2, min: 1}]\n", "6:42: k is -2"},
		{head + "gates: [{arm: none, metric: tokens, of: lo, max: 1}]\n", "6:9: the metric tokens has no interval"},
		{head + "gates: [{arm: none, metric: rate, of: mid, max: 1}]\n", `6:9: of is "mid"`},
		{head + "gates: [{arm: none, metric: rate, min: 1, model: sim/medium}]\n", "6:9: the gate's model is none"},
		{head + "gates: [{comparison: {a: none, b: default}, metric: p, max: 1}]\n", "6:9: the gate's comparison is none of the suite's"},
		{cross + "gates: [{comparison: {a: none, b: default}, metric: p, max: 1, model: sim/weak}]\n", "6:9: none and default run on two models, and \"sim/weak\" is not b's; leave model out, or write b's: sim/strong"},
		{head + "comparisons: [{a: none, b: default}]\ngates: [{comparison: {a: none, b: default}, metric: where_fired, min: 0}]\n", "7:9: where_fired needs a guard, and default against none compares whole arms"},
		{head + "comparisons: [{a: none, b: default}]\ngates: [{comparison: {a: none, b: default}, metric: p_not_inferior, max: 0.05}]\n", "7:9: default against none has no margin"},
	} {
		_, err := ParseSuite("s.yaml", []byte(c.text))
		wantError(t, c.text, err, "s.yaml:"+c.want)
	}
}

// wantError holds an error against what it must say, and against what every
// error of a suite must be: a place and a remedy.
func wantError(t *testing.T, text string, err error, want string) {
	t.Helper()
	var e *strictyaml.Error
	switch {
	case err == nil:
		t.Errorf("no error for:\n%s\nwant %s", text, want)
	case !strings.HasPrefix(err.Error(), want):
		t.Errorf("error %q\nwant %q for:\n%s", err, want, text)
	case !errors.As(err, &e) || e.Line == 0 || e.Fix == "":
		t.Errorf("%q has no place or no remedy", err)
	}
}

// A gate on a comparison of two models is on b's.
func TestCrossGates(t *testing.T) {
	for _, model := range []string{"", ", model: sim/strong"} {
		if s := parse(t, cross+"gates: [{comparison: {a: none, b: default}, metric: difference, of: lo, min: 0"+model+"}]\n"); len(s.Gates) != 1 {
			t.Errorf("%+v", s.Gates)
		}
	}
}

func TestArmErrors(t *testing.T) {
	const front = "schema: harnessbench/suite/v1\nname: test\nscenarios: [builtin/*]\nmodels: [sim/weak]\narms:\n"
	for _, c := range []struct{ arms, want string }{
		{"  - {name: a, profile: half}\n", `6:5: arm a: no profile "half"`},
		{"  - {name: a b}\n", `6:5: the arm name "a b"`},
		{"  - {name: a}\n  - {name: A}\n", `7:5: two arms are called "A"`},
		{"  - {name: a, guards: {stuk: off}}\n", `6:30: no guard "stuk"`},
		{"  - {name: a, guards: {stuck: on}}\n", `6:31: guard stuck: no mode "on"`},
		{"  - {name: a, guards: {stuck: {abort: no}}}\n", `6:39: guard stuck, parameter abort: "no" is no whole number`},
		{"  - {name: a, guards: {stuck: {abort: [1]}}}\n", "6:39: stuck.abort is no single value"},
		{"  - {name: a, guards: {stuck: 5}}\n", "6:31: the guard stuck is set to neither"},
		{"  - {name: a, models: [sim/strong]}\n", `6:5: the model "sim/strong" is none of the suite's models`},
		{"  - {name: a, models: [sim/weak, sim/weak]}\n", `6:5: arm a: the model "sim/weak" stands twice`},
		{"  - {name: a, prompt: {}}\n", "6:23: the prompt is empty"},
		{"  - {name: a, prompt: {text: a, file: b}}\n", "6:23: the prompt has text and file"},
		{"  - {name: a, prompt: {file: nope.md}}\n", "6:23: the prompt cannot be read"},
		{"  - {name: a, prompt: {file: ../../etc/hosts}}\n", "6:23: the prompt cannot be read"},
		{"  - {name: a, prompt: {text: \"  \"}}\n", "6:23: the prompt is empty"},
		{"  - {name: a, prompt: {text: \"a\\0b\"}}\n", "6:23: the prompt holds a zero byte"},
	} {
		_, err := ParseSuite("s.yaml", []byte(front+c.arms))
		wantError(t, c.arms, err, "s.yaml:"+c.want)
	}
}

func TestPromptFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	suite := func(file string) (*Suite, error) {
		write("suite.yaml", "schema: harnessbench/suite/v1\nname: p\nscenarios: [builtin/retry-trap]\nmodels: [sim/weak]\narms: [{name: a, prompt: {file: "+file+"}}]\n")
		return LoadSuite(filepath.Join(dir, "suite.yaml"))
	}
	write("short.md", "\nBe short.\n\n")
	s, err := suite("short.md")
	if err != nil {
		t.Fatal(err)
	}
	arms, _, err := s.Expand()
	if err != nil || arms[0].Prompt != "Be short." {
		t.Errorf("prompt %q, %v", arms[0].Prompt, err)
	}
	write("long.md", strings.Repeat("x", MaxPromptBytes+1))
	write("latin.md", "caf\xe9")
	if err := os.Symlink("/etc/hosts", filepath.Join(dir, "link.md")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"long.md", "latin.md", "link.md", ".", "/etc/hosts"} {
		if _, err := suite(name); err == nil {
			t.Errorf("%s was taken", name)
		} else {
			wantError(t, name, err, filepath.Join(dir, "suite.yaml")+":5:26: the prompt")
		}
	}
}

func TestLimitsOnlyTighten(t *testing.T) {
	s := parse(t, head+"limits: {turns: 8, tool_calls: 1000, tokens: 100, cost_usd: 0.5, wall: 1h}\n")
	list, err := s.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlan(s, list)
	if err != nil {
		t.Fatal(err)
	}
	before, after := list[0], p.Scenarios[0]
	if before == after || before.Limits.Turns != 16 || before.Digest != after.Digest {
		t.Error("the scenario itself was changed, or its digest")
	}
	want := before.Limits
	want.Turns, want.Tokens, want.CostMicroUSD = 8, 100, 500_000
	if diff := cmp.Diff(want, after.Limits); diff != "" {
		t.Error(diff)
	}
	for i := range p.Trials {
		if p.Trials[i].Scenario.Limits.Turns != 8 {
			t.Fatal("a trial does not have the suite's limits")
		}
	}
	cheap := parse(t, head+"budgets: {trial_usd: 0.01}\n")
	if p, err = NewPlan(cheap, list); err != nil || p.Scenarios[0].Limits.CostMicroUSD != 10_000 {
		t.Error("a budget of one trial is a limit on its cost", err)
	}
	if p, err = NewPlan(parse(t, head), list); err != nil || p.Scenarios[0] != list[0] {
		t.Error("without limits scenarios are shared", err)
	}
}

func TestTags(t *testing.T) {
	resolve := func(keys string) ([]string, error) {
		s := parse(t, "schema: harnessbench/suite/v1\nname: t\nmodels: [sim/weak]\narms: [{name: default}]\n"+keys)
		list, err := s.Resolve()
		var ids []string
		for _, sc := range list {
			ids = append(ids, sc.ID)
		}
		return ids, err
	}
	all, err := resolve("scenarios: [builtin/*]\n")
	if err != nil || len(all) < 12 {
		t.Fatal(all, err)
	}
	harms, err := resolve("tags: [harms]\n")
	if err != nil || len(harms) == 0 {
		t.Fatal(harms, err)
	}
	rest, err := resolve("scenarios: [builtin/*]\nexclude_tags: [harms]\n")
	if err != nil || len(rest)+len(harms) != len(all) {
		t.Errorf("%d and %d of %d, %v", len(rest), len(harms), len(all), err)
	}
	_, err = resolve("tags: [harm]\n")
	wantError(t, "tags", err, `suite.yaml:5:8: none of the scenarios has the tag "harm"; correct or remove it; their tags are `)
	_, err = resolve("scenarios: [" + "builtin/" + harms[0] + "]\nexclude_tags: [harms]\n")
	wantError(t, "tags", err, "suite.yaml:6:15: the tags leave no scenario")
	_, err = resolve("scenarios: [builtin/*, builtin/nope]\n")
	wantError(t, "glob", err, `suite.yaml:5:24: no scenario matches "builtin/nope"`)
	_, err = resolve("scenarios: [\"builtin/[\"]\n")
	wantError(t, "glob", err, `suite.yaml:5:13: the pattern "builtin/[" is wrong`)
}

func TestBuiltinSuites(t *testing.T) {
	for _, name := range BuiltinSuites() {
		s, list, err := OpenSuite(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewPlan(s, list)
		if err != nil {
			t.Fatal(err)
		}
		if BuiltinPrefix+s.Name != name || len(p.Trials) == 0 {
			t.Errorf("%s: called %s, %d trials", name, s.Name, len(p.Trials))
		}
	}
	if _, _, err := OpenSuite("builtin/nope"); err == nil || !strings.Contains(err.Error(), DefaultSuite) {
		t.Error(err)
	}
}

// Whatever a suite file holds: a suite whose arms can be made again, or an error
// that names the file; never a panic.
func FuzzParseSuite(f *testing.F) {
	f.Add([]byte(head))
	f.Add([]byte(head + "design: {kind: full-factorial}\nfactors: [{name: s, guard: stuck, levels: [off, enforce]}]\n"))
	f.Add([]byte(head + "design: one-at-a-time\nfactors: [{name: p, prompts: {a: {text: x}, b: {text: y}}}]\n"))
	f.Add([]byte(head + "gates: [{arm: none, metric: pass_at, k: 2, max: 1e300}]\nlimits: {wall: 1s}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSuite("f.yaml", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f.yaml") {
				t.Errorf("%q does not name the file", err)
			}
			return
		}
		arms, comps, err := s.Expand()
		if err != nil || len(arms) == 0 {
			t.Fatalf("%d arms, %v", len(arms), err)
		}
		for _, c := range comps {
			if c.Guard != "" && guard.Lookup(c.Guard) < 0 {
				t.Errorf("comparison over no guard: %+v", c)
			}
		}
	})
}
