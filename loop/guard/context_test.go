package guard

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
)

// notices steps a budget notice over turns that use what use gives (turns, calls,
// tokens, micro-USD, time, all so far) and returns what it says after each.
func notices(limits Backstop, n int, use func(turn int64) (calls, tokens, microUSD int64, at time.Duration)) []string {
	g := newBudgetNotice([]int64{50, 80}, Env{Limits: limits})
	var out []string
	for turn := int64(1); turn <= int64(n); turn++ {
		calls, tokens, micro, _ := use(turn - 1)
		after, spent, paid, at := use(turn)
		var d Decision
		g, _ = g.Step(&event.Checkpoint{Next: event.NextModel, Turns: int(turn), Calls: int(calls), Usage: model.Usage{Output: tokens}, Cost: event.Cost{Pico: micro * 1e6}})
		g, _ = g.Step(&event.Response{Resp: &model.Response{Usage: model.Usage{Output: spent - tokens}}, Cost: event.Cost{Pico: (paid - micro) * 1e6}})
		for range after - calls {
			g, _ = g.Step(call("t", "{}", ""))
		}
		g, d = g.Step(&event.Round{Head: event.Head{At: at}})
		out = append(out, d.Feedback)
	}
	return out
}

func TestBudgetNotice(t *testing.T) {
	none := func(int64) (int64, int64, int64, time.Duration) { return 0, 0, 0, 0 }
	for _, c := range []struct {
		name   string
		limits Backstop
		use    func(int64) (int64, int64, int64, time.Duration)
		at     []int // turns at whose end it speaks
		first  string
	}{
		{"turns", Backstop{Turns: 10}, none, []int{5, 8}, "50 % of the turns of this session are used. What is left: 5 of 10 turns."},
		{"odd turns", Backstop{Turns: 7}, none, []int{4, 6}, "57 % of the turns"},
		{"calls are tighter", Backstop{Turns: 100, Calls: 8}, func(n int64) (int64, int64, int64, time.Duration) { return 2 * n, 0, 0, 0 },
			[]int{2, 4}, "50 % of the tool calls of this session are used. What is left: 98 of 100 turns, 4 of 8 tool calls."},
		{"tokens", Backstop{Tokens: 1000}, func(n int64) (int64, int64, int64, time.Duration) { return 0, 100 * n, 0, 0 }, []int{5, 8}, "500 of 1000 tokens"},
		{"money", Backstop{MicroUSD: 1000}, func(n int64) (int64, int64, int64, time.Duration) { return 0, 0, 100 * n, 0 }, []int{5, 8}, "0.000500 of 0.001000 USD"},
		{"time", Backstop{Wall: 10 * time.Minute}, func(n int64) (int64, int64, int64, time.Duration) { return 0, 0, 0, time.Duration(n) * time.Minute }, []int{5, 8}, "5m0s of 10m0s"},
		{"both at once: the later one alone", Backstop{Tokens: 1000}, func(n int64) (int64, int64, int64, time.Duration) { return 0, 900 * min(n, 1), 0, 0 }, []int{1}, "90 % of the tokens"},
		{"no limits", Backstop{}, none, nil, ""},
		{"far", Backstop{Turns: 1000}, none, nil, ""},
		{"huge limits do not wrap", Backstop{Tokens: 1 << 62}, func(n int64) (int64, int64, int64, time.Duration) { return 0, n << 59, 0, 0 }, []int{4, 7}, "50 % of the tokens"},
	} {
		var at []int
		var first string
		for i, said := range notices(c.limits, 10, c.use) {
			if said != "" {
				if at = append(at, i+1); first == "" {
					first = said
				}
			}
		}
		if fmt.Sprint(at) != fmt.Sprint(c.at) || !strings.Contains(first, c.first) {
			t.Errorf("%s: after turns %v, want %v: %s", c.name, at, c.at, first)
		}
	}
}

// The limits that are in force are the tighter ones; those of guards that are off
// or in shadow are not.
func TestInForce(t *testing.T) {
	own := Backstop{Turns: 20, Calls: 500, Wall: time.Hour}
	for _, c := range []struct {
		changes []string
		want    Backstop
	}{
		{nil, Backstop{Turns: 20, Calls: 200, Wall: 30 * time.Minute}},
		{[]string{"limits=shadow"}, Backstop{Turns: 20, Calls: 500, Wall: 30 * time.Minute}},
		{[]string{"limits.turns=5", "limits.tokens=7", "limits.cost=9", "run_deadline=off"}, Backstop{Turns: 5, Calls: 200, Tokens: 7, MicroUSD: 9, Wall: time.Hour}},
		{[]string{"run_deadline.total=2h"}, Backstop{Turns: 20, Calls: 200, Wall: time.Hour}},
	} {
		if got := inForce(set(t, ProfileDefault, c.changes...), own); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.changes, got, c.want)
		}
	}
}

