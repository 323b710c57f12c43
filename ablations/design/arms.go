package design

import (
	"fmt"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/scenarios"
	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

// ArmSpec is one arm as written: a profile with changes.
type ArmSpec struct {
	strictyaml.Pos
	Name     string                      `yaml:"name,required" doc:"stands in tables and file names"`
	Profile  string                      `yaml:"profile" doc:"the settings that guards changes; default default" enum:"none|default|full"`
	Guards   map[string]*strictyaml.Node `yaml:"guards" doc:"guard: a mode (enforce, shadow, off), or a mapping of mode and parameters"`
	Prompt   *Prompt                     `yaml:"prompt" doc:"system prompt instead of the standard one"`
	Expect   *Expect                     `yaml:"expect" doc:"what a guard has to do in the arm's trials, which are those of the scenarios that stress it, or control it"`
	Models   []string                    `yaml:"models" doc:"the models that this arm runs on; default: all of the suite"`
	Fallback []string                    `yaml:"fallback" doc:"the models that the guard fallback may turn to, in their order; default: the suite's"`
}

// Arm is one harness configuration under test.
type Arm struct {
	Name     string
	Guards   guard.Settings
	Prompt   string   // system prompt; empty = the standard one
	Models   []string // the models that it runs on; nil = all of the suite
	Fallback []string // the models that the guard fallback may turn to
	Levels   []Level  // of a factorial design's arm: where it stands
	// Expect is what a guard has to do here; nil = nothing is expected. Scenarios are
	// the ids of those that the arm runs on then; a plan fills them in.
	Expect    *Expect
	Scenarios []string
}

// Expect says what a guard has to do in the trials of an arm.
type Expect struct {
	strictyaml.Pos `yaml:"-"`
	Guard          string `yaml:"guard,required" doc:"the guard"`
	Fires          string `yaml:"fires,required" doc:"always: the arm runs on the scenarios that stress the guard, and it has to fire in each, here or in another arm that expects it to; never: on those that control it, and it has to fire in none" enum:"always|never"`
}

// UnmarshalNode implements strictyaml.Unmarshaler.
func (e *Expect) UnmarshalNode(n *strictyaml.Node) error {
	type file Expect
	if err := decodeBounded(n, (*file)(e)); err != nil {
		return err
	}
	switch {
	case guard.Lookup(e.Guard) < 0:
		return n.Errorf("see: harnessbench guards", "there is no guard %.60q", e.Guard)
	case e.Fires != Always && e.Fires != Never:
		return n.Errorf("write "+Always+" or "+Never, "fires is %.40q", e.Fires)
	}
	return nil
}

// What a guard may have to do.
const (
	Always = "always"
	Never  = "never"
)

// meets reports whether a scenario is one of those that the expectation is about.
func (e *Expect) meets(sc *scenarios.Scenario) bool {
	if e.Fires == Always {
		return slices.Contains(sc.Stresses, e.Guard)
	}
	return slices.Contains(sc.Controls, e.Guard)
}

// RunsOn reports whether the arm runs on a scenario, by its id.
func (a *Arm) RunsOn(scenario string) bool {
	return a.Expect == nil || slices.Contains(a.Scenarios, scenario)
}

// Level is one value of one factor.
type Level struct {
	Factor string `yaml:"factor"`
	Level  string `yaml:"level"`
}

// On reports whether the arm runs on a model.
func (a *Arm) On(model string) bool { return a.Models == nil || slices.Contains(a.Models, model) }

// same reports whether two arms configure the same harness.
func (a *Arm) same(b *Arm) bool {
	return len(guard.Differ(a.Guards, b.Guards)) == 0 && a.Prompt == b.Prompt && (a.Expect == nil) == (b.Expect == nil) && (a.Expect == nil || *a.Expect == *b.Expect) && slices.Equal(a.Models, b.Models) && slices.Equal(a.Fallback, b.Fallback)
}

// build makes the arm. folder is where prompt files begin.
func (a *ArmSpec) build(folder string) (Arm, error) {
	if !plainName(a.Name) {
		return Arm{}, a.Errorf("use letters, digits, '-', '_' and '.'", "the arm name %.60q cannot stand in a file name", a.Name)
	}
	profile := a.Profile
	if profile == "" {
		profile = guard.ProfileDefault
	}
	set, err := guard.Profile(profile)
	if err != nil {
		return Arm{}, a.Errorf("correct it", "arm %s: %v", a.Name, err)
	}
	names := make([]string, 0, len(a.Guards))
	for name := range a.Guards {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if set, err = applyNode(set, name, a.Guards[name]); err != nil {
			return Arm{}, err
		}
	}
	prompt := ""
	if a.Prompt != nil {
		if prompt, err = a.Prompt.read(folder); err != nil {
			return Arm{}, err
		}
	}
	return Arm{Name: a.Name, Guards: set, Prompt: prompt, Expect: a.Expect, Models: slices.Clone(a.Models), Fallback: slices.Clone(a.Fallback)}, nil
}

// applyNode sets one guard from YAML: a mode, or a mapping of mode and
// parameters.
func applyNode(set guard.Settings, name string, n *strictyaml.Node) (guard.Settings, error) {
	wrap := func(n *strictyaml.Node, err error) error { return n.Errorf("see: harnessbench guards", "%v", err) }
	if n.Kind == strictyaml.String {
		out, err := set.With(name, guard.Mode(n.Value))
		if err != nil {
			return set, wrap(n, err)
		}
		return out, nil
	}
	if n.Kind != strictyaml.Map {
		return set, n.Errorf("write enforce, shadow, off, or a mapping of parameters", "the guard %s is set to neither a mode nor parameters", name)
	}
	for i, key := range n.Keys {
		val := n.Items[i]
		var out guard.Settings
		var err error
		switch {
		case val.Kind == strictyaml.List || val.Kind == strictyaml.Map || val.Kind == strictyaml.Null:
			return set, val.Errorf("write one value", "%s.%s is no single value", name, key.Value)
		case key.Value == "mode":
			out, err = set.With(name, guard.Mode(val.Value))
		default:
			out, err = set.WithParam(name, key.Value, val.Value)
		}
		if err != nil {
			return set, wrap(val, err)
		}
		set = out
	}
	return set, nil
}

// ParseChange applies one change as the command line writes it:
// guard.NAME=MODE or guard.NAME.PARAM=VALUE.
func ParseChange(set guard.Settings, change string) (guard.Settings, error) {
	key, value, ok := strings.Cut(change, "=")
	parts := strings.Split(key, ".")
	if !ok || parts[0] != "guard" || len(parts) < 2 || len(parts) > 3 {
		return set, fmt.Errorf("%q: write guard.NAME=MODE or guard.NAME.PARAM=VALUE", change)
	}
	if len(parts) == 2 || parts[2] == "mode" {
		return set.With(parts[1], guard.Mode(value))
	}
	return set.WithParam(parts[1], parts[2], value)
}
