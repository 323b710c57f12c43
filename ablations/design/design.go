package design

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

// Design says how arms are made beside those that are written.
type Design struct {
	strictyaml.Pos
	Kind   string   `yaml:"kind,required" doc:"explicit: only the arms that are written; leave-one-out: one arm per guard, that guard in shadow; one-at-a-time: one arm per level of a factor that differs from the base; full-factorial: one arm per combination of levels; fractional: half of the combinations of factors of two levels; firing: for each guard the base with it and an arm that has it alone, on the scenarios that stress it, where it has to fire for its trap model in one of the two, and the base with it on those that control it, where it has to stay silent" enum:"explicit|leave-one-out|one-at-a-time|full-factorial|fractional|firing"`
	Base   string   `yaml:"base" doc:"an arm, or a profile; default: the first arm, else the profile default"`
	Guards []string `yaml:"guards" doc:"of leave-one-out and firing: the guards; default: every guard; of leave-one-out those that the base enforces and that do not stay in force in every arm"`
}

// The kinds of designs.
const (
	Explicit      = "explicit"
	LeaveOneOut   = "leave-one-out"
	OneAtATime    = "one-at-a-time"
	FullFactorial = "full-factorial"
	Fractional    = "fractional"
	FiringDesign  = "firing"
)

var designs = []string{Explicit, LeaveOneOut, OneAtATime, FullFactorial, Fractional, FiringDesign}

// UnmarshalNode implements strictyaml.Unmarshaler: a kind alone, or a mapping.
func (d *Design) UnmarshalNode(n *strictyaml.Node) error {
	type file Design
	if n.Kind != strictyaml.String {
		return strictyaml.Decode(n, (*file)(d))
	}
	d.Pos, d.Kind = n.Pos, n.Value
	return nil
}

// expansion makes the arms of a suite explicit.
type expansion struct {
	s        *Suite
	arms     []Arm
	comps    []Comparison
	compared map[string]bool // guards that are in shadow wherever they are off
}

// Expand makes the arms explicit, in their order: those written, then the
// design's. A compared guard that an arm would have off is in shadow there
// instead, so that its exposure is known in every arm.
func (s *Suite) Expand() ([]Arm, []Comparison, error) {
	e := &expansion{s: s, compared: map[string]bool{}}
	for i := range s.Arms {
		a, err := s.Arms[i].build(s.folder)
		if err != nil {
			return nil, nil, err
		}
		e.arms = append(e.arms, a)
	}
	for _, step := range []func() error{e.design, e.fallback, e.names, e.declared, e.shadow} {
		if err := step(); err != nil {
			return nil, nil, err
		}
	}
	return e.arms, e.comps, nil
}

// design adds the arms and comparisons of the design.
func (e *expansion) design() error {
	d := e.s.Design
	if d == nil {
		d = &Design{Pos: e.s.Pos, Kind: Explicit}
	}
	varies := d.Kind == OneAtATime || d.factorial()
	switch {
	case !slices.Contains(designs, d.Kind):
		return d.Errorf("write one of "+strings.Join(designs, ", "), "no design %.60q", d.Kind)
	case d.Kind == Explicit && (d.Base != "" || d.Guards != nil):
		return d.Errorf("remove them, or choose another kind", "base and guards do nothing in an explicit design")
	case !varies && len(e.s.Factors) > 0:
		return e.s.at("factors").Errorf("write design: {kind: one-at-a-time}, {kind: full-factorial} or {kind: fractional}, or remove them", "a design of kind %s has no factors", d.Kind)
	case varies && len(e.s.Factors) == 0:
		return d.Errorf("add factors", "a design of kind %s needs factors", d.Kind)
	case varies && d.Guards != nil:
		return d.Errorf("remove it", "guards belongs to leave-one-out; here factors say what varies")
	case d.Kind == Explicit && len(e.arms) == 0:
		return e.s.at("arms").Errorf("name at least one, for example {name: default}", "no arms")
	case d.Kind == Explicit:
		return nil
	}
	base, err := e.base(d)
	if err != nil {
		return err
	}
	switch d.Kind {
	case LeaveOneOut:
		return e.leaveOneOut(d, base)
	case FiringDesign:
		return e.firing(d, base)
	case OneAtATime:
		return e.oneAtATime(base)
	}
	return e.factorial(d, base)
}

// base finds the arm that the design starts from. A profile that is no written
// arm becomes one, except in a full factorial, which has its own cell for it.
func (e *expansion) base(d *Design) (Arm, error) {
	name := d.Base
	if name == "" && len(e.arms) > 0 {
		name = e.arms[0].Name
	} else if name == "" {
		name = guard.ProfileDefault
	}
	if i := slices.IndexFunc(e.arms, func(a Arm) bool { return a.Name == name }); i >= 0 {
		return e.arms[i], nil
	}
	set, err := guard.Profile(name)
	if err != nil {
		return Arm{}, d.Errorf("name one of the arms, or a profile: "+strings.Join(guard.Profiles(), ", "), "the design's base %.60q is no arm", name)
	}
	a := Arm{Name: name, Guards: set}
	if !d.factorial() && d.Kind != FiringDesign {
		e.arms = append(e.arms, a)
	}
	return a, nil
}

