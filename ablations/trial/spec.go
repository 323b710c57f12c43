package trial

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/harnessbench/harnessbench/graders/check"
	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/tool"
	"github.com/harnessbench/harnessbench/loop/tool/builtin"
	"github.com/harnessbench/harnessbench/loop/tool/mock"
	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/scenarios"
)

// SystemPrompt opens every conversation.
const SystemPrompt = `You complete one task in a workspace of files at /workspace.
Work with the tools you are given; nothing you say changes a file, only tools do.
Look before you act, use what the tools answer, and do not invent what you have not seen.
When the task is complete, answer in plain text without calling a tool.`

// Spec names one trial: scenario x model x arm x repetition, under a seed.
type Spec struct {
	Scenario   *scenarios.Scenario
	Model      string // provider/name
	Arm        string // for labels only: nothing the model sees names it
	Guards     guard.Settings
	Repetition int // from 0
	Seed       uint64
	Prompt     string // system prompt; empty = SystemPrompt
	// Salt separates the luck of trials that would else share it: under
	// independent coupling the runner gives each arm its own. Nothing the model
	// sees and no id depends on it.
	Salt string
	// Card says how a model that is not simulated is asked; nil = with nothing but
	// what the scenario says.
	Card *Card
	// Fallbacks are the models that the guard fallback may turn to, in their order;
	// the trial's own among them is left out. FallbackCards are the cards of those
	// that are not simulated.
	Fallbacks     []string
	FallbackCards map[string]*Card
	// Secrets are those of the run, such as keys in its environment: they are
	// overwritten wherever they turn up, besides those that the scenario declares.
	// Without a real model nothing brings them up.
	Secrets []string
}

// luck is the seed of the simulated model and of the mock tools.
func (s *Spec) luck() uint64 {
	return RepetitionSeed(s.Seed, s.Scenario.ID+s.Salt, s.Repetition)
}

// RepetitionSeed is the seed of one repetition of one scenario: the first eight
// bytes of SHA-256 over (suite seed, scenario, repetition). The arm has no part
// in it, so arms of one repetition meet the same luck.
func RepetitionSeed(seed uint64, scenario string, repetition int) uint64 {
	b := binary.BigEndian.AppendUint64([]byte("harnessbench/repetition"), seed)
	b = binary.BigEndian.AppendUint64(b, uint64(repetition))
	sum := sha256.Sum256(append(b, scenario...))
	return binary.BigEndian.Uint64(sum[:8])
}

// Settings is the configuration of the trial's loop. Its tools are the specs of
// those that Tools binds to a workspace.
func (s *Spec) Settings() (loop.Settings, error) {
	sc := s.Scenario
	if err := s.checkFallbacks(); err != nil {
		return loop.Settings{}, err
	}
	tools, err := s.Tools(nil)
	if err != nil {
		return loop.Settings{}, err
	}
	ex := extra{Acceptance: sc.Acceptance, Seals: sc.Seals}
	if ex.Acceptance == nil {
		ex.Acceptance = check.Acceptance{}
	}
	for i := range sc.Tools {
		t := &sc.Tools[i]
		if t.Mock == nil {
			ex.Builtin = append(ex.Builtin, t.Name)
			if len(toolFaults(sc, t.Name)) > 0 {
				ex.Faulty = append(ex.Faulty, t.Name)
			}
			continue
		}
		noteArgs(&ex.Paths, t.Name, t.Mock.Paths)
		noteArgs(&ex.Commands, t.Name, t.Mock.Commands)
		noteArgs(&ex.Hosts, t.Name, t.Mock.Hosts)
	}
	ex.lay(sc)
	if _, err := ex.rules(); err != nil {
		return loop.Settings{}, fmt.Errorf("scenario %s: %w", sc.ID, err)
	}
	extraJSON, err := ex.json()
	if err != nil {
		return loop.Settings{}, fmt.Errorf("scenario %s: %w", sc.ID, err)
	}
	prompt := s.Prompt
	if prompt == "" {
		prompt = SystemPrompt
	}
	return loop.Settings{
		Scenario: sc.ID, Repetition: s.Repetition, Seed: s.Seed,
		System: secretsOf(sc).Text(prompt), Task: secretsOf(sc).Text(sc.Instruction),
		Models: s.Models(), Params: s.params(), Fallbacks: s.fallbackParams(),
		Tools: tools.Specs(), Guards: s.Guards,
		Limits: guard.Backstop{Turns: int64(sc.Limits.Turns), Calls: int64(sc.Limits.ToolCalls),
			Tokens: sc.Limits.Tokens, MicroUSD: sc.Limits.CostMicroUSD, Wall: sc.Limits.Wall},
		Window: s.window(), Prices: s.Prices(), Extra: extraJSON, Contract: sc.Acceptance.Words(),
	}, nil
}

