package openai

import (
	"context"
	"fmt"
	"net/http/httptrace"
	"sync"
	"time"
)

// watch ends a call that exceeds one of its limits. Its context is the call's.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	limits Timeouts
	whole  *time.Timer // nil = no limit

	mu    sync.Mutex
	timer *time.Timer // of the phase
	phase phase
}

// phase is where a call is.
type phase int

const (
	connecting phase = iota
	waiting          // connected, no byte of the answer's body yet
	reading
	draining // the answer is complete; its connection may still come free
)

// drainLimit bounds the wait for the end of a body whose last event has come,
// for the sake of the connection.
const drainLimit = 100 * time.Millisecond

// timedOut is the cause of a call's end by one of its own limits.
type timedOut struct {
	what  string
	limit time.Duration
}

func (e *timedOut) Error() string { return fmt.Sprintf("%s within %s", e.what, e.limit) }

// newWatch starts the clock of a call. own is the request's limit, 0 = none.
func newWatch(parent context.Context, limits Timeouts, own time.Duration) *watch {
	w := &watch{limits: limits}
	w.ctx, w.cancel = context.WithCancelCause(parent)
	w.ctx = httptrace.WithClientTrace(w.ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { w.enter(waiting) }})
	limit, what := limits.Whole, "no whole answer (timeout whole)"
	if own > 0 && (limit <= 0 || own < limit) {
		limit, what = own, "no whole answer (the request's own timeout)"
	}
	if limit > 0 {
		w.whole = time.AfterFunc(limit, func() { w.cancel(&timedOut{what, limit}) })
	}
	w.arm()
	return w
}

// arm starts the timer of the present phase anew.
func (w *watch) arm() {
	limit := w.limit()
	switch {
	case limit <= 0:
		if w.timer != nil {
			w.timer.Stop()
		}
	case w.timer == nil:
		w.timer = time.AfterFunc(limit, w.expire)
	default:
		w.timer.Reset(limit)
	}
}

func (w *watch) limit() time.Duration {
	switch w.phase {
	case connecting:
		return w.limits.Connect
	case waiting:
		return w.limits.FirstByte
	case draining:
		return drainLimit
	}
	return w.limits.Idle
}

func (w *watch) expire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	what := map[phase]string{connecting: "no connection (timeout connect)", waiting: "no first byte of the answer (timeout first byte)",
		reading: "no further byte of the answer (timeout idle)", draining: "no end of the body"}[w.phase]
	w.cancel(&timedOut{what, w.limit()})
}

// enter begins a phase, or begins it again.
func (w *watch) enter(p phase) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.phase = p
	w.arm()
}

// at returns the phase.
func (w *watch) at() phase {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.phase
}

// stop ends the watch and its context.
func (w *watch) stop() {
	if w.whole != nil {
		w.whole.Stop()
	}
	w.mu.Lock()
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	w.cancel(nil)
}
