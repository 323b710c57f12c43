package builtin_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/scenarios"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// took runs one trial and says what it came to.
func took(t *testing.T, s *scenarios.Scenario, model string, set guard.Settings) *trial.Outcome {
	t.Helper()
	dir := t.TempDir()
	o, err := trial.Run(context.Background(), trial.Spec{Scenario: s, Model: model, Arm: "test", Guards: set, Seed: 1},
		trial.Options{Session: filepath.Join(dir, "t.session.jsonl"), Sync: session.SyncNever, Temp: dir})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// With the default guards a model passes, and with one of them set badly it
// fails, or takes half as much again.
func TestBadSettingsHurt(t *testing.T) {
	all, err := builtin.All()
	if err != nil {
		t.Fatal(err)
	}
	standard := guard.MustProfile(guard.ProfileDefault)
	for _, s := range all {
		for _, h := range s.Hurts {
			mode, model := guard.Enforce, h.Model
			if h.Mode != "" {
				mode = guard.Mode(h.Mode)
			}
			if model == "" {
				model = "sim/oracle"
			}
			set, err := standard.With(h.Guard, mode)
			for param, value := range h.Set {
				if err == nil {
					set, err = set.WithParam(h.Guard, param, value)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			well, ill := took(t, s, model, standard), took(t, s, model, set)
			hurt := false
			switch h.By {
			case "", "fail":
				hurt = ill.Overall.Verdict == "fail"
			case "tokens":
				hurt = 2*ill.End.Usage.Total() >= 3*well.End.Usage.Total()
			case "time":
				hurt = 2*ill.End.At >= 3*well.End.At
			}
			if well.Overall.Verdict != "pass" || !hurt {
				t.Errorf("%s, %s, %s %v: %s by default (%s, %s), %s then (%s, %s)", s.ID, model, h.Guard, h.Set,
					well.Overall.Verdict, well.End.Reason, well.End.At, ill.Overall.Verdict, ill.End.Reason, ill.End.At)
			}
		}
	}
}
