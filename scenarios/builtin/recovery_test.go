package builtin_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// The bad settings of the guards that recover from failing calls show what they
// cost: under the default profile the model passes, set badly it fails.
func TestRecoveryHurts(t *testing.T) {
	all, err := builtin.All()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range all {
		for i := range s.Hurts {
			h := &s.Hurts[i]
			if h.Guard != "fallback" && h.Guard != "argument_repair" && h.Guard != "response_cache" {
				continue
			}
			seen[h.Guard] = true
			good := guard.MustProfile(guard.ProfileDefault)
			bad, err := good.With(h.Guard, guard.Enforce)
			for name, value := range h.Set {
				if err == nil {
					bad, err = bad.WithParam(h.Guard, name, value)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			id := h.Model
			if id == "" {
				id = "sim/oracle"
			}
			verdict := func(set guard.Settings) string {
				dir := t.TempDir()
				o, err := trial.Run(context.Background(), trial.Spec{Scenario: s, Model: id, Guards: set, Seed: 1, Fallbacks: h.Fallbacks()},
					trial.Options{Session: filepath.Join(dir, "t.session.jsonl"), Sync: session.SyncNever, Temp: dir})
				if err != nil {
					t.Fatal(err)
				}
				return o.Overall.Verdict
			}
			if g, b := verdict(good), verdict(bad); g != "pass" || b != "fail" {
				t.Errorf("%s, %s: %s by default, %s when set badly", s.ID, h.Guard, g, b)
			}
		}
	}
	if len(seen) != 3 {
		t.Errorf("only %v have bad settings", seen)
	}
}

// What each of these guards is worth: the trap model fails without it and passes
// with it.
func TestRecoveryEarnsItsPlace(t *testing.T) {
	for id, g := range map[string]string{"fenced-arguments": "argument_repair", "wrong-shape-arguments": "argument_repair",
		"dead-endpoint": "fallback", "withdrawn-model": "fallback"} {
		s, err := builtin.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		for mode, want := range map[guard.Mode]string{guard.Enforce: "pass", guard.Shadow: "fail", guard.Off: "fail"} {
			set, err := guard.MustProfile(guard.ProfileDefault).With(g, mode)
			if err != nil {
				t.Fatal(err)
			}
			got := run(t, s, "sim/trap-"+g, set, 0)
			if got.verdict != want || got.fired[g] != (mode != guard.Off) {
				t.Errorf("%s, %s %s: %s, fired %v", id, g, mode, got.verdict, got.fired[g])
			}
		}
	}
}

// A warm cache answers each request once, for nothing.
func TestCacheIsWarm(t *testing.T) {
	s, err := builtin.Get("asked-before")
	if err != nil {
		t.Fatal(err)
	}
	for mode, hits := range map[guard.Mode]int{guard.Enforce: 4, guard.Shadow: 4, guard.Off: 0} {
		set, err := guard.MustProfile(guard.ProfileDefault).With("response_cache", mode)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		o, err := trial.Run(context.Background(), trial.Spec{Scenario: s, Model: "sim/oracle", Guards: set, Seed: 1},
			trial.Options{Session: filepath.Join(dir, "t.session.jsonl"), Sync: session.SyncNever, Temp: dir})
		if err != nil {
			t.Fatal(err)
		}
		fired := 0
		for _, f := range o.Tally.Firings {
			if f.Name == "response_cache" {
				fired++
			}
		}
		free := o.End.Usage.Total() == 0 && o.Tally.ModelTime == 0
		if o.Overall.Verdict != "pass" || fired != hits || free != (mode == guard.Enforce) {
			t.Errorf("%s: %s, %d hits, %+v in %s", mode, o.Overall.Verdict, fired, o.End.Usage, o.Tally.ModelTime)
		}
	}
	if _, err := trial.Run(context.Background(), trial.Spec{Scenario: s, Model: "m/real", Seed: 1, Guards: mustEnforce(t, "response_cache")},
		trial.Options{Session: filepath.Join(t.TempDir(), "t.session.jsonl"), Sync: session.SyncNever,
			Provider: func(string, uint64) (model.Model, error) { return nil, nil }}); err == nil {
		t.Error("a real model warms a cache")
	}
}

func mustEnforce(t *testing.T, g string) guard.Settings {
	t.Helper()
	set, err := guard.MustProfile(guard.ProfileDefault).With(g, guard.Enforce)
	if err != nil {
		t.Fatal(err)
	}
	return set
}
