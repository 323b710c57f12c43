package loop_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
)

func unavailable() error {
	return &model.Error{Kind: model.ErrServer, Status: 503, Elapsed: 100 * time.Millisecond}
}

func truncated() *model.Response {
	return &model.Response{Finish: model.FinishLength, Usage: model.Usage{Output: 500}, Elapsed: time.Second}
}

// The retry budget is a turn's: three failures in each of two turns are survived.
func TestRetryBudgetIsATurns(t *testing.T) {
	u := unavailable
	m := answers(u(), u(), u(), calls("look"), u(), u(), u(), say("done"))
	tr := newTrial(t, m, []tool.Tool{ok("look", event.Read, "seen")}, guard.ProfileDefault)
	end := tr.wantEnd(t, event.Completed)
	if end.Attempts != 8 || end.Turns != 2 || len(tr.sink.only("attempt server")) != 6 || len(tr.sink.only("guard retry enforce retry")) != 6 {
		t.Errorf("%+v\n%s", end, strings.Join(tr.sink.log, "\n"))
	}
	for i, a := range m.asked {
		if a.Attempt != i%4 || a.Occurrence != i%4 || a.Turn != 1+i/4 {
			t.Errorf("call %d: attempt %d, occurrence %d, turn %d", i, a.Attempt, a.Occurrence, a.Turn)
		}
	}
	for i, a := range eventsOf[*event.Attempt](tr.sink) {
		if a.N != i%3 || !a.Again || a.Wait <= 0 || a.Wait > 800*time.Millisecond || a.Took != 100*time.Millisecond {
			t.Errorf("attempt %d: %+v", i, a)
		}
	}
}

func TestRetryGivesUp(t *testing.T) {
	m := answers(unavailable())
	tr := newTrial(t, m, nil, guard.ProfileDefault)
	end := tr.wantEnd(t, event.ModelError)
	if len(m.asked) != 4 || end.Attempts != 4 || end.Evidence != "server (503)" {
		t.Errorf("asked %d times, %+v", len(m.asked), end)
	}
	wantLines(t, tr.sink.only("guard"), "guard retry enforce retry", "guard retry enforce retry", "guard retry enforce retry", "guard retry enforce give_up")
	last := eventsOf[*event.Attempt](tr.sink)[3]
	if last.Again || last.Wait != 0 {
		t.Errorf("the last attempt: %+v", last)
	}
}

func TestRetryShadowAndOff(t *testing.T) {
	for _, tt := range []struct {
		mode  string
		fired []string
	}{{"shadow", []string{"guard retry shadow retry"}}, {"off", nil}} {
		m := answers(unavailable(), say("done"))
		tr := newTrial(t, m, nil, guard.ProfileDefault, "retry="+tt.mode)
		tr.wantEnd(t, event.ModelError)
		wantLines(t, tr.sink.only("guard"), tt.fired...)
		if a := eventsOf[*event.Attempt](tr.sink)[0]; a.Again || a.Wait != 0 || len(m.asked) != 1 {
			t.Errorf("%s: %+v", tt.mode, a)
		}
	}
}

func TestErrorsThatDoNotPass(t *testing.T) {
	for _, tt := range []struct {
		err    *model.Error
		reason event.Reason
	}{
		{&model.Error{Kind: model.ErrQuota, Status: 429, RetryAfter: time.Second}, event.ModelError},
		{&model.Error{Kind: model.ErrAuth, Status: 401}, event.ModelError},
		{&model.Error{Kind: model.ErrBadRequest, Status: 400}, event.ModelError},
		{&model.Error{Kind: model.ErrContextOverflow, Status: 400}, event.ModelError},
		{&model.Error{Kind: model.ErrProtocol}, event.ProtocolError},
	} {
		m := answers(tt.err, say("done"))
		tr := newTrial(t, m, nil, guard.ProfileDefault)
		end := tr.wantEnd(t, tt.reason)
		if len(m.asked) != 1 || len(tr.sink.only("guard")) != 0 || end.At != 0 {
			t.Errorf("%s: asked %d times, %v, at %s", tt.err.Kind, len(m.asked), tr.sink.only("guard"), end.At)
		}
		// The turn is closed all the same.
		wantLines(t, tr.sink.log[len(tr.sink.log)-3:], "attempt "+string(tt.err.Kind), "state", "end "+string(tt.reason))
	}
}

