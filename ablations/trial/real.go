package trial

import (
	"context"
	"sync"
	"time"

	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/clock"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
)

// RealTime is what passed on the machine's own clock while a trial ran on a model
// that is not simulated. Of a resumed trial it is the last execution's.
type RealTime struct {
	Began, Ended time.Time
	// Harness is the time in which neither a model, nor a tool, nor a wait was on.
	Harness time.Duration
}

// stopwatch measures a trial on a real model. A nil one, that of a simulated
// model, measures nothing and leaves time virtual.
type stopwatch struct {
	wall  func() time.Time
	began time.Time

	mu     sync.Mutex    // calls of a batch may run at once
	busy   int           // calls and waits that are on
	since  time.Time     // since when any is
	others time.Duration // in calls and waits
}

func (s *Spec) startWatch(o *Options) *stopwatch {
	if IsSimulated(s.Model) {
		return nil
	}
	w := &stopwatch{wall: o.Wall}
	if w.wall == nil {
		w.wall = func() time.Time { return time.Time{} } // nobody wants to know
	}
	w.began = w.wall()
	return w
}

// over puts a trial on real time: its clock is the machine's, and what is not the
// harness's own time is measured. Calls that run at once are measured once.
func (w *stopwatch) over(d *loop.Deps, tools *tool.Set) {
	if w == nil {
		return
	}
	d.Clock = &realClock{clock.NewReal(), w}
	d.Model = timedModel{d.Model, w}
	d.Run = timedTools{tools, w}
}

// enter counts what passes until the returned function is called.
func (w *stopwatch) enter() (leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy++; w.busy == 1 {
		w.since = w.wall()
	}
	return w.leave
}

func (w *stopwatch) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy--; w.busy == 0 {
		w.others += w.wall().Sub(w.since)
	}
}

// stop ends the measurement; nil when there was none.
func (w *stopwatch) stop() *RealTime {
	if w == nil || w.began.IsZero() {
		return nil
	}
	ended := w.wall()
	return &RealTime{Began: w.began.UTC(), Ended: ended.UTC(), Harness: max(ended.Sub(w.began)-w.others, 0)}
}

// realClock is the clock of a trial on a real model. An answer that says how
// long it took is charged that: it came from another arm, or was waited for
// while that one asked. All others take the time that passes.
type realClock struct {
	*clock.Real
	watch *stopwatch
}

// Lapse implements clock.Clock.
func (c *realClock) Lapse(start, declared, limit time.Duration) (took, want time.Duration) {
	if declared > 0 {
		return c.Declare(start, declared, limit)
	}
	return c.Real.Lapse(start, 0, limit)
}

// Sleep implements clock.Clock.
func (c *realClock) Sleep(ctx context.Context, d time.Duration) error {
	defer c.watch.enter()()
	return c.Real.Sleep(ctx, d)
}

type timedModel struct {
	model.Model
	watch *stopwatch
}

// Generate implements model.Model.
func (m timedModel) Generate(ctx context.Context, req *model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	defer m.watch.enter()()
	return m.Model.Generate(ctx, req, onDelta)
}

// timedTools are a trial's tools. It stays a set that says what its tools do: a resumption asks.
type timedTools struct {
	*tool.Set
	watch *stopwatch
}

// Run implements tool.Runner.
func (t timedTools) Run(ctx context.Context, op *tool.Op) tool.Result {
	defer t.watch.enter()()
	res := t.Set.Run(ctx, op)
	if !res.Declared {
		res.Took = 0 // it is measured
	}
	return res
}
