package dialect

import (
	"github.com/harnessbench/harnessbench/loop/model"
)

// messages reads what is Messages' own.
func (d *decoder) messages() {
	root := d.root
	d.limit("max_tokens")
	if s := root.get("system"); s != nil {
		d.say(model.Message{Role: model.System, Items: d.content(s)})
	}
	for _, m := range d.objects(d.need(root, "messages", '[')) {
		content := m.get("content")
		switch role := d.text(d.need(m, "role", '"')); role {
		case "system":
			d.say(model.Message{Role: model.System, Items: d.content(content)})
		case "user":
			d.userBlocks(content)
		case "assistant":
			d.say(model.Message{Role: model.Assistant, Items: d.answerBlocks(content)})
		default:
			if role != "" {
				d.fail(m.get("role").pointer(), "is no role of this API; want user or assistant")
			}
		}
	}
}

// userBlocks takes the results out of a user message: each is a message of its
// own. A message of results alone leaves none by User.
func (d *decoder) userBlocks(content *node) {
	if content == nil || content.kind != '[' {
		d.say(model.Message{Role: model.User, Items: d.content(content)})
		return
	}
	var rest []model.Item
	results := 0
	for _, b := range d.objects(content) {
		if b.get("type").text() != "tool_result" {
			rest = append(rest, d.block(b))
			continue
		}
		results++
		d.say(model.Message{Role: model.ToolRole, CallID: d.text(d.need(b, "tool_use_id", '"')), Items: d.content(b.get("content"))})
	}
	if len(rest) > 0 || results == 0 {
		d.say(model.Message{Role: model.User, Items: rest})
	}
}

func (d *decoder) answerBlocks(content *node) []model.Item {
	if content == nil || content.kind != '[' {
		return spoken(d.content(content))
	}
	var out []model.Item
	for _, b := range d.objects(content) {
		switch d.text(d.need(b, "type", '"')) {
		case "text":
			out = append(out, d.block(b))
		case "thinking":
			out = append(out, model.Item{Type: model.Reasoning, Text: d.text(b.get("thinking"))})
		case "redacted_thinking": // nobody can read it
		case "tool_use":
			out = append(out, model.Item{Type: model.CallItem, Call: model.ToolCall{ID: d.text(d.need(b, "id", '"')),
				Name: d.text(d.need(b, "name", '"')), Args: inputArgs(b.get("input"), (*node).canonical)}})
		default:
			out = append(out, model.Item{Type: model.ProviderCall, Evidence: b.canonical()})
		}
	}
	return spoken(out)
}

// malformedKey is the one member of an object that carries arguments which are
// no JSON object: Messages has no other way to say them. The provider's own
// advice for such arguments is this very key.
const malformedKey = "INVALID_JSON"

// inputArgs returns the arguments that an input says.
func inputArgs(in *node, text func(*node) string) string {
	if in == nil {
		return "{}"
	}
	if in.kind == '{' && len(in.keys) == 1 && in.keys[0] == malformedKey && in.kids[0].kind == '"' {
		return in.kids[0].str
	}
	return text(in)
}
