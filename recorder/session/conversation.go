package session

import (
	"errors"
	"fmt"

	"github.com/harnessbench/harnessbench/loop/model"
)

// Conversation recomputes every request of a session from the lines before it.
//
// A part becomes available in its lane with the line that carries it: a part
// line; a response line (the assistant's message, the ids of its calls taken
// from the tool.request lines that follow); a tool.result line (the tool's
// message). A part line with why "rewrite" is not added: it takes the place of
// the message with its call id. A request without keep and add asks the parts of
// the lane's request before, followed by every part that became available since,
// in line order; one with them asks the first keep parts of the request before,
// followed by the parts that add names. Its memory grows with the conversation.
type Conversation struct {
	lanes map[string]*laneTalk
	known Parts // what add can name
}

type laneTalk struct {
	asked   *model.Transcript
	pending []pendingPart
}

// pendingPart is a part that the lane's next request may ask. An assistant's
// message waits for the ids of its calls.
type pendingPart struct {
	part   *model.Part
	answer *model.Message // until its ids are known
	calls  []int          // indices of its items that are calls
	ids    int            // of them known
}

// Asked is a recomputed request. Parts is a view: read it only.
type Asked struct {
	Parts []*model.Part
	Chain model.Digest
}

// NewConversation returns the conversation before the first line.
func NewConversation() *Conversation {
	return &Conversation{lanes: map[string]*laneTalk{}}
}

// Add takes the next line. For a request it returns what was asked, and an error
// when that does not fit the chain of the line; for other lines it returns nil.
func (c *Conversation) Add(l *Line) (*Asked, error) {
	switch l.Type {
	case TypePart:
		return nil, c.addPart(l)
	case TypeResponse:
		return nil, c.addAnswer(l)
	case TypeToolRequest:
		return nil, c.addIDs(l)
	case TypeToolResult:
		r, err := l.ToolResult()
		if err == nil {
			c.lane(l).add(model.NewResultPart(r.ID, r.Text))
		}
		return nil, err
	case TypeRequest:
		return c.ask(l)
	}
	return nil, nil
}

func (c *Conversation) lane(l *Line) *laneTalk {
	t := c.lanes[l.Lane]
	if t == nil {
		t = &laneTalk{asked: model.NewTranscript()}
		c.lanes[l.Lane] = t
	}
	return t
}

func (t *laneTalk) add(p *model.Part) { t.pending = append(t.pending, pendingPart{part: p}) }

func (c *Conversation) addPart(l *Line) error {
	p, err := l.Part()
	if err != nil {
		return err
	}
	part, err := p.ModelPart()
	if p.Why == WhyWire {
		part, err = p.WirePart(), nil
	}
	if err != nil {
		return l.decodeErr("body", "%v", err)
	}
	if !p.Digest.Of(part.Digest) {
		return l.decodeErr("digest", "is %s, that of the body %s", p.Digest, part.Digest.Short())
	}
	t := c.lane(l)
	if p.Why != WhyRewrite {
		t.add(part)
		return nil
	}
	for i := len(t.pending) - 1; i >= 0; i-- {
		old := t.pending[i].part
		if old != nil && old.Role == model.ToolRole && part.Message != nil && old.Message.CallID == part.Message.CallID {
			t.pending[i].part = part
			return nil
		}
	}
	return l.decodeErr("body", "there is no result that it rewrites")
}

// WhyWire is the why of a part of recorded traffic: its body is the API's own
// JSON, canonical.
const WhyWire = "wire"

// WhyAsked is the why of a message of recorded calls.
const WhyAsked = "asked"

// WhyRewrite is the why of a part that a model sees in place of a raw result.
const WhyRewrite = "rewrite"

func (c *Conversation) addAnswer(l *Line) error {
	r, err := l.Response()
	if err != nil {
		return err
	}
	m := &model.Message{Role: model.Assistant, Items: r.Resp.Items}
	p := pendingPart{answer: m}
	for i := range m.Items {
		if m.Items[i].Type == model.CallItem {
			p.calls = append(p.calls, i)
		}
	}
	t := c.lane(l)
	t.pending = append(t.pending, p)
	return nil
}

func (c *Conversation) addIDs(l *Line) error {
	r, err := l.ToolRequest()
	if err != nil {
		return err
	}
	t := c.lane(l)
	for i := len(t.pending) - 1; i >= 0; i-- {
		p := &t.pending[i]
		if p.answer == nil {
			continue
		}
		if r.Index >= len(p.calls) {
			return l.decodeErr("i", "the answer has %d calls", len(p.calls))
		}
		p.answer.Items[p.calls[r.Index]].Call.ID = r.ID
		p.ids++
		return nil
	}
	return l.decodeErr("i", "there is no answer that it belongs to")
}

// settle makes parts of what is pending. Answers whose ids are not known yet
// stay out.
func (c *Conversation) settle(t *laneTalk) (parts []*model.Part, err error) {
	for i := range t.pending {
		p := &t.pending[i]
		if p.answer != nil {
			if p.ids < len(p.calls) {
				err = errors.New("calls of the answer before have no tool.request lines")
				continue
			}
			p.part = model.NewMessagePart(*p.answer)
		}
		c.known.Put(p.part)
		parts = append(parts, p.part)
	}
	t.pending = t.pending[:0]
	return parts, err
}

func (c *Conversation) ask(l *Line) (*Asked, error) {
	r, err := l.Request()
	if err != nil {
		return nil, err
	}
	t := c.lane(l)
	parts, err := c.settle(t)
	if !r.Explicit {
		if err != nil {
			return nil, l.decodeErr("chain", "%v", err)
		}
		for _, p := range parts {
			t.asked.Append(p)
		}
	} else if err := c.explicit(t, r); err != nil {
		return nil, l.decodeErr("add", "%v", err)
	}
	a := &Asked{}
	var chains []model.Digest
	a.Parts, chains = t.asked.View()
	a.Chain = chains[len(chains)-1]
	if !r.Chain.Of(a.Chain) {
		return a, l.decodeErr("chain", "is %s; the lines before give %s", r.Chain, a.Chain.Short())
	}
	return a, nil
}

func (c *Conversation) explicit(t *laneTalk, r *Request) error {
	if r.Keep > t.asked.Len() {
		return fmt.Errorf("keep is %d, the request before has %d parts", r.Keep, t.asked.Len())
	}
	var before *model.Part
	if r.Keep > 0 {
		kept, _ := t.asked.View()
		before = kept[r.Keep-1]
	}
	tail := make([]*model.Part, len(r.Add))
	for i, d := range r.Add {
		if tail[i] = c.known.Get(d, before); tail[i] == nil {
			return fmt.Errorf("no line before carries part %s", d)
		}
		before = tail[i]
	}
	t.asked.Rewrite(r.Keep, tail)
	return nil
}
