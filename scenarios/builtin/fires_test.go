package builtin_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/scenarios"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// run runs one real trial and returns its verdict and which guards fired.
func run(t *testing.T, s *scenarios.Scenario, model string, set guard.Settings, rep int) (string, map[string]bool) {
	t.Helper()
	dir := t.TempDir()
	o, err := trial.Run(context.Background(),
		trial.Spec{Scenario: s, Model: model, Arm: "test", Guards: set, Repetition: rep, Seed: 1},
		trial.Options{Session: filepath.Join(dir, "t.session.jsonl"), Sync: session.SyncNever, Temp: dir})
	if err != nil {
		t.Fatal(err)
	}
	fired := map[string]bool{}
	for _, g := range o.Tally.Firings {
		fired[g.Name] = true
	}
	return o.Overall.Verdict, fired
}

// A stressed guard fires for its trap model, in the default profile or, where
// another guard deals with the cause first, alone. A controlled one fires for
// nobody.
func TestStressesAndControls(t *testing.T) {
	all, err := builtin.All()
	if err != nil {
		t.Fatal(err)
	}
	standard := guard.MustProfile(guard.ProfileDefault)
	for _, s := range all {
		for _, g := range s.Stresses {
			alone, err := guard.MustProfile(guard.ProfileNone).With(g, guard.Enforce)
			if err != nil {
				t.Fatal(err)
			}
			_, a := run(t, s, "sim/trap-"+g, standard, 0)
			_, b := run(t, s, "sim/trap-"+g, alone, 0)
			if !a[g] && !b[g] {
				t.Errorf("%s: %s does not fire for its trap model", s.ID, g)
			}
		}
		for _, g := range s.Controls {
			for _, m := range []string{"sim/oracle", "sim/weak", "sim/strong", "sim/trap-" + g} {
				for rep := range 3 {
					if _, fired := run(t, s, m, standard, rep); fired[g] {
						t.Errorf("%s: %s fires for %s in repetition %d", s.ID, g, m, rep)
					}
				}
			}
		}
	}
}

// The oracle passes under the default guards, but for scenarios that show a
// harm, which it passes without the guard; noop and spam do as lint says.
func TestLint(t *testing.T) {
	all, err := builtin.All()
	if err != nil {
		t.Fatal(err)
	}
	standard := guard.MustProfile(guard.ProfileDefault)
	for _, s := range all {
		for model, want := range map[string]string{"sim/oracle": s.Lint.Oracle, "sim/noop": s.Lint.Noop, "sim/spam": s.Lint.Spam} {
			set := standard
			if s.Tagged(scenarios.TagHarms) {
				for _, g := range s.Stresses {
					if set, err = set.With(g, guard.Off); err != nil {
						t.Fatal(err)
					}
				}
				if v, _ := run(t, s, "sim/oracle", standard, 0); v != "fail" {
					t.Errorf("%s is tagged harms and harms nobody", s.ID)
				}
			}
			if got, _ := run(t, s, model, set, 0); got != want {
				t.Errorf("%s, %s: %s, want %s", s.ID, model, got, want)
			}
		}
	}
}

// What the embedded set is for: for the weak model, each of these guards raises
// the pass rate among the trials in which it fired.
func TestGuardsEarnTheirPlace(t *testing.T) {
	all, err := builtin.All()
	if err != nil {
		t.Fatal(err)
	}
	standard := guard.MustProfile(guard.ProfileDefault)
	type cell struct {
		verdict string
		fired   map[string]bool
	}
	base := map[string]cell{}
	for _, s := range all {
		for rep := range 5 {
			v, fired := run(t, s, "sim/weak", standard, rep)
			base[fmt.Sprint(s.ID, rep)] = cell{v, fired}
		}
	}
	for _, g := range []string{"stuck", "spill", "acceptance", "retry", "truncated_empty", "tool_deadline", "empty_response", "unknown_tool", "compaction", "context_overflow"} {
		shadow, err := standard.With(g, guard.Shadow)
		if err != nil {
			t.Fatal(err)
		}
		exposed, with, without, harm := 0, 0, 0, 0
		for _, s := range all {
			for rep := range 5 {
				enforced := base[fmt.Sprint(s.ID, rep)]
				if !enforced.fired[g] {
					continue
				}
				b, _ := run(t, s, "sim/weak", shadow, rep)
				pass := func(v string) int { return map[string]int{"pass": 1}[v] }
				if s.Tagged(scenarios.TagHarms) {
					harm += pass(b) - pass(enforced.verdict)
					continue
				}
				exposed, with, without = exposed+1, with+pass(enforced.verdict), without+pass(b)
			}
		}
		said := fmt.Sprintf("%s: %d exposed, %d pass with it, %d in shadow; harm %d", g, exposed, with, without, harm)
		if exposed < 4 || with-without < 2 || g == "stuck" && harm < 2 {
			t.Error(said)
		} else {
			t.Log(said)
		}
	}
}
