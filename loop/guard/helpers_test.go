package guard

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
)

// host is a Host that remembers; spillErr makes every spill fail.
type host struct {
	fired    []event.Guard
	spilled  map[string]string
	spillErr error
	firedErr error
}

func (h *host) Spill(s *Spill) error {
	if h.spillErr != nil {
		return h.spillErr
	}
	if h.spilled == nil {
		h.spilled = map[string]string{}
	}
	if _, ok := h.spilled[s.Path]; ok {
		return errors.New("written twice: " + s.Path)
	}
	h.spilled[s.Path] = s.Data
	return nil
}

func (h *host) Fired(g *event.Guard) error {
	h.fired = append(h.fired, *g)
	return h.firedErr
}

// acts lists what fired as name:mode:act.
func (h *host) acts() string {
	var out []string
	for _, g := range h.fired {
		out = append(out, g.Name+":"+g.Mode+":"+g.Act)
	}
	return strings.Join(out, " ")
}

// set is a profile with changes, each "guard=mode" or "guard.param=value".
func set(t testing.TB, profile string, changes ...string) Settings {
	t.Helper()
	s := MustProfile(profile)
	for _, c := range changes {
		key, val, _ := strings.Cut(c, "=")
		var err error
		if name, param, ok := strings.Cut(key, "."); ok {
			s, err = s.WithParam(name, param, val)
		} else {
			s, err = s.With(key, Mode(val))
		}
		if err != nil {
			t.Fatalf("%s: %v", c, err)
		}
	}
	return s
}

// one builds a single guard with changed parameters ("param=value").
func one(t testing.TB, name string, env Env, changes ...string) Guard {
	t.Helper()
	for i, c := range changes {
		changes[i] = name + "." + c
	}
	d := &Table[Lookup(name)]
	if env.Limits == (Backstop{}) {
		env.Limits = Backstop{Turns: 50}
	}
	return d.build(set(t, ProfileDefault, changes...).Get(name).Values, env)
}

// call makes a result of a call; equal (name, args, raw) are equal operations.
func call(name, args, raw string) *event.ToolResult {
	return &event.ToolResult{
		Head: event.Head{Lane: event.MainLane, Turn: 1}, Call: model.ToolCall{ID: "call_x", Name: name, Args: args},
		Args: args, ReqDigest: model.SumString(name + "\x00" + args), Effect: event.Read, Outcome: event.Success,
		Raw: raw, RawDigest: model.SumString(raw), Shown: raw,
	}
}

// round steps a guard over a batch and its end and returns the last decision.
func round(t testing.TB, g Guard, calls ...*event.ToolResult) (Guard, Decision) {
	t.Helper()
	for i, c := range calls {
		c.Index = i
		c.Call.ID = fmt.Sprintf("call_%p_%d", c, i) // ids must not matter
		var d Decision
		if g, d = g.Step(c); d.Fired() {
			t.Fatalf("fired on a result: %+v", d)
		}
	}
	return g.Step(&event.Round{N: len(calls)})
}

// turnEnd ends a turn in which as many calls were made as there were turns.
func turnEnd(turn int) *event.TurnEnd {
	return &event.TurnEnd{Head: event.Head{Lane: event.MainLane, Turn: turn}, Calls: turn}
}

// randomEvent makes any event that guards listen to.
func randomEvent(rnd *rand.Rand) event.Event {
	h := event.Head{Lane: "main", Turn: rnd.IntN(60), At: time.Duration(rnd.IntN(40)) * time.Minute}
	switch rnd.IntN(6) {
	case 0:
		next := []event.Next{event.NextTurn, event.NextModel, event.NextTool}[rnd.IntN(3)]
		return &event.Checkpoint{Head: h, Next: next, Turns: rnd.IntN(60), Calls: rnd.IntN(220),
			Usage: model.Usage{Output: int64(rnd.IntN(1000))}, Cost: event.Cost{Pico: rnd.Int64N(1e9), Known: true}}
	case 1:
		return &event.Candidate{Head: h, Empty: rnd.IntN(2) == 0, Checked: rnd.IntN(2) == 0, Fail: []string{"", "no file"}[rnd.IntN(2)]}
	case 2:
		return &event.Round{Head: h, N: 1}
	case 3:
		return &event.TurnEnd{Head: h, Calls: rnd.IntN(220), Usage: model.Usage{Output: int64(rnd.IntN(1000))}}
	default:
		r := call([]string{"grep", "read_file", "gerp"}[rnd.IntN(3)], "{}", strings.Repeat("x", rnd.IntN(3)*20_000))
		r.Head = h
		r.Outcome = []event.Outcome{event.Success, event.UnknownTool, event.Timeout, event.ToolError}[rnd.IntN(4)]
		r.Want, r.Took, r.Deadline = time.Duration(rnd.IntN(300))*time.Second, 120*time.Second, 120*time.Second
		return r
	}
}