func TestTruncatedEmptyEnlargesOnlyItsTurn(t *testing.T) {
	m := answers(truncated(), calls("look"), truncated(), calls("look"), say("done"))
	tr := newTrial(t, m, []tool.Tool{ok("look", event.Read, "seen")}, guard.ProfileDefault)
	tr.Params.MaxTokens = 500
	end := tr.wantEnd(t, event.Completed)
	var sizes []int
	digests := map[model.Digest]bool{}
	for _, a := range m.asked {
		sizes = append(sizes, a.Params.MaxTokens)
		digests[a.ParamsDigest] = true
		if a.ParamsDigest != a.Params.Digest() {
			t.Error("the params digest is not that of the params")
		}
	}
	if !slices.Equal(sizes, []int{500, 1000, 500, 1000, 500}) || len(digests) != 2 {
		t.Errorf("asked with %v", sizes)
	}
	if end.Attempts != 5 || end.Usage.Output != 2*500+3*2 {
		t.Errorf("%+v: dropped answers are billed", end)
	}
	if got := len(tr.sink.only("response")); got != 3 {
		t.Errorf("%d answers stand", got)
	}
	// The dropped row is not in the conversation.
	if n := len(m.asked[1].Parts) - len(m.asked[0].Parts); n != 0 {
		t.Errorf("asking again added %d parts", n)
	}
	// The enlarged question is another question.
	if m.asked[1].Occurrence != 0 || m.asked[1].Attempt != 1 {
		t.Errorf("%+v", m.asked[1].Request)
	}
}

func TestTruncatedEmptyUnsetStaysUnset(t *testing.T) {
	m := answers(truncated(), say("done"))
	newTrial(t, m, nil, guard.ProfileDefault).wantEnd(t, event.Completed)
	if m.asked[1].Params.MaxTokens != 0 || m.asked[1].Occurrence != 1 {
		t.Errorf("%+v", m.asked[1].Request)
	}
}

func TestTruncatedEmptyModes(t *testing.T) {
	for _, tt := range []struct {
		changes []string
		reason  event.Reason
		asked   int
		fired   []string
	}{
		{nil, event.EmptyResponse, 4, []string{"guard truncated_empty enforce ask_again", "guard empty_response enforce correct",
			"guard truncated_empty enforce ask_again", "guard empty_response enforce stop"}},
		{[]string{"truncated_empty=shadow"}, event.EmptyResponse, 2, []string{"guard truncated_empty shadow ask_again", "guard empty_response enforce correct",
			"guard truncated_empty shadow ask_again", "guard empty_response enforce stop"}},
		{[]string{"truncated_empty=off"}, event.EmptyResponse, 2, []string{"guard empty_response enforce correct", "guard empty_response enforce stop"}},
		{[]string{"truncated_empty=off", "empty_response=off"}, event.Completed, 1, nil},
		{[]string{"truncated_empty=off", "empty_response=shadow"}, event.Completed, 1, []string{"guard empty_response shadow correct"}},
	} {
		m := answers(truncated())
		tr := newTrial(t, m, nil, guard.ProfileDefault, tt.changes...)
		tr.wantEnd(t, tt.reason)
		wantLines(t, tr.sink.only("guard"), tt.fired...)
		if len(m.asked) != tt.asked {
			t.Errorf("%v: asked %d times, want %d", tt.changes, len(m.asked), tt.asked)
		}
	}
}

