package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/results/stats"
)

func near(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil || math.Abs(*got-want) > 1e-9 {
		t.Errorf("%s is %v, want %v", what, number(got, "%v"), want)
	}
}

// watched is a trial in which each of two guards was in force, in shadow in the arm that
// is named after it.
func watched(scenario, arm string, rep int, pass bool, fires ...string) results.Trial {
	t := row(scenario, arm, rep, pass)
	for _, g := range []string{"g", "quiet"} {
		mode := results.Enforce
		if arm == "no-"+g {
			mode = results.Shadow
		}
		t = fired(t, g, mode, count(slices.Contains(fires, g)))
	}
	return t
}

// TestFamilies: one family per effect, of every comparison; the guard that never fired
// stays in with p = 1; the harms section is a family of its own.
func TestFamilies(t *testing.T) {
	meta := Meta{RunID: "r", Suite: "s", Repetitions: 1, Arms: []string{"all", "no-g", "no-quiet"},
		Comparisons: []Comparison{{Guard: "g", Base: "no-g", Arm: "all"}, {Guard: "quiet", Base: "no-quiet", Arm: "all"}}}
	var rows []results.Trial
	for i := range 8 {
		id := fmt.Sprint("s", i)
		// g turns every failure into a pass: 8 pairs of 8, so p = 2/2^8.
		rows = append(rows, watched(id, "all", 0, true, "g"), watched(id, "no-g", 0, false, "g"), watched(id, "no-quiet", 0, true, "g"))
	}
	for _, arm := range meta.Arms {
		h := watched("h", arm, 0, arm == "no-g", "g")
		h.Harms = true
		rows = append(rows, h)
	}
	s := compute(t, meta, rows)
	want := []Family{{"over all", "Holm", 2}, {"where it fired", "Holm", 2}, {"over all, scenarios tagged harms", "Holm", 2}, {"where it fired, scenarios tagged harms", "Holm", 2}}
	if !slices.Equal(s.Families, want) {
		t.Errorf("families %v, want %v", s.Families, want)
	}
	g, quiet := s.Main.Guards[0], s.Main.Guards[1]
	near(t, "p over all", g.Test.P, 2.0/256)
	near(t, "adjusted", g.Test.Adjusted, 4.0/256)
	near(t, "p where it fired", g.Fired.Test.P, 2.0/256)
	near(t, "adjusted", g.Fired.Test.Adjusted, 4.0/256)
	near(t, "p of the quiet guard", quiet.Test.Adjusted, 1)
	if g.Test.Test != stats.TestMcNemar || quiet.Fired.Test.P != nil || quiet.Fired.Test.Adjusted != nil || quiet.Measured {
		t.Errorf("test %q; the quiet guard's where it fired %+v, measured %v", g.Test.Test, quiet.Fired.Test, quiet.Measured)
	}
	if e := g.Fired.Estimate; e.Lo == nil || e.Hi == nil || *e.Value != 1 || *e.Lo <= 0 || *e.Lo >= 1 {
		t.Errorf("where it fired %+v", e)
	}
	// One harms scenario can reach nothing: 2^(1-1) x 2 tests.
	if w := s.Harms.Guards[0].Test.Warnings; !slices.Contains(w, "no outcome of 1 scenario could reach p = 0.05 in a family of 2 tests") {
		t.Errorf("warnings %q", w)
	}
	if w := g.Test.Warnings; len(w) != 0 {
		t.Errorf("8 scenarios can: 2^(1-8) x 2; warnings %q", w)
	}
	out := strings.Join(strings.Fields(text(t, s, TextOptions{})), " ")
	for _, want := range []string{"over all (2 tests), where it fired (2 tests)", "counts with p = 1", "p=0.016"} {
		if !strings.Contains(out, want) {
			t.Errorf("text lacks %q:\n%s", want, text(t, s, TextOptions{}))
		}
	}
}

// twoModels is a weak model with a harness against a strong one without.
func twoModels() (Meta, []results.Trial) {
	meta := Meta{RunID: "r", Suite: "s", Repetitions: 2, Models: []string{"m/weak", "m/strong"}, Arms: []string{"full", "bare"},
		Comparisons: []Comparison{{Base: "bare", Arm: "full", BaseModel: "m/strong", ArmModel: "m/weak", Margin: 0.9}}}
	var rows []results.Trial
	for _, c := range []struct {
		scenario     string
		weak, strong [2]bool
	}{{"one", [2]bool{true, true}, [2]bool{true, false}}, {"two", [2]bool{false, true}, [2]bool{true, false}}, {"three", [2]bool{true, true}, [2]bool{}}} {
		for rep := range 2 {
			w, s := row(c.scenario, "full", rep, c.weak[rep]), row(c.scenario, "bare", rep, c.strong[rep])
			w.Model, s.Model, s.CostUSD = "m/weak", "m/strong", ptr(0.4)
			w.Session, s.Session = fmt.Sprint("w", c.scenario, rep), fmt.Sprint("s", c.scenario, rep)
			rows = append(rows, w, s)
		}
	}
	return meta, rows
}

