package loop_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
)

// randomTrial makes a trial with a hostile model, odd tools and random settings,
// all drawn from seed.
func randomTrial(t testing.TB, seed uint64) *trial {
	rnd := rand.New(rand.NewPCG(seed, 1))
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	draw := rand.New(rand.NewPCG(seed, 2))
	looping := rnd.IntN(8) == 0 // asks for the same thing for ever
	m := &scripted{answer: func(_ int, _ context.Context, _ *model.Request) (*model.Response, error) {
		if draw.IntN(150) == 0 {
			cancel()
		}
		if looping {
			return calls("look", "act {}"), nil
		}
		return randomAnswer(draw)
	}}
	toolDraw := rand.New(rand.NewPCG(seed, 3))
	run := func(context.Context, *tool.Op) tool.Result {
		if toolDraw.IntN(300) == 0 {
			cancel()
		}
		if looping {
			return tool.Result{Outcome: event.Success, Text: "seen"}
		}
		return randomResult(toolDraw)
	}
	tools := []tool.Tool{newTool("look", event.Read, run), newTool("act", event.Write, run), newTool("pay", event.External, run)}
	tr := newTrial(t, m, tools, guard.Profiles()[rnd.IntN(3)])
	tr.ctx, tr.Seed = ctx, seed
	modes := []guard.Mode{guard.Off, guard.Shadow, guard.Enforce, guard.Enforce}
	for _, name := range guard.Names() {
		tr.Guards, _ = tr.Guards.With(name, modes[rnd.IntN(4)])
	}
	for _, c := range []string{"spill.over=256", "result_ceiling.bytes=300", "stuck.nudge=2", "retry.attempts=2", "acceptance.retries=1",
		"run_deadline.total=5m", "limits.turns=9", "limits.calls=7", "truncated_empty.retries=3"} {
		if key, val, _ := strings.Cut(c, "="); rnd.IntN(2) == 0 {
			name, param, _ := strings.Cut(key, ".")
			tr.Guards, _ = tr.Guards.WithParam(name, param, val)
		}
	}
	tr.Limits = guard.Backstop{Turns: int64(1 + rnd.IntN(40)), Calls: int64(rnd.IntN(60)), Tokens: int64(rnd.IntN(3) * 150), Wall: time.Duration(rnd.IntN(3)) * 10 * time.Minute}
	tr.Params.MaxTokens = rnd.IntN(2) * 100
	if rnd.IntN(2) == 0 {
		tr.Models = append(tr.Models, "fake/second", "fake/model", "fake/third") // a cycle in it
	}
	if rnd.IntN(2) == 0 {
		check := rand.New(rand.NewPCG(seed, 4))
		tr.deps.Check = func(context.Context, string) (string, error) {
			return []string{"", "a is missing", "b is missing"}[check.IntN(3)], nil
		}
	}
	if rnd.IntN(2) == 0 {
		spill := rand.New(rand.NewPCG(seed, 5))
		tr.deps.Spill = func(string, string) error {
			if spill.IntN(4) == 0 {
				return errors.New("no space")
			}
			return nil
		}
	}
	tr.Window = []int{0, 100, 200, 400}[rnd.IntN(4)]
	if rnd.IntN(2) == 0 {
		tr.Guards, _ = tr.Guards.WithParam("compaction", "keep", fmt.Sprint(rnd.IntN(3)))
	}
	return tr
}

