package guard

import (
	"fmt"
	"strings"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/internal/mutant"
)

// budgetNotice tells the model at two shares of its tightest limit what is left
// of each. It speaks at the end of a round, when what the turn took is known:
// whoever has answered needs no notice.
type budgetNotice struct {
	first, second int64 // per cent
	limits        Backstop

	turns, calls, tokens, pico int64 // used so far
	said                       int   // notices
}

func newBudgetNotice(v []int64, env Env) Guard {
	return &budgetNotice{first: min(v[0], v[1]), second: v[1], limits: env.Limits}
}

func (*budgetNotice) Listens() event.Kind {
	return event.KindCheckpoint | event.KindResponse | event.KindToolResult | event.KindRound
}

func (b *budgetNotice) Step(ev event.Event) (Guard, Decision) {
	if b.said == 2 {
		return b, Decision{}
	}
	next := *b
	switch ev := ev.(type) {
	case *event.Checkpoint:
		if ev.Next != event.NextModel {
			return b, Decision{}
		}
		next.turns, next.calls, next.tokens, next.pico = int64(ev.Turns), int64(ev.Calls), ev.Usage.Total(), ev.Cost.Pico
	case *event.Response:
		next.tokens += ev.Resp.Usage.Total()
		next.pico += ev.Cost.Pico
	case *event.ToolResult:
		if !ran(ev) {
			return b, Decision{}
		}
		next.calls++
	case *event.Round:
		return b.judge(ev.At)
	}
	return &next, Decision{}
}

// ran reports whether a call was executed: one with a problem, or one that came
// too late, is none that a limit counts.
func ran(r *event.ToolResult) bool {
	switch r.Outcome {
	case event.ValidationFailed, event.UnknownTool, event.PermissionDenied, event.ApprovalRequired:
		return false
	case event.Cancelled:
		return r.Raw != event.NotRun
	}
	return true
}

// judge speaks when a threshold was passed that was not spoken of yet; of two that
// were passed at once, the later one.
func (b *budgetNotice) judge(at time.Duration) (Guard, Decision) {
	share, what := b.tightest(at)
	said := b.said
	switch {
	case share >= b.second && !mutant.Is("budget_notice"):
		said = 2
	case share >= b.first:
		said = 1
	}
	if said == b.said {
		return b, Decision{}
	}
	next := *b
	next.said = said
	return &next, Decision{Act: "notice", Evidence: fmt.Sprintf("%d %% of %s used", share, what),
		Feedback: fmt.Sprintf("Notice: %d %% of the %s of this session are used. What is left: %s. Do what matters most first, and answer before it runs out.",
			share, what, strings.Join(b.left(at), ", "))}
}

// tightest is the largest used share among the limits, in whole per cent, and what
// it is of. Of equal ones the first in the order of the table of limits.
func (b *budgetNotice) tightest(at time.Duration) (share int64, what string) {
	for _, l := range b.all(at) {
		// Shares beyond the limit do not matter, and the product must not wrap.
		used := min(l.used, l.limit)
		if s := percent(used, l.limit); l.limit > 0 && s > share {
			share, what = s, l.name
		}
	}
	return share, what
}

func percent(used, limit int64) int64 {
	switch {
	case limit <= 0:
		return 0
	case limit > 1<<50:
		return used / (limit / 100)
	}
	return used * 100 / limit
}

type budget struct {
	name        string
	used, limit int64
	show        func(left, limit int64) string
}

func (b *budgetNotice) all(at time.Duration) [5]budget {
	plain := func(unit string) func(left, limit int64) string {
		return func(left, limit int64) string { return fmt.Sprintf("%d of %d %s", left, limit, unit) }
	}
	return [5]budget{
		{"turns", b.turns, b.limits.Turns, plain("turns")},
		{"tool calls", b.calls, b.limits.Calls, plain("tool calls")},
		{"tokens", b.tokens, b.limits.Tokens, plain("tokens")},
		{"money", b.pico / 1_000_000, b.limits.MicroUSD, func(left, limit int64) string {
			return fmt.Sprintf("%.6f of %.6f USD", float64(left)/1e6, float64(limit)/1e6)
		}},
		{"time", at.Microseconds(), b.limits.Wall.Microseconds(), func(left, limit int64) string {
			us := func(v int64) time.Duration { return (time.Duration(v) * time.Microsecond).Truncate(time.Second) }
			return fmt.Sprintf("%s of %s", us(left), us(limit))
		}},
	}
}

func (b *budgetNotice) left(at time.Duration) []string {
	var out []string
	for _, l := range b.all(at) {
		if l.limit > 0 {
			out = append(out, l.show(max(l.limit-l.used, 0), l.limit))
		}
	}
	return out
}

// inForce are the limits of a session: the scenario's, and those that the guards
// limits and run_deadline tighten where they are enforced.
func inForce(s Settings, b Backstop) Backstop {
	tighten := func(own *int64, more int64) {
		if more > 0 && (*own <= 0 || more < *own) {
			*own = more
		}
	}
	if s.Mode("limits") == Enforce {
		tighten(&b.Turns, s.Param("limits", "turns"))
		tighten(&b.Calls, s.Param("limits", "calls"))
		tighten(&b.Tokens, s.Param("limits", "tokens"))
		tighten(&b.MicroUSD, s.Param("limits", "cost"))
	}
	if s.Mode("run_deadline") == Enforce {
		wall := int64(b.Wall)
		tighten(&wall, s.Param("run_deadline", "total"))
		b.Wall = time.Duration(wall)
	}
	return b
}
