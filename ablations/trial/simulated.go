package trial

import (
	"fmt"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/sim"
	"github.com/harnessbench/harnessbench/scenarios"
)

// Simulated makes the simulated model of a trial of sc: the profile follows the
// scenario's oracle script under its faults and its context window, with the luck
// of one repetition (see RepetitionSeed). It is what a trial runs on in process,
// and what answers for it over the wire.
func Simulated(sc *scenarios.Scenario, profile string, luck uint64) (*sim.Model, error) {
	p, ok := sim.Lookup(profile)
	if !ok {
		return nil, fmt.Errorf("no simulated model %q; see: harnessbench models", profile)
	}
	opts := sim.Options{Seed: luck, Window: sc.Limits.ContextWindow}
	if sc.Oracle != nil {
		script, err := scripts.get(sc.Digest, func() (*sim.Script, error) { return sim.ParseScript(sc.OracleName, sc.Oracle) })
		if err != nil {
			return nil, err
		}
		opts.Script = script
	}
	for _, f := range sc.Faults {
		if f.Model {
			opts.Faults = append(opts.Faults, sim.Fault{Turns: f.AtTurn, Attempts: f.AtAttempt, Purpose: model.Purpose(f.Purpose), Kind: sim.FaultKind(f.Kind),
				Status: f.Status, RetryAfter: f.RetryAfter, Takes: f.Takes, Message: f.Text})
		}
	}
	return sim.New(p, opts), nil
}
