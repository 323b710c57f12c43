package loop_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
)

// lasting is a tool that takes as long as its argument t says, in ms, and fails
// with an argument f. It names its argument r as its resource.
func lasting(name string, effect event.Effect, parallel bool) tool.Tool {
	f := newTool(name, effect, func(_ context.Context, op *tool.Op) tool.Result {
		r := tool.Result{Outcome: event.Success, Text: "done " + op.Args, Took: time.Duration(number(op.Args, "t")) * time.Millisecond}
		if strings.Contains(op.Args, `"f"`) {
			r.Outcome, r.Text = event.ToolError, "failed"
		}
		return r
	})
	f.spec.Parallel = parallel
	return resourceful{f}
}

type resourceful struct{ fakeTool }

func (r resourceful) Canonical(args string) (string, []string, error) {
	if n := number(args, "r"); n > 0 {
		return args, []string{strings.Repeat("r", n)}, nil
	}
	return args, nil, nil
}

func number(args, name string) (n int) {
	_, after, _ := strings.Cut(args, `"`+name+`":`)
	for _, c := range after {
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// fired returns evidence and mode of the firings of a guard.
func fired(s *sink, name string) (out []string) {
	for _, g := range eventsOf[*event.Guard](s) {
		if g.Name == name {
			out = append(out, g.Mode+" "+g.Act+": "+g.Evidence)
		}
	}
	return out
}

func TestBatchesRunAtOnce(t *testing.T) {
	for _, tt := range []struct {
		name    string
		batch   []string
		changes []string
		took    time.Duration // the batch
		results string
		fired   string
	}{
		{"reads", []string{`look {"t":1800}`, `look {"t":600}`, `look {"t":1801}`}, nil, 1801 * time.Millisecond,
			"success success success", "enforce parallel: 3 calls at once, 1.801s instead of 4.201s"},
		{"one call is no batch", []string{`look {"t":1800}`}, nil, 1800 * time.Millisecond, "success", ""},
		{"nothing is saved where nothing takes time", []string{`look {}`, `look {"x":1}`}, nil, 0, "success success", ""},
		{"a write", []string{`look {"t":1000}`, `save {"t":1000}`}, nil, 2 * time.Second, "success success", ""},
		{"writes that may run beside others", []string{`safe {"t":1000,"r":1}`, `look {"t":1000}`, `safe {"t":500,"r":2}`}, nil, time.Second,
			"success success success", "enforce parallel: 3 calls at once, 1s instead of 2.5s"},
		{"but not one operation twice", []string{`safe {"t":1000}`, `safe {"t":1000}`}, nil, 2 * time.Second, "success success", ""},
		{"nor two on one resource", []string{`safe {"t":1000,"r":3}`, `safe {"t":500,"r":3}`}, nil, 1500 * time.Millisecond, "success success", ""},
		{"what is not run keeps its slot", []string{`nope {}`, `look {"t":1000}`, `look [`, `look {"t":2000}`, `nope {}`}, nil, 2 * time.Second,
			"unknown_or_disabled_tool success validation_failed success unknown_or_disabled_tool", "enforce parallel: 2 calls at once, 2s instead of 3s"},
		{"waves", []string{`look {"t":1000}`, `look {"t":100}`, `look {"t":300}`, `look {"t":400}`, `look {"t":50}`}, []string{"parallel_tools.most=2"}, 1450 * time.Millisecond,
			"success success success success success", "enforce parallel: 5 calls, 2 at once, 1.45s instead of 1.85s"},
		{"one at a time", []string{`look {"t":1000}`, `look {"t":100}`}, []string{"parallel_tools.most=1"}, 1100 * time.Millisecond, "success success", ""},
		{"off", []string{`look {"t":1000}`, `look {"t":100}`}, []string{"parallel_tools=off"}, 1100 * time.Millisecond, "success success", ""},
		{"shadow", []string{`look {"t":1000}`, `nope`, `look {"t":100}`, `look {"t":300}`}, []string{"parallel_tools=shadow", "parallel_tools.most=2"}, 1400 * time.Millisecond,
			"success unknown_or_disabled_tool success success", "shadow parallel: 3 calls, 2 at once, 1.3s instead of 1.4s"},
		{"a deadline cuts nobody else", []string{`look {"t":1000}`, `look {"t":9000}`, `look {"t":4999}`}, []string{"tool_deadline.per_call=5s"}, 5 * time.Second,
			"success timeout success", "enforce parallel: 3 calls at once, 5s instead of 10.999s"},
		{"a wave has what is left of the time", []string{`look {"t":3000}`, `look {"t":9000}`}, []string{"run_deadline.total=6s", "parallel_tools.most=1"}, 5 * time.Second, "success timeout", ""},
		{"failures are the model's", []string{`look {"t":1000,"f":1}`, `look {"t":2000}`}, nil, 2 * time.Second,
			"tool_error success", "enforce parallel: 2 calls at once, 2s instead of 3s"},
		{"cancel", []string{`look {"t":2000}`, `look {"t":1000,"f":1}`, `look {"t":1000}`, `look {"t":1001,"f":1}`, `safe {"t":1001}`}, []string{"parallel_tools.cancel=1"}, time.Second,
			"cancelled tool_error success cancelled unknown_outcome", "enforce parallel: 5 calls at once, 1s instead of 5s, 3 cancelled"},
		{"cancel, and nothing fails", []string{`look {"t":2000}`, `nope`, `look {"t":1000}`}, []string{"parallel_tools.cancel=1"}, 2 * time.Second,
			"success unknown_or_disabled_tool success", "enforce parallel: 2 calls at once, 2s instead of 3s"},
		{"cancel after a timeout", []string{`look {"t":2000}`, `look {"t":9000}`}, []string{"parallel_tools.cancel=1", "tool_deadline.per_call=1s"}, time.Second,
			"timeout timeout", "enforce parallel: 2 calls at once, 1s instead of 2s"},
		{"cancel does not begin another wave", []string{`look {"t":10,"f":1}`, `look {"t":5}`, `look {"t":5}`, `nope`, `look {"t":5}`}, []string{"parallel_tools.cancel=1", "parallel_tools.most=2"}, 10 * time.Millisecond,
			"tool_error success cancelled unknown_or_disabled_tool cancelled", "enforce parallel: 2 calls at once, 10ms instead of 15ms, 2 cancelled"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := answers(calls(tt.batch...), say("done"))
			tools := []tool.Tool{lasting("look", event.Read, false), lasting("save", event.Write, false), lasting("safe", event.Write, true)}
			tr := newTrial(t, m, tools, guard.ProfileDefault, append(tt.changes, "no_progress=off")...)
			tr.run(t)
			var got, asked []string
			for i, r := range eventsOf[*event.ToolResult](tr.sink) {
				got = append(got, string(r.Outcome))
				if r.Index != i {
					t.Errorf("result %d stands at place %d", r.Index, i)
				}
			}
			if s := strings.Join(got, " "); s != tt.results {
				t.Errorf("results %s", s)
			}
			for _, l := range tr.sink.log {
				if strings.HasPrefix(l, "ask") || strings.HasPrefix(l, "result") {
					asked = append(asked, l[:3])
				}
			}
			if s := strings.Join(asked, " "); s != strings.TrimSpace(strings.Repeat("ask ", len(tt.batch))+strings.Repeat("res ", len(tt.batch))) {
				t.Errorf("order %s", s)
			}
			if state := eventsOf[*event.State](tr.sink)[0]; state.At != time.Second+tt.took {
				t.Errorf("the batch took %s, want %s", state.At-time.Second, tt.took)
			}
			if s := strings.Join(fired(tr.sink, "parallel_tools"), "; "); s != tt.fired {
				t.Errorf("fired %q, want %q", s, tt.fired)
			}
		})
	}
}

// Calls that run at once are numbered and counted in call order, and limits stop
// them there; those admitted before are run.
func TestBatchAtOnceKeepsLimits(t *testing.T) {
	var ops []tool.Op
	look := newTool("look", event.Read, func(_ context.Context, op *tool.Op) tool.Result {
		ops = append(ops, *op)
		return tool.Result{Outcome: event.Success, Text: "seen", Took: time.Second}
	})
	tr := newTrial(t, answers(calls("look", "nope", "look", "look", "look")), []tool.Tool{look}, guard.ProfileDefault, "limits.calls=3")
	end := tr.wantEnd(t, event.ToolCallLimit)
	wantLines(t, tr.sink.only("result"), "result 0 success", "result 1 unknown_or_disabled_tool", "result 2 success", "result 3 success", "result 4 cancelled")
	if end.Calls != 3 || len(ops) != 3 || end.At != 2*time.Second {
		t.Errorf("%d run: %+v", len(ops), end)
	}
	for i, op := range ops {
		if op.Nth != i || op.Wave != 1 || op.Index != []int{0, 2, 3}[i] {
			t.Errorf("%+v", op)
		}
	}
}

// An operation that was cut off must not be issued again as it is.
func TestCancelledWriteIsInLimbo(t *testing.T) {
	batch := calls(`safe {"t":50}`, `look {"t":10,"f":1}`)
	tr := newTrial(t, answers(batch, batch, say("done")), []tool.Tool{lasting("look", event.Read, false), lasting("safe", event.Write, true)},
		guard.ProfileDefault, "parallel_tools.cancel=1")
	tr.wantEnd(t, event.Completed)
	wantLines(t, tr.sink.only("result"), "result 0 unknown_outcome", "result 1 tool_error", "result 0 permission_denied", "result 1 tool_error")
}

// Cancel in mid-batch gives every call one result.
func TestCancelWhileCallsRunAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	look := newTool("look", event.Read, func(ctx context.Context, _ *tool.Op) tool.Result {
		if n++; n == 2 {
			cancel()
		}
		if ctx.Err() != nil {
			return tool.Result{Outcome: event.Cancelled, Text: "cancelled"}
		}
		return tool.Result{Outcome: event.Success, Text: "seen", Took: time.Second}
	})
	m := answers(calls("look", "look", "nope", "look", "look"), say("done"))
	tr := newTrial(t, m, []tool.Tool{look}, guard.ProfileDefault, "parallel_tools.most=3", "parallel_tools.cancel=1")
	tr.ctx = ctx
	end := tr.wantEnd(t, event.CancelledRun)
	wantLines(t, tr.sink.only("result"), "result 0 success", "result 1 cancelled", "result 2 unknown_or_disabled_tool", "result 3 cancelled", "result 4 cancelled")
	if end.Calls != 3 || len(m.asked) != 1 {
		t.Errorf("%+v", end)
	}
}

