package limit

import "time"

// BreakerState is what a Breaker lets through.
type BreakerState string

// The states of a Breaker.
const (
	Closed  BreakerState = "closed"  // all calls
	Open    BreakerState = "open"    // none, until the cool-down is over
	Probing BreakerState = "probing" // one, which is under way
)

// Breaker stops calls to a provider that is down. The zero Breaker never opens.
type Breaker struct {
	after    int           // failures in a row that open it
	coolDown time.Duration // before the first probe; doubled after each that fails
	most     time.Duration // longest cool-down

	state  BreakerState
	failed int           // failures in a row
	since  time.Duration // when this outage began
	until  time.Duration // end of the cool-down
	now    time.Duration // length of the cool-down
}

// NewBreaker returns a closed breaker; after <= 0: it never opens.
func NewBreaker(after int, coolDown, most time.Duration) Breaker {
	return Breaker{after: after, coolDown: coolDown, most: most, state: Closed}
}

// At is the earliest time for a call; never is true when that depends on the
// probe that is under way.
func (b *Breaker) At() (at time.Duration, never bool) {
	switch b.state {
	case Open:
		return b.until, false
	case Probing:
		return 0, true
	}
	return 0, false
}

// Begin tells of a call that begins, and returns whether it is the probe.
func (b *Breaker) Begin() (probe bool) {
	if b.state != Open {
		return false
	}
	b.state = Probing
	return true
}

// Answered tells of a call that got an answer, be it a refusal: the provider is
// up. It reports whether this ends an outage.
func (b *Breaker) Answered(probe bool) bool {
	if b.state == Open || b.state == Probing && !probe {
		return false // a straggler from before the outage
	}
	ended := b.state == Probing
	b.state, b.failed = Closed, 0
	return ended
}

// Failed tells of a call that got none, and reports whether the breaker opened.
func (b *Breaker) Failed(now time.Duration, probe bool) bool {
	switch {
	case b.after <= 0 || b.state == Open || b.state == Probing && !probe:
		return false // a straggler
	case b.state == Probing:
		b.failed++
		b.now = min(2*b.now, b.most)
	default:
		if b.failed++; b.failed < b.after {
			return false
		}
		b.since, b.now = now, b.coolDown
	}
	b.state, b.until = Open, now+b.now
	return true
}

// GaveUp tells of a call that its caller left: of the provider it says nothing,
// and another one may probe.
func (b *Breaker) GaveUp(probe bool) {
	if probe && b.state == Probing {
		b.state = Open // its cool-down is over
	}
}
