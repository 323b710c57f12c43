package loop

import (
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/prompt"
)

// room is what a lane knows of its context window.
type room struct {
	book  *prompt.Book // of the conversation as it is; nil = nobody wants to change it
	asIf  *prompt.Book // as it would be, for compaction in shadow; else nil
	size  int64        // bytes of the conversation as it is
	est   prompt.Estimator
	how   guard.Compaction
	mode  guard.Mode // of compaction; off without a window
	floor int64      // tokens below which compaction is not due again
	huge  bool       // larger than anybody takes, a turn ago

	taken    bool           // the conversation was changed, or another question asked, since the last request
	asked    []model.Digest // chains of the last request, with a book
	turn     int            // of the last question for a summary
	again    int            // how often that turn asked for one before
	told     bool           // the instruction that asks for a summary was recorded
	rejected bool           // acceptance sent the answer back: the feedback to come says what is unmet
}

// mostKept is how many bytes of a conversation are kept to be compacted where no
// window bounds it: no provider takes more.
const mostKept = 8 << 20

// openRoom says what has to be kept of the conversation. Compaction needs a
// window; context_overflow takes what the provider refused for one.
func (r *run) openRoom() {
	m := &r.room
	if m.how, m.mode = r.guards.Compaction(); r.cfg.s.Window == 0 {
		m.mode = guard.Off
	}
	overflow, mode := r.guards.ContextOverflow()
	refused := mode != guard.Off && overflow.Retries > 0
	if m.mode == guard.Enforce || refused {
		m.book = &prompt.Book{}
	}
	if m.mode == guard.Shadow {
		m.asIf = &prompt.Book{}
	}
	r.script = model.NewTranscript()
	if rewrites := m.mode == guard.Enforce || refused && mode == guard.Enforce; r.deps.Forget && !rewrites {
		r.script = model.NewForgetful()
	}
}

// append adds a part to the conversation and accounts for it.
func (r *run) append(p *model.Part, layer prompt.Layer, pin prompt.Pin) {
	r.script.Append(p.Lean())
	m := &r.room
	m.size += int64(p.Size)
	if m.asIf != nil {
		m.asIf.Add(p, layer, pin)
	}
	if m.book != nil {
		m.book.Add(p, layer, pin)
	}
}

// giveUp stops the account of a conversation that is larger than anybody takes,
// for the second turn on end: nothing could make it smaller.
func (r *run) giveUp() {
	m := &r.room
	huge := m.book != nil && m.size > max(mostKept, 8*int64(r.cfg.s.Window))
	if huge && m.huge {
		m.book = nil
		if r.deps.Forget {
			r.script.Forget()
		}
	}
	m.huge = huge
}

// appendSaid adds a part that no other event carries. What a scripted user says
// is pinned, and what acceptance found unmet, as long as it is the latest.
func (r *run) appendSaid(p *model.Part, why string) {
	layer, pin := prompt.Talk, prompt.Loose
	switch {
	case p.Kind != model.KindMessage:
		layer = prompt.Fixed
	case why == "task":
		layer = prompt.Task
	case why == "user":
		pin = prompt.Pinned
	case why == "feedback" && r.room.rejected:
		pin, r.room.rejected = prompt.Unmet, false
	}
	r.append(p, layer, pin)
}

// layerOf is the account of a result: what was read can be read again.
func layerOf(req *event.ToolRequest, o event.Outcome) prompt.Layer {
	if req.Effect == event.Read && o == event.Success && len(req.Resources) > 0 {
		return prompt.Documents
	}
	return prompt.Talk
}

// measured calibrates the estimate by what the provider reported of a request.
func (r *run) measured(req *model.Request, u model.Usage) {
	if req.Purpose == "" {
		r.room.est = r.room.est.Calibrate(r.room.size, u)
	}
}

// asking says of a request what is not implied. What was put before the model
// last is the base, also where that was a question for a summary.
func (r *run) asking(req *model.Request) *event.Request {
	m := &r.room
	ev := &event.Request{Head: r.head(), Req: req, Implied: !m.taken && req.Purpose != model.ForSummary}
	if !ev.Implied {
		for ev.Keep+1 < len(m.asked) && ev.Keep+1 < len(req.Chains) && m.asked[ev.Keep+1] == req.Chains[ev.Keep+1] {
			ev.Keep++
		}
		ev.Add = req.Parts[ev.Keep:]
	}
	m.taken = req.Purpose == model.ForSummary
	if m.book != nil {
		m.asked = req.Chains
	}
	return ev
}