// On a real clock calls really run at once, no more than there may, and their
// results are told in call order.
func TestRealCallsRunAtOnce(t *testing.T) {
	var most int32
	sleepy := func() tool.Tool {
		var now int32
		return newTool("look", event.Read, func(ctx context.Context, op *tool.Op) tool.Result {
			for n := atomic.AddInt32(&now, 1); ; {
				if m := atomic.LoadInt32(&most); n <= m || atomic.CompareAndSwapInt32(&most, m, n) {
					break
				}
			}
			defer atomic.AddInt32(&now, -1)
			select {
			case <-ctx.Done():
				if context.Cause(ctx) == context.DeadlineExceeded {
					return tool.Result{Outcome: event.Timeout, Text: "late"}
				}
				return tool.Result{Outcome: event.Cancelled, Text: "cancelled"}
			case <-time.After(time.Duration(number(op.Args, "t")) * time.Millisecond):
			}
			if strings.Contains(op.Args, `"f"`) {
				return tool.Result{Outcome: event.ToolError, Text: "failed"}
			}
			return tool.Result{Outcome: event.Success, Text: op.Args}
		})
	}
	mocked := newTool("mock", event.Read, func(_ context.Context, op *tool.Op) tool.Result {
		return tool.Result{Outcome: event.Success, Took: time.Duration(number(op.Args, "t")) * time.Millisecond, Declared: true}
	})
	for _, tt := range []struct {
		batch   []string
		changes string
		took    time.Duration
		most    int32
		results string
		fired   string
	}{
		{[]string{`look {"t":300}`, `look {"t":200}`, `look {"t":100}`}, "parallel_tools=enforce", 300 * time.Millisecond, 3,
			"success success success", "enforce parallel: 3 calls at once, 300ms instead of 600ms"},
		{[]string{`look {"t":300}`, `look {"t":200}`, `look {"t":100}`}, "parallel_tools.most=2", 400 * time.Millisecond, 2,
			"success success success", "enforce parallel: 3 calls, 2 at once, 400ms instead of 600ms"},
		{[]string{`look {"t":300}`, `look {"t":200}`}, "parallel_tools=off", 500 * time.Millisecond, 1, "success success", ""},
		{[]string{`look {"t":300}`, `look {"t":200,"f":1}`, `look {"t":100}`}, "parallel_tools.cancel=1", 200 * time.Millisecond, 3,
			"cancelled tool_error success", "enforce parallel: 3 calls at once, 200ms instead of 500ms, 1 cancelled"},
		{[]string{`look {"t":300}`, `mock {"t":250}`, `look {"t":100}`}, "parallel_tools=enforce", 300 * time.Millisecond, 2,
			"success success success", "enforce parallel: 3 calls at once, 300ms instead of 650ms"},
		{[]string{`look {"t":9000}`, `look {"t":1500}`}, "tool_deadline.per_call=2s", 2 * time.Second, 2,
			"timeout success", "enforce parallel: 2 calls at once, 2s instead of 3.5s"},
	} {
		most = 0
		onRealClock(t, func(t *testing.T) *trial {
			quick := with(calls(tt.batch...), func(r *model.Response) { r.Elapsed = 0 })
			return newTrial(t, answers(quick, say("done")), []tool.Tool{sleepy(), mocked}, guard.ProfileDefault, tt.changes)
		}, event.Completed, func(t *testing.T, tr *trial, end *event.End) {
			var got []string
			for _, r := range eventsOf[*event.ToolResult](tr.sink) {
				got = append(got, string(r.Outcome))
			}
			if s := strings.Join(got, " "); s != tt.results || end.At != tt.took || most != tt.most {
				t.Errorf("%v, %s: %s in %s, %d at once", tt.batch, tt.changes, s, end.At, most)
			}
			if s := strings.Join(fired(tr.sink, "parallel_tools"), "; "); s != tt.fired {
				t.Errorf("fired %q, want %q", s, tt.fired)
			}
		})
	}
}

