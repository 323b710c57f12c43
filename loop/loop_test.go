package loop_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
)

func TestStageOrderOfEvents(t *testing.T) {
	big := strings.Repeat("x", 30_000)
	m := answers(calls("look", "export", "nope"), say("half"), say("whole"))
	tr := newTrial(t, m, []tool.Tool{ok("look", event.Read, "1 match"), ok("export", event.Read, big)}, guard.ProfileDefault, "parallel_tools=off")
	checks := 0
	tr.deps.Check = func(context.Context, string) (string, error) {
		checks++
		return []string{"a.txt is missing", ""}[min(checks-1, 1)], nil
	}
	tr.deps.Spill = func(path, data string) error { return nil }
	end := tr.wantEnd(t, event.Completed)
	wantLines(t, tr.sink.log,
		"start", "part tool", "part tool", "part system", "part task",
		"before turn", "before model", "request", "response",
		"ask 0 look", "ask 1 export", "ask 2 nope unknown_or_disabled_tool",
		"before tool", "result 0 success",
		"before tool", "result 1 success", "guard spill enforce spill", "part rewrite",
		"result 2 unknown_or_disabled_tool", "guard unknown_tool enforce list", "part rewrite",
		"round", "state",
		"before turn", "before model", "request", "response", "candidate", "guard acceptance enforce send_back", "part feedback", "state",
		"before turn", "before model", "request", "response", "candidate", "state",
		"end completed")
	if end.Turns != 3 || end.Calls != 2 || end.Attempts != 3 || end.Answer != "whole" || end.Unchecked || end.Backstop {
		t.Errorf("%+v", end)
	}
	if end.Usage != (model.Usage{InputUncached: 30, Output: 6}) {
		t.Errorf("usage %+v", end.Usage)
	}
	for i, s := range eventsOf[*event.State](tr.sink) {
		if s.Version != i+1 || s.Turn != i+1 {
			t.Errorf("state %d: %+v", i, s)
		}
	}
	if !strings.Contains(m.asked[2].last, "a.txt is missing") {
		t.Errorf("the model was told %q", m.asked[2].last)
	}
}

// The model sees what the guards made of a result, the recording keeps both.
func TestTheModelSeesRewrites(t *testing.T) {
	big := strings.Repeat("0123456789", 3000)
	m := answers(calls("export", "exprt", "export"), say("done"))
	tr := newTrial(t, m, []tool.Tool{ok("export", event.Read, big)}, guard.ProfileDefault, "parallel_tools=off")
	var spilled []string
	tr.deps.Spill = func(path, data string) error {
		if len(spilled) > 0 {
			return errors.New("no space")
		}
		if data != big {
			t.Errorf("%d bytes spilled", len(data))
		}
		spilled = append(spilled, path)
		return nil
	}
	tr.wantEnd(t, event.Completed)
	var seen []string
	for _, p := range m.asked[1].Parts[len(m.asked[1].Parts)-3:] {
		seen = append(seen, p.Message.Items[0].Text)
	}
	if !strings.HasPrefix(seen[0], big[:4096]) || !strings.Contains(seen[0], "/workspace/"+spilled[0]) || len(seen[0]) > 5000 {
		t.Errorf("of a spilled result: %d bytes", len(seen[0]))
	}
	if !strings.Contains(seen[1], `did you mean "export"?`) {
		t.Errorf("of an unknown tool: %s", seen[1])
	}
	if !strings.HasPrefix(seen[2], big[:24<<10]) || !strings.Contains(seen[2], "[result cut") {
		t.Errorf("of a spill that failed: %d bytes", len(seen[2]))
	}
	results, parts := eventsOf[*event.ToolResult](tr.sink), eventsOf[*event.Part](tr.sink)
	for i, p := range parts[len(parts)-3:] {
		if p.Why != "rewrite" || p.Part.Message.Items[0].Text != seen[i] || p.Part.Message.CallID != results[i].Call.ID {
			t.Errorf("rewrite %d is recorded as %s", i, p.Part.JSON)
		}
	}
	if results[0].Raw != big || results[0].Shown != big || results[2].RawDigest != model.SumString(big) {
		t.Error("the raw result is not kept, or was rewritten before it was recorded")
	}
	if g := eventsOf[*event.Guard](tr.sink); g[len(g)-2].Failed != "no space" || g[len(g)-1].Act != "cut" {
		t.Errorf("%+v", g)
	}
}