func TestRunDeadlineCutsAHangingModelCall(t *testing.T) {
	for _, tt := range []struct {
		name     string
		hang     any
		changes  []string
		wall     time.Duration
		end      time.Duration
		backstop bool
	}{
		{"an answer that comes too late", with(say("late"), func(r *model.Response) { r.Elapsed = 24 * time.Hour }), []string{"run_deadline.total=1m"}, 0, time.Minute, false},
		{"an error that comes too late", &model.Error{Kind: model.ErrTransport, Elapsed: 24 * time.Hour}, []string{"run_deadline.total=1m"}, 0, time.Minute, false},
		{"the scenario's wall", with(say("late"), func(r *model.Response) { r.Elapsed = 24 * time.Hour }), []string{"run_deadline=off"}, 90 * time.Second, 90 * time.Second, true},
		{"the scenario's wall under a looser guard", with(say("late"), func(r *model.Response) { r.Elapsed = 24 * time.Hour }), []string{"run_deadline.total=1h"}, 90 * time.Second, 90 * time.Second, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := answers(calls("look"), tt.hang)
			tr := newTrial(t, m, []tool.Tool{ok("look", event.Read, "seen")}, guard.ProfileDefault, append(tt.changes, "final_synthesis=off")...)
			tr.Limits.Wall = tt.wall
			end := tr.wantEnd(t, event.Deadline)
			if end.At != tt.end || end.Backstop != tt.backstop || len(m.asked) != 2 || tr.clock.Now() != tt.end {
				t.Errorf("%+v, asked %d times", end, len(m.asked))
			}
			left := tt.end - time.Second - 10*time.Millisecond
			a := eventsOf[*event.Attempt](tr.sink)
			if len(a) != 1 || a[0].Err.Kind != model.ErrDeadline || a[0].Took != left || m.asked[1].Timeout != left {
				t.Errorf("%+v, timeout %s", a[0], m.asked[1].Timeout)
			}
		})
	}
	// A model that comes back just in time is not cut.
	m := answers(with(say("done"), func(r *model.Response) { r.Elapsed = time.Minute }))
	end := newTrial(t, m, nil, guard.ProfileDefault, "run_deadline.total=1m").wantEnd(t, event.Completed)
	if end.At != time.Minute {
		t.Errorf("%+v", end)
	}
	// In shadow it is recorded and nothing is cut.
	m = answers(with(calls("look"), func(r *model.Response) { r.Elapsed = time.Hour }), say("done"))
	tr := newTrial(t, m, []tool.Tool{ok("look", event.Read, "seen")}, guard.ProfileDefault, "run_deadline=shadow")
	tr.wantEnd(t, event.Completed)
	wantLines(t, tr.sink.only("guard"), "guard run_deadline shadow stop")
	if m.asked[0].Timeout != 0 {
		t.Errorf("a shadow deadline bounds the call to %s", m.asked[0].Timeout)
	}
}

