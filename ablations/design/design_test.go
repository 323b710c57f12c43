package design

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop/guard"
)

func expand(t *testing.T, text string) ([]Arm, []Comparison) {
	t.Helper()
	arms, comps, err := parse(t, text).Expand()
	if err != nil {
		t.Fatal(err)
	}
	return arms, comps
}

func names(arms []Arm) []string {
	var out []string
	for _, a := range arms {
		out = append(out, a.Name)
	}
	return out
}

// pairs writes comparisons as "b - a (guard)".
func pairs(comps []Comparison) []string {
	var out []string
	for _, c := range comps {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s - %s %s", c.B, c.A, c.Guard)))
	}
	return out
}

const front = "schema: harnessbench/suite/v1\nname: test\nscenarios: [builtin/retry-trap]\nmodels: [sim/weak, sim/strong]\n"

func TestLeaveOneOut(t *testing.T) {
	arms, comps := expand(t, front+"arms: [{name: base, guards: {spill: off}}, {name: none, profile: none}]\ndesign: {kind: leave-one-out, guards: [stuck, retry]}\ncomparisons: [{a: without-stuck, b: base, guard: stuck, margin: 0.1}]\n")
	if diff := cmp.Diff([]string{"base", "none", "without-stuck", "without-retry"}, names(arms)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"base - without-stuck stuck", "base - without-retry retry"}, pairs(comps)); diff != "" {
		t.Error(diff)
	}
	if comps[0].Margin != 0.1 {
		t.Error("a written comparison must replace the design's")
	}
	for i, want := range []struct{ stuck, retry, spill guard.Mode }{
		{guard.Enforce, guard.Enforce, guard.Off},
		{guard.Shadow, guard.Shadow, guard.Off}, // the base without guards has compared ones in shadow
		{guard.Shadow, guard.Enforce, guard.Off},
		{guard.Enforce, guard.Shadow, guard.Off},
	} {
		g := arms[i].Guards
		if g.Mode("stuck") != want.stuck || g.Mode("retry") != want.retry || g.Mode("spill") != want.spill {
			t.Errorf("%s: %s", arms[i].Name, g.AppendJSON(nil))
		}
	}
	// without arms the base is a profile, and every guard it enforces is left out
	arms, comps = expand(t, front+"design: {kind: leave-one-out}\n")
	if arms[0].Name != "default" || len(comps) != len(arms)-1 || len(comps) < 8 {
		t.Error(names(arms), pairs(comps))
	}
}

func TestOneAtATime(t *testing.T) {
	arms, comps := expand(t, front+`arms: [{name: base, models: [sim/weak], guards: {result_ceiling: off}}]
design: {kind: one-at-a-time, base: base}
factors:
  - {name: stuck, guard: stuck, levels: [off, enforce]}
  - {name: ceiling, guard: result_ceiling, levels: [off, enforce]}
  - {name: abort, guard: stuck, param: abort, levels: [4, 6, 8]}
  - {name: deadline, guard: tool_deadline, param: per_call, levels: [1.5s, 2m]}
  - {name: model, models: [sim/weak, sim/strong]}
  - name: prompt
    prompts: {plain: {text: Do it.}, firm: {text: Do it now.}}
`)
	want := []string{"base", "stuck-off", "ceiling-enforce", "abort-4", "abort-8", "deadline-1_5s", "model-sim_strong", "prompt-plain", "prompt-firm"}
	if diff := cmp.Diff(want, names(arms)); diff != "" {
		t.Error(diff)
	}
	wantPairs := []string{
		"base - stuck-off stuck",                       // b enforces it
		"ceiling-enforce - base result_ceiling",        // here too
		"abort-4 - base stuck", "abort-8 - base stuck", // a is the base
		"deadline-1_5s - base tool_deadline",
		"prompt-plain - base", "prompt-firm - base", // whole arms; other models have no pairs
	}
	if diff := cmp.Diff(wantPairs, pairs(comps)); diff != "" {
		t.Error(diff)
	}
	by := map[string]Arm{}
	for _, a := range arms {
		by[a.Name] = a
	}
	if by["base"].Guards.Mode("result_ceiling") != guard.Shadow || by["stuck-off"].Guards.Mode("stuck") != guard.Shadow {
		t.Error("a compared guard is in shadow where it is off")
	}
	if by["abort-4"].Guards.Param("stuck", "abort") != 4 || by["prompt-firm"].Prompt != "Do it now." || by["model-sim_strong"].Models[0] != "sim/strong" {
		t.Errorf("levels: %+v", by)
	}
}

