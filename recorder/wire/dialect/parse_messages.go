package dialect

import (
	"github.com/harnessbench/harnessbench/loop/model"
)

// finishes are the loop's words for Messages' stop reasons.
var finishes = map[string]model.Finish{
	"end_turn": model.FinishStop, "tool_use": model.FinishCalls, "max_tokens": model.FinishLength,
}

func (a *answer) stopReason(n *node) {
	if s := n.get("stop_reason").text(); s != "" {
		f, ok := finishes[s]
		if !ok {
			f = model.Finish(s)
		}
		a.finish = f
	}
}

func (a *answer) messagesWhole(root *node) *model.Error {
	a.messageUsage(root.get("usage"))
	a.model = root.get("model").text()
	content := root.get("content")
	if content == nil || content.kind != '[' {
		return noAnswer("the answer has no content")
	}
	for _, b := range content.kids {
		a.block(b)
	}
	a.stopReason(root)
	return nil
}

// block begins an item with a block of content, whole or as a stream begins it;
// what is no object begins none.
func (a *answer) block(b *node) *part {
	if b == nil || b.kind != '{' {
		return nil
	}
	switch b.get("type").text() {
	case "text":
		p := a.begin(model.Text)
		p.text.WriteString(b.get("text").text())
		return p
	case "thinking":
		p := a.begin(model.Reasoning)
		p.text.WriteString(b.get("thinking").text())
		return p
	case "redacted_thinking":
		return a.begin(model.Reasoning)
	case "tool_use":
		p := a.begin(model.CallItem)
		p.id, p.name, p.evidence = b.get("id").text(), b.get("name").text(), b
		return p
	}
	p := a.begin(model.ProviderCall)
	p.evidence = b
	return p
}

// messageArgs returns the arguments of a call: what was streamed, else the input
// that its block came with.
func (a *answer) messageArgs(p *part) string {
	text := p.text.String()
	if text == "" {
		return inputArgs(p.evidence.get("input"), verbatim)
	}
	if n, bad := parseJSON([]byte(text), false); bad == nil {
		return inputArgs(n, func(*node) string { return text })
	}
	return text
}

// providerJSON returns the evidence of a provider call, canonical, with the input
// that was streamed after it.
func (p *part) providerJSON() string {
	in, bad := parseJSON([]byte(p.text.String()), false)
	if p.text.Len() == 0 || bad != nil || p.evidence.kind != '{' {
		return p.evidence.canonical()
	}
	kv := []any{}
	for i, k := range p.evidence.keys {
		v := p.evidence.kids[i]
		if k == "input" {
			v = in
		}
		kv = append(kv, k, raw(v.canonical()))
	}
	n, bad := parseJSON(object(kv...), false)
	if bad != nil {
		return p.evidence.canonical()
	}
	return n.canonical()
}

func (a *answer) messagesEvent(n *node) {
	switch n.get("type").text() {
	case "message_start":
		m := n.get("message")
		a.model = m.get("model").text()
		a.messageUsage(m.get("usage"))
		for _, b := range m.get("content").list() {
			a.block(b)
		}
	case "content_block_start":
		if a.blocks == nil {
			a.blocks = map[int]*part{}
		}
		a.blocks[int(min(n.get("index").count(), 1<<20))] = a.block(n.get("content_block"))
	case "content_block_delta":
		p := a.blocks[int(min(n.get("index").count(), 1<<20))]
		if p == nil {
			return
		}
		d := n.get("delta")
		for _, key := range []string{"text", "thinking", "partial_json"} {
			p.text.WriteString(d.get(key).text())
		}
	case "message_delta":
		a.stopReason(n.get("delta"))
		a.messageUsage(n.get("usage"))
	case "message_stop":
		a.ended = true
	}
}

// messageUsage adds what an event tells of the usage: each count is the latest
// one told.
func (a *answer) messageUsage(n *node) {
	if n != nil && n.kind == '{' {
		a.usage = messageUsageOf(n, a.usage)
	}
}

func messageUsageOf(n *node, u model.Usage) model.Usage {
	take := func(dst *int64, v *node) {
		if v != nil && v.kind == '0' {
			*dst, u.Unknown = min(v.count(), maxTokens), false
		}
	}
	take(&u.InputUncached, n.get("input_tokens"))
	take(&u.CacheRead, n.get("cache_read_input_tokens"))
	take(&u.CacheWrite, n.get("cache_creation_input_tokens"))
	take(&u.Output, n.get("output_tokens"))
	take(&u.Reasoning, n.get("output_tokens_details").get("thinking_tokens"))
	u.Reasoning = min(u.Reasoning, u.Output)
	return u
}
