package design

import (
	"strings"

	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

// Factor is one thing that a design varies: the mode of a guard, one of its
// parameters, the model, or the system prompt.
type Factor struct {
	strictyaml.Pos
	Name    string             `yaml:"name,required" doc:"stands in the names of arms; letters, digits, '-' and '_'"`
	Guard   string             `yaml:"guard" doc:"the guard that is varied"`
	Param   string             `yaml:"param" doc:"the parameter of the guard that is varied; default: its mode"`
	Levels  []*strictyaml.Node `yaml:"levels" doc:"of a guard: modes (off, shadow, enforce), or values of param"`
	Models  []string           `yaml:"models" doc:"the models that are varied"`
	Prompts *strictyaml.Node   `yaml:"prompts" doc:"the system prompts that are varied: label: {text or file}"`
}

// Bounds of a design.
const (
	maxFactors = 32
	maxLevels  = 64
)

// level is one value of a factor.
type level struct {
	strictyaml.Pos
	label string // in names of arms
	mode  guard.Mode
	value string // of the parameter
	model string
	text  string // of the prompt
}

// levels checks the factor and returns its levels in the order of the file.
func (f *Factor) levels(folder string) ([]level, error) {
	kinds := 0
	for _, given := range []bool{f.Guard != "", len(f.Models) > 0, f.Prompts != nil} {
		if given {
			kinds++
		}
	}
	var out []level
	var err error
	switch {
	case !plainName(f.Name) || strings.Contains(f.Name, "."):
		return nil, f.Errorf("use letters, digits, '-' and '_'", "the factor name %.60q cannot stand in a file name", f.Name)
	case kinds != 1:
		return nil, f.Errorf("write one of guard, models and prompts", "factor %s: it must vary one thing", f.Name)
	case f.Guard == "" && (f.Param != "" || f.Levels != nil):
		return nil, f.Errorf("remove them, or name the guard", "factor %s: param and levels belong to a guard", f.Name)
	case f.Guard != "" && f.Param == "":
		out, err = f.modes()
	case f.Guard != "":
		out, err = f.values()
	case f.Prompts != nil:
		out, err = f.prompts(folder)
	default:
		for _, m := range f.Models {
			out = append(out, level{Pos: f.Pos, label: fileSafe(m), model: m})
		}
	}
	if err != nil {
		return nil, err
	}
	if len(out) < 2 || len(out) > maxLevels {
		return nil, f.Errorf("give it 2 to 64", "factor %s has %d levels", f.Name, len(out))
	}
	seen := map[string]bool{}
	for _, l := range out {
		if seen[strings.ToLower(l.label)] {
			return nil, l.Errorf("name it once", "factor %s: the level %s stands twice", f.Name, l.label)
		}
		seen[strings.ToLower(l.label)] = true
	}
	return out, nil
}

// modes are the levels over a guard's mode.
func (f *Factor) modes() ([]level, error) {
	var out []level
	silent := false
	for _, n := range f.Levels {
		l := level{Pos: n.Pos, label: n.Value, mode: guard.Mode(n.Value)}
		if n.Kind != strictyaml.String {
			return nil, n.Errorf("write off, shadow or enforce", "factor %s: this is no mode", f.Name)
		}
		if _, err := guard.MustProfile(guard.ProfileNone).With(f.Guard, l.mode); err != nil {
			return nil, n.Errorf("see: harnessbench guards", "factor %s: %v", f.Name, err)
		}
		if l.mode != guard.Enforce {
			if silent {
				return nil, n.Errorf("keep one of the two", "factor %s: off and shadow are one level, because a guard that is compared is in shadow where it is off", f.Name)
			}
			silent = true
		}
		out = append(out, l)
	}
	return out, nil
}

// values are the levels over a guard's parameter.
func (f *Factor) values() ([]level, error) {
	i := guard.Lookup(f.Guard)
	var out []level
	for _, n := range f.Levels {
		if n.Kind != strictyaml.String && n.Kind != strictyaml.Int && n.Kind != strictyaml.Float {
			return nil, n.Errorf("write one value", "factor %s: this is no value of %s.%s", f.Name, f.Guard, f.Param)
		}
		set, err := guard.MustProfile(guard.ProfileNone).WithParam(f.Guard, f.Param, n.Value)
		if err != nil {
			return nil, n.Errorf("see: harnessbench guards", "factor %s: %v", f.Name, err)
		}
		l := level{Pos: n.Pos, value: n.Value}
		for _, p := range guard.Table[i].Params {
			if p.Name == f.Param {
				l.label = fileSafe(p.Format(set.Param(f.Guard, f.Param)))
			}
		}
		out = append(out, l)
	}
	if f.Levels == nil && i < 0 {
		return nil, f.Errorf("see: harnessbench guards", "factor %s: no guard %.60q", f.Name, f.Guard)
	}
	return out, nil
}

// prompts are the levels over the system prompt.
func (f *Factor) prompts(folder string) ([]level, error) {
	n := f.Prompts
	if n.Kind != strictyaml.Map || len(n.Keys) > maxPrompts {
		return nil, n.Errorf("write label: {text: ...} or label: {file: ...}", "factor %s: prompts is no mapping of at most %d prompts", f.Name, maxPrompts)
	}
	var out []level
	for i, key := range n.Keys {
		var p Prompt
		if !plainName(key.Value) || strings.Contains(key.Value, ".") {
			return nil, key.Errorf("use letters, digits, '-' and '_'", "factor %s: the label %.60q cannot stand in a file name", f.Name, key.Value)
		}
		if n.Items[i].Kind == strictyaml.Null {
			return nil, key.Errorf("write text or file", "factor %s: the prompt %s is empty", f.Name, key.Value)
		}
		if err := strictyaml.Decode(n.Items[i], &p); err != nil {
			return nil, err
		}
		text, err := p.read(folder)
		if err != nil {
			return nil, err
		}
		for _, other := range out {
			if other.text == text {
				return nil, key.Errorf("keep one of the two", "factor %s: the prompts %s and %s are equal", f.Name, other.label, key.Value)
			}
		}
		out = append(out, level{Pos: key.Pos, label: key.Value, text: text})
	}
	return out, nil
}

// set returns the arm with the factor at a level.
func (f *Factor) set(a Arm, l level) (Arm, error) {
	var err error
	switch {
	case f.Guard != "" && f.Param == "":
		a.Guards, err = a.Guards.With(f.Guard, l.mode)
	case f.Guard != "":
		a.Guards, err = a.Guards.WithParam(f.Guard, f.Param, l.value)
	case f.Prompts != nil:
		a.Prompt = l.text
	default:
		a.Models = []string{l.model}
	}
	if err != nil {
		return a, l.Errorf("see: harnessbench guards", "factor %s: %v", f.Name, err)
	}
	return a, nil
}

// key names what the factor varies: two factors over one thing would undo each
// other.
func (f *Factor) key() string {
	switch {
	case f.Guard != "":
		return "guard " + f.Guard + " " + f.Param
	case f.Prompts != nil:
		return "the prompt"
	}
	return "the model"
}

// fileSafe makes a level's label a part of a file name.
func fileSafe(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", r) {
			return r
		}
		return '_'
	}, s)
}