func randomAnswer(rnd *rand.Rand) (*model.Response, error) {
	if rnd.IntN(8) == 0 {
		kinds := []model.ErrorKind{model.ErrTransport, model.ErrServer, model.ErrRateLimit, model.ErrTimeout, model.ErrBrokenStream}
		if rnd.IntN(15) == 0 {
			kinds = []model.ErrorKind{model.ErrQuota, model.ErrAuth, model.ErrProtocol, model.ErrContextOverflow, model.ErrDeadline, model.ErrCancelled}
		}
		return nil, &model.Error{Kind: kinds[rnd.IntN(len(kinds))], Status: []int{0, 429, 503}[rnd.IntN(3)], RetryAfter: time.Duration(rnd.IntN(3)) * time.Second,
			Elapsed: time.Duration(rnd.IntN(2000)) * time.Millisecond, Usage: model.Usage{InputUncached: int64(rnd.IntN(10))}}
	}
	r := &model.Response{Finish: []model.Finish{model.FinishStop, model.FinishCalls, model.FinishLength, ""}[rnd.IntN(4)],
		Usage: model.Usage{InputUncached: 20, Output: 5}, Elapsed: time.Duration(rnd.IntN(5000)) * time.Millisecond}
	if rnd.IntN(50) == 0 {
		r.Elapsed = time.Hour
	}
	if rnd.IntN(20) == 0 {
		r.Cache, r.CacheFailed = []model.CacheUse{model.CacheHit, model.CacheKnown, model.CacheUnused}[rnd.IntN(3)], "gone"
	}
	n := rnd.IntN(5)
	if rnd.IntN(3) > 0 { // most answers do something, or a loop would soon end
		n = max(n, 1)
	}
	for range n {
		it := model.Item{Type: model.CallItem}
		switch rnd.IntN(8) {
		case 0:
			it = model.Item{Type: model.Text, Text: []string{"", " ", "done", "b\xff"}[rnd.IntN(4)]}
		case 1:
			it = model.Item{Type: []model.ItemType{model.Reasoning, model.Plan, model.Question, model.ProviderCall}[rnd.IntN(4)], Text: "hm", Evidence: "{}"}
		default:
			it.Call = model.ToolCall{ID: []string{"", "x", "call_1"}[rnd.IntN(3)], Name: []string{"look", "act", "pay", "lok", "", "rm\x00"}[rnd.IntN(6)],
				Args: []string{"{}", "", `{"a":1}`, `{"b":2,"a":1}`, `{"a":1,"a":2}`, `{"x":`, "[]", "nul\xff",
					"```json\n{\"a\":1,}\n```", `{'a': None`}[rnd.IntN(10)]}
		}
		r.Items = append(r.Items, it)
	}
	return r, nil
}

func randomResult(rnd *rand.Rand) tool.Result {
	outcomes := []event.Outcome{event.Success, event.Success, event.ToolError, event.Timeout, event.UnknownOutcome, event.Cancelled}
	r := tool.Result{Outcome: outcomes[rnd.IntN(len(outcomes))], Took: time.Duration(rnd.IntN(3000)) * time.Millisecond,
		Text: []string{"", "seen", strings.Repeat("\u00e9", 200), `{"a":"` + strings.Repeat("x", 400) + `"}`, "b\xff"}[rnd.IntN(5)]}
	if rnd.IntN(20) == 0 {
		r.Took = time.Hour
	}
	return r
}

