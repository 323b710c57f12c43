package replayer

import (
	"context"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// following says that loop and recording have parted in something that no request
// shows, a wait or a firing, and that the loop has asked nothing else since. As
// long as that lasts its questions are still those that were recorded, and so are
// the answers.
type following struct {
	on     bool
	forked bool                // the loop runs under other settings
	params session.ShortDigest // of the recording's last request
}

// live reports whether what is asked goes to what is live.
func (r *replay) live() bool { return r.onward && !r.follow.on }

// followed serves the answer to a request that was recorded next; ok is false
// where another one was, and nothing is followed any more.
func (r *replay) followed(req *model.Request) (*model.Response, error, bool) {
	r.follow.on = false
	if !r.nextAsked(req) {
		return nil, nil, false
	}
	l, err := r.tape.peek()
	if err != nil {
		return nil, nil, false
	}
	resp, merr, err := answerOf(l)
	if err != nil || resp == nil && merr == nil || merr != nil && !r.answerStands(merr, req) {
		return nil, nil, false
	}
	r.follow.on = true
	r.answered(req, resp, merr)
	if merr != nil {
		return nil, merr, true
	}
	return resp, nil, true
}

// nextAsked takes the recording's next request and reports whether it is this one.
func (r *replay) nextAsked(req *model.Request) bool {
	for {
		l, err := r.tape.peek()
		if err != nil {
			return false
		}
		if l.Type != session.TypeRequest {
			r.tape.take() // derived, or an answer that was served before
			continue
		}
		q, err := l.Request()
		if err != nil {
			return false
		}
		r.tape.take()
		if q.Params != nil {
			r.follow.params = q.ParamsDigest
		}
		return q.Turn == req.Turn && q.Purpose == req.Purpose && q.Chain.Of(req.Chain()) && r.follow.params.Of(req.ParamsDigest)
	}
}

// answerStands reports whether a recorded failure is one under today's settings
// too: how long a call may last is one of them.
func (r *replay) answerStands(merr *model.Error, req *model.Request) bool {
	return !r.follow.forked || merr.Kind != model.ErrDeadline || merr.Elapsed == req.Timeout
}

// followedCall serves the result of a call that was recorded in this turn; ok is
// false where it has none that stands.
func (r *replay) followedCall(op *tool.Op) (res tool.Result, ok bool) {
	for {
		l, err := r.tape.peek()
		if err != nil || l.Type == session.TypeRequest {
			break
		}
		if l.Type != session.TypeToolResult {
			r.tape.take()
			continue
		}
		rec, err := l.ToolResult()
		if err != nil || rec.Index > op.Index || rec.Index == op.Index && (rec.ID != op.ID || !r.resultStands(rec, op)) {
			break
		}
		r.tape.take()
		if rec.Index == op.Index {
			if res, err := r.playBack(rec, op); err == nil {
				return res, true
			}
			r.follow.on = false // its tree is not this one
			break
		}
		if len(rec.Delta) > 0 {
			r.follow.on = false // a change of the tree that was not made
		}
	}
	if r.onto.Clock != nil {
		r.follow.on = false // what follows takes real time
	}
	return res, false
}

// resultStands reports whether a recorded result is what the call itself gave.
// What the loop made of it, and what a deadline cut short, is not: under other
// settings the call has to be made.
func (r *replay) resultStands(rec *session.ToolResult, op *tool.Op) bool {
	if !r.follow.forked {
		return true
	}
	switch rec.Outcome {
	case event.ValidationFailed, event.UnknownTool, event.PermissionDenied, event.ApprovalRequired, event.Cancelled:
		return false
	}
	return rec.Want <= rec.Took || rec.Took == op.Deadline
}

// playBack makes a recorded result, and its changes of the tree.
func (r *replay) playBack(rec *session.ToolResult, op *tool.Op) (tool.Result, error) {
	out := tool.Result{Outcome: rec.Outcome, Text: rec.Text, Took: rec.Want, Exit: rec.Exit, Redacted: rec.Redacted}
	for i := range rec.Delta {
		d, err := r.trail.Event(&rec.Delta[i], op.Args)
		if err == nil {
			err = r.ws.Apply([]event.Delta{d})
		}
		if err != nil {
			return out, err
		}
		out.Delta = append(out.Delta, d)
	}
	return out, nil
}

// onLive asks the live model.
func (r *replay) onLive(ctx context.Context, req *model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	if _, none := r.onto.Model.(stopping); r.driven != nil && !none && ctx.Err() == nil {
		r.driven.Asked++
	}
	return r.onto.Model.Generate(ctx, req, onDelta)
}