// leaveOneOut adds one arm per guard with that guard in shadow.
func (e *expansion) leaveOneOut(d *Design, base Arm) error {
	guards := d.Guards
	if len(guards) == 0 {
		for _, name := range guard.Names() {
			if base.Guards.Mode(name) == guard.Enforce && !guard.Table[guard.Lookup(name)].Stays {
				guards = append(guards, name)
			}
		}
	}
	if len(guards) == 0 {
		return d.Errorf("enforce one in the base", "the base %s enforces no guard that could be left out", base.Name)
	}
	if i := firstDuplicate(guards); i >= 0 {
		return d.Errorf("name it once", "the guard %.60q stands twice", guards[i])
	}
	for _, name := range guards {
		arm := base
		var err error
		if arm.Guards, err = base.Guards.With(name, guard.Shadow); err != nil {
			return d.Errorf("see: harnessbench guards", "%v", err)
		}
		if base.Guards.Mode(name) != guard.Enforce {
			return d.Errorf("enforce it in the base or leave it out", "the guard %s is not enforced in the base %s", name, base.Name)
		}
		arm.Name = "without-" + name
		e.arms = append(e.arms, arm)
		e.compare(Comparison{Guard: name, A: arm.Name, B: base.Name})
	}
	return nil
}

// oneAtATime adds one arm per level that differs from the base.
func (e *expansion) oneAtATime(base Arm) error {
	factors, err := e.factors()
	if err != nil {
		return err
	}
	for i := range factors {
		f := &e.s.Factors[i]
		if len(f.Models) > 0 && len(base.Models) != 1 {
			return f.Errorf("give the base one model, or list these under the suite's models", "factor %s: the base %s runs on more than one model", f.Name, base.Name)
		}
		start := silenced(base, f.Guard)
		for _, l := range factors[i] {
			arm, err := f.set(base, l)
			if err != nil {
				return err
			}
			arm = silenced(arm, f.Guard)
			if arm.same(&start) {
				continue
			}
			arm.Name = armName([]string{f.Name + "-" + l.label})
			e.arms = append(e.arms, arm)
			if len(f.Models) == 0 { // arms without a common model have no pairs
				e.compare(against(start, arm))
			}
		}
	}
	return nil
}

// against compares an arm with the base. Where one of the two enforces the guard
// in which alone they differ, that one is b.
func against(base, arm Arm) Comparison {
	c := Comparison{A: base.Name, B: arm.Name}
	if diff := guard.Differ(base.Guards, arm.Guards); len(diff) == 1 && base.Prompt == arm.Prompt {
		c.Guard = diff[0]
		if base.Guards.Mode(c.Guard) == guard.Enforce && arm.Guards.Mode(c.Guard) != guard.Enforce {
			c.A, c.B = c.B, c.A
		}
	}
	return c
}

// silenced returns the arm with a guard in shadow where it was off.
func silenced(a Arm, name string) Arm {
	if name != "" && a.Guards.Mode(name) == guard.Off {
		a.Guards, _ = a.Guards.With(name, guard.Shadow) // an unknown guard has no mode to set
	}
	return a
}

// factors checks the factors and returns their levels.
func (e *expansion) factors() ([][]level, error) {
	if len(e.s.Factors) > maxFactors {
		return nil, e.s.at("factors").Errorf("use fewer", "there are %d factors, the limit is %d", len(e.s.Factors), maxFactors)
	}
	var out [][]level
	names, things := map[string]bool{}, map[string]string{}
	for i := range e.s.Factors {
		f := &e.s.Factors[i]
		levels, err := f.levels(e.s.folder)
		if err != nil {
			return nil, err
		}
		if names[strings.ToLower(f.Name)] {
			return nil, f.Errorf("give each its own name", "two factors are called %s", f.Name)
		}
		if other, taken := things[f.key()]; taken {
			return nil, f.Errorf("make them one", "the factors %s and %s vary the same thing: %s", other, f.Name, f.key())
		}
		names[strings.ToLower(f.Name)], things[f.key()] = true, f.Name
		out = append(out, levels)
	}
	return out, nil
}

// armName joins the parts of a design's arm. A name that would be too long for a
// file is cut and told apart by a digest of the whole.
func armName(parts []string) string {
	name := strings.Join(parts, ".")
	if len(name) <= maxNameBytes {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:maxNameBytes-13] + "." + hex.EncodeToString(sum[:6])
}

// compare adds a comparison of the design.
func (e *expansion) compare(c Comparison) {
	if c.Guard != "" {
		e.compared[c.Guard] = true
	}
	e.comps = append(e.comps, c)
}

