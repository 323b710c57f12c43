package ablations

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

// SuiteSchema is the value of a suite's schema key.
const SuiteSchema = "harnessbench/suite/v1"

// Suite is a suite file.
type Suite struct {
	strictyaml.Pos
	Schema      string       `yaml:"schema,required"`
	Name        string       `yaml:"name,required"`
	Summary     string       `yaml:"summary"`
	Scenarios   []string     `yaml:"scenarios,required"` // builtin/NAME, builtin/*, or folders; globs
	Models      []string     `yaml:"models,required"`
	Arms        []ArmSpec    `yaml:"arms,required"`
	Design      *Design      `yaml:"design"`
	Comparisons []Comparison `yaml:"comparisons"` // besides the design's
	Repetitions int          `yaml:"repetitions"` // default 1
	Seed        uint64       `yaml:"seed"`        // default 1
	Concurrency int          `yaml:"concurrency"` // trials at a time; 0 = the number of CPUs
	Coupling    string       `yaml:"coupling"`    // SharedPrefix (default) or Independent
	Limits      Limits       `yaml:"limits"`      // tighten those of every scenario
	Budgets     Budgets      `yaml:"budgets"`     // of the whole run
	Errors      Errors       `yaml:"errors"`
}

// ArmSpec is one arm as written: a profile with changes.
type ArmSpec struct {
	strictyaml.Pos
	Name    string                      `yaml:"name,required"`
	Profile string                      `yaml:"profile"` // default "default"
	Guards  map[string]*strictyaml.Node `yaml:"guards"`  // guard -> mode, or parameters
}

// Design adds arms that differ from a base in one guard each.
type Design struct {
	strictyaml.Pos
	Kind   string   `yaml:"kind,required"` // leave-one-out
	Base   string   `yaml:"base,required"` // an arm's name
	Guards []string `yaml:"guards"`        // default: every guard enforced in the base
}

// LeaveOneOut is the design with one arm per guard, that guard in shadow.
const LeaveOneOut = "leave-one-out"

// Arm is one harness configuration under test.
type Arm struct {
	Name   string
	Guards guard.Settings
	Prompt string   // system prompt; empty = the standard one
	Models []string // the models that it runs on; nil = all of the suite
}

// Comparison is two arms to be compared, B - A. A is the base. With a Guard, the
// arms differ in that guard alone: B enforces it, A has it in shadow.
type Comparison struct {
	strictyaml.Pos `yaml:"-"`
	Guard          string `yaml:"guard,omitempty"`
	A              string `yaml:"a,required"`
	B              string `yaml:"b,required"`
}

// bounds of a suite
const (
	maxSuiteBytes  = 1 << 20
	maxRepetitions = 100_000
	maxConcurrency = 100_000
)

