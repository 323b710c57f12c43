package guard

import (
	"strings"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
)

// at makes a checkpoint at a time.
func at(next event.Next, d time.Duration) *event.Checkpoint {
	return &event.Checkpoint{Head: event.Head{Lane: "main", At: d}, Next: next}
}

func TestRunDeadline(t *testing.T) {
	const total = 30 * time.Minute
	for _, next := range []event.Next{event.NextTurn, event.NextModel, event.NextTool} {
		for _, tt := range []struct {
			at     time.Duration
			budget time.Duration // 0 = stop
		}{{0, total}, {total - time.Microsecond, time.Microsecond}, {total, 0}, {total + 1, 0}, {100 * total, 0}} {
			_, d := one(t, "run_deadline", Env{}).Step(at(next, tt.at))
			if tt.budget > 0 {
				if d.Fired() || d.Stop != nil || d.Budget != tt.budget {
					t.Errorf("%s at %s: %+v", next, tt.at, d)
				}
				continue
			}
			if d.Stop == nil || d.Act != "stop" || d.Stop.Reason != event.Deadline || d.Stop.Backstop || d.Budget != 0 ||
				!strings.Contains(d.Evidence, "30m0s") || !strings.Contains(d.Evidence, tt.at.String()) || d.Stop.Evidence != d.Evidence {
				t.Errorf("%s at %s: %+v %+v", next, tt.at, d, d.Stop)
			}
		}
	}
}

func TestToolDeadlineBudget(t *testing.T) {
	g := one(t, "tool_deadline", Env{})
	for next, want := range map[event.Next]time.Duration{event.NextTool: 120 * time.Second, event.NextModel: 0, event.NextTurn: 0} {
		if _, d := g.Step(at(next, time.Hour)); d.Budget != want || d.Fired() {
			t.Errorf("%s: %+v", next, d)
		}
	}
}

func TestToolDeadlineFires(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name                 string
		took, want, deadline time.Duration
		outcome              event.Outcome
		fires                bool
	}{
		{"well within", 5 * s, 5 * s, 120 * s, event.Success, false},
		{"one short of it", 120*s - 1, 120*s - 1, 120 * s, event.Success, false},
		{"exactly as long", 120 * s, 120 * s, 120 * s, event.Success, false},
		{"cut, declared longer", 120 * s, 120*s + 1, 120 * s, event.Timeout, true},
		{"cut, a write", 120 * s, 500 * s, 120 * s, event.UnknownOutcome, true},
		{"cut on a real clock, no declared time", 120 * s, 120 * s, 120 * s, event.Timeout, true},
		{"cut on a real clock, a microsecond early", 120*s - time.Microsecond, 120*s - time.Microsecond, 120 * s, event.Timeout, true},
		{"not enforced: uncapped and longer", 500 * s, 500 * s, 0, event.Success, true},
		{"not enforced: exactly as long", 120 * s, 120 * s, 0, event.Success, false},
		{"not enforced: one longer", 120*s + 1, 120*s + 1, 0, event.Success, true},
		{"cut earlier by the session's time", 30 * s, 500 * s, 30 * s, event.Timeout, false},
		{"not enforced, cut later by the session's time", 200 * s, 500 * s, 200 * s, event.Timeout, true},
		{"a tool's own timeout", 5 * s, 5 * s, 120 * s, event.Timeout, false},
		{"an outcome the tool itself does not know", 1 * s, 1 * s, 120 * s, event.UnknownOutcome, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := call("slow", "{}", "x")
			c.Took, c.Want, c.Deadline, c.Outcome = tt.took, tt.want, tt.deadline, tt.outcome
			_, d := one(t, "tool_deadline", Env{}).Step(c)
			if d.Fired() != tt.fires {
				t.Fatalf("%+v", d)
			}
			if tt.fires && (d.Act != "timeout" || d.On != "call_x" || !strings.Contains(d.Evidence, "2m0s") || d.HasRewrite || d.Stop != nil) {
				t.Errorf("%+v", d)
			}
		})
	}
}

// used makes a checkpoint at which so much is used.
func used(next event.Next, turns, calls int, tokens, microUSD int64) *event.Checkpoint {
	return &event.Checkpoint{Next: next, Turns: turns, Calls: calls, Usage: model.Usage{InputUncached: tokens},
		Cost: event.Cost{Pico: microUSD * 1_000_000, Known: true}}
}

