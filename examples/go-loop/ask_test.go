package agent

import (
	"context"
	"os"
	"strings"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/openai"
)

// modelID is the model that the recordings were made with.
var modelID = id()

func id() string {
	if name := os.Getenv("AGENT_MODEL"); name != "" {
		return "openai/" + name
	}
	return "demo/fruiterer"
}

// ask makes the model that -update asks: with AGENT_MODEL, OPENAI_BASE_URL and
// OPENAI_API_KEY any endpoint that speaks the OpenAI API; without them a stand-in,
// so that the example needs no key.
func ask() (model.Model, error) {
	if os.Getenv("AGENT_MODEL") == "" {
		return fruiterer{}, nil
	}
	return openai.New(openai.Options{ID: modelID, BaseURL: os.Getenv("OPENAI_BASE_URL"), Key: os.Getenv("OPENAI_API_KEY")})
}

// fruiterer is a model by rule: it looks up every fruit that the question names,
// and repeats itself where there is none to be had.
type fruiterer struct{}

func (fruiterer) ID() string { return "demo/fruiterer" }

func (fruiterer) Generate(_ context.Context, req *model.Request, _ func(model.Delta)) (*model.Response, error) {
	var asked, found, told []string
	for _, p := range req.Parts {
		if p.Message == nil {
			continue
		}
		switch text := model.TextOf(p.Message.Items); p.Role {
		case model.User:
			for _, fruit := range []string{"apples", "pears", "plums", "durians"} {
				if strings.Contains(text, fruit) {
					asked = append(asked, fruit)
				}
			}
			if !strings.Contains(text, "kilo") { // a guard's word
				told = append(told, text)
			}
		case model.ToolRole:
			found = append(found, text)
		}
	}
	resp := &model.Response{Model: "demo/fruiterer", Usage: model.Usage{InputUncached: int64(40 * len(req.Parts)), Output: 20}}
	repeats := len(found) > 0 && strings.HasPrefix(found[0], "we have no") && len(told) == 0
	if len(found) >= len(asked) && !repeats {
		resp.Finish = model.FinishStop
		resp.Items = []model.Item{{Type: model.Text, Text: sentence(asked, found)}}
		return resp, nil
	}
	resp.Finish = model.FinishCalls
	for _, fruit := range asked {
		resp.Items = append(resp.Items, model.Item{Type: model.CallItem, Call: model.ToolCall{Name: "price", Args: `{"of":"` + fruit + `"}`}})
	}
	return resp, nil
}

func sentence(asked, found []string) string {
	if strings.HasPrefix(found[0], "we have no") {
		return "I am sorry, " + found[0] + "."
	}
	said := make([]string, len(asked))
	for i, fruit := range asked {
		said[i] = fruit + " " + found[i]
		if i == 0 {
			said[i] = strings.ToUpper(fruit[:1]) + fruit[1:] + " are " + found[i]
		}
	}
	return strings.Join(said, ", ") + "."
}
