package loop

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/internal/mutant"
	"github.com/harnessbench/harnessbench/loop/tool"
)

// A batch that runs at once goes in waves of at most the guard's number of calls.
//
//  1. The calls of a wave are admitted one after the other, in call order: their
//     problems, limits, deadlines and counts are those of serial calls.
//  2. They run side by side: in goroutines on a clock of real time, one after the
//     other on a virtual one. Each has its own deadline from the wave's start.
//  3. The clock then moves by what the longest of them took, whatever it does
//     between: so a replay, which runs them serially, gives back the same times.
//  4. Their results are told in call order. The next wave begins after them.

// flight is one call of a wave.
type flight struct {
	i  int // in the batch
	op *tool.Op
	o  outcome
}

// side is what running a batch at once came to.
type side struct {
	waves   int
	calls   int           // that were run
	serial  time.Duration // what the calls took together
	elapsed time.Duration // what passed
	cut     int           // calls that were cancelled because another one failed
}

// parallel runs a batch at once, and reports whether it did.
func (r *run) parallel() bool {
	if r.guards.Mode("parallel_tools") != guard.Enforce || !r.together() {
		return false
	}
	var s side
	failed := false
	for from := 0; from < len(r.batch) && r.err == nil; {
		from, failed = r.wave(from, failed, &s)
	}
	r.sped(&s, guard.Enforce)
	return true
}

// together reports whether every call of the batch that can run only reads, or
// says that it may run beside others. Of those that change something no two may
// be the same operation or name the same resource.
func (r *run) together() bool {
	runs := 0
	var writes []int
	for i := range r.batch {
		req := &r.batch[i]
		if req.Problem != event.NoProblem {
			continue // it keeps its slot
		}
		runs++
		if req.Effect == event.Read {
			continue
		}
		if !r.ops[i].Spec.Parallel {
			return false
		}
		for _, j := range writes {
			if o := &r.batch[j]; o.Digest == req.Digest || slices.ContainsFunc(o.Resources, func(s string) bool { return slices.Contains(req.Resources, s) }) {
				return false
			}
		}
		writes = append(writes, i)
	}
	return runs > 1
}

// wave admits calls from the from-th on, runs them and tells their results. It
// returns where the next wave begins and whether a call failed that cancels it.
func (r *run) wave(from int, failed bool, s *side) (next int, fails bool) {
	if r.ctx.Err() != nil {
		r.fail(event.CancelledRun, "cancelled")
	}
	most, cancel := int(r.guards.Param("parallel_tools", "most")), r.guards.Param("parallel_tools", "cancel") != 0
	s.waves++
	var air []flight
	still := make([]outcome, 0, len(r.batch)-from) // of calls that are not run
	next = from
	for ; next < len(r.batch) && len(air) < most; next++ {
		if failed && r.batch[next].Problem == event.NoProblem && !r.over() {
			still, s.cut = append(still, outcome{Result: tool.Result{Outcome: event.Cancelled, Text: event.NotBeside}}), s.cut+1
			continue
		}
		op, o := r.admit(next)
		if still = append(still, o); op != nil {
			op.Wave = s.waves
			air = append(air, flight{i: next, op: op})
		}
	}
	if r.err != nil {
		return next, failed
	}
	for k := range air {
		air[k].op.Upto = next
	}
	r.fly(air, cancel)
	for k := range air {
		fails = fails || cancel && broke(&air[k].o)
		still[air[k].i-from] = air[k].o
	}
	s.add(air)
	for i := range still {
		if r.err == nil {
			r.result(from+i, still[i])
		}
	}
	return next, fails || failed
}

// fly runs the calls of a wave and moves the clock.
func (r *run) fly(air []flight, cancel bool) {
	c := r.deps.Clock
	start := c.Now()
	ctx, stop := context.WithCancel(r.ctx)
	defer stop()
	if len(air) > 1 && c.Concurrent() {
		var wg sync.WaitGroup
		for k := range air {
			wg.Go(func() {
				// What only declares its time has failed later than now.
				if o := r.alone(ctx, start, &air[k]); cancel && broke(o) && !o.Declared {
					stop()
				}
			})
		}
		wg.Wait()
	} else {
		for k := range air {
			r.alone(ctx, start, &air[k])
		}
	}
	for k := range air {
		r.judge(&r.batch[air[k].i], &air[k].o)
	}
	if cancel {
		r.cutShort(air)
	}
	var longest, sum time.Duration
	for k := range air {
		r.inLimbo(&r.batch[air[k].i], &air[k].o) // what a sibling cancelled is judged by that
		longest, sum = max(longest, air[k].o.Took), sum+air[k].o.Took
	}
	if mutant.Is("parallel_tools") {
		longest = sum
	}
	c.Join(start, longest)
}

