package guard

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/internal/mutant"
	"github.com/harnessbench/harnessbench/loop/model"
)

// goalReminder keeps the task in sight of a model that goes on without getting
// anywhere. It counts turns without new evidence, and after each so many of them
// takes another step:
//
//  1. remind: the task again, what it is checked by, what was found missing last,
//     and the smallest next step.
//  2. gap: what is missing and what was tried in vain.
//  3. narrow: until there is new evidence, a call that was made since the last one
//     and brought none is denied. Other arguments and other tools stay open.
//  4. pause: the session stops.
//
// New evidence takes it back to the beginning. It is a result of a tool that was
// not among the last 16 different ones, whatever the tool; a changed file; a
// successful outside effect that was not among these either, by operation and
// result; another reason for which acceptance rejects; a check that passes; and
// what a user says.
// A result older than these 16 counts as new again: then the reminder comes late,
// never wrongly.
type goalReminder struct {
	goal  *goal // of the session: shared by all states, never changed
	every int64

	idle  int64 // turns without new evidence
	fresh bool  // this turn has brought some
	seen  ring  // results
	vain  ring  // operations since the last new evidence that brought none
	tried [maxTried]uint16
	fail  [160]byte // for what acceptance rejected last, cut; zeros after it
}

// goal is what there is to remind of.
type goal struct {
	tools    []string
	task     string
	contract []string
}

const (
	ringSize = 16
	maxTried = 32 // tools whose calls are counted; those behind are not named
	maxTask  = 1500
	maxTerms = 8 // conditions that are named
)

// ring keeps the last fingerprints that were added.
type ring struct {
	last [ringSize]fingerprint
	n    int
}

func (r *ring) has(f fingerprint) bool { return slices.Contains(r.last[:min(r.n, ringSize)], f) }

func (r *ring) add(f fingerprint) {
	if !r.has(f) {
		r.last[r.n%ringSize] = f
		r.n++
	}
}

func newGoalReminder(v []int64, env Env) Guard {
	g := &goal{tools: slices.Clone(env.Tools), task: Head(strings.TrimSpace(env.Task), maxTask)}
	if len(g.task) < len(strings.TrimSpace(env.Task)) {
		g.task += " [...]"
	}
	for _, c := range env.Contract[:min(len(env.Contract), maxTerms)] {
		g.contract = append(g.contract, Head(c, 200))
	}
	return &goalReminder{goal: g, every: v[0]}
}

func (*goalReminder) Listens() event.Kind {
	return event.KindToolResult | event.KindCandidate | event.KindPart | event.KindTurnEnd
}

// Step copies the state, of almost 1 KiB, only where it changes.
func (g *goalReminder) Step(ev event.Event) (Guard, Decision) {
	switch ev := ev.(type) {
	case *event.ToolResult:
		if ran(ev.Outcome) {
			next := *g
			next.result(ev)
			return &next, Decision{}
		}
	case *event.Part:
		if ev.Why == "user" && !g.fresh {
			next := *g
			next.fresh = true
			return &next, Decision{}
		}
	case *event.Candidate:
		if ev.Checked {
			next := *g
			next.fail = [len(g.fail)]byte{}
			copy(next.fail[:], Head(ev.Fail, len(next.fail)))
			next.fresh = g.fresh || ev.Fail == "" || next.fail != g.fail
			return &next, Decision{}
		}
	case *event.TurnEnd:
		if g.fresh {
			return &goalReminder{goal: g.goal, every: g.every, seen: g.seen, fail: g.fail}, Decision{}
		}
		next := *g
		next.idle++
		return &next, next.judge()
	}
	return g, Decision{}
}

// ran reports whether a result is what a tool said.
func ran(o event.Outcome) bool {
	return o == event.Success || o == event.ToolError || o == event.BackgroundAccepted
}

// result takes one call in.
func (g *goalReminder) result(r *event.ToolResult) {
	var key, op fingerprint
	copy(op[:], r.ReqDigest[:])
	copy(key[:], r.RawDigest[:])
	if r.Effect == event.External && r.Outcome == event.Success {
		sum := sha256.Sum256(append(r.ReqDigest[:], r.RawDigest[:]...))
		copy(key[:], sum[:])
	}
	if len(r.Delta) > 0 || !g.seen.has(key) {
		g.fresh = true
		g.seen.add(key)
		return
	}
	g.vain.add(op)
	if i := slices.Index(g.goal.tools, r.Call.Name); i >= 0 && i < maxTried && g.tried[i] < 1<<16-1 {
		g.tried[i]++
	}
}

// denies implements closer.
func (g *goalReminder) denies(op model.Digest) (string, bool) {
	var f fingerprint
	copy(f[:], op[:])
	if g.idle < 3*g.every || !g.vain.has(f) {
		return "", false
	}
	return "this very call has brought nothing new before and is closed until something else does; use other arguments or another tool", true
}

func (g *goalReminder) judge() Decision {
	idle := g.idle
	if mutant.Is("goal_reminder") {
		idle--
	}
	if idle <= 0 || idle%g.every != 0 {
		return Decision{}
	}
	evidence := fmt.Sprintf("%d turns without new evidence", g.idle)
	switch idle / g.every {
	case 1:
		return Decision{Act: "remind", Evidence: evidence, Feedback: paragraphs(
			fmt.Sprintf("The last %d turns have brought nothing new. Your task is:", g.idle), g.goal.task, g.terms(), g.unmet(), g.step())}
	case 2:
		return Decision{Act: "gap", Evidence: evidence, Feedback: paragraphs(
			fmt.Sprintf("Still nothing new after %d turns, and your task is open.", g.idle), g.terms(), g.unmet(), g.attempts(), g.step())}
	case 3:
		return Decision{Act: "narrow", Evidence: evidence, Feedback: paragraphs(
			fmt.Sprintf("Nothing new after %d turns. Until there is, calls that you have made in vain are closed: only other arguments or other tools are open. Your task is still:", g.idle),
			Head(g.goal.task, 400), g.unmet(), g.step())}
	}
	return Decision{Act: "pause", Evidence: evidence, Stop: &Stop{Reason: event.PolicyStopped, Evidence: evidence}}
}

// paragraphs joins what there is to say, an empty line between.
func paragraphs(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n\n")
}

func (g *goalReminder) terms() string {
	if len(g.goal.contract) == 0 {
		return ""
	}
	return "It is done when all of this holds:\n- " + strings.Join(g.goal.contract, "\n- ")
}

func (g *goalReminder) reason() string { return strings.TrimRight(string(g.fail[:]), "\x00") }

func (g *goalReminder) unmet() string {
	if r := g.reason(); r != "" {
		return "What was found missing last: " + r
	}
	return ""
}

// step names the smallest next step: what was found missing last, else the first
// condition.
func (g *goalReminder) step() string {
	what := "make the one call that brings you closest to it, or answer with what you have."
	switch {
	case g.reason() != "":
		what = "do what was found missing, and nothing else."
	case len(g.goal.contract) > 0:
		what = "whatever it takes for this to hold: " + g.goal.contract[0]
	}
	return "The smallest next step: " + what
}

// attempts says which tools were called in vain, most often first.
func (g *goalReminder) attempts() string {
	var order []int
	for i, n := range g.tried {
		if n > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(g.tried[b]) - int(g.tried[a]) })
	var out []string
	for _, i := range order[:min(len(order), 5)] {
		out = append(out, fmt.Sprintf("%s (%d)", Head(g.goal.tools[i], 64), g.tried[i]))
	}
	if len(out) == 0 {
		return ""
	}
	return "Tried since then, without anything new: " + strings.Join(out, ", ") + "."
}
