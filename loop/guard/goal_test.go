package guard

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
)

// goalTurns makes one turn a letter and writes what the reminder does at its end
// as the first letter of the act: a letter is a read whose result is that letter,
// by a capital letter with other arguments every time; 'w' a write that changes a
// file and says "ok", 'n' one that changes none; 'x' and 'y' outside effects that
// both say "sent", 'f' a call that fails, 'd' one that was denied, '1' and '2'
// rejected candidates with one reason each, '0' one that passes, 'U' a user who
// says something, 'P' feedback.
func goalTurns(t *testing.T, g Guard, turns string) (Guard, string) {
	t.Helper()
	out := ""
	for i, c := range turns {
		r := call("read_file", strings.ToLower(string(c)), strings.ToLower(string(c)))
		var ev event.Event = r
		switch c {
		case 'w', 'n':
			r.Effect, r.Raw, r.RawDigest = event.Write, "ok", model.SumString("ok")
			if c == 'w' {
				r.Delta = []event.Delta{{Op: "write", Path: "a.txt"}}
			}
		case 'x', 'y':
			r.Effect, r.RawDigest = event.External, model.SumString("sent")
		case 'f':
			r.Outcome = event.ToolError
		case 'd':
			r.Outcome, r.RawDigest = event.PermissionDenied, model.SumString(fmt.Sprint(i))
		case '0', '1', '2':
			ev = &event.Candidate{Checked: true, Fail: map[rune]string{'0': "", '1': "no report", '2': "no total"}[c]}
		case 'U', 'P':
			ev = &event.Part{Why: map[rune]string{'U': "user", 'P': "feedback"}[c]}
		default:
			if c < 'a' {
				r.ReqDigest = model.SumString(fmt.Sprint(i))
			}
		}
		var d Decision
		if g, d = g.Step(ev); d.Fired() {
			t.Fatalf("fired on %T", ev)
		}
		g, d = g.Step(turnEnd(i + 1))
		if d.Act == "" {
			out += "."
			continue
		}
		out += d.Act[:1]
		if d.Evidence == "" || (d.Stop != nil) != (d.Act == "pause") || (d.Feedback != "") == (d.Stop != nil) {
			t.Errorf("%+v", d)
		}
		if d.Stop != nil {
			if d.Stop.Reason != event.PolicyStopped {
				t.Errorf("stopped for %s", d.Stop.Reason)
			}
			break
		}
	}
	return g, out
}

func TestGoalReminderSteps(t *testing.T) {
	for _, c := range []struct{ name, turns, want string }{
		{"two idle turns a step", "aaaaaaaaa", "..r.g.n.p"},
		{"one short of a step is nothing", "aabaab", "....r."},
		{"new results are evidence", "abcdefghijklmno", "..............."},
		{"a new result after a reminder begins anew", "aaabbb", "..r..r"},
		{"and after a narrowing", "aaaaaaabbbbbbb", "..r.g.n..r.g.n"},
		{"results that were there before are none, in any order", "ababab", "...r.g"},
		{"whatever the arguments", "aAAAA", "..r.g"},
		{"a changed file is evidence, an unchanged one is not", "nwwwwnnn", "......r."},
		{"an outside effect is evidence once", "xyxy", "...r"},
		{"an error that is new is evidence", "aafff", "....r"},
		{"a denied call is none", "adddd", "..r.g"},
		{"a rejection is evidence when its reason changes", "a1122211", ".....r.."},
		{"what a user says is evidence, feedback is not", "aaUaPaU", "....r.."},
		{"a passed check is evidence", "aa0aa", "....r"},
	} {
		if _, got := goalTurns(t, one(t, "goal_reminder", bothReaders, "turns=2"), c.turns); got != c.want {
			t.Errorf("%s: %s\ngot  %s\nwant %s", c.name, c.turns, got, c.want)
		}
	}
}

