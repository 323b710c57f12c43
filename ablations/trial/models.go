package trial

import (
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
	Window int           // context window in tokens; 0 = unknown
	Price  pricing.Price // classes of tokens whose price is nil are unknown
}

// IsSimulated reports whether a model id names a simulated model.
func IsSimulated(id string) bool { return strings.HasPrefix(id, "sim/") }

// ProviderOf is the part of a model's id that names its provider.
func ProviderOf(id string) string {
	provider, _, _ := strings.Cut(id, "/")
	return provider
}

// params are those of the trial's model.
func (s *Spec) params() model.Params { return s.paramsOf(s.Model) }

// paramsOf are those of the scenario and of a model's card: of two bounds the
// tighter one.
func (s *Spec) paramsOf(id string) model.Params {
	p := model.Params{Model: id, MaxTokens: s.Scenario.Limits.MaxTokens}
	if c := s.card(id); c != nil {
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

// Bounds are the longest answer that is asked for and the context window, in
// tokens; 0 = nobody says.
func (s *Spec) Bounds() (maxTokens, window int) { return s.params().MaxTokens, s.window() }

// tighter is the smaller of two bounds of which zero is none.
func tighter(a, b int) int {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// PriceOf is what a model's tokens cost; false when that is not known of every
// class. Prices of simulated models are declared, those of others stand in their
// card.
func PriceOf(id string, card *Card) (pricing.Price, bool) {
	var p pricing.Price
	switch {
	case IsSimulated(id):
		p, _ = pricing.Simulated().Lookup(id)
	case card != nil:
		p = card.Price
	}
	return p, p.Input != nil && p.CacheRead != nil && p.CacheWrite != nil && p.Output != nil
}

// Prices gives the loop the price of a model, where it is known; else nil.
func Prices(id string, card *Card) map[string]loop.Prices {
	p, ok := PriceOf(id, card)
	if !ok {
		return nil
	}
	return map[string]loop.Prices{id: {InputUncached: int64(*p.Input), CacheRead: int64(*p.CacheRead),
		CacheWrite: int64(*p.CacheWrite), Output: int64(*p.Output)}}
}
