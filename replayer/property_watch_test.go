package replayer_test

import (
	"fmt"
	"slices"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
)

// witness hears the events of a session and finds what must never be. It also
// cancels, when it is told to.
type witness struct {
	cancelAt int // events after which cancel is called; 0 = never
	cancel   func()

	events, turns, states, requests int
	asked                           int             // calls in the answer that stands
	open                            map[string]bool // requests without a result, by id
	ids                             map[string]bool
	end                             *event.End
	err                             error // the first breach
}

func newWatch() *witness { return &witness{open: map[string]bool{}, ids: map[string]bool{}} }

func (w *witness) breach(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// Emit implements event.Sink.
func (w *witness) Emit(ev event.Event) error {
	w.events++
	if w.end != nil {
		w.breach("%T after the end", ev)
	}
	w.turns = max(w.turns, ev.Header().Turn)
	switch ev := ev.(type) {
	case *event.Request:
		w.requests++
		if err := chat(ev.Req.Parts); err != nil {
			w.breach("turn %d, attempt %d: %w", ev.Turn, ev.Req.Attempt, err)
		}
		if len(w.open) > 0 {
			w.breach("turn %d: the model is asked while calls are open", ev.Turn)
		}
	case *event.Response:
		w.asked = 0
		for i := range ev.Part.Message.Items {
			if ev.Part.Message.Items[i].Type == model.CallItem {
				w.asked++
			}
		}
	case *event.ToolRequest:
		if w.ids[ev.Call.ID] || ev.Call.ID == "" {
			w.breach("turn %d: two requests with the id %q", ev.Turn, ev.Call.ID)
		}
		w.ids[ev.Call.ID], w.open[ev.Call.ID] = true, true
	case *event.ToolResult:
		if !w.open[ev.Call.ID] {
			w.breach("turn %d: a result without a request, or a second one: %s", ev.Turn, ev.Call.ID)
		}
		delete(w.open, ev.Call.ID)
		w.asked--
	case *event.State:
		w.states++
		if len(w.open) > 0 || w.asked != 0 {
			w.breach("turn %d ends with %d requests open, %d calls without a result", ev.Turn, len(w.open), w.asked)
		}
	case *event.End:
		w.end = ev
		w.ended(ev)
	}
	if w.events == w.cancelAt {
		w.cancel()
	}
	return nil
}

// reasons are all stop reasons but the one that says that the harness failed.
var reasons = []event.Reason{event.Completed, event.Unverified, event.Stuck, event.NoProgress, event.TurnLimit, event.ToolCallLimit,
	event.TokenBudget, event.CostBudget, event.Deadline, event.CancelledRun, event.PolicyStopped, event.WaitingForApproval, event.WaitingForEvent,
	event.EmptyResponse, event.ModelError, event.ProtocolError, event.ToolFailure, event.SealBroken}

func (w *witness) ended(end *event.End) {
	switch {
	case !slices.Contains(reasons, end.Reason):
		w.breach("ended %q: %s", end.Reason, end.Evidence)
	case end.Reason != event.Completed && end.Evidence == "":
		w.breach("ended %s without evidence", end.Reason)
	case len(w.open) > 0:
		w.breach("ended with %d requests open", len(w.open))
	case w.states != end.Turns:
		w.breach("%d turns were closed, the end says %d", w.states, end.Turns)
	}
}

// chat says why a chat API would not take a conversation: tools and system prompt
// first; each call answered exactly once, before anybody speaks again; no result
// without its call.
func chat(parts []*model.Part) error {
	open, begun := map[string]bool{}, false
	for i, p := range parts {
		switch {
		case p.Kind == model.KindTool || p.Kind == model.KindSystem:
			if begun {
				return fmt.Errorf("part %d: a %s part within the conversation", i, p.Kind)
			}
			continue
		case p.Role == model.ToolRole:
			if !open[p.Message.CallID] {
				return fmt.Errorf("part %d: a result without its call, or a second one: %s", i, p.Message.CallID)
			}
			delete(open, p.Message.CallID)
		case len(open) > 0:
			return fmt.Errorf("part %d: the %s speaks before %d calls are answered", i, p.Role, len(open))
		case !begun && p.Role != model.User:
			return fmt.Errorf("part %d: the conversation begins with the %s", i, p.Role)
		}
		begun = true
		for j := range p.Message.Items {
			it := &p.Message.Items[j]
			if it.Type != model.CallItem {
				continue
			}
			if open[it.Call.ID] || p.Role != model.Assistant {
				return fmt.Errorf("part %d: the call %s twice, or by the %s", i, it.Call.ID, p.Role)
			}
			open[it.Call.ID] = true
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%d calls are not answered", len(open))
	}
	if len(parts) > 0 && parts[len(parts)-1].Role == model.Assistant {
		return fmt.Errorf("the assistant spoke last")
	}
	return nil
}
