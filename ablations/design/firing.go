package design

import (
	"slices"

	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/scenarios"
)

// trapModel is the simulated model that falls into a guard's trap.
func trapModel(name string) string { return "sim/trap-" + name }

// watchers are the models for which a guard has to stay silent in its controls,
// beside its own trap model.
var watchers = []string{"sim/oracle", "sim/weak", "sim/strong"}

// firingModels are the models of a firing design.
func firingModels(d *Design) []string {
	out := slices.Clone(watchers)
	guards := d.Guards
	if len(guards) == 0 {
		guards = guard.Names()
	}
	for _, name := range guards {
		if guard.Lookup(name) >= 0 && !slices.Contains(out, trapModel(name)) {
			out = append(out, trapModel(name))
		}
	}
	return out
}

// firing adds three arms for each guard: it alone and the base with it, in its
// traps, where it has to fire in one of the two, and the base with it, in its
// controls. They are compared with nothing.
func (e *expansion) firing(d *Design, base Arm) error {
	guards := d.Guards
	if len(guards) == 0 {
		guards = guard.Names()
	}
	if i := firstDuplicate(guards); i >= 0 {
		return d.Errorf("name it once", "the guard %.60q stands twice", guards[i])
	}
	e.arms = slices.DeleteFunc(e.arms, func(a Arm) bool { return a.Name == base.Name }) // it was written to begin from
	for _, name := range guards {
		alone, err := guard.MustProfile(guard.ProfileNone).With(name, guard.Enforce)
		if err != nil {
			return d.Errorf("see: harnessbench guards", "%v", err)
		}
		with, err := base.Guards.With(name, guard.Enforce)
		if err != nil {
			return d.Errorf("see: harnessbench guards", "%v", err)
		}
		var others []string
		if name == "fallback" {
			others = scenarios.FallbackModels
		}
		e.arms = append(e.arms,
			Arm{Name: "trap-" + name, Guards: with, Prompt: base.Prompt, Models: []string{trapModel(name)}, Fallback: others, Expect: &Expect{Guard: name, Fires: Always}},
			Arm{Name: "alone-" + name, Guards: alone, Prompt: base.Prompt, Models: []string{trapModel(name)}, Fallback: others, Expect: &Expect{Guard: name, Fires: Always}},
			Arm{Name: "control-" + name, Guards: with, Prompt: base.Prompt, Models: append([]string{trapModel(name)}, watchers...), Fallback: others, Expect: &Expect{Guard: name, Fires: Never}})
	}
	return nil
}
