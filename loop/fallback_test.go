package loop_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
)

// byModel answers as the model that is asked: a function of its id and of how many
// calls of the session came before.
func byModel(answer func(id string, n int) (*model.Response, error)) *scripted {
	return &scripted{answer: func(n int, _ context.Context, req *model.Request) (*model.Response, error) {
		return answer(req.Params.Model, n)
	}}
}

func newFallbackTrial(t *testing.T, m *scripted, models []string, changes ...string) *trial {
	tr := newTrial(t, m, []tool.Tool{ok("look", event.Read, "seen")}, guard.ProfileDefault, append([]string{"fallback=enforce"}, changes...)...)
	tr.Models, tr.Params.Model = models, models[0]
	return tr
}

func whoWasAsked(m *scripted) string {
	var out []string
	for _, a := range m.asked {
		out = append(out, fmt.Sprintf("%s%d", strings.TrimPrefix(a.Params.Model, "m/"), a.Turn))
	}
	return strings.Join(out, " ")
}

// Retry is spent first; the next model has a budget of its own; the next turn asks
// the first model again, with a budget of its own.
func TestFallbackAfterRetry(t *testing.T) {
	m := byModel(func(id string, n int) (*model.Response, error) {
		switch {
		case id == "m/a" && n != 8 || n < 7:
			return nil, unavailable()
		case n == 7:
			return calls("look"), nil
		}
		return say("done"), nil
	})
	tr := newFallbackTrial(t, m, []string{"m/a", "m/b"})
	end := tr.wantEnd(t, event.Completed)
	if got := whoWasAsked(m); got != "a1 a1 a1 a1 b1 b1 b1 b1 a2" {
		t.Errorf("asked %s", got)
	}
	wantLines(t, tr.sink.only("guard"), "guard retry enforce retry", "guard retry enforce retry", "guard retry enforce retry", "guard retry enforce give_up",
		"guard fallback enforce ask_next", "guard retry enforce retry", "guard retry enforce retry", "guard retry enforce retry")
	for _, g := range eventsOf[*event.Guard](tr.sink) {
		if g.Name == "fallback" && g.Evidence != "m/a: server (503) after 4 attempts; asking m/b" {
			t.Error(g.Evidence)
		}
	}
	at := eventsOf[*event.Attempt](tr.sink)
	if !at[3].Again || at[3].Wait != 0 || end.Attempts != 9 {
		t.Errorf("%+v, %d attempts", at[3], end.Attempts)
	}
	for i, a := range m.asked {
		if a.ParamsDigest != a.Params.Digest() || a.Occurrence != []int{0, 1, 2, 3, 0, 1, 2, 3, 0}[i] {
			t.Errorf("call %d: occurrence %d", i, a.Occurrence)
		}
	}
}

// 401 is not retried; with a fallback configured another model is asked at once.
func TestUnauthorisedIsNotRetriedButFallsBack(t *testing.T) {
	m := byModel(func(id string, _ int) (*model.Response, error) {
		if id == "m/a" {
			return nil, &model.Error{Kind: model.ErrAuth, Status: 401}
		}
		return say("done"), nil
	})
	tr := newFallbackTrial(t, m, []string{"m/a", "m/b"})
	tr.wantEnd(t, event.Completed)
	if got := whoWasAsked(m); got != "a1 b1" {
		t.Errorf("asked %s", got)
	}
	g := eventsOf[*event.Guard](tr.sink)
	if len(g) != 1 || g[0].Evidence != "m/a: auth (401) after 1 attempt; asking m/b" {
		t.Errorf("%v", tr.sink.only("guard"))
	}
}

func TestFallbackCycleEnds(t *testing.T) {
	m := byModel(func(string, int) (*model.Response, error) {
		return nil, &model.Error{Kind: model.ErrQuota, Status: 429}
	})
	tr := newFallbackTrial(t, m, []string{"m/a", "m/b", "m/a", "m/b"})
	end := tr.wantEnd(t, event.ModelError)
	if got := whoWasAsked(m); got != "a1 b1" || end.Evidence != "quota (429)" {
		t.Errorf("asked %s, %s", got, end.Evidence)
	}
}

