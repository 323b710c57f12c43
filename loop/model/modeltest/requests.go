package modeltest

import (
	"strings"

	"github.com/harnessbench/harnessbench/loop/model"
)

// Conversations returns fresh requests to the model with the given id, in the
// order in which a loop would ask them. Two calls give equal requests that share
// no memory.
func Conversations(id string) []*model.Request {
	tools := []*model.Part{
		model.NewToolPart(model.ToolSpec{Name: "read_file", Version: 1, Description: "Reads a file.",
			Schema: `{"properties":{"path":{"type":"string"}},"required":["path"],"type":"object"}`}),
		model.NewToolPart(model.ToolSpec{Name: "list_dir", Version: 2, Description: "Lists a folder.", Schema: `{"type":"object"}`}),
	}
	system := model.NewTextPart(model.System, "Work in /workspace. Be brief.")
	task := model.NewTextPart(model.User, "Which file says \"h\u00e9llo \U0001F600\"?\nWrite its name.")
	asked := model.NewMessagePart(model.Message{Role: model.Assistant, Items: []model.Item{
		{Type: model.Text, Text: "I look."},
		{Type: model.CallItem, Call: model.ToolCall{ID: "call_1", Name: "list_dir", Args: `{}`}},
		{Type: model.CallItem, Call: model.ToolCall{ID: "call_2", Name: "read_file", Args: `{"path":"a.txt"}`}},
	}})
	results := []*model.Part{model.NewResultPart("call_1", "a.txt\nb.txt"), model.NewResultPart("call_2", strings.Repeat("no such text\n", 200))}
	feedback := model.NewTextPart(model.User, "The task is not done yet: answer.txt is missing")

	bare := []*model.Part{task}
	first := append(append([]*model.Part{}, tools...), system, task)
	second := append(append(append([]*model.Part{}, first...), asked), results...)
	third := append(append([]*model.Part{}, second...), model.NewTextPart(model.Assistant, "It is a.txt."), feedback)

	limited := model.Params{Model: id, MaxTokens: 64}
	return []*model.Request{
		request(bare, model.Params{Model: id}, 1, 0, 0, ""),
		request(first, model.Params{Model: id}, 1, 0, 0, ""),
		request(first, model.Params{Model: id}, 1, 1, 1, ""), // a retry
		request(first, limited, 1, 2, 0, ""),                 // and with another size
		request(second, model.Params{Model: id}, 2, 0, 0, ""),
		request(third, model.Params{Model: id}, 3, 0, 0, ""),
		request(third, model.Params{Model: id}, 3, 1, 1, model.ForFinalSynthesis),
	}
}

func request(parts []*model.Part, params model.Params, turn, attempt, occurrence int, purpose model.Purpose) *model.Request {
	t := model.NewTranscript()
	for _, p := range parts {
		c := *p
		c.JSON = append([]byte(nil), p.JSON...)
		t.Append(&c)
	}
	view, chains := t.View()
	return &model.Request{Params: params, ParamsDigest: params.Digest(), Parts: view, Chains: chains, Count: len(view), Purpose: purpose,
		Lane: "main", Turn: turn, Attempt: attempt, Occurrence: occurrence}
}
