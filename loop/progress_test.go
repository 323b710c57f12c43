package loop_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
)

// fails is a tool whose n-th call fails with what text gives.
func fails(name string, text func(nth int) string) fakeTool {
	return newTool(name, event.Read, func(_ context.Context, op *tool.Op) tool.Result {
		return tool.Result{Outcome: event.ToolError, Text: text(op.Nth), Took: 10 * time.Millisecond}
	})
}

// feedbacks lists what was said to the model.
func feedbacks(tr *trial) (out []string) {
	for _, p := range eventsOf[*event.Part](tr.sink) {
		if p.Why == "feedback" {
			out = append(out, model.TextOf(p.Part.Message.Items))
		}
	}
	return out
}

// One nudge is sent once, although the count that it was due at stands for turns.
func TestOneNudgeIsSentOnce(t *testing.T) {
	boom := func(int) string { return "boom" }
	for name, tr := range map[string]*trial{
		"stuck":    newTrial(t, answers(calls("look")), []tool.Tool{ok("look", event.Read, "seen")}, guard.ProfileNone, "stuck=enforce", "stuck.abort=100"),
		"monotony": newTrial(t, answers(calls("look")), []tool.Tool{ok("look", event.Read, "seen")}, guard.ProfileNone, "monotony=enforce", "monotony.nudge=3", "monotony.abort=100"),
		"no_progress": newTrial(t, answers(calls("look"), calls("look"), calls("look"), calls("wait")), []tool.Tool{fails("look", boom), slow("wait", event.Read, time.Hour)},
			guard.ProfileNone, "no_progress=enforce", "tool_deadline=enforce"),
	} {
		tr.Limits.Turns = 9
		tr.wantEnd(t, event.TurnLimit)
		if got := feedbacks(tr); len(got) != 1 || len(tr.sink.only("guard "+name)) != 1 {
			t.Errorf("%s: said %q\n%s", name, got, strings.Join(tr.sink.log, "\n"))
		}
		// Every later request still has it, at the same place.
		if last := tr.model.asked[len(tr.model.asked)-1]; strings.Count(messages(last.Parts), feedbacks(tr)[0]) != 1 {
			t.Errorf("%s: the last request has it %d times", name, strings.Count(messages(last.Parts), feedbacks(tr)[0]))
		}
	}
}

func messages(parts []*model.Part) string {
	var b strings.Builder
	for _, p := range parts {
		if p.Message != nil {
			b.WriteString(model.TextOf(p.Message.Items) + "\n")
		}
	}
	return b.String()
}

// A result that is cut, spilled or pointed at in the turn in which a nudge is due
// swallows nothing: the model sees both.
func TestANudgeComesWithACutResult(t *testing.T) {
	long := strings.Repeat("line of a long result\n", 2000)
	for _, c := range []struct{ rewrites, guard, marker, nudge string }{
		{"result_ceiling", "stuck", "[result cut:", "You have made the same call 3 times"},
		{"dedupe", "stuck", "[unchanged:", "You have made the same call 3 times"},
		{"result_ceiling", "no_progress", "[result cut:", "The same call has failed 3 times"},
		{"result_ceiling", "monotony", "[result cut:", "one and the same tool for 3 steps"},
	} {
		look := ok("look", event.Read, long)
		if c.guard == "no_progress" {
			look = fails("look", func(int) string { return long })
		}
		tr := newTrial(t, answers(calls("look"), calls("look"), calls("look"), say("done")), []tool.Tool{look}, guard.ProfileNone,
			c.rewrites+"=enforce", c.guard+"=enforce", c.guard+".nudge=3")
		tr.wantEnd(t, event.Completed)
		last := tr.model.asked[3]
		if !strings.Contains(last.last, c.nudge) {
			t.Errorf("%s with %s: the turn ends with %.80q", c.guard, c.rewrites, last.last)
		}
		shown := model.TextOf(last.Parts[len(last.Parts)-2].Message.Items)
		if !strings.Contains(shown, c.marker) || len(shown) >= len(long) {
			t.Errorf("%s with %s: the result is shown as %.80q", c.guard, c.rewrites, shown)
		}
	}
}

