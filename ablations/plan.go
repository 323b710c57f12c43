package ablations

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/scenarios"
)

// Trial is one trial of a plan.
type Trial struct {
	Scenario   *scenarios.Scenario
	Model      string
	Arm        Arm
	Repetition int // from 0
}

// Key names the trial in journals and tables.
func (t *Trial) Key() results.TrialKey {
	return results.TrialKey{Scenario: t.Scenario.ID, Model: t.Model, Arm: t.Arm.Name, Repetition: t.Repetition}
}

// SessionName is the trial's session file, relative to the run's sessions
// folder: scenario, model, arm and repetition, with dots between them.
func (t *Trial) SessionName() string {
	model := strings.NewReplacer("/", "_", ":", "_").Replace(t.Model)
	return fmt.Sprintf("%s.%s.%s.%d.session.jsonl", t.Scenario.ID, model, t.Arm.Name, t.Repetition)
}

// Plan is a suite made explicit.
type Plan struct {
	Suite       *Suite
	Scenarios   []*scenarios.Scenario // sorted by id
	Arms        []Arm
	Comparisons []Comparison
	Trials      []Trial // in order of execution
}

// NewPlan crosses the suite with its scenarios. The order of execution is
// shuffled by the suite's seed in blocks of one (scenario, model, repetition);
// inside a block the arms follow each other in shuffled order, so that whatever
// drifts while a suite runs falls on all arms alike.
func NewPlan(s *Suite, list []*scenarios.Scenario) (*Plan, error) {
	arms, comps, err := s.Expand()
	if err != nil {
		return nil, err
	}
	p := &Plan{Suite: s, Scenarios: list, Arms: arms, Comparisons: comps}
	if err := p.check(); err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(s.Seed, uint64(len(list))))
	type block struct{ scenario, model, rep int }
	var blocks []block
	for i := range list {
		for m := range s.Models {
			for r := range s.Repetitions {
				blocks = append(blocks, block{i, m, r})
			}
		}
	}
	rng.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
	names := map[string]results.TrialKey{}
	for _, b := range blocks {
		for _, a := range rng.Perm(len(arms)) {
			t := Trial{Scenario: list[b.scenario], Model: s.Models[b.model], Arm: arms[a], Repetition: b.rep}
			name := strings.ToLower(t.SessionName())
			if other, taken := names[name]; taken {
				return nil, fmt.Errorf("suite %s: the trials %s and %s would share the session file %s; rename an arm or a scenario", s.Name, other, t.Key(), name)
			}
			names[name] = t.Key()
			p.Trials = append(p.Trials, t)
		}
	}
	return p, nil
}

// check configures one trial of every scenario and model, and of every arm, so
// that what cannot run is refused before anything runs: an unknown model or tool,
// a mistake in an oracle script, a cost budget on a model without a price.
func (p *Plan) check() error {
	try := func(sc *scenarios.Scenario, model string, a Arm) error {
		spec := trial.Spec{Scenario: sc, Model: model, Arm: a.Name, Guards: a.Guards, Seed: p.Suite.Seed}
		if _, err := spec.Rebuilt(); err != nil {
			return err
		}
		_, err := spec.NewModel()
		return err
	}
	for _, m := range p.Suite.Models {
		for _, sc := range p.Scenarios {
			if err := try(sc, m, p.Arms[0]); err != nil {
				return err
			}
		}
		for _, a := range p.Arms {
			if err := try(p.Scenarios[0], m, a); err != nil {
				return fmt.Errorf("arm %s: %w", a.Name, err)
			}
		}
	}
	return nil
}
