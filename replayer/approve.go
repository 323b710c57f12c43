package replayer

import (
	"context"
	"fmt"

	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// approver serves the recorded decisions. Where the recording serves no more, what
// goes on decides; that is live, or what the configuration scripts. It is nil where
// nobody was there to ask.
func (r *replay) approver(live loop.Approver) loop.Approver {
	if live == nil {
		return nil
	}
	return func(ctx context.Context, ask *loop.Ask) (event.Approval, error) {
		if err := ctx.Err(); err != nil {
			return ask.Approval, err
		}
		if !r.onward {
			if got, err, ok := r.decided(ask); ok {
				return got, err
			}
		}
		if r.onto != nil && r.onto.Approve != nil {
			return r.onto.Approve(ctx, ask)
		}
		return live(ctx, ask)
	}
}

// decided serves the decision that was recorded next; ok is false when the loop
// goes on without the recording.
func (r *replay) decided(ask *loop.Ask) (got event.Approval, err error, ok bool) {
	r.stage = "authorise"
	l, err := r.tape.peek()
	if err != nil {
		err = r.ended(err, r.stage)
		return ask.Approval, err, err != nil
	}
	if q, err := l.ToolRequest(); err == nil && q.ID == ask.Operation && q.Problem == event.NoProblem && !r.resume && !r.current {
		r.cancel() // as the recorded one was while it waited, or nothing that follows fits
		return ask.Approval, context.Canceled, true
	}
	if l.Type != session.TypeApproval {
		err := r.diverge(l, "", describe(l.Type, l.Payload()), "the loop asks an approver about "+ask.Request.Call.Name)
		return ask.Approval, err, err != nil
	}
	rec, err := l.Approval()
	if err != nil {
		err = r.unreadable(l, err)
		return ask.Approval, err, err != nil
	}
	got = ask.Approval
	got.Decision, got.Reason, got.Took = rec.Decision, rec.Reason, rec.Took
	return got, nil, true
}

// lost refuses to go on from a recording without the content of a file.
func (r *replay) lost(l *session.Line, path string) error {
	return r.settle(Noop, fmt.Sprintf("line %d: secrets are overwritten in the recorded content of %s, so the tree cannot be made again: run the trial anew", l.No, path))
}