func TestToolTimeouts(t *testing.T) {
	type result = tool.Result
	for _, tt := range []struct {
		name    string
		effect  event.Effect
		result  result
		mode    string
		outcome event.Outcome
		took    time.Duration
		text    string
		fires   bool
	}{
		{"read, in time", event.Read, result{Outcome: event.Success, Text: "done", Took: 120 * time.Second}, "enforce", event.Success, 120 * time.Second, "done", false},
		{"read, late", event.Read, result{Outcome: event.Success, Text: "done", Took: 121 * time.Second}, "enforce", event.Timeout, 120 * time.Second, "timed out after 2m0s: no result", true},
		{"read, late with an error", event.Read, result{Outcome: event.ToolError, Text: "no", Took: 24 * time.Hour}, "enforce", event.Timeout, 120 * time.Second, "timed out after 2m0s: no result", true},
		{"write, late", event.Write, result{Outcome: event.Success, Text: "done", Took: 121 * time.Second}, "enforce", event.UnknownOutcome, 120 * time.Second, "timed out after 2m0s: whether it took effect is unknown", true},
		{"external, late", event.External, result{Outcome: event.Success, Text: "done", Took: 121 * time.Second}, "enforce", event.UnknownOutcome, 120 * time.Second, "timed out after 2m0s: whether it took effect is unknown", true},
		{"read, late in shadow", event.Read, result{Outcome: event.Success, Text: "done", Took: 121 * time.Second}, "shadow", event.Success, 121 * time.Second, "done", true},
		{"write, late and off", event.Write, result{Outcome: event.Success, Text: "done", Took: 121 * time.Second}, "off", event.Success, 121 * time.Second, "done", false},
		{"read that gave up by itself", event.Read, result{Outcome: event.Timeout, Text: "upstream: 5s", Took: 5 * time.Second}, "enforce", event.Timeout, 5 * time.Second, "upstream: 5s", false},
		{"write that gave up by itself", event.Write, result{Outcome: event.Timeout, Text: "upstream: 5s", Took: 5 * time.Second}, "enforce", event.UnknownOutcome, 5 * time.Second, "upstream: 5s: whether it took effect is unknown", false},
		{"write that gave up by itself, no deadline", event.Write, result{Outcome: event.Timeout, Text: "upstream", Took: 5 * time.Second}, "off", event.UnknownOutcome, 5 * time.Second, "upstream: whether it took effect is unknown", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := newTool("act", tt.effect, func(context.Context, *tool.Op) result { return tt.result })
			m := answers(calls("act"), say("done"))
			tr := newTrial(t, m, []tool.Tool{run}, guard.ProfileDefault, "run_deadline=off", "tool_deadline="+tt.mode)
			tr.wantEnd(t, event.Completed)
			r := eventsOf[*event.ToolResult](tr.sink)[0]
			if r.Outcome != tt.outcome || r.Took != tt.took || r.Want != tt.result.Took || r.Raw != tt.text {
				t.Errorf("%s after %s of %s: %q", r.Outcome, r.Took, r.Want, r.Raw)
			}
			var fired []string
			if tt.fires {
				fired = []string{"guard tool_deadline " + tt.mode + " timeout"}
			}
			wantLines(t, tr.sink.only("guard"), fired...)
			if m.asked[1].last != tt.text {
				t.Errorf("the model sees %q", m.asked[1].last)
			}
		})
	}
}

func TestReissueOfAnUnknownOutcomeIsRefused(t *testing.T) {
	ran := map[string]int{}
	pay := newTool("pay", event.External, func(_ context.Context, op *tool.Op) tool.Result {
		ran[op.Args]++
		return tool.Result{Outcome: event.Success, Took: time.Hour}
	})
	m := answers(calls(`pay {"to":"a","n":1}`), calls(`pay {"n":1, "to":"a"}`, `pay {"n":2,"to":"a"}`, `pay {"n":2,"to":"a"}`, "look"), say("done"))
	tr := newTrial(t, m, []tool.Tool{pay, ok("look", event.Read, "seen")}, guard.ProfileDefault, "run_deadline=off")
	end := tr.wantEnd(t, event.Completed)
	wantLines(t, tr.sink.only("result"), "result 0 unknown_outcome", "result 0 permission_denied", "result 1 unknown_outcome",
		"result 2 permission_denied", "result 3 success")
	wantLines(t, tr.sink.only("ask"), "ask 0 pay", "ask 0 pay permission_denied", "ask 1 pay", "ask 2 pay", "ask 3 look")
	if len(ran) != 2 || ran[`{"n":1,"to":"a"}`] != 1 || ran[`{"n":2,"to":"a"}`] != 1 || end.Calls != 3 {
		t.Errorf("ran %v, %d calls", ran, end.Calls)
	}
	if r := eventsOf[*event.ToolResult](tr.sink)[1]; !strings.Contains(r.Raw, "outcome is unknown") {
		t.Errorf("%q", r.Raw)
	}
	// A read that was cut may be tried again.
	m = answers(calls("look"), calls("look"), say("done"))
	tr = newTrial(t, m, []tool.Tool{slow("look", event.Read, time.Hour)}, guard.ProfileDefault, "run_deadline=off")
	tr.wantEnd(t, event.Completed)
	wantLines(t, tr.sink.only("result"), "result 0 timeout", "result 0 timeout")
}

