package replayer_test

import (
	"bytes"
	"testing"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/replayer"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// Sessions in which the guards against standing still act, in force and in shadow,
// replay exactly, and a trial that was cut off after any line goes on as if it had
// not been: what they have seen, said and closed is there again.
func TestGuardsAgainstStandingStill(t *testing.T) {
	for id, name := range map[string]string{"stale-lockfile": "no_progress", "grep-blinkers": "monotony", "manual-again": "dedupe",
		"long-reads": "budget_notice", "five-dashboards": "goal_reminder"} {
		sc, err := builtin.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, mode := range []guard.Mode{guard.Enforce, guard.Shadow} {
			set, err := guard.MustProfile(guard.ProfileDefault).With(name, mode)
			if err != nil {
				t.Fatal(err)
			}
			spec := trial.Spec{Scenario: sc, Model: "sim/trap-" + name, Arm: "x", Guards: set, Seed: 1}
			whole, lines := finished(t, spec)
			if !bytes.Contains(whole, []byte(`"t":"guard","g":"`+name+`"`)) {
				t.Errorf("%s: %s did not fire", id, name)
			}
			if rep := replayBytes(t, whole, replayer.Options{}); rep.Verdict != replayer.Exact {
				t.Errorf("%s, %s in %s: %s %s", id, name, mode, rep.Verdict, rep.Reason)
			}
			if mode == guard.Shadow {
				continue
			}
			for n := 1; n < len(lines); n++ {
				if got, _, _ := resumeFrom(t, spec, bytes.Join(lines[:n], nil)); !bytes.Equal(got, whole) {
					t.Errorf("%s: cut after line %d: the session differs", id, n)
				}
			}
		}
	}
}
