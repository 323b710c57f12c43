package guard

import (
	"crypto/sha256"
	"fmt"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/internal/mutant"
)

// monotony counts rounds in which every call is of one and the same tool,
// whatever its arguments and results: a model that only ever greps has stopped
// thinking of anything else. A batch is one round, and a round of several tools
// begins a new count.
type monotony struct {
	nudge, abort int64

	tool  fingerprint // of the run of rounds
	run   int64       // rounds in a row
	cur   fingerprint // of the round being collected
	mixed bool        // it has calls of several tools
	calls int         // in it
}

func newMonotony(v []int64, _ Env) Guard { return &monotony{nudge: v[0], abort: v[1]} }

func (*monotony) Listens() event.Kind { return event.KindToolResult | event.KindRound }

func (m *monotony) Step(ev event.Event) (Guard, Decision) {
	next := *m
	switch ev := ev.(type) {
	case *event.ToolResult:
		sum := sha256.Sum256([]byte(ev.Call.Name))
		copy(next.cur[:], sum[:])
		next.mixed = m.mixed || m.calls > 0 && next.cur != m.cur
		next.calls++
		return &next, Decision{}
	case *event.Round:
		if m.calls == 0 {
			return m, Decision{}
		}
		next.close()
		return &next, next.judge()
	}
	return m, Decision{}
}

// close takes the collected round into the count.
func (m *monotony) close() {
	switch {
	case m.mixed:
		m.run = 0
	case m.run > 0 && m.cur == m.tool:
		m.run++
	default:
		m.tool, m.run = m.cur, 1
	}
	m.cur, m.mixed, m.calls = fingerprint{}, false, 0
}

func (m *monotony) judge() Decision {
	what := fmt.Sprintf("%d rounds of one tool", m.run)
	late := int64(0)
	if mutant.Is("monotony") {
		late = 1
	}
	switch {
	case m.run >= m.abort:
		return stuckStop(what)
	case m.run == m.nudge+late:
		return Decision{Act: "nudge", Evidence: what,
			Feedback: fmt.Sprintf("You have called one and the same tool for %d steps. Take stock of what you know, then use another tool, or give your answer now.", m.run)}
	}
	return Decision{}
}