func TestNoFallback(t *testing.T) {
	for _, tt := range []struct {
		name    string
		err     error
		models  string
		changes []string
		reason  event.Reason
		asked   int
		fired   int
	}{
		{"no list", unavailable(), "m/a", nil, event.ModelError, 4, 0},
		{"off", unavailable(), "m/a m/b", []string{"fallback=off"}, event.ModelError, 4, 0},
		{"in shadow, once a turn", unavailable(), "m/a m/b m/c", []string{"fallback=shadow"}, event.ModelError, 4, 1},
		{"cancelled", &model.Error{Kind: model.ErrCancelled}, "m/a m/b", nil, event.CancelledRun, 1, 0},
		{"no answer of a model", &model.Error{Kind: model.ErrProtocol}, "m/a m/b", nil, event.ProtocolError, 1, 0},
	} {
		m := byModel(func(string, int) (*model.Response, error) { return nil, tt.err })
		tr := newFallbackTrial(t, m, strings.Fields(tt.models), tt.changes...)
		tr.wantEnd(t, tt.reason)
		if got := len(tr.sink.only("guard fallback")); len(m.asked) != tt.asked || got != tt.fired {
			t.Errorf("%s: asked %s, %d firings", tt.name, whoWasAsked(m), got)
		}
	}
}

// A call that is cut by the session's own time is no case for another model.
func TestNoFallbackAfterTheDeadline(t *testing.T) {
	m := byModel(func(string, int) (*model.Response, error) {
		return with(say("late"), func(r *model.Response) { r.Elapsed = time.Hour }), nil
	})
	tr := newFallbackTrial(t, m, []string{"m/a", "m/b"}, "run_deadline.total=1m", "final_synthesis=off")
	tr.wantEnd(t, event.Deadline)
	if got := whoWasAsked(m); got != "a1" {
		t.Errorf("asked %s", got)
	}
}

// A cancellation while the first model fails asks nobody else.
func TestNoFallbackAfterCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := byModel(func(string, int) (*model.Response, error) {
		cancel()
		return nil, &model.Error{Kind: model.ErrAuth, Status: 401}
	})
	tr := newFallbackTrial(t, m, []string{"m/a", "m/b"})
	tr.ctx = ctx
	tr.wantEnd(t, event.CancelledRun)
	if got := whoWasAsked(m); got != "a1" {
		t.Errorf("asked %s", got)
	}
}

// With after set, the next model is asked before retry is done; its firing stands
// alone, since retry did nothing.
func TestFallbackAfter(t *testing.T) {
	m := byModel(func(id string, _ int) (*model.Response, error) {
		if id == "m/a" {
			return nil, &model.Error{Kind: model.ErrRateLimit, Status: 429, RetryAfter: time.Minute}
		}
		return say("done"), nil
	})
	tr := newFallbackTrial(t, m, []string{"m/a", "m/b"}, "fallback.after=1")
	end := tr.wantEnd(t, event.Completed)
	wantLines(t, tr.sink.only("guard"), "guard fallback enforce ask_next")
	if got := whoWasAsked(m); got != "a1 b1" || end.At >= time.Minute {
		t.Errorf("asked %s, ended at %s", got, end.At)
	}
}

// Retry in shadow tells what it would have done; in force fallback acts at once.
func TestFallbackWithRetryInShadow(t *testing.T) {
	m := byModel(func(id string, _ int) (*model.Response, error) {
		if id == "m/a" {
			return nil, unavailable()
		}
		return say("done"), nil
	})
	tr := newFallbackTrial(t, m, []string{"m/a", "m/b"}, "retry=shadow")
	tr.wantEnd(t, event.Completed)
	wantLines(t, tr.sink.only("guard"), "guard retry shadow retry", "guard fallback enforce ask_next")
	if got := whoWasAsked(m); got != "a1 b1" {
		t.Errorf("asked %s", got)
	}
}