// Over random models, tools and settings: every question is a conversation that
// a chat API takes, also the one that stands when the session ends; every request
// has exactly one result; events are nested as the stages are; the end says why.
func TestTranscriptsAreAlwaysValid(t *testing.T) {
	reasons, turns, asked := map[event.Reason]int{}, 0, map[model.Purpose]int{}
	for seed := range uint64(800) {
		tr := randomTrial(t, seed)
		whole, purpose := model.NewTranscript(), model.Purpose("")
		var pending []*model.Part
		open := map[string]bool{}
		tr.sink.hook = func(ev event.Event) {
			switch ev := ev.(type) {
			case *event.Part:
				if ev.Why != "rewrite" {
					pending = append(pending, ev.Part)
				}
			case *event.Request:
				checkChat(t, ev.Req.Parts)
				if !ev.Implied {
					whole.Rewrite(ev.Keep, ev.Add)
					pending = nil
				}
				for _, p := range pending {
					whole.Append(p)
				}
				pending, purpose = nil, ev.Req.Purpose
				asked[purpose]++
				parts, chains := whole.View()
				if ev.Req.Chain() != chains[len(chains)-1] && len(tr.sink.only("part rewrite")) == 0 {
					t.Fatalf("seed %d: a request of %d parts is not what the events say (%d parts)", seed, len(ev.Req.Parts), len(parts))
				}
			case *event.Response:
				pending = append(pending, ev.Part)
			case *event.ToolRequest:
				if open[ev.Call.ID] {
					t.Fatalf("seed %d: request %s twice", seed, ev.Call.ID)
				}
				open[ev.Call.ID] = true
			case *event.ToolResult:
				if !open[ev.Call.ID] {
					t.Fatalf("seed %d: result %s without a request, or twice", seed, ev.Call.ID)
				}
				delete(open, ev.Call.ID)
				pending = append(pending, model.NewResultPart(ev.Call.ID, ev.Raw))
			case *event.State:
				if len(open) > 0 {
					t.Fatalf("seed %d: the turn ends with %d requests open", seed, len(open))
				}
			}
		}
		end := tr.run(t)
		if purpose == "" {
			for _, p := range pending {
				whole.Append(p)
			}
		}
		parts, _ := whole.View()
		checkChat(t, parts)
		reasons[end.Reason]++
		turns += end.Turns
		checkEnd(t, seed, tr, end)
	}
	for _, r := range []event.Reason{event.Completed, event.Unverified, event.Stuck, event.TurnLimit, event.ToolCallLimit, event.TokenBudget,
		event.Deadline, event.CancelledRun, event.EmptyResponse, event.ModelError, event.ProtocolError} {
		if reasons[r] == 0 {
			t.Errorf("no session ended %s, so that end was not tried: %v", r, reasons)
		}
	}
	if asked[model.ForSummary] < 10 {
		t.Errorf("summaries were hardly asked for: %v", asked)
	}
	t.Logf("%d turns, ends %v, asked %v", turns, reasons, asked)
}

func checkEnd(t *testing.T, seed uint64, tr *trial, end *event.End) {
	t.Helper()
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("seed %d: %s\n%+v\n%s", seed, fmt.Sprintf(format, args...), end, strings.Join(tr.sink.log, "\n"))
	}
	lastCall := time.Duration(0) // the reserved call may pass the deadline
	if len(tr.sink.only("guard final_synthesis enforce ask")) > 0 {
		lastCall = time.Minute
	}
	ran := 0
	for _, r := range eventsOf[*event.ToolResult](tr.sink) {
		if r.Raw != "not run: the session is ending" && r.Outcome != event.PermissionDenied && r.Outcome != event.UnknownTool && r.Outcome != event.ValidationFailed {
			ran++
		}
		if r.Took > r.Want || r.Deadline > 0 && r.Took > r.Deadline {
			fail("a call took %s of %s under %s", r.Took, r.Want, r.Deadline)
		}
		if r.Outcome == event.Timeout && r.Effect != event.Read {
			fail("a timeout of a tool that is not read-only is no unknown outcome")
		}
	}
	switch {
	case end.Reason != event.Completed && end.Evidence == "":
		fail("no evidence")
	case end.Calls != ran:
		fail("%d calls were run", ran)
	case end.Attempts != len(tr.model.asked):
		fail("the model was asked %d times", len(tr.model.asked))
	case tr.Limits.Turns > 0 && int64(end.Turns) > tr.Limits.Turns:
		fail("more turns than the scenario allows")
	case tr.Limits.Calls > 0 && int64(end.Calls) > tr.Limits.Calls:
		fail("more calls than the scenario allows")
	case tr.Limits.Wall > 0 && tr.sink.only("attempt") == nil && end.At > tr.Limits.Wall+lastCall: // a wait may end later
		fail("more time than the scenario allows")
	case len(tr.sink.only("state")) != end.Turns:
		fail("%d turns were closed", len(tr.sink.only("state")))
	case len(tr.sink.only("end")) != 1:
		fail("%d ends", len(tr.sink.only("end")))
	}
}
