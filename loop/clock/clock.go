// Package clock gives each trial its own time.
//
//  1. A trial reads time only from its [Clock], as the time since its start, and
//     only in serial stages.
//  2. On simulated models and on replay time is [Virtual]: it moves only by what
//     calls declare and by waits, so two runs read the same times.
//  3. With live models or commands it is [Real]: the time that really passed is
//     measured, recorded with the call, and moves a Virtual clock on replay.
package clock

import (
	"context"
	"sync"
	"time"
)

// Clock is the time of one trial.
type Clock interface {
	// Now is the time since the trial began.
	Now() time.Duration
	// Lapse ends a call that began at start. want is what it would have taken by
	// itself: as declared on a virtual clock, as measured on a real one. took is
	// what counts and moves the clock: want, but at most limit (0 = no limit).
	Lapse(start, declared, limit time.Duration) (took, want time.Duration)
	// Declare ends a call whose duration is declared on every clock: a mock
	// tool's. It is Lapse with want = declared.
	Declare(start, declared, limit time.Duration) (took, want time.Duration)
	// Concurrent reports whether calls can run at once on this clock. Where they
	// cannot they run one after the other and take the same time.
	Concurrent() bool
	// Measure says what a call that began at start, and ends now, has taken: as
	// declared on a virtual clock. It moves nothing, and is safe for concurrent use
	// on a clock that is Concurrent.
	Measure(start, declared time.Duration) time.Duration
	// Join ends calls that began together at start, the longest of which took d.
	Join(start, d time.Duration)
	// Sleep lets d pass, or returns the context's error.
	Sleep(ctx context.Context, d time.Duration) error
	// WithTimeout bounds a call. A virtual clock bounds nothing by itself: what
	// a call declares is compared with its deadline by the caller.
	WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
}

// Virtual is a clock that moves only when told to. It is not safe for use by
// several goroutines; a trial's serial stages are one.
type Virtual struct{ now time.Duration }

// NewVirtual returns a virtual clock at zero.
func NewVirtual() *Virtual { return &Virtual{} }

// Now implements Clock.
func (v *Virtual) Now() time.Duration { return v.now }

// Lapse implements Clock.
func (v *Virtual) Lapse(start, declared, limit time.Duration) (took, want time.Duration) {
	want = max(declared, 0)
	took = atMost(want, limit)
	v.now = start + took
	return took, want
}

// Declare implements Clock.
func (v *Virtual) Declare(start, declared, limit time.Duration) (took, want time.Duration) {
	return v.Lapse(start, declared, limit)
}

// Concurrent implements Clock.
func (*Virtual) Concurrent() bool { return false }

// Measure implements Clock.
func (*Virtual) Measure(_, declared time.Duration) time.Duration { return max(declared, 0) }

// Join implements Clock.
func (v *Virtual) Join(start, d time.Duration) { v.now = start + d }

func atMost(d, limit time.Duration) time.Duration {
	if limit > 0 && d > limit {
		return limit
	}
	return d
}

// Sleep implements Clock: it takes no real time.
func (v *Virtual) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d > 0 {
		v.now += d
	}
	return nil
}

// WithTimeout implements Clock.
func (v *Virtual) WithTimeout(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
	return ctx, func() {}
}

// Real is the machine's monotonic clock. Now is frozen between Lapse and Sleep
// calls, so that every time the loop reads is one that a recording can give
// back: the harness's own time is counted with the call that follows it.
type Real struct {
	mu    sync.Mutex
	began time.Time
	now   time.Duration
	skew  time.Duration // by which declared durations moved the clock beyond real time
}

// NewReal returns a real clock that starts now.
func NewReal() *Real { return &Real{began: time.Now()} }

// Now implements Clock.
func (r *Real) Now() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// Lapse implements Clock. What a cut call took beyond its limit counts with the
// next one.
func (r *Real) Lapse(start, _, limit time.Duration) (took, want time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	want = max(r.now, r.real()) - start
	took = atMost(want, limit)
	r.now = start + took
	return took, want
}

// real is the time that passed, declared durations counted as if they had.
func (r *Real) real() time.Duration {
	return time.Since(r.began).Truncate(time.Microsecond) + r.skew
}

// Declare implements Clock. The clock jumps to the declared end; what really
// passed during the call does not count beside it.
func (r *Real) Declare(start, declared, limit time.Duration) (took, want time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	want = max(declared, 0)
	took = atMost(want, limit)
	r.skew += start + took - r.real()
	r.now = start + took
	return took, want
}

// Concurrent implements Clock.
func (*Real) Concurrent() bool { return true }

// Measure implements Clock.
func (r *Real) Measure(start, _ time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(r.now, r.real()) - start
}

// Join implements Clock. A duration that was declared moves the clock ahead; what
// the calls took beyond their limits counts with the next one.
func (r *Real) Join(start, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.skew += max(start+d-r.real(), 0)
	r.now = start + d
}

// Sleep implements Clock. What passes is exactly d on the trial's clock, so a
// replayed wait is the recorded one; oversleeping counts with the next call.
func (r *Real) Sleep(ctx context.Context, d time.Duration) error {
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now += max(d, 0)
	return ctx.Err()
}

// WithTimeout implements Clock.
func (r *Real) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}