func TestFullFactorial(t *testing.T) {
	arms, comps := expand(t, front+`design: {kind: full-factorial, base: default}
factors:
  - {name: stuck, guard: stuck, levels: [off, enforce]}
  - {name: spill, guard: spill, levels: [off, enforce]}
  - {name: model, models: [sim/weak, sim/strong]}
`)
	want := []string{
		"stuck-off.spill-off.model-sim_weak", "stuck-off.spill-off.model-sim_strong",
		"stuck-off.spill-enforce.model-sim_weak", "stuck-off.spill-enforce.model-sim_strong",
		"stuck-enforce.spill-off.model-sim_weak", "stuck-enforce.spill-off.model-sim_strong",
		"stuck-enforce.spill-enforce.model-sim_weak", "stuck-enforce.spill-enforce.model-sim_strong",
	}
	if diff := cmp.Diff(want, names(arms)); diff != "" {
		t.Error(diff)
	}
	if len(comps) != 0 {
		t.Errorf("comparisons: %v", pairs(comps))
	}
	if g := arms[0].Guards; g.Mode("stuck") != guard.Shadow || g.Mode("spill") != guard.Shadow || g.Mode("retry") != guard.Enforce {
		t.Error("an off level is in shadow, so that exposure is known")
	}
	if diff := cmp.Diff([]Level{{"stuck", "off"}, {"spill", "off"}, {"model", "sim_weak"}}, arms[0].Levels); diff != "" {
		t.Error(diff)
	}
}

func TestFractional(t *testing.T) {
	const factors = `factors:
  - {name: a, guard: stuck, levels: [off, enforce]}
  - {name: b, guard: spill, levels: [off, enforce]}
  - {name: c, guard: retry, levels: [off, enforce]}
`
	arms, _ := expand(t, front+"design: {kind: fractional, base: default}\n"+factors)
	want := []string{"a-off.b-off.c-enforce", "a-off.b-enforce.c-off", "a-enforce.b-off.c-off", "a-enforce.b-enforce.c-enforce"}
	if diff := cmp.Diff(want, names(arms)); diff != "" {
		t.Error(diff)
	}
	p := planOf(t, front+"design: {kind: fractional, base: default}\n"+factors)
	if diff := cmp.Diff([]LockFactor{{"a", []string{"off", "enforce"}}, {"b", []string{"off", "enforce"}}, {"c", []string{"off", "enforce"}}}, p.Factors); diff != "" {
		t.Error(diff)
	}
	if got := p.Aliases(); !strings.Contains(got, "resolution 3, I = a x b x c") || !strings.Contains(got, "c is the alias of a x b") {
		t.Error(got)
	}
	if got := planOf(t, front+"design: {kind: full-factorial, base: default}\n"+factors).Aliases(); got != "" {
		t.Errorf("a full factorial has no aliases: %s", got)
	}
	for _, c := range []struct{ text, want string }{
		{"factors:\n  - {name: a, guard: stuck, levels: [off, enforce]}\n  - {name: b, guard: spill, levels: [off, enforce]}\n", "s.yaml:5:9: a fractional design needs 3 factors, not 2"},
		{factors + "  - {name: d, guard: stuck, param: abort, levels: [4, 5, 6]}\n", "s.yaml:10:5: factor d has 3 levels; those of a fractional design have 2"},
	} {
		_, err := ParseSuite("s.yaml", []byte(front+"design: {kind: fractional, base: default}\n"+c.text))
		wantError(t, c.text, err, c.want)
	}
}

// The most arms that there may be: all of them are there, each once, each with a
// name that is a file's, and each with other settings.
func TestLargestFactorial(t *testing.T) {
	var b strings.Builder
	b.WriteString(front + "design: full-factorial\nfactors:\n")
	for i, name := range []string{"stuck", "spill", "result_ceiling", "tool_deadline", "run_deadline", "limits", "acceptance", "retry", "truncated_empty", "empty_response", "unknown_tool"} {
		fmt.Fprintf(&b, "  - {name: factor-%d-%s, guard: %s, levels: [off, enforce]}\n", i, name, name)
	}
	b.WriteString("  - {name: abort, guard: stuck, param: abort, levels: [5, 6]}\n")
	s := parse(t, b.String())
	arms, _, err := s.Expand()
	if err != nil || len(arms) != MaxArms {
		t.Fatal(len(arms), err)
	}
	seen, set := map[string]bool{}, map[string]bool{}
	for _, a := range arms {
		if !plainName(a.Name) || seen[a.Name] {
			t.Fatalf("name %q", a.Name)
		}
		seen[a.Name] = true
		set[string(a.Guards.AppendJSON(nil))] = true
	}
	if len(set) != MaxArms {
		t.Errorf("%d different settings of %d", len(set), MaxArms)
	}
	_, err = ParseSuite("s.yaml", []byte(b.String()+"  - {name: one-more, guard: stuck, param: nudge, levels: [2, 3]}\n"))
	wantError(t, "4097 arms", err, "s.yaml:5:9: the factors make more than 4096 arms")
}

