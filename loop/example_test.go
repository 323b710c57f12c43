package loop_test

import (
	"context"
	"fmt"
	"time"

	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/clock"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
)

// forecaster is a model that looks the weather up and then says it.
type forecaster struct{}

func (forecaster) ID() string { return "demo/forecaster" }

func (forecaster) Generate(_ context.Context, req *model.Request, _ func(model.Delta)) (*model.Response, error) {
	last := req.Parts[len(req.Parts)-1].Message
	if last.Role != model.ToolRole {
		return &model.Response{Finish: model.FinishCalls, Elapsed: 2 * time.Second, Items: []model.Item{
			{Type: model.CallItem, Call: model.ToolCall{Name: "weather", Args: `{"city":"Oslo"}`}}}}, nil
	}
	return &model.Response{Finish: model.FinishStop, Elapsed: time.Second, Items: []model.Item{
		{Type: model.Text, Text: "In Oslo: " + model.TextOf(last.Items)}}}, nil
}

// weather is a tool that declares what it is and how long it takes.
type weather struct{}

func (weather) Spec() tool.Spec {
	return tool.Spec{Effect: event.Read, ToolSpec: model.ToolSpec{Name: "weather", Version: 1, Description: "Tells the weather in a city.",
		Schema: `{"properties":{"city":{"type":"string"}},"required":["city"],"type":"object"}`}}
}

func (weather) Canonical(args string) (string, []string, error) { return args, nil, nil }

func (weather) Run(context.Context, *tool.Op) tool.Result {
	return tool.Result{Outcome: event.Success, Text: "rain", Took: 300 * time.Millisecond}
}

// printer is a sink that prints what it hears.
type printer struct{}

func (printer) Emit(ev event.Event) error {
	switch ev := ev.(type) {
	case *event.ToolRequest:
		fmt.Printf("%6s  turn %d asks %s %s\n", ev.At, ev.Turn, ev.Call.Name, ev.Args)
	case *event.ToolResult:
		fmt.Printf("%6s  %s: %s\n", ev.At, ev.Outcome, ev.Raw)
	case *event.Guard:
		fmt.Printf("%6s  %s (%s): %s, %s\n", ev.At, ev.Name, ev.Mode, ev.Act, ev.Evidence)
	case *event.End:
		fmt.Printf("%6s  %s after %d turns: %s\n", ev.At, ev.Reason, ev.Turns, ev.Answer)
	}
	return nil
}

// A loop needs a frozen configuration and what it acts through. Time is virtual:
// the example takes none.
func ExampleLoop_Run() {
	tools, err := tool.NewSet(weather{})
	if err != nil {
		fmt.Println(err)
		return
	}
	cfg, err := loop.Freeze(loop.Settings{
		Scenario: "weather", Seed: 1, Task: "What is the weather in Oslo?",
		Models: []string{"demo/forecaster"}, Params: model.Params{Model: "demo/forecaster"},
		Tools: tools.Specs(), Guards: guard.MustProfile(guard.ProfileDefault), Limits: guard.Backstop{Turns: 10},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := loop.New(cfg, loop.Deps{Model: forecaster{}, Tools: tools, Run: tools, Clock: clock.NewVirtual(), Sink: printer{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := l.Run(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	//     2s  turn 1 asks weather {"city":"Oslo"}
	//   2.3s  success: rain
	//   3.3s  completed after 2 turns: In Oslo: rain
}

// searcher repeats one call for ever.
type searcher struct{}

func (searcher) ID() string { return "demo/searcher" }

func (searcher) Generate(context.Context, *model.Request, func(model.Delta)) (*model.Response, error) {
	return &model.Response{Finish: model.FinishCalls, Elapsed: time.Second, Items: []model.Item{
		{Type: model.CallItem, Call: model.ToolCall{Name: "weather", Args: `{"city":"Atlantis"}`}}}}, nil
}

// A guard is changed, put in shadow or switched off by settings; every firing is
// an event, in shadow too.
func ExampleLoop_Run_guards() {
	tools, _ := tool.NewSet(weather{})
	for _, mode := range []guard.Mode{guard.Enforce, guard.Shadow} {
		guards, err := guard.MustProfile(guard.ProfileDefault).With("stuck", mode)
		if err != nil {
			fmt.Println(err)
			return
		}
		cfg, err := loop.Freeze(loop.Settings{
			Scenario: "weather", Task: "What is the weather in Atlantis?",
			Models: []string{"demo/searcher"}, Params: model.Params{Model: "demo/searcher"},
			Tools: tools.Specs(), Guards: guards, Limits: guard.Backstop{Turns: 8},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		l, err := loop.New(cfg, loop.Deps{Model: searcher{}, Tools: tools, Run: tools, Clock: clock.NewVirtual(), Sink: firings{}})
		if err != nil {
			fmt.Println(err)
			return
		}
		end, err := l.Run(context.Background())
		fmt.Println(end.Reason, end.Evidence, end.Backstop, err)
	}
	// Output:
	// turn 3: stuck nudge (enforce), 3 equal rounds
	// turn 6: stuck stop (enforce), 6 equal rounds
	// stuck 6 equal rounds false <nil>
	// turn 3: stuck nudge (shadow), 3 equal rounds
	// turn 6: stuck stop (shadow), 6 equal rounds
	// turn 8: final_synthesis ask (enforce), turn_limit: 8 turns
	// turn_limit 8 turns true <nil>
}

// firings is a sink that prints what guards do.
type firings struct{}

func (firings) Emit(ev event.Event) error {
	if g, ok := ev.(*event.Guard); ok {
		fmt.Printf("turn %d: %s %s (%s), %s\n", g.Turn, g.Name, g.Act, g.Mode, g.Evidence)
	}
	return nil
}
