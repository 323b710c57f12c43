package guard

import (
	"fmt"
	"slices"
	"strings"
)

// Setting is how one guard is set.
type Setting struct {
	Mode    Mode
	Version int     // behaviour version it was made for
	Values  []int64 // in the order of the Params of that version

	// What was read and cannot be said otherwise: a guard that did not stand there,
	// or one that was off under a version that is not in the code.
	absent bool
	raw    string // canonical JSON of the row
}

// fresh is a guard's setting as the table has it today, off.
func fresh(d *Def) Setting {
	s := Setting{Mode: Off, Version: d.Version, Values: make([]int64, len(d.Params))}
	for j := range d.Params {
		s.Values[j] = d.Params[j].Default
	}
	return s
}

// behaviour returns the version of d that the setting is for; where that is not
// in the code the guard is off, and today's stands for it.
func (r *Setting) behaviour(d *Def) behaviour {
	if b, ok := d.at(r.Version); ok {
		return b
	}
	b, _ := d.at(d.Version)
	return b
}

// Settings say for every guard of the table how it is set. A Settings value is
// immutable: With and WithParam return changed copies. The zero Settings is
// profile none.
type Settings struct{ rows []Setting }

// Profile names of settings.
const (
	ProfileNone    = "none"
	ProfileDefault = "default"
	ProfileFull    = "full"
)

// Profiles lists the profile names.
func Profiles() []string { return []string{ProfileNone, ProfileDefault, ProfileFull} }

// Profile returns a named set of settings.
func Profile(name string) (Settings, error) {
	rows := make([]Setting, len(Table))
	for i := range Table {
		d := &Table[i]
		rows[i] = fresh(d)
		switch name {
		case ProfileNone:
			if d.Stays {
				rows[i].Mode = Enforce
			}
		case ProfileDefault:
			rows[i].Mode = d.Mode
		case ProfileFull:
			rows[i].Mode = d.Full
		default:
			return Settings{}, fmt.Errorf("no profile %q; there are %s", name, strings.Join(Profiles(), ", "))
		}
	}
	return Settings{rows}, nil
}

// MustProfile is Profile for names known to exist.
func MustProfile(name string) Settings {
	s, err := Profile(name)
	if err != nil {
		panic(err)
	}
	return s
}

// Get returns the setting of a guard; the zero Setting for a name that is none.
func (s Settings) Get(name string) Setting {
	i := Lookup(name)
	if i < 0 {
		return Setting{Mode: Off}
	}
	r := s.all()[i]
	r.Values = slices.Clone(r.Values)
	return r
}

// Mode returns the mode of a guard.
func (s Settings) Mode(name string) Mode {
	if i := Lookup(name); i >= 0 {
		return s.all()[i].Mode
	}
	return Off
}

// Has reports whether the settings say anything of a guard. Settings that were
// read from before there was the guard do not.
func (s Settings) Has(name string) bool {
	i := Lookup(name)
	return i >= 0 && !s.all()[i].absent
}

// all returns a row for every guard of the table.
func (s Settings) all() []Setting {
	if s.rows == nil {
		return MustProfile(ProfileNone).rows
	}
	return s.rows
}

// Param returns the value of one parameter in the unit of the table; 0 for a
// name that is none.
func (s Settings) Param(name, param string) int64 {
	if i := Lookup(name); i >= 0 {
		r := &s.all()[i]
		b := r.behaviour(&Table[i])
		if j := b.param(param); j >= 0 && j < len(r.Values) {
			return r.Values[j]
		}
	}
	return 0
}

// Version returns the behaviour version of a guard; 0 for a name that is none.
func (s Settings) Version(name string) int {
	if i := Lookup(name); i >= 0 {
		return s.all()[i].Version
	}
	return 0
}

// touch makes a row sayable before it is changed.
func (r *Setting) touch(d *Def) {
	if r.absent || r.raw != "" {
		*r = fresh(d)
	}
}

func (s Settings) clone() Settings {
	rows := slices.Clone(s.all())
	for i := range rows {
		rows[i].Values = slices.Clone(rows[i].Values)
	}
	return Settings{rows}
}

// With returns s with one guard in another mode.
func (s Settings) With(name string, mode Mode) (Settings, error) {
	i := Lookup(name)
	if i < 0 {
		return s, unknownGuard(name)
	}
	if mode != Off && mode != Shadow && mode != Enforce {
		return s, fmt.Errorf("guard %s: no mode %q; there are enforce, shadow, off", name, mode)
	}
	if Table[i].Stays && mode != Enforce {
		return s, fmt.Errorf("guard %s stays in force in every arm; it cannot be %s", name, mode)
	}
	c := s.clone()
	c.rows[i].touch(&Table[i])
	c.rows[i].Mode = mode
	return c, nil
}

// WithParam returns s with one parameter changed.
func (s Settings) WithParam(name, param, value string) (Settings, error) {
	i := Lookup(name)
	if i < 0 {
		return s, unknownGuard(name)
	}
	c := s.clone()
	c.rows[i].touch(&Table[i])
	b := c.rows[i].behaviour(&Table[i])
	j := b.param(param)
	if j < 0 {
		var have []string
		for k := range b.params {
			have = append(have, b.params[k].Name)
		}
		return s, fmt.Errorf("guard %s has no parameter %q; it has mode %s", name, param, strings.Join(have, " "))
	}
	v, err := b.params[j].Parse(value)
	if err != nil {
		return s, fmt.Errorf("guard %s, parameter %s: %w", name, param, err)
	}
	c.rows[i].Values[j] = v
	return c, nil
}

func unknownGuard(name string) error {
	return fmt.Errorf("no guard %q; there are %s", name, strings.Join(Names(), ", "))
}

// Differ returns the names of the guards that are set differently in a and b.
func Differ(a, b Settings) []string {
	var out []string
	x, y := a.all(), b.all()
	for i := range Table {
		if x[i].Mode != y[i].Mode || !slices.Equal(x[i].Values, y[i].Values) || x[i].Mode != Off && x[i].Version != y[i].Version {
			out = append(out, Table[i].Name)
		}
	}
	return out
}
