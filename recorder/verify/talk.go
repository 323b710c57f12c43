package verify

import (
	"fmt"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// talk computes the chain of every request again. It does what
// session.Conversation does and keeps kind, role and digest of parts instead of
// their texts.
type talk struct {
	lanes map[string]*laneTalk
	known session.Parts
}

type laneTalk struct {
	parts   []*model.Part // of the last request, without texts
	chains  []model.Digest
	pending []pending
	params  bool // said before
}

// pending is a part that the lane's next request may ask.
type pending struct {
	part   *model.Part
	callID string // of a tool's message, which a rewrite may replace
	answer *model.Message
	calls  []int // items of answer that are calls
	ids    int   // of them known
}

func newTalk() *talk { return &talk{lanes: map[string]*laneTalk{}} }

func (t *talk) lane(l *session.Line) *laneTalk {
	lane := t.lanes[l.Lane]
	if lane == nil {
		lane = &laneTalk{chains: []model.Digest{model.ChainStart}}
		t.lanes[l.Lane] = lane
	}
	return lane
}

// line takes the next line.
func (t *talk) line(l *session.Line) error {
	switch l.Type {
	case session.TypePart:
		return t.part(l)
	case session.TypeResponse:
		r, err := l.Response()
		if err != nil {
			return err
		}
		p := pending{answer: &model.Message{Role: model.Assistant, Items: r.Resp.Items}}
		for i := range r.Resp.Items {
			if r.Resp.Items[i].Type == model.CallItem {
				p.calls = append(p.calls, i)
			}
		}
		lane := t.lane(l)
		lane.pending = append(lane.pending, p)
	case session.TypeToolRequest:
		return t.ids(l)
	case session.TypeToolResult:
		r, err := l.ToolResult()
		if err != nil {
			return err
		}
		lane := t.lane(l)
		lane.pending = append(lane.pending, pending{part: bare(model.NewResultPart(r.ID, r.Text)), callID: r.ID})
	case session.TypeRequest:
		return t.ask(l)
	}
	return nil
}

// bare is what a chain needs of a part.
func bare(p *model.Part) *model.Part {
	return &model.Part{Kind: p.Kind, Role: p.Role, Digest: p.Digest}
}

func (t *talk) part(l *session.Line) error {
	p, err := l.Part()
	if err != nil {
		return err
	}
	if d := model.Sum(p.Body); !p.Digest.Of(d) {
		return wrong(l, "digest", "is %s, that of the body %s", p.Digest, d.Short())
	}
	var part *model.Part
	if p.Why == session.WhyWire {
		if part = p.WirePart(); part.Kind != model.KindTool && part.Kind != model.KindSystem && part.Kind != model.KindMessage {
			return wrong(l, "kind", "%.40q is none of canon/1", p.Kind)
		}
	} else if part, err = p.ModelPart(); err != nil {
		return wrong(l, "body", "%v", err)
	}
	lane, id := t.lane(l), ""
	if part.Message != nil && part.Role == model.ToolRole {
		id = part.Message.CallID
	}
	if p.Why != session.WhyRewrite {
		lane.pending = append(lane.pending, pending{part: bare(part), callID: id})
		return nil
	}
	for i := len(lane.pending) - 1; i >= 0; i-- {
		if old := &lane.pending[i]; old.callID != "" && old.callID == id {
			old.part = bare(part)
			return nil
		}
	}
	return wrong(l, "body", "there is no result that it rewrites")
}

// ids gives a call of the last answer the id that the loop gave it.
func (t *talk) ids(l *session.Line) error {
	r, err := l.ToolRequest()
	if err != nil {
		return err
	}
	lane := t.lane(l)
	for i := len(lane.pending) - 1; i >= 0; i-- {
		p := &lane.pending[i]
		if p.answer == nil {
			continue
		}
		if r.Index >= len(p.calls) {
			return wrong(l, "i", "the answer has %d calls", len(p.calls))
		}
		p.answer.Items[p.calls[r.Index]].Call.ID = r.ID
		p.ids++
		return nil
	}
	return wrong(l, "i", "there is no answer that it belongs to")
}

// settle makes parts of what is pending; missing says that an answer's calls
// have no ids.
func (t *talk) settle(lane *laneTalk) (parts []*model.Part, missing bool) {
	for i := range lane.pending {
		p := &lane.pending[i]
		if p.answer != nil {
			if p.ids < len(p.calls) {
				missing = true
				continue
			}
			p.part = bare(model.NewMessagePart(*p.answer))
		}
		t.known.Put(p.part)
		parts = append(parts, p.part)
	}
	lane.pending = lane.pending[:0]
	return parts, missing
}

func (t *talk) ask(l *session.Line) error {
	r, err := l.Request()
	if err != nil {
		return err
	}
	lane := t.lane(l)
	if err := lane.checkParams(l, r); err != nil {
		return err
	}
	parts, missing := t.settle(lane)
	switch {
	case r.Explicit:
		if parts, err = t.explicit(lane, r); err != nil {
			return wrong(l, "add", "%v", err)
		}
	case missing:
		return wrong(l, "chain", "calls of the answer before have no tool.request lines")
	}
	for _, p := range parts {
		lane.parts = append(lane.parts, p)
		lane.chains = append(lane.chains, model.Chain(lane.chains[len(lane.chains)-1], p))
	}
	if got := lane.chains[len(lane.chains)-1]; !r.Chain.Of(got) {
		return wrong(l, "chain", "is %s; the lines before give %s: a part of this request was changed", r.Chain, got.Short())
	}
	return nil
}

// checkParams compares params with the digest beside them.
func (lane *laneTalk) checkParams(l *session.Line, r *session.Request) error {
	switch {
	case r.Params == nil && !lane.params:
		return wrong(l, "params", "are missing on the first request of the lane")
	case r.Params == nil && !r.ParamsDigest.IsZero():
		return wrong(l, "params_digest", "stands without params")
	case r.Params != nil && !r.ParamsDigest.Of(model.Sum(r.Params)):
		return wrong(l, "params_digest", "is %s, that of params %s", r.ParamsDigest, model.Sum(r.Params).Short())
	}
	lane.params = true
	return nil
}

// explicit cuts the lane's request to what is kept and returns what add names.
func (t *talk) explicit(lane *laneTalk, r *session.Request) ([]*model.Part, error) {
	if r.Keep > len(lane.parts) {
		return nil, fmt.Errorf("keep is %d, the request before has %d parts", r.Keep, len(lane.parts))
	}
	lane.parts, lane.chains = lane.parts[:r.Keep], lane.chains[:r.Keep+1]
	var before *model.Part
	if r.Keep > 0 {
		before = lane.parts[r.Keep-1]
	}
	out := make([]*model.Part, len(r.Add))
	for i, d := range r.Add {
		if out[i] = t.known.Get(d, before); out[i] == nil {
			return nil, fmt.Errorf("no line before carries part %s", d)
		}
		before = out[i]
	}
	return out, nil
}
