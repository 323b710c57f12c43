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
		if s.Coupling == Independent {
			spec.Salt = arm.Name // as the runner does
		}
		return spec, nil
	}, nil
}

// Trials finds, among a suite's scenarios, the trial that a session records: the
// scenario as it is now, and the recorded seed, repetition and luck. Guards and
// prompt are left out: they stand in the session. It is what executes tools again
// and asks a model on.
func Trials(suite string) (func(*session.Header) (*trial.Spec, error), error) {
	s, list, err := OpenSuite(suite)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]*scenarios.Scenario, len(list))
	for _, sc := range list {
		byID[sc.ID] = s.tighten(sc)
	}
	return trials("the suite "+suite, byID, s.Coupling), nil
}

// Trials is the same among the scenarios of a run. dir is as in PlanFromLock.
func (l *Lock) Trials(dir string) (func(*session.Header) (*trial.Spec, error), error) {
	byID, _, err := l.LoadScenarios(dir)
	if err != nil {
		return nil, err
	}
	return trials("the run", byID, l.Coupling), nil
}

func trials(where string, byID map[string]*scenarios.Scenario, coupling string) func(*session.Header) (*trial.Spec, error) {
	return func(h *session.Header) (*trial.Spec, error) {
		sc, ok := byID[h.Scenario]
		if !ok {
			return nil, fmt.Errorf("%s has no scenario %q", where, h.Scenario)
		}
		return TrialOf(h, sc, coupling)
	}
}

// TrialOf is the trial of a scenario that a session records under a coupling.
func TrialOf(h *session.Header, sc *scenarios.Scenario, coupling string) (*trial.Spec, error) {
	seed, err := trial.RecordedSeed(h)
	if err != nil {
		return nil, err
	}
	spec := &trial.Spec{Scenario: sc, Model: h.Model, Arm: h.Labels["arm"], Repetition: h.Repetition, Seed: seed}
	if coupling == Independent {
		spec.Salt = spec.Arm // as the runner does
	}
	return spec, nil
}
