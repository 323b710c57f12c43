package guard

import (
	"fmt"
	"math/bits"
	"strings"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/internal/mutant"
)

// inForce is what bounds a session: the tightest of the scenario's own limits and
// those of limits and run_deadline, where these are enforced.
func inForce(s Settings, b Backstop) Backstop {
	if s.Mode("limits") == Enforce {
		p := func(name string) int64 { return s.Param("limits", name) }
		b.Turns, b.Calls = bound(b.Turns, p("turns")), bound(b.Calls, p("calls"))
		b.Tokens, b.MicroUSD = bound(b.Tokens, p("tokens")), bound(b.MicroUSD, p("cost"))
	}
	if s.Mode("run_deadline") == Enforce {
		b.Wall = time.Duration(bound(int64(b.Wall), s.Param("run_deadline", "total")))
	}
	return b
}

// bound is the smaller of two limits of which zero is none.
func bound(a, b int64) int64 {
	if a <= 0 || b > 0 && b < a {
		return b
	}
	return a
}

// budgetNotice says what is left, once each time the tightest limit passes a
// share. It speaks at the end of a turn, and no more once a limit is used up: the
// session is at its end then.
type budgetNotice struct {
	shares [2]int64 // percent
	limits Backstop
	said   int // notices that were due so far
}

func newBudgetNotice(v []int64, env Env) Guard {
	return &budgetNotice{shares: [2]int64{v[0], v[1]}, limits: env.Limits}
}

func (*budgetNotice) Listens() event.Kind { return event.KindTurnEnd }

// budget is one limited thing.
type budget struct {
	name        string
	used, limit int64 // limit 0 = not limited
	format      func(int64) string
}

func (b *budgetNotice) budgets(t *event.TurnEnd) [5]budget {
	plain := func(n int64) string { return fmt.Sprint(n) }
	usd := func(n int64) string { return fmt.Sprintf("%d.%06d", n/1_000_000, n%1_000_000) }
	span := func(n int64) string { return time.Duration(n).String() }
	cost := t.Cost.Pico / 1_000_000
	if t.Cost.Pico%1_000_000 > 0 {
		cost++ // what is left is rounded down
	}
	return [5]budget{
		{"turns", int64(t.Turn), b.limits.Turns, plain},
		{"tool calls", int64(t.Calls), b.limits.Calls, plain},
		{"tokens", t.Usage.Total(), b.limits.Tokens, plain},
		{"USD", cost, b.limits.MicroUSD, usd},
		{"time", int64(t.At), int64(b.limits.Wall), span},
	}
}

func (b *budgetNotice) Step(ev event.Event) (Guard, Decision) {
	t, ok := ev.(*event.TurnEnd)
	if !ok || b.said == len(b.shares) {
		return b, Decision{}
	}
	all := b.budgets(t)
	due, tightest, most := 0, -1, uint64(0)
	for i := range all {
		l := &all[i]
		if l.limit <= 0 {
			continue
		}
		if l.used >= l.limit {
			return b, Decision{}
		}
		if share := perMyriad(l.used, l.limit); tightest < 0 || share > most {
			tightest, most = i, share
		}
	}
	if tightest < 0 {
		return b, Decision{}
	}
	for _, percent := range b.shares {
		if most >= uint64(percent)*100 {
			due++
		}
	}
	if due <= b.said {
		return b, Decision{}
	}
	next := *b
	next.said = due
	return &next, notice(all[:], tightest, most/100)
}

// perMyriad is how many ten-thousandths of limit are used, rounded down; used is
// less than limit.
func perMyriad(used, limit int64) uint64 {
	hi, lo := bits.Mul64(uint64(max(used, 0)), 10_000)
	share, _ := bits.Div64(hi, lo, uint64(limit))
	return share
}

// notice says which limit is the tightest and what is left of all.
func notice(all []budget, tightest int, percent uint64) Decision {
	var left []string
	for i := range all {
		l := &all[i]
		if l.limit <= 0 {
			continue
		}
		rest := l.limit - l.used
		if mutant.Is("budget_notice") {
			rest--
		}
		left = append(left, fmt.Sprintf("%s of %s %s", l.format(rest), l.format(l.limit), l.name))
	}
	l := &all[tightest]
	return Decision{Act: "notice", Evidence: fmt.Sprintf("%s of %s %s used", l.format(l.used), l.format(l.limit), l.name),
		Feedback: fmt.Sprintf("%d%% of your budget of %s is used. What is left: %s. Do what matters most now, and answer before it runs out.",
			percent, l.name, strings.Join(left, ", "))}
}