// When several stops are due in one turn the table's order decides, and all that
// fired is recorded.
func TestTheTablesOrderOfStops(t *testing.T) {
	all := []string{"stuck", "monotony", "no_progress"}
	for i, evidence := range []string{"4 equal rounds", "4 rounds of one tool", "4 times the same failure"} {
		changes := []string{"stuck.abort=4", "monotony.abort=4", "no_progress.abort=4"}
		for _, name := range all[i:] {
			changes = append(changes, name+"=enforce")
		}
		tr := newTrial(t, answers(calls("look")), []tool.Tool{fails("look", func(int) string { return "boom" })}, guard.ProfileNone, changes...)
		end := tr.wantEnd(t, []event.Reason{event.Stuck, event.Stuck, event.NoProgress}[i])
		if end.Evidence != evidence || end.Turns != 4 {
			t.Errorf("%s: %+v", all[i], end)
		}
		for _, name := range all[i:] {
			if got := tr.sink.only("guard " + name + " enforce stop"); len(got) != 1 {
				t.Errorf("%s in force with %v: %q", name, all[i:], got)
			}
		}
	}
}

// What the last turn did stands, whatever ended the session: its results, their
// count and its text.
func TestTheLastTurnsWorkIsKept(t *testing.T) {
	for name, c := range map[string]struct {
		changes []string
		turns   int64
		reason  event.Reason
	}{
		"turn limit":  {nil, 2, event.TurnLimit},
		"a stop":      {[]string{"monotony=enforce", "monotony.nudge=2", "monotony.abort=2"}, 9, event.Stuck},
		"a pause":     {[]string{"goal_reminder=enforce", "goal_reminder.turns=1"}, 9, event.PolicyStopped},
		"call limit":  {[]string{"limits=enforce", "limits.calls=2"}, 9, event.ToolCallLimit},
		"token limit": {[]string{"limits=enforce", "limits.tokens=24"}, 9, event.TokenBudget},
	} {
		var wrote []string
		save := newTool("save", event.Write, func(_ context.Context, op *tool.Op) tool.Result {
			wrote = append(wrote, op.Args)
			return tool.Result{Outcome: event.Success, Text: "ok", Took: time.Second}
		})
		m := &scripted{answer: func(n int, _ context.Context, _ *model.Request) (*model.Response, error) {
			r := calls(fmt.Sprintf(`save {"n":%d}`, n))
			r.Items = append([]model.Item{{Type: model.Text, Text: fmt.Sprintf("step %d", n)}}, r.Items...)
			return r, nil
		}}
		tr := newTrial(t, m, []tool.Tool{save}, guard.ProfileNone, c.changes...)
		tr.Limits.Turns = c.turns
		end := tr.wantEnd(t, c.reason)
		results, states := eventsOf[*event.ToolResult](tr.sink), eventsOf[*event.State](tr.sink)
		n := len(wrote)
		if n < 2 || end.Turns != n || end.Calls != n || len(results) != n || results[n-1].Outcome != event.Success ||
			len(states) != n || states[n-1].Calls != n || states[n-1].Version != n || end.Answer != fmt.Sprintf("step %d", n-1) {
			t.Errorf("%s: wrote %q, %+v\n%s", name, wrote, end, strings.Join(tr.sink.log, "\n"))
		}
	}
}

