package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/scenarios"
)

// The caution is for trials that would use a folder: not for those whose scenario
// fills the cache itself, whatever else the suite runs.
func TestCacheCaution(t *testing.T) {
	on, err := guard.MustProfile(guard.ProfileDefault).With("response_cache", guard.Enforce)
	if err != nil {
		t.Fatal(err)
	}
	off := design.Arm{Guards: guard.MustProfile(guard.ProfileDefault)}
	own, plain := &scenarios.Scenario{Cache: scenarios.CacheWarm}, &scenarios.Scenario{}
	for _, c := range []struct {
		name, dir string
		trials    []design.Trial
		want      string
	}{
		{"own cache", "", []design.Trial{{Scenario: own, Arm: design.Arm{Guards: on}}, {Scenario: plain, Arm: off}}, ""},
		{"no folder", "", []design.Trial{{Scenario: own, Arm: design.Arm{Guards: on}}, {Scenario: plain, Arm: design.Arm{Guards: on}}}, "has no cache"},
		{"a folder", "x", []design.Trial{{Scenario: plain, Arm: design.Arm{Guards: on}}}, ""},
		{"no arm", "x", []design.Trial{{Scenario: plain, Arm: off}}, "does nothing"},
	} {
		p := &design.Plan{Trials: c.trials}
		for _, x := range c.trials {
			p.Arms = append(p.Arms, x.Arm)
		}
		var b bytes.Buffer
		cacheCaution(&app{stderr: &b}, p, c.dir)
		if got := b.String(); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
