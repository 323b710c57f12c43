package replayer

import (
	"context"
	"strings"
	"time"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/redact"
	"github.com/harnessbench/harnessbench/loop/tool"
)

// bindTools makes the tools that execute the recorded calls again; false when
// they cannot be had, and the verdict stands.
func (r *replay) bindTools(o *Options) bool {
	var find func() (*trial.Spec, error)
	r.secrets = redact.New()
	if o.Trial != nil {
		find = func() (*trial.Spec, error) {
			s, err := o.Trial(r.rep.Path, r.header)
			if err == nil {
				r.secrets = s.Redactor() // what mock tools say is not masked yet
			}
			return s, err
		}
	}
	tools, err := trial.ToolsAgain(r.header, r.ws, find)
	if err != nil {
		r.settle(Noop, "the tools cannot be executed again: "+err.Error())
		r.rep.Code = CodeLiveTool
		return false
	}
	r.again = tools
	return true
}

// repeatable reports whether a recorded result is one of the call itself. That an
// operator or another call cancelled it, or a crash cut it off, is no behaviour of a tool.
func repeatable(rec *tool.Result) bool {
	return rec.Outcome != event.Cancelled && (rec.Outcome != event.UnknownOutcome || rec.Text != interrupted && !strings.HasPrefix(rec.Text, event.CutShort))
}

// repeat executes a call again. Time is no observation: the call takes what it
// took, so that the clock moves as it did.
func (r *replay) repeat(ctx context.Context, op *tool.Op, rec *tool.Result) tool.Result {
	now := r.again.Run(ctx, op)
	now.Took, now.Declared = rec.Took, false
	if op.Deadline > 0 && rec.Took+time.Microsecond >= op.Deadline && (rec.Outcome == event.Timeout || rec.Outcome == event.UnknownOutcome) {
		now.Outcome = event.Timeout // its deadline cut it, which no execution without a clock repeats
		return now
	}
	if rec.Redacted != "" { // the recorded tree has no secrets that could be found again
		if masked := r.secrets.Text(now.Text); masked == rec.Text {
			now.Text, now.Redacted = masked, rec.Redacted
		}
	}
	if op.Deadline == 0 || rec.Took <= op.Deadline { // else the loop itself says what came of it
		r.ladder.serve(rec, &now)
	}
	return now
}
