package report

import (
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/results"
)

func TestFiring(t *testing.T) {
	meta := Meta{Arms: []string{"trap", "alone", "control", "other"}, Expect: []Expectation{
		{"trap", "stuck", true}, {"alone", "stuck", true}, {"control", "stuck", false}, {"other", "spill", true}}}
	in := func(scenario, arm, guard string, n int) results.Trial {
		return fired(row(scenario, arm, 0, true), guard, "enforce", n)
	}
	whole := []results.Trial{in("a", "trap", "stuck", 0), in("a", "alone", "stuck", 2), in("b", "trap", "stuck", 1), in("c", "control", "stuck", 0)}
	sum := func(trials ...results.Trial) *Summary {
		s, err := Compute(meta, append(append([]results.Trial{}, whole...), trials...), nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := sum()
	stuck := s.Firing[0]
	if len(s.Firing) != 2 || !stuck.OK || stuck.Traps != (FiringCount{true, 2, 2, 2}) || stuck.Controls != (FiringCount{true, 1, 1, 0}) {
		t.Errorf("%+v", s.Firing)
	}
	if spill := s.Firing[1]; spill.OK || spill.Word() != "NOT TRIED" || s.Unexpected() != 1 {
		t.Errorf("%+v", spill)
	}
	// A trap in which it fires in none of the arms, and a control in which it fires.
	s = sum(in("d", "trap", "stuck", 0), in("d", "alone", "stuck", 0), in("e", "control", "stuck", 1))
	stuck = s.Firing[0]
	if stuck.OK || stuck.Word() != "WRONG" || len(stuck.Surprises) != 2 || stuck.Surprises[0].Scenario != "d" || stuck.Surprises[0].Arm != "alone" || !stuck.Surprises[1].Fired {
		t.Errorf("%+v", stuck)
	}
	// Errored trials and arms without an expectation say nothing; a shadow firing is none.
	s = sum(errored(in("d", "trap", "stuck", 0), "provider"), fired(row("f", "trap", 0, true), "stuck", "shadow", 3))
	if stuck = s.Firing[0]; stuck.Traps.Trials != 3 || stuck.Traps.Fired != 2 {
		t.Errorf("%+v", stuck)
	}
	// What went wrong is the word also where something else is missing.
	if f := (&Firing{Traps: FiringCount{Trials: 1}, Surprises: stuck.Surprises}); f.Word() != "WRONG" {
		t.Error(f.Word())
	}
	var b strings.Builder
	if err := s.WriteText(&b, TextOptions{}); err != nil || !strings.Contains(b.String(), "stuck did not fire in its trap: ") {
		t.Errorf("%v\n%s", err, b.String())
	}
	// A row as a table has it.
	flat := whole[1]
	flat.Guards, flat.GuardsEnforced, flat.FiredEnforced = nil, "spill,stuck", "spill:1:1,stuck:2:4"
	if !firedIn(&flat, "stuck") || firedIn(&flat, "stuc") || firedIn(&flat, "") {
		t.Error("columns are not read")
	}
}
