package loop_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/clock"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
)

// scripted is a model whose n-th call (from 0, over the whole session) is
// answered by answer. It keeps what it was asked.
type scripted struct {
	answer func(n int, ctx context.Context, req *model.Request) (*model.Response, error)
	asked  []asked
}

// asked is what a request looked like when it came.
type asked struct {
	model.Request
	last string // text of the last part
}

func (m *scripted) ID() string { return "fake/model" }

func (m *scripted) Generate(ctx context.Context, req *model.Request, _ func(model.Delta)) (*model.Response, error) {
	a := asked{Request: *req}
	if k := len(req.Parts); k > 0 && req.Parts[k-1].Message != nil {
		a.last = model.TextOf(req.Parts[k-1].Message.Items)
	}
	n := len(m.asked)
	m.asked = append(m.asked, a)
	return m.answer(n, ctx, req)
}

// answers plays responses and errors in order; the last one is repeated.
func answers(list ...any) *scripted {
	return &scripted{answer: func(n int, _ context.Context, _ *model.Request) (*model.Response, error) {
		switch a := list[min(n, len(list)-1)].(type) {
		case *model.Response:
			return a, nil
		case error:
			return nil, a
		}
		panic("neither a response nor an error")
	}}
}

func say(text string) *model.Response {
	return &model.Response{Finish: model.FinishStop, Usage: model.Usage{InputUncached: 10, Output: 2}, Elapsed: time.Second,
		Items: []model.Item{{Type: model.Text, Text: text}}}
}

// calls makes a response that asks for tools, each "name" or "name args".
func calls(list ...string) *model.Response {
	r := &model.Response{Finish: model.FinishCalls, Usage: model.Usage{InputUncached: 10, Output: 2}, Elapsed: time.Second}
	for _, c := range list {
		name, args, _ := strings.Cut(c, " ")
		r.Items = append(r.Items, model.Item{Type: model.CallItem, Call: model.ToolCall{ID: "model-made", Name: name, Args: args}})
	}
	return r
}

func with(r *model.Response, change func(*model.Response)) *model.Response {
	c := *r
	change(&c)
	return &c
}

// fakeTool is a tool whose run is a function.
type fakeTool struct {
	spec tool.Spec
	run  func(ctx context.Context, op *tool.Op) tool.Result
}

func (f fakeTool) Spec() tool.Spec { return f.spec }

func (f fakeTool) Canonical(args string) (string, []string, error) { return args, nil, nil }

func (f fakeTool) Run(ctx context.Context, op *tool.Op) tool.Result { return f.run(ctx, op) }

func newTool(name string, effect event.Effect, run func(ctx context.Context, op *tool.Op) tool.Result) fakeTool {
	return fakeTool{tool.Spec{ToolSpec: model.ToolSpec{Name: name, Version: 1, Description: "A tool of the tests.", Schema: `{"type":"object"}`}, Effect: effect}, run}
}

// ok is a tool that takes 10 ms and says the same thing every time.
func ok(name string, effect event.Effect, text string) fakeTool {
	return newTool(name, effect, func(context.Context, *tool.Op) tool.Result {
		return tool.Result{Outcome: event.Success, Text: text, Took: 10 * time.Millisecond}
	})
}

// slow is a tool that declares to take d.
func slow(name string, effect event.Effect, d time.Duration) fakeTool {
	return newTool(name, effect, func(context.Context, *tool.Op) tool.Result {
		return tool.Result{Outcome: event.Success, Text: "done", Took: d}
	})
}

// sink keeps copies of the events and a log of one short line each. fail names
// the emission (from 0) that returns an error.
type sink struct {
	log    []string
	events []event.Event
	fail   int
	err    error
	hook   func(event.Event)
}

func (s *sink) Emit(ev event.Event) error {
	if s.err != nil && len(s.log) >= s.fail {
		s.log = append(s.log, "after the error")
		return s.err
	}
	s.log = append(s.log, line(ev))
	s.events = append(s.events, clone(ev))
	if s.hook != nil {
		s.hook(ev)
	}
	return nil
}

func clone(ev event.Event) event.Event {
	switch ev := ev.(type) {
	case *event.ToolRequest:
		c := *ev
		return &c
	case *event.ToolResult:
		c := *ev
		return &c
	case *event.Response:
		c := *ev
		return &c
	}
	return ev
}

