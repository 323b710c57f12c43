package loop_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
)

// reader is a model that calls read with another number in each of n turns and
// then says done. What it is asked in between, summary answers.
func reader(n int, summary func(req *model.Request) (*model.Response, error)) *scripted {
	turns := 0
	return &scripted{answer: func(_ int, _ context.Context, req *model.Request) (*model.Response, error) {
		if req.Purpose == model.ForSummary {
			return summary(req)
		}
		if turns++; turns > n {
			return unbilled(say("done")), nil
		}
		return unbilled(calls(fmt.Sprintf(`read {"n":%d}`, turns))), nil
	}}
}

// unbilled is an answer of a provider that does not tell the usage, so that the
// estimate stays four bytes a token.
func unbilled(r *model.Response) *model.Response {
	return with(r, func(r *model.Response) { r.Usage = model.Usage{Unknown: true} })
}

// pages are results of so many bytes, each of which begins with its number.
func pages(size int) tool.Tool {
	return newTool("read", event.Read, func(_ context.Context, op *tool.Op) tool.Result {
		return tool.Result{Outcome: event.Success, Text: fmt.Sprintf("page %d %s", op.Nth, strings.Repeat("x", size)), Took: time.Millisecond}
	})
}

func firedBy(s *sink, name string) (out []*event.Guard) {
	for _, g := range eventsOf[*event.Guard](s) {
		if g.Name == name {
			out = append(out, g)
		}
	}
	return out
}

func conversation(req *model.Request) string {
	var b strings.Builder
	for _, p := range req.Parts {
		if p.Message != nil {
			b.WriteString(string(p.Role) + ": " + model.TextOf(p.Message.Items) + "\n")
		}
	}
	return b.String()
}

func TestCompactionAsksForASummary(t *testing.T) {
	var question string
	m := reader(12, func(req *model.Request) (*model.Response, error) {
		question = conversation(req)
		return with(say("Pages 0 to 5 say nothing."), func(r *model.Response) { r.Usage = model.Usage{InputUncached: 900, Output: 30} }), nil
	})
	tr := newTrial(t, m, []tool.Tool{pages(800)}, guard.ProfileNone, "compaction=enforce")
	tr.Window = 3000
	end := tr.wantEnd(t, event.Completed)
	fired := firedBy(tr.sink, "compaction")
	if len(fired) != 1 || fired[0].Act != "compact" || fired[0].Mode != "enforce" {
		t.Fatalf("%+v", fired)
	}
	var before, after int64
	if _, err := fmt.Sscanf(fired[0].Evidence, "%d to %d tokens of 3000, target 1650", &before, &after); err != nil || before <= 2250 || after > 1650 || !strings.Contains(fired[0].Evidence, "rounds summarised") {
		t.Errorf("%v: %s", err, fired[0].Evidence)
	}
	if !strings.Contains(question, "page 0 ") || strings.Contains(question, fmt.Sprintf("page %d ", fired[0].Turn-2)) || !strings.Contains(question, "Write a summary") {
		t.Errorf("the question for a summary:\n%s", question)
	}
	if end.Attempts != 14 || end.Usage.InputUncached != 900 || !end.Usage.Unknown {
		t.Errorf("a summary is a model call and billed: %+v", end)
	}
	last := &m.asked[len(m.asked)-1].Request
	if c := conversation(last); !strings.Contains(c, "Pages 0 to 5 say nothing.") || strings.Contains(c, "page 0 ") || !strings.HasPrefix(c, "system: Be brief.\nuser: Do it.\n") {
		t.Errorf("the conversation afterwards:\n%s", c)
	}
	for i := range m.asked {
		checkChat(t, m.asked[i].Parts)
	}
}

