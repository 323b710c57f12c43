package builtin_test

import (
	"context"
	"fmt"
	"path/filepath"
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

// A stressed guard fires for its trap model, in the default profile or, where
// another guard deals with the cause first, alone. A controlled one fires for
// nobody.
func TestStressesAndControls(t *testing.T) {
	each(t, func(t *testing.T, s *scenarios.Scenario) {
		for _, g := range s.Stresses {
			alone := set(t, guard.MustProfile(guard.ProfileNone), g, guard.Enforce)
			enforced := set(t, standard, g, guard.Enforce)
			if !run(t, s, "sim/trap-"+g, enforced, 0).fired[g] && !run(t, s, "sim/trap-"+g, alone, 0).fired[g] {
				t.Errorf("%s does not fire for its trap model", g)
			}
		}
		for _, g := range s.Controls {
			enforced := set(t, standard, g, guard.Enforce)
			for _, m := range []string{"sim/oracle", "sim/weak", "sim/strong", "sim/trap-" + g} {
				for rep := range 3 {
					if run(t, s, m, enforced, rep).fired[g] {
						t.Errorf("%s fires for %s in repetition %d", g, m, rep)
					}
				}
			}
		}
	})
}

// A bad setting costs what the scenario says it does.
func TestHurts(t *testing.T) {
	each(t, func(t *testing.T, s *scenarios.Scenario) {
		for _, h := range s.Hurts {
			model, mode := h.Model, guard.Mode(h.Mode)
			if model == "" {
				model = "sim/oracle"
			}
			if mode == "" {
				mode = guard.Enforce
			}
			bad := set(t, standard, h.Guard, mode)
			for name, value := range h.Set {
				var err error
				if bad, err = bad.WithParam(h.Guard, name, value); err != nil {
					t.Fatal(err)
				}
			}
			a, b := run(t, s, model, standard, 0), run(t, s, model, bad, 0)
			if a.verdict != "pass" {
				t.Errorf("%s does not pass under the default guards", model)
			}
			worse := map[string]bool{"": b.verdict == "fail", "fail": b.verdict == "fail",
				"tokens": 2*b.tokens >= 3*a.tokens, "time": 2*b.took >= 3*a.took}
			if !worse[h.By] {
				t.Errorf("%s %s %v does not hurt %s: %s, %d tokens, %s before; %s, %d tokens, %s with it",
					h.Guard, mode, h.Set, model, a.verdict, a.tokens, a.took, b.verdict, b.tokens, b.took)
			}
		}
	})
}

// The oracle passes, and ends by itself with turns to spare, under the default
// guards, but for scenarios that show a harm, which it passes without the guard;
// noop and spam do as lint says.
func TestLint(t *testing.T) {
	each(t, func(t *testing.T, s *scenarios.Scenario) {
		guards := standard
		if s.Tagged(scenarios.TagHarms) {
			for _, g := range s.Stresses {
				guards = set(t, guards, g, guard.Off)
			}
			if r := run(t, s, "sim/oracle", standard, 0); r.verdict != "fail" {
				t.Error("it is tagged harms and harms nobody")
			}
		}
		for model, want := range map[string]string{"sim/oracle": s.Lint.Oracle, "sim/noop": s.Lint.Noop, "sim/spam": s.Lint.Spam} {
			got := run(t, s, model, guards, 0)
			if got.verdict != want {
				t.Errorf("%s: %s, want %s", model, got.verdict, want)
			}
			if spare := s.Limits.Turns - got.turns; model == "sim/oracle" && (got.reason != event.Completed || spare < 2) {
				t.Errorf("%s: ends %s with %d turns to spare", model, got.reason, spare)
			}
		}
	})
}

// What the embedded set is for: for the weak model, each of these guards raises
// the pass rate among the trials in which it fired.
func TestGuardsEarnTheirPlace(t *testing.T) {
	earn := []string{"stuck", "spill", "acceptance", "retry", "truncated_empty", "tool_deadline", "empty_response", "unknown_tool"}
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
