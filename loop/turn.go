package loop

import "github.com/harnessbench/harnessbench/loop/event"

// narrow denies a call that a guard in force has closed.
func (r *run) narrow(req *event.ToolRequest) {
	if req.Problem != event.NoProblem {
		return
	}
	if why, closed := r.guards.Closed(req.Digest); closed {
		req.Problem, req.Detail = event.ProblemDenied, why
	}
}

// endTurn tells the guards that a turn ends after which the session goes on, and
// reports whether one of them makes it the last all the same.
func (r *run) endTurn() bool {
	r.consult(&event.TurnEnd{Head: r.head(), Calls: r.calls, Usage: r.usage, Cost: r.cost})
	return r.stop != nil
}