// A summariser that fails leaves the conversation to be trimmed, and the record
// says so: an outcome never changes in silence.
func TestFailingSummariserIsSaid(t *testing.T) {
	for name, tt := range map[string]struct {
		answer *model.Response
		err    error
		said   string
	}{
		"error":    {err: unavailable(), said: "no summary: server (503)"},
		"deadline": {answer: with(say("late"), func(r *model.Response) { r.Elapsed = 100 * time.Hour }), said: ""},
		"blank":    {answer: say(" \n"), said: "no summary: it is blank"},
		"cut":      {answer: with(say("half a"), func(r *model.Response) { r.Finish = model.FinishLength }), said: "no summary: it was cut"},
		"call":     {answer: calls("read {}"), said: "no summary: it calls a tool"},
		"too long": {answer: say(strings.Repeat("long ", 2000)), said: "no summary: it is too long: 101"},
	} {
		t.Run(name, func(t *testing.T) {
			m := reader(12, func(*model.Request) (*model.Response, error) { return tt.answer, tt.err })
			tr := newTrial(t, m, []tool.Tool{pages(800)}, guard.ProfileNone, "compaction=enforce", "run_deadline=enforce")
			tr.Window = 3000
			end := tr.run(t)
			if name == "deadline" { // it took the session's time with it
				if end.Reason != event.Deadline {
					t.Errorf("%+v", end)
				}
				return
			}
			fired := firedBy(tr.sink, "compaction")
			if end.Reason != event.Completed || len(fired) == 0 || !strings.Contains(fired[0].Evidence, tt.said) || !strings.Contains(fired[0].Evidence, "rounds removed") {
				t.Fatalf("%+v %+v", end, fired)
			}
			if len(tr.sink.only("attempt")) != len(fired) {
				t.Errorf("%v for %d firings", tr.sink.only("attempt"), len(fired))
			}
			if c := conversation(&m.asked[len(m.asked)-1].Request); !strings.Contains(c, "were removed to fit") || strings.Contains(c, "page 0 ") {
				t.Errorf("afterwards:\n%s", c)
			}
		})
	}
}

// What another error than a model's does to a summary ends the run as it does
// anywhere else.
func TestSummaryKeepsToTheRules(t *testing.T) {
	broken := errors.New("the driver broke")
	m := reader(12, func(*model.Request) (*model.Response, error) { return nil, broken })
	tr := newTrial(t, m, []tool.Tool{pages(800)}, guard.ProfileNone, "compaction=enforce")
	tr.Window = 3000
	if _, err := tr.start(t).Run(tr.ctx); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	// Budgets hold for it: here the tokens of the turns before are used up.
	m = reader(12, func(*model.Request) (*model.Response, error) { return say("short"), nil })
	tr = newTrial(t, m, []tool.Tool{pages(800)}, guard.ProfileNone, "compaction=enforce")
	tr.Window = 3000
	ctx, cancel := context.WithCancel(t.Context())
	tr.ctx = ctx
	m.answer = func(n int, _ context.Context, req *model.Request) (*model.Response, error) {
		if req.Purpose == model.ForSummary {
			cancel()
			return nil, ctx.Err()
		}
		return unbilled(calls(fmt.Sprintf(`read {"n":%d}`, n))), nil
	}
	tr.wantEnd(t, event.CancelledRun)
	if fired := firedBy(tr.sink, "compaction"); len(fired) != 1 || fired[0].Act != "none" || !strings.Contains(fired[0].Evidence, "the session ends before its summary") {
		t.Errorf("%+v", fired)
	}
}

// In shadow the conversation stays what it is; the firings are those of the
// account as if it had acted, so they do not come every turn.
func TestCompactionInShadow(t *testing.T) {
	run := func(mode string) (*trial, *event.End) {
		m := reader(30, func(*model.Request) (*model.Response, error) { return unbilled(say("They say nothing.")), nil })
		tr := newTrial(t, m, []tool.Tool{pages(800)}, guard.ProfileNone, "compaction="+mode)
		tr.Window = 3000
		return tr, tr.run(t)
	}
	shadow, end := run("shadow")
	off, _ := run("off")
	enforced, _ := run("enforce")
	s, e := firedBy(shadow.sink, "compaction"), firedBy(enforced.sink, "compaction")
	if len(s) < 2 || len(s) > len(e)+1 || s[0].Turn != e[0].Turn || s[0].Mode != "shadow" || len(firedBy(off.sink, "compaction")) != 0 {
		t.Errorf("%d firings in shadow from turn %d, %d enforced from turn %d", len(s), s[0].Turn, len(e), e[0].Turn)
	}
	if len(shadow.model.asked) != len(off.model.asked) || end.Attempts != 31 {
		t.Fatalf("%d requests in shadow, %d off", len(shadow.model.asked), len(off.model.asked))
	}
	for i := range off.model.asked {
		if shadow.model.asked[i].Chain() != off.model.asked[i].Chain() {
			t.Fatalf("request %d differs", i)
		}
	}
}

