package loop

import (
	"fmt"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
)

// prepare resolves one call. Where its arguments cannot be used as they stand,
// the guard argument_repair mends them or says what is expected; without it the
// model reads that they are wrong and no more. The call itself stays as the model
// wrote it.
func (r *run) prepare(c model.ToolCall, finish model.Finish) tool.Prepared {
	p := r.deps.Tools.Prepare(c)
	if p.Problem != event.ProblemArguments || p.Expected == "" || !r.cfg.s.Guards.Has("argument_repair") {
		return p // sound, or wrong in a way that the tool itself tells
	}
	policy, mode := r.guards.ArgumentRepair()
	plain := p
	plain.Detail = p.Plain
	if mode == guard.Off {
		return plain
	}
	mended, act, evidence := r.mend(policy, c, p, finish)
	fired := r.policyFired("argument_repair", mode, act, evidence)
	fired.On = c.ID
	r.mended = append(r.mended, fired)
	if mode == guard.Shadow {
		return plain
	}
	return mended
}

// mend repairs arguments that are no JSON, and explains what is still wrong.
func (r *run) mend(policy guard.ArgumentRepair, c model.ToolCall, p tool.Prepared, finish model.Finish) (out tool.Prepared, act, evidence string) {
	act, evidence = "explain", p.Detail
	if p.Malformed {
		fixed, done, ok := policy.Repair(c.Args, finish == model.FinishLength)
		if ok {
			p = r.deps.Tools.Prepare(model.ToolCall{ID: c.ID, Name: c.Name, Args: fixed})
			act, evidence = "repair", done
			if p.Problem == event.ProblemArguments && p.Expected != "" {
				act, evidence = "explain", done+"; "+p.Detail
			}
		} else {
			evidence += "; not repaired: " + done
		}
	}
	if act == "explain" {
		p.Detail += fmt.Sprintf("; expected at %q: %s", p.Pointer, p.Expected)
	}
	return p, act, evidence
}

// repaired records what prepare did, after the answer that it did it to.
func (r *run) repaired() {
	for _, fired := range r.mended {
		r.emit(fired)
	}
	r.mended = r.mended[:0]
}
