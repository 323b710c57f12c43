package design

import (
	"fmt"
	"slices"
	"strings"
)

// factorial reports whether the design crosses its factors.
func (d *Design) factorial() bool { return d.Kind == FullFactorial || d.Kind == Fractional }

// leastFractional is the number of factors from which half of the combinations
// tell main effects apart.
const leastFractional = 3

// factorial adds one arm per combination of levels; the last factor changes
// fastest. A fractional design keeps the half in which the product of all levels,
// low = -1 and high = +1, is +1: the last factor is the product of the others, and
// no half tells more effects apart (Box, Hunter and Hunter, "Statistics for
// Experimenters", 2nd edition, 2005, chapter 6).
func (e *expansion) factorial(d *Design, base Arm) error {
	factors, err := e.factors()
	if err != nil {
		return err
	}
	half := d.Kind == Fractional
	if half && len(factors) < leastFractional {
		return d.Errorf("add factors, or write full-factorial", "a fractional design needs %d factors, not %d", leastFractional, len(factors))
	}
	n := 1
	for i := range factors {
		f := &e.s.Factors[i]
		if half && len(factors[i]) != 2 {
			return f.Errorf("give it 2, or write full-factorial", "factor %s has %d levels; those of a fractional design have 2", f.Name, len(factors[i]))
		}
		if n *= len(factors[i]); n > MaxArms && !(half && n <= 2*MaxArms) {
			return d.Errorf("use fewer factors or levels", "the factors make more than %d arms", MaxArms)
		}
		if f.Guard != "" && f.Param == "" {
			e.compared[f.Guard] = true
		}
	}
	at := make([]int, len(factors))
	for range n {
		if !half || evenLows(at) {
			if err := e.combination(base, factors, at); err != nil {
				return err
			}
		}
		for i := len(at) - 1; i >= 0; i-- {
			if at[i]++; at[i] < len(factors[i]) {
				break
			}
			at[i] = 0
		}
	}
	return nil
}

// evenLows reports whether an even number of factors is low: then the product of
// their levels is +1.
func evenLows(at []int) bool {
	low := 0
	for _, l := range at {
		if l == 0 {
			low++
		}
	}
	return low%2 == 0
}

// combination adds the arm with each factor at a level.
func (e *expansion) combination(arm Arm, factors [][]level, at []int) error {
	levels, parts := make([]Level, len(factors)), make([]string, len(factors))
	for i, l := range factors {
		var err error
		f := &e.s.Factors[i]
		if arm, err = f.set(arm, l[at[i]]); err != nil {
			return err
		}
		levels[i] = Level{f.Name, l[at[i]].label}
		parts[i] = f.Name + "-" + l[at[i]].label
	}
	arm.Levels, arm.Name = levels, armName(parts)
	e.arms = append(e.arms, arm)
	return nil
}

// LockFactor is a factor of a factorial design and its levels, the low one first.
type LockFactor struct {
	Name   string   `yaml:"name"`
	Levels []string `yaml:"levels"`
}

// crossed lists the factors of a factorial design; none of another.
func (s *Suite) crossed() ([]LockFactor, error) {
	if s.Design == nil || !s.Design.factorial() {
		return nil, nil
	}
	var out []LockFactor
	for i := range s.Factors {
		f := LockFactor{Name: s.Factors[i].Name}
		levels, err := s.Factors[i].levels(s.folder)
		if err != nil {
			return nil, err
		}
		for _, l := range levels {
			f.Levels = append(f.Levels, l.label)
		}
		out = append(out, f)
	}
	return out, nil
}

// Aliases says what a half fraction cannot tell apart; empty for other plans. The
// effects of a full factorial are all distinct.
func (p *Plan) Aliases() string {
	k := len(p.Factors)
	made := 0
	for i := range p.Arms {
		if len(p.Arms[i].Levels) == k && k > 0 {
			made++
		}
	}
	if k < leastFractional || made == 0 || slices.ContainsFunc(p.Factors, func(f LockFactor) bool { return len(f.Levels) != 2 }) || made != 1<<(k-1) {
		return ""
	}
	names := make([]string, k)
	for i, f := range p.Factors {
		names[i] = f.Name
	}
	return fmt.Sprintf("half fraction of resolution %d, I = %s: an effect and that of all factors not in it cannot be told apart; %s is the alias of %s",
		k, strings.Join(names, " x "), names[k-1], strings.Join(names[:k-1], " x "))
}