func TestLimitsThresholds(t *testing.T) {
	changes := []string{"turns=50", "calls=200", "tokens=1000", "cost=70"}
	for _, tt := range []struct {
		name   string
		c      *event.Checkpoint
		reason event.Reason
	}{
		{"turn 50 may begin", used(event.NextTurn, 49, 0, 0, 0), ""},
		{"turn 51 may not", used(event.NextTurn, 50, 0, 0, 0), event.TurnLimit},
		{"far beyond", used(event.NextTurn, 5000, 0, 0, 0), event.TurnLimit},
		{"in turn 50 the model may be called", used(event.NextModel, 50, 0, 0, 0), ""},
		{"in turn 50 a tool may be called", used(event.NextTool, 50, 0, 0, 0), ""},
		{"call 200", used(event.NextTool, 1, 199, 0, 0), ""},
		{"call 201", used(event.NextTool, 1, 200, 0, 0), event.ToolCallLimit},
		{"the model may answer after call 200", used(event.NextModel, 1, 200, 0, 0), ""},
		{"a token left", used(event.NextModel, 1, 0, 999, 0), ""},
		{"no token left", used(event.NextModel, 1, 0, 1000, 0), event.TokenBudget},
		{"no token left at a turn's start", used(event.NextTurn, 1, 0, 1001, 0), event.TokenBudget},
		{"a tool needs no token", used(event.NextTool, 1, 0, 1001, 0), ""},
		{"money left", used(event.NextModel, 1, 0, 0, 69), ""},
		{"no money left", used(event.NextModel, 1, 0, 0, 70), event.CostBudget},
		{"no money left at a turn's start", used(event.NextTurn, 1, 0, 0, 71), event.CostBudget},
		{"all at once: turns first", used(event.NextTurn, 50, 200, 1000, 70), event.TurnLimit},
		{"all at once: tokens before cost", used(event.NextModel, 50, 200, 1000, 70), event.TokenBudget},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, d := one(t, "limits", Env{}, append([]string(nil), changes...)...).Step(tt.c)
			switch {
			case tt.reason == "" && (d.Fired() || d.Stop != nil):
				t.Errorf("%+v", d)
			case tt.reason != "" && (d.Stop == nil || d.Stop.Reason != tt.reason || d.Stop.Backstop || d.Evidence == "" || d.Act != "stop"):
				t.Errorf("%+v %+v", d, d.Stop)
			}
			b := Backstop{Turns: 50, Calls: 200, Tokens: 1000, MicroUSD: 70}
			_, d = b.Step(tt.c)
			if (d.Stop != nil) != (tt.reason != "") || d.Stop != nil && (d.Stop.Reason != tt.reason || !d.Stop.Backstop) {
				t.Errorf("the backstop: %+v", d.Stop)
			}
		})
	}
}

// Money is counted to the pico-USD: a micro-USD is not spent before it is.
func TestCostLimitIsExact(t *testing.T) {
	c := used(event.NextModel, 1, 0, 0, 0)
	c.Cost.Pico = 70*1_000_000 - 1
	if _, d := one(t, "limits", Env{}, "cost=70").Step(c); d.Stop != nil {
		t.Errorf("%+v", d.Stop)
	}
	c.Cost.Pico++
	if _, d := one(t, "limits", Env{}, "cost=70").Step(c); d.Stop == nil {
		t.Error("the budget is spent and nothing stops")
	}
}

func TestUnsetLimitsDoNotLimit(t *testing.T) {
	g := one(t, "limits", Env{}) // tokens and cost are unset by default
	for _, next := range []event.Next{event.NextTurn, event.NextModel, event.NextTool} {
		if _, d := g.Step(used(next, 10, 10, 1<<60, 1<<40)); d.Stop != nil {
			t.Errorf("%s: %+v", next, d.Stop)
		}
		if _, d := (&Backstop{}).Step(used(next, 1<<30, 1<<30, 1<<60, 1<<40)); d.Stop != nil || d.Budget != 0 {
			t.Errorf("%s: a backstop without limits: %+v", next, d)
		}
	}
}

func TestBackstopWall(t *testing.T) {
	b := Backstop{Wall: 10 * time.Minute}
	for _, next := range []event.Next{event.NextTurn, event.NextModel, event.NextTool} {
		if _, d := b.Step(at(next, 10*time.Minute-1)); d.Stop != nil || d.Budget != 1 {
			t.Errorf("%s: %+v", next, d)
		}
		if _, d := b.Step(at(next, 10*time.Minute)); d.Stop == nil || d.Stop.Reason != event.Deadline || !d.Stop.Backstop {
			t.Errorf("%s: %+v", next, d)
		}
	}
}

// Whatever an arm sets, the scenario's own limits hold, and what the arm sets
// only tightens them.
func TestNoSettingSwitchesTheBackstopOff(t *testing.T) {
	loose := []string{"limits.turns=1000000", "limits.calls=1000000", "limits.tokens=1000000000", "limits.cost=1000000000", "run_deadline.total=720h", "tool_deadline.per_call=24h"}
	back := Backstop{Turns: 5, Calls: 5, Tokens: 500, MicroUSD: 500, Wall: 5 * time.Minute}
	over := []*event.Checkpoint{
		used(event.NextTurn, 5, 0, 0, 0), used(event.NextTool, 1, 5, 0, 0), used(event.NextModel, 1, 0, 500, 0),
		used(event.NextModel, 1, 0, 0, 500), at(event.NextModel, 5*time.Minute), at(event.NextTool, 5*time.Minute),
	}
	for _, profile := range Profiles() {
		for _, mode := range []string{"limits=off", "limits=shadow", "limits=enforce"} {
			for i, c := range over {
				s := set(t, profile, append([]string{mode}, loose...)...)
				res, err := NewSet(s, back, Env{}).Step(c, &host{})
				if err != nil || res.Stop == nil || !res.Stop.Backstop {
					t.Errorf("%s %s, case %d: %+v %v", profile, mode, i, res.Stop, err)
				}
			}
			res, err := NewSet(set(t, profile, append([]string{mode}, loose...)...), back, Env{}).Step(at(event.NextTool, time.Minute), &host{})
			if err != nil || res.Budget != 4*time.Minute {
				t.Errorf("%s %s: a budget of %s", profile, mode, res.Budget)
			}
		}
	}
}

