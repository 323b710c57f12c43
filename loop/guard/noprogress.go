package guard

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/internal/mutant"
)

// noProgress counts calls that fail one after the other, on two ladders: the same
// failure again (tool, arguments and first line of the error), and any failure.
// A success begins both anew. What only takes its time is no failure: a call that
// a deadline cut is passed over, and so is a poll, a call that was made before and
// now fails with another first line. What follows that line (an id, a time, a
// trace) makes no poll of a call that fails as before.
type noProgress struct {
	same, any ladder

	sign fingerprint      // of the failures that same counts
	last [maxPolls]failed // the operations that failed last, a ring
	n    int              // operations in it so far
}

// failed is an operation and the first line of its last error.
type failed struct{ op, line fingerprint }

// maxPolls is how many polls may go on by turns.
const maxPolls = 4

// ladder nudges once and then stops.
type ladder struct {
	nudge, abort int64
	n            int64
	nudged       bool
}

func newNoProgress(v []int64, _ Env) Guard {
	return &noProgress{same: ladder{nudge: v[0], abort: v[1]}, any: ladder{nudge: v[2], abort: v[3]}}
}

func (*noProgress) Listens() event.Kind { return event.KindToolResult | event.KindRound }

func (p *noProgress) Step(ev event.Event) (Guard, Decision) {
	switch ev := ev.(type) {
	case *event.ToolResult:
		return p.result(ev), Decision{}
	case *event.Round:
		if p.any.n > 0 {
			next := *p
			return &next, next.judge()
		}
	}
	return p, Decision{}
}

// result takes one call into the counts.
func (p *noProgress) result(r *event.ToolResult) *noProgress {
	switch r.Outcome {
	case event.Timeout, event.UnknownOutcome, event.Cancelled, event.BackgroundAccepted, event.ApprovalRequired:
		return p // cut, or not decided yet
	case event.Success:
		if p.n == 0 {
			return p
		}
		return &noProgress{same: p.same.anew(), any: p.any.anew()}
	}
	first, _, _ := strings.Cut(strings.TrimLeft(r.Raw, "\r\n"), "\n")
	var now failed
	copy(now.op[:], r.ReqDigest[:])
	line := sha256.Sum256([]byte(strings.TrimRight(first, "\r")))
	copy(now.line[:], line[:])
	next := *p
	if next.poll(now) {
		return &next
	}
	var sign fingerprint
	sum := sha256.Sum256(append(now.op[:], now.line[:]...))
	copy(sign[:], sum[:])
	if p.same.n > 0 && sign != p.sign {
		next.same = p.same.anew()
	}
	next.sign = sign
	next.same.n++
	next.any.n++
	return &next
}

// poll remembers a failure and reports whether its operation failed otherwise
// before.
func (p *noProgress) poll(now failed) bool {
	for i := range min(p.n, maxPolls) {
		if p.last[i].op == now.op {
			moved := p.last[i].line != now.line
			p.last[i] = now
			return moved
		}
	}
	p.last[p.n%maxPolls] = now
	p.n++
	return false
}

func (l ladder) anew() ladder { return ladder{nudge: l.nudge, abort: l.abort} }

// climb reports whether the count has come to a stop, or to a nudge that was not
// sent yet. A batch can leap over the very number, and over both: the nudge comes
// before the stop all the same, if there is to be one.
func (l *ladder) climb() (stop, nudge bool) {
	if l.n >= l.abort && (l.nudged || l.nudge >= l.abort) {
		return true, false
	}
	late := int64(0)
	if mutant.Is("no_progress") {
		late = 1
	}
	nudge = l.n >= l.nudge+late && !l.nudged
	l.nudged = l.nudged || nudge
	return false, nudge
}

func (p *noProgress) judge() Decision {
	same := fmt.Sprintf("%d times the same failure", p.same.n)
	any := fmt.Sprintf("%d failing calls in a row", p.any.n)
	stopSame, nudgeSame := p.same.climb()
	stopAny, nudgeAny := p.any.climb()
	switch {
	case stopSame:
		return Decision{Act: "stop", Evidence: same, Stop: &Stop{Reason: event.NoProgress, Evidence: same}}
	case stopAny:
		return Decision{Act: "stop", Evidence: any, Stop: &Stop{Reason: event.NoProgress, Evidence: any}}
	case nudgeSame:
		return Decision{Act: "nudge", Evidence: same,
			Feedback: fmt.Sprintf("The same call has failed %d times with the same error. Read the error, change the arguments or the approach, or answer with what you have.", p.same.n)}
	case nudgeAny:
		return Decision{Act: "nudge", Evidence: any,
			Feedback: fmt.Sprintf("Your last %d calls have all failed. Stop and think about why before you call anything else, or answer with what you have.", p.any.n)}
	}
	return Decision{}
}