func TestDesignErrors(t *testing.T) {
	const arms = "arms: [{name: base}]\n" // line 5
	many := "factors:\n" + strings.Repeat("  - {name: a, guard: stuck, levels: [off, enforce]}\n", maxFactors+1)
	for _, c := range []struct{ text, want string }{
		{arms + "design: half\n", `6:9: no design "half"; write one of explicit`},
		{arms + "design: {base: base}\n", `6:9: the key "kind" is missing`},
		{arms + "design: {kind: explicit, base: base}\n", "6:9: base and guards do nothing"},
		{arms + "design: {kind: leave-one-out, base: bas}\n", `6:9: the design's base "bas" is no arm`},
		{arms + "design: {kind: leave-one-out, guards: [stuk]}\n", `6:9: no guard "stuk"`},
		{arms + "design: {kind: leave-one-out, guards: [stuck, stuck]}\n", `6:9: the guard "stuck" stands twice`},
		{"arms: [{name: a, profile: none}]\ndesign: leave-one-out\n", "6:9: the base a enforces no guard"},
		{"arms: [{name: a, profile: none}]\ndesign: {kind: leave-one-out, guards: [stuck]}\n", "6:9: the guard stuck is not enforced in the base a"},
		{arms + "design: one-at-a-time\n", "6:9: a design of kind one-at-a-time needs factors"},
		{arms + "design: {kind: one-at-a-time, guards: [stuck]}\nfactors: [{name: a, guard: stuck, levels: [off, enforce]}]\n", "6:9: guards belongs to leave-one-out"},
		{arms + "factors: [{name: a, guard: stuck, levels: [off, enforce]}]\n", "6:10: a design of kind explicit has no factors"},
		{arms + "design: leave-one-out\nfactors: [{name: a, guard: stuck, levels: [off, enforce]}]\n", "7:10: a design of kind leave-one-out has no factors"},
		{arms + "design: one-at-a-time\n" + many, "8:3: there are 33 factors"},
	} {
		_, err := ParseSuite("s.yaml", []byte(front+c.text))
		wantError(t, c.text, err, "s.yaml:"+c.want)
	}
}

