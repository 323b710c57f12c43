package trial

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/graders/check"
	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
	"github.com/harnessbench/harnessbench/loop/tool/builtin"
	"github.com/harnessbench/harnessbench/loop/tool/mock"
	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// extra is the part of a configuration that the loop keeps but does not read.
type extra struct {
	Acceptance check.Acceptance `json:"acceptance"`
	Builtin    []string         `json:"builtin"` // tools that canonicalise as the built-in ones of that name
	// Paths names the arguments of mock tools that are workspace paths.
	Paths map[string][]string `json:"paths"`
	// Faulty names the built-in tools that the scenario puts faults in front of.
	Faulty []string `json:"faulty,omitzero"`
	// Commands and Hosts name those that are command lines, and URLs.
	Commands map[string][]string `json:"commands,omitzero"`
	Hosts    map[string][]string `json:"hosts,omitzero"`
	// What the loop's rules are made from.
	Permissions *permissionsJSON `json:"permissions,omitzero"`
	Approvals   []approvalJSON   `json:"approvals,omitzero"`
	User        []utteranceJSON  `json:"user,omitzero"`
	// OwnCheck says that the acceptance check is code of a Go test.
	OwnCheck bool `json:"own_check,omitzero"`
	// Seals are globs of files that must not change.
	Seals []string `json:"seals,omitempty"`
}

func (e extra) json() (string, error) {
	if e.Builtin == nil {
		e.Builtin = []string{}
	}
	if e.Paths == nil {
		e.Paths = map[string][]string{}
	}
	b, err := json.Marshal(e, json.Deterministic(true))
	if err != nil {
		return "", err
	}
	v := jsontext.Value(b)
	if err := v.Format(jsontext.ReorderRawObjects(true)); err != nil {
		return "", err
	}
	return string(v), nil
}

// configJSON mirrors what loop.Config.JSON writes.
type configJSON struct {
	Extra     extra          `json:"extra"`
	Fallbacks []paramsJSON   `json:"fallbacks"`
	Guards    jsontext.Value `json:"guards"`
	Limits    struct {
		Calls    int64 `json:"calls"`
		MicroUSD int64 `json:"micro_usd"`
		Tokens   int64 `json:"tokens"`
		Turns    int64 `json:"turns"`
		WallUS   int64 `json:"wall_us"`
	} `json:"limits"`
	Loop   int        `json:"loop"` // behaviour version; left out = 1
	Models []string   `json:"models"`
	Params paramsJSON `json:"params"`
	Prices map[string]struct {
		CacheRead     int64 `json:"cache_read"`
		CacheWrite    int64 `json:"cache_write"`
		InputUncached int64 `json:"input_uncached"`
		Output        int64 `json:"output"`
	} `json:"prices"`
	Repetition int     `json:"repetition"`
	Scenario   string  `json:"scenario"`
	Seed       uint64  `json:"seed"`
	System     *string `json:"system"`
	Task       string  `json:"task"`
	Tools      []struct {
		Digest   string       `json:"digest"`
		Effect   event.Effect `json:"effect"`
		Name     string       `json:"name"`
		Parallel bool         `json:"parallel"`
	} `json:"tools"`
	Window int `json:"window"`
}

// paramsJSON mirrors what model.Params writes.
type paramsJSON struct {
	MaxTokens   int      `json:"max_tokens"`
	Model       string   `json:"model"`
	Seed        *int64   `json:"seed"`
	Temperature *float64 `json:"temperature"`
	TopP        *float64 `json:"top_p"`
}

func (p *paramsJSON) params() model.Params {
	return model.Params{Model: p.Model, MaxTokens: p.MaxTokens, Seed: p.Seed, Temperature: p.Temperature, TopP: p.TopP}
}

// Rebuilt is a configuration read back from a session.
type Rebuilt struct {
	Config loop.Config
	Checks check.Acceptance
	Tools  *tool.Set // they validate and canonicalise; what they would run is not there
	Rules  loop.Rules
	// Check, when set, makes the acceptance check over a workspace, in place of
	// Checks.
	Check func(workspace.Workspace) func(ctx context.Context, answer string) (fail string, err error)
	// Faulty names the built-in tools that the scenario puts faults in front of.
	Faulty []string `json:"faulty,omitzero"`
	// OwnCheck says that a check was code of a Go test, and is not there.
	OwnCheck bool
	// Seals are globs of files that must not change, see Sealer.
	Seals []string
}

