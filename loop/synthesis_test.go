package loop_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
)

// dollar makes a token cost 1 micro-USD.
var dollar = map[string]loop.Prices{"fake/model": {InputUncached: 1_000_000, Output: 1_000_000}}

// synthetic is a model that calls until it is asked for its last answer.
func synthetic(last any) *scripted {
	return &scripted{answer: func(_ int, _ context.Context, req *model.Request) (*model.Response, error) {
		if req.Purpose != model.ForFinalSynthesis {
			return with(calls("look"), func(r *model.Response) {
				r.Items = append([]model.Item{{Type: model.Text, Text: "Looking."}}, r.Items...)
			}), nil
		}
		if err, ok := last.(error); ok {
			return nil, err
		}
		return last.(*model.Response), nil
	}}
}

func TestFinalSynthesis(t *testing.T) {
	late := with(say("late"), func(r *model.Response) { r.Elapsed = time.Hour })
	for _, tt := range []struct {
		name    string
		last    any
		changes string
		limits  guard.Backstop
		answer  string
		asked   int
		guard   string // its firing, "" = none
		at      time.Duration
		reason  event.Reason
	}{
		{"turns", say("42"), "", guard.Backstop{Turns: 3}, "42", 4, "ask", 4030 * time.Millisecond, event.TurnLimit},
		{"turns of the guard", say("42"), "limits.turns=3", guard.Backstop{}, "42", 4, "ask", 4030 * time.Millisecond, event.TurnLimit},
		{"time", say("42"), "", guard.Backstop{Wall: 3 * time.Second}, "42", 4, "ask", 4 * time.Second, event.Deadline},
		{"time of the guard", say("42"), "run_deadline.total=3s", guard.Backstop{}, "42", 4, "ask", 4 * time.Second, event.Deadline},
		{"off", say("42"), "final_synthesis=off", guard.Backstop{Turns: 3}, "Looking.", 3, "", 3030 * time.Millisecond, event.TurnLimit},
		{"shadow", say("42"), "final_synthesis=shadow", guard.Backstop{Turns: 3}, "Looking.", 3, "ask", 3030 * time.Millisecond, event.TurnLimit},
		{"blank", say(" \n"), "", guard.Backstop{Turns: 3}, "Looking.", 4, "ask", 4030 * time.Millisecond, event.TurnLimit},
		{"an error is not retried", &model.Error{Kind: model.ErrServer, Status: 503, Elapsed: time.Second}, "", guard.Backstop{Turns: 3}, "Looking.", 4, "ask", 4030 * time.Millisecond, event.TurnLimit},
		{"too late", late, "", guard.Backstop{Turns: 3}, "Looking.", 4, "ask", 63030 * time.Millisecond, event.TurnLimit},
		{"a shorter timeout", late, "final_synthesis.timeout=2s", guard.Backstop{Turns: 3}, "Looking.", 4, "ask", 5030 * time.Millisecond, event.TurnLimit},
		{"tokens allow it", say("42"), "", guard.Backstop{Turns: 3, Tokens: 49}, "42", 4, "ask", 4030 * time.Millisecond, event.TurnLimit},
		{"tokens do not", say("42"), "", guard.Backstop{Turns: 3, Tokens: 48}, "Looking.", 3, "skip", 3030 * time.Millisecond, event.TurnLimit},
		{"nor do the guard's", say("42"), "limits.tokens=48", guard.Backstop{Turns: 3}, "Looking.", 3, "skip", 3030 * time.Millisecond, event.TurnLimit},
		{"money allows it", say("42"), "", guard.Backstop{Turns: 3, MicroUSD: 49}, "42", 4, "ask", 4030 * time.Millisecond, event.TurnLimit},
		{"money does not", say("42"), "", guard.Backstop{Turns: 3, MicroUSD: 48}, "Looking.", 3, "skip", 3030 * time.Millisecond, event.TurnLimit},
		{"calls run out", say("42"), "", guard.Backstop{Calls: 2}, "Looking.", 2, "", 2020 * time.Millisecond, event.ToolCallLimit},
		{"tokens run out", say("42"), "", guard.Backstop{Tokens: 20}, "Looking.", 2, "", 2020 * time.Millisecond, event.TokenBudget},
		{"stuck", say("42"), "stuck=enforce", guard.Backstop{}, "Looking.", 6, "", 6060 * time.Millisecond, event.Stuck},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := synthetic(tt.last)
			changes := []string{"stuck=off"}
			if tt.changes != "" {
				changes = append(changes, tt.changes)
			}
			tr := newTrial(t, m, []tool.Tool{ok("look", event.Read, "seen")}, guard.ProfileDefault, changes...)
			tr.Limits, tr.Prices = tt.limits, dollar
			end := tr.wantEnd(t, tt.reason)
			if end.Answer != tt.answer || len(m.asked) != tt.asked || end.Attempts != tt.asked || end.At != tt.at || end.Backstop != (tt.changes == "" || tt.limits != guard.Backstop{}) && tt.reason != event.Stuck {
				t.Errorf("asked %d times: %+v", len(m.asked), end)
			}
			var fired []string
			for _, g := range eventsOf[*event.Guard](tr.sink) {
				if g.Name == "final_synthesis" {
					fired = append(fired, g.Act)
				}
			}
			if got := strings.Join(fired, " "); got != tt.guard {
				t.Errorf("fired %q", got)
			}
		})
	}
}

