package trial

import (
	"slices"
	"strings"
	"time"

	"github.com/harnessbench/harnessbench/graders"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/results"
)

// Tee is a Sink that hands every event to each of its sinks, in order; the first
// error ends it.
type Tee []event.Sink

// Emit implements event.Sink.
func (t Tee) Emit(ev event.Event) error {
	for _, s := range t {
		if err := s.Emit(ev); err != nil {
			return err
		}
	}
	return nil
}

// Tally is a Sink that counts what tables and graders need to know of a session.
type Tally struct {
	ModelTime, WaitTime time.Duration
	ToolTime            time.Duration  // of calls that ran at once that of the longest
	Answers             int            // model calls that were answered
	Calls               []graders.Call // unless CountOnly
	ToolCalls           int            // calls with a result
	CountOnly           bool           // nobody asks what the calls were
	Firings             []event.Guard
	LastError           *model.Error // of the last attempt, when no answer followed

	clock time.Duration // when the last call of the batch was over; before the first, when it was asked for
}

// Emit implements event.Sink.
func (t *Tally) Emit(ev event.Event) error {
	switch ev := ev.(type) {
	case *event.Attempt:
		t.ModelTime += ev.Took
		t.WaitTime += ev.Wait
		t.LastError = nil
		if ev.Resp != nil {
			t.Answers++
		}
		if ev.Err != nil {
			e := *ev.Err
			t.LastError = &e
		}
	case *event.Response:
		t.ModelTime += ev.Took
		t.Answers++
		t.LastError = nil
	case *event.ToolRequest:
		t.clock = ev.At
	case *event.ToolResult:
		t.ToolTime += ev.At - t.clock
		t.clock = ev.At
		t.ToolCalls++
		if t.CountOnly {
			return nil
		}
		t.Calls = append(t.Calls, graders.Call{Turn: ev.Turn, Tool: ev.Call.Name, Args: ev.Args, Outcome: string(ev.Outcome)})
	case *event.Guard:
		t.Firings = append(t.Firings, *ev)
	}
	return nil
}

// GuardCounts says for every guard in force how often it fired, by table order
// of their names.
func (t *Tally) GuardCounts(set guard.Settings) []results.GuardCount {
	var out []results.GuardCount
	for _, name := range guard.Names() {
		mode := set.Mode(name)
		if mode == guard.Off {
			continue
		}
		c := results.GuardCount{Guard: name, Mode: string(mode)}
		for i := range t.Firings {
			if t.Firings[i].Name != name {
				continue
			}
			if c.Fired == 0 {
				turn := t.Firings[i].Turn
				c.FirstTurn = &turn
			}
			c.Fired++
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b results.GuardCount) int { return strings.Compare(a.Guard, b.Guard) })
	return out
}