// Each model is asked with its own params and billed at its own price; an enlarged
// max_tokens grows from what the answering model has and leaks into no other turn.
func TestFallbackParamsAndPrices(t *testing.T) {
	m := byModel(func(id string, n int) (*model.Response, error) {
		switch {
		case id == "m/a" && n == 0:
			return nil, &model.Error{Kind: model.ErrServer, Status: 400, Usage: model.Usage{InputUncached: 100}}
		case n == 1:
			return truncated(), nil
		case n == 2:
			return calls("look"), nil
		}
		return say("done"), nil
	})
	tr := newFallbackTrial(t, m, []string{"m/a", "m/b"}, "retry=off")
	warm := 0.5
	tr.Params.MaxTokens = 1000
	tr.Fallbacks = []model.Params{{Model: "m/b", MaxTokens: 300, Temperature: &warm}}
	tr.Prices = map[string]loop.Prices{"m/a": {InputUncached: 1, Output: 10}, "m/b": {InputUncached: 1000, Output: 10000}}
	end := tr.wantEnd(t, event.Completed)
	var got []string
	for _, a := range m.asked {
		got = append(got, fmt.Sprint(a.Params.Model, " ", a.Params.MaxTokens, " ", a.Params.Temperature != nil))
	}
	wantLines(t, got, "m/a 1000 false", "m/b 300 true", "m/b 600 true", "m/a 1000 false")
	want := int64(100*1 + 500*10000 + (10*1000 + 2*10000) + (10*1 + 2*10))
	if end.Cost.Pico != want || !end.Cost.Known {
		t.Errorf("cost %d, want %d", end.Cost.Pico, want)
	}
}

func TestFreezeHoldsFallbacksAgainstModels(t *testing.T) {
	tr := newFallbackTrial(t, answers(say("done")), []string{"m/a", "m/b"})
	for _, bad := range [][]model.Params{{{Model: "m/c"}}, {{Model: "m/b"}, {Model: "m/c"}}, {{Model: "m/b", MaxTokens: -1}}} {
		tr.Fallbacks = bad
		if _, err := loop.Freeze(tr.Settings); err == nil {
			t.Errorf("%+v passes", bad)
		}
	}
	tr.Fallbacks = []model.Params{{Model: "m/b", MaxTokens: 5}}
	cfg, err := loop.Freeze(tr.Settings)
	if err != nil {
		t.Fatal(err)
	}
	tr.Fallbacks[0].MaxTokens = 6
	if !cfg.Intact() || cfg.Settings().Fallbacks[0].MaxTokens != 5 || !strings.Contains(cfg.JSON(), `,"fallbacks":[{"max_tokens":5,"model":"m/b"}],"guards":`) {
		t.Error(cfg.JSON())
	}
}

// A refusal by a fallback model is billed at that model's price, and what
// context_overflow in shadow would have done changes no account that compaction in
// force works on, though the session goes on with another model.
func TestFallbackAfterARefusal(t *testing.T) {
	for _, mode := range []string{"enforce", "shadow", "off"} {
		turn := 0
		m := byModel(func(id string, n int) (*model.Response, error) {
			switch {
			case turn == 6 && id != "m/c":
				return nil, overflow()
			case turn == 20:
				return unbilled(say("done")), nil
			}
			turn++
			return unbilled(calls(fmt.Sprintf(`read {"n":%d}`, turn))), nil
		})
		tr := newTrial(t, m, []tool.Tool{pages(800)}, guard.ProfileNone, "fallback=enforce", "compaction=enforce", "compaction.summary=0", "context_overflow="+mode)
		tr.Models, tr.Params.Model, tr.Window = []string{"m/a", "m/b", "m/c"}, "m/a", 3000
		tr.wantEnd(t, event.Completed)
		for i := range m.asked {
			checkChat(t, m.asked[i].Parts)
		}
		size, last := 0, m.asked[len(m.asked)-1].Parts
		for _, p := range last {
			size += p.Size
		}
		if size > 4*3000 {
			t.Errorf("%s: the last request has %d bytes", mode, size)
		}
		t.Log(mode, size, whoWasAsked(m), tr.sink.only("guard"))
	}
}
