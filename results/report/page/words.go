package page

import (
	"fmt"
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
		s += fmt.Sprintf(" where it fired (%s with it, %d in shadow)", plural(c.Fired.ExposedB, "trial"), c.Fired.ExposedA)
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

// strongest finds the contrast with the surest effect, then the largest; nil
// where none is sure.
func strongest(sections ...*report.Section) (best *report.Contrast) {
	for _, sec := range sections {
		if sec == nil {
			continue
		}
		for _, list := range [][]report.Contrast{sec.Comparisons, sec.Guards} {
			for i := range list {
				c := &list[i]
				if st := judge(c); st != helped && st != hurt {
					continue
				}
				if best == nil || size(c) > size(best) {
					best = c
				}
			}
		}
	}
	return best
}

func size(c *report.Contrast) float64 {
	e, _ := primary(c)
	if e.Value == nil {
		return 0
	}
	return max(*e.Value, -*e.Value)
}

// finding is the headline of a run that has none.
func finding(s *report.Summary) string {
	c := strongest(&s.Main)
	if c == nil {
		switch {
		case len(s.Main.Guards)+len(s.Main.Comparisons) == 0:
			return "The suite compares no arms: the page shows what each arm did."
		case s.Graded == 0:
			return "No trial was graded: there is nothing to compare."
		}
		return "No comparison showed an effect on the pass rate that is certain: no interval excludes 0 with an adjusted p below 0.05."
	}
	subject := "The guard " + name(c.Guard)
	if c.Guard == "" {
		subject = "The arm " + name(c.Arm) + " against " + name(c.Base)
	}
	verb := "raised"
	if judge(c) == hurt {
		verb = "lowered"
	}
	return fmt.Sprintf("Strongest finding: %s %s the pass rate on %s: %s.", strings.TrimSpace(subject), verb,
		modelName(c.Model, c.Simulated), strings.TrimPrefix(effectWords(c), "pass rate "))
}
