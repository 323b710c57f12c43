package design

import (
	"fmt"
	"slices"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/scenarios"
)

// checkFallback holds the lists of models for fallback against what they may be.
func (s *Suite) checkFallback() error {
	for i, m := range s.Fallback {
		if !isModel(m) {
			return badModel(s.at("fallback", i), m)
		}
	}
	lists := [][]string{s.Fallback}
	for i := range s.Arms {
		a := &s.Arms[i]
		if j := firstDuplicate(a.Fallback); j >= 0 {
			return a.Errorf("name it once", "arm %s: the model %.60q stands twice in its fallback", a.Name, a.Fallback[j])
		}
		for _, m := range a.Fallback {
			if !isModel(m) {
				return badModel(a.Pos, m)
			}
		}
		lists = append(lists, a.Fallback)
	}
	s.others = s.onlyFallback(lists)
	return nil
}

// onlyFallback are the models of lists on which no trial runs, sorted.
func (s *Suite) onlyFallback(lists [][]string) []string {
	var out []string
	for _, m := range slices.Concat(lists...) {
		if !slices.Contains(s.Models, m) && !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	slices.Sort(out)
	return out
}

// fallback gives arms that name no models for fallback those of the suite. An arm
// without any never falls back, whatever its guard says.
func (e *expansion) fallback() error {
	for i := range e.arms {
		if e.arms[i].Fallback == nil {
			e.arms[i].Fallback = slices.Clone(e.s.Fallback)
		}
	}
	return nil
}

// Asked are all models of the suite, those that only a fallback asks last.
func (s *Suite) Asked() []string { return slices.Concat(s.Models, s.others) }

// Cards say how models for fallback are asked; simulated ones have none.
func (p *Plan) Cards(ids []string) map[string]*trial.Card {
	var out map[string]*trial.Card
	for _, id := range ids {
		if c := p.Card(id); c != nil {
			if out == nil {
				out = map[string]*trial.Card{}
			}
			out[id] = c
		}
	}
	return out
}

// askedBy are the models that a trial may ask.
func (p *Plan) askedBy(t *Trial) []string {
	spec := p.spec(t)
	if t.Arm.Guards.Mode("fallback") != guard.Enforce {
		return spec.Models()[:1]
	}
	most := int(t.Arm.Guards.Param("fallback", "models")) + 1
	list := spec.Models()
	return list[:min(len(list), most)]
}

// mostOf are the loosest bounds of models in a scenario, as in bounds.
func (p *Plan) mostOf(sc *scenarios.Scenario, ids []string) (maxTokens, window int) {
	loosest := func(a, b int, first bool) int {
		if !first && (a == 0 || b == 0) {
			return 0
		}
		return max(a, b)
	}
	for i, id := range ids {
		m, w := p.bounds(sc, id)
		maxTokens, window = loosest(maxTokens, m, i == 0), loosest(window, w, i == 0)
	}
	return maxTokens, window
}

// spec is one trial of the plan, but for its luck.
func (p *Plan) spec(t *Trial) trial.Spec {
	return trial.Spec{Scenario: t.Scenario, Model: t.Model, Arm: t.Arm.Name, Guards: t.Arm.Guards, Prompt: t.Arm.Prompt, Seed: p.Suite.Seed,
		Card: p.Card(t.Model), Fallbacks: t.Arm.Fallback, FallbackCards: p.Cards(t.Arm.Fallback)}
}

// Warnings says what of the plan does nothing, though it is set: one sentence each.
func (p *Plan) Warnings() []string {
	var out []string
	for i := range p.Arms {
		a := &p.Arms[i]
		if a.Guards.Mode("fallback") == guard.Enforce && len(a.Fallback) == 0 {
			out = append(out, fmt.Sprintf("arm %s enforces the guard fallback and names no models: it never fires; write fallback: [provider/name]", a.Name))
		}
	}
	if len(out) > 1 {
		out = []string{fmt.Sprintf("%d arms enforce the guard fallback and name no models: it never fires there; write fallback: [provider/name]", len(out))}
	}
	return out
}
