package ablations

import (
	"errors"
	"sync"

	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/model"
)

// errBudget ends a block: its next model call could exceed the run's budget.
var errBudget = errors.New("the run's budget does not cover the next model call")

// ledger keeps a run inside its budgets: every call reserves its worst case
// before it is made, and gives back what it did not use. A nil ledger, or one
// without a budget, lets everything pass.
type ledger struct {
	microUSD int64 // 0 = unset
	tokens   int64 // 0 = unset

	mu          sync.Mutex
	heldPico    int64
	heldTokens  int64
	spentPico   int64
	spentTokens int64
}

// reservation is what one call holds.
type reservation struct{ pico, tokens int64 }

// worst estimates the most that a call can use: a token for every two bytes of
// the request, nothing cached, and an answer of full length.
func worst(req *model.Request) model.Usage {
	bytes := int64(0)
	for _, p := range req.Parts {
		bytes += int64(len(p.JSON))
	}
	out := int64(req.Params.MaxTokens)
	if out == 0 {
		out = design.AssumedOutput
	}
	return model.Usage{InputUncached: bytes/2 + 16, Output: out}
}

func (l *ledger) bounded() bool { return l != nil && (l.microUSD > 0 || l.tokens > 0) }

// reserve holds the worst case of a call, or returns errBudget.
func (l *ledger) reserve(req *model.Request, prices map[string]loop.Prices) (reservation, error) {
	if !l.bounded() {
		return reservation{}, nil
	}
	u := worst(req)
	pico, _ := price(req.Params.Model, u, prices)
	r := reservation{pico, u.Total()}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.microUSD > 0 && l.spentPico+l.heldPico+r.pico > l.microUSD*1_000_000 {
		return reservation{}, errBudget
	}
	if l.tokens > 0 && l.spentTokens+l.heldTokens+r.tokens > l.tokens {
		return reservation{}, errBudget
	}
	l.heldPico += r.pico
	l.heldTokens += r.tokens
	return r, nil
}

// settle turns a reservation into what was spent.
func (l *ledger) settle(r reservation, id string, u model.Usage, prices map[string]loop.Prices) {
	if !l.bounded() {
		return
	}
	l.mu.Lock()
	l.heldPico -= r.pico
	l.heldTokens -= r.tokens
	l.mu.Unlock()
	l.pay(id, u, prices)
}

// pay counts what was spent.
func (l *ledger) pay(id string, u model.Usage, prices map[string]loop.Prices) {
	if !l.bounded() {
		return
	}
	pico, _ := price(id, u, prices)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spentPico += pico
	l.spentTokens += u.Total()
}

// carry counts what a run spent before it was resumed.
func (l *ledger) carry(pico, tokens int64) {
	l.spentPico += pico
	l.spentTokens += tokens
}
