package model

import "strconv"

// PartKind is the kind of a part, in the wire order tools, system, messages.
type PartKind string

// The kinds of canon/1.
const (
	KindTool    PartKind = "tool"
	KindSystem  PartKind = "system"
	KindMessage PartKind = "message"
)

// Part is one immutable piece of a request with its canonical JSON (canon/1:
// sorted keys, no white space, minimal escapes, number lexemes kept) and the
// SHA-256 digest of those bytes.
type Part struct {
	Kind    PartKind
	Role    Role   // empty for tools
	JSON    []byte // nil in a lean part
	Size    int    // bytes of JSON
	Digest  Digest
	Message *Message  // of system and message parts
	Tool    *ToolSpec // of tool parts
}

// NewToolPart makes the part of a tool spec. Schema must be canonical JSON.
func NewToolPart(t ToolSpec) *Part {
	b := make([]byte, 0, len(t.Schema)+len(t.Description)+64)
	b = append(b, `{"description":`...)
	b = AppendString(b, t.Description)
	b = append(b, `,"name":`...)
	b = AppendString(b, t.Name)
	b = append(b, `,"schema":`...)
	b = append(b, t.Schema...)
	b = append(b, `,"version":`...)
	b = strconv.AppendInt(b, int64(t.Version), 10)
	b = append(b, '}')
	return &Part{Kind: KindTool, JSON: b, Size: len(b), Digest: Sum(b), Tool: &t}
}

// NewMessagePart makes the part of a message; a message by System becomes a
// system part.
func NewMessagePart(m Message) *Part {
	n := 64
	for i := range m.Items {
		it := &m.Items[i]
		n += 48 + len(it.Text) + len(it.Text)/16 + len(it.Call.Args)*5/4 + len(it.Call.Name) + len(it.Call.ID) + len(it.Evidence)
	}
	b := AppendMessage(make([]byte, 0, n), &m)
	kind := KindMessage
	if m.Role == System {
		kind = KindSystem
	}
	return &Part{Kind: kind, Role: m.Role, JSON: b, Size: len(b), Digest: Sum(b), Message: &m}
}

// Lean returns the part without its JSON, which Message says again: a long
// conversation of which thousands wait at a time is kept in lean parts.
func (p *Part) Lean() *Part {
	lean := *p
	lean.JSON = nil
	return &lean
}

// NewTextPart makes a message part that says one text.
func NewTextPart(role Role, text string) *Part {
	return NewMessagePart(Message{Role: role, Items: []Item{{Type: Text, Text: text}}})
}

// NewResultPart makes the part of a tool's result.
func NewResultPart(callID, text string) *Part {
	return NewMessagePart(Message{Role: ToolRole, CallID: callID, Items: []Item{{Type: Text, Text: text}}})
}

// AppendMessage appends the canonical JSON of m.
func AppendMessage(b []byte, m *Message) []byte {
	b = append(b, '{')
	if m.CallID != "" {
		b = append(b, `"call_id":`...)
		b = AppendString(b, m.CallID)
		b = append(b, ',')
	}
	b = append(b, `"content":[`...)
	for i := range m.Items {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendItem(b, &m.Items[i], true)
	}
	b = append(b, `],"role":`...)
	b = AppendString(b, string(m.Role))
	return append(b, '}')
}

// AppendItem appends the canonical JSON of one item. Without withID a tool
// call's id is left out: the loop assigns it, so a recorded answer need not say
// it.
func AppendItem(b []byte, it *Item, withID bool) []byte {
	switch it.Type {
	case CallItem:
		b = append(b, `{"args":`...)
		b = AppendString(b, it.Call.Args)
		if withID {
			b = append(b, `,"id":`...)
			b = AppendString(b, it.Call.ID)
		}
		b = append(b, `,"name":`...)
		b = AppendString(b, it.Call.Name)
		return append(b, `,"type":"tool_call"}`...)
	case ProviderCall:
		b = append(b, `{"evidence":`...)
		if it.Evidence == "" { // none came with it; the line stays JSON
			b = append(b, `null`...)
		}
		b = append(b, it.Evidence...)
		return append(b, `,"type":"provider_call"}`...)
	default:
		b = append(b, `{"text":`...)
		b = AppendString(b, it.Text)
		b = append(b, `,"type":`...)
		b = AppendString(b, string(it.Type))
		return append(b, '}')
	}
}