// reminded makes one turn a letter: 'n' a new result, 'o' the same as ever, 'w' a
// write that says nothing new, 'e' an error not seen before, 'x' a call that was
// not run, 'c' a check that fails as before, 'd' one that fails otherwise.
func reminded(turns string, every int64) string {
	g := newGoalReminder([]int64{every}, Env{})
	var out strings.Builder
	fail := 0
	for i, c := range turns {
		r := call("look", "{}", "the same")
		var d Decision
		var ev event.Event = &event.Round{N: 1}
		switch c {
		case 'n':
			r = call("look", fmt.Sprint(i), fmt.Sprint("new ", i))
		case 'w':
			r.Delta = []event.Delta{{Op: "write", Path: "a"}}
		case 'e':
			r = call("look", fmt.Sprint(i), fmt.Sprint("error ", i))
			r.Outcome = event.ToolError
		case 'x':
			r = call("look", fmt.Sprint(i), fmt.Sprint("invalid ", i))
			r.Outcome = event.ValidationFailed
		case 'd':
			fail++
			fallthrough
		case 'c':
			r, ev = nil, &event.Candidate{Checked: true, Fail: fmt.Sprint("reason ", fail)}
		}
		if r != nil {
			g, _ = g.Step(r)
		}
		g, d = g.Step(ev)
		out.WriteString(map[string]string{"": ".", "remind": "1", "sum_up": "2", "narrow": "3", "stop": "4"}[d.Act])
	}
	return out.String()
}

func TestGoalReminder(t *testing.T) {
	for _, c := range []struct{ name, turns, want string }{
		{"new results", "nnnnnnnn", "........"},
		{"the first look is new", "oooo", "...1"},
		{"every three a step", "nooooooooooooo", "....1..2..3..4"},
		{"evidence begins it anew", "nooonooooon", ".......1..."},
		{"a write is evidence", "noowoowoow", ".........."},
		{"an error is none", "neeeeee", "...1..2"},
		{"what was not run is none", "nxxx", "...1"},
		{"a first check is evidence", "noocooo", "......1"},
		{"the same reason is none", "nccccc", "....1."},
		{"another reason is", "ncddddddd", "........."},
	} {
		if got := reminded(c.turns, 3); got != c.want {
			t.Errorf("%s: %s gives %s, want %s", c.name, c.turns, got, c.want)
		}
	}
}

// While authorisation is narrowed, what was tried since the last evidence is
// denied, and nothing else.
func TestNarrowed(t *testing.T) {
	g := newGoalReminder([]int64{1}, Env{})
	ask := func(name string) Decision {
		_, d := g.Step(&event.ToolRequest{Call: model.ToolCall{Name: name}, Digest: model.SumString(name + "\x00{}")})
		return d
	}
	for i := range 4 { // new, then remind, sum up, narrow
		if d := ask("a"); d.Deny != "" {
			t.Errorf("denied before turn %d", i)
		}
		g, _ = g.Step(call("a", "{}", "same"))
		g, _ = g.Step(&event.Round{N: 1})
	}
	if d := ask("a"); d.Deny == "" || d.Act != "deny" {
		t.Errorf("%+v", d)
	}
	if d := ask("b"); d.Deny != "" || d.Fired() {
		t.Errorf("%+v", d)
	}
	_, d := g.Step(&event.ToolRequest{Digest: model.SumString("a\x00{}"), Problem: event.ProblemArguments})
	if d.Fired() {
		t.Error("a call that has a problem already is denied again")
	}
	g, _ = g.Step(call("b", "{}", "other"))
	g, _ = g.Step(&event.Round{N: 1})
	if d := ask("a"); d.Deny != "" {
		t.Error("denied after new evidence")
	}
}

// A recalling feedback begins with the task, cut at a character.
func TestRecall(t *testing.T) {
	s := NewSet(set(t, ProfileNone, "goal_reminder=enforce", "goal_reminder.turns=1"), Backstop{}, Env{Task: strings.Repeat("ä", 2000)})
	h := &host{}
	var res Result
	for range 2 {
		if _, err := s.Step(call("t", "{}", "x"), h); err != nil {
			t.Fatal(err)
		}
		var err error
		if res, err = s.Step(&event.Round{N: 1}, h); err != nil {
			t.Fatal(err)
		}
	}
	if len(res.Feedback) != 1 || !strings.HasPrefix(res.Feedback[0], "Your task is:\nää") || !strings.Contains(res.Feedback[0], "ä\n\nYour last 1 turns") || len(res.Feedback[0]) > maxTask+400 {
		t.Errorf("%q", res.Feedback)
	}
}
