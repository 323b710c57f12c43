package loop

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/prompt"
	"github.com/harnessbench/harnessbench/loop/tool"
)

// outcome is what perform found out about one call.
type outcome struct {
	tool.Result
	want     time.Duration // what it would have taken
	deadline time.Duration // in force, 0 = none
	cut      bool          // because another call of the batch failed
}

// timed runs one operation under its deadline and moves the clock by what it
// took. A declared duration beyond the deadline is a timeout whatever the tool
// answered; its changes to the workspace, if any, stand.
func (r *run) timed(req *event.ToolRequest, op *tool.Op) outcome {
	start := r.deps.Clock.Now()
	ctx, cancel := r.deps.Clock.WithTimeout(r.ctx, op.Deadline)
	defer cancel()
	o := outcome{Result: r.deps.Run.Run(ctx, op), deadline: op.Deadline}
	lapse := r.deps.Clock.Lapse
	if o.Declared {
		lapse = r.deps.Clock.Declare
	}
	o.Took, o.want = lapse(start, o.Took, op.Deadline)
	r.judge(req, &o)
	r.inLimbo(req, &o)
	return o
}

// judge makes of what a call gave, and of the time it took, what that means.
func (r *run) judge(req *event.ToolRequest, o *outcome) {
	// A tool that saw its context end says timeout itself, on a real clock within
	// the microsecond to which that measures. One that gave up earlier has its own
	// reason and keeps its text.
	late := o.deadline > 0 && (o.want > o.deadline || o.Outcome == event.Timeout && o.Took+time.Microsecond >= o.deadline)
	if late {
		o.Outcome, o.Exit = event.Timeout, nil
		o.Text = fmt.Sprintf("timed out after %s: no result", o.deadline)
	}
	if o.Outcome == event.Timeout && req.Effect != event.Read {
		o.Outcome = event.UnknownOutcome
		if late {
			o.Text = fmt.Sprintf("timed out after %s", o.deadline)
		}
		o.Text += ": whether it took effect is unknown"
	}
}

// inLimbo remembers an operation of which nobody knows whether it took effect.
func (r *run) inLimbo(req *event.ToolRequest, o *outcome) {
	if o.Outcome != event.UnknownOutcome {
		return
	}
	if r.limbo == nil {
		r.limbo = map[model.Digest]struct{}{}
	}
	r.limbo[req.Digest] = struct{}{}
}

// result records the terminal result of call i, lets the guards rewrite what the
// model sees of it, and appends that to the transcript.
func (r *run) result(i int, o outcome) {
	req := &r.batch[i]
	r.maskResult(&o)
	ev := &event.ToolResult{Head: r.head(), Index: i, Call: req.Call, Args: req.Args, ReqDigest: req.Digest,
		Effect: req.Effect, Resources: req.Resources, Outcome: o.Outcome, Detail: req.Detail,
		Raw: o.Text, RawDigest: model.SumString(o.Text), Shown: o.Text,
		Took: o.Took, Want: o.want, Deadline: o.deadline, Exit: o.Exit, Delta: o.Delta, Redacted: o.Redacted}
	r.emit(ev)
	res := r.consult(ev)
	part := model.NewResultPart(req.Call.ID, ev.Shown)
	if res.Rewrote {
		r.emit(&event.Part{Head: r.head(), Part: part, Why: "rewrite"})
	}
	r.append(part, layerOf(req, ev.Outcome), prompt.Loose)
}

// callID makes the id of the index-th call of this turn from what identifies it,
// never from what the model called it.
func (r *run) callID(index int) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], r.word("call", index))
	return "call_" + hex.EncodeToString(b[:6])
}

// word derives a uniform 64-bit word from (purpose, seed, scenario, repetition,
// lane, turn, index).
func (r *run) word(purpose string, index int) uint64 {
	s := &r.cfg.s
	var buf [192]byte
	b := appendField(buf[:0], purpose)
	b = appendField(b, s.Scenario)
	b = appendField(b, r.lane)
	b = binary.BigEndian.AppendUint64(b, s.Seed)
	for _, n := range [...]int{s.Repetition, r.turn, index} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	sum := sha256.Sum256(b)
	return binary.BigEndian.Uint64(sum[:8])
}

func appendField(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
	return append(b, s...)
}
