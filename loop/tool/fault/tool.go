package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/harnessbench/harnessbench/loop/clock"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/tool"
)

// Options say how faults are injected.
type Options struct {
	Seed uint64 // of the repetition; decides where calls are flaky
	// Wait lets time really pass, where tools take real time; else what a fault
	// takes is declared in Took. A tool that declares its time is never waited for.
	Wait bool
	Log  *Log // takes what was injected; may be nil
}

// notMade is what a call takes on a virtual clock that an error keeps from being
// made, when the fault does not say.
const notMade = time.Millisecond

// Tool is a tool under faults. It is safe for concurrent use where the wrapped one
// is.
type Tool struct {
	tool.Tool
	r Runner
}

var _ tool.Tool = (*Tool)(nil)

// New wraps a tool. An error says which fault is wrong, counted from 1.
func New(t tool.Tool, faults []Fault, o Options) (*Tool, error) {
	r, err := NewRunner(t, map[string][]Fault{t.Spec().Name: faults}, o)
	if err != nil {
		return nil, err
	}
	return &Tool{t, *r}, nil
}

// Run implements tool.Tool.
func (t *Tool) Run(ctx context.Context, op *tool.Op) tool.Result { return t.r.Run(ctx, op) }

// Runner runs operations under faults. It is safe for concurrent use where the
// wrapped one is.
type Runner struct {
	inner  tool.Runner
	faults map[string][]Fault
	o      Options
}

var _ tool.Runner = (*Runner)(nil)

// NewRunner wraps what runs operations, with faults by the name of their tool.
func NewRunner(r tool.Runner, faults map[string][]Fault, o Options) (*Runner, error) {
	out := &Runner{r, make(map[string][]Fault, len(faults)), o}
	for name, list := range faults {
		for i := range list {
			if err := list[i].Check(); err != nil {
				return nil, fmt.Errorf("tool %q: fault %d: %w", name, i+1, err)
			}
		}
		out.faults[name] = slices.Clone(list)
	}
	return out, nil
}

// Run implements tool.Runner.
func (r *Runner) Run(ctx context.Context, op *tool.Op) tool.Result {
	i := First(r.faults[op.Name], r.o.Seed, op.Name, op.Nth)
	if i < 0 {
		return r.inner.Run(ctx, op)
	}
	if ctx.Err() != nil {
		return givenUp(ctx, tool.Result{})
	}
	f := &r.faults[op.Name][i]
	in := Injection{Fault: i, Kind: f.Kind, Tool: op.Name, Lane: op.Lane, Turn: op.Turn, Index: op.Index, Nth: op.Nth}
	res := r.inject(ctx, f, &in, op)
	in.Gave = Digest(res)
	if in.Delay != 0 || in.Gave != in.Was { // a text that was short enough is not cut
		r.o.Log.add(in)
	}
	return res
}

// inject gives what a call that is struck gives, and notes what it would have
// given.
func (r *Runner) inject(ctx context.Context, f *Fault, in *Injection, op *tool.Op) tool.Result {
	takes := f.Takes
	if takes == 0 && !r.o.Wait {
		takes = notMade
	}
	if res, ok := f.Instead(op.Name, takes); ok {
		in.Delay = res.Took
		if !r.o.Wait {
			return res
		}
		res.Took = 0 // it is measured
		return r.wait(ctx, in, res)
	}
	res := r.inner.Run(ctx, op)
	in.Ran, in.Was = true, Digest(res)
	f.Spoil(&res)
	if in.Delay = f.Takes; f.Kind == Slow && f.Takes == 0 {
		in.Delay = SlowTakes
	}
	if r.o.Wait && !res.Declared {
		return r.wait(ctx, in, res)
	}
	res.Took += in.Delay
	return res
}

// wait lets the delay of a call pass; one whose context ends meanwhile is given
// up, and what it changed stands.
func (r *Runner) wait(ctx context.Context, in *Injection, res tool.Result) tool.Result {
	if in.Delay > 0 && clock.NewReal().Sleep(ctx, in.Delay) != nil {
		return givenUp(ctx, res)
	}
	return res
}

// givenUp is the result of a call whose context ended.
func givenUp(ctx context.Context, res tool.Result) tool.Result {
	out := tool.Result{Outcome: event.Cancelled, Text: "cancelled", Delta: res.Delta}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		out.Outcome, out.Text = event.Timeout, "no answer in time"
	}
	return out
}
