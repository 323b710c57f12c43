package loop

import (
	"context"
	"fmt"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
)

// Rules are what a scenario lays down for the stages to act by; the zero Rules lay
// down nothing. They are compiled from the configuration, which has frozen them, and
// are immutable.
type Rules struct {
	Scope     *guard.Scope     // what operations may touch
	Approvals *guard.Approvals // which of them wait for an approver
	User      []Utterance      // a scripted user
}

// Ask is a request for approval.
type Ask struct {
	event.Approval                     // what an answer has to be about
	Request        *event.ToolRequest  // the operation
	Rule           *guard.ApprovalRule // that lists it
}

// Approver answers one request: with the Approval that was asked, decided. A
// positive Took is a declared one, on every clock; else the clock measures.
type Approver func(context.Context, *Ask) (event.Approval, error)

// Approver is the scripted approver; nil where the rules have none.
func (r *Rules) Approver() Approver {
	if !r.Approvals.Scripted() {
		return nil
	}
	return func(_ context.Context, ask *Ask) (event.Approval, error) { return ask.Rule.Answer(ask.Approval), nil }
}

// safe is what the policies of stages 2 to 4 and 7 keep of a lane.
type safe struct {
	grants map[string]time.Duration // of this batch: until when an approved call may begin, by its id
	said   []bool                   // utterances of the user
	masks  masks
}

// permit asks the policies whether an operation may run: it is one of a tool that
// the model saw, within the scope, and approved where that is needed. Where it may
// not, the request gets its problem. held is what to record after the request.
func (r *run) permit(req *event.ToolRequest) (held *event.Guard) {
	if req.Index == 0 {
		clear(r.safe.grants)
	}
	if req.Problem != event.NoProblem {
		return nil
	}
	if why := r.unseen(req); why != "" {
		req.Problem, req.Detail = event.ProblemUnknown, why
		return nil
	}
	if r.guards.Mode("scope") != guard.Off {
		if why, rule := r.deps.Rules.Scope.Judge(req.Effect, req.Resources); why != "" {
			req.Problem, req.Detail = event.ProblemDenied, "permission denied: "+why
			return r.heldBack("scope", guard.Enforce, req, "deny", fmt.Sprintf("%s: %s", req.Call.Name, rule))
		}
	}
	return r.approval(req)
}

// unseen says why a call is not one of a tool as the model saw it: its own version,
// which the frozen configuration has. What the tools have become since does not
// count.
func (r *run) unseen(req *event.ToolRequest) string {
	for i := range r.cfg.s.Tools {
		t := &r.cfg.s.Tools[i]
		if t.Name != req.Call.Name {
			continue
		}
		if t.Version == req.Version {
			return ""
		}
		return fmt.Sprintf("stale call: you were told of version %d of %s, and that is not what would run now; it was not run", t.Version, t.Name)
	}
	return fmt.Sprintf("unknown tool %q", guard.Head(req.Call.Name, 80))
}

// approval lets a listed operation wait for its approver. In shadow nobody is
// asked.
func (r *run) approval(req *event.ToolRequest) *event.Guard {
	mode := r.guards.Mode("approval")
	if mode == guard.Off {
		return nil
	}
	rule := r.deps.Rules.Approvals.Match(req.Call.Name, req.Args)
	switch {
	case rule == nil:
		return nil
	case mode == guard.Shadow:
		return r.heldBack("approval", mode, req, "ask", req.Call.Name+": would wait for an approver")
	case r.deps.Approve == nil:
		req.Problem, req.Detail = event.ProblemUnapproved, "approval required: this operation needs somebody's approval, and nobody is there to ask; it was not run"
		return r.heldBack("approval", mode, req, "require", req.Call.Name+": nobody to ask")
	}
	got, ok := r.askApprover(req, rule)
	if !ok {
		return nil
	}
	why := ""
	if got.Reason != "" {
		why = ": " + got.Reason
	}
	switch got.Decision {
	case guard.Allow:
		if r.safe.grants == nil {
			r.safe.grants = map[string]time.Duration{}
		}
		r.safe.grants[req.Call.ID] = got.Expires
	case guard.Deny:
		req.Problem, req.Detail = event.ProblemDenied, "permission denied: the approver refused this operation"+why
	case guard.Expire:
		req.Problem, req.Detail = event.ProblemUnapproved, fmt.Sprintf("approval required: nobody decided within %s%s; it was not run", got.Took, why)
	default:
		req.Problem, req.Detail = event.ProblemUnapproved, "approval required: what was approved is not this operation as it stands now; it was not run"
	}
	return r.heldBack("approval", mode, req, got.Decision, guard.Head(fmt.Sprintf("%s after %s%s", req.Call.Name, got.Took, why), 300))
}

// askApprover asks the approver, lets the clock move by the wait and records the answer;
// false when the approver failed.
func (r *run) askApprover(req *event.ToolRequest, rule *guard.ApprovalRule) (*event.Approval, bool) {
	within := time.Duration(r.guards.Param("approval", "expires"))
	start := r.deps.Clock.Now()
	ask := event.Approval{Head: r.head(), Operation: req.Call.ID, Digest: req.Digest, Actor: r.lane, Version: r.version, Expires: start + within}
	ctx, cancel := r.deps.Clock.WithTimeout(r.ctx, within)
	defer cancel()
	got, err := r.deps.Approve(ctx, &Ask{ask, req, rule})
	if err != nil {
		switch {
		case r.ctx.Err() != nil:
			r.fail(event.CancelledRun, "cancelled")
		case r.err == nil:
			r.err = fmt.Errorf("approval in turn %d: %w", r.turn, err)
		}
		return nil, false
	}
	lapse := r.deps.Clock.Lapse
	if got.Took > 0 {
		lapse = r.deps.Clock.Declare
	}
	took, want := lapse(start, got.Took, within)
	decision := guard.Settle(&ask, &got, want, within)
	ask.Head, ask.Took, ask.Decision, ask.Reason = r.head(), took, decision, guard.Head(r.masked(got.Reason, nil), 500)
	ask.Expires = ask.At + within
	r.emit(&ask)
	return &ask, true
}

// lapsed reports whether a call was approved and the approval stands no more, now
// that it is the call's turn.
func (r *run) lapsed(req *event.ToolRequest) bool {
	until, approved := r.safe.grants[req.Call.ID]
	if !approved || r.deps.Clock.Now() <= until {
		return false
	}
	r.tell(r.heldBack("approval", guard.Enforce, req, guard.Stale, fmt.Sprintf("%s: approved until %s", req.Call.Name, until)))
	return true
}

// heldBack makes the firing of a policy on one call.
func (r *run) heldBack(name string, mode guard.Mode, req *event.ToolRequest, act, evidence string) *event.Guard {
	g := r.policyFired(name, mode, act, evidence)
	g.On = req.Call.ID
	return g
}

// tell records a firing; nil = there is none.
func (r *run) tell(g *event.Guard) {
	if g != nil {
		r.emit(g)
	}
}
