package guard

import (
	"fmt"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/internal/mutant"
)

// goalReminder brings back a model that goes on without coming nearer. Evidence is
// a successful result not seen before in this conversation, a changed file, or a
// check that gives another reason than last time. Turns without any are counted;
// every so many of them the guard goes one step further:
//
//  1. it presents the task again, what is unmet, and the smallest next step;
//  2. it says what is missing and that nothing new was found;
//  3. until there is evidence, operations that were tried since the last are denied;
//  4. it pauses the session.
//
// Evidence begins it anew.
type goalReminder struct {
	every int64

	idle   int64 // turns without evidence
	step   int   // taken since the last evidence
	news   bool  // there was evidence in this turn
	failed bool  // a check has been made and has failed
	unmet  reason

	seen   [16]fingerprint // the latest results, a ring: an older one counts as new again
	nSeen  int
	tried  [16]fingerprint // operations since the last evidence, likewise
	nTried int
}

// reason is a check's reason, cut, in constant space.
type reason struct {
	n    uint8
	text [200]byte
}

func newGoalReminder(v []int64, _ Env) Guard { return &goalReminder{every: v[0]} }

func (*goalReminder) Listens() event.Kind {
	return event.KindToolRequest | event.KindToolResult | event.KindCandidate | event.KindRound
}

// The steps.
const (
	remind = 1 + iota
	sumUp
	narrow
	pause
)

func (g *goalReminder) Step(ev event.Event) (Guard, Decision) {
	switch ev := ev.(type) {
	case *event.ToolRequest:
		return g, g.admit(ev)
	case *event.ToolResult:
		return g.result(ev), Decision{}
	case *event.Candidate:
		return g.candidate(ev)
	case *event.Round:
		return g.round()
	}
	return g, Decision{}
}

// admit denies what was tried since the last evidence, once it has come to that.
func (g *goalReminder) admit(r *event.ToolRequest) Decision {
	if g.step < narrow || r.Problem != event.NoProblem || !among(&g.tried, g.nTried, print16(r.Digest)) {
		return Decision{}
	}
	return Decision{Act: "deny", On: r.Call.ID, Evidence: "tried before without new evidence",
		Deny: "not run: this very operation was tried before and brought nothing new. Do something else that brings you nearer to your task, or answer with what you have."}
}

// result takes one call. What was not run is neither evidence nor a try.
func (g *goalReminder) result(r *event.ToolResult) *goalReminder {
	if !ran(r) {
		return g
	}
	next := *g
	raw := print16(r.RawDigest)
	if len(r.Delta) > 0 || r.Outcome == event.Success && !among(&g.seen, g.nSeen, raw) {
		next.news = true
	}
	if !among(&g.seen, g.nSeen, raw) {
		next.seen[next.nSeen%len(next.seen)] = raw
		next.nSeen++
	}
	if op := print16(r.ReqDigest); !among(&g.tried, g.nTried, op) {
		next.tried[next.nTried%len(next.tried)] = op
		next.nTried++
	}
	return &next
}

// candidate takes a check. Its turn has no round, so it is counted here.
func (g *goalReminder) candidate(c *event.Candidate) (Guard, Decision) {
	next := *g
	if c.Checked {
		var r reason
		r.n = uint8(copy(r.text[:], Head(c.Fail, len(r.text))))
		next.news = next.news || !g.failed || r != g.unmet
		next.unmet, next.failed = r, c.Fail != ""
	}
	return next.round()
}

// round closes a turn.
func (g *goalReminder) round() (Guard, Decision) {
	next := *g
	next.news = false
	if g.news && !mutant.Is("goal_reminder") {
		next.idle, next.step, next.nTried = 0, 0, 0
		return &next, Decision{}
	}
	next.idle++
	if next.idle < g.every {
		return &next, Decision{}
	}
	next.idle = 0
	next.step = min(next.step+1, pause)
	return &next, next.say()
}

func (g *goalReminder) say() Decision {
	turns := fmt.Sprintf("%d turns without new evidence", int64(g.step)*g.every)
	unmet := "Nothing has been checked yet."
	if g.failed {
		unmet = "Still unmet: " + string(g.unmet.text[:g.unmet.n])
	}
	switch g.step {
	case remind:
		return Decision{Act: "remind", Evidence: turns, Recall: true,
			Feedback: fmt.Sprintf("Your last %d turns brought nothing new. %s Take the smallest step that brings you nearer to it now, and leave everything else.", g.every, unmet)}
	case sumUp:
		return Decision{Act: "sum_up", Evidence: turns, Recall: true,
			Feedback: fmt.Sprintf("%s %s Since the last new result you tried %d different operations, and none brought anything new. Say to yourself what is missing, and do that, or answer with what you have.", turns+".", unmet, g.nTried)}
	case narrow:
		return Decision{Act: "narrow", Evidence: turns, Recall: true,
			Feedback: "From now on operations that were tried since the last new result are refused, until there is a new one. " + unmet}
	}
	return Decision{Act: "stop", Evidence: turns, Stop: &Stop{Reason: event.PolicyStopped, Evidence: turns}}
}

func print16(d [32]byte) (f fingerprint) {
	copy(f[:], d[:])
	return f
}

// among reports whether a ring that took n values holds f.
func among(ring *[16]fingerprint, n int, f fingerprint) bool {
	for i := range min(n, len(ring)) {
		if ring[i] == f {
			return true
		}
	}
	return false
}