// names holds the arms against their bounds. Names that differ in case alone
// would share files where the file system does not know case.
func (e *expansion) names() error {
	if len(e.arms) > MaxArms {
		return e.s.Errorf("use fewer arms, factors or levels", "there are %d arms, the limit is %d", len(e.arms), MaxArms)
	}
	seen := make(map[string]int, len(e.arms))
	for i := range e.arms {
		name := strings.ToLower(e.arms[i].Name)
		if _, taken := seen[name]; taken {
			at := e.s.at("design")
			if i < len(e.s.Arms) {
				at = e.s.Arms[i].Pos
			}
			return at.Errorf("give each arm its own name; case does not count", "two arms are called %q", e.arms[i].Name)
		}
		seen[name] = i
	}
	for _, m := range e.s.Models {
		if !slices.ContainsFunc(e.arms, func(a Arm) bool { return a.On(m) }) {
			return e.s.at("models").Errorf("remove it, or let an arm run on it", "no arm runs on the model %s", m)
		}
	}
	return nil
}

// declared adds the comparisons that are written. One that the design has made
// too replaces the design's: it may have a margin.
func (e *expansion) declared() error {
	made := len(e.comps)
	for _, c := range e.s.Comparisons {
		if c.Guard != "" && guard.Lookup(c.Guard) < 0 {
			return c.Errorf("see: harnessbench guards", "no guard %.60q", c.Guard)
		}
		i := slices.IndexFunc(e.comps, func(o Comparison) bool { return o.A == c.A && o.B == c.B && o.Guard == c.Guard })
		switch {
		case i >= made:
			return c.Errorf("remove one of the two", "%s and %s are compared twice", c.A, c.B)
		case i >= 0:
			e.comps[i] = c
		default:
			e.compare(c)
		}
	}
	return nil
}

// shadow puts compared guards in shadow where they are off, then holds
// comparisons and gates against the arms as they will run.
func (e *expansion) shadow() error {
	byName := make(map[string]*Arm, len(e.arms))
	for i := range e.arms {
		for _, name := range guard.Names() {
			if e.compared[name] {
				e.arms[i] = silenced(e.arms[i], name)
			}
		}
		byName[e.arms[i].Name] = &e.arms[i]
	}
	for i := range e.comps {
		if err := e.comps[i].check(byName, e.s.Models); err != nil {
			return err
		}
	}
	for i := range e.s.Gates {
		if err := e.s.Gates[i].check(byName, e.comps, e.s.Models); err != nil {
			return err
		}
	}
	return nil
}

// check refuses a comparison of what is not there, or of more than it says.
func (c *Comparison) check(arms map[string]*Arm, models []string) error {
	a, b := arms[c.A], arms[c.B]
	switch {
	case a == nil:
		return c.Errorf("name one of the arms", "the comparison's a is no arm: %.60q", c.A)
	case b == nil:
		return c.Errorf("name one of the arms", "the comparison's b is no arm: %.60q", c.B)
	case c.A == c.B:
		return c.Errorf("name two", "the arm %q is compared with itself", c.A)
	}
	if _, _, ok := CrossModels(a, b); ok && c.Guard == "" {
		return nil
	}
	if !slices.ContainsFunc(models, func(m string) bool { return a.On(m) && b.On(m) }) {
		return c.Errorf("let both run on one, or each on one alone and leave guard out", "%s and %s have no model in common", c.A, c.B)
	}
	if c.Guard == "" {
		return nil
	}
	diff := guard.Differ(a.Guards, b.Guards)
	if len(diff) != 1 || diff[0] != c.Guard || a.Prompt != b.Prompt {
		return c.Errorf("leave guard out to compare whole arms", "%s and %s do not differ in the guard %s alone", c.A, c.B, c.Guard)
	}
	return nil
}

// CrossModels reports whether two arms each run on one model, and not on the
// same: what compares them compares models too, paired by scenario alone.
func CrossModels(a, b *Arm) (modelA, modelB string, ok bool) {
	if len(a.Models) != 1 || len(b.Models) != 1 || a.Models[0] == b.Models[0] {
		return "", "", false
	}
	return a.Models[0], b.Models[0], true
}

// Comparison is two arms to be compared, B - A. A is the base. With a Guard, the
// arms differ in that guard alone; where the modes differ, B enforces it and A
// has it in shadow.
type Comparison struct {
	strictyaml.Pos `yaml:"-"`
	Guard          string  `yaml:"guard,omitempty" doc:"the guard in which alone the two differ; without it whole arms are compared"`
	A              string  `yaml:"a,required" doc:"the base, an arm"`
	B              string  `yaml:"b,required" doc:"the other arm: differences are b - a"`
	Margin         float64 `yaml:"margin,omitempty" doc:"b may be worse than a by this much in pass rate and still count as not inferior" min:"0" max:"1"`
}

// UnmarshalNode implements strictyaml.Unmarshaler.
func (c *Comparison) UnmarshalNode(n *strictyaml.Node) error {
	type file Comparison
	return decodeBounded(n, (*file)(c))
}

// String names the comparison.
func (c *Comparison) String() string {
	if c.Guard == "" {
		return fmt.Sprintf("%s against %s", c.B, c.A)
	}
	return fmt.Sprintf("%s against %s, guard %s", c.B, c.A, c.Guard)
}
