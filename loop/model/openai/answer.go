package openai

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	openai "github.com/sashabaranov/go-openai"

	"github.com/harnessbench/harnessbench/loop/model"
)

// answer puts an answer together. Its items stand in the order in which they
// began: reasoning, text and calls as a rule. A call's place is where its first
// piece came, so calls in parallel may come in pieces by turns.
type answer struct {
	onDelta func(model.Delta) // nil = nobody listens
	items   []*item
	calls   map[int]*item // the latest call with an index
	last    *item         // the call that a piece without index and id continues
	finish  model.Finish
}

type item struct {
	typ      model.ItemType
	text     strings.Builder // of a call: its arguments
	id, name string
}

// done returns the items.
func (a *answer) done() []model.Item {
	out := make([]model.Item, 0, len(a.items))
	for _, it := range a.items {
		if it.typ == model.CallItem {
			out = append(out, model.Item{Type: it.typ, Call: model.ToolCall{Name: it.name, Args: it.text.String()}})
			continue
		}
		out = append(out, model.Item{Type: it.typ, Text: it.text.String()})
	}
	return out
}

// message takes an answer in one piece. Its calls are all different ones,
// whatever ids and indexes they carry.
func (a *answer) message(m *openai.ChatCompletionMessage) {
	a.say(model.Reasoning, m.ReasoningContent)
	a.say(model.Text, m.Content)
	a.say(model.Text, m.Refusal)
	for i := range m.ToolCalls {
		it := a.begin(model.CallItem)
		it.name = m.ToolCalls[i].Function.Name
		it.text.WriteString(m.ToolCalls[i].Function.Arguments)
	}
}

// delta takes a piece of a stream.
func (a *answer) delta(d *openai.ChatCompletionStreamChoiceDelta) {
	a.say(model.Reasoning, d.ReasoningContent)
	a.say(model.Text, d.Content)
	a.say(model.Text, d.Refusal)
	for i := range d.ToolCalls {
		a.piece(&d.ToolCalls[i])
	}
}

// say adds a text to the present item of its type, or begins one.
func (a *answer) say(typ model.ItemType, text string) {
	if text == "" {
		return
	}
	n := len(a.items)
	if n == 0 || a.items[n-1].typ != typ {
		a.begin(typ)
		n++
	}
	a.items[n-1].text.WriteString(text)
	if a.onDelta != nil {
		a.onDelta(model.Delta{Index: n - 1, Type: typ, Text: text})
	}
}

func (a *answer) begin(typ model.ItemType) *item {
	it := &item{typ: typ}
	a.items = append(a.items, it)
	return it
}

// piece adds a piece of a call to the call that it belongs to.
func (a *answer) piece(p *openai.ToolCall) {
	it := a.find(p)
	if it == nil || it.another(p) {
		it = a.begin(model.CallItem)
	}
	if p.Index != nil {
		if a.calls == nil {
			a.calls = map[int]*item{}
		}
		a.calls[*p.Index] = it
	}
	a.last = it
	if it.id == "" {
		it.id = p.ID
	}
	switch name := p.Function.Name; {
	case it.name == "":
		it.name = name
	case name != it.name && it.text.Len() == 0: // a name in pieces
		it.name += name
	}
	it.text.WriteString(p.Function.Arguments)
}

// find returns the call that a piece may continue: by its index; without one by
// its id; with neither it is the last call. nil = none.
func (a *answer) find(p *openai.ToolCall) *item {
	if p.Index != nil {
		return a.calls[*p.Index]
	}
	if p.ID == "" {
		return a.last
	}
	for i := len(a.items) - 1; i >= 0; i-- {
		if a.items[i].typ == model.CallItem && a.items[i].id == p.ID {
			return a.items[i]
		}
	}
	return nil
}

// another reports whether a piece begins a call of its own although its index or
// id is taken: Gemini and Ollama number every call of an answer 0, and some
// endpoints repeat one id. A piece that names a function again is a repetition
// only while the arguments so far are no whole object.
func (it *item) another(p *openai.ToolCall) bool {
	if p.Function.Name == "" {
		return false
	}
	if it.name == "" {
		return false
	}
	if p.ID != "" && it.id != "" && p.ID != it.id {
		return true
	}
	args := it.text.String()
	return strings.HasPrefix(strings.TrimSpace(args), "{") && jsontext.Value(args).IsValid()
}