// TestTwoModels: differences of 0.5, 0 and 1 by scenario, whichever repetition stands
// beside which.
func TestTwoModels(t *testing.T) {
	meta, rows := twoModels()
	s := compute(t, meta, rows)
	if len(s.Main.Comparisons) != 1 {
		t.Fatalf("%d comparisons", len(s.Main.Comparisons))
	}
	x := s.Main.Comparisons[0]
	if x.Model != "m/weak" || x.BaseModel != "m/strong" || x.Paired != 6 || x.A.Passed != 2 || x.B.Passed != 5 {
		t.Errorf("%+v", x)
	}
	near(t, "difference", x.OverAll.Value, 0.5)
	near(t, "lower end", x.OverAll.Lo, 0.5-4.302652729749464*0.5/math.Sqrt(3))
	near(t, "upper end", x.OverAll.Hi, 1)
	// Two that differ: of four assignments of signs two are as far from 0.
	near(t, "p", x.Test.P, 0.5)
	if x.Test.Test != stats.TestSignFlip || !slices.Contains(x.Notes, NoteTwoModels) {
		t.Errorf("test %q, notes %q", x.Test.Test, x.Notes)
	}
	// 0.1 USD a trial against 0.4; a pass 0.6/5 against 2.4/2.
	near(t, "cost difference", x.CostDiff.Value, -0.3)
	near(t, "cost ratio", x.CostRatio.Estimate.Value, 0.25)
	near(t, "ratio of the cost of a pass", x.PerPassRatio.Estimate.Value, 0.1)
	if want := (Flip{Scenario: "three", Helped: true, OutcomeA: "completed", OutcomeB: "completed", SessionA: "sthree0", SessionB: "wthree0"}); x.Flips.Hurt != 0 || x.Flips.Helped != 1 || x.Flips.Shown[0] != want {
		t.Errorf("flips %+v", x.Flips)
	}
	if x.Margin == nil || x.Margin.Answer != stats.NotInferior {
		t.Errorf("margin %+v", x.Margin)
	}
	const want = "m/weak with full passes 0.83, m/strong with bare 0.33: +0.50 [-0.74, +1.00], p = 0.50: no difference could be shown; not inferior by more than 0.9; a pass costs 0.10 times as much"
	if s.Headline == nil || !strings.HasPrefix(s.Headline.Text, want) {
		t.Errorf("headline\n%s\nwant\n%s", s.Headline.Text, want)
	}
	for i := range rows { // of one model the repetitions change places
		if rows[i].Model == "m/weak" {
			rows[i].Repetition = 1 - rows[i].Repetition
		}
	}
	y := compute(t, meta, rows).Main.Comparisons[0]
	near(t, "difference", y.OverAll.Value, *x.OverAll.Value)
	near(t, "lower end", y.OverAll.Lo, *x.OverAll.Lo)
	near(t, "p", y.Test.P, *x.Test.P)
	if out := text(t, s, TextOptions{}); !strings.HasPrefix(out, "s\nm/weak with full passes 0.83") || !strings.Contains(out, "m/weak against m/strong") {
		t.Errorf("text:\n%s", out)
	}
}

// TestFlips: those that hurt come first, in canonical order, and few are shown.
func TestFlips(t *testing.T) {
	var rows []results.Trial
	for rep := range 30 {
		for _, id := range []string{"two", "one"} {
			hurt := id == "two" && rep < 3
			rows = append(rows, row(id, "a", rep, hurt), row(id, "b", rep, !hurt))
		}
	}
	meta := oneGuard
	meta.Repetitions = 30
	f := compute(t, meta, rows).Main.Guards[0].Flips
	if f.Hurt != 3 || f.Helped != 57 || len(f.Shown) != maxFlips {
		t.Fatalf("%d hurt, %d helped, %d shown", f.Hurt, f.Helped, len(f.Shown))
	}
	for i, want := range []Flip{{Scenario: "two"}, {Scenario: "two", Repetition: 1}, {Scenario: "two", Repetition: 2}, {Scenario: "one", Helped: true}, {Scenario: "one", Repetition: 1, Helped: true}} {
		if got := f.Shown[i]; got.Scenario != want.Scenario || got.Repetition != want.Repetition || got.Helped != want.Helped {
			t.Errorf("flip %d is %+v, want %+v", i, got, want)
		}
	}
}