// Checker makes the acceptance check over a workspace; nil when there is nothing
// to check.
func (r *Rebuilt) Checker(ws workspace.Workspace) func(context.Context, string) (string, error) {
	if r.Check != nil {
		return r.Check(ws)
	}
	return Checker(r.Checks, ws)
}

// Rebuild reads the configuration of a recorded session from its header and the
// parts that stand before its first request (tool specs, system prompt, task).
// An error says which field does not fit; one about a guard whose behaviour
// this version no longer has is a *guard.OldBehaviourError.
func Rebuild(h *session.Header, parts []*model.Part) (*Rebuilt, error) {
	var c configJSON
	if err := json.Unmarshal(h.Config, &c, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("header, config: %w", err)
	}
	if c.Loop != 0 && c.Loop != loop.Behaviour {
		return nil, fmt.Errorf("header, config: %w", &guard.OldBehaviourError{Guard: "the loop", Want: c.Loop, Have: []int{loop.Behaviour}})
	}
	guards, err := guard.ParseSettings(c.Guards)
	if err != nil {
		return nil, fmt.Errorf("header, config.guards: %w", err)
	}
	s := loop.Settings{
		Scenario: c.Scenario, Repetition: c.Repetition, Seed: c.Seed, Models: c.Models,
		Params: c.Params.params(),
		Guards: guards,
		Limits: guard.Backstop{Turns: c.Limits.Turns, Calls: c.Limits.Calls, Tokens: c.Limits.Tokens,
			MicroUSD: c.Limits.MicroUSD, Wall: time.Duration(c.Limits.WallUS) * time.Microsecond},
		Window: c.Window, Prices: map[string]loop.Prices{},
	}
	for i := range c.Fallbacks {
		s.Fallbacks = append(s.Fallbacks, c.Fallbacks[i].params())
	}
	for id, p := range c.Prices {
		s.Prices[id] = loop.Prices{InputUncached: p.InputUncached, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite, Output: p.Output}
	}
	if s.Extra, err = c.Extra.json(); err != nil {
		return nil, fmt.Errorf("header, config.extra: %w", err)
	}
	s.Contract = c.Extra.Acceptance.Words()
	if err := c.opening(&s, parts); err != nil {
		return nil, err
	}
	r := &Rebuilt{Checks: c.Extra.Acceptance, OwnCheck: c.Extra.OwnCheck, Seals: c.Extra.Seals}
	if r.Config, err = loop.Freeze(s); err != nil {
		return nil, fmt.Errorf("header, config: %w", err)
	}
	if r.Rules, err = c.Extra.rules(); err != nil {
		return nil, fmt.Errorf("header, config.extra: %w", err)
	}
	r.Tools, err = recordedTools(s.Tools, c.Extra)
	return r, err
}

// opening takes tool specs, system prompt and task from the opening parts.
func (c *configJSON) opening(s *loop.Settings, parts []*model.Part) error {
	for _, p := range parts {
		switch {
		case p.Kind == model.KindTool:
			i := len(s.Tools)
			if i >= len(c.Tools) || c.Tools[i].Name != p.Tool.Name {
				return fmt.Errorf("the tool part %q is not the tool at this place of the configuration", p.Tool.Name)
			}
			s.Tools = append(s.Tools, tool.Spec{ToolSpec: *p.Tool, Effect: c.Tools[i].Effect, Parallel: c.Tools[i].Parallel})
		case p.Kind == model.KindSystem && s.System == "":
			s.System = model.TextOf(p.Message.Items)
		case p.Kind == model.KindMessage && p.Role == model.User && s.Task == "":
			s.Task = model.TextOf(p.Message.Items)
		default:
			return fmt.Errorf("a %s part by %q does not belong before the first request", p.Kind, p.Role)
		}
	}
	if len(s.Tools) != len(c.Tools) {
		return fmt.Errorf("the configuration has %d tools, the session describes %d", len(c.Tools), len(s.Tools))
	}
	return nil
}

