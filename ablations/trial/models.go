package trial

import (
	"fmt"
	"math"
	"strings"

	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/results/pricing"
)

// Provider makes a model that is not simulated, by its id. luck is the seed of
// the repetition (with the arm's salt under independent coupling), for an adapter
// that can pass it on. It is safe for concurrent use.
type Provider func(id string, luck uint64) (model.Model, error)

// Card says how a model that is not simulated is asked, and what it costs. It is
// data: where the model is reached and with which key is the provider's business.
type Card struct {
	MaxTokens   int      // 0 = unset
	Temperature *float64 // nil = unset
	TopP        *float64 // nil = unset
	// Seed sends every call of a repetition the same seed, a number of 31 bits
	// that is derived from the repetition's luck.
	Seed   bool
	Window int          // context window in tokens; 0 = unknown
	Price  *loop.Prices // nil = unknown
}

// IsSimulated reports whether a model id names a simulated model.
func IsSimulated(id string) bool { return strings.HasPrefix(id, "sim/") }

// ProviderOf is the part of a model's id that names its provider.
func ProviderOf(id string) string {
	provider, _, _ := strings.Cut(id, "/")
	return provider
}

// params are those of the scenario and of the model's card: of two bounds the
// tighter one.
func (s *Spec) params() model.Params {
	p := model.Params{Model: s.Model, MaxTokens: s.Scenario.Limits.MaxTokens}
	if c := s.Card; c != nil {
		p.MaxTokens = tighter(p.MaxTokens, c.MaxTokens)
		p.Temperature, p.TopP = c.Temperature, c.TopP
		if c.Seed {
			p.Seed = new(int64(s.luck() & math.MaxInt32))
		}
	}
	return p
}

// window is the context window in force: the scenario's limit or the model's own,
// the tighter one.
func (s *Spec) window() int {
	if s.Card == nil {
		return s.Scenario.Limits.ContextWindow
	}
	return tighter(s.Scenario.Limits.ContextWindow, s.Card.Window)
}

// Asked are the params and the context window with which the model is asked. The
// window is 0 when nobody says.
func (s *Spec) Asked() (model.Params, int) { return s.params(), s.window() }

// tighter is the smaller of two bounds of which zero is none.
func tighter(a, b int) int {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// Prices gives the loop the price of a model, where it is known; else nil. Those
// of simulated models are declared, those of others stand in their card.
func Prices(id string, card *Card) map[string]loop.Prices {
	if !IsSimulated(id) {
		if card == nil || card.Price == nil {
			return nil
		}
		return map[string]loop.Prices{id: *card.Price}
	}
	p, ok := pricing.Simulated().Lookup(id)
	if !ok || p.Input == nil || p.CacheRead == nil || p.CacheWrite == nil || p.Output == nil {
		return nil
	}
	return map[string]loop.Prices{id: {InputUncached: int64(*p.Input), CacheRead: int64(*p.CacheRead),
		CacheWrite: int64(*p.CacheWrite), Output: int64(*p.Output)}}
}

// NewModel makes the model of the trial: a simulated one, or what the provider
// gives. A nil provider knows none.
func (s *Spec) NewModel(provider Provider) (model.Model, error) {
	if IsSimulated(s.Model) {
		return Simulated(s.Scenario, s.Model, s.luck())
	}
	if provider == nil {
		return nil, fmt.Errorf("model %s: nothing here reaches its provider; the simulated models are: harnessbench models", s.Model)
	}
	m, err := provider(s.Model, s.luck())
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", s.Model, err)
	}
	return m, nil
}