// alone runs one call of a wave that began at start and says what it gave and how
// long it took. It reads nothing of the run that changes.
func (r *run) alone(ctx context.Context, start time.Duration, f *flight) *outcome {
	ctx, done := r.deps.Clock.WithTimeout(ctx, f.op.Deadline)
	defer done()
	o := outcome{Result: r.deps.Run.Run(ctx, f.op), deadline: f.op.Deadline}
	if o.want = max(o.Took, 0); !o.Declared {
		o.want = r.deps.Clock.Measure(start, o.Took)
	}
	if o.Took = o.want; o.deadline > 0 {
		o.Took = min(o.want, o.deadline)
	}
	f.o = o
	return &f.o
}

// broke reports whether a call that was run failed by itself.
func broke(o *outcome) bool {
	switch o.Outcome {
	case event.Success, event.BackgroundAccepted, event.Cancelled:
		return false
	}
	return true
}

// cutShort cancels the calls of a wave that would have ended after the first
// failing one did. What one of them changed stands; of one that may have had an
// effect nobody knows whether it had. A replay is served calls that were cut, and
// leaves them as they are.
func (r *run) cutShort(air []flight) {
	served := func(o *outcome) bool { return strings.HasPrefix(o.Text, event.CutShort) }
	first, any := time.Duration(0), false
	for k := range air {
		if o := &air[k].o; broke(o) && !served(o) && (!any || o.Took < first) {
			first, any = o.Took, true
		}
	}
	for k := range air {
		o, req := &air[k].o, &r.batch[air[k].i]
		if o.cut = served(o); o.cut || !any || o.Took <= first && (o.Outcome != event.Cancelled || r.ctx.Err() != nil) {
			continue
		}
		o.cut, o.Exit, o.Took = true, nil, min(o.Took, first)
		o.want, o.Outcome, o.Text = o.Took, event.Cancelled, event.CutShort
		if req.Effect != event.Read {
			o.Outcome, o.Text = event.UnknownOutcome, event.CutShort+": whether it took effect is unknown"
		}
	}
}

// add counts a wave.
func (s *side) add(air []flight) {
	var longest time.Duration
	for k := range air {
		o := &air[k].o
		s.serial += o.Took
		longest = max(longest, o.Took)
		if o.cut {
			s.cut++
		}
	}
	s.calls += len(air)
	s.elapsed += longest
}

// sped records what running at once saved, or would have; where that is nothing,
// nothing was done.
func (r *run) sped(s *side, mode guard.Mode) {
	if r.err != nil || s.serial == s.elapsed && s.cut == 0 {
		return
	}
	many := fmt.Sprintf("%d calls at once", s.calls)
	if most := int(r.guards.Param("parallel_tools", "most")); s.calls > most {
		many = fmt.Sprintf("%d calls, %d at once", s.calls, most)
	}
	evidence := fmt.Sprintf("%s, %s instead of %s", many, s.elapsed, s.serial)
	if s.cut > 0 {
		evidence += fmt.Sprintf(", %d cancelled", s.cut)
	}
	r.emit(r.policyFired("parallel_tools", mode, "parallel", evidence))
}

// shadowed records, of a batch that ran serially, what running it at once would
// have saved; took is what each call took that was run, in call order.
func (r *run) shadowed(took []time.Duration) {
	if !r.together() {
		return
	}
	var s side
	for wave := range slices.Chunk(took, int(r.guards.Param("parallel_tools", "most"))) {
		air := make([]flight, len(wave))
		for k := range wave {
			air[k].o.Took = wave[k]
		}
		s.add(air)
	}
	r.sped(&s, guard.Shadow)
}
