package replayer

import (
	"context"
	"errors"
	"fmt"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// errStopped ends the loop once a divergence or the tape's end is known; the
// replay has noted why.
var errStopped = errors.New("the replay ended")

// served is the model of a replay: it answers with what was recorded. The
// request itself was compared before, when the loop emitted it.
type served struct{ r *replay }

// ID implements model.Model.
func (s served) ID() string { return s.r.header.Model }

// Generate implements model.Model.
func (s served) Generate(_ context.Context, _ *model.Request, _ func(model.Delta)) (*model.Response, error) {
	l, err := s.r.tape.peek()
	if err != nil {
		return nil, s.r.ended(err, "infer")
	}
	switch l.Type {
	case session.TypeResponse:
		resp, err := l.Response()
		if err != nil {
			return nil, s.r.unreadable(l, err)
		}
		s.r.answers++
		return &resp.Resp, nil
	case session.TypeAttempt:
		a, err := l.Attempt()
		if err != nil {
			return nil, s.r.unreadable(l, err)
		}
		s.r.answers++
		if a.Err == nil {
			return a.Resp, nil
		}
		if a.Err.Kind == model.ErrCancelled {
			s.r.cancel()
		}
		return nil, a.Err
	case session.TypeFooter, session.TypeState:
		// The recorded loop stopped before it asked.
		return nil, s.r.exhausted(l)
	}
	return nil, s.r.diverge(l, "", describe(l.Type, l.Payload()), "the loop waits for a model answer")
}

// runner serves recorded tool results and plays their changes back.
type runner struct{ r *replay }

// Run implements tool.Runner.
func (s runner) Run(_ context.Context, op *tool.Op) tool.Result {
	r := s.r
	l, err := r.tape.peek()
	if err != nil {
		r.ended(err, "execute")
		return tool.Result{Outcome: event.Cancelled}
	}
	if l.Type != session.TypeToolResult {
		r.diverge(l, "", describe(l.Type, l.Payload()), "the loop waits for the result of "+op.Name)
		return tool.Result{Outcome: event.Cancelled}
	}
	res, err := l.ToolResult()
	if err != nil {
		r.unreadable(l, err)
		return tool.Result{Outcome: event.Cancelled}
	}
	out := tool.Result{Outcome: res.Outcome, Text: res.Text, Took: res.Want, Exit: res.Exit}
	for i := range res.Delta {
		d, err := r.trail.Event(&res.Delta[i], op.Args)
		if err == nil {
			err = r.ws.Apply([]event.Delta{d})
		}
		if err != nil {
			r.misfit(l, fmt.Sprintf("/delta/%d", i), err)
			return tool.Result{Outcome: event.Cancelled}
		}
		out.Delta = append(out.Delta, d)
	}
	if res.Outcome == event.Cancelled {
		r.cancel()
	}
	return out
}

// spill writes to the tree in memory; where the recorded write failed, so does
// this one.
func (r *replay) spill(path, data string) error {
	if l, err := r.tape.peek(); err == nil && l.Type == session.TypeGuard {
		g, err := l.Guard()
		if err != nil {
			return r.unreadable(l, err)
		}
		if g.Failed != "" {
			return errors.New(g.Failed)
		}
	}
	return r.ws.Spill(path, []byte(data))
}
