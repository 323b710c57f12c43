package corpus

import (
	"testing"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// wanted is what the recordings have to show together. It grows with the loop;
// what no loop of this version can do is not in it.
func wanted() []string {
	var out []string
	for _, t := range []session.Type{session.TypeHeader, session.TypePart, session.TypeRequest, session.TypeAttempt, session.TypeResponse, session.TypeToolRequest,
		session.TypeToolResult, session.TypeGuard, session.TypeAcceptance, session.TypeState, session.TypeNote, session.TypeWire, session.TypeFooter} {
		out = append(out, "line "+string(t))
	}
	for _, g := range guard.Names() {
		out = append(out, "guard "+g)
	}
	for _, g := range []string{"stuck", "spill", "tool_deadline", "acceptance", "retry", "truncated_empty", "empty_response", "unknown_tool"} {
		out = append(out, "shadow "+g)
	}
	for _, r := range []event.Reason{event.Completed, event.Unverified, event.Stuck, event.TurnLimit, event.ToolCallLimit, event.TokenBudget, event.CostBudget,
		event.Deadline, event.CancelledRun, event.EmptyResponse, event.ModelError, event.ProtocolError} {
		out = append(out, "end "+string(r))
	}
	for _, o := range []event.Outcome{event.Success, event.ValidationFailed, event.UnknownTool, event.PermissionDenied, event.Timeout, event.Cancelled, event.UnknownOutcome, event.ToolError} {
		out = append(out, "outcome "+string(o))
	}
	for _, i := range []model.ItemType{model.Text, model.Reasoning, model.CallItem, model.Plan, model.Question, model.Proposal, model.ProviderCall} {
		out = append(out, "item "+string(i))
	}
	return append(out, "blob", "backstop")
}

// note adds what a line shows.
func note(t *testing.T, seen map[string]bool, l *session.Line) {
	t.Helper()
	var err error
	switch l.Type {
	case session.TypeGuard:
		var g *session.Guard
		if g, err = l.Guard(); err == nil {
			seen["guard "+g.Name] = seen["guard "+g.Name] || g.Mode == string(guard.Enforce)
			seen["shadow "+g.Name] = seen["shadow "+g.Name] || g.Mode == string(guard.Shadow)
		}
	case session.TypeFooter:
		var f *session.Footer
		if f, err = l.Footer(); err == nil {
			seen["end "+string(f.Reason)] = true
			seen["backstop"] = seen["backstop"] || f.Backstop
		}
	case session.TypeToolResult:
		var r *session.ToolResult
		if r, err = l.ToolResult(); err == nil {
			seen["outcome "+string(r.Outcome)] = true
			for _, d := range r.Delta {
				seen["blob"] = seen["blob"] || d.Size > 0
			}
		}
	case session.TypeResponse:
		var r *session.Response
		if r, err = l.Response(); err == nil {
			for _, i := range r.Resp.Items {
				seen["item "+string(i.Type)] = true
			}
		}
	}
	if err != nil {
		t.Error(err)
	}
}