// LoadSuite reads a suite file.
func LoadSuite(path string) (*Suite, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() || info.Size() > maxSuiteBytes {
		return nil, fmt.Errorf("%s: a suite is a YAML file of at most %d bytes", path, maxSuiteBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return ParseSuite(path, data)
}

// ParseSuite reads a suite. file is its name for messages.
func ParseSuite(file string, data []byte) (*Suite, error) {
	s := &Suite{Repetitions: 1, Seed: 1, Coupling: SharedPrefix}
	if err := strictyaml.Unmarshal(file, data, s); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	if _, _, err := s.Expand(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Suite) check() error {
	switch {
	case s.Schema != SuiteSchema:
		return s.Errorf("write "+SuiteSchema, "schema is %q", s.Schema)
	case !plainName(s.Name):
		return s.Errorf("use letters, digits, '-', '_' and '.'", "the name %q cannot name a folder", s.Name)
	case len(s.Scenarios) == 0:
		return s.Errorf("name at least one, for example builtin/*", "no scenarios")
	case len(s.Models) == 0:
		return s.Errorf("name at least one, for example sim/weak", "no models")
	case len(s.Arms) == 0:
		return s.Errorf("name at least one", "no arms")
	case s.Repetitions < 1 || s.Repetitions > maxRepetitions:
		return s.Errorf(fmt.Sprintf("use 1 to %d", maxRepetitions), "repetitions is %d", s.Repetitions)
	case s.Concurrency < 0 || s.Concurrency > maxConcurrency:
		return s.Errorf(fmt.Sprintf("use 0 (the number of CPUs) to %d", maxConcurrency), "concurrency is %d", s.Concurrency)
	}
	if dup := firstDuplicate(s.Models); dup != "" {
		return s.Errorf("name it once", "the model %q stands twice", dup)
	}
	for i := range s.Models {
		if provider, name, ok := strings.Cut(s.Models[i], "/"); !ok || provider == "" || name == "" {
			return s.Errorf("write provider/name, for example sim/weak", "the model %q has no provider", s.Models[i])
		}
	}
	return nil
}

func firstDuplicate(list []string) string {
	seen := map[string]bool{}
	for _, v := range list {
		if seen[v] {
			return v
		}
		seen[v] = true
	}
	return ""
}

func plainName(s string) bool {
	if s == "" || len(s) > 100 || s[0] == '.' || s[0] == '-' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == ""
}

// Expand makes the arms explicit, in their order: those written, then the
// design's. A compared guard that an arm would have off is in shadow there
// instead, so that its exposure is known in every arm.
func (s *Suite) Expand() ([]Arm, []Comparison, error) {
	var arms []Arm
	for i := range s.Arms {
		a, err := s.Arms[i].build()
		if err != nil {
			return nil, nil, err
		}
		arms = append(arms, a)
	}
	var comps []Comparison
	if s.Design != nil {
		var err error
		if arms, comps, err = s.Design.expand(arms); err != nil {
			return nil, nil, err
		}
	}
	names := make([]string, len(arms))
	for i := range arms {
		names[i] = arms[i].Name
	}
	if dup := firstDuplicate(names); dup != "" {
		return nil, nil, s.Errorf("give each arm its own name", "two arms are called %q", dup)
	}
	for _, c := range s.Comparisons {
		if err := c.check(arms); err != nil {
			return nil, nil, err
		}
		comps = append(comps, c)
	}
	for i := range arms {
		for _, c := range comps {
			if c.Guard == "" {
				continue
			}
			if arms[i].Guards.Mode(c.Guard) == guard.Off {
				arms[i].Guards, _ = arms[i].Guards.With(c.Guard, guard.Shadow)
			}
		}
	}
	return arms, comps, nil
}

// check refuses a comparison of what is not there, or of more than it says.
func (c *Comparison) check(arms []Arm) error {
	at := map[string]*Arm{}
	for i := range arms {
		at[arms[i].Name] = &arms[i]
	}
	a, b := at[c.A], at[c.B]
	switch {
	case a == nil:
		return c.Errorf("name one of the arms", "the comparison's a is no arm: %q", c.A)
	case b == nil:
		return c.Errorf("name one of the arms", "the comparison's b is no arm: %q", c.B)
	case c.A == c.B:
		return c.Errorf("name two", "the arm %q is compared with itself", c.A)
	case c.Guard == "":
		return nil
	}
	if diff := guard.Differ(a.Guards, b.Guards); len(diff) != 1 || diff[0] != c.Guard {
		return c.Errorf("leave guard out to compare whole arms", "%s and %s do not differ in the guard %s alone", c.A, c.B, c.Guard)
	}
	return nil
}

func (a *ArmSpec) build() (Arm, error) {
	if !plainName(a.Name) {
		return Arm{}, a.Errorf("use letters, digits, '-', '_' and '.'", "the arm name %q cannot stand in a file name", a.Name)
	}
	profile := a.Profile
	if profile == "" {
		profile = guard.ProfileDefault
	}
	set, err := guard.Profile(profile)
	if err != nil {
		return Arm{}, a.Errorf("", "arm %s: %v", a.Name, err)
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
	return Arm{Name: a.Name, Guards: set}, nil
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

func (d *Design) expand(arms []Arm) ([]Arm, []Comparison, error) {
	if d.Kind != LeaveOneOut {
		return nil, nil, d.Errorf("write "+LeaveOneOut, "no design %q", d.Kind)
	}
	i := slices.IndexFunc(arms, func(a Arm) bool { return a.Name == d.Base })
	if i < 0 {
		return nil, nil, d.Errorf("name one of the arms", "the design's base %q is no arm", d.Base)
	}
	base := arms[i]
	guards := d.Guards
	if len(guards) == 0 {
		for _, name := range guard.Names() {
			if base.Guards.Mode(name) == guard.Enforce {
				guards = append(guards, name)
			}
		}
	}
	if dup := firstDuplicate(guards); dup != "" {
		return nil, nil, d.Errorf("name it once", "the guard %q stands twice", dup)
	}
	var comps []Comparison
	for _, name := range guards {
		set, err := base.Guards.With(name, guard.Shadow)
		if err != nil {
			return nil, nil, d.Errorf("see: harnessbench guards", "%v", err)
		}
		if base.Guards.Mode(name) != guard.Enforce {
			return nil, nil, d.Errorf("enforce it in the base or leave it out", "the guard %s is not enforced in the base %s", name, d.Base)
		}
		arm := Arm{Name: "without-" + name, Guards: set}
		arms = append(arms, arm)
		comps = append(comps, Comparison{Guard: name, A: arm.Name, B: base.Name})
	}
	return arms, comps, nil
}
