package replayer

import (
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// foreseeCancel ends the replayed loop where an operator ended the recorded one.
// That moment stands in no line of its own. It shows in what follows the line
// that was just passed: a call that was not run, the turn's end where another
// attempt was due, or the session's end after a turn that was not the last.
func (r *replay) foreseeCancel(passed session.Type) {
	next, err := r.tape.peek()
	if err != nil {
		return
	}
	switch next.Type {
	case session.TypeToolResult:
		if res, err := next.ToolResult(); err != nil || !notRun(res) {
			return
		}
	case session.TypeState:
		// After an answer or its batch the loop comes to the turn's end by itself.
		if passed != session.TypeAttempt && passed != session.TypeGuard && passed != session.TypeAcceptance {
			return
		}
	case session.TypeFooter:
		if passed != session.TypeState {
			return
		}
	default:
		return
	}
	if r.tape.cancelled(0, 0, r.driven == nil) {
		r.cancel()
	}
}

func notRun(res *session.ToolResult) bool {
	return res.Outcome == event.Cancelled && res.Text == event.NotRun
}

// maxLook bounds what cancelled reads ahead: the results of one batch.
const maxLook = 4096

// cancelled reports whether from the line on that lies so many behind the next one
// the recording makes no call any more, ends in this turn and gives no other reason
// for that than a cancellation. A footer that says what no loop says is no other
// reason: then it is the footer that differs, and not a line before it. One that is
// missing is none if unfinished says so. The calls of a batch before number upto
// were begun already.
func (t *tape) cancelled(from, upto int, unfinished bool) bool {
	closed := false
	for i := from; i < maxLook; i++ {
		l, err := t.look(i)
		switch {
		case err != nil:
			return unfinished
		case l.Type == session.TypeRequest, closed && l.Type != session.TypeFooter: // another turn was to begin
			return false
		case l.Type == session.TypeState:
			closed = true
		case l.Type == session.TypeToolResult:
			if res, err := l.ToolResult(); err == nil && res.Index >= upto && !notRun(res) {
				return false
			}
		case l.Type == session.TypeFooter:
			reason, _ := l.Field("reason")
			return !otherEnds[string(reason)]
		}
	}
	return false
}

// otherEnds are the stop reasons, as JSON, that are no cancellation.
var otherEnds = func() map[string]bool {
	m := map[string]bool{}
	for _, r := range []event.Reason{event.Completed, event.Unverified, event.Stuck, event.NoProgress, event.TurnLimit, event.ToolCallLimit,
		event.TokenBudget, event.CostBudget, event.Deadline, event.PolicyStopped, event.WaitingForApproval, event.WaitingForEvent,
		event.EmptyResponse, event.ModelError, event.ProtocolError, event.ToolFailure, event.SealBroken, event.InternalError} {
		m[`"`+string(r)+`"`] = true
	}
	return m
}()

// look returns the line i lines behind the next one, without taking any.
func (t *tape) look(i int) (*session.Line, error) {
	next, err := t.peek()
	if err != nil || i == 0 {
		return next, err
	}
	if len(t.queued) < i {
		t.ahead = next.Clone() // reading on overwrites it
	}
	for len(t.queued) < i {
		if t.err != nil {
			return nil, t.err
		}
		l, err := t.peekFile()
		if err != nil {
			return nil, err
		}
		t.queued = append(t.queued, l.Clone())
	}
	return t.queued[i-1], nil
}
