package loop_test

import (
	"context"
	"errors"
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

func TestAcceptedEndOnTheLastTurnIsCompleted(t *testing.T) {
	for turns := int64(1); turns <= 4; turns++ {
		m := answers(calls("look"), calls("look"), say("done"))
		tr := newTrial(t, m, []tool.Tool{ok("look", event.Read, "seen")}, guard.ProfileDefault)
		tr.Limits.Turns = turns
		want := event.Completed
		if turns < 3 {
			want = event.TurnLimit
		}
		end := tr.wantEnd(t, want)
		if end.Backstop != (want == event.TurnLimit) || end.Turns != int(min(turns, 3)) {
			t.Errorf("%d turns: %+v", turns, end)
		}
		if want == event.TurnLimit && (!end.Unchecked || end.Evidence == "") {
			t.Errorf("%d turns: %+v", turns, end)
		}
	}
}

// A stop of an earlier row wins over one of a later row in the same turn.
func TestTwoStopsInOneTurn(t *testing.T) {
	tr := newTrial(t, answers(say("")), nil, guard.ProfileDefault, "acceptance.retries=0", "empty_response.corrections=0")
	tr.deps.Check = func(context.Context, string) (string, error) { return "a.txt is missing", nil }
	end := tr.wantEnd(t, event.Unverified)
	wantLines(t, tr.sink.only("guard"), "guard acceptance enforce stop", "guard empty_response enforce stop")
	if end.Unchecked || end.Evidence != "a.txt is missing" {
		t.Errorf("%+v", end)
	}
	// A limit that kept a call from being made is not overruled by what came of it.
	m := answers(calls("look", "look"))
	tr = newTrial(t, m, []tool.Tool{ok("look", event.Read, "seen")}, guard.ProfileDefault, "stuck.nudge=2", "stuck.abort=2", "limits.calls=3")
	tr.wantEnd(t, event.ToolCallLimit)
}

func TestStuckEndsALoop(t *testing.T) {
	m := answers(calls(`look {"b":1,"a":2}`), calls(`look {"a":2, "b":1}`))
	tr := newTrial(t, m, []tool.Tool{ok("look", event.Read, "seen")}, guard.ProfileDefault)
	end := tr.wantEnd(t, event.Stuck)
	wantLines(t, tr.sink.only("guard"), "guard stuck enforce nudge", "guard stuck enforce stop")
	if end.Turns != 6 || end.Evidence != "6 equal rounds" || end.Backstop {
		t.Errorf("%+v", end)
	}
	if got := tr.sink.only("part feedback"); len(got) != 1 {
		t.Errorf("%d feedback messages", len(got))
	}
	// Shadow sees the same, does nothing, and is silent after its stop.
	m = answers(calls("look"))
	tr = newTrial(t, m, []tool.Tool{ok("look", event.Read, "seen")}, guard.ProfileDefault, "stuck=shadow", "final_synthesis=off")
	tr.Limits.Turns = 15
	if end := tr.wantEnd(t, event.TurnLimit); !end.Backstop || end.Turns != 15 {
		t.Errorf("%+v", end)
	}
	wantLines(t, tr.sink.only("guard"), "guard stuck shadow nudge", "guard stuck shadow stop")
	if got := tr.sink.only("part feedback"); len(got) != 0 {
		t.Errorf("shadow spoke")
	}
}

func TestAcceptance(t *testing.T) {
	for _, tt := range []struct {
		mode      string
		fails     int
		reason    event.Reason
		unchecked bool
		turns     int
	}{
		{"enforce", 0, event.Completed, false, 1},
		{"enforce", 2, event.Completed, false, 3},
		{"enforce", 3, event.Unverified, false, 3},
		{"shadow", 3, event.Completed, true, 1},
		{"off", 3, event.Completed, true, 1},
	} {
		checks := 0
		tr := newTrial(t, answers(say("done")), nil, guard.ProfileDefault, "acceptance="+tt.mode)
		tr.deps.Check = func(_ context.Context, answer string) (string, error) {
			if checks++; checks <= tt.fails {
				return "not yet", nil
			}
			return "", nil
		}
		end := tr.wantEnd(t, tt.reason)
		if end.Unchecked != tt.unchecked || end.Turns != tt.turns || end.Answer != "done" {
			t.Errorf("%s, %d fail: %+v", tt.mode, tt.fails, end)
		}
		if tt.mode == "off" && checks != 0 {
			t.Error("acceptance is off and was checked")
		}
	}
	tr := newTrial(t, answers(say("done")), nil, guard.ProfileDefault)
	if end := tr.wantEnd(t, event.Completed); !end.Unchecked {
		t.Error("there are no checks and the end counts as checked")
	}
	tr = newTrial(t, answers(say("done")), nil, guard.ProfileDefault)
	tr.deps.Check = func(context.Context, string) (string, error) { return "", errors.New("grader broke") }
	if end := tr.wantEnd(t, event.InternalError); !strings.Contains(end.Evidence, "grader broke") {
		t.Errorf("%+v", end)
	}
	// A check a turn ago is not behind a limit's end.
	tr = newTrial(t, answers(say("done")), nil, guard.ProfileDefault)
	tr.Limits.Turns = 1
	tr.deps.Check = func(context.Context, string) (string, error) { return "not yet", nil }
	if end := tr.wantEnd(t, event.TurnLimit); !end.Unchecked {
		t.Errorf("%+v", end)
	}
}

func TestUsageAndCostBudgets(t *testing.T) {
	failed := &model.Error{Kind: model.ErrServer, Status: 503, Usage: model.Usage{InputUncached: 100}, Elapsed: time.Second}
	tr := newTrial(t, answers(failed, say("done")), nil, guard.ProfileDefault)
	tr.Prices = map[string]loop.Prices{"fake/model": {InputUncached: 3, Output: 15}}
	end := tr.wantEnd(t, event.Completed)
	if end.Usage.Total() != 112 || end.Cost != (event.Cost{Pico: 110*3 + 2*15, Known: true}) || end.Attempts != 2 {
		t.Errorf("%+v", end)
	}
	tr = newTrial(t, answers(say("done")), nil, guard.ProfileDefault)
	if end := tr.wantEnd(t, event.Completed); end.Cost.Known || end.Cost.Pico != 0 {
		t.Errorf("an unknown price gives %+v", end.Cost)
	}
	tr = newTrial(t, answers(calls("look")), []tool.Tool{ok("look", event.Read, "x")}, guard.ProfileNone)
	tr.Prices = map[string]loop.Prices{"fake/model": {InputUncached: 100_000, Output: 0}}
	tr.Limits.MicroUSD = 3 // each call is 1 micro-USD
	if end := tr.wantEnd(t, event.CostBudget); end.Turns != 3 || !end.Backstop {
		t.Errorf("%+v", end)
	}
	tr = newTrial(t, answers(calls("look")), []tool.Tool{ok("look", event.Read, "x")}, guard.ProfileNone)
	tr.Limits.Tokens = 25 // each call is 12
	if end := tr.wantEnd(t, event.TokenBudget); end.Turns != 3 || end.Evidence != fmt.Sprintf("%d of %d tokens", 36, 25) {
		t.Errorf("%+v", end)
	}
}

// The answer of a session is what the model said last; of an accepted end what
// it said there, be it nothing.
func TestAnswer(t *testing.T) {
	speak := func(text string, list ...string) *model.Response {
		return with(calls(list...), func(r *model.Response) {
			r.Items = append([]model.Item{{Type: model.Text, Text: text}}, r.Items...)
		})
	}
	for _, tt := range []struct {
		script []any
		turns  int64
		reason event.Reason
		want   string
	}{
		{[]any{speak("I look.", "look"), speak(" \n", "look"), calls("look")}, 3, event.TurnLimit, "I look."},
		{[]any{speak("I look.", "look"), speak("And again.", "look"), calls("look")}, 3, event.TurnLimit, "And again."},
		{[]any{speak("I look.", "look"), say("It is there.")}, 9, event.Completed, "It is there."},
		{[]any{speak("I look.", "look"), say("")}, 9, event.Completed, ""},
	} {
		tr := newTrial(t, answers(tt.script...), []tool.Tool{ok("look", event.Read, "seen")}, guard.ProfileNone)
		tr.Limits.Turns = tt.turns
		if end := tr.wantEnd(t, tt.reason); end.Answer != tt.want {
			t.Errorf("%q, want %q", end.Answer, tt.want)
		}
	}
}

// Where the session ends nobody is told anything more.
func TestNoFeedbackAtTheEnd(t *testing.T) {
	tr := newTrial(t, answers(say("")), nil, guard.ProfileDefault, "acceptance.retries=0", "empty_response.corrections=1")
	tr.deps.Check = func(context.Context, string) (string, error) { return "a.txt is missing", nil }
	tr.wantEnd(t, event.Unverified)
	wantLines(t, tr.sink.only("guard"), "guard acceptance enforce stop", "guard empty_response enforce correct")
	wantLines(t, tr.sink.only("part feedback"))
}

// A nudge that comes with a cut result is said beside it: the one is a message, the
// other what the model sees of the result.
func TestNudgeBesideACutResult(t *testing.T) {
	big := strings.Repeat("x", 30_000)
	for change, mark := range map[string]string{"spill=enforce": "/workspace/.harness/spill/", "spill=off": "[result cut"} {
		m := answers(calls("look"))
		tr := newTrial(t, m, []tool.Tool{ok("look", event.Read, big)}, guard.ProfileDefault, change)
		tr.deps.Spill = func(string, string) error { return nil }
		tr.wantEnd(t, event.Stuck)
		parts := m.asked[3].Parts
		result, said := parts[len(parts)-2].Message, parts[len(parts)-1].Message
		if result.Role != model.ToolRole || !strings.Contains(model.TextOf(result.Items), mark) || len(model.TextOf(result.Items)) >= len(big) {
			t.Errorf("%s: the result is shown with %d bytes", change, len(model.TextOf(result.Items)))
		}
		if said.Role != model.User || model.TextOf(said.Items) == "" || len(tr.sink.only("part feedback")) != 1 {
			t.Errorf("%s: after it the %s says %q; %d nudges", change, said.Role, model.TextOf(said.Items), len(tr.sink.only("part feedback")))
		}
	}
}
