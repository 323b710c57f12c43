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
// request itself was compared before, when the loop emitted it. Where the
// recording serves no more, the live model answers, if there is one.
type served struct{ r *replay }

// ID implements model.Model.
func (s served) ID() string { return s.r.header.Model }

// Generate implements model.Model.
func (s served) Generate(ctx context.Context, req *model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	r := s.r
	if !r.onward {
		resp, err, ok := r.recorded(req)
		if ok {
			return resp, err
		}
	}
	if r.follow.on {
		if resp, err, ok := r.followed(req); ok {
			return resp, err
		}
	}
	return r.onLive(ctx, req, onDelta)
}

// recorded serves the next answer of the tape; ok is false when the loop goes on
// without it.
func (r *replay) recorded(req *model.Request) (resp *model.Response, err error, ok bool) {
	l, err := r.tape.peek()
	if err != nil {
		err = r.ended(err, "infer")
		return nil, err, err != nil
	}
	switch l.Type {
	case session.TypeResponse, session.TypeAttempt:
		resp, merr, err := answerOf(l)
		if err != nil {
			err = r.unreadable(l, err)
			return nil, err, err != nil
		}
		if merr != nil && !r.answerStands(merr, req) {
			r.stage = "infer"
			err = r.diverge(l, "/error", "no answer within "+merr.Elapsed.String(), "the call may last "+req.Timeout.String())
			return nil, err, err != nil
		}
		r.answered(req, resp, merr)
		if merr != nil {
			return nil, merr, true
		}
		return resp, nil, true
	case session.TypeFooter, session.TypeState:
		// The recorded loop stopped before it asked.
		err = r.exhausted(l)
	default:
		err = r.diverge(l, "", describe(l.Type, l.Payload()), "the loop waits for a model answer")
	}
	return nil, err, err != nil
}

// answered counts an answer that came from the tape, and tells who wants to know.
func (r *replay) answered(req *model.Request, resp *model.Response, merr *model.Error) {
	r.answers++
	if resp != nil && resp.Model == "" {
		resp.Model = r.header.Model // whichever model was asked
	}
	if merr != nil && merr.Kind == model.ErrCancelled {
		r.cancel()
	}
	if d := r.driven; d != nil {
		d.Served++
		if merr != nil {
			d.Spared = d.Spared.Add(merr.Usage)
		} else {
			d.Spared = d.Spared.Add(resp.Usage)
		}
	}
	switch h := r.hooks; {
	case h == nil:
	case merr != nil && h.Failed != nil:
		h.Failed(req, merr)
	case merr == nil && h.Served != nil:
		h.Served(req, resp)
	}
}

// answerOf decodes what a response or attempt line answers; all nil for another
// line.
func answerOf(l *session.Line) (*model.Response, *model.Error, error) {
	switch l.Type {
	case session.TypeResponse:
		resp, err := l.Response()
		if err != nil {
			return nil, nil, err
		}
		return &resp.Resp, nil, nil
	case session.TypeAttempt:
		a, err := l.Attempt()
		if err != nil {
			return nil, nil, err
		}
		if a.Err != nil {
			return nil, a.Err, nil
		}
		return a.Resp, nil, nil
	}
	return nil, nil, nil
}

// runner serves recorded tool results and plays their changes back.
type runner struct{ r *replay }

// Run implements tool.Runner.
func (s runner) Run(ctx context.Context, op *tool.Op) tool.Result {
	if !s.r.onward {
		if res, ok := s.r.result(ctx, op); ok {
			return res
		}
	}
	if s.r.follow.on {
		if res, ok := s.r.followedCall(op); ok {
			return res
		}
	}
	if s.r.inFlight(op) {
		return tool.Result{Outcome: event.UnknownOutcome, Text: interrupted}
	}
	return s.r.onto.Run.Run(ctx, op)
}

// interrupted is the result of a call that was in flight when its recording broke
// off, and may have had its effect.
const interrupted = "the run was interrupted during this call: whether it took effect is unknown"

// result serves the next result of the tape; ok is false when the loop goes on
// without it.
func (r *replay) result(ctx context.Context, op *tool.Op) (res tool.Result, ok bool) {
	cancelled := tool.Result{Outcome: event.Cancelled}
	l, err := r.resultLine(op)
	if err != nil {
		if r.ended(err, "execute") != nil {
			return cancelled, true
		}
		r.broke = wave{op.Lane, op.Turn, op.Wave}
		if r.external(op.Name) {
			return tool.Result{Outcome: event.UnknownOutcome, Text: interrupted}, true
		}
		return res, false
	}
	if l.Type != session.TypeToolResult {
		err := r.diverge(l, "", describe(l.Type, l.Payload()), "the loop waits for the result of "+op.Name)
		return cancelled, err != nil
	}
	rec, err := l.ToolResult()
	if err != nil {
		return cancelled, r.unreadable(l, err) != nil
	}
	if !r.resultStands(rec, op) {
		r.stage = "execute"
		err := r.diverge(l, "/outcome", string(rec.Outcome)+", which the call itself did not give", "the call is made")
		return cancelled, err != nil
	}
	out := tool.Result{Outcome: rec.Outcome, Text: rec.Text, Took: rec.Want, Exit: rec.Exit, Redacted: rec.Redacted}
	again := r.again != nil && repeatable(&out)
	for i := range rec.Delta {
		d, err := r.trail.Event(&rec.Delta[i], op.Args)
		if err == nil && d.Redacted && r.resume {
			return cancelled, r.lost(l, d.Path) != nil
		}
		if err == nil && !again {
			err = r.ws.Apply([]event.Delta{d})
		}
		if err != nil {
			return cancelled, r.misfit(l, fmt.Sprintf("/delta/%d", i), err) != nil
		}
		out.Delta = append(out.Delta, d)
	}
	if again {
		return r.repeat(ctx, op, &out), true
	}
	// A tool may say so without the operator, and so does a sibling that failed. The
	// calls that ran at once have results of their own, whatever cancelled this one.
	if rec.Outcome == event.Cancelled && rec.Text != event.CutShort && r.tape.cancelled(1, op.Upto, false) {
		r.cancel()
	}
	return out, true
}

// effects knows what tools do; *tool.Set is one.
type effects interface {
	Get(name string) (tool.Tool, bool)
}

// external reports whether a tool may have an effect outside.
func (r *replay) external(name string) bool {
	if r.effects == nil {
		return true // who does not say may do anything
	}
	t, ok := r.effects.Get(name)
	return ok && t.Spec().Effect == event.External
}

// spill writes to the tree; where the recorded write failed, so does this one.
func (r *replay) spill(path, data string) error {
	if r.onward {
		return r.ws.Spill(path, []byte(data))
	}
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
