package dialect

import (
	"github.com/harnessbench/harnessbench/loop/model"
)

// chat reads what is chat completions' own.
func (d *decoder) chat() {
	root := d.root
	d.limit("max_completion_tokens", "max_tokens")
	if n, ok := d.int(root.get("n")); ok && n != 1 {
		d.fail("/n", "asks for more answers than one; leave it out")
	}
	if o := root.get("stream_options"); d.is(o, '{') {
		d.call.StreamUsage = d.bool(o.get("include_usage"))
	}
	for i, f := range d.objects(root.get("functions")) { // as tools were called before
		d.tool(i, f)
	}
	for _, m := range d.objects(d.need(root, "messages", '[')) {
		d.chatMessage(m)
	}
}

func (d *decoder) chatMessage(m *node) {
	switch role := d.text(d.need(m, "role", '"')); role {
	case "system", "developer":
		d.say(model.Message{Role: model.System, Items: d.content(m.get("content"))})
	case "user":
		d.say(model.Message{Role: model.User, Items: d.content(m.get("content"))})
	case "tool":
		d.say(model.Message{Role: model.ToolRole, CallID: d.text(m.get("tool_call_id")), Items: d.content(m.get("content"))})
	case "function":
		d.say(model.Message{Role: model.ToolRole, CallID: d.text(m.get("name")), Items: d.content(m.get("content"))})
	case "assistant":
		d.chatAnswer(m)
	default:
		if role != "" {
			d.fail(m.get("role").pointer(), "is no role of this API; want system, developer, user, assistant or tool")
		}
	}
}

func (d *decoder) chatAnswer(m *node) {
	var items []model.Item
	for _, key := range []string{"reasoning_content", "reasoning"} {
		if text := m.get(key).text(); text != "" {
			items = append(items, model.Item{Type: model.Reasoning, Text: text})
			break
		}
	}
	items = append(items, d.content(m.get("content"))...)
	items = append(items, model.Item{Type: model.Text, Text: d.text(m.get("refusal"))})
	items = spoken(items)
	for _, c := range d.objects(m.get("tool_calls")) {
		if f := c.get("custom"); d.is(f, '{') {
			items = append(items, model.Item{Type: model.CallItem, Call: model.ToolCall{ID: d.text(c.get("id")),
				Name: d.text(d.need(f, "name", '"')), Args: d.text(f.get("input"))}})
			continue
		}
		if f := d.need(c, "function", '{'); f != nil {
			items = append(items, d.chatCall(d.text(c.get("id")), f))
		}
	}
	if f := m.get("function_call"); d.is(f, '{') {
		items = append(items, d.chatCall(f.get("name").text(), f))
	}
	d.say(model.Message{Role: model.Assistant, Items: items})
}

func (d *decoder) chatCall(id string, f *node) model.Item {
	return model.Item{Type: model.CallItem, Call: model.ToolCall{ID: id,
		Name: d.text(d.need(f, "name", '"')), Args: arguments(f.get("arguments"))}}
}