// The clock moves by what calls declare and by waits, and by nothing else; every
// event says when.
func TestClockMovesExactly(t *testing.T) {
	m := answers(
		with(calls("a", "b"), func(r *model.Response) { r.Elapsed = 1500 * time.Millisecond }),
		&model.Error{Kind: model.ErrRateLimit, Status: 429, RetryAfter: 7 * time.Second, Elapsed: 30 * time.Millisecond},
		with(truncated(), func(r *model.Response) { r.Elapsed = 4 * time.Second }),
		with(say("done"), func(r *model.Response) { r.Elapsed = 2 * time.Second }))
	tr := newTrial(t, m, []tool.Tool{slow("a", event.Read, 250*time.Millisecond), slow("b", event.Write, time.Hour)}, guard.ProfileDefault, "tool_deadline.per_call=3s")
	end := tr.wantEnd(t, event.Completed)
	var got []string
	last := time.Duration(0)
	for _, ev := range tr.sink.events {
		at := ev.Header().At
		if at < last {
			t.Errorf("%s at %s after %s", line(ev), at, last)
		}
		last = at
		switch ev.(type) {
		case *event.Request, *event.Response, *event.Attempt, *event.ToolResult:
			got = append(got, fmt.Sprint(line(ev), " ", at.Milliseconds()))
		}
	}
	wantLines(t, got, "request 0", "response 1500", "result 0 success 1750", "result 1 unknown_outcome 4750",
		"request 4750", "attempt rate_limit 4780", "request 11780", "attempt dropped 15780", "request 15780", "response 17780")
	if end.At != 17780*time.Millisecond {
		t.Errorf("ended at %s", end.At)
	}
}

func TestCallsAreNumberedATool(t *testing.T) {
	var got []string
	count := func(_ context.Context, op *tool.Op) tool.Result {
		got = append(got, fmt.Sprint(op.Name, op.Turn, op.Index, op.Nth))
		return tool.Result{Outcome: event.Success, Text: fmt.Sprint(len(got))}
	}
	m := answers(calls("a", "b", "a", "nope"), calls("a", `a {"x":`, "b"), say("done"))
	tr := newTrial(t, m, []tool.Tool{newTool("a", event.Read, count), newTool("b", event.Read, count)}, guard.ProfileDefault)
	tr.wantEnd(t, event.Completed)
	wantLines(t, got, "a1 0 0", "b1 1 0", "a1 2 1", "a2 0 2", "b2 2 1")
}

// Giving up is a firing only where the policy had something to give up.
func TestGiveUpIsAFiringOnlyAfterARetry(t *testing.T) {
	for _, tt := range []struct {
		name   string
		script []any
		change string
		fired  []string
	}{
		{"an error that does not pass after one that does", []any{unavailable(), &model.Error{Kind: model.ErrAuth, Status: 401}}, "retry.attempts=4",
			[]string{"guard retry enforce retry"}},
		{"one attempt is all there is", []any{unavailable()}, "retry.attempts=1", nil},
		{"two are", []any{unavailable()}, "retry.attempts=2", []string{"guard retry enforce retry", "guard retry enforce give_up"}},
	} {
		tr := newTrial(t, answers(tt.script...), nil, guard.ProfileDefault, tt.change)
		tr.wantEnd(t, event.ModelError)
		t.Log(tt.name)
		wantLines(t, tr.sink.only("guard"), tt.fired...)
	}
}

// One microsecond too late is too late.
func TestModelDeadlineIsExact(t *testing.T) {
	for extra, want := range map[time.Duration]event.Reason{0: event.Completed, time.Microsecond: event.Deadline} {
		m := answers(with(say("done"), func(r *model.Response) { r.Elapsed = time.Minute + extra }))
		newTrial(t, m, nil, guard.ProfileDefault, "run_deadline.total=1m").wantEnd(t, want)
	}
}

// A cost is known only when every call's is, whichever came last.
func TestCostIsKnownOnlyWhenAllIs(t *testing.T) {
	other := with(calls("look"), func(r *model.Response) { r.Model = "fake/unpriced" })
	tr := newTrial(t, answers(other, say("done")), []tool.Tool{ok("look", event.Read, "seen")}, guard.ProfileDefault)
	tr.Prices = map[string]loop.Prices{"fake/model": {InputUncached: 1, Output: 1}}
	if end := tr.wantEnd(t, event.Completed); end.Cost.Known || end.Cost.Pico != 12 {
		t.Errorf("%+v", end.Cost)
	}
}
