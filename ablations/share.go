package ablations

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/model"
)

// answerKey names a model answer that arms of one block may share: equal
// requests (chain and params), asked equally often before, at the same place. The
// place matters once a conversation is compacted: one arm may ask as its turn's
// first attempt what another one asks after a refusal, and what strikes a call
// (a fault, a simulated misfortune) is drawn by its place.
type answerKey struct {
	chain, params model.Digest
	lane          string
	purpose       model.Purpose
	occurrence    int
	turn, attempt int
}

func keyOf(req *model.Request) answerKey {
	return answerKey{req.Chain(), req.ParamsDigest, req.Lane, req.Purpose, req.Occurrence, req.Turn, req.Attempt}
}

// answers are the model answers of one block, complete or in flight. Errors are
// never shared: who waited for one asks itself.
type answers struct {
	mu sync.Mutex
	m  map[answerKey]*answer
}

type answer struct {
	done chan struct{} // closed when resp stands or the call failed
	resp *model.Response
}

func newAnswers() *answers { return &answers{m: map[answerKey]*answer{}} }

// join returns the entry of a key; mine says that the caller has to fill it.
//
//go:noinline
func (a *answers) join(k answerKey) (e *answer, mine bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e = a.m[k]; e != nil {
		return e, false
	}
	e = &answer{done: make(chan struct{})}
	a.m[k] = e
	return e, true
}

// settle fills an entry, or takes it away after an error.
func (a *answers) settle(k answerKey, e *answer, resp *model.Response) {
	a.mu.Lock()
	if resp == nil {
		delete(a.m, k)
	}
	e.resp = resp
	a.mu.Unlock()
	close(e.done)
}

// offer puts an answer that came from a recording in, unless one is there, and
// reports whether it was new.
func (a *answers) offer(k answerKey, resp *model.Response) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.m[k] != nil {
		return false
	}
	e := &answer{done: make(chan struct{}), resp: resp}
	close(e.done)
	a.m[k] = e
	return true
}

// use is one answered or failed model call of a trial, as the block attributes
// it.
type use struct {
	key   answerKey
	id    string // the model that answered
	usage model.Usage
	own   bool // never shared: an error's usage
}

// meter is the model of one trial: it shares answers with the block's other
// arms, keeps the run's budgets, and notes what was used. A trial's loop is one
// goroutine, and so is its meter.
type meter struct {
	model.Model
	pool   *answers // nil = nothing is shared
	ledger *ledger
	prices map[string]loop.Prices
	uses   []use
	real   bool // the model takes real time
}

// note counts a call. What is never shared is summed up a model: a trial that
// waits holds no list of its calls. It stays out of line, so that thousands of
// trials wait on small stacks.
//
//go:noinline
func (m *meter) note(u use) {
	if m.pool != nil && !u.own {
		m.uses = append(m.uses, u)
		return
	}
	u.own, u.key = true, answerKey{}
	for i := range m.uses {
		if m.uses[i].own && m.uses[i].id == u.id {
			m.uses[i].usage = m.uses[i].usage.Add(u.usage)
			return
		}
	}
	m.uses = append(m.uses, u)
}