// recordedTools makes tools that validate and canonicalise like the live ones.
func recordedTools(specs []tool.Spec, ex extra) (*tool.Set, error) {
	tools := make([]tool.Tool, 0, len(specs))
	for _, spec := range specs {
		canonical := func(args string) (string, []string, error) { return args, nil, nil }
		if slices.Contains(ex.Builtin, spec.Name) {
			if canonical = builtin.Canonical(spec.Name); canonical == nil {
				return nil, fmt.Errorf("the built-in tool %q is not in this version", spec.Name)
			}
		} else if paths, commands, hosts := ex.Paths[spec.Name], ex.Commands[spec.Name], ex.Hosts[spec.Name]; len(paths)+len(commands)+len(hosts) > 0 {
			m, err := mock.New(mock.Spec{Name: spec.Name, Version: spec.Version, Schema: spec.Schema, Effect: spec.Effect,
				Paths: paths, Commands: commands, Hosts: hosts, Responses: []mock.Response{{}}})
			if err != nil {
				return nil, fmt.Errorf("tool %s: %w", spec.Name, err)
			}
			canonical = m.Canonical
		}
		tools = append(tools, tool.Recorded(spec, canonical))
	}
	return tool.NewSet(tools...)
}

// Rebuilt is the configuration the trial would have today, in the form a replay
// drives: its tools validate and canonicalise, and run nothing.
func (s *Spec) Rebuilt() (*Rebuilt, error) {
	set, err := s.Settings()
	if err != nil {
		return nil, err
	}
	cfg, err := loop.Freeze(set)
	if err != nil {
		return nil, err
	}
	tools, err := s.Tools(nil)
	if err != nil {
		return nil, err
	}
	rules, err := s.rules()
	if err != nil {
		return nil, err
	}
	return &Rebuilt{Config: cfg, Checks: s.Scenario.Acceptance, Tools: tools, Rules: rules, Seals: s.Scenario.Seals}, nil
}

// RecordedSeed reads the suite's seed from a session's header.
func RecordedSeed(h *session.Header) (uint64, error) {
	var c struct {
		Seed uint64 `json:"seed"`
	}
	if err := json.Unmarshal(h.Config, &c); err != nil {
		return 0, fmt.Errorf("header, config: %w", err)
	}
	return c.Seed, nil
}

// RecordedCard is how the model of a session was asked, as far as its header
// says; nil for a simulated one. The models file of that time is not needed.
func RecordedCard(h *session.Header) (*Card, error) {
	if IsSimulated(h.Model) {
		return nil, nil
	}
	var c configJSON
	if err := json.Unmarshal(h.Config, &c); err != nil {
		return nil, fmt.Errorf("header, config: %w", err)
	}
	return c.card(h.Model, c.Params, c.Window), nil
}

// Imported reports whether a session came from another tool, and which.
func Imported(h *session.Header) (from string, ok bool) {
	var c struct {
		Imported string `json:"imported"`
	}
	if err := json.Unmarshal(h.Config, &c); err != nil {
		return "", false
	}
	return c.Imported, c.Imported != ""
}

// WithGuards is the configuration with other guard settings; everything else is
// as recorded.
func (r *Rebuilt) WithGuards(change func(guard.Settings) (guard.Settings, error)) (*Rebuilt, error) {
	return r.With(func(s *loop.Settings) (err error) {
		s.Guards, err = change(s.Guards)
		return err
	})
}

// With is the configuration with other settings. Tools and checks stay: what
// change makes of the specs is not looked at.
func (r *Rebuilt) With(change func(*loop.Settings) error) (*Rebuilt, error) {
	s := r.Config.Settings()
	if err := change(&s); err != nil {
		return nil, err
	}
	cfg, err := loop.Freeze(s)
	if err != nil {
		return nil, err
	}
	return &Rebuilt{Config: cfg, Checks: r.Checks, Tools: r.Tools, Rules: r.Rules, Check: r.Check, Seals: r.Seals}, nil
}
