package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// gateSlack is how far a value may lie beyond its bound: a mean of fractions that
// is the bound on paper may miss it in its last bits. Relative to the bound where
// that is larger than 1.
const gateSlack = 1e-12

// measured is what a gate holds to its bounds: a value, or why there is none.
type measured struct {
	model string   // that it was measured on
	where string   // in words: "default on sim/weak (simulated)"
	value *float64 // nil: there is none; +Inf: a cost of pass of an arm that passed nothing
	why   string   // there is none
	unit  string   // after the number, with a space before it
	cut   int      // trials of it that were planned and not run
}

// judgeGates judges every gate on every model that it applies to, in the order of
// the gates, then of the models. The main pool of scenarios is judged, never
// those tagged harms. A gate without a value is not judged, and that is no pass: nothing was
// graded, the compared guard never fired, a price is unknown, an interval has no such end.
func judgeGates(s *Summary, gates []Gate) []GateResult {
	out := []GateResult{}
	for _, g := range gates {
		found := g.measure(s)
		if len(found) == 0 {
			found = []measured{{model: g.Model, where: g.subject() + onModel(s, g.Model), why: "none of its trials was run on a scenario of the main pool"}}
		}
		for _, m := range found {
			out = append(out, g.judge(m))
		}
	}
	return out
}

// measure finds what the gate bounds, once a model.
func (g *Gate) measure(s *Summary) (out []measured) {
	on := func(model string) bool { return g.Model == "" || g.Model == model }
	if g.Arm != "" {
		for i := range s.Main.Arms {
			if a := &s.Main.Arms[i]; a.Arm == g.Arm && on(a.Model) {
				m := g.ofArm(a, s.Repetitions)
				m.model, m.cut = a.Model, a.Cut
				m.where = g.subject() + labelled(a.Model, a.Simulated)
				out = append(out, m)
			}
		}
		return out
	}
	for _, c := range slices.Concat(s.Main.Comparisons, s.Main.Guards) {
		if c.Guard != g.Guard || c.Base != g.A || c.Arm != g.B || !on(c.Model) {
			continue
		}
		m := g.ofComparison(&c)
		m.model, m.where = c.Model, g.subject()+labelled(c.Model, c.Simulated)
		if c.BaseModel != "" {
			m.where = fmt.Sprintf("%s%s against %s%s", g.B, labelled(c.Model, c.Simulated), g.A, onModel(s, c.BaseModel))
		}
		for i := range s.Main.Arms {
			a := &s.Main.Arms[i]
			base := a.Arm == c.Base && a.Model == c.Model && c.BaseModel == "" || a.Arm == c.Base && a.Model == c.BaseModel
			if base || a.Arm == c.Arm && a.Model == c.Model {
				m.cut += a.Cut
			}
		}
		out = append(out, m)
	}
	return out
}

// ofArm is the gate's metric of one arm on one model.
func (g *Gate) ofArm(a *Arm, reps int) measured {
	switch g.Metric {
	case "rate":
		return g.end(a.rate(), "nothing was graded")
	case "pass_hat", "pass_at":
		for _, k := range a.ByK {
			if k.K == g.K && g.Metric == "pass_hat" {
				return g.end(k.Hat, fmt.Sprintf("a scenario has fewer than %d graded trials", k.K))
			} else if k.K == g.K {
				return g.end(k.At, fmt.Sprintf("a scenario has fewer than %d graded trials", k.K))
			}
		}
		return measured{why: fmt.Sprintf("it is computed for k up to %d here (%s)", len(a.ByK), plural(reps, "repetition"))}
	case "errored":
		if a.Trials == 0 {
			return measured{why: "nothing was run"}
		}
		share := float64(a.Errored) / float64(a.Trials)
		return measured{value: &share}
	case "tokens":
		if a.Tokens == nil {
			return measured{why: "a count of tokens is unknown"}
		}
		n := float64(*a.Tokens)
		return measured{value: &n}
	case "cost_usd":
		return measured{value: a.CostUSD, why: "a price or a count of tokens is unknown", unit: " USD"}
	case "cost_of_pass":
		return g.costOfPass(a)
	}
	return measured{why: "this version knows no such metric"}
}

// costOfPass is infinite where something was graded and nothing passed: a bound
// from above then fails, whichever end of the interval it is on.
func (g *Gate) costOfPass(a *Arm) measured {
	infinite := math.Inf(1)
	switch a.CostOfPassState {
	case Infinite:
		if g.Of == "lo" && g.Max == nil {
			return measured{why: "nothing passed, so there is no interval"}
		}
		return measured{value: &infinite}
	case Known:
		e := Estimate{Value: a.CostOfPass}
		if a.CostOfPassCI != nil {
			e.Lo, e.Hi = a.CostOfPassCI[0], a.CostOfPassCI[1]
		}
		m := g.end(e, "")
		m.unit = " USD"
		return m
	case Nothing:
		return measured{why: "nothing was graded"}
	}
	return measured{why: "a price or a count of tokens is unknown"}
}

