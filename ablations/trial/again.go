package trial

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/harnessbench/harnessbench/loop/tool"
	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// ToolsAgain binds the tools of a recorded session to a workspace, so that its
// calls can be executed again. Built-in tools need nothing but the session; what
// mock tools answer, and the faults of all, stand in the scenario alone, so for
// them find gives the trial, whose scenario must be the recorded one.
func ToolsAgain(h *session.Header, ws workspace.Workspace, find func() (*Spec, error)) (*tool.Set, error) {
	var c configJSON
	if err := json.Unmarshal(h.Config, &c); err != nil {
		return nil, fmt.Errorf("header, config: %w", err)
	}
	scripted := slices.Clone(c.Extra.Faulty)
	for i := range c.Tools {
		if name := c.Tools[i].Name; !slices.Contains(c.Extra.Builtin, name) {
			scripted = append(scripted, name)
		}
	}
	if len(scripted) == 0 {
		rules, err := c.Extra.rules()
		if err != nil {
			return nil, fmt.Errorf("header, config.extra: %w", err)
		}
		return builtinAgain(c.Extra.Builtin, fileTools(ws, rules.Scope))
	}
	if find == nil {
		return nil, fmt.Errorf("what the tool %s answers stands in the scenario %s, and nobody says where that is", scripted[0], h.Scenario)
	}
	s, err := find()
	if err != nil {
		return nil, fmt.Errorf("what the tool %s answers stands in the scenario: %w", scripted[0], err)
	}
	if err := s.Fits(h); err != nil {
		return nil, err
	}
	return s.tools(ws, false) // a recorded call keeps the time it took
}

func builtinAgain(names []string, all []tool.Tool) (*tool.Set, error) {
	var list []tool.Tool
	for _, t := range all {
		if slices.Contains(names, t.Spec().Name) {
			list = append(list, t)
		}
	}
	if len(list) != len(names) {
		return nil, errors.New("the session has built-in tools that are not in this version")
	}
	return tool.NewSet(list...)
}

// Fits reports whether a session was recorded on the trial's scenario as it is
// now: same id, same digest.
func (s *Spec) Fits(h *session.Header) error {
	switch {
	case s.Scenario.ID != h.Scenario:
		return fmt.Errorf("the session is of the scenario %s, not of %s", h.Scenario, s.Scenario.ID)
	case h.ScenarioDigest.IsZero():
		return fmt.Errorf("the session does not say which version of the scenario %s it was recorded on", h.Scenario)
	case hex.EncodeToString(h.ScenarioDigest[:]) != s.Scenario.Digest:
		return fmt.Errorf("the scenario %s is another than the one recorded: its digest begins with %.8s, the session says %.8s",
			h.Scenario, s.Scenario.Digest, h.ScenarioDigest)
	}
	return nil
}
