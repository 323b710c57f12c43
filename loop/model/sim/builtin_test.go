package sim_test

import (
	"slices"
	"testing"

	"github.com/harnessbench/harnessbench/graders/check"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/sim"
	"github.com/harnessbench/harnessbench/scenarios"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// drive runs a profile on a scenario and reports whether every grader that can
// be decided without a session passes.
func drive(t *testing.T, profile string, s *scenarios.Scenario) (passed bool, turns int) {
	t.Helper()
	p, ok := sim.Lookup(profile)
	if !ok {
		t.Fatal(profile)
	}
	m := sim.New(p, options(t, s))
	w := newWorld(t, s)
	for range s.Limits.Turns {
		if w.step(m) {
			break
		}
	}
	passed = true
	for i := range s.Graders {
		g := s.Graders[i]
		if !decidable(&g) {
			continue
		}
		r, err := check.Eval(&g, w)
		if err != nil {
			t.Fatal(err)
		}
		passed = passed && r.OK
	}
	return passed, w.turn
}

// decidable reports whether a grader looks at what was left; of a group those
// members stay that do.
func decidable(g *check.Spec) bool {
	g.Of = slices.DeleteFunc(slices.Clone(g.Of), func(m check.Spec) bool { return !m.Kind.Predicate() })
	for i := range g.Of {
		decidable(&g.Of[i])
	}
	return g.Kind.Predicate()
}

func options(t *testing.T, s *scenarios.Scenario) sim.Options {
	script, err := sim.ParseScript(s.OracleName, s.Oracle)
	if err != nil {
		t.Fatal(err)
	}
	o := sim.Options{Script: script, Seed: 1, Window: s.Limits.ContextWindow}
	if slices.Contains(s.Stresses, "compaction") {
		o.Window = 0 // nobody here makes room in it
	}
	for _, f := range s.Faults {
		if f.Model && f.Kind != string(sim.FaultOverflow) {
			o.Faults = append(o.Faults, sim.Fault{Turns: f.AtTurn, Attempts: f.AtAttempt, Purpose: model.Purpose(f.Purpose), Kind: sim.FaultKind(f.Kind),
				Status: f.Status, RetryAfter: f.RetryAfter, Takes: f.Takes, Message: f.Text})
		}
	}
	return o
}

// simple are the scenarios that the small world of these tests can stand for. What
// all of them do in real trials is held by package ablations/check.
var simple = []string{"abab-loop", "big-answer", "blank-answer", "chat-answer", "flaky-endpoint", "hang-tool", "needle-log", "patient-poll",
	"retry-trap", "slow-build", "truncated-empty", "wrong-tool"}

// Where every call is answered as it should be, the oracle solves each scenario
// with turns to spare, unless it is about turns that run out, and who does nothing or guesses does not.
func TestBuiltin(t *testing.T) {
	all, err := builtin.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if !slices.Contains(simple, s.ID) {
			continue
		}
		for profile, want := range map[string]string{"sim/oracle": s.Lint.Oracle, "sim/noop": s.Lint.Noop, "sim/spam": s.Lint.Spam} {
			got, turns := drive(t, profile, s)
			if got != (want == "pass") {
				t.Errorf("%s, %s: passed = %v, want %s", s.ID, profile, got, want)
			}
			if turns > s.Limits.Turns-2 && !slices.Contains(s.Stresses, "final_synthesis") {
				t.Errorf("%s, %s: %d turns", s.ID, profile, turns)
			}
		}
		for _, g := range append(append([]string(nil), s.Stresses...), s.Controls...) {
			if guard.Lookup(g) < 0 {
				t.Errorf("%s names the guard %q, which is none", s.ID, g)
			}
		}
	}
}

// The kinds of faults that a scenario may name are those that exist here.
func TestFaultKinds(t *testing.T) {
	kinds := sim.FaultKinds()
	if len(kinds) != len(scenarios.ModelFaultKinds) {
		t.Fatalf("%v and %v", kinds, scenarios.ModelFaultKinds)
	}
	for i, k := range kinds {
		if string(k) != scenarios.ModelFaultKinds[i] {
			t.Errorf("%s and %s", k, scenarios.ModelFaultKinds[i])
		}
	}
}

func TestProfiles(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range sim.Profiles() {
		if seen[p.Name] || p.Summary == "" || p.MaxTokens <= 0 {
			t.Errorf("%+v", p)
		}
		seen[p.Name] = true
	}
	for i := range guard.Table {
		if !seen["sim/trap-"+guard.Table[i].Name] {
			t.Errorf("no sim/trap-%s", guard.Table[i].Name)
		}
	}
}
