package guard

import (
	"fmt"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/internal/mutant"
)

// dedupe answers a read that was made before, with the same result and nothing
// written since, with a pointer to the first result. It looks at what came back:
// a read whose answer changed is shown whole. When the conversation was rewritten
// the first result may be gone from it, and everything is forgotten.
type dedupe struct {
	least int64
	known [maxKnown]known // a ring
	n     int             // reads remembered so far
}

// known is one read whose result stands in the conversation.
type known struct {
	op, raw fingerprint
	turn    int32
}

// maxKnown bounds the reads that are remembered: the state of a guard does not
// grow with the session.
const maxKnown = 24

func newDedupe(v []int64, _ Env) Guard { return &dedupe{least: v[0]} }

func (*dedupe) Listens() event.Kind { return event.KindToolResult | event.KindRequest }

func (d *dedupe) Step(ev event.Event) (Guard, Decision) {
	if q, ok := ev.(*event.Request); ok && !q.Implied {
		return d.forget(), Decision{}
	}
	r, ok := ev.(*event.ToolResult)
	if !ok {
		return d, Decision{}
	}
	if r.Effect != event.Read {
		// Whatever came of it: a write that failed, or was cut, may have written. One
		// that was never run did not.
		switch r.Outcome {
		case event.ValidationFailed, event.UnknownTool, event.PermissionDenied, event.ApprovalRequired, event.Cancelled:
			return d, Decision{}
		}
		return d.forget(), Decision{}
	}
	if r.Outcome != event.Success || int64(len(r.Raw)) < d.least {
		return d, Decision{}
	}
	k := known{turn: int32(r.Turn)}
	copy(k.op[:], r.ReqDigest[:])
	copy(k.raw[:], r.RawDigest[:])
	at := d.n % maxKnown
	for i := range min(d.n, maxKnown) {
		if o := d.known[i]; o.op == k.op {
			if o.raw == k.raw {
				return d, point(r, o.turn)
			}
			at = i // its newer result takes its place
		}
	}
	next := *d
	next.known[at] = k
	if at == d.n%maxKnown {
		next.n++
	}
	return &next, Decision{}
}

// forget returns the state that knows of no read.
func (d *dedupe) forget() *dedupe {
	if d.n == 0 {
		return d
	}
	return &dedupe{least: d.least}
}

// point shows where the same result stands already.
func point(r *event.ToolResult, turn int32) Decision {
	if mutant.Is("dedupe") {
		turn++
	}
	return Decision{Act: "point", On: r.Call.ID, Evidence: fmt.Sprintf("as in turn %d", turn), HasRewrite: true,
		Rewrite: fmt.Sprintf("[unchanged: this call gave the same %d bytes in turn %d, and nothing was written since; see its result above]", len(r.Raw), turn)}
}