// The reserved call sees the whole conversation, is billed, is bounded, and says
// what it is for; the turn before it is complete.
func TestFinalSynthesisRequest(t *testing.T) {
	m := synthetic(say("42"))
	tr := newTrial(t, m, []tool.Tool{ok("look", event.Read, "the last result")}, guard.ProfileDefault)
	tr.Limits, tr.Prices = guard.Backstop{Turns: 1}, dollar
	end := tr.wantEnd(t, event.TurnLimit)
	q := &m.asked[1]
	if q.Purpose != model.ForFinalSynthesis || q.Timeout != time.Minute || q.Turn != 1 || q.Attempt != 0 || q.Occurrence != 0 || !strings.HasPrefix(q.last, "You have run out of turns") {
		t.Errorf("%+v", q)
	}
	if got := model.TextOf(q.Parts[len(q.Parts)-2].Message.Items); got != "the last result" {
		t.Errorf("the last turn's work is lost: %q stands before the question", got)
	}
	if q.Parts[0].Digest != m.asked[0].Parts[0].Digest || q.Chains[len(m.asked[0].Parts)] != m.asked[0].Chains[len(m.asked[0].Parts)] {
		t.Error("the prefix was rewritten")
	}
	if end.Usage.Total() != 24 || end.Cost.Pico != 24_000_000 || end.Turns != 1 || !end.Unchecked {
		t.Errorf("%+v", end)
	}
	wantLines(t, tr.sink.log[len(tr.sink.log)-6:], "before turn", "guard final_synthesis enforce ask", "part feedback", "request", "response", "end turn_limit")
}

// Calls of the last answer are recorded and not run.
func TestFinalSynthesisRunsNoTool(t *testing.T) {
	last := with(calls("look", "look"), func(r *model.Response) { r.Items = append(r.Items, model.Item{Type: model.Text, Text: "42"}) })
	tr := newTrial(t, synthetic(last), []tool.Tool{ok("look", event.Read, "seen")}, guard.ProfileDefault)
	tr.Limits.Turns = 1
	end := tr.wantEnd(t, event.TurnLimit)
	a := eventsOf[*event.Anomaly](tr.sink)
	if end.Answer != "42" || end.Calls != 1 || len(a) != 1 || !strings.HasPrefix(a[0].What, "2 tool calls in the final answer") {
		t.Errorf("%+v %+v", end, a)
	}
	if r := eventsOf[*event.Response](tr.sink); len(r[1].Resp.Calls()) != 2 || len(r[1].Part.Message.Items) != 1 {
		t.Errorf("%+v", r[1])
	}
}

// Nobody who cancels is made to wait for another answer.
func TestNoFinalSynthesisAfterCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := synthetic(say("42"))
	look := newTool("look", event.Read, func(context.Context, *tool.Op) tool.Result {
		cancel()
		return tool.Result{Outcome: event.Success, Text: "seen"}
	})
	tr := newTrial(t, m, []tool.Tool{look}, guard.ProfileDefault)
	tr.Limits.Turns, tr.ctx = 1, ctx
	tr.wantEnd(t, event.CancelledRun)
	if len(m.asked) != 1 {
		t.Errorf("asked %d times", len(m.asked))
	}
}

// One that is cancelled while it is asked keeps the reason it ended for.
func TestFinalSynthesisCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := &scripted{answer: func(n int, _ context.Context, _ *model.Request) (*model.Response, error) {
		if n == 0 {
			return calls("look"), nil
		}
		cancel()
		return nil, ctx.Err()
	}}
	tr := newTrial(t, m, []tool.Tool{ok("look", event.Read, "seen")}, guard.ProfileDefault)
	tr.Limits.Turns, tr.ctx = 1, ctx
	tr.wantEnd(t, event.TurnLimit)
	if a := eventsOf[*event.Attempt](tr.sink); len(a) != 1 || a[0].Err.Kind != model.ErrCancelled {
		t.Errorf("%+v", a)
	}
}
