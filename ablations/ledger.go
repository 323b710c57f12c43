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
	freed       *sync.Cond // held has become less
	heldPico    int64
	heldTokens  int64
	spentPico   int64
	spentTokens int64
}

// newLedger keeps the budgets of a suite, or the part of them that is a shard's.
func newLedger(b design.Budgets, shard, shards int) *ledger {
	part := func(total int64) int64 {
		if shards == 0 {
			return total
		}
		i, n := int64(shard), int64(shards)
		return max(total*i/n-total*(i-1)/n, min(total, 1)) // never 0, which is unset
	}
	l := &ledger{microUSD: part(b.MicroUSD), tokens: part(b.Tokens)}
	l.freed = sync.NewCond(&l.mu)
	return l
}

// reservation is what one call holds.
type reservation struct{ pico, tokens int64 }

// worst estimates the most that a call can use: a token for every two bytes of
// the request, nothing cached, and an answer of full length.
func worst(req *model.Request) model.Usage {
	bytes := int64(0)
	for _, p := range req.Parts {
		bytes += int64(p.Size)
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
	for !l.fits(r.pico+l.heldPico, r.tokens+l.heldTokens) {
		if !l.fits(r.pico, r.tokens) {
			return reservation{}, errBudget
		}
		l.freed.Wait() // for calls in flight to give back what they do not use
	}
	l.heldPico += r.pico
	l.heldTokens += r.tokens
	return r, nil
}

// fits reports whether so much more can be spent.
func (l *ledger) fits(pico, tokens int64) bool {
	return (l.microUSD == 0 || l.spentPico+pico <= l.microUSD*1_000_000) && (l.tokens == 0 || l.spentTokens+tokens <= l.tokens)
}

// settle turns a reservation into what was spent.
func (l *ledger) settle(r reservation, id string, u model.Usage, prices map[string]loop.Prices) {
	if !l.bounded() {
		return
	}
	l.pay(id, u, prices)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heldPico -= r.pico
	l.heldTokens -= r.tokens
	l.freed.Broadcast()
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
