package corpus

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/scenarios"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// shop is the scenario of the recordings whose model follows a list of answers:
// a tool for every outcome. What limits it is put in place of
// LIMITS, its tools in place of TOOLS.
const shop = `
-- scenario.yaml --
schema: harnessbench/scenario/v1
id: corpus-shop
summary: a tool for every outcome
limits: {LIMITS}
tools:
TOOLSacceptance:
- {file_exists: answer.txt}
graders:
- {type: file_exists, path: answer.txt}
-- instruction.md --
Write the answer to /workspace/answer.txt.
-- oracle.yaml --
rules: [{id: a, do: {say: unused}}]
-- workspace/notes/crlf.txt --
first
second
-- workspace/notes/menu.txt --
café, Ünïcödé, 日本語, 😀
`

// briefTools keep a session small.
const briefTools = `- write_file
- {name: lookup, kind: mock, description: Looks a number up., takes: 50ms, schema: {type: object, properties: {n: {type: number}}, required: [n]}, responses: [{text: "number ${n}"}]}
- {name: fail, kind: mock, description: Fails., responses: [{error: "disk is full"}]}
`

const allTools = `- read_file
- write_file
- edit_file
- list_dir
- grep
- {name: lookup, kind: mock, version: 3, description: Looks a number up., takes: 50ms, schema: {type: object, properties: {n: {type: number}, why: {type: string}}, required: [n]}, responses: [{text: "number ${n}"}]}
- {name: fail, kind: mock, description: Fails., responses: [{error: "disk is full"}]}
- {name: hang, kind: mock, description: Never answers., responses: [{text: never}]}
- {name: publish, kind: mock, effect: external, description: Publishes., responses: [{text: published}]}
- {name: dump, kind: mock, effect: write, description: Writes the dump., responses: [{text: "wrote the dump", files: [{path: out/dump.txt, content: "DUMP"}]}]}
- {name: page, kind: mock, description: Prints a long page., responses: [{text: "PAGE"}]}
faults:
- {tool: hang, at_call: [1, 2, 3], kind: hang}
- {tool: publish, at_call: 1, kind: hang}
`

// script is a model that gives the answers of a list, the last one again and
// again: a string is a final text, an error is given as it is.
type script struct {
	id      string
	answers []any
	n       *int
	mu      *sync.Mutex
}

func (s script) ID() string { return s.id }

func (s script) Generate(context.Context, *model.Request, func(model.Delta)) (*model.Response, error) {
	s.mu.Lock()
	i := min(*s.n, len(s.answers)-1)
	*s.n++
	s.mu.Unlock()
	usage := model.Usage{InputUncached: 1000, CacheRead: 200, Output: 50, Reasoning: 5}
	switch a := s.answers[i].(type) {
	case string:
		return &model.Response{Items: []model.Item{{Type: model.Text, Text: a}}, Finish: model.FinishStop, Usage: usage, Elapsed: time.Second}, nil
	case calls:
		items := []model.Item{{Type: model.Reasoning, Text: "Let me see."}}
		for j := 0; j+1 < len(a); j += 2 {
			items = append(items, model.Item{Type: model.CallItem, Call: model.ToolCall{Name: a[j], Args: a[j+1]}})
		}
		return &model.Response{Items: items, Finish: model.FinishCalls, Usage: usage, Elapsed: 1500 * time.Millisecond}, nil
	case *model.Response:
		return a, nil
	case error:
		return nil, a
	}
	panic("no answer of a kind that is known")
}

// calls is an answer of tool calls: name, arguments, name, arguments, ...
type calls []string

// shopTrial records the shop under a list of answers.
type shopTrial struct {
	limits   string // of the scenario
	set      func(guard.Settings) guard.Settings
	profile  string // "" = default
	seed     uint64
	cancel   event.Kind // cancels the trial at the first event of that kind
	answers  []any
	brief    bool      // has three tools only
	replaced [2]string // a text of the scenario and what stands in its place
}

func (s shopTrial) record(t testing.TB, path string) {
	t.Helper()
	text := replaceAll(shop, "LIMITS", orElse(s.limits, "turns: 20, tool_calls: 40, tokens: 200000, wall: 1h"))
	if s.brief {
		text = replaceAll(text, "TOOLS", briefTools)
	}
	text = replaceAll(text, "TOOLS", allTools)
	text = replaceAll(text, "first\nsecond", "first\r\nsecond\r")
	if s.replaced[0] != "" {
		text = replaceAll(text, s.replaced[0], s.replaced[1])
	}
	sc, err := scenarios.LoadTxtar("corpus-shop", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	set := guard.MustProfile(orElse(s.profile, guard.ProfileDefault))
	if s.set != nil {
		set = s.set(set)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o := trial.Options{Session: path, Sync: session.SyncNever, Temp: t.TempDir(), Model: func(m model.Model) model.Model {
		return script{m.ID(), s.answers, new(int), new(sync.Mutex)}
	}}
	if s.cancel != 0 {
		stop := watch(func(ev event.Event) {
			if ev.Kind() == s.cancel {
				cancel()
			}
		})
		// A trial's own sink refuses events once the trial is cancelled, so that it
		// runs again; this one is to be recorded to its end.
		o.Drive = func(d *loop.Deps, _ *session.Header, _ workspace.Workspace) error {
			d.Sink = append(slices.Clone(d.Sink.(trial.Tee)[1:]), stop)
			return nil
		}
	}
	spec := trial.Spec{Scenario: sc, Model: "sim/weak", Arm: "corpus", Guards: set, Seed: max(s.seed, 1)}
	if _, err := trial.Run(ctx, spec, o); err != nil {
		t.Fatal(err)
	}
}

type watch func(event.Event)

func (w watch) Emit(ev event.Event) error {
	w(ev)
	return nil
}

// embedded records an embedded scenario.
func embedded(t testing.TB, path, scenario, modelID string, set guard.Settings) {
	t.Helper()
	sc, err := builtin.Get(scenario)
	if err != nil {
		t.Fatal(err)
	}
	spec := trial.Spec{Scenario: sc, Model: modelID, Arm: "corpus", Guards: set, Seed: 1, Fallbacks: scenarios.FallbackModels}
	if _, err := trial.Run(context.Background(), spec, trial.Options{Session: path, Sync: session.SyncNever, Temp: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
}

// with changes one parameter or, with an empty name of one, the mode of a guard.
func with(s guard.Settings, name, param, value string) guard.Settings {
	var err error
	if param == "" {
		s, err = s.With(name, guard.Mode(value))
	} else {
		s, err = s.WithParam(name, param, value)
	}
	if err != nil {
		panic(err)
	}
	return s
}