// ofComparison is the gate's metric of one comparison.
func (g *Gate) ofComparison(c *Contrast) measured {
	switch {
	case c.Paired == 0:
		return measured{why: "no scenario is graded in both arms"}
	case !c.Measured:
		return measured{why: "the guard " + c.Guard + " fired in no graded trial, so it was not measured"}
	}
	const untested = "there is no test"
	switch g.Metric {
	case "difference":
		return g.end(c.OverAll, "no scenario is graded in both arms")
	case "cost_difference":
		m := g.end(c.CostDiff, "a price or a count of tokens is unknown")
		m.unit = " USD"
		return m
	case "p":
		return measured{value: c.Test.Adjusted, why: untested}
	case "p_not_inferior":
		if c.Margin == nil {
			return measured{why: "the comparison has no margin"}
		}
		return measured{value: c.Margin.PNonInferior, why: untested}
	case "where_fired", "p_where_fired":
		switch {
		case c.Fired == nil:
			return measured{why: "it compares whole arms: there is no guard to fire"}
		case g.Metric == "p_where_fired":
			return measured{value: c.Fired.Test.Adjusted, why: untested}
		}
		return g.end(c.Fired.Estimate, "the guard fired in no scenario in both arms")
	}
	return measured{why: "this version knows no such metric"}
}

// end is the end of the estimate that the gate bounds; why says what it means
// that there is no estimate.
func (g *Gate) end(e Estimate, why string) measured {
	switch {
	case e.Value == nil:
		return measured{why: why}
	case g.Of == "lo":
		return measured{value: e.Lo, why: "its interval has no lower end"}
	case g.Of == "hi":
		return measured{value: e.Hi, why: "its interval has no upper end"}
	}
	return measured{value: e.Value}
}

// judge holds what was measured to the bounds.
func (g *Gate) judge(m measured) GateResult {
	r := GateResult{Gate: fmt.Sprintf("%s of %s %s", g.what(), g.subject(), g.bounds()), Source: g.Source, Model: m.model}
	said := g.what() + " of " + m.where
	if m.value != nil && math.IsNaN(*m.value) {
		m.value, m.why = nil, "it is not a number"
	}
	switch {
	case m.value == nil:
		r.Verdict = GateNotJudged
		r.Reason = fmt.Sprintf("there is no %s: %s; it %s", said, m.why, g.bounds())
	case math.IsInf(*m.value, 0):
		r.Verdict = g.verdict(*m.value)
		r.Reason = fmt.Sprintf("%s is infinite, nothing passed; it %s", said, g.bounds())
	default:
		r.Value, r.Verdict = m.value, g.verdict(*m.value)
		r.Reason = fmt.Sprintf("%s is %s%s; it %s", said, g.shown(*m.value), m.unit, g.bounds())
	}
	if m.cut > 0 {
		r.Reason += fmt.Sprintf(" (%s of it cut: judged on what ran)", plural(m.cut, "trial"))
	}
	return r
}

func (g *Gate) verdict(v float64) string {
	if g.Min != nil && beyond(*g.Min, v) || g.Max != nil && beyond(v, *g.Max) {
		return GateFail
	}
	return GatePass
}

// beyond reports whether a is more than b by more than rounding.
func beyond(a, b float64) bool {
	return a > b+gateSlack*max(1, math.Abs(b))
}

// The metrics in words.
var gateWords = map[string]string{
	"rate": "pass rate", "errored": "share of errored trials", "tokens": "tokens", "cost_usd": "cost", "cost_of_pass": "cost of a pass",
	"difference": "difference in pass rate", "where_fired": "difference in pass rate where the guard fired", "cost_difference": "difference in cost per trial",
	"p": "adjusted p value", "p_where_fired": "adjusted p value where the guard fired", "p_not_inferior": "p value of not being inferior by the margin",
}

// what names what is bounded.
func (g *Gate) what() string {
	name := gateWords[g.Metric]
	switch g.Metric {
	case "pass_hat":
		name = fmt.Sprintf("pass^%d", g.K)
	case "pass_at":
		name = fmt.Sprintf("pass@%d", g.K)
	}
	if name == "" {
		name = g.Metric
	}
	switch g.Of {
	case "lo":
		return "lower end of " + name
	case "hi":
		return "upper end of " + name
	}
	return name
}

// subject names the arm or the comparison.
func (g *Gate) subject() string {
	switch {
	case g.Arm != "":
		return g.Arm
	case g.Guard != "":
		return fmt.Sprintf("%s against %s, guard %s,", g.B, g.A, g.Guard)
	}
	return g.B + " against " + g.A
}

// bounds says what must hold.
func (g *Gate) bounds() string {
	var out []string
	if g.Min != nil {
		out = append(out, "at least "+exact(*g.Min))
	}
	if g.Max != nil {
		out = append(out, "at most "+exact(*g.Max))
	}
	return "must be " + strings.Join(out, " and ")
}

// shown writes a value with four digits, or with as many as it takes to stand on
// its side of the bounds.
func (g *Gate) shown(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return exact(v)
	}
	for digits := 4; digits < 17; digits++ {
		s := strconv.FormatFloat(v, 'g', digits, 64)
		if r, err := strconv.ParseFloat(s, 64); err == nil && g.verdict(r) == g.verdict(v) && !g.onBound(r, v) {
			return exact(r)
		}
	}
	return exact(v)
}

// onBound reports whether rounding v to r put it onto a bound.
func (g *Gate) onBound(r, v float64) bool {
	return g.Min != nil && r == *g.Min && beyond(r, v) || g.Max != nil && r == *g.Max && beyond(v, r)
}

// exact writes a number as short as it can be read again.
func exact(v float64) string {
	if a := math.Abs(v); a >= 1e-6 && a < 1e15 || v == 0 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// labelled names the model, and says of a simulated one that it is.
func labelled(model string, simulated bool) string {
	if simulated {
		model += " (simulated)"
	}
	return " on " + model
}

// onModel is labelled for a model of the summary; nothing for "".
func onModel(s *Summary, model string) string {
	if model == "" {
		return ""
	}
	i := slices.IndexFunc(s.Models, func(m Model) bool { return m.Model == model })
	return labelled(model, i >= 0 && s.Models[i].Simulated)
}
