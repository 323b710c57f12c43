package page

import (
	"fmt"

	"github.com/harnessbench/harnessbench/results/report"
)

// headline is the answer of the run: a sentence, and a figure of both sides.
type headline struct {
	Text  string
	Sides table
	Facts []fact
	Notes []noteRef
}

type fact struct{ Name, Value, More string }

func (v *view) newHeadline(s *report.Summary) *headline {
	h := s.Headline
	if h == nil || h.Comparison < 0 || h.Comparison >= len(s.Main.Comparisons) {
		return nil
	}
	c := &s.Main.Comparisons[h.Comparison]
	baseModel := c.BaseModel
	if baseModel == "" {
		baseModel = c.Model
	}
	ax := rates()
	out := &headline{Text: sentence(h.Text), Notes: v.notes.refs(c.Notes)}
	out.Sides = table{ID: "headline-sides", Class: "forest", Caption: "Pass rate of both, with 95 % interval",
		Heads: []head{{Text: "Model and harness"}, {Text: "Pass rate, 0 to 1", Figure: ax.head()}, {Text: "Pass rate"}, {Text: "Passed"}, {Text: "Cost of a trial"}, {Text: "Cost of a pass"}}}
	for _, side := range []struct {
		model, arm, class string
		side              report.Side
	}{{c.Model, c.Arm, "up", c.B}, {baseModel, c.Base, "flat", c.A}} {
		label := modelName(side.model, simulated(s, side.model)) + " + " + name(side.arm)
		a := armOf(&s.Main, side.model, side.arm)
		e := report.Estimate{Value: side.side.Rate}
		perTrial := dash
		if a != nil {
			e = estimateOf(a)
			perTrial = usd(a.CostPerTrial)
		}
		out.Sides.Rows = append(out.Sides.Rows, row{Name: label, Cells: []cell{
			{Figure: ax.strip("Pass rate of "+label+": "+rate(e.Value)+" "+between(e, "%.2f"), mark{e: e, class: side.class})},
			{Lines: []string{v.estimate(e, "%.2f")}, NoBreak: true, Notes: v.notes.refs(e.Warnings)},
			words(fmt.Sprintf("%s of %s", count(side.side.Passed), count(side.side.Graded))),
			words(perTrial), words(money(side.side.CostOfPass.USD, side.side.CostOfPass.Text)),
		}})
	}
	v.methods.add(c.Test.Test)
	out.Facts = []fact{
		{"Difference in pass rate", v.estimate(c.OverAll, "%+.2f"), "95 % interval, " + plural(int(c.OverAll.N), "scenario")},
		{"p value", pValue(c.Test.P), "adjusted over its family: " + pValue(c.Test.Adjusted)},
		{"Cost of a trial", ratio(c.CostRatio), "the first against the second"},
		{"Cost of a pass", ratio(c.PerPassRatio), "likewise"},
	}
	v.methods.add(c.CostRatio.Estimate.Method, c.PerPassRatio.Estimate.Method)
	out.Notes = append(out.Notes, v.notes.refs(c.OverAll.Warnings, c.Test.Warnings, c.CostRatio.Estimate.Warnings, c.PerPassRatio.Estimate.Warnings)...)
	return out
}

func simulated(s *report.Summary, model string) bool {
	for _, m := range s.Models {
		if m.Model == model {
			return m.Simulated
		}
	}
	return false
}

func armOf(sec *report.Section, model, arm string) *report.Arm {
	for i := range sec.Arms {
		if a := &sec.Arms[i]; a.Model == model && a.Arm == arm {
			return a
		}
	}
	return nil
}

// estimateOf is an arm's pass rate as an estimate.
func estimateOf(a *report.Arm) report.Estimate {
	e := report.Estimate{Value: a.Rate, Method: a.CIMethod, N: a.N, Warnings: a.Warnings}
	if a.CI != nil {
		e.Lo, e.Hi = &a.CI[0], &a.CI[1]
	}
	return e
}