// Without a place to spill to the ceiling cuts.
func TestNoPlaceToSpillTo(t *testing.T) {
	m := answers(calls("export"), say("done"))
	tr := newTrial(t, m, []tool.Tool{ok("export", event.Read, strings.Repeat("x", 30_000))}, guard.ProfileDefault)
	tr.wantEnd(t, event.Completed)
	wantLines(t, tr.sink.only("guard"), "guard spill enforce spill", "guard result_ceiling enforce cut")
}

func TestEveryRequestGetsOneResultInItsSlot(t *testing.T) {
	m := answers(calls("nope", "look", `look {"x":`, "nope2 []", "look"), say("done"))
	tr := newTrial(t, m, []tool.Tool{ok("look", event.Read, "seen")}, guard.ProfileDefault)
	end := tr.wantEnd(t, event.Completed)
	wantLines(t, tr.sink.only("result"), "result 0 unknown_or_disabled_tool", "result 1 success", "result 2 validation_failed",
		"result 3 unknown_or_disabled_tool", "result 4 success")
	if end.Calls != 2 {
		t.Errorf("%d calls were run", end.Calls)
	}
	checkChat(t, m.asked[1].Parts)
}

// Ids are the loop's own: what the model made up, left out or repeated does not
// matter, and so two sessions have the same ids.
func TestModelIDsAreOverwritten(t *testing.T) {
	var seen []string
	for _, forged := range []string{"same", "", "call_000000000000"} {
		r := with(calls("look", "look", "look"), func(r *model.Response) {
			for i := range r.Items {
				r.Items[i].Call.ID = forged
			}
		})
		m := answers(r, r, say("done"))
		tr := newTrial(t, m, []tool.Tool{ok("look", event.Read, "seen")}, guard.ProfileDefault)
		tr.wantEnd(t, event.Completed)
		var ids []string
		unique := map[string]bool{}
		for _, q := range eventsOf[*event.ToolRequest](tr.sink) {
			ids = append(ids, q.Call.ID)
			unique[q.Call.ID] = true
		}
		if len(unique) != 6 || unique[forged] {
			t.Errorf("forged %q: ids %v", forged, ids)
		}
		if seen != nil && strings.Join(ids, " ") != strings.Join(seen, " ") {
			t.Errorf("forged %q: other ids: %v, %v", forged, ids, seen)
		}
		seen = ids
		if r.Items[0].Call.ID != forged {
			t.Error("the model's response was changed")
		}
		checkChat(t, m.asked[2].Parts)
	}
}

func TestItemsCountNotTheStopSignal(t *testing.T) {
	for _, tt := range []struct {
		finish model.Finish
		r      *model.Response
		want   int // anomalies
		runs   int
	}{
		{model.FinishCalls, calls("look"), 0, 1},
		{model.FinishStop, calls("look"), 1, 1},
		{model.FinishLength, calls("look"), 1, 1},
		{"", calls("look"), 1, 1},
		{model.FinishStop, say("done"), 0, 0},
		{model.FinishCalls, say("done"), 1, 0},
		{"content_filter", say("done"), 0, 0},
	} {
		first := with(tt.r, func(r *model.Response) { r.Finish = tt.finish })
		tr := newTrial(t, answers(first, say("done")), []tool.Tool{ok("look", event.Read, "seen")}, guard.ProfileDefault)
		tr.wantEnd(t, event.Completed)
		if got := len(tr.sink.only("anomaly")); got != tt.want {
			t.Errorf("%q: %d anomalies, want %d", tt.finish, got, tt.want)
		}
		if got := len(tr.sink.only("result")); got != tt.runs {
			t.Errorf("%q: %d results, want %d", tt.finish, got, tt.runs)
		}
	}
}

func TestLimitsStopInMidBatch(t *testing.T) {
	for _, tt := range []struct {
		calls    int64
		results  string
		reason   event.Reason
		answered int
	}{
		{1, "success cancelled cancelled", event.ToolCallLimit, 1},
		{2, "success success cancelled", event.ToolCallLimit, 2},
		{3, "success success success", event.ToolCallLimit, 3}, // due at the next turn's start
		{4, "success success success", event.Completed, 3},
	} {
		m := answers(calls("look", "look", "look"), say("done"))
		tr := newTrial(t, m, []tool.Tool{ok("look", event.Read, "seen")}, guard.ProfileDefault)
		tr.Limits.Calls = tt.calls
		end := tr.wantEnd(t, tt.reason)
		var got []string
		for _, r := range eventsOf[*event.ToolResult](tr.sink) {
			got = append(got, string(r.Outcome))
		}
		if strings.Join(got, " ") != tt.results || end.Calls != tt.answered {
			t.Errorf("%d calls: %v, %d run", tt.calls, got, end.Calls)
		}
	}
}

