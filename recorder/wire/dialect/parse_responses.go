package dialect

import (
	"github.com/harnessbench/harnessbench/loop/model"
)

func (a *answer) responsesWhole(root *node) *model.Error {
	a.meter(root.get("usage"))
	a.model = root.get("model").text()
	output := root.get("output").list()
	if len(output) > 0 { // else what a stream said stands; some end with an empty list
		a.parts = nil
	}
	for _, n := range output {
		a.responsesItem(n)
	}
	calls := false
	for _, p := range a.parts {
		calls = calls || p.typ == model.CallItem
	}
	switch status := root.get("status").text(); status {
	case "completed", "":
		a.finish = model.FinishStop
		if calls {
			a.finish = model.FinishCalls
		}
		if status == "" && root.get("output") == nil {
			return noAnswer("the answer has no output")
		}
	case "incomplete":
		a.finish = model.Finish(root.get("incomplete_details").get("reason").text())
		if a.finish == "max_output_tokens" || a.finish == "" {
			a.finish = model.FinishLength
		}
	case "failed":
		return inBand(root)
	default:
		return noAnswer("the answer is " + status + ", not completed")
	}
	a.ended = true
	return nil
}

// responsesItem takes an output item.
func (a *answer) responsesItem(n *node) {
	texts := func(typ model.ItemType, list *node) {
		for _, c := range list.list() {
			a.begin(typ).text.WriteString(c.get("text").text() + c.get("refusal").text())
		}
	}
	if n.kind != '{' {
		return
	}
	typ := n.get("type").text()
	switch typ {
	case "message":
		texts(model.Text, n.get("content"))
	case "reasoning":
		texts(model.Reasoning, n.get("summary"))
		texts(model.Reasoning, n.get("content"))
	default:
		if !clientCall(typ) {
			a.begin(model.ProviderCall).evidence = n
			return
		}
		p := a.begin(model.CallItem)
		p.id, p.name = n.get("call_id").text(), n.get("name").text()
		if p.name == "" {
			p.name = typ[:len(typ)-len("_call")]
		}
		for _, key := range []string{"arguments", "input", "action", "operation"} {
			if v := n.get(key); v != nil {
				p.text.WriteString(verbatim(v))
				break
			}
		}
	}
}

// responsesEvent takes an event: whole items as they end, and the whole answer at
// the end. The deltas between say nothing that these do not.
func (a *answer) responsesEvent(n *node) *model.Error {
	switch n.get("type").text() {
	case "response.created", "response.in_progress":
		a.model = n.get("response").get("model").text()
	case "response.output_item.done":
		if item := n.get("item"); item != nil {
			a.responsesItem(item)
		}
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		r := n.get("response")
		if failed(a.api, r) {
			a.meter(r.get("usage"))
			return inBand(r)
		}
		return a.responsesWhole(r)
	}
	return nil
}
