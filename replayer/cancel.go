package replayer

import (
	"github.com/harnessbench/harnessbench/loop"
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
		if res, err := next.ToolResult(); err != nil || res.Outcome != event.Cancelled || res.Text != loop.NotRun {
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
	if f := r.tape.ending(); f != nil && f.Reason == event.CancelledRun {
		r.cancel()
	}
}

// maxLook bounds what ending reads ahead: the results of one batch.
const maxLook = 4096

// ending returns the footer if the recording ends in this turn, else nil.
func (t *tape) ending() *session.Footer {
	for i := range maxLook {
		l, err := t.look(i)
		switch {
		case err != nil || l.Type == session.TypeRequest:
			return nil
		case l.Type == session.TypeFooter:
			f, err := l.Footer()
			if err != nil {
				return nil
			}
			return f
		}
	}
	return nil
}

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
