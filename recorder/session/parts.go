package session

import "github.com/harnessbench/harnessbench/loop/model"

// Parts finds the parts that a request's add names by digest. The zero Parts is
// ready.
//
// Two parts of recorded traffic may have the same JSON and not the same kind: a
// system message before a conversation (kind system) and within it (kind
// message). Then add means the message where a message stands before it, and the
// other elsewhere.
type Parts struct {
	first map[ShortDigest]*model.Part
	more  map[ShortDigest][]*model.Part // of other kinds
}

// Put adds a part.
func (p *Parts) Put(part *model.Part) {
	if p.first == nil {
		p.first = map[ShortDigest]*model.Part{}
	}
	d := Short(part.Digest)
	have := p.first[d]
	if have == nil || have.Kind == part.Kind {
		p.first[d] = part
		return
	}
	for _, m := range p.more[d] {
		if m.Kind == part.Kind {
			return
		}
	}
	if p.more == nil {
		p.more = map[ShortDigest][]*model.Part{}
	}
	p.more[d] = append(p.more[d], part)
}

// Get returns the part that a digest means behind another part; nil where there
// is none. before is nil for the first part of a request.
func (p *Parts) Get(d ShortDigest, before *model.Part) *model.Part {
	first := p.first[d]
	inTalk := before != nil && before.Kind == model.KindMessage
	if first == nil || len(p.more[d]) == 0 || (first.Kind == model.KindMessage) == inTalk {
		return first
	}
	for _, m := range p.more[d] {
		if (m.Kind == model.KindMessage) == inTalk {
			return m
		}
	}
	return first
}