// Generate implements model.Model.
func (m *meter) Generate(ctx context.Context, req *model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	if m.pool == nil {
		resp, _, err := m.ask(ctx, req, onDelta)
		return resp, err
	}
	for {
		e, mine := m.pool.join(keyOf(req))
		if mine {
			resp, took, err := m.ask(ctx, req, onDelta)
			m.share(req, e, resp, took)
			return resp, err
		}
		select {
		case <-e.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if e.resp != nil {
			m.note(use{key: keyOf(req), id: e.resp.Model, usage: e.resp.Usage})
			return e.resp, nil
		}
	}
}

// share gives the answer of a call to the others that wait for it. An error, and
// an answer that is late for this call, is never shared.
//
//go:noinline
func (m *meter) share(req *model.Request, e *answer, resp *model.Response, took time.Duration) {
	switch {
	case late(req, took):
		resp = nil
	case resp != nil && m.real:
		r := *resp
		r.Elapsed = took // whoever gets it did not measure
		if resp = &r; r.Model == "" {
			r.Model = req.Params.Model
		}
	}
	m.pool.settle(keyOf(req), e, resp)
}

// ask makes the call itself, inside the budgets, and says how long it took.
func (m *meter) ask(ctx context.Context, req *model.Request, onDelta func(model.Delta)) (*model.Response, time.Duration, error) {
	hold, err := m.ledger.reserve(req, m.prices)
	if err != nil {
		return nil, 0, err
	}
	began := time.Now()
	resp, err := m.Model.Generate(ctx, req, onDelta)
	var took time.Duration
	switch {
	case m.real:
		// An answer that took no time would be measured again where it is shared.
		took = max(time.Since(began).Truncate(time.Microsecond), time.Microsecond)
		resp, err = undeclared(resp, err)
	case resp != nil:
		took = resp.Elapsed
	}
	m.account(hold, req, resp, err, took)
	return resp, took, err
}

// undeclared is what a call gave, without what an adapter may say of its time:
// the trial's clock measures that.
func undeclared(resp *model.Response, err error) (*model.Response, error) {
	if resp != nil && resp.Elapsed != 0 {
		r := *resp
		r.Elapsed, resp = 0, &r
	}
	var e *model.Error
	if errors.As(err, &e) && e.Elapsed != 0 {
		f := *e
		f.Elapsed, err = 0, &f
	}
	return resp, err
}

// account counts what a call that was made has used, and gives back the rest of
// what it held.
//
//go:noinline
func (m *meter) account(hold reservation, req *model.Request, resp *model.Response, err error, took time.Duration) {
	if err == nil && resp != nil {
		id := resp.Model
		if id == "" {
			id = req.Params.Model
		}
		m.ledger.settle(hold, id, resp.Usage, m.prices)
		m.note(use{key: keyOf(req), id: id, usage: resp.Usage, own: late(req, took)})
		return
	}
	var merr *model.Error
	var usage model.Usage
	if errors.As(err, &merr) {
		usage = merr.Usage
		m.note(use{id: req.Params.Model, usage: usage, own: true})
	}
	m.ledger.settle(hold, req.Params.Model, usage, m.prices)
}

// late reports whether a call took longer than it may: the loop takes its answer
// for an error.
func late(req *model.Request, took time.Duration) bool { return req.Timeout > 0 && took > req.Timeout }

// failed notes a call of a resumed trial that gave no answer and was billed.
func (m *meter) failed(req *model.Request, e *model.Error) {
	m.ledger.pay(req.Params.Model, e.Usage, m.prices)
	m.note(use{id: req.Params.Model, usage: e.Usage, own: true})
}

// served notes an answer that a resumed trial took from its recording: it was
// paid for before, and the block's other arms may have it.
func (m *meter) served(req *model.Request, resp *model.Response) {
	if resp.Cache == model.CacheHit { // a cache's stands before this meter
		return
	}
	key := keyOf(req)
	shared := *resp
	if shared.Model == "" {
		shared.Model = req.Params.Model
	}
	if m.pool == nil || m.pool.offer(key, &shared) {
		m.ledger.pay(shared.Model, shared.Usage, m.prices)
	}
	m.note(use{key: key, id: shared.Model, usage: shared.Usage})
}

// spending is what a trial really cost: tokens, and money where all prices are
// known.
type spending struct {
	tokens int64
	pico   int64
	known  bool
}

// attribute charges the calls of a block to its trials in the order of the
// plan: the first trial that used an answer pays for it, whoever called first.
func attribute(meters []*meter) []spending {
	paid := map[answerKey]bool{}
	out := make([]spending, len(meters))
	for i, m := range meters {
		out[i].known = true
		for _, u := range m.uses {
			if !u.own && m.pool != nil {
				if paid[u.key] {
					continue
				}
				paid[u.key] = true
			}
			out[i].tokens += u.usage.Total()
			pico, known := price(u.id, u.usage, m.prices)
			out[i].pico += pico
			out[i].known = out[i].known && known
		}
	}
	return out
}

// price is the cost of usage in 1e-12 USD. No tokens cost nothing, whatever the
// price.
func price(id string, u model.Usage, prices map[string]loop.Prices) (pico int64, known bool) {
	if u == (model.Usage{}) {
		return 0, true
	}
	p, ok := prices[id]
	if !ok || u.Unknown {
		return 0, false
	}
	return u.InputUncached*p.InputUncached + u.CacheRead*p.CacheRead + u.CacheWrite*p.CacheWrite + u.Output*p.Output, true
}
