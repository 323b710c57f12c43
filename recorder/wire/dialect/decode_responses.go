package dialect

import (
	"strings"

	"github.com/harnessbench/harnessbench/loop/model"
)

// responses reads what is Responses' own.
func (d *decoder) responses() {
	root := d.root
	d.limit("max_output_tokens")
	d.call.Previous = d.text(root.get("previous_response_id"))
	if c := root.get("conversation"); c != nil {
		d.fail(c.pointer(), "conversations are not kept here; send the input, or previous_response_id")
	}
	if b := root.get("background"); d.bool(b) {
		d.fail(b.pointer(), "there are no background answers here; leave it out")
	}
	if s := root.get("instructions"); s != nil {
		d.say(model.Message{Role: model.System, Items: d.content(s)})
	}
	input := root.get("input")
	switch {
	case input == nil:
		d.fail("/input", "is missing; want a string or an array")
	case input.kind == '"':
		d.say(model.Message{Role: model.User, Items: d.content(input)})
	default:
		d.inputItems(d.objects(input))
	}
}

// inputItems gathers what stands between two messages by others into one message
// by Assistant: that is one answer.
func (d *decoder) inputItems(items []*node) {
	var answer []model.Item
	open := false
	flush := func() {
		if open {
			d.say(model.Message{Role: model.Assistant, Items: answer})
		}
		answer, open = nil, false
	}
	for _, n := range items {
		if m, ok := d.inputMessage(n); ok {
			flush()
			d.say(m)
			continue
		}
		open = true
		answer = append(answer, d.outputItem(n)...)
	}
	flush()
}

// inputMessage reads an item by another than Assistant.
func (d *decoder) inputMessage(n *node) (m model.Message, ok bool) {
	typ := d.text(n.get("type"))
	if strings.HasSuffix(typ, "_call_output") {
		m = model.Message{Role: model.ToolRole, CallID: d.text(n.get("call_id"))}
		if out := n.get("output"); out != nil && out.kind != '"' && out.kind != '[' {
			m.Items = []model.Item{{Type: model.Text, Text: out.canonical()}}
		} else {
			m.Items = d.content(out)
		}
		return m, true
	}
	if typ != "" && typ != "message" {
		return m, false
	}
	switch role := d.text(d.need(n, "role", '"')); role {
	case "assistant":
		return m, false
	case "system", "developer":
		m.Role = model.System
	case "user":
		m.Role = model.User
	default:
		if role != "" {
			d.fail(n.get("role").pointer(), "is no role of this API; want system, developer, user or assistant")
		}
		return m, true
	}
	m.Items = d.content(n.get("content"))
	return m, true
}

// outputItem reads what a model put out, given back to it.
func (d *decoder) outputItem(n *node) []model.Item {
	typ := d.text(n.get("type"))
	call := func(name, args string) []model.Item {
		return []model.Item{{Type: model.CallItem, Call: model.ToolCall{ID: d.text(n.get("call_id")), Name: name, Args: args}}}
	}
	switch typ {
	case "", "message":
		return spoken(d.content(n.get("content")))
	case "function_call":
		return call(d.text(d.need(n, "name", '"')), arguments(n.get("arguments")))
	case "custom_tool_call":
		return call(d.text(d.need(n, "name", '"')), d.text(n.get("input")))
	case "local_shell_call", "shell_call", "apply_patch_call", "computer_call": // run by the client
		args := n.get("action")
		if args == nil {
			args = n.get("operation")
		}
		return call(strings.TrimSuffix(typ, "_call"), arguments(args))
	case "reasoning":
		var out []model.Item
		for _, key := range []string{"summary", "content"} {
			for _, it := range d.content(n.get(key)) {
				it.Type = model.Reasoning
				out = append(out, it)
			}
		}
		return spoken(out)
	}
	return []model.Item{{Type: model.ProviderCall, Evidence: n.canonical()}}
}

// clientCall reports whether an output item is a call that the client runs.
func clientCall(typ string) bool {
	switch typ {
	case "function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "computer_call":
		return true
	}
	return false
}
