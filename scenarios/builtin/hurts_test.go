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

// outcome runs one real trial, repetition 0.
func outcome(t *testing.T, s *scenarios.Scenario, model string, set guard.Settings) *trial.Outcome {
	t.Helper()
	dir := t.TempDir()
	o, err := trial.Run(context.Background(),
		trial.Spec{Scenario: s, Model: model, Arm: "test", Guards: set, Seed: 1},
		trial.Options{Session: filepath.Join(dir, "t.session.jsonl"), Sync: session.SyncNever, Temp: dir})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// badly returns the default profile with one guard set as h says.
func badly(h *scenarios.Hurt) (guard.Settings, error) {
	mode := guard.Enforce
	if h.Mode != "" {
		mode = guard.Mode(h.Mode)
	}
	set, err := guard.MustProfile(guard.ProfileDefault).With(h.Guard, mode)
	for name, value := range h.Set {
		if err == nil {
			set, err = set.WithParam(h.Guard, name, value)
		}
	}
	return set, err
}

// A bad setting that a scenario names makes a model fail that otherwise passes,
// or costs it half as many tokens, or half as much time, again.
func TestHurts(t *testing.T) {
	all, err := builtin.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		for i := range s.Hurts {
			h := &s.Hurts[i]
			model := h.Model
			if model == "" {
				model = "sim/oracle"
			}
			set, err := badly(h)
			if err != nil {
				t.Errorf("%s: %v", h.Pos, err)
				continue
			}
			good, bad := outcome(t, s, model, guard.MustProfile(guard.ProfileDefault)), outcome(t, s, model, set)
			said := fmt.Sprintf("%s, %s %v: %s, %d tokens, %s; set so %s, %d tokens, %s", s.ID, h.Guard, h.Set,
				good.Overall.Verdict, good.End.Usage.Total(), good.End.At, bad.Overall.Verdict, bad.End.Usage.Total(), bad.End.At)
			hurts := map[string]bool{
				"":       bad.Overall.Verdict == "fail",
				"fail":   bad.Overall.Verdict == "fail",
				"tokens": 2*bad.End.Usage.Total() >= 3*good.End.Usage.Total(),
				"time":   2*bad.End.At >= 3*good.End.At,
			}[h.By]
			if good.Overall.Verdict != "pass" || !hurts {
				t.Error(said)
			} else {
				t.Log(said)
			}
		}
	}
}
