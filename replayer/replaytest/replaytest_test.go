package replaytest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/clock"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/replayer"
)

// fake hears what a test says instead of failing.
type fake struct {
	testing.TB
	said     strings.Builder
	failed   bool
	cleanups []func()
}

func (f *fake) Helper() {}

func (f *fake) Errorf(format string, args ...any) {
	f.failed = true
	f.Logf(format, args...)
}

func (f *fake) Error(args ...any)                 { f.Errorf("%s", fmt.Sprint(args...)) }
func (f *fake) Logf(format string, args ...any)   { fmt.Fprintf(&f.said, format+"\n", args...) }
func (f *fake) Fatalf(format string, args ...any) { f.Errorf(format, args...); panic(f) }
func (f *fake) Fatal(args ...any)                 { f.Errorf("%s", fmt.Sprint(args...)); panic(f) }
func (f *fake) Failed() bool                      { return f.failed }
func (f *fake) Cleanup(fn func())                 { f.cleanups = append(f.cleanups, fn) }

// under runs a test body and says what it said, and whether it failed.
func under(t *testing.T, update bool, body func(testing.TB)) (said string, failed bool) {
	t.Helper()
	if err := flag.Set("update", fmt.Sprint(update)); err != nil {
		t.Fatal(err)
	}
	defer flag.Set("update", "false")
	f := &fake{TB: t}
	func() {
		defer func() {
			if p := recover(); p != nil && p != any(f) {
				panic(p)
			}
		}()
		body(f)
	}()
	for _, fn := range f.cleanups {
		fn()
	}
	return f.said.String(), f.failed
}

// clerk adds up prices with the tool price; asked counts its calls.
type clerk struct {
	id     string
	asked  *int
	broken error
}

func (c clerk) ID() string { return c.id }

func (c clerk) Generate(_ context.Context, req *model.Request, _ func(model.Delta)) (*model.Response, error) {
	*c.asked++
	if c.broken != nil {
		return nil, c.broken
	}
	last := req.Parts[len(req.Parts)-1].Message
	resp := &model.Response{Usage: model.Usage{InputUncached: int64(len(req.Parts)), Output: 5}, Model: c.id, Finish: model.FinishCalls}
	if last.Role == model.ToolRole {
		resp.Finish, resp.Items = model.FinishStop, []model.Item{{Type: model.Text, Text: "It costs " + model.TextOf(last.Items) + "."}}
		return resp, nil
	}
	resp.Items = []model.Item{{Type: model.Text, Text: "Let me look."},
		{Type: model.CallItem, Call: model.ToolCall{ID: fmt.Sprint("random", time.Now().UnixNano()), Name: "price", Args: `{"of":"pears"}`}}}
	return resp, nil
}

var priceSpec = model.ToolSpec{Name: "price", Version: 1, Description: "Says a price.", Schema: `{"type":"object"}`}

// shop is an agent loop that is not ours.
func shop(ctx context.Context, m model.Model, prompt, price string) (string, error) {
	talk := []model.Message{
		{Role: model.System, Items: []model.Item{{Type: model.Text, Text: prompt}}},
		{Role: model.User, Items: []model.Item{{Type: model.Text, Text: "What do pears cost?"}}}}
	for {
		resp, err := m.Generate(ctx, model.NewRequest(model.Params{Model: m.ID(), MaxTokens: 100}, []model.ToolSpec{priceSpec}, talk), nil)
		if err != nil {
			return "", err
		}
		talk = append(talk, model.Message{Role: model.Assistant, Items: resp.Items})
		calls := resp.Calls()
		if len(calls) == 0 {
			return model.TextOf(resp.Items), nil
		}
		for _, c := range calls {
			talk = append(talk, model.Message{Role: model.ToolRole, CallID: c.ID, Items: []model.Item{{Type: model.Text, Text: price}}})
		}
	}
}