func TestFactorErrors(t *testing.T) {
	const start = front + "arms: [{name: base}]\ndesign: one-at-a-time\nfactors:\n" // 7 lines
	for _, c := range []struct{ text, want string }{
		{"  - {guard: stuck, levels: [off, enforce]}\n", `8:5: the key "name" is missing`},
		{"  - {name: a.b, guard: stuck, levels: [off, enforce]}\n", `8:5: the factor name "a.b"`},
		{"  - {name: a}\n", "8:5: factor a: it must vary one thing"},
		{"  - {name: a, guard: stuck, models: [sim/weak]}\n", "8:5: factor a: it must vary one thing"},
		{"  - {name: a, models: [sim/weak, sim/strong], levels: [1]}\n", "8:5: factor a: param and levels belong to a guard"},
		{"  - {name: a, guard: stuk, levels: [off, enforce]}\n", `8:37: factor a: no guard "stuk"`},
		{"  - {name: a, guard: stuck, levels: [off]}\n", "8:5: factor a has 1 levels; give it 2 to 64"},
		{"  - {name: a, guard: stuck}\n", "8:5: factor a has 0 levels"},
		{"  - {name: a, guard: stuck, levels: [off, on]}\n", `8:43: factor a: guard stuck: no mode "on"`},
		{"  - {name: a, guard: stuck, levels: [off, 1]}\n", "8:43: factor a: this is no mode"},
		{"  - {name: a, guard: stuck, levels: [off, shadow]}\n", "8:43: factor a: off and shadow are one level"},
		{"  - {name: a, guard: stuck, levels: [enforce, enforce]}\n", "8:47: factor a: the level enforce stands twice"},
		{"  - {name: a, guard: stuck, param: abort, levels: [4, 4]}\n", "8:55: factor a: the level 4 stands twice"},
		{"  - {name: a, guard: stuck, param: abort, levels: [4, x]}\n", `8:55: factor a: guard stuck, parameter abort: "x" is no whole number`},
		{"  - {name: a, guard: stuck, param: abort, levels: [4, [5]]}\n", "8:55: factor a: this is no value of stuck.abort"},
		{"  - {name: a, guard: stuck, param: abrt, levels: [4, 5]}\n", `8:51: factor a: guard stuck has no parameter "abrt"`},
		{"  - {name: a, guard: spill, param: over, levels: [1024, 1KiB]}\n", "8:57: factor a: the level 1KiB stands twice"},
		{"  - {name: a, models: [sim/weak, sim/strong]}\n", "8:5: factor a: the base base runs on more than one model"},
		{"  - {name: a, models: [sim/weak, sim/medium]}\n", `8:5: the model "sim/medium" is none of the suite's models`},
		{"  - {name: a, prompts: [x]}\n", "8:24: factor a: prompts is no mapping"},
		{"  - {name: a, prompts: {x: {text: p}, y: {text: p}}}\n", "8:39: factor a: the prompts x and y are equal"},
		{"  - {name: a, prompts: {x: {text: p}, y.z: {text: q}}}\n", `8:39: factor a: the label "y.z"`},
		{"  - {name: a, prompts: {x: {text: p}, y: }}\n", "8:39: factor a: the prompt y is empty"},
		{"  - {name: a, prompts: {x: {text: p}, y: {txt: q}}}\n", `8:43: unknown key "txt"`},
		{"  - {name: a, guard: stuck, levels: [off, enforce]}\n  - {name: A, guard: spill, levels: [off, enforce]}\n", "9:5: two factors are called A"},
		{"  - {name: a, guard: stuck, levels: [off, enforce]}\n  - {name: b, guard: stuck, levels: [off, enforce]}\n", "9:5: the factors a and b vary the same thing: guard stuck"},
	} {
		_, err := ParseSuite("s.yaml", []byte(start+c.text))
		wantError(t, c.text, err, "s.yaml:"+c.want)
	}
}

// Arms that are restricted to models run on those alone.
func TestArmModels(t *testing.T) {
	s := parse(t, `schema: harnessbench/suite/v1
name: test
scenarios: [builtin/retry-trap, builtin/big-answer]
arms:
  - {name: both}
  - {name: cheap, models: [sim/weak]}
  - {name: dear, models: [sim/strong, sim/medium]}
repetitions: 3
`)
	if diff := cmp.Diff([]string{"sim/weak", "sim/strong", "sim/medium"}, s.Models); diff != "" {
		t.Error(diff)
	}
	list, err := s.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlan(s, list)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, tr := range p.Trials {
		count[tr.Model+" "+tr.Arm.Name]++
	}
	want := map[string]int{"sim/weak both": 6, "sim/weak cheap": 6, "sim/strong both": 6, "sim/strong dear": 6, "sim/medium both": 6, "sim/medium dear": 6}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Error(diff)
	}
	text := `schema: harnessbench/suite/v1
name: test
scenarios: [builtin/*]
models: [sim/weak, sim/strong]
arms: [{name: a, models: [sim/weak]}, {name: b, models: [sim/strong]}]
`
	if _, err = ParseSuite("s.yaml", []byte(text+"comparisons: [{a: a, b: b}]\n")); err != nil {
		t.Errorf("each on one model: %v", err)
	}
	_, err = ParseSuite("s.yaml", []byte(text+"comparisons: [{a: a, b: b, guard: stuck}]\n"))
	wantError(t, text, err, "s.yaml:6:15: a and b have no model in common")
	_, err = ParseSuite("s.yaml", []byte(strings.Replace(text, "models: [sim/strong]}", "models: [sim/strong, sim/medium]}", 1)+"comparisons: [{a: a, b: b}]\n"))
	wantError(t, text, err, `s.yaml:5:`)
	_, err = ParseSuite("s.yaml", []byte(strings.Replace(text, "{name: b, models: [sim/strong]}", "{name: b, models: [sim/weak]}", 1)))
	wantError(t, text, err, "s.yaml:4:9: no arm runs on the model sim/strong")
}

func TestTooManyTrials(t *testing.T) {
	s := parse(t, head)
	list, err := s.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	s.Repetitions = math.MaxInt
	if _, err := NewPlan(s, list); err == nil || !strings.Contains(err.Error(), "the limit is 10000000 trials in all") {
		t.Error(err)
	}
}