// Without a window there is nothing to fill.
func TestCompactionIsIdleWithoutAWindow(t *testing.T) {
	m := reader(30, nil)
	tr := newTrial(t, m, []tool.Tool{pages(8000)}, guard.ProfileFull, "monotony=off")
	tr.wantEnd(t, event.Completed)
	if fired := firedBy(tr.sink, "compaction"); len(fired) != 0 {
		t.Errorf("%+v", fired)
	}
}

// What the provider reports corrects the estimate: here a token has two bytes.
func TestEstimateIsCalibrated(t *testing.T) {
	turn := func(bytesPerToken int) int {
		n := 0
		m := &scripted{}
		m.answer = func(_ int, _ context.Context, req *model.Request) (*model.Response, error) {
			size := 0
			for _, p := range req.Parts {
				size += p.Size
			}
			if n++; n > 20 {
				return say("done"), nil
			}
			return with(calls(fmt.Sprintf(`read {"n":%d}`, n)), func(r *model.Response) { r.Usage.InputUncached = int64(size / bytesPerToken) }), nil
		}
		tr := newTrial(t, m, []tool.Tool{pages(800)}, guard.ProfileNone, "compaction=shadow")
		tr.Window = 4000
		tr.run(t)
		return firedBy(tr.sink, "compaction")[0].Turn
	}
	if four, two := turn(4), turn(2); four < 11 || two != four/2 && two != four/2+1 {
		t.Errorf("due in turn %d, and in turn %d with twice the tokens", four, two)
	}
}

func overflow() *model.Error {
	return &model.Error{Kind: model.ErrContextOverflow, Status: 400, Elapsed: time.Second, Usage: model.Usage{InputUncached: 7}}
}

// A refusal of the size is answered by compaction, once a turn.
func TestContextOverflow(t *testing.T) {
	refuse := func(times int) *scripted {
		m := reader(8, nil)
		ask := m.answer
		m.answer = func(n int, ctx context.Context, req *model.Request) (*model.Response, error) {
			if req.Turn == 7 && req.Attempt < times {
				return nil, overflow()
			}
			return ask(n, ctx, req)
		}
		return m
	}
	for _, tt := range []struct {
		name    string
		refused int
		changes []string
		reason  event.Reason
		fired   []string
	}{
		{"once", 1, nil, event.Completed, []string{"guard context_overflow enforce compact"}},
		{"twice", 2, nil, event.ModelError, []string{"guard context_overflow enforce compact"}},
		{"twice, two retries", 2, []string{"context_overflow.retries=2"}, event.Completed, []string{"guard context_overflow enforce compact", "guard context_overflow enforce compact"}},
		{"no retries", 1, []string{"context_overflow.retries=0"}, event.ModelError, nil},
		{"shadow", 1, []string{"context_overflow=shadow"}, event.ModelError, []string{"guard context_overflow shadow compact"}},
		{"off", 1, []string{"context_overflow=off"}, event.ModelError, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := refuse(tt.refused)
			tr := newTrial(t, m, []tool.Tool{pages(800)}, guard.ProfileNone, append([]string{"context_overflow=enforce"}, tt.changes...)...)
			end := tr.wantEnd(t, tt.reason)
			wantLines(t, tr.sink.only("guard"), tt.fired...)
			for _, a := range eventsOf[*event.Attempt](tr.sink)[:1] {
				if a.N != 0 || a.Wait != 0 || a.Again != (len(tt.fired) > 0 && tt.name != "shadow") {
					t.Errorf("%+v", a)
				}
			}
			if end.Usage.InputUncached != 7*int64(min(tt.refused, len(tr.sink.only("attempt")))) {
				t.Errorf("what a refusal costs is billed: %+v", end.Usage)
			}
			for i := range m.asked {
				checkChat(t, m.asked[i].Parts)
				if m.asked[i].Purpose != "" {
					t.Error("a summary was asked for where compaction is off")
				}
			}
			if tt.reason == event.Completed {
				first, again := &m.asked[6].Request, &m.asked[7].Request
				if again.Attempt != 1 || again.Turn != 7 || len(conversation(again)) > len(conversation(first))*6/10 {
					t.Errorf("asked again in attempt %d with %d of %d bytes", again.Attempt, len(conversation(again)), len(conversation(first)))
				}
			}
		})
	}
}