func TestDeadlineStopsInMidBatch(t *testing.T) {
	m := answers(calls("slow", "slow", "slow", "slow"), say("done"))
	tr := newTrial(t, m, []tool.Tool{slow("slow", event.Read, 20*time.Second)}, guard.ProfileDefault, "run_deadline.total=50s", "final_synthesis=off", "parallel_tools=off")
	end := tr.wantEnd(t, event.Deadline)
	// 1 s for the model, 20 + 20, then 9 s of the third, which is cut.
	wantLines(t, tr.sink.only("result"), "result 0 success", "result 1 success", "result 2 timeout", "result 3 cancelled")
	if end.At != 50*time.Second || end.Calls != 3 || end.Backstop {
		t.Errorf("%+v", end)
	}
	if got := tr.sink.only("guard"); len(got) != 1 || got[0] != "guard run_deadline enforce stop" {
		t.Errorf("fired %v: the tool's own deadline did not cut it", got)
	}
}

func TestCancelInMidBatch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := answers(calls("look", "pull", "look", "nope"), say("done"))
	pull := newTool("pull", event.Write, func(context.Context, *tool.Op) tool.Result {
		cancel()
		return tool.Result{Outcome: event.Success, Text: "pulled"}
	})
	tr := newTrial(t, m, []tool.Tool{ok("look", event.Read, "seen"), pull}, guard.ProfileDefault)
	tr.ctx = ctx
	tr.wantEnd(t, event.CancelledRun)
	wantLines(t, tr.sink.only("result"), "result 0 success", "result 1 success", "result 2 cancelled", "result 3 cancelled")
	if len(m.asked) != 1 {
		t.Errorf("the model was asked %d times", len(m.asked))
	}
}

// A dropped answer is asked again, but not after a cancellation.
func TestCancelledBetweenAttempts(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := &scripted{answer: func(int, context.Context, *model.Request) (*model.Response, error) {
		cancel()
		return truncated(), nil
	}}
	tr := newTrial(t, m, nil, guard.ProfileDefault)
	tr.ctx = ctx
	tr.wantEnd(t, event.CancelledRun)
	wantLines(t, tr.sink.log[3:], "before turn", "before model", "request", "attempt dropped", "guard truncated_empty enforce ask_again", "state", "end cancelled")
}

// A budget that runs out in mid-turn stops before the next attempt.
func TestBudgetBetweenAttempts(t *testing.T) {
	m := answers(truncated(), say("done"))
	tr := newTrial(t, m, nil, guard.ProfileDefault, "limits.tokens=500")
	end := tr.wantEnd(t, event.TokenBudget)
	if len(m.asked) != 1 || end.Turns != 1 || end.Attempts != 1 || end.Answer != "" {
		t.Errorf("%+v", end)
	}
}

func TestCancelledPrecedesEveryStop(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := answers(calls("look"))
	n := 0
	look := newTool("look", event.Read, func(context.Context, *tool.Op) tool.Result {
		if n++; n == 6 {
			cancel() // in the very turn in which stuck stops
		}
		return tool.Result{Outcome: event.Success, Text: "seen"}
	})
	tr := newTrial(t, m, []tool.Tool{look}, guard.ProfileDefault)
	tr.ctx = ctx
	end := tr.wantEnd(t, event.CancelledRun)
	if got := tr.sink.only("guard stuck enforce stop"); len(got) != 1 || end.Turns != 6 {
		t.Errorf("%v, %d turns", got, end.Turns)
	}

	ctx, cancel = context.WithCancel(t.Context())
	tr = newTrial(t, answers(say("done")), nil, guard.ProfileDefault)
	tr.ctx = ctx
	tr.deps.Check = func(context.Context, string) (string, error) { cancel(); return "", nil }
	tr.wantEnd(t, event.CancelledRun)
}

func TestCancelledBeforeAndDuringAModelCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := answers(say("done"))
	tr := newTrial(t, m, nil, guard.ProfileDefault)
	tr.ctx = ctx
	if end := tr.wantEnd(t, event.CancelledRun); len(m.asked) != 0 || end.Turns != 0 {
		t.Errorf("cancelled before it began: asked %d times, %d turns", len(m.asked), end.Turns)
	}
	for _, give := range []error{nil, &model.Error{Kind: model.ErrTransport, Message: "connection closed"}, &model.Error{Kind: model.ErrCancelled}} {
		ctx, cancel := context.WithCancel(t.Context())
		m := &scripted{answer: func(_ int, ctx context.Context, _ *model.Request) (*model.Response, error) {
			cancel()
			if give != nil {
				return nil, give
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		tr := newTrial(t, m, nil, guard.ProfileDefault)
		tr.ctx = ctx
		tr.wantEnd(t, event.CancelledRun)
		if len(m.asked) != 1 {
			t.Errorf("%v: asked %d times", give, len(m.asked))
		}
	}
}

func TestSinkErrorsEndTheLoop(t *testing.T) {
	build := func() *trial {
		m := answers(calls("look", "look"), &model.Error{Kind: model.ErrServer, Status: 503}, say("not yet"), say("done"))
		tr := newTrial(t, m, []tool.Tool{ok("look", event.Read, strings.Repeat("x", 30_000))}, guard.ProfileDefault)
		n := 0
		tr.deps.Check = func(context.Context, string) (string, error) { n++; return []string{"no", ""}[min(n-1, 1)], nil }
		return tr
	}
	whole := build()
	whole.wantEnd(t, event.Completed)
	boom := errors.New("disk full")
	for i := range whole.sink.log {
		tr := build()
		tr.sink.err, tr.sink.fail = boom, i
		end, err := tr.start(t).Run(tr.ctx)
		if !errors.Is(err, boom) {
			t.Errorf("event %d (%s): %v", i, whole.sink.log[i], err)
		}
		if end.Reason != event.InternalError || end.Evidence == "" {
			t.Errorf("event %d (%s): the end says %s", i, whole.sink.log[i], end.Reason)
		}
		if len(tr.sink.log) != i+1 {
			t.Errorf("event %d (%s): %d more emissions after the error", i, whole.sink.log[i], len(tr.sink.log)-i-1)
		}
	}
}

// A driver that fails (a recording that has no answer, say) is no model error.
func TestDriverErrorsComeBack(t *testing.T) {
	boom := errors.New("the recording has no such request")
	tr := newTrial(t, answers(say("x"), boom), nil, guard.ProfileDefault)
	tr.deps.Check = func(context.Context, string) (string, error) { return "not yet", nil }
	end, err := tr.start(t).Run(tr.ctx)
	if !errors.Is(err, boom) || !strings.Contains(err.Error(), "turn 2") || end.Reason == event.Completed {
		t.Errorf("%v, %+v", err, end)
	}
	if len(tr.sink.only("end")) != 0 {
		t.Error("an end was recorded")
	}
}

// Whatever a model returns, the loop does not panic.
func TestNoAnswerAndNoError(t *testing.T) {
	for _, bad := range []func() (*model.Response, error){
		func() (*model.Response, error) { return nil, nil },
		func() (*model.Response, error) { var e *model.Error; return nil, e },
	} {
		m := &scripted{answer: func(int, context.Context, *model.Request) (*model.Response, error) { return bad() }}
		newTrial(t, m, nil, guard.ProfileDefault).wantEnd(t, event.ProtocolError)
	}
	newTrial(t, answers(&model.Response{}), nil, guard.ProfileNone).wantEnd(t, event.Completed)
}

// What is hashed must be what a recording can hold.
func TestTextsOfAModelBecomeUTF8(t *testing.T) {
	m := answers(calls("l\xffk", "look {\"a\":\"\xff\"}"), say("d\xffne"))
	tr := newTrial(t, m, []tool.Tool{ok("look", event.Read, "s\xffen")}, guard.ProfileDefault)
	if end := tr.wantEnd(t, event.Completed); end.Answer != "d\uFFFDne" {
		t.Errorf("%q", end.Answer)
	}
	for _, q := range eventsOf[*event.ToolRequest](tr.sink) {
		if strings.Contains(q.Call.Name+q.Call.Args+q.Args, "\xff") {
			t.Errorf("%q %q", q.Call.Name, q.Call.Args)
		}
	}
	for _, r := range eventsOf[*event.ToolResult](tr.sink) {
		if strings.Contains(r.Raw, "\xff") {
			t.Errorf("%q", r.Raw)
		}
	}
}

func TestNewRefusesWhatIsMissing(t *testing.T) {
	tr := newTrial(t, answers(say("x")), nil, guard.ProfileDefault)
	cfg, err := loop.Freeze(tr.Settings)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := loop.New(loop.Config{}, tr.deps); err == nil {
		t.Error("an unfrozen configuration is taken")
	}
	for i, spoil := range []func(*loop.Deps){
		func(d *loop.Deps) { d.Model = nil }, func(d *loop.Deps) { d.Tools = nil }, func(d *loop.Deps) { d.Run = nil },
		func(d *loop.Deps) { d.Clock = nil }, func(d *loop.Deps) { d.Sink = nil },
	} {
		deps := tr.deps
		spoil(&deps)
		if _, err := loop.New(cfg, deps); err == nil {
			t.Errorf("case %d is taken", i)
		}
	}
}
