package dialect

import "github.com/harnessbench/harnessbench/loop/model"

func (e *encoder) chat() {
	if e.call.Stream {
		e.chatStream()
		return
	}
	message := []any{"role", "assistant", "content", nil, "refusal", nil}
	if text := e.texts(model.Text); text != "" || e.calls == 0 {
		message[3] = text
	}
	if text := e.texts(model.Reasoning); text != "" {
		message = append(message, "reasoning_content", text)
	}
	var calls []raw
	for i := range e.items {
		if it := &e.items[i]; it.Type == model.CallItem {
			calls = append(calls, object("id", it.Call.ID, "type", "function",
				"function", object("name", it.Call.Name, "arguments", it.Call.Args)))
		}
	}
	if len(calls) > 0 {
		message = append(message, "tool_calls", calls)
	}
	answer := []any{"id", e.id, "object", "chat.completion", "created", Created, "model", e.model,
		"choices", []raw{object("index", 0, "message", object(message...), "logprobs", nil, "finish_reason", string(e.finish))}}
	if !e.usage.Unknown {
		answer = append(answer, "usage", chatUsage(e.usage))
	}
	e.body = object(append(answer, "system_fingerprint", nil)...)
}

// chatStream says the role, then reasoning, text and calls, each call's name
// before its arguments, then the finish and, if asked for, the usage.
func (e *encoder) chatStream() {
	e.chunk(nil, "role", "assistant", "content", "")
	for _, p := range pieces(e.texts(model.Reasoning)) {
		e.chunk(nil, "reasoning_content", p)
	}
	for _, p := range pieces(e.texts(model.Text)) {
		e.chunk(nil, "content", p)
	}
	index := 0
	for i := range e.items {
		it := &e.items[i]
		if it.Type != model.CallItem {
			continue
		}
		e.chunk(nil, "tool_calls", []raw{object("index", index, "id", it.Call.ID, "type", "function",
			"function", object("name", it.Call.Name, "arguments", ""))})
		for _, p := range pieces(it.Call.Args) {
			e.chunk(nil, "tool_calls", []raw{object("index", index, "function", object("arguments", p))})
		}
		index++
	}
	e.chunk(string(e.finish))
	if e.call.StreamUsage && !e.usage.Unknown {
		e.frames = append(e.frames, frame("", object(append(e.chunkHead(), "choices", []raw{}, "usage", chatUsage(e.usage))...)))
	}
	e.frames = append(e.frames, frame("", raw("[DONE]")))
}

// chunk adds a chunk with one delta; finish is nil or a string.
func (e *encoder) chunk(finish any, delta ...any) {
	kv := append(e.chunkHead(), "choices", []raw{object("index", 0, "delta", object(delta...), "logprobs", nil, "finish_reason", finish)})
	if e.call.StreamUsage {
		kv = append(kv, "usage", nil)
	}
	e.frames = append(e.frames, frame("", object(kv...)))
}

func (e *encoder) chunkHead() []any {
	return []any{"id", e.id, "object", "chat.completion.chunk", "created", Created, "model", e.model, "system_fingerprint", nil}
}

// chatUsage says usage as chat completions do: the input holds what a cache had to
// do with.
func chatUsage(u model.Usage) raw {
	input := u.InputUncached + u.CacheRead + u.CacheWrite
	return object("prompt_tokens", input, "completion_tokens", u.Output, "total_tokens", input+u.Output,
		"prompt_tokens_details", inputDetails(u), "completion_tokens_details", object("reasoning_tokens", u.Reasoning))
}

func inputDetails(u model.Usage) raw {
	return object("cached_tokens", u.CacheRead, "cache_write_tokens", u.CacheWrite)
}
