package trial

import (
	"fmt"

	"github.com/harnessbench/harnessbench/loop/model"
	modelfault "github.com/harnessbench/harnessbench/loop/model/fault"
	"github.com/harnessbench/harnessbench/loop/tool"
	toolfault "github.com/harnessbench/harnessbench/loop/tool/fault"
	"github.com/harnessbench/harnessbench/scenarios"
)

// modelFaults are the scenario's faults of the model's endpoint.
func modelFaults(sc *scenarios.Scenario) (out []modelfault.Fault) {
	for _, f := range sc.Faults {
		if f.Model {
			out = append(out, modelfault.Fault{Turns: f.AtTurn, Attempts: f.AtAttempt, Purpose: model.Purpose(f.Purpose), Kind: modelfault.Kind(f.Kind),
				Status: f.Status, RetryAfter: f.RetryAfter, Takes: f.Takes, Message: f.Text})
		}
	}
	return out
}

// toolFaults are the scenario's faults of one tool.
func toolFaults(sc *scenarios.Scenario, name string) (out []toolfault.Fault) {
	for _, f := range sc.Faults {
		if !f.Model && f.Tool == name {
			out = append(out, toolfault.Fault{Kind: toolfault.Kind(f.Kind), AtCall: f.AtCall, Takes: f.Takes, Text: f.Text, Bytes: f.Bytes, P: f.P})
		}
	}
	return out
}

// faultyModel puts the scenario's faults in front of a model that is not
// simulated; a simulated one meets them by itself. Time is real there, so a slow
// or hanging call really waits. What shares, bounds and budgets calls stands in
// front of it.
func (s *Spec) faultyModel(m model.Model) (model.Model, error) {
	faults := modelFaults(s.Scenario)
	if len(faults) == 0 {
		return m, nil
	}
	w, err := modelfault.New(m, modelfault.Options{Faults: faults, Seed: s.luck(), Wait: true})
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.Scenario.ID, err)
	}
	return w, nil
}

// faultyTool puts the scenario's faults in front of a built-in tool; a mock meets
// them by itself. Under wait a slow or hanging call takes real time.
func (s *Spec) faultyTool(t tool.Tool, wait bool) (tool.Tool, error) {
	faults := toolFaults(s.Scenario, t.Spec().Name)
	if len(faults) == 0 {
		return t, nil
	}
	w, err := toolfault.New(t, faults, toolfault.Options{Seed: s.luck(), Wait: wait})
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.Scenario.ID, err)
	}
	return w, nil
}
