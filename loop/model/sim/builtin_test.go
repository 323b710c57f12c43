package sim_test

import (
	"testing"

	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model/sim"
	"github.com/harnessbench/harnessbench/scenarios"
)

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
