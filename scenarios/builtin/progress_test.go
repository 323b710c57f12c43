package builtin_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/scenarios"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// ended is what one trial came to: its verdict, how it ended, and what fired in
// which mode ("no_progress enforce nudge").
type ended struct {
	verdict, reason string
	fired           []string
	turns           int
}

func (e ended) pass() int {
	if e.verdict == "pass" {
		return 1
	}
	return 0
}

func (e ended) by(name string) (acts []string) {
	for _, f := range e.fired {
		if g, act, _ := strings.Cut(f, " "); g == name {
			acts = append(acts, act)
		}
	}
	return acts
}

func endOf(t *testing.T, s *scenarios.Scenario, model string, set guard.Settings, rep int) ended {
	t.Helper()
	dir := t.TempDir()
	o, err := trial.Run(context.Background(),
		trial.Spec{Scenario: s, Model: model, Arm: "test", Guards: set, Repetition: rep, Seed: 1},
		trial.Options{Session: filepath.Join(dir, "t.session.jsonl"), Sync: session.SyncNever, Temp: dir})
	if err != nil {
		t.Fatal(err)
	}
	e := ended{verdict: o.Overall.Verdict, reason: string(o.End.Reason), turns: o.End.Turns}
	for _, g := range o.Tally.Firings {
		e.fired = append(e.fired, g.Name+" "+g.Act)
	}
	return e
}

func guards(t *testing.T, name string, mode guard.Mode, changes map[string]string) guard.Settings {
	t.Helper()
	s, err := guard.MustProfile(guard.ProfileDefault).With(name, mode)
	for param, value := range changes {
		if err == nil {
			s, err = s.WithParam(name, param, value)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func scenario(t *testing.T, id string) *scenarios.Scenario {
	t.Helper()
	s, err := builtin.Get(id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Each of these traps is one of its own guard: with it in force the trap model
// gets out of it by what the guard does, with it in shadow it does not, whatever
// the other guards of the profile do.
func TestTrapsAreTheirGuards(t *testing.T) {
	for id, c := range map[string]struct{ guard, acts string }{
		"locked-period":       {"no_progress", "nudge"},
		"unmounted-archive":   {"no_progress", "nudge"},
		"expired-token":       {"no_progress", "nudge"},
		"quota-in-the-middle": {"no_progress", "nudge"},
		"date-formats":        {"no_progress", "nudge"},
		"stale-lockfile":      {"no_progress", "nudge"},
		"grep-blinkers":       {"monotony", "nudge"},
		"locker-by-locker":    {"monotony", "nudge"},
		"manual-again":        {"dedupe", "point"},
		"polish-first":        {"budget_notice", "notice"},
		"long-reads":          {"budget_notice", "notice"},
		"link-check-detour":   {"goal_reminder", "remind"},
		"typo-hunt":           {"goal_reminder", "remind gap"},
		"five-dashboards":     {"goal_reminder", "remind gap narrow"},
	} {
		s := scenario(t, id)
		on := endOf(t, s, "sim/trap-"+c.guard, guards(t, c.guard, guard.Enforce, nil), 0)
		if got := strings.Join(on.by(c.guard), " "); on.verdict != "pass" || got != c.acts {
			t.Errorf("%s, %s in force: %s, ended %s after %d turns: %q", id, c.guard, on.verdict, on.reason, on.turns, on.fired)
		}
		off := endOf(t, s, "sim/trap-"+c.guard, guards(t, c.guard, guard.Shadow, nil), 0)
		if off.verdict != "fail" || len(off.by(c.guard)) == 0 {
			t.Errorf("%s, %s in shadow: %s, ended %s after %d turns: %q", id, c.guard, off.verdict, off.reason, off.turns, off.fired)
		}
	}
}

// In each of its scenarios no_progress raises the pass rate of the weak model,
// among the repetitions in which it fires, and over all of them that of the
// medium one.
func TestNoProgressEarnsItsPlace(t *testing.T) {
	for model, least := range map[string]int{"sim/weak": 3, "sim/medium": 0} {
		all := [3]int{}
		for _, id := range []string{"locked-period", "unmounted-archive", "expired-token", "quota-in-the-middle", "date-formats", "stale-lockfile"} {
			exposed, with, without := 0, 0, 0
			for rep := range 10 {
				on := endOf(t, scenario(t, id), model, guards(t, "no_progress", guard.Enforce, nil), rep)
				if len(on.by("no_progress")) == 0 {
					continue
				}
				off := endOf(t, scenario(t, id), model, guards(t, "no_progress", guard.Shadow, nil), rep)
				exposed, with, without = exposed+1, with+on.pass(), without+off.pass()
			}
			t.Logf("%s, %s: fires in %d of 10, passes %d with it, %d in shadow", id, model, exposed, with, without)
			if with-without < least {
				t.Errorf("%s, %s: fires in %d of 10, passes %d with it, %d in shadow", id, model, exposed, with, without)
			}
			all[0], all[1], all[2] = all[0]+exposed, all[1]+with, all[2]+without
		}
		if all[0] < 12 || all[1]-all[2] < all[0]/3 {
			t.Errorf("%s: fires in %d of 60, passes %d with it, %d in shadow", model, all[0], all[1], all[2])
		}
	}
}
