package limit

import (
	"context"
	"sync/atomic"
	"time"
)

// Snapshot is how an account stands. Counts are since it began.
type Snapshot struct {
	InFlight   int           // calls that are under way
	Waiting    int           // calls in the queue
	Window     float64       // calls that may be in flight now; below 1: one at a time, with gaps
	Calls      int64         // calls that were let through
	Answered   int64         // of these, those that got an answer
	Throttled  int64         // 429s
	Failed     int64         // no answer: transport, 5xx, broken stream, timeout
	Waited     time.Duration // in the queue, summed over calls
	Paused     time.Duration // during which all calls were held back after a 429
	PausedFor  time.Duration // how much of the pause is left
	Breaker    BreakerState
	Opened     int64 // how often the breaker opened, failed probes included
	MeanOutput int64 // running mean of output tokens, which is reserved where max_tokens is not set
}

// Snapshot returns how the account stands now.
func (a *Account) Snapshot() Snapshot {
	a.mu.Lock()
	defer a.mu.Unlock()
	g, now := &a.gate, a.now()
	left := max(0, g.pausedUntil-now)
	waited := a.stats.waited
	for e := a.queue.Front(); e != nil; e = e.Next() {
		waited += now - e.Value.(*waiter).came
	}
	return Snapshot{InFlight: g.inflight, Waiting: a.queue.Len(), Window: g.window.Size, Calls: a.stats.calls, Answered: a.stats.answered,
		Throttled: a.stats.throttled, Failed: a.stats.failed, Waited: waited, Paused: g.paused - left, PausedFor: left,
		Breaker: g.breaker.state, Opened: a.stats.opened, MeanOutput: int64(g.output)}
}

// Tally adds up the time that the calls of one context waited in queues.
type Tally struct{ ns atomic.Int64 }

// Waited is the time so far.
func (t *Tally) Waited() time.Duration { return time.Duration(t.ns.Load()) }

func (t *Tally) add(d time.Duration) {
	if t != nil {
		t.ns.Add(int64(d))
	}
}

type tallyKey struct{}

// WithTally returns a context whose calls are tallied: a trial tells so how much
// of its model time was queueing.
func WithTally(ctx context.Context) (context.Context, *Tally) {
	t := new(Tally)
	return context.WithValue(ctx, tallyKey{}, t), t
}

func tallyOf(ctx context.Context) *Tally {
	t, _ := ctx.Value(tallyKey{}).(*Tally)
	return t
}