func TestLimitsTighten(t *testing.T) {
	back := Backstop{Turns: 20, Wall: 10 * time.Minute}
	s := set(t, ProfileDefault, "limits.turns=7", "run_deadline.total=2m", "tool_deadline.per_call=30s")
	h := &host{}
	res, err := NewSet(s, back, Env{}).Step(used(event.NextTurn, 7, 0, 0, 0), h)
	if err != nil || res.Stop == nil || res.Stop.Backstop || res.Stop.Reason != event.TurnLimit || h.acts() != "limits:enforce:stop" {
		t.Errorf("%+v %v %s", res.Stop, err, h.acts())
	}
	for elapsed, want := range map[time.Duration]time.Duration{0: 30 * time.Second, 100 * time.Second: 20 * time.Second} {
		res, err = NewSet(s, back, Env{}).Step(at(event.NextTool, elapsed), &host{})
		if err != nil || res.Budget != want {
			t.Errorf("at %s a tool may take %s, want %s", elapsed, res.Budget, want)
		}
	}
	res, err = NewSet(s, back, Env{}).Step(at(event.NextModel, 100*time.Second), &host{})
	if err != nil || res.Budget != 20*time.Second {
		t.Errorf("the model may take %s", res.Budget)
	}
}

// Stops due at one checkpoint: deadline, turns, calls, tokens, cost, whoever
// wants them.
func TestPriorityOfDueStops(t *testing.T) {
	c := used(event.NextTurn, 50, 200, 1000, 1000)
	c.At = 30 * time.Minute
	all := set(t, ProfileDefault, "limits.tokens=1000", "limits.cost=1000")
	for _, tt := range []struct {
		name     string
		s        Settings
		back     Backstop
		c        *event.Checkpoint
		reason   event.Reason
		backstop bool
	}{
		{"the deadline is first", all, Backstop{}, c, event.Deadline, false},
		{"then turns", set(t, ProfileDefault, "run_deadline=off", "limits.tokens=1000"), Backstop{}, c, event.TurnLimit, false},
		{"the scenario's deadline precedes the arm's turns", set(t, ProfileDefault, "run_deadline=off"), Backstop{Wall: time.Minute}, c, event.Deadline, true},
		{"turns precede calls", set(t, ProfileDefault, "run_deadline=off", "limits.tokens=1000"), Backstop{}, used(event.NextTurn, 50, 200, 1000, 0), event.TurnLimit, false},
		{"calls precede tokens", set(t, ProfileDefault, "run_deadline=off", "limits.turns=1000", "limits.tokens=1000"), Backstop{}, c, event.ToolCallLimit, false},
		{"the scenario's turns precede the arm's tokens", set(t, ProfileDefault, "run_deadline=off", "limits.turns=1000", "limits.tokens=1000"), Backstop{Turns: 10}, c, event.TurnLimit, true},
		{"of two deadlines the arm's is told", all, Backstop{Wall: time.Minute}, c, event.Deadline, false},
		{"the scenario's tokens precede the arm's cost", set(t, ProfileDefault, "run_deadline=off", "limits.turns=1000", "limits.calls=1000", "limits.cost=1000"), Backstop{Tokens: 10}, c, event.TokenBudget, true},
		{"the arm's tokens precede the scenario's cost", set(t, ProfileDefault, "run_deadline=off", "limits.turns=1000", "limits.calls=1000", "limits.tokens=1000"), Backstop{MicroUSD: 10}, c, event.TokenBudget, false},
		{"the arm's calls precede the scenario's", set(t, ProfileDefault, "run_deadline=off"), Backstop{Calls: 200}, used(event.NextTool, 1, 200, 0, 0), event.ToolCallLimit, false},
		{"a shadow stop is none", set(t, ProfileDefault, "run_deadline=shadow", "limits=shadow"), Backstop{Tokens: 10}, c, event.TokenBudget, true},
	} {
		res, err := NewSet(tt.s, tt.back, Env{}).Step(tt.c, &host{})
		if err != nil || res.Stop == nil || res.Stop.Reason != tt.reason || res.Stop.Backstop != tt.backstop {
			t.Errorf("%s: %+v %v", tt.name, res.Stop, err)
		}
	}
}
