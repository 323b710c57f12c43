package agent

import (
	"context"
	"encoding/json"

	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
)

// Shop configures package loop for a question: its guards nudge a model that
// repeats itself, retry what passes with time, and stop what does not.
func Shop(id, question string) loop.Settings {
	return loop.Settings{
		System: prompt, Task: question,
		Params: model.Params{Model: id, MaxTokens: 300},
		Guards: guard.MustProfile(guard.ProfileDefault),
		Limits: guard.Backstop{Turns: turns},
	}
}

// Tools are the loop's tools.
func Tools() (*tool.Set, error) { return tool.NewSet(priceOf{}) }

// priceOf is the tool price as package loop wants it.
type priceOf struct{}

// Spec implements tool.Tool.
func (priceOf) Spec() tool.Spec { return tool.Spec{ToolSpec: priceTool, Effect: event.Read} }

// Canonical implements tool.Tool: equal calls have equal arguments already.
func (priceOf) Canonical(args string) (string, []string, error) { return args, nil, nil }

// Run implements tool.Tool.
func (priceOf) Run(_ context.Context, op *tool.Op) tool.Result {
	var args struct{ Of string }
	if err := json.Unmarshal([]byte(op.Args), &args); err != nil {
		return tool.Result{Outcome: event.ToolError, Text: err.Error()}
	}
	return tool.Result{Outcome: event.Success, Text: price(args.Of)}
}
