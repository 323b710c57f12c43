package dialect

import (
	"slices"

	"github.com/harnessbench/harnessbench/loop/model"
)

func (e *encoder) responses() {
	var output []raw
	if e.call.Stream {
		e.event("response.created", "response", e.response("in_progress", nil))
		e.event("response.in_progress", "response", e.response("in_progress", nil))
	}
	for i := range e.items {
		output = append(output, e.outputItem(i))
	}
	status, name := "completed", "response.completed"
	if e.finish != model.FinishStop && e.finish != model.FinishCalls {
		status, name = "incomplete", "response.incomplete"
	}
	if e.call.Stream {
		e.event(name, "response", e.response(status, output))
		return
	}
	e.body = e.response(status, output)
}

// event adds an event of the stream.
func (e *encoder) event(name string, kv ...any) {
	kv = append([]any{"type", name, "sequence_number", e.seq}, kv...)
	e.seq++
	e.frames = append(e.frames, frame(name, object(kv...)))
}

// response is the object that stands for the answer, with every member that the
// API always has.
func (e *encoder) response(status string, output []raw) raw {
	c := e.call
	number := func(v *float64) any {
		if v == nil {
			return 1.0
		}
		return *v
	}
	var limit, previous, incomplete, usage any
	if c.Params.MaxTokens > 0 {
		limit = c.Params.MaxTokens
	}
	if c.Previous != "" {
		previous = c.Previous
	}
	switch {
	case status != "incomplete":
	case e.finish == model.FinishLength:
		incomplete = object("reason", "max_output_tokens")
	default:
		incomplete = object("reason", string(e.finish))
	}
	if status != "in_progress" && !e.usage.Unknown {
		u := e.usage
		input := u.InputUncached + u.CacheRead + u.CacheWrite
		usage = object("input_tokens", input, "input_tokens_details", inputDetails(u), "output_tokens", u.Output,
			"output_tokens_details", object("reasoning_tokens", u.Reasoning), "total_tokens", input+u.Output)
	}
	if output == nil {
		output = []raw{}
	}
	return object("id", e.id, "object", "response", "created_at", Created, "status", status, "background", false,
		"error", nil, "incomplete_details", incomplete, "instructions", nil, "max_output_tokens", limit, "model", e.model,
		"output", output, "parallel_tool_calls", true, "previous_response_id", previous,
		"reasoning", object("effort", nil, "summary", nil), "service_tier", "default", "store", true,
		"temperature", number(c.Params.Temperature), "text", object("format", object("type", "text")),
		"tool_choice", "auto", "tools", []raw{}, "top_p", number(c.Params.TopP), "truncation", "disabled",
		"usage", usage, "user", nil, "metadata", object())
}

// outputItem returns item i as it is when complete and, in a stream, adds the
// events that lead there.
func (e *encoder) outputItem(i int) raw {
	it := &e.items[i]
	switch it.Type {
	case model.CallItem:
		return e.functionCall(i, it)
	case model.ProviderCall:
		e.added(i, raw(it.Evidence))
		return e.done(i, raw(it.Evidence))
	case model.Reasoning:
		id := e.itemID("rs", i)
		part := func(text string) raw { return object("type", "summary_text", "text", text) }
		e.added(i, object("id", id, "type", "reasoning", "summary", []raw{}))
		at := []any{"item_id", id, "output_index", i, "summary_index", 0}
		e.textEvents("reasoning_summary_part", "reasoning_summary_text", it.Text, at, nil, part)
		return e.done(i, object("id", id, "type", "reasoning", "summary", []raw{part(it.Text)}))
	}
	id := e.itemID("msg", i)
	message := func(status string, content ...raw) raw {
		return object("id", id, "type", "message", "status", status, "role", "assistant", "content", content)
	}
	part := func(text string) raw {
		return object("type", "output_text", "text", text, "annotations", []raw{}, "logprobs", []raw{})
	}
	e.added(i, message("in_progress"))
	at := []any{"item_id", id, "output_index", i, "content_index", 0}
	e.textEvents("content_part", "output_text", it.Text, at, []any{"logprobs", []raw{}}, part)
	return e.done(i, message("completed", part(it.Text)))
}

func (e *encoder) added(i int, item raw) {
	if e.call.Stream {
		e.event("response.output_item.added", "output_index", i, "item", item)
	}
}

func (e *encoder) done(i int, item raw) raw {
	if e.call.Stream {
		e.event("response.output_item.done", "output_index", i, "item", item)
	}
	return item
}

// textEvents streams the one part of an item: added, deltas, the whole text,
// done. at says where it stands, more goes with deltas and text.
func (e *encoder) textEvents(partName, textName, text string, at, more []any, part func(string) raw) {
	if !e.call.Stream {
		return
	}
	with := func(kv ...any) []any { return append(append([]any{}, at...), kv...) }
	e.event("response."+partName+".added", with("part", part(""))...)
	for _, p := range pieces(text) {
		e.event("response."+textName+".delta", with(append([]any{"delta", p}, more...)...)...)
	}
	e.event("response."+textName+".done", with(append([]any{"text", text}, more...)...)...)
	e.event("response."+partName+".done", with("part", part(text))...)
}

// functionCall is a call; that of a freeform tool is an item of another type.
func (e *encoder) functionCall(i int, it *model.Item) raw {
	typ, prefix, key, event := "function_call", "fc", "arguments", "response.function_call_arguments"
	if slices.Contains(e.call.Freeform, it.Call.Name) {
		typ, prefix, key, event = "custom_tool_call", "ctc", "input", "response.custom_tool_call_input"
	}
	id := e.itemID(prefix, i)
	item := func(status, args string) raw {
		return object("id", id, "type", typ, "status", status, key, args, "call_id", it.Call.ID, "name", it.Call.Name)
	}
	e.added(i, item("in_progress", ""))
	if e.call.Stream {
		for _, p := range pieces(it.Call.Args) {
			e.event(event+".delta", "item_id", id, "output_index", i, "delta", p)
		}
		e.event(event+".done", "item_id", id, "output_index", i, "name", it.Call.Name, key, it.Call.Args)
	}
	return e.done(i, item("completed", it.Call.Args))
}
