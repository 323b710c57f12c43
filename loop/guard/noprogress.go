package guard

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/internal/mutant"
	"github.com/harnessbench/harnessbench/loop/model"
)

// noProgress counts calls that fail one after the other, on two ladders: the same
// failure again (tool, arguments and first line of the error), and any failure.
// A success begins both anew. What only takes its time is no failure: a call that
// a deadline cut is passed over, and so is a poll, a call that was made before and
// fails with something else than last time.
type noProgress struct {
	same, any ladder

	sign fingerprint  // of the failures that same counts
	op   model.Digest // of the last failing operation
	raw  model.Digest // and what it said
}

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
		if p.any.n == 0 && !p.any.nudged {
			return p
		}
		return &noProgress{same: p.same.anew(), any: p.any.anew()}
	}
	next := *p
	poll := r.ReqDigest == p.op && r.RawDigest != p.raw && !mutant.Is("no_progress")
	next.op, next.raw = r.ReqDigest, r.RawDigest
	if poll {
		return &next
	}
	first, _, _ := strings.Cut(strings.TrimLeft(r.Raw, "\r\n"), "\n")
	sum := sha256.New()
	sum.Write(r.ReqDigest[:])
	sum.Write([]byte(first))
	var sign fingerprint
	copy(sign[:], sum.Sum(nil))
	if p.same.n > 0 && sign != p.sign {
		next.same = p.same.anew()
	}
	next.sign = sign
	next.same.n++
	next.any.n++
	return &next
}

func (l ladder) anew() ladder { return ladder{nudge: l.nudge, abort: l.abort} }

// climb reports whether the count has come to a stop, or to a nudge that was not
// sent yet: a batch can leap over the very number.
func (l *ladder) climb() (stop, nudge bool) {
	if l.n >= l.abort {
		return true, false
	}
	nudge = l.n >= l.nudge && !l.nudged
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