// The notices come at the end of the turns that pass the shares, on a candidate
// that is sent back too, and never in the turn that ends the session.
func TestBudgetNoticesInTheLoop(t *testing.T) {
	look := func() []tool.Tool { return []tool.Tool{ok("look", event.Read, "seen")} }
	for name, c := range map[string]struct {
		answers []any
		changes []string
		fail    string // of acceptance
		want    string // turns at whose end there was a notice
	}{
		"twice":                  {[]any{calls("look")}, nil, "", "5 8"},
		"on what is sent back":   {[]any{calls("look"), calls("look"), calls("look"), calls("look"), say("done"), calls("look"), say("done")}, []string{"acceptance=enforce", "acceptance.retries=9"}, "no", "5 8"},
		"not with an end":        {[]any{calls("look"), calls("look"), calls("look"), calls("look"), say("done")}, nil, "", ""},
		"not with a stop":        {[]any{calls("look")}, []string{"stuck=enforce", "stuck.abort=5"}, "", ""},
		"the guard's own limit":  {[]any{calls("look")}, []string{"limits=enforce", "limits.turns=4"}, "", "2"},
		"in shadow nobody hears": {[]any{calls("look")}, []string{"budget_notice=shadow"}, "", ""},
	} {
		changes := append([]string{"budget_notice=enforce"}, c.changes...)
		tr := newTrial(t, answers(c.answers...), look(), guard.ProfileNone, changes...)
		tr.Limits.Turns = 10
		if c.fail != "" {
			tr.deps.Check = func(context.Context, string) (string, error) { return c.fail, nil }
		}
		tr.run(t)
		var turns, fired []string
		for _, ev := range tr.sink.events {
			switch ev := ev.(type) {
			case *event.Part:
				if ev.Why == "feedback" && strings.Contains(model.TextOf(ev.Part.Message.Items), "% of your budget of turns is used") {
					turns = append(turns, fmt.Sprint(ev.Turn))
				}
			case *event.Guard:
				if ev.Name == "budget_notice" {
					fired = append(fired, fmt.Sprint(ev.Turn))
				}
			}
		}
		got := strings.Join(turns, " ")
		if shadow := strings.HasPrefix(name, "in shadow"); got != c.want || !shadow && strings.Join(fired, " ") != c.want || shadow && len(fired) != 2 {
			t.Errorf("%s: said in turns %q, fired in %q, want %q\n%s", name, got, fired, c.want, strings.Join(tr.sink.log, "\n"))
		}
	}
}

// Narrowed, a call that was made in vain is denied: it does not run, the model is
// told why, and another one runs. In shadow all run.
func TestNarrowedAuthorisation(t *testing.T) {
	m := func() *scripted {
		return answers(calls("look"), calls("look"), calls("look"), calls("look"), calls("look", `look {"other":1}`))
	}
	tr := newTrial(t, m(), []tool.Tool{ok("look", event.Read, "seen")}, guard.ProfileNone, "goal_reminder=enforce", "goal_reminder.turns=1")
	end := tr.wantEnd(t, event.PolicyStopped)
	wantLines(t, tr.sink.only("guard"), "guard goal_reminder enforce remind", "guard goal_reminder enforce gap",
		"guard goal_reminder enforce narrow", "guard goal_reminder enforce pause")
	asked := tr.sink.only("ask")
	wantLines(t, asked[4:], "ask 0 look permission_denied", "ask 1 look")
	if end.Calls != 5 || end.Turns != 5 || end.Evidence != "4 turns without new evidence" {
		t.Errorf("%+v", end)
	}
	results := eventsOf[*event.ToolResult](tr.sink)
	if r := results[4]; r.Outcome != event.PermissionDenied || !strings.Contains(r.Raw, "closed until something else does") {
		t.Errorf("%+v", r)
	}
	for i, want := range []string{"Your task is:\n\nDo it.", "your task is open", "Your task is still:"} {
		if got := feedbacks(tr)[i]; !strings.Contains(got, want) {
			t.Errorf("step %d says %q", i+1, got)
		}
	}
	tr = newTrial(t, m(), []tool.Tool{ok("look", event.Read, "seen")}, guard.ProfileNone, "goal_reminder=shadow", "goal_reminder.turns=1")
	tr.Limits.Turns = 7
	tr.wantEnd(t, event.TurnLimit)
	if len(tr.sink.only("guard goal_reminder shadow")) != 4 || strings.Contains(strings.Join(tr.sink.log, "\n"), "denied") || len(feedbacks(tr)) != 0 {
		t.Errorf("in shadow:\n%s", strings.Join(tr.sink.log, "\n"))
	}
}

// The contract stands in the reminder; it is no part of the digest, which has what
// it follows from.
func TestTheContractIsInTheReminder(t *testing.T) {
	tr := newTrial(t, answers(calls("look")), []tool.Tool{ok("look", event.Read, "seen")}, guard.ProfileNone, "goal_reminder=enforce", "goal_reminder.turns=1")
	digest := freeze(t, tr.Settings).Digest()
	tr.Contract = []string{"The file a.txt exists."}
	if freeze(t, tr.Settings).Digest() != digest {
		t.Error("the contract is in the digest")
	}
	tr.wantEnd(t, event.PolicyStopped)
	if got := feedbacks(tr)[0]; !strings.Contains(got, "- The file a.txt exists.") {
		t.Errorf("%q", got)
	}
}
