package design

import (
	"fmt"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/scenarios"
)

// Current gives the configuration that a suite has today for a recorded session:
// the scenario and the arm that its header names, as they are now. It is what
// replay --config=current runs.
func Current(suite string) (func(*session.Header) (*trial.Rebuilt, error), error) {
	find, err := CurrentTrial(suite)
	if err != nil {
		return nil, err
	}
	return func(h *session.Header) (*trial.Rebuilt, error) {
		spec, err := find(h)
		if err != nil {
			return nil, err
		}
		return spec.Rebuilt()
	}, nil
}

// CurrentTrial gives the trial that a suite has today for a recorded session. It
// is what a session goes on as where its recording ends.
func CurrentTrial(suite string) (func(*session.Header) (*trial.Spec, error), error) {
	s, list, err := OpenSuite(suite)
	if err != nil {
		return nil, err
	}
	arms, _, err := s.Expand()
	if err != nil {
		return nil, err
	}
	byID := make(map[string]*scenarios.Scenario, len(list))
	for _, sc := range list {
		byID[sc.ID] = s.tighten(sc)
	}
	byArm := make(map[string]Arm, len(arms))
	for _, a := range arms {
		byArm[a.Name] = a
	}
	return func(h *session.Header) (*trial.Spec, error) {
		sc, ok := byID[h.Scenario]
		if !ok {
			return nil, fmt.Errorf("the suite %s has no scenario %q", suite, h.Scenario)
		}
		arm, ok := byArm[h.Labels["arm"]]
		if !ok {
			return nil, fmt.Errorf("the suite %s has no arm %q", suite, h.Labels["arm"])
		}
		seed, err := trial.RecordedSeed(h)
		if err != nil {
			return nil, err
		}
		spec := &trial.Spec{Scenario: sc, Model: h.Model, Arm: arm.Name, Guards: arm.Guards, Prompt: arm.Prompt, Repetition: h.Repetition, Seed: seed}
		if spec.Card, err = trial.RecordedCard(h); err != nil {
			return nil, err
		}
		spec.Fallbacks = arm.Fallback
		if _, spec.FallbackCards, err = trial.RecordedFallbacks(h); err != nil {
			return nil, err
		}
		if s.Coupling == Independent {
			spec.Salt = arm.Name // as the runner does
		}
		return spec, nil
	}, nil
}
