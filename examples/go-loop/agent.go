// Package agent holds two agent loops and the regression tests that recorded
// sessions make of them: one loop written by hand (Answer), and one that is package
// loop of harnessbench with a tool of its own (see Shop).
package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/harnessbench/harnessbench/loop/model"
)

// prices is what the tool of both loops knows.
var prices = map[string]string{"apples": "1.20", "pears": "2.50", "plums": "3.10"}

// price looks one up; what it answers goes back to the model.
func price(of string) string {
	if p, ok := prices[of]; ok {
		return p + " a kilo"
	}
	return "we have no " + of
}

// priceTool is what the model is told of it.
var priceTool = model.ToolSpec{Name: "price", Version: 1, Description: "Says what a kilo of a fruit costs.",
	Schema: `{"properties":{"of":{"type":"string"}},"required":["of"],"type":"object"}`}

// prompt opens every conversation.
const prompt = "You sell fruit. Look prices up, never guess them, and answer in one sentence."

// turns is how often the model may be asked for one answer.
const turns = 8

// Answer is a loop written by hand: it asks the model until that calls no tool any
// more. All it takes from harnessbench is the vocabulary of package model.
func Answer(ctx context.Context, m model.Model, question string) (string, error) {
	talk := []model.Message{say(model.System, prompt), say(model.User, question)}
	for range turns {
		req := model.NewRequest(model.Params{Model: m.ID(), MaxTokens: 300}, []model.ToolSpec{priceTool}, talk)
		resp, err := m.Generate(ctx, req, nil)
		if err != nil {
			return "", err
		}
		calls := resp.Calls()
		if len(calls) == 0 {
			return model.TextOf(resp.Items), nil
		}
		talk = append(talk, model.Message{Role: model.Assistant, Items: resp.Items})
		for _, c := range calls {
			result := say(model.ToolRole, run(c))
			result.CallID = c.ID
			talk = append(talk, result)
		}
	}
	return "", fmt.Errorf("no answer after %d turns", turns)
}

// run executes one tool call.
func run(c model.ToolCall) string {
	var args struct{ Of string }
	if err := json.Unmarshal([]byte(c.Args), &args); err != nil || c.Name != priceTool.Name {
		return "there is only the tool price, and it wants {\"of\": FRUIT}"
	}
	return price(args.Of)
}

func say(role model.Role, text string) model.Message {
	return model.Message{Role: role, Items: []model.Item{{Type: model.Text, Text: text}}}
}
