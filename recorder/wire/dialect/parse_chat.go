package dialect

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/loop/model"
)

func (a *answer) chatWhole(root *node) *model.Error {
	a.chatUsage(root)
	a.model = root.get("model").text()
	choices := root.get("choices").list()
	if len(choices) == 0 {
		return noAnswer("the answer has no choices")
	}
	choice := choices[0]
	if choice.get("error") != nil {
		return inBand(choice)
	}
	m := choice.get("message")
	a.chatSaid(m)
	for _, c := range chatCalls(m) { // all different, whatever their ids
		p := a.begin(model.CallItem)
		p.id, p.name = c.id, c.name
		p.text.WriteString(c.args)
	}
	a.chatFinish(choice)
	return nil
}

// chatEvent takes a chunk. A stream is complete when it said why it ended or
// [DONE].
func (a *answer) chatEvent(n *node) *model.Error {
	a.chatUsage(n)
	if m := n.get("model").text(); m != "" {
		a.model = m
	}
	choices := n.get("choices").list()
	if len(choices) == 0 {
		return nil
	}
	a.begun = true
	choice := choices[0]
	if choice.get("error") != nil {
		return inBand(choice)
	}
	d := choice.get("delta")
	if d == nil {
		d = choice.get("message")
	}
	a.chatSaid(d)
	for _, c := range chatCalls(d) {
		a.chatPiece(c)
	}
	a.chatFinish(choice)
	a.ended = a.ended || a.finish != ""
	return nil
}

func (a *answer) chatFinish(choice *node) {
	if f := choice.get("finish_reason").text(); f != "" {
		a.finish = model.Finish(f)
	}
}

// chatSaid takes the texts of a message or delta.
func (a *answer) chatSaid(m *node) {
	thought := m.get("reasoning_content").text()
	if thought == "" {
		thought = m.get("reasoning").text()
	}
	a.say(model.Reasoning, thought)
	content := m.get("content")
	a.say(model.Text, content.text())
	for _, p := range content.list() {
		a.say(model.Text, p.text()+p.get("text").text()+p.get("refusal").text())
		for _, t := range p.get("thinking").list() { // Mistral
			a.say(model.Reasoning, t.get("text").text())
		}
	}
	a.say(model.Text, m.get("refusal").text())
}

// chatCall is a call or a piece of one.
type chatCall struct {
	index          int
	indexed        bool
	id, name, args string
}

func chatCalls(m *node) (out []chatCall) {
	calls := m.get("tool_calls").list()
	if calls == nil && m.get("tool_calls") != nil {
		calls = []*node{m.get("tool_calls")}
	}
	for _, n := range calls {
		f := n.get("function")
		if f == nil {
			f = n.get("custom")
		}
		if f == nil {
			f = n
		}
		c := chatCall{id: n.get("id").text(), name: f.get("name").text(), args: verbatim(f.get("arguments")) + f.get("input").text()}
		if i := n.get("index"); i != nil && i.kind == '0' {
			c.index, c.indexed = int(min(i.count(), 1<<20)), true
		}
		out = append(out, c)
	}
	if f := m.get("function_call"); f != nil && len(calls) == 0 {
		out = append(out, chatCall{name: f.get("name").text(), args: verbatim(f.get("arguments"))})
	}
	return out
}

// verbatim is the text of arguments as the model wrote it, or the JSON that an
// endpoint made of it.
func verbatim(n *node) string {
	switch {
	case n == nil:
		return ""
	case n.kind == '"':
		return n.str
	case n.raw != nil:
		return strings.ToValidUTF8(string(n.raw), "\uFFFD")
	}
	return n.canonical()
}

// chatPiece adds a piece to the call that it belongs to: by its index, without one
// by its id, with neither to the last call.
func (a *answer) chatPiece(c chatCall) {
	var p *part
	switch {
	case c.indexed:
		p = a.calls[c.index]
	case c.id == "":
		p = a.last
	default:
		for _, q := range a.parts {
			if q.typ == model.CallItem && q.id == c.id {
				p = q
			}
		}
	}
	if p == nil || p.another(c) {
		p = a.begin(model.CallItem)
	}
	if c.indexed {
		if a.calls == nil {
			a.calls = map[int]*part{}
		}
		a.calls[c.index] = p
	}
	a.last = p
	if p.id == "" {
		p.id = c.id
	}
	switch {
	case p.name == "":
		p.name = c.name
	case c.name != p.name && p.text.Len() == 0: // a name in pieces
		p.name += c.name
	}
	p.text.WriteString(c.args)
}

// another reports whether a piece begins a call of its own although its index or
// id is taken: some endpoints number every call 0 or repeat one id. A piece that
// names a function again repeats only while the arguments are no whole object.
func (p *part) another(c chatCall) bool {
	if c.name == "" || p.name == "" {
		return false
	}
	if c.id != "" && p.id != "" && c.id != p.id {
		return true
	}
	args := p.text.String()
	return strings.HasPrefix(strings.TrimSpace(args), "{") && jsontext.Value(args).IsValid()
}

func (a *answer) chatUsage(root *node) {
	u := root.get("usage")
	if u == nil {
		u = root.get("x_groq").get("usage") // older streams of Groq
	}
	a.meter(u)
}

// meter takes usage; what is told later replaces it.
func (a *answer) meter(n *node) {
	if n == nil || n.kind != '{' {
		return
	}
	if u := readUsage(a.api, n); !u.Unknown {
		a.usage = u
	}
}

// maxTokens bounds a count, so that no sum of counts can wrap.
const maxTokens = 1 << 40

// readUsage reads the usage of an API. OpenAI's input holds what was read from
// and written to a cache, its output the reasoning; Messages' input holds neither.
// Some endpoints (Gemini, xAI) leave the reasoning out of the completion, bill it
// all the same, and tell it in the total alone: what the total has over both is
// output too. Counts that are all zero tell nothing, as endpoints send them in
// every chunk before the last.
func readUsage(api API, n *node) model.Usage {
	count := func(n *node) int64 { return min(n.count(), maxTokens) }
	if api == Messages {
		return messageUsageOf(n, model.Usage{Unknown: true})
	}
	in, out := count(n.get("prompt_tokens")), count(n.get("completion_tokens"))
	details, more := n.get("prompt_tokens_details"), n.get("completion_tokens_details")
	if n.get("input_tokens") != nil || n.get("output_tokens") != nil {
		in, out = count(n.get("input_tokens")), count(n.get("output_tokens"))
		details, more = n.get("input_tokens_details"), n.get("output_tokens_details")
	}
	if in+out == 0 {
		return model.Usage{Unknown: true}
	}
	unsaid := max(min(n.get("total_tokens").count(), 2*maxTokens)-in-out, 0)
	read := min(max(count(details.get("cached_tokens")), count(n.get("prompt_cache_hit_tokens"))), in)
	write := min(count(details.get("cache_write_tokens")), in-read)
	u := model.Usage{InputUncached: in - read - write, CacheRead: read, CacheWrite: write, Output: out + unsaid}
	u.Reasoning = min(max(count(more.get("reasoning_tokens")), unsaid), u.Output)
	return u
}