// A loop of one's own is recorded, replays without its model, fails where it asks
// something else, and is recorded again from there on.
func TestModel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "testdata", "shop.session.jsonl")
	asked := 0
	live := func() (model.Model, error) { return clerk{id: "acme/clerk", asked: &asked}, nil }
	body := func(prompt, price, want string) func(testing.TB) {
		return func(tb testing.TB) {
			got, err := shop(context.Background(), Model(tb, path, live), prompt, price)
			if err != nil || got != want {
				tb.Errorf("%q, %v", got, err)
			}
		}
	}
	said, failed := under(t, false, body("Be brief.", "2.50", "It costs 2.50."))
	if !failed || !strings.Contains(said, "-update") {
		t.Errorf("without a recording: %s", said)
	}
	if said, failed = under(t, true, body("Be brief.", "2.50", "It costs 2.50.")); failed || asked != 2 {
		t.Fatalf("recording: %d asked\n%s", asked, said)
	}
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, update := range []bool{false, true} {
		if said, failed = under(t, update, body("Be brief.", "2.50", "It costs 2.50.")); failed || said != "" || asked != 2 {
			t.Errorf("update %v: %d asked\n%s", update, asked, said)
		}
	}
	if again, err := os.ReadFile(path); err != nil || string(again) != string(first) {
		t.Errorf("a recording that fits was replaced, %v", err)
	}
	said, failed = under(t, false, body("Be brief!", "2.50", "It costs 2.50."))
	for _, want := range []string{"DIVERGED", "HB1001    the system prompt differs", "/parts/1/content/0/text", "Be brief.", "Be brief!", "-update", "show"} {
		if !failed || !strings.Contains(said, want) {
			t.Errorf("another prompt: no %q in\n%s", want, said)
		}
	}
	// From the second call on the answers are live; the first one is not asked again.
	if said, failed = under(t, true, body("Be brief.", "3.00", "It costs 3.00.")); failed || asked != 3 || !strings.Contains(said, "recorded again") {
		t.Errorf("%d asked\n%s", asked, said)
	}
	if said, failed = under(t, false, body("Be brief.", "3.00", "It costs 3.00.")); failed {
		t.Error(said)
	}
	// A test that fails by itself updates nothing.
	if said, failed = under(t, true, body("Be brief.", "4.00", "It costs 5.00.")); !failed || !strings.Contains(said, "not updated") {
		t.Error(said)
	}
	if said, failed = under(t, false, body("Be brief.", "3.00", "It costs 3.00.")); failed {
		t.Error(said)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("%v %v", entries, err)
	}
	// The loop ends early, or asks on.
	said, failed = under(t, false, func(tb testing.TB) { Model(tb, path, live) })
	if !failed || !strings.Contains(said, "UNUSED") {
		t.Error(said)
	}
	said, failed = under(t, false, func(tb testing.TB) {
		m := Model(tb, path, live)
		_, _ = shop(context.Background(), m, "Be brief.", "3.00")
		if _, err := shop(context.Background(), m, "Be brief.", "3.00"); err == nil {
			tb.Error("the loop asked on")
		}
	})
	if !failed || !strings.Contains(said, "EXHAUSTED") || strings.Contains(said, "asked on") {
		t.Error(said)
	}
	if rep, err := replayer.File(context.Background(), path, replayer.Options{}); err != nil || rep.Verdict != replayer.Noop || !strings.Contains(rep.Reason, "replaytest.Model") {
		t.Errorf("%v %+v", err, rep)
	}
}

// Errors are recorded and served; lanes are served side by side.
func TestModelErrorsAndLanes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lanes.session.jsonl")
	asked := 0
	quota := &model.Error{Kind: model.ErrQuota, Status: 429, Message: "no more"}
	ask := func(m model.Model, lane string) error {
		req := model.NewRequest(model.Params{Model: "acme/clerk"}, nil, []model.Message{{Role: model.User, Items: []model.Item{{Type: model.Text, Text: "hello from " + lane}}}})
		req.Lane = lane
		_, err := m.Generate(context.Background(), req, nil)
		return err
	}
	under(t, true, func(tb testing.TB) {
		m := Model(tb, path, func() (model.Model, error) { return clerk{"acme/clerk", &asked, quota}, nil })
		for _, lane := range []string{"", "a", "b", "a", ""} {
			if err := ask(m, lane); !errors.Is(err, quota) {
				t.Errorf("%v", err)
			}
		}
	})
	said, failed := under(t, false, func(tb testing.TB) {
		m := Model(tb, path, nil)
		var wg sync.WaitGroup
		for lane, n := range map[string]int{"": 2, "a": 2, "b": 1} {
			wg.Go(func() {
				for range n {
					var e *model.Error
					if err := ask(m, lane); !errors.As(err, &e) || e.Kind != model.ErrQuota || e.Message != "no more" {
						t.Errorf("lane %q: %v", lane, err)
					}
				}
			})
		}
		wg.Wait()
	})
	if failed || asked != 5 {
		t.Error(said)
	}
}

// price is a tool of one's own.
type price struct{ runs *int }

func (price) Spec() tool.Spec { return tool.Spec{ToolSpec: priceSpec, Effect: event.Read} }

func (price) Canonical(args string) (string, []string, error) { return args, nil, nil }

func (p price) Run(context.Context, *tool.Op) tool.Result {
	*p.runs++
	return tool.Result{Outcome: event.Success, Text: "2.50"}
}

