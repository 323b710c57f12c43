package page

import (
	"fmt"
	"math"
	"strings"

	"github.com/harnessbench/harnessbench/results/report"
)

// Significance is the adjusted p value below which a guard is said to have
// helped or hurt, or its cost to have changed.
const Significance = 0.05

// state is what the data say of one guard on one model, in words.
type state int

const (
	helped state = iota
	hurt
	leansUp   // the interval excludes 0, the adjusted p value does not reach 0.05
	leansDown //
	same      // equal within the margin of the suite
	unclear
	untested   // neither an interval nor a test can be made
	unmeasured // it never fired
)

// states gives each state its mark, its words and its class of the style. The
// mark and the words say all that the colour says.
var states = map[state]struct{ Mark, Word, Class string }{
	helped:     {"▲", "helped", "up"},
	hurt:       {"▼", "hurt", "down"},
	leansUp:    {"△", "leans up, not certain", "flat"},
	leansDown:  {"▽", "leans down, not certain", "flat"},
	same:       {"=", "no effect within the margin", "flat"},
	unclear:    {"≈", "no clear effect", "flat"},
	untested:   {"?", "too little to judge", "none"},
	unmeasured: {"∅", "not measured", "none"},
}

// price is what the data say of the cost of a trial.
type price int

const (
	priceUnknown price = iota
	priceSame
	dearer
	cheaper
)

var prices = map[price]string{
	priceUnknown: "cost effect unknown", priceSame: "no clear change of cost",
	dearer: "dearer", cheaper: "cheaper",
}

// primary is the effect that a contrast is judged by, and its test: where it
// fired for a guard, over all for whole arms.
func primary(c *report.Contrast) (report.Estimate, report.P) {
	if c.Guard != "" && c.Fired != nil {
		return c.Fired.Estimate, c.Fired.Test
	}
	return c.OverAll, c.Test
}

// judge puts a contrast's pass rate into words: helped or hurt where the 95 %
// interval excludes 0 and the adjusted p value is below [Significance].
func judge(c *report.Contrast) state {
	if c.Guard != "" && !c.Measured {
		return unmeasured
	}
	e, p := primary(c)
	side := excludes(e, 0)
	sure := p.Adjusted != nil && *p.Adjusted < Significance
	if e.Value == nil || p.Adjusted == nil && (e.Lo == nil || e.Hi == nil) {
		return untested
	}
	switch {
	case side > 0 && sure:
		return helped
	case side < 0 && sure:
		return hurt
	case c.Margin != nil && c.Margin.Equivalent:
		return same
	case side > 0, sure && e.Value != nil && *e.Value > 0:
		return leansUp
	case side < 0, sure && e.Value != nil && *e.Value < 0:
		return leansDown
	}
	return unclear
}

// judgePrice puts the change of a trial's cost into words: by the interval of
// the ratio alone, since no test of it is in a family.
func judgePrice(c *report.Contrast) price {
	e := c.CostRatio.Estimate
	if e.Value == nil || e.Lo == nil && e.Hi == nil {
		return priceUnknown
	}
	switch {
	case e.Lo != nil && *e.Lo > 1:
		return dearer
	case e.Hi != nil && *e.Hi < 1 && !c.CostRatio.Unbounded:
		return cheaper
	}
	return priceSame
}

// excludes returns 1 where an interval lies above a value, -1 where it lies
// below, 0 where it holds the value or does not exist.
func excludes(e report.Estimate, v float64) int {
	switch {
	case e.Lo != nil && *e.Lo > v:
		return 1
	case e.Hi != nil && *e.Hi < v:
		return -1
	}
	return 0
}

// effectWords says what happened to the pass rate, in one clause.
func effectWords(c *report.Contrast) string {
	e, p := primary(c)
	if e.Value == nil {
		return "no comparison can be made"
	}
	s := "pass rate " + diff(e.Value)
	if in := between(e, "%+.2f"); in != "" {
		s += " " + in
	}
	if c.Guard != "" && c.Fired != nil {
		s += fmt.Sprintf(" where it fired (%s with it, %d %s)", plural(c.Fired.ExposedB, "trial"), c.Fired.ExposedA, withoutWord(c))
	}
	if p.Adjusted != nil {
		s += ", adjusted p " + pValue(p.Adjusted)
	}
	return s
}

// priceWords says what happened to the cost, in one clause.
func priceWords(c *report.Contrast) string {
	e := c.CostRatio.Estimate
	if e.Value == nil {
		return "cost unknown"
	}
	s := "a trial cost " + factor(e.Value) + " as much"
	if in := between(e, "%.2f"); in != "" {
		s += " " + in
	}
	return s
}

// effect is one effect of a run with what it is of.
type effect struct {
	subject, model string
	state          state
	value          float64
	words          string
}

// effects lists every effect of the main section that is sure.
func effects(s *report.Summary) (out []effect) {
	sec := &s.Main
	add := func(subject, model string, c *report.Contrast) {
		st := judge(c)
		if e, _ := primary(c); (st == helped || st == hurt) && e.Value != nil {
			out = append(out, effect{subject, model, st, *e.Value, strings.TrimPrefix(effectWords(c), "pass rate ")})
		}
	}
	for i := range sec.Comparisons {
		c := &sec.Comparisons[i]
		add("the arm "+title(c), ranOn(s, c), c)
	}
	for i := range sec.Guards {
		c := &sec.Guards[i]
		add("the guard "+name(c.Guard), modelName(c.Model, c.Simulated), c)
	}
	for _, f := range sec.Factorials {
		for _, e := range f.Effects {
			if len(e.Factors) == 1 {
				add("the factor "+name(e.Name), modelName(f.Model, f.Simulated), &report.Contrast{OverAll: e.Estimate, Test: e.Test})
			}
		}
	}
	return out
}

// finding is the headline of a run that has none: its largest sure effect.
func finding(s *report.Summary) string {
	all := effects(s)
	switch {
	case s.Graded == 0:
		return "No trial was graded: there is nothing to say."
	case s.Unexpected() > 0:
		return fmt.Sprintf("%d of %s did not fire in each of its traps and in none of its controls.", s.Unexpected(), plural(len(s.Firing), "guard"))
	case len(s.Firing) > 0:
		return fmt.Sprintf("Each of %s fired in all of its traps and in none of its controls.", plural(len(s.Firing), "guard"))
	case len(s.Main.Guards)+len(s.Main.Comparisons)+len(s.Main.Factorials) == 0:
		return "The suite compares no arms: the page shows what each arm did."
	case len(all) == 0:
		return "No effect on the pass rate is certain: for none does the 95 % interval exclude 0 with an adjusted p below 0.05."
	}
	best := all[0]
	for _, e := range all[1:] {
		if math.Abs(e.value) > math.Abs(best.value) {
			best = e
		}
	}
	verb := "raised"
	if best.state == hurt {
		verb = "lowered"
	}
	return fmt.Sprintf("Strongest finding: %s %s the pass rate on %s: %s.", best.subject, verb, best.model, best.words)
}
