package loop_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/loop/model"
)

// checkChat fails unless parts are a conversation that a chat API takes: tools,
// then system, then messages; every tool call answered exactly once, directly
// after the message that made it and in its order; ids unique; no message by the
// model directly after another.
func checkChat(t testing.TB, parts []*model.Part) {
	t.Helper()
	var open []string // ids still to be answered
	seen := map[string]bool{}
	stage, last := 0, model.Role("")
	for i, p := range parts {
		var whole *model.Part
		if p.Message != nil { // the loop keeps lean parts; the message says it again
			whole = model.NewMessagePart(*p.Message)
		} else {
			whole = model.NewToolPart(*p.Tool)
		}
		if !jsontext.Value(whole.JSON).IsValid() || p.Digest != model.Sum(whole.JSON) || p.Size != len(whole.JSON) {
			t.Fatalf("part %d is not what its digest says", i)
		}
		at := map[model.PartKind]int{model.KindTool: 0, model.KindSystem: 1, model.KindMessage: 2}[p.Kind]
		if at < stage {
			t.Fatalf("part %d: %s after later kinds", i, p.Kind)
		}
		stage = at
		if p.Kind != model.KindMessage {
			continue
		}
		m := p.Message
		if m.Role == model.ToolRole {
			if len(open) == 0 || m.CallID != open[0] {
				t.Fatalf("part %d answers %q, open are %v", i, m.CallID, open)
			}
			open = open[1:]
			last = m.Role
			continue
		}
		if len(open) > 0 {
			t.Fatalf("part %d: a message by %s while %v are unanswered", i, m.Role, open)
		}
		if m.Role == model.Assistant && last != model.User && last != model.ToolRole {
			t.Fatalf("part %d: an answer after %q", i, last)
		}
		last = m.Role
		for _, it := range m.Items {
			if it.Type != model.CallItem {
				continue
			}
			if it.Call.ID == "" || seen[it.Call.ID] {
				t.Fatalf("part %d: id %q is empty or was used before", i, it.Call.ID)
			}
			seen[it.Call.ID] = true
			open = append(open, it.Call.ID)
		}
	}
	if len(open) > 0 {
		t.Fatalf("unanswered at the end: %v", open)
	}
}
