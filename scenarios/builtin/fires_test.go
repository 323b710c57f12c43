package builtin_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/scenarios"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// ran is what one trial came to.
type ran struct {
	verdict string
	reason  event.Reason
	turns   int
	fired   map[string]bool // guards, in either mode
	tokens  int64           // input, of which some may be cached, and output
	took    time.Duration   // on the trial's clock
}

func (r ran) passed() int {
	if r.verdict == "pass" {
		return 1
	}
	return 0
}

// run runs one real trial.
func run(t *testing.T, s *scenarios.Scenario, model string, set guard.Settings, rep int) ran {
	t.Helper()
	dir := t.TempDir()
	o, err := trial.Run(context.Background(),
		trial.Spec{Scenario: s, Model: model, Arm: "test", Guards: set, Repetition: rep, Seed: 1, Fallbacks: scenarios.FallbackModels},
		trial.Options{Session: filepath.Join(dir, "t.session.jsonl"), Sync: session.SyncNever, Temp: dir})
	if err != nil {
		t.Fatal(err)
	}
	u := o.End.Usage
	r := ran{verdict: o.Overall.Verdict, reason: o.End.Reason, turns: o.End.Turns, fired: map[string]bool{}, took: o.End.At,
		tokens: u.InputUncached + u.CacheRead + u.CacheWrite + u.Output}
	for _, g := range o.Tally.Firings {
		r.fired[g.Name] = true
	}
	return r
}

var standard = guard.MustProfile(guard.ProfileDefault)

// set is a profile with one guard in another mode.
func set(t *testing.T, base guard.Settings, name string, mode guard.Mode) guard.Settings {
	t.Helper()
	out, err := base.With(name, mode)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// each runs f over the embedded scenarios, several at a time, and returns when
// all are done.
func each(t *testing.T, f func(t *testing.T, s *scenarios.Scenario)) {
	t.Helper()
	all, err := builtin.All()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("each", func(t *testing.T) {
		for _, s := range all {
			t.Run(s.ID, func(t *testing.T) {
				t.Parallel()
				f(t, s)
			})
		}
	})
}

// The oracle ends by itself with turns to spare, where the scenario is not about
// turns and time that run out. All else that a scenario says of itself is held by
// package ablations/check.
func TestOracleEndsByItself(t *testing.T) {
	each(t, func(t *testing.T, s *scenarios.Scenario) {
		if slices.Contains(s.Stresses, "final_synthesis") || s.Tagged(scenarios.TagHarms) {
			return
		}
		got := run(t, s, "sim/oracle", standard, 0)
		if spare := s.Limits.Turns - got.turns; got.reason != event.Completed || spare < 2 {
			t.Errorf("ends %s with %d turns to spare", got.reason, spare)
		}
	})
}

// What the embedded set is for: for the weak model, each of these guards raises
// the pass rate among the trials in which it fired.
func TestGuardsEarnTheirPlace(t *testing.T) {
	earn := []string{"stuck", "spill", "acceptance", "retry", "truncated_empty", "tool_deadline", "empty_response", "unknown_tool", "compaction", "context_overflow"}
	type sum struct{ exposed, with, without, harm int }
	sums := map[string]*sum{}
	for _, g := range earn {
		sums[g] = &sum{}
	}
	var mu sync.Mutex
	each(t, func(t *testing.T, s *scenarios.Scenario) {
		for rep := range 5 {
			a := run(t, s, "sim/weak", standard, rep)
			for _, g := range earn {
				if !a.fired[g] {
					continue
				}
				b := run(t, s, "sim/weak", set(t, standard, g, guard.Shadow), rep)
				mu.Lock()
				if c := sums[g]; s.Tagged(scenarios.TagHarms) {
					c.harm += b.passed() - a.passed()
				} else {
					c.exposed, c.with, c.without = c.exposed+1, c.with+a.passed(), c.without+b.passed()
				}
				mu.Unlock()
			}
		}
	})
	// What there are several scenarios for must decide most of its trials.
	least := map[string]int{"stuck": 20, "acceptance": 20, "truncated_empty": 20, "empty_response": 8, "unknown_tool": 8}
	for _, g := range earn {
		c := sums[g]
		said := fmt.Sprintf("%s: %d exposed, %d pass with it, %d in shadow; harm %d", g, c.exposed, c.with, c.without, c.harm)
		if c.exposed < max(least[g], 4) || c.with-c.without < max(2, least[g]/2) || (g == "stuck" || g == "acceptance") && c.harm < 2 {
			t.Error(said)
		} else {
			t.Log(said)
		}
	}
}
