package limit

import (
	"errors"
	"math"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
)

// Outcome classes how a call ended.
type Outcome uint8

// The outcomes of a call.
const (
	Answered  Outcome = iota // an answer
	Refused                  // an error that more time does not mend, of a provider that is up
	Throttled                // 429
	Failed                   // no answer: transport, 5xx, broken stream, timeout
	GaveUp                   // the caller left
)

// Classify sorts the error of a call.
func Classify(err error) Outcome {
	var e *model.Error
	if err == nil {
		return Answered
	}
	if !errors.As(err, &e) {
		return GaveUp // the context's error, or a failure of the driver
	}
	switch e.Kind {
	case model.ErrRateLimit:
		return Throttled
	case model.ErrTransport, model.ErrBrokenStream, model.ErrTimeout, model.ErrServer:
		return Failed // 503 and 529 too: the provider's trouble, not this account's doing
	case model.ErrCancelled, model.ErrDeadline:
		return GaveUp
	}
	return Refused
}

// ticket is a call that was let through.
type ticket struct {
	began  time.Duration
	tokens int64 // reserved
	probe  bool
}

// gate composes the policies of one account. Times are since the account began.
type gate struct {
	o        Options
	window   Window
	rpm      Pacer
	tpm      *Meter
	breaker  Breaker
	inflight int
	lastAt   time.Duration // when the last call began
	any      bool          // a call began

	pausedUntil time.Duration
	paused      time.Duration // sum of all pauses, overlaps counted once
	throttles   int           // 429s that halved the window since the last answer
	spread      int           // calls that still go one by one after a pause
	output      float64       // running mean of output tokens
}

func newGate(o Options) gate {
	return gate{o: o, window: NewWindow(o.Start, o.Concurrency), rpm: NewPacer(o.RPM), tpm: NewMeter(o.TPM),
		breaker: NewBreaker(o.BreakAfter, o.CoolDown, o.MaxCoolDown), output: firstOutput}
}

// firstOutput is what an answer is taken to have, in tokens, before one came.
const firstOutput = 512

// maxGap bounds the time between two calls after a pause: longer ones are left to
// the window.
const maxGap = time.Second

// reserve estimates the tokens of a request: a quarter of the bytes of its parts
// and the longest answer it allows, or the mean of earlier ones.
func (g *gate) reserve(req *model.Request) int64 {
	var bytes int64
	for _, p := range req.Parts {
		bytes += int64(p.Size)
	}
	out := int64(req.Params.MaxTokens)
	if out <= 0 {
		out = int64(math.Ceil(g.output))
	}
	return bytes/4 + out
}

// at is the earliest time, now or later, at which a call of n tokens may begin;
// never is true when that depends on the end of another call.
func (g *gate) at(now time.Duration, n int64) (at time.Duration, never bool) {
	if g.inflight >= g.window.Slots() {
		return 0, true
	}
	if at, never = g.breaker.At(); never {
		return 0, true
	}
	at = max(at, now, g.pausedUntil, g.rpm.At())
	if g.any && g.window.Size < 1 {
		at = max(at, g.lastAt+g.window.Gap(g.o.backoff(9)))
	} else if g.any && g.spread > 0 {
		at = max(at, g.lastAt+g.window.Gap(maxGap))
	}
	return max(at, g.tpm.At(now, n)), false
}

// begin lets a call through.
func (g *gate) begin(now time.Duration, n int64) ticket {
	g.inflight++
	g.lastAt, g.any = now, true
	g.spread = max(0, g.spread-1)
	g.rpm.Take(now)
	g.tpm.Add(now, now, n)
	return ticket{began: now, tokens: n, probe: g.breaker.Begin()}
}

// end takes a call's outcome. u is what it used, as far as that is known.
func (g *gate) end(now time.Duration, t ticket, how Outcome, retryAfter time.Duration, u model.Usage) {
	switch how {
	case Answered:
		g.window.Answered(g.inflight, now-t.began)
		g.throttles = 0
		if !u.Unknown {
			g.output += (float64(u.Output) - g.output) / 16
		}
		g.answered(t)
	case Refused:
		g.answered(t)
	case Throttled:
		if g.window.Throttled(now, t.began, retryAfter > 0) {
			g.throttles++
			if retryAfter <= 0 {
				retryAfter = g.o.backoff(g.throttles)
			}
		}
		g.answered(t)
	case Failed:
		g.breaker.Failed(now, t.probe)
	case GaveUp:
		g.breaker.GaveUp(t.probe)
	}
	g.inflight--
	g.settle(now, t, how, u)
	if retryAfter > 0 && (how == Throttled || how == Failed) {
		g.pause(now, retryAfter)
	}
}

// answered tells the breaker that the provider is up; after an outage the window
// starts slowly.
func (g *gate) answered(t ticket) {
	if g.breaker.Answered(t.probe) {
		g.window.Restart(g.o.Start)
	}
}

// settle replaces what was reserved by what was used. Where that is not told the
// reservation stands, but for calls that the provider refused.
func (g *gate) settle(now time.Duration, t ticket, how Outcome, u model.Usage) {
	used := u.Total()
	switch {
	case how == Answered && u.Unknown, used == 0 && (how == Failed || how == GaveUp):
		return
	}
	g.tpm.Add(now, t.began, used-t.tokens)
}

// pause holds back all calls. It only lengthens.
func (g *gate) pause(now, d time.Duration) {
	until := now + min(d, g.o.MaxPause)
	if until <= g.pausedUntil {
		return
	}
	g.paused += until - max(now, g.pausedUntil)
	g.pausedUntil = until
	g.spread = g.window.Slots()
}