// Duplicate call ids do not clear each other: each call has a result of its own
// under an id of its own, at once or one after the other.
func TestDuplicateIDsKeepTheirResults(t *testing.T) {
	for _, mode := range []string{"enforce", "off"} {
		batch := with(calls(`look {"n":1}`, `look {"n":2}`, `look {"n":1}`), func(r *model.Response) {
			for i := range r.Items {
				r.Items[i].Call.ID = "call_0"
			}
		})
		look := newTool("look", event.Read, func(_ context.Context, op *tool.Op) tool.Result {
			return tool.Result{Outcome: event.Success, Text: op.Args, Took: time.Second}
		})
		m := answers(batch, say("done"))
		newTrial(t, m, []tool.Tool{look}, guard.ProfileDefault, "parallel_tools="+mode).wantEnd(t, event.Completed)
		parts := m.asked[1].Parts[len(m.asked[1].Parts)-4:]
		ids := map[string]bool{}
		for i, want := range []string{`{"n":1}`, `{"n":2}`, `{"n":1}`} {
			msg := parts[i+1].Message
			ids[msg.CallID] = true
			if model.TextOf(msg.Items) != want || msg.CallID != parts[0].Message.Items[i].Call.ID || msg.CallID == "call_0" {
				t.Errorf("%s: call %d has the result %s under %s", mode, i, model.TextOf(msg.Items), msg.CallID)
			}
		}
		if len(ids) != 3 {
			t.Errorf("%s: ids %v", mode, ids)
		}
	}
}

// A read that was cut off because a sibling failed is cancelled, whatever it would
// have said: it may be made again.
func TestCutReadIsNotInLimbo(t *testing.T) {
	odd := newTool("odd", event.Read, func(context.Context, *tool.Op) tool.Result {
		return tool.Result{Outcome: event.UnknownOutcome, Text: "who knows", Took: time.Minute}
	})
	m := answers(calls(`look {"t":10,"f":1}`, "odd"), calls("odd"), say("done"))
	tr := newTrial(t, m, []tool.Tool{lasting("look", event.Read, false), odd}, guard.ProfileDefault, "parallel_tools.cancel=1")
	tr.wantEnd(t, event.Completed)
	var got []string
	for _, r := range eventsOf[*event.ToolResult](tr.sink) {
		got = append(got, string(r.Outcome))
	}
	wantLines(t, got, "tool_error", "cancelled", "unknown_outcome")
}
