package trial

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/results/pricing"
)

// Models are the trial's model and those for fallback, each once.
func (s *Spec) Models() []string {
	out := []string{s.Model}
	for _, id := range s.Fallbacks {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// card is that of one of the trial's models; nil for simulated ones.
func (s *Spec) card(id string) *Card {
	if id == s.Model {
		return s.Card
	}
	return s.FallbackCards[id]
}

// fallbackParams are the params of the models for fallback.
func (s *Spec) fallbackParams() []model.Params {
	var out []model.Params
	for _, id := range s.Models()[1:] {
		out = append(out, s.paramsOf(id))
	}
	return out
}

// Prices gives the price of every model of the trial where it is known; nil when
// none is.
func (s *Spec) Prices() map[string]loop.Prices {
	var out map[string]loop.Prices
	for _, id := range s.Models() {
		for id, p := range Prices(id, s.card(id)) {
			if out == nil {
				out = map[string]loop.Prices{}
			}
			out[id] = p
		}
	}
	return out
}

// checkFallbacks refuses models that cannot stand in for each other: those of one
// trial share a clock, and a simulated model's is virtual.
func (s *Spec) checkFallbacks() error {
	for _, id := range s.Models()[1:] {
		if IsSimulated(id) != IsSimulated(s.Model) {
			return fmt.Errorf("model %s cannot fall back to %s: simulated models and others keep different times; give each arm its own list, with models of its kind", s.Model, id)
		}
	}
	return nil
}

// NewModel makes the model of the trial: a simulated one, or what the provider
// gives. A nil provider knows none. With models for fallback it is all of them in
// one, each asked when its name stands in the params; the scenario's faults are
// those of the first one's endpoint.
func (s *Spec) NewModel(provider Provider) (model.Model, error) {
	first, err := s.newModel(s.Model, provider)
	others := s.Models()[1:]
	if err != nil || len(others) == 0 {
		return first, err
	}
	r := &router{Model: first, byID: map[string]model.Model{s.Model: first},
		make: func(id string) (model.Model, error) { return s.newModel(id, provider) }}
	if s.Guards.Mode("fallback") == guard.Enforce { // better now than in the middle of a trial
		for _, id := range others {
			if _, err := r.get(id); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

// newModel makes one of the trial's models.
func (s *Spec) newModel(id string, provider Provider) (model.Model, error) {
	if IsSimulated(id) {
		return simulated(s.Scenario, id, s.luck(), id == s.Model)
	}
	if provider == nil {
		return nil, fmt.Errorf("model %s: nothing here reaches its provider; the simulated models are: harnessbench models", id)
	}
	m, err := provider(id, s.luck())
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", id, err)
	}
	if id != s.Model {
		return m, nil
	}
	return s.faultyModel(m)
}

// router is several models, asked by the name in the params.
type router struct {
	model.Model
	make func(id string) (model.Model, error)
	mu   sync.Mutex
	byID map[string]model.Model
}

// get is the model of that name, made when it is first wanted.
func (r *router) get(id string) (model.Model, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.byID[id]; m != nil {
		return m, nil
	}
	m, err := r.make(id)
	if err != nil {
		return nil, fmt.Errorf("for fallback: %w", err)
	}
	r.byID[id] = m
	return m, nil
}

// Generate implements model.Model.
func (r *router) Generate(ctx context.Context, req *model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	m, err := r.get(req.Params.Model)
	if err != nil {
		return nil, err
	}
	return m.Generate(ctx, req, onDelta)
}

// RecordedFallbacks are the models for fallback of a session and how they were
// asked, as far as its header says.
func RecordedFallbacks(h *session.Header) (ids []string, cards map[string]*Card, err error) {
	var c configJSON
	if err := json.Unmarshal(h.Config, &c); err != nil {
		return nil, nil, fmt.Errorf("header, config: %w", err)
	}
	if len(c.Models) < 2 {
		return nil, nil, nil
	}
	for i, id := range c.Models[1:] {
		if IsSimulated(id) {
			continue
		}
		p := c.Params
		if i < len(c.Fallbacks) {
			p = c.Fallbacks[i]
		}
		if cards == nil {
			cards = map[string]*Card{}
		}
		cards[id] = c.card(id, p, 0)
	}
	return c.Models[1:], cards, nil
}

// card is how a model was asked, as far as a configuration says.
func (c *configJSON) card(id string, p paramsJSON, window int) *Card {
	card := &Card{MaxTokens: p.MaxTokens, Temperature: p.Temperature, TopP: p.TopP, Seed: p.Seed != nil, Window: window}
	if q, ok := c.Prices[id]; ok {
		micro := func(n int64) *pricing.Micro { return new(pricing.Micro(n)) }
		card.Price = pricing.Price{Model: id, Input: micro(q.InputUncached), CacheRead: micro(q.CacheRead), CacheWrite: micro(q.CacheWrite), Output: micro(q.Output)}
	}
	return card
}
