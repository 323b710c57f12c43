package dialect

import (
	"strings"

	"github.com/harnessbench/harnessbench/loop/model"
)

// stopReasons are Messages' words for the stop signals that the loop knows.
var stopReasons = map[model.Finish]string{
	model.FinishStop: "end_turn", model.FinishCalls: "tool_use", model.FinishLength: "max_tokens",
}

func (e *encoder) messages() {
	reason, known := stopReasons[e.finish]
	if !known {
		reason = string(e.finish)
	}
	if e.call.Stream {
		e.messageStream(reason)
		return
	}
	content := []raw{}
	for i := range e.items {
		content = append(content, messageBlock(&e.items[i]))
	}
	e.body = e.message(content, reason, messageUsage(e.usage))
}

func (e *encoder) message(content []raw, reason any, usage raw) raw {
	return object("id", e.id, "type", "message", "role", "assistant", "model", e.model, "content", content,
		"stop_reason", reason, "stop_sequence", nil, "usage", usage)
}

// messageUsage says usage as Messages do: input_tokens are those that no cache had
// to do with.
func messageUsage(u model.Usage) raw {
	if u.Unknown {
		u = model.Usage{}
	}
	kv := []any{"input_tokens", u.InputUncached, "cache_creation_input_tokens", u.CacheWrite, "cache_read_input_tokens", u.CacheRead, "output_tokens", u.Output}
	if u.Reasoning != 0 {
		kv = append(kv, "output_tokens_details", object("thinking_tokens", u.Reasoning))
	}
	return object(kv...)
}

// messageBlock is an item as a block of content.
func messageBlock(it *model.Item) raw {
	switch it.Type {
	case model.CallItem:
		return object("type", "tool_use", "id", it.Call.ID, "name", it.Call.Name, "input", raw(toolInput(it.Call.Args)))
	case model.ProviderCall:
		return raw(it.Evidence)
	case model.Reasoning:
		return object("type", "thinking", "thinking", it.Text, "signature", signature(it.Text))
	}
	return object("type", "text", "text", it.Text)
}

// maxNested bounds the nesting of what is put into an answer as it stands.
const maxNested = MaxDepth / 2

// toolInput returns arguments as the object that Messages wants.
func toolInput(args string) string {
	in := strings.Trim(args, " \t\r\n")
	if in == "" {
		return "{}"
	}
	n, bad := parseJSON([]byte(in), true)
	if bad == nil && n.kind == '{' && n.depth() <= maxNested && !(len(n.keys) == 1 && n.keys[0] == malformedKey) {
		return in
	}
	return string(object(malformedKey, args))
}

func (e *encoder) messageStream(reason string) {
	start := e.usage
	start.Output, start.Reasoning = min(start.Output, 1), 0
	e.named("message_start", "message", e.message([]raw{}, nil, messageUsage(start)))
	if len(e.items) == 0 {
		e.named("ping")
	}
	for i := range e.items {
		it := &e.items[i]
		e.named("content_block_start", "index", i, "content_block", emptyBlock(it))
		if i == 0 {
			e.named("ping")
		}
		delta := func(kv ...any) { e.named("content_block_delta", "index", i, "delta", object(kv...)) }
		switch it.Type {
		case model.CallItem:
			delta("type", "input_json_delta", "partial_json", "")
			for _, p := range pieces(toolInput(it.Call.Args)) {
				delta("type", "input_json_delta", "partial_json", p)
			}
		case model.Reasoning:
			for _, p := range pieces(it.Text) {
				delta("type", "thinking_delta", "thinking", p)
			}
			delta("type", "signature_delta", "signature", signature(it.Text))
		case model.Text:
			for _, p := range pieces(it.Text) {
				delta("type", "text_delta", "text", p)
			}
		}
		e.named("content_block_stop", "index", i)
	}
	e.named("message_delta", "delta", object("stop_reason", reason, "stop_sequence", nil), "usage", messageUsage(e.usage))
	e.named("message_stop")
}

// named adds an event that repeats its name as its type.
func (e *encoder) named(name string, kv ...any) {
	e.frames = append(e.frames, frame(name, object(append([]any{"type", name}, kv...)...)))
}

// emptyBlock is a block before its deltas.
func emptyBlock(it *model.Item) raw {
	empty := *it
	switch it.Type {
	case model.CallItem:
		empty.Call.Args = ""
	case model.Reasoning:
		return object("type", "thinking", "thinking", "", "signature", "")
	default:
		empty.Text = ""
	}
	return messageBlock(&empty)
}