// noteArgs notes arguments of a tool, if there are any.
func noteArgs(m *map[string][]string, tool string, args []string) {
	if len(args) == 0 {
		return
	}
	if *m == nil {
		*m = map[string][]string{}
	}
	(*m)[tool] = args
}

// Tools makes the scenario's tools over a workspace, under its faults; without a
// workspace they describe themselves and cannot run. What may not be read is not
// shown by any of them.
func (s *Spec) Tools(ws workspace.Workspace) (*tool.Set, error) {
	return s.tools(ws, !IsSimulated(s.Model))
}

// tools is Tools; wait says whether slow and hanging built-in tools take real time.
func (s *Spec) tools(ws workspace.Workspace, wait bool) (*tool.Set, error) {
	rules, err := s.rules()
	if err != nil {
		return nil, err
	}
	live := map[string]tool.Tool{}
	for _, t := range fileTools(ws, rules.Scope) {
		live[t.Spec().Name] = t
	}
	var list []tool.Tool
	for i := range s.Scenario.Tools {
		t := &s.Scenario.Tools[i]
		made, known := live[t.Name], live[t.Name] != nil
		var err error
		switch {
		case t.Mock != nil && known:
			return nil, s.Scenario.At("tools", i).Errorf("rename it", "the mock tool %s has the name of a built-in one", t.Name)
		case t.Mock != nil:
			if made, err = s.mock(t, ws); err != nil {
				return nil, s.Scenario.At("tools", i).Errorf("", "tool %s: %v", t.Name, err)
			}
		case !known:
			return nil, s.Scenario.At("tools", i).Errorf("there are "+strings.Join(builtin.Names(), ", "), "no built-in tool %q", t.Name)
		default:
			if made, err = s.faultyTool(made, wait); err != nil {
				return nil, err
			}
		}
		list = append(list, made)
	}
	set, err := tool.NewSet(list...)
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.Scenario.ID, err)
	}
	return set, nil
}

// mock makes one of the scenario's mock tools over a workspace.
func (s *Spec) mock(t *scenarios.Tool, ws workspace.Workspace) (tool.Tool, error) {
	made, err := mocks.get(s.Scenario.Digest+"/"+t.Name, func() (*mock.Tool, error) { return mock.New(mockSpec(s.Scenario, t)) })
	if err != nil {
		return nil, err
	}
	return made.With(s.luck(), ws), nil
}

// mockSpec translates the scenario's data into the mock tool's own.
func mockSpec(sc *scenarios.Scenario, t *scenarios.Tool) mock.Spec {
	m := t.Mock
	out := mock.Spec{Name: t.Name, Version: m.Version, Description: m.Description, Schema: m.Schema,
		Effect: event.Effect(m.Effect), Parallel: m.Parallel, Takes: m.Takes, Paths: m.Paths, Commands: m.Commands, Hosts: m.Hosts, Cycle: m.Cycle}
	for _, r := range m.Responses {
		resp := mock.Response{When: r.When, Text: r.Text, Error: r.Error, Takes: r.Takes}
		for _, c := range r.AtCall {
			resp.AtCall = append(resp.AtCall, mock.Range(c))
		}
		for _, f := range r.Files {
			resp.Files = append(resp.Files, mock.File{Path: f.Path, Content: string(f.Data)})
		}
		out.Responses = append(out.Responses, resp)
	}
	out.Faults = toolFaults(sc, t.Name)
	return out
}
