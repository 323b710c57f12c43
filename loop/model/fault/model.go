package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/harnessbench/harnessbench/loop/clock"
	"github.com/harnessbench/harnessbench/loop/model"
)

// Options say what is injected.
type Options struct {
	Faults []Fault
	Seed   uint64 // of the repetition; decides where P is set
	// Wait lets time really pass, for models that take real time; else what a
	// fault takes is declared in Elapsed.
	Wait bool
	Log  *Log // takes what was injected; may be nil
}

// Model is a model under faults. It is safe for concurrent use where the wrapped
// one is.
type Model struct {
	inner model.Model
	o     Options
}

var _ model.Model = (*Model)(nil)

// New wraps a model. An error says which fault is wrong, counted from 1.
func New(m model.Model, o Options) (*Model, error) {
	o.Faults = slices.Clone(o.Faults)
	for i := range o.Faults {
		if err := o.Faults[i].Check(); err != nil {
			return nil, fmt.Errorf("fault %d: %w", i+1, err)
		}
	}
	return &Model{m, o}, nil
}

// ID implements model.Model: the wrapped model's.
func (m *Model) ID() string { return m.inner.ID() }

// Generate implements model.Model.
func (m *Model) Generate(ctx context.Context, req *model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	i := First(m.o.Faults, m.o.Seed, req)
	if i < 0 {
		return m.inner.Generate(ctx, req, onDelta)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f := &m.o.Faults[i]
	in := Injection{Fault: i, Kind: f.Kind, Model: m.ID(), Lane: req.Lane, Turn: req.Turn, Attempt: req.Attempt, Purpose: req.Purpose, Delay: f.Delay()}
	resp, err := m.inject(ctx, f, &in, req, onDelta)
	in.Gave = Digest(resp, err)
	m.o.Log.add(in)
	return resp, err
}

// inject gives what a call that is struck gives, and notes what it would have
// given.
func (m *Model) inject(ctx context.Context, f *Fault, in *Injection, req *model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	if e := f.Error(); e != nil {
		in.Delay = e.Elapsed
		if !m.o.Wait {
			return nil, e
		}
		in.Delay, e.Elapsed = f.Takes, 0 // it is measured
		if err := clock.NewReal().Sleep(ctx, f.Takes); err != nil {
			return nil, err
		}
		return nil, e
	}
	if m.o.Wait { // before the call: one that is given up meanwhile is not paid for
		if err := clock.NewReal().Sleep(ctx, in.Delay); err != nil {
			return nil, err
		}
	}
	resp, err := m.inner.Generate(ctx, req, onDelta)
	in.Asked, in.Was = true, Digest(resp, err)
	if m.o.Wait {
		return resp, err
	}
	return longer(resp, err, in.Delay)
}

// longer is an answer, or a model's error, that declares to take d more.
func longer(resp *model.Response, err error, d time.Duration) (*model.Response, error) {
	if resp != nil {
		late := *resp
		late.Elapsed += d
		return &late, err
	}
	var e *model.Error
	if errors.As(err, &e) {
		late := *e
		late.Elapsed += d
		return nil, &late
	}
	return nil, err
}
