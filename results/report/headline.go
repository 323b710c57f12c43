package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/harnessbench/harnessbench/results/stats"
)

// headline is the answer in one line: of the first comparison of two models, else of the
// first of whole arms. The list has them in that order.
func headline(s *Summary) *Headline {
	if len(s.Main.Comparisons) == 0 {
		return nil
	}
	return &Headline{Text: s.Main.Comparisons[0].sentence(s), Comparison: 0}
}

func (c *Contrast) sentence(s *Summary) string {
	a, b := c.Base, c.Arm
	lead := "On " + c.Model + ", "
	if c.BaseModel != "" {
		lead, a, b = "", c.BaseModel+" with "+c.Base, c.Model+" with "+c.Arm
	}
	out := fmt.Sprintf("%s%s passes %s, %s %s: ", lead, b, rate(c.B.Rate), a, rate(c.A.Rate))
	if c.OverAll.Value == nil {
		return out + "no scenario is graded in both, so there is no comparison." + simulated(c)
	}
	out += c.differs(s)
	if m := c.Margin; m != nil && m.Answer != "" {
		within := strconv.FormatFloat(m.Margin, 'g', 4, 64)
		switch m.Answer {
		case stats.NotInferior:
			out += "; not inferior by more than " + within
		case stats.Inferior:
			out += "; inferior by more than " + within
		default:
			out += "; whether it is inferior by more than " + within + " stays open"
		}
	}
	return out + c.price() + "." + simulated(c)
}

// differs says the difference, its interval and p.
func (c *Contrast) differs(s *Summary) string {
	e := c.OverAll
	out := fmt.Sprintf("%+.2f", *e.Value)
	if e.Lo != nil && e.Hi != nil {
		out += fmt.Sprintf(" [%+.2f, %+.2f]", *e.Lo, *e.Hi)
	}
	if p := c.Test; p.P != nil && p.Adjusted != nil {
		out += ", " + pValue(*p.P, " ")
		if i := slices.IndexFunc(s.Families, func(f Family) bool { return f.Name == FamilyOverAll }); i >= 0 && s.Families[i].Tests > 1 {
			out += fmt.Sprintf(" (%s after %s over %d tests)", strings.TrimPrefix(pValue(*p.Adjusted, " "), "p = "), s.Families[i].Method, s.Families[i].Tests)
		}
	}
	if e.Lo == nil || e.Hi == nil || *e.Lo <= 0 && *e.Hi >= 0 {
		out += ": no difference could be shown"
	}
	return out
}

// price says how many times as much a pass costs.
func (c *Contrast) price() string {
	r := c.PerPassRatio.Estimate
	switch {
	case r.Value == nil && c.B.CostOfPass.Text == Infinite && c.A.CostOfPass.Text == Infinite:
		return "; nothing passed in either"
	case r.Value == nil && c.B.CostOfPass.Text == Infinite:
		return "; nothing passed in it, so a pass has no price"
	case r.Value == nil:
		return ""
	}
	out := "; a pass costs " + factor(*r.Value) + " times as much"
	switch {
	case r.Lo != nil && r.Hi != nil:
		out += fmt.Sprintf(" [%s, %s]", factor(*r.Lo), factor(*r.Hi))
	case r.Lo != nil:
		out += fmt.Sprintf(" [%s, no upper end]", factor(*r.Lo))
	}
	return out
}

func simulated(c *Contrast) string {
	if c.Simulated {
		return " Simulated: this says nothing about real models."
	}
	return ""
}

// pValue prints "p = 0.031", or "p < 0.001"; sep stands around the sign.
func pValue(p float64, sep string) string {
	if p < 0.001 {
		return "p" + sep + "<" + sep + "0.001"
	}
	text := strconv.FormatFloat(p, 'f', 3, 64)
	if p >= 0.1 {
		text = strconv.FormatFloat(p, 'f', 2, 64)
	}
	return "p" + sep + "=" + sep + text
}

// factor prints a ratio with two significant digits: "0.31", "4.2", "120".
func factor(v float64) string {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return strings.TrimPrefix(strconv.FormatFloat(v, 'g', 2, 64), "+")
	}
	digits := max(1-int(math.Floor(math.Log10(math.Abs(v)))), 0)
	return strconv.FormatFloat(v, 'f', min(digits, 9), 64)
}
