package limit

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
)

// Options configure an account. Zero is the default.
type Options struct {
	Name        string // of the provider, for errors
	Concurrency int    // calls in flight, at most; default 16
	RPM         int    // requests a minute; 0 = no limit
	TPM         int64  // tokens a minute, input and output; 0 = no limit

	Start       int           // calls in flight at first; default 4
	BreakAfter  int           // failures in a row that open the breaker; default 12, < 0 = never
	CoolDown    time.Duration // before the first probe; default 5 s, doubled up to MaxCoolDown
	MaxCoolDown time.Duration // default 30 s
	OpenWait    time.Duration // how long a call waits for an open breaker; default 60 s
	MaxPause    time.Duration // longest Retry-After that is heeded; default 120 s, as the retry policy has it
}

func (o Options) filled() Options {
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	if o.Concurrency <= 0 {
		o.Concurrency = 16
	}
	if o.Start <= 0 {
		o.Start = 4
	}
	if o.BreakAfter == 0 {
		o.BreakAfter = 12
	}
	def(&o.CoolDown, 5*time.Second)
	def(&o.MaxCoolDown, 30*time.Second)
	def(&o.OpenWait, time.Minute)
	def(&o.MaxPause, 2*time.Minute)
	return o
}

// backoff is the pause after the n-th 429 in a row that says no Retry-After: 200
// ms, doubled up to 30 s, as the retry policy's.
func (o *Options) backoff(n int) time.Duration {
	return min(200*time.Millisecond<<min(n-1, 8), 30*time.Second, o.MaxPause)
}

// Account is an account with a provider, shared by all trials that ask it. It is
// safe for concurrent use.
type Account struct {
	began time.Time

	mu    sync.Mutex
	gate  gate
	queue list.List // of *waiter, in order of arrival
	wake  *time.Timer
	stats stats
}

// stats are counts since the account began.
type stats struct {
	calls, answered, throttled, failed, opened int64
	waited                                     time.Duration
	last                                       error // of the failure that opened the breaker
}

// waiter is a call in the queue.
type waiter struct {
	tokens int64
	came   time.Duration
	turn   chan verdict // one is sent when it leaves the queue by its turn
}

// verdict lets a call go, or ends it.
type verdict struct {
	ticket ticket
	err    error
}

// New opens an account.
func New(o Options) *Account { return &Account{began: time.Now(), gate: newGate(o.filled())} }

func (a *Account) now() time.Duration { return time.Since(a.began) }

// Wrap puts the account before a model: the calls of all models that it wraps
// share its limits.
func (a *Account) Wrap(m model.Model) model.Model { return &limited{a, m} }

type limited struct {
	account *Account
	inner   model.Model
}

// ID implements model.Model.
func (l *limited) ID() string { return l.inner.ID() }

// Generate waits for its turn and asks once. A call whose context ends in the
// queue returns the context's error; one whose Timeout ends there an error of
// kind deadline; one that waited too long for an open breaker one of kind
// transport.
func (l *limited) Generate(ctx context.Context, req *model.Request, onDelta func(model.Delta)) (resp *model.Response, err error) {
	began := time.Now()
	t, err := l.account.enter(ctx, req)
	waited := time.Since(began)
	tallyOf(ctx).add(waited)
	if err != nil {
		return nil, err
	}
	returned := false
	defer func() {
		if !returned { // a panic: the place must not be lost
			l.account.leave(t, nil, context.Canceled)
		}
	}()
	if req.Timeout > 0 && waited > 0 {
		left := *req
		left.Timeout = max(req.Timeout-waited, time.Nanosecond)
		req = &left
	}
	resp, err = l.inner.Generate(ctx, req, onDelta)
	returned = true
	l.account.leave(t, resp, err)
	return resp, err
}