// Where compaction is in force, a refusal may ask for a summary too, of what is
// well below what was refused.
func TestContextOverflowMaySummarise(t *testing.T) {
	m := reader(12, func(*model.Request) (*model.Response, error) { return unbilled(say("They say nothing.")), nil })
	ask := m.answer
	m.answer = func(n int, ctx context.Context, req *model.Request) (*model.Response, error) {
		if req.Turn == 12 && req.Attempt == 0 && req.Purpose == "" {
			return nil, overflow()
		}
		return ask(n, ctx, req)
	}
	tr := newTrial(t, m, []tool.Tool{pages(800)}, guard.ProfileNone, "context_overflow=enforce", "compaction=enforce", "compaction.keep=6")
	tr.Window = 1 << 20
	tr.wantEnd(t, event.Completed)
	fired := firedBy(tr.sink, "context_overflow")
	if len(fired) != 1 || !strings.Contains(fired[0].Evidence, "rounds summarised") || len(tr.sink.only("part summarise")) != 1 {
		t.Errorf("%+v", *fired[0])
	}
}

// An operation whose result was taken away is still known to be in limbo, and the
// loop's counters go on: state is apart from the transcript.
func TestStateIsApartFromTheTranscript(t *testing.T) {
	m := reader(12, func(*model.Request) (*model.Response, error) { return unbilled(say("Nothing.")), nil })
	tr := newTrial(t, m, []tool.Tool{pages(800)}, guard.ProfileDefault, "monotony=off")
	tr.Window = 3000
	end := tr.wantEnd(t, event.Completed)
	if end.Calls != 12 || end.Turns != 13 || len(eventsOf[*event.ToolResult](tr.sink)) != 12 {
		t.Errorf("%+v", end)
	}
}

// A conversation that is larger than any provider takes is not kept in memory for
// ever where nobody reads it, and live and replayed loops agree on that.
func TestHugeConversationsAreForgotten(t *testing.T) {
	run := func(forget bool) (*trial, string) {
		m := reader(14, nil)
		tr := newTrial(t, m, []tool.Tool{pages(1 << 20)}, guard.ProfileNone, "context_overflow=enforce")
		tr.deps.Forget = forget
		return tr, dump(t, tr)
	}
	live, a := run(false)
	light, b := run(true)
	if a != b {
		t.Fatal("a loop that may forget makes other events")
	}
	if first, last := len(light.model.asked[8].Parts), len(light.model.asked[13].Parts); first == 0 || last != 0 {
		t.Errorf("%d parts at 8 MiB, %d at 13 MiB", first, last)
	}
	if len(live.model.asked[13].Parts) == 0 {
		t.Error("a live request has no parts")
	}
}

// One huge result is cut before the next request, however huge it is.
func TestHugeResultIsCut(t *testing.T) {
	m := reader(1, nil)
	tr := newTrial(t, m, []tool.Tool{pages(12 << 20)}, guard.ProfileNone, "compaction=enforce")
	tr.Window = 4000
	tr.wantEnd(t, event.Completed)
	if c := conversation(&m.asked[1].Request); len(c) > 9000 || len(c) < 8000 || !strings.Contains(c, "page 0 xxx") {
		t.Errorf("%d bytes", len(c))
	}
}

// A check that fails in shadow tells the model nothing, and pins nothing: what is
// asked is what is asked without it.
func TestUnmetInShadowPinsNothing(t *testing.T) {
	last := func(mode string) string {
		m := reader(14, nil)
		read := m.answer
		m.answer = func(n int, ctx context.Context, req *model.Request) (*model.Response, error) {
			if n == 1 {
				return unbilled(say("")), nil
			}
			return read(n, ctx, req)
		}
		tr := newTrial(t, m, []tool.Tool{pages(800)}, guard.ProfileNone, "compaction=enforce", "compaction.summary=0", "empty_response=enforce", "acceptance="+mode)
		tr.Window = 2000
		tr.deps.Check = func(context.Context, string) (string, error) { return "a is missing", nil }
		tr.run(t)
		return conversation(&m.asked[14].Request)
	}
	off, shadow := last("off"), last("shadow")
	if off != shadow || strings.Contains(off, "Attention") {
		t.Errorf("off:\n%.600s\nshadow:\n%.600s", off, shadow)
	}
}