// TestFactorial: three factors in four arms, C = A x B. By hand: A is worth +0.5 in one
// scenario and +1 in the other, which is what B x C is too.
func TestFactorial(t *testing.T) {
	meta := Meta{RunID: "r", Suite: "s", Repetitions: 2, Arms: []string{"w", "x", "y", "z"}}
	for i, name := range []string{"A", "B", "C"} {
		f := Factor{Name: name, Levels: []string{"off", "on"}, ArmsAt: map[string]string{}}
		for j, arm := range meta.Arms {
			on := []bool{j&1 == 1, j&2 == 2, (j&1 == 1) == (j&2 == 2)}[i]
			f.ArmsAt[arm] = f.Levels[count(on)]
		}
		meta.Factors = append(meta.Factors, f)
	}
	meta.Factors = append(meta.Factors, Factor{Name: "D", Levels: []string{"1", "2", "3"}, ArmsAt: map[string]string{"w": "1", "x": "1", "y": "1", "z": "1"}})
	var rows []results.Trial
	for j, arm := range meta.Arms {
		for rep := range 2 {
			rows = append(rows, row("one", arm, rep, j&1 == 1 && rep == 0), row("two", arm, rep, j&1 == 1))
		}
	}
	s := compute(t, meta, rows)
	if len(s.Main.Factorials) != 1 {
		t.Fatalf("%d analyses", len(s.Main.Factorials))
	}
	f := s.Main.Factorials[0]
	if !slices.Equal(f.Factors, []string{"A", "B", "C"}) || !slices.Equal(f.Notes, []string{"factor D has 3 levels: the analysis holds it at 1"}) || len(f.Effects) != 6 {
		t.Fatalf("%+v", f)
	}
	a, b := f.Effects[0], f.Effects[1]
	near(t, "effect of A", a.Estimate.Value, 0.75)
	near(t, "effect of B", b.Estimate.Value, 0)
	if a.Name != "A" || !slices.Contains(a.Aliases, "B x C") || a.mainAlias() {
		t.Errorf("effect %+v", a)
	}
	if i := slices.IndexFunc(f.Effects, func(e Effect) bool { return e.Name == "B x C" }); i < 0 || !f.Effects[i].mainAlias() {
		t.Errorf("the interaction of B and C is A: %+v", f.Effects)
	}
	if !slices.Contains(s.Families, Family{FamilyFactorial, MethodHolm, 6}) {
		t.Errorf("families %v", s.Families)
	}
	if out := text(t, s, TextOptions{}); !strings.Contains(out, "Factors: main effects") || !strings.Contains(out, "B x C") {
		t.Errorf("text:\n%s", out)
	}
}

// TestFrontier: over the arms of all models; one of unknown cost cannot be placed.
func TestFrontier(t *testing.T) {
	var rows []results.Trial
	for i, c := range []struct {
		arm  string
		pass bool
		cost *float64
	}{{"cheap", false, ptr(0.1)}, {"dear", false, ptr(0.2)}, {"good", true, ptr(0.2)}, {"dark", true, nil}} {
		for rep := range 2 {
			r := row("one", c.arm, rep, c.pass || rep == 1)
			r.CostUSD, r.Model = c.cost, fmt.Sprint("m/", i%2)
			rows = append(rows, r)
		}
	}
	s := compute(t, Meta{RunID: "r", Suite: "s"}, rows)
	got := map[string]Arm{}
	for _, a := range s.Main.Arms {
		got[a.Arm] = a
	}
	for arm, on := range map[string]bool{"cheap": true, "dear": false, "good": true} {
		if a := got[arm]; a.Frontier == nil || *a.Frontier != on || (a.BeatenBy == "") != on {
			t.Errorf("%s: %+v", arm, a)
		}
	}
	if a := got["dear"]; a.BeatenBy != "m/0/good" {
		t.Errorf("dear is beaten by %q", a.BeatenBy)
	}
	if a := got["dark"]; a.Frontier != nil || a.FrontierShare != nil {
		t.Errorf("dark: %+v", a)
	}
}