// What is older than the results that are remembered counts as new again: the
// reminder then comes late, never wrongly.
func TestGoalReminderForgets(t *testing.T) {
	g, _ := goalTurns(t, one(t, "goal_reminder", bothReaders, "turns=2"), "abceghijklmopqrs") // 16 of them
	got := ""
	if g, got = goalTurns(t, g, "ba"); got != ".r" {
		t.Errorf("the last 16: %s", got)
	}
	if g, got = goalTurns(t, g, "t"); got != "." {
		t.Errorf("a new one: %s", got)
	}
	if _, got = goalTurns(t, g, "ab"); got != ".." {
		t.Errorf("the oldest was not forgotten: %s", got)
	}
}

// Narrowed, calls that were made in vain are closed, others are not; in shadow
// none is.
func TestGoalReminderNarrows(t *testing.T) {
	op := func(s string) model.Digest { return model.SumString("read_file\x00" + s) }
	g, _ := goalTurns(t, one(t, "goal_reminder", bothReaders, "turns=2"), "abababa")
	for _, mode := range []Mode{Enforce, Shadow} {
		s := NewSet(set(t, ProfileNone, "goal_reminder="+string(mode)), Backstop{}, bothReaders)
		at := len(s.entries) - 1
		closed := func(op model.Digest) bool { _, c := s.Closed(op); return c }
		s.entries[at].g = g
		if closed(op("a")) {
			t.Error("closed one turn before it is narrowed")
		}
		s.entries[at].g, _ = goalTurns(t, g, "b")
		if got := closed(op("a")) && closed(op("b")); got != (mode == Enforce) || closed(op("c")) {
			t.Errorf("%s: closed %v", mode, got)
		}
		s.entries[at].g, _ = goalTurns(t, g, "bc")
		if closed(op("a")) {
			t.Error("closed after new evidence")
		}
	}
}

// The texts carry task, conditions, what is missing, what was tried, and are
// bounded.
func TestGoalReminderTexts(t *testing.T) {
	env := Env{Tools: []string{"read_file", "grep"}, Task: "Write the report.", Contract: []string{"The file report.md exists."}}
	said := map[string]string{}
	listen := func(g Guard, turns int) {
		for i := range turns {
			r := call("grep", fmt.Sprint(i), "none")
			var d Decision
			g, _ = g.Step(r)
			if i%3 == 0 {
				g, _ = g.Step(call("read_file", "a", "none"))
			}
			g, d = g.Step(turnEnd(i + 1))
			if len(d.Feedback) > 4<<10 {
				t.Errorf("%s: %d bytes", d.Act, len(d.Feedback))
			}
			said[d.Act] = d.Feedback
		}
	}
	g := one(t, "goal_reminder", env, "turns=2")
	g, _ = g.Step(&event.Candidate{Checked: true, Fail: "The file report.md does not exist. Create it."})
	listen(g, 9)
	for act, want := range map[string][]string{
		"remind": {"Your task is:\n\nWrite the report.", "- The file report.md exists.", "missing last: The file report.md does not exist.", "smallest next step: do what was found missing"},
		"gap":    {"after 4 turns", "Tried since then, without anything new: grep (4), read_file (1).", "The file report.md does not exist."},
		"narrow": {"after 6 turns", "are closed", "Write the report."},
	} {
		for _, w := range want {
			if !strings.Contains(said[act], w) {
				t.Errorf("%s lacks %q:\n%s", act, w, said[act])
			}
		}
	}
	env.Task = strings.Repeat("ä", 100_000)
	for range 1000 {
		env.Contract = append(env.Contract, env.Task)
		env.Tools = append(env.Tools, strings.Repeat("t", 1000))
	}
	listen(one(t, "goal_reminder", env, "turns=2"), 9)
	if !strings.Contains(said["remind"], "ä [...]") {
		t.Errorf("a task that was cut does not say so")
	}
}