// A loop of package loop with tools of one's own is recorded, replays without
// model and tools, fails where it behaves otherwise, and is recorded again.
func TestLoop(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "pears.session.jsonl")
	asked, runs := 0, 0
	type change func(*Loop)
	with := func(changes ...change) func() *run {
		return func() *run {
			l := &Loop{
				Settings: loop.Settings{System: "Be brief.", Task: "What do pears cost?", Params: model.Params{Model: "acme/clerk"},
					Guards: guard.MustProfile(guard.ProfileDefault), Limits: guard.Backstop{Turns: 5}},
				Tools: func(workspace.Workspace) (*tool.Set, error) { return tool.NewSet(price{&runs}) },
				Files: map[string]string{"shop/prices.txt": "pears 2.50\n"},
				Seals: []string{"shop/**", "*.lock"},
				Check: func(_ context.Context, ws workspace.Workspace, answer string) (string, error) {
					if b, _, err := ws.ReadFile("shop/prices.txt", 0, 100); err != nil || len(b) == 0 || !strings.Contains(answer, "costs") {
						return "no price in it", err
					}
					return "", nil
				},
				Model: func() (model.Model, error) { return clerk{id: "acme/clerk", asked: &asked}, nil },
				Clock: func() clock.Clock { return clock.NewVirtual() },
			}
			for _, c := range changes {
				c(l)
			}
			r, err := prepare("pears", path, l)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
	}
	same := with()
	do := func(update bool, r func() *run) (string, bool) {
		return under(t, update, func(tb testing.TB) {
			if update {
				r().update(tb)
			} else {
				r().replay(tb)
			}
		})
	}
	if said, failed := do(false, same); !failed || !strings.Contains(said, "no recording") {
		t.Error(said)
	}
	if said, failed := do(true, same); failed || asked != 2 || runs != 1 || !strings.Contains(said, "completed after 2 turns") {
		t.Fatalf("%d asked, %d runs\n%s", asked, runs, said)
	}
	for _, update := range []bool{false, true} {
		if said, failed := do(update, same); failed || asked != 2 || runs != 1 || said != "" {
			t.Errorf("%d asked, %d runs\n%s", asked, runs, said)
		}
	}
	if rep, err := replayer.File(context.Background(), path, replayer.Options{}); err != nil || rep.Verdict != replayer.Noop || !strings.Contains(rep.Reason, "replaytest.Test") {
		t.Errorf("the command line says %+v, %v", rep, err)
	}
	if b, err := os.ReadFile(path); err != nil || !strings.Contains(string(b), `"paths":{},"seals":["shop/**","*.lock"]}`) {
		t.Errorf("the header does not say what is sealed: %v", err)
	}
	for name, c := range map[string]struct {
		change
		say string
	}{
		"prompt": {func(l *Loop) { l.Settings.System = "Be verbose." }, "Be verbose."},
		"check": {func(l *Loop) {
			l.Check = func(context.Context, workspace.Workspace, string) (string, error) { return "too dear", nil }
		}, "too dear"},
		"files": {func(l *Loop) { l.Files = nil }, "initial files"},
		"limit": {func(l *Loop) { l.Settings.Limits.Turns = 1 }, "turn 1"},
		"schema": {func(l *Loop) {
			l.Tools = func(workspace.Workspace) (*tool.Set, error) { return tool.NewSet(strict{price{&runs}}) }
		}, "required"},
	} {
		if said, failed := do(false, with(c.change)); !failed || !strings.Contains(said, c.say) || !strings.Contains(said, "-update") {
			t.Errorf("%s: %s", name, said)
		}
	}
	if asked != 2 || runs != 1 {
		t.Errorf("%d asked, %d runs", asked, runs)
	}
	prompt := with(func(l *Loop) { l.Settings.System = "Be verbose." })
	if said, failed := do(true, prompt); failed || asked != 4 || !strings.Contains(said, "recorded again: completed after 2 turns") {
		t.Errorf("%d asked\n%s", asked, said)
	}
	if said, failed := do(false, prompt); failed {
		t.Error(said)
	}
	files := with(func(l *Loop) { l.Files = map[string]string{"shop/prices.txt": "pears 9\n"} })
	if said, failed := do(true, files); failed || asked != 6 {
		t.Errorf("%d asked\n%s", asked, said)
	}
	if said, failed := do(false, files); failed {
		t.Error(said)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v %v", entries, err)
	}
}

// strict is the tool with a schema that the recorded calls do not fit.
type strict struct{ price }

func (strict) Spec() tool.Spec {
	s := tool.Spec{ToolSpec: priceSpec, Effect: event.Read}
	s.Schema = `{"required":["currency"],"type":"object"}`
	return s
}
