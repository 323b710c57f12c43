package guard

import (
	"fmt"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/internal/mutant"
)

// toolDeadline bounds every tool call.
type toolDeadline struct{ perCall time.Duration }

func newToolDeadline(v []int64, _ Env) Guard { return &toolDeadline{time.Duration(v[0])} }

func (*toolDeadline) Listens() event.Kind { return event.KindCheckpoint | event.KindToolResult }

func (t *toolDeadline) Step(ev event.Event) (Guard, Decision) {
	switch ev := ev.(type) {
	case *event.Checkpoint:
		if ev.Next == event.NextTool {
			return t, Decision{Budget: t.perCall}
		}
	case *event.ToolResult:
		// Declared durations say what the call would have taken; a real one that
		// was cut only says that it was, by this deadline. A tool that gave up by
		// itself was not cut: the time that passed tells them apart, to the
		// microsecond to which a real clock measures.
		cut := ev.Deadline == t.perCall && ev.Took+time.Microsecond >= t.perCall &&
			(ev.Outcome == event.Timeout || ev.Outcome == event.UnknownOutcome)
		if (cut || ev.Want > t.perCall && ev.Took >= t.perCall) && !mutant.Is("tool_deadline") {
			return t, Decision{Act: "timeout", On: ev.Call.ID, Evidence: "longer than " + t.perCall.String()}
		}
	}
	return t, Decision{}
}

// runDeadline bounds the session.
type runDeadline struct{ total time.Duration }

func newRunDeadline(v []int64, _ Env) Guard { return &runDeadline{time.Duration(v[0])} }

func (*runDeadline) Listens() event.Kind { return event.KindCheckpoint }

func (r *runDeadline) Step(ev event.Event) (Guard, Decision) {
	c, ok := ev.(*event.Checkpoint)
	if !ok || mutant.Is("run_deadline") && c.Next == event.NextTurn {
		return r, Decision{}
	}
	return r, overTime(c, r.total, false)
}

// overTime stops when the session's time is up and otherwise hands out what is
// left of it.
func overTime(c *event.Checkpoint, total time.Duration, backstop bool) Decision {
	if left := total - c.At; left > 0 {
		return Decision{Budget: left}
	}
	return stopAt(event.Deadline, fmt.Sprintf("%s of %s used", c.At, total), backstop)
}

func stopAt(reason event.Reason, evidence string, backstop bool) Decision {
	return Decision{Act: "stop", Evidence: evidence, Stop: &Stop{Reason: reason, Evidence: evidence, Backstop: backstop}}
}

// limits bound turns, calls, tokens and cost. Zero tokens or cost = unset.
type limits struct {
	turns, calls, tokens, microUSD int64
}

func newLimits(v []int64, _ Env) Guard { return &limits{v[0], v[1], v[2], v[3]} }

func (*limits) Listens() event.Kind { return event.KindCheckpoint }

func (l *limits) Step(ev event.Event) (Guard, Decision) {
	c, ok := ev.(*event.Checkpoint)
	if !ok {
		return l, Decision{}
	}
	if mutant.Is("limits") && c.Turns > 0 {
		late := *c
		late.Turns--
		c = &late
	}
	return l, l.judge(c, false)
}

// judge checks what the next step would exceed.
func (l *limits) judge(c *event.Checkpoint, backstop bool) Decision {
	switch {
	case c.Next == event.NextTurn && l.turns > 0 && int64(c.Turns) >= l.turns:
		return stopAt(event.TurnLimit, fmt.Sprintf("%d turns", c.Turns), backstop)
	case c.Next != event.NextModel && l.calls > 0 && int64(c.Calls) >= l.calls:
		return stopAt(event.ToolCallLimit, fmt.Sprintf("%d tool calls", c.Calls), backstop)
	case c.Next != event.NextTool && l.tokens > 0 && c.Usage.Total() >= l.tokens:
		return stopAt(event.TokenBudget, fmt.Sprintf("%d of %d tokens", c.Usage.Total(), l.tokens), backstop)
	case c.Next != event.NextTool && l.microUSD > 0 && c.Cost.Pico >= l.microUSD*1_000_000:
		return stopAt(event.CostBudget, fmt.Sprintf("%d of %d micro-USD", c.Cost.Pico/1_000_000, l.microUSD), backstop)
	}
	return Decision{}
}

// Backstop is the scenario's own limits. It is in force in every arm; zero
// fields do not limit.
type Backstop struct {
	Turns    int64
	Calls    int64
	Tokens   int64
	MicroUSD int64
	Wall     time.Duration
}

// Listens implements Guard.
func (*Backstop) Listens() event.Kind { return event.KindCheckpoint }

// Step implements Guard.
func (b *Backstop) Step(ev event.Event) (Guard, Decision) {
	c, ok := ev.(*event.Checkpoint)
	if !ok {
		return b, Decision{}
	}
	var d Decision
	if b.Wall > 0 {
		if d = overTime(c, b.Wall, true); d.Stop != nil {
			return b, d
		}
	}
	own := limits{b.Turns, b.Calls, b.Tokens, b.MicroUSD}
	l := own.judge(c, true)
	if l.Stop != nil {
		return b, l
	}
	return b, d
}