func TestBudgetNotice(t *testing.T) {
	type used struct {
		turn, calls int
		tokens      int64
		pico        int64
		at          time.Duration
	}
	for _, c := range []struct {
		name    string
		limits  Backstop
		changes []string
		turns   []used
		want    string // what is said, a line each
	}{
		{"not below half, then once, then once more", Backstop{Turns: 10}, nil,
			[]used{{turn: 4}, {turn: 5}, {turn: 6}, {turn: 7}, {turn: 8}, {turn: 9}},
			"50% of your budget of turns is used. What is left: 5 of 10 turns.\n80% of your budget of turns is used. What is left: 2 of 10 turns."},
		{"nothing at the end", Backstop{Turns: 2}, nil, []used{{turn: 2}}, ""},
		{"nor when another limit is used up", Backstop{Turns: 10, Tokens: 100}, nil, []used{{turn: 6, tokens: 100}}, ""},
		{"a leap over both is one notice", Backstop{Turns: 10}, nil, []used{{turn: 4}, {turn: 9}, {turn: 9}},
			"90% of your budget of turns is used. What is left: 1 of 10 turns."},
		{"the tightest counts, all are told", Backstop{Turns: 10, Calls: 64, Tokens: 1000, MicroUSD: 500_000, Wall: time.Minute}, nil,
			[]used{{turn: 3, calls: 7, tokens: 499, pico: 1, at: 20 * time.Second}, {turn: 4, calls: 9, tokens: 500, pico: 2_000_001, at: 29999 * time.Millisecond}},
			"50% of your budget of tokens is used. What is left: 6 of 10 turns, 55 of 64 tool calls, 500 of 1000 tokens, 0.499997 of 0.500000 USD, 30.001s of 1m0s time."},
		{"just below", Backstop{Tokens: 1001}, nil, []used{{tokens: 500}}, ""},
		{"shares in any order", Backstop{Turns: 10}, []string{"first=90", "second=30"}, []used{{turn: 3}, {turn: 9}},
			"30% of your budget of turns is used. What is left: 7 of 10 turns.\n90% of your budget of turns is used. What is left: 1 of 10 turns."},
		{"nothing is limited", Backstop{}, nil, []used{{turn: 1 << 40}}, ""},
		{"huge limits", Backstop{Tokens: 1<<63 - 1}, nil, []used{{tokens: 1<<62 - 1}, {tokens: 1 << 62}},
			"50% of your budget of tokens is used. What is left: 4611686018427387903 of 9223372036854775807 tokens."},
	} {
		d := &Table[Lookup("budget_notice")]
		for i, ch := range c.changes {
			c.changes[i] = "budget_notice." + ch
		}
		g := d.build(set(t, ProfileDefault, c.changes...).Get(d.Name).Values, Env{Limits: c.limits})
		var said []string
		for _, u := range c.turns {
			var d Decision
			g, d = g.Step(&event.TurnEnd{Head: event.Head{Turn: u.turn, At: u.at}, Calls: u.calls,
				Usage: model.Usage{Output: u.tokens}, Cost: event.Cost{Pico: u.pico, Known: true}})
			if d.Fired() {
				text, _, _ := strings.Cut(d.Feedback, " Do what matters")
				said = append(said, text)
				if d.Evidence == "" || d.Stop != nil || d.Act != "notice" {
					t.Errorf("%+v", d)
				}
			}
		}
		if got := strings.Join(said, "\n"); got != c.want {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// The limits in force are the tightest of the scenario's and the guards', these
// only where they are enforced.
func TestLimitsInForce(t *testing.T) {
	b := Backstop{Turns: 40, Calls: 300, MicroUSD: 7, Wall: time.Hour}
	for _, c := range []struct {
		changes []string
		want    Backstop
	}{
		{nil, b},
		{[]string{"limits=shadow", "run_deadline=shadow", "limits.turns=2"}, b},
		{[]string{"limits=enforce", "limits.tokens=900", "limits.cost=9"}, Backstop{Turns: 40, Calls: 200, Tokens: 900, MicroUSD: 7, Wall: time.Hour}},
		{[]string{"run_deadline=enforce"}, Backstop{Turns: 40, Calls: 300, MicroUSD: 7, Wall: 30 * time.Minute}},
	} {
		if got := inForce(set(t, ProfileNone, c.changes...), b); got != c.want {
			t.Errorf("%v: %+v", c.changes, got)
		}
	}
	if got := inForce(MustProfile(ProfileDefault), Backstop{}); got != (Backstop{Turns: 50, Calls: 200, Wall: 30 * time.Minute}) {
		t.Errorf("%+v", got)
	}
}