func line(ev event.Event) string {
	switch ev := ev.(type) {
	case *event.Start:
		return "start"
	case *event.Part:
		return "part " + ev.Why
	case *event.Checkpoint:
		return "before " + string(ev.Next)
	case *event.Request:
		return "request"
	case *event.Attempt:
		if ev.Err != nil {
			return "attempt " + string(ev.Err.Kind)
		}
		return "attempt dropped"
	case *event.Response:
		return "response"
	case *event.Anomaly:
		return "anomaly"
	case *event.ToolRequest:
		return strings.TrimSpace(fmt.Sprintf("ask %d %s %s", ev.Index, ev.Call.Name, ev.Problem))
	case *event.ToolResult:
		return fmt.Sprintf("result %d %s", ev.Index, ev.Outcome)
	case *event.Round:
		return "round"
	case *event.Candidate:
		return "candidate"
	case *event.Guard:
		return fmt.Sprintf("guard %s %s %s", ev.Name, ev.Mode, ev.Act)
	case *event.State:
		return "state"
	case *event.End:
		return "end " + string(ev.Reason)
	}
	return fmt.Sprintf("unknown event %T", ev)
}

// only returns the log lines that begin with prefix.
func (s *sink) only(prefix string) []string {
	var out []string
	for _, l := range s.log {
		if strings.HasPrefix(l, prefix) {
			out = append(out, l)
		}
	}
	return out
}

func eventsOf[T event.Event](s *sink) []T {
	var out []T
	for _, ev := range s.events {
		if e, is := ev.(T); is {
			out = append(out, e)
		}
	}
	return out
}

// trial is a loop to be run in a test.
type trial struct {
	loop.Settings
	deps  loop.Deps
	model *scripted
	sink  *sink
	clock *clock.Virtual
	ctx   context.Context
}

// newTrial makes a trial under profile default and changes ("guard=mode" or
// "guard.param=value").
func newTrial(t testing.TB, m *scripted, tools []tool.Tool, profile string, changes ...string) *trial {
	t.Helper()
	set, err := tool.NewSet(tools...)
	if err != nil {
		t.Fatal(err)
	}
	tr := &trial{model: m, sink: &sink{}, clock: clock.NewVirtual(), ctx: t.Context()}
	tr.Settings = loop.Settings{Scenario: "test", Seed: 7, System: "Be brief.", Task: "Do it.", Models: []string{"fake/model"},
		Params: model.Params{Model: "fake/model"}, Tools: set.Specs(), Guards: guards(t, profile, changes...),
		Limits: guard.Backstop{Turns: 100, Calls: 1000}}
	tr.deps = loop.Deps{Model: m, Tools: set, Run: set, Clock: tr.clock, Sink: tr.sink}
	return tr
}

func guards(t testing.TB, profile string, changes ...string) guard.Settings {
	t.Helper()
	s := guard.MustProfile(profile)
	for _, c := range changes {
		key, val, _ := strings.Cut(c, "=")
		var err error
		if name, param, ok := strings.Cut(key, "."); ok {
			s, err = s.WithParam(name, param, val)
		} else {
			s, err = s.With(key, guard.Mode(val))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (tr *trial) start(t testing.TB) *loop.Loop {
	t.Helper()
	cfg, err := loop.Freeze(tr.Settings)
	if err != nil {
		t.Fatal(err)
	}
	l, err := loop.New(cfg, tr.deps)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (tr *trial) run(t testing.TB) *event.End {
	t.Helper()
	end, err := tr.start(t).Run(tr.ctx)
	if err != nil {
		t.Fatal(err)
	}
	return end
}

// wantEnd runs and checks the reason, and that the end is the last event.
func (tr *trial) wantEnd(t testing.TB, reason event.Reason) *event.End {
	t.Helper()
	end := tr.run(t)
	if end.Reason != reason {
		t.Fatalf("ended %s (%s), want %s\n%s", end.Reason, end.Evidence, reason, strings.Join(tr.sink.log, "\n"))
	}
	if last := tr.sink.log[len(tr.sink.log)-1]; last != "end "+string(reason) {
		t.Fatalf("the last event is %q", last)
	}
	return end
}

func wantLines(t testing.TB, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}
