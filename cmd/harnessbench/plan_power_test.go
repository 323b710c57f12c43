package main

import (
	"fmt"
	"math"
	"testing"

	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/results"
)

// pilotRows makes trials of one scenario and model: verdicts by repetition.
func pilotRows(scenario, arm string, fired bool, passes ...bool) (out []results.Trial) {
	for i, p := range passes {
		t := results.Trial{Scenario: scenario, Model: "sim/weak", Arm: arm, Repetition: i, Verdict: results.Fail}
		if p {
			t.Verdict = results.Pass
		}
		n := 0
		if fired {
			n = 1
		}
		t.Guards = []results.GuardCount{{Guard: "stuck", Mode: results.Shadow, Fired: n}}
		out = append(out, t)
	}
	return out
}

func TestPilot(t *testing.T) {
	fam := []member{{design.Comparison{Guard: "stuck", A: "without", B: "base"}, "sim/weak", "sim/weak"}}
	var rows []results.Trial
	for i := range 4 { // repetitions differ, the arms never do: fully correlated
		id := fmt.Sprint(i)
		rows = append(rows, pilotRows(id, "base", i < 2, true, false, i%2 == 0)...)
		rows = append(rows, pilotRows(id, "without", false, true, false, i%2 == 0)...)
	}
	p := newPilot(fam, rows, nil)
	if r := p.rate(); r == nil || math.Abs(*r-0.5) > 1e-12 {
		t.Errorf("rate %v, want 0.5", r)
	}
	if c := p.correlation(); c == nil || *c != 1 {
		t.Errorf("correlation %v, want 1", c)
	}
	if n := p.firedIn(&fam[0]); n != 2 {
		t.Errorf("fired in %d scenarios, want 2", n)
	}
	if n := newPilot(fam, rows, map[string]bool{"0": true}).firedIn(&fam[0]); n != 1 {
		t.Errorf("without the harmful scenario: fired in %d, want 1", n)
	}
	// b's trials are those of a, one repetition later: each repetition differs as
	// often as others do.
	rows = nil
	for i := range 4 {
		rows = append(rows, pilotRows(fmt.Sprint(i), "without", false, true, false, true, false)...)
		rows = append(rows, pilotRows(fmt.Sprint(i), "base", false, false, true, true, false)...)
	}
	if c := newPilot(fam, rows, nil).correlation(); c == nil || *c != 0 {
		t.Errorf("correlation %v, want 0", *c)
	}
	empty := newPilot(fam, nil, nil)
	if empty.rate() != nil || empty.icc() != nil || empty.correlation() != nil || empty.has(&fam[0]) {
		t.Error("an empty run says something")
	}
	one := newPilot(fam, append(pilotRows("0", "base", true, true), pilotRows("0", "without", true, false)...), nil)
	if one.correlation() != nil || one.icc() != nil || one.rate() == nil {
		t.Error("one repetition says nothing of resemblance and correlation, but of the rate")
	}
}

func TestFamily(t *testing.T) {
	p := &design.Plan{Suite: &design.Suite{Models: []string{"sim/weak", "sim/strong"}},
		Arms:        []design.Arm{{Name: "a"}, {Name: "b"}, {Name: "weak", Models: []string{"sim/weak"}}, {Name: "strong", Models: []string{"sim/strong"}}},
		Comparisons: []design.Comparison{{A: "a", B: "b"}, {A: "a", B: "weak"}, {A: "strong", B: "weak"}}}
	got := ""
	for _, m := range family(p) {
		got += fmt.Sprintf("%s/%s-%s/%s ", m.modelB, m.B, m.modelA, m.A)
	}
	if want := "sim/weak/b-sim/weak/a sim/strong/b-sim/strong/a sim/weak/weak-sim/weak/a sim/weak/weak-sim/strong/strong "; got != want {
		t.Errorf("family %s, want %s", got, want)
	}
}
