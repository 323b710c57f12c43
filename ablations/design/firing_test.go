package design

import (
	"slices"
	"strings"
	"testing"
)

func TestFiringDesign(t *testing.T) {
	const text = "schema: harnessbench/suite/v1\nname: f\nscenarios: [builtin/*]\n"
	parse := func(more string) (*Plan, error) {
		s, err := ParseSuite("builtin/f.yaml", []byte(text+more))
		if err != nil {
			return nil, err
		}
		list, err := s.Resolve()
		if err != nil {
			return nil, err
		}
		return NewPlan(s, list)
	}
	p, err := parse("design: {kind: firing, guards: [stuck, acceptance]}\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Arms) != 6 || len(p.Comparisons) != 0 || len(p.Suite.Models) != 5 {
		t.Errorf("%d arms, %d comparisons, models %q", len(p.Arms), len(p.Comparisons), p.Suite.Models)
	}
	for i := range p.Trials {
		x := &p.Trials[i]
		e := x.Arm.Expect
		list := x.Scenario.Controls
		if e.Fires == Always {
			list = x.Scenario.Stresses
		}
		if !slices.Contains(list, e.Guard) {
			t.Errorf("%v does not belong there", x.Key())
		}
		if e.Fires == Always && x.Model != trapModel(e.Guard) {
			t.Errorf("%v is not on the guard's trap model", x.Key())
		}
	}
	// The lock has all of it, and counts the trials.
	l := p.Lock()
	data, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := ParseLock("lock", data)
	if err != nil {
		t.Fatal(err)
	}
	again, err := PlanFromLock(back, "")
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Trials) != len(p.Trials) || back.Planned() != len(p.Trials) || len(p.Trials) == 0 {
		t.Errorf("%d trials again, %d planned, want %d", len(again.Trials), back.Planned(), len(p.Trials))
	}
	// A written arm that the design begins from is not run for itself.
	p, err = parse("arms: [{name: mine, guards: {stuck: {abort: 9}}}]\ndesign: {kind: firing, guards: [stuck]}\n")
	if err != nil || len(p.Arms) != 3 || p.Arms[0].Guards.Param("stuck", "abort") != 9 || p.Arms[1].Guards.Param("stuck", "abort") != 6 {
		t.Errorf("%+v, %v", p, err)
	}
	for more, want := range map[string]string{
		"design: {kind: firing, guards: [stuk]}\n":                                                `no guard "stuk"`,
		"design: {kind: firing, guards: [stuck, stuck]}\n":                                        `the guard "stuck" stands twice`,
		"models: [sim/weak]\ndesign: firing\n":                                                    "a design of kind firing says itself which models run",
		"models: [sim/weak]\narms: [{name: a, expect: {guard: stuk, fires: never}}]\n":            `there is no guard "stuk"`,
		"models: [sim/weak]\narms: [{name: a, expect: {guard: stuck, fires: seldom}}]\n":          `fires is "seldom"; write always or never`,
		"models: [sim/weak]\narms: [{name: a, expect: {guard: dedupe, fires: never, when: 1}}]\n": `unknown key "when"`,
	} {
		if _, err := parse(more); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", more, err, want)
		}
	}
}
