package replayer

import (
	"github.com/harnessbench/harnessbench/loop/tool"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// wave names the calls of a batch that ran at once. Their results were recorded
// after all of them had come, and so they are served: one after the other, before
// the loop tells the first.
type wave struct {
	lane       string
	turn, wave int
}

// inFlight reports whether a call ran when the recording broke off, and may have
// had its effect.
func (r *replay) inFlight(op *tool.Op) bool {
	return op.Wave > 0 && r.broke == wave{op.Lane, op.Turn, op.Wave} && r.external(op.Name)
}

// resultLine is the line with the result of a call: the tape's next, or, of a
// call that ran beside others, one behind the results of those and what guards
// made of them. Another line is what stands there instead.
func (r *replay) resultLine(op *tool.Op) (*session.Line, error) {
	if op.Wave == 0 {
		return r.tape.peek()
	}
	for i := range maxLook {
		l, err := r.tape.look(i)
		if err != nil {
			return nil, err
		}
		switch l.Type {
		case session.TypeToolResult:
			rec, err := l.ToolResult()
			if err != nil || rec.Index >= op.Index {
				return l, nil
			}
		case session.TypeGuard, session.TypePart:
		default:
			return l, nil
		}
	}
	return r.tape.peek()
}