// enter joins the queue and waits for its turn.
func (a *Account) enter(ctx context.Context, req *model.Request) (ticket, error) {
	if err := ctx.Err(); err != nil {
		return ticket{}, err
	}
	a.mu.Lock()
	now := a.now()
	w := &waiter{tokens: a.gate.reserve(req), came: now, turn: make(chan verdict, 1)}
	at := a.queue.PushBack(w)
	a.pump(now)
	a.mu.Unlock()

	var expired <-chan time.Time
	if req.Timeout > 0 {
		timer := time.NewTimer(req.Timeout)
		defer timer.Stop()
		expired = timer.C
	}
	var err error
	select {
	case v := <-w.turn:
		return v.ticket, v.err
	case <-ctx.Done():
		err = ctx.Err()
	case <-expired:
		err = &model.Error{Kind: model.ErrDeadline, Message: fmt.Sprintf("the time of the call, %s, ended while it waited for its turn at provider %s", req.Timeout, a.gate.o.Name)}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now = a.now()
	select {
	case v := <-w.turn: // it came at the same moment; the place goes to the next one
		if v.err == nil {
			a.unused(now, v.ticket)
		}
	default:
		a.queue.Remove(at)
		a.stats.waited += now - w.came
	}
	a.pump(now)
	return ticket{}, err
}

// unused gives back the place of a call that was never made.
func (a *Account) unused(now time.Duration, t ticket) {
	a.stats.calls--
	a.gate.tpm.Add(now, t.began, -t.tokens)
	a.gate.end(now, t, GaveUp, 0, model.Usage{})
}

// leave takes the outcome of a call and lets others go.
func (a *Account) leave(t ticket, resp *model.Response, err error) {
	how := Classify(err)
	var u model.Usage
	var retryAfter time.Duration
	var e *model.Error
	switch {
	case resp != nil:
		u = resp.Usage
	case errors.As(err, &e):
		u, retryAfter = e.Usage, e.RetryAfter
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	open := a.gate.breaker.state
	a.gate.end(now, t, how, retryAfter, u)
	switch how {
	case Answered:
		a.stats.answered++
	case Throttled:
		a.stats.throttled++
	case Failed:
		a.stats.failed++
		if a.gate.breaker.state == Open && open != Open {
			a.stats.opened++
			a.stats.last = err
		}
	}
	a.pump(now)
}

// pump lets go whom the gate lets go, in order, ends those that waited too long
// for the breaker, and sets the alarm for the next one.
func (a *Account) pump(now time.Duration) {
	for a.queue.Len() > 0 {
		head := a.queue.Front()
		w := head.Value.(*waiter)
		late, err := a.tooLate(now, w)
		if err != nil {
			a.dismiss(head, now, verdict{err: err})
			continue
		}
		at, never := a.gate.at(now, w.tokens)
		if !never && at <= now {
			a.stats.calls++
			a.dismiss(head, now, verdict{ticket: a.gate.begin(now, w.tokens)})
			continue
		}
		if never || late > 0 && late < at {
			at = late // 0: the end of a call wakes
		}
		a.alarm(now, at)
		return
	}
	a.alarm(now, 0)
}

func (a *Account) dismiss(at *list.Element, now time.Duration, v verdict) {
	w := a.queue.Remove(at).(*waiter)
	a.stats.waited += now - w.came
	w.turn <- v
}

// tooLate returns when the head of the queue has waited too long for an open
// breaker, and its error once it has; 0 while the breaker is closed, or while a
// probe is about to tell, which may take as long as a model thinks.
func (a *Account) tooLate(now time.Duration, w *waiter) (at time.Duration, err error) {
	b, o := &a.gate.breaker, &a.gate.o
	if b.state != Open {
		return 0, nil
	}
	at = max(w.came, b.since) + o.OpenWait
	if now < at {
		return at, nil
	}
	return at, &model.Error{Kind: model.ErrTransport, Message: fmt.Sprintf("the circuit breaker of provider %s is open: %d calls in a row failed, the last one with: %v; waited %s for it to recover",
		o.Name, b.failed, a.stats.last, (now - w.came).Round(time.Second))}
}

// alarm sets when pump looks again; 0 = when something happens.
func (a *Account) alarm(now, at time.Duration) {
	if a.wake != nil {
		a.wake.Stop()
	}
	if at <= 0 {
		return
	}
	d := max(at-now, 0)
	if a.wake != nil {
		a.wake.Reset(d)
		return
	}
	a.wake = time.AfterFunc(d, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.pump(a.now())
	})
}
