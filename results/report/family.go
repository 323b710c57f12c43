package report

import (
	"fmt"
	"math"

	"github.com/harnessbench/harnessbench/results/stats"
)

// MethodHolm names how p values are adjusted.
const MethodHolm = "Holm"

// Names of families; those of the harms section say so behind it.
const (
	FamilyOverAll   = "over all"
	FamilyFired     = "where it fired"
	FamilyFactorial = "factorial effects"
)

// adjust adjusts the p values of one section. A family is what the suite declared, not
// what came out: every comparison on every model, one family per effect. A test that
// could not be made, as of a guard that never fired, stays in with p = 1.
func adjust(sec *Section, suffix string) []Family {
	var overAll, fired, effects []*P
	for _, list := range [][]Contrast{sec.Comparisons, sec.Guards} {
		for i := range list {
			c := &list[i]
			overAll = append(overAll, &c.Test)
			if c.Fired != nil {
				fired = append(fired, &c.Fired.Test)
			}
		}
	}
	for i := range sec.Factorials {
		for j := range sec.Factorials[i].Effects {
			effects = append(effects, &sec.Factorials[i].Effects[j].Test)
		}
	}
	out := []Family{}
	for _, f := range []struct {
		name  string
		tests []*P
	}{{FamilyOverAll, overAll}, {FamilyFired, fired}, {FamilyFactorial, effects}} {
		if len(f.tests) > 0 {
			holm(f.tests)
			out = append(out, Family{Name: f.name + suffix, Method: MethodHolm, Tests: len(f.tests)})
		}
	}
	for _, list := range [][]Contrast{sec.Comparisons, sec.Guards} {
		for i := range list {
			list[i].outOfReach(len(overAll))
		}
	}
	return out
}

func holm(tests []*P) {
	p := make([]float64, len(tests))
	for i, t := range tests {
		if p[i] = 1; t.P != nil {
			p[i] = *t.P
		}
	}
	for i, v := range stats.Holm(p) {
		if tests[i].P != nil {
			tests[i].Adjusted = &v
		}
	}
}

// outOfReachPrefix begins what [Contrast.outOfReach] says.
const outOfReachPrefix = "no outcome of "

// outOfReach says when the scenarios are so few that no outcome could have been
// significant: the least p value of n signs is 2^(1-n), and Holm multiplies the least of a
// family by its size.
func (c *Contrast) outOfReach(family int) {
	n := int(c.OverAll.N)
	least := math.Ldexp(1, 1-n) * float64(family)
	if c.Test.P != nil && least > 0.05 {
		c.Test.Warnings = append(c.Test.Warnings,
			outOfReachPrefix+fmt.Sprintf("%s could reach p = 0.05 in a family of %s", plural(n, "scenario"), plural(family, "test")))
	}
}
