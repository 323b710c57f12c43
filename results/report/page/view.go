package page

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/harnessbench/harnessbench/results/report"
)

// view is all that the templates see.
type view struct {
	Style  template.CSS
	Policy string

	Suite, Shape, RunID string
	Simulated           string // the banner; empty when every model is real
	Volatile            string
	Nav                 []link

	Headline  *headline
	Finding   string // where there is no headline
	Answer    *answer
	Guards    []table
	Harms     []table
	HarmsNote string
	Whole     []*table
	Scatter   *scatter
	Heat      []heat
	HeatNote  string
	Flips     *flips
	Factorial []factorial
	Firing    *table
	Gates     *table
	Denom     []*table
	Missing   []string
	Arms      []*table
	Outcomes  []*table
	Families  []string
	Methods   []string
	Notes     []noteRef
	Said      []string // of the run as a whole

	summary *report.Summary
	notes   notes
	methods methods
}

func newView(s *report.Summary, x Extra) *view {
	s = s.Named()
	v := &view{summary: s, Suite: name(s.Suite), RunID: name(s.RunID)}
	if v.Suite == "" {
		v.Suite = "a run without a name"
	}
	v.head(s)
	v.Headline = v.newHeadline(s)
	if v.Headline == nil {
		v.Finding = finding(s)
	}
	v.Answer = newAnswer(s, x.Guards)
	v.Guards = v.forests(&s.Main, "guard")
	v.harms(s)
	v.Whole = tables(v.whole(&s.Main, "whole-main"))
	if s.Harms != nil {
		v.Whole = append(v.Whole, tables(v.whole(s.Harms, "whole-harms"))...)
		for _, t := range v.Whole {
			if t.ID == "whole-harms" {
				t.Caption += ", in scenarios tagged harms"
			}
		}
	}
	if len(s.Firing) == 0 { // arms that are there for a guard to fire are not held against each other
		v.Scatter = v.newScatter(s)
		v.heats(s)
	}
	v.Flips = newFlips(s, x.Flips)
	v.factorials(s)
	v.Firing = v.firing(s)
	v.Gates = v.gates(s)
	v.denominators(s)
	v.armTables(s)
	v.outcomes(s)
	v.reading(s)
	v.nav()
	return v
}

func tables(list ...*table) (out []*table) {
	for _, t := range list {
		if t != nil && len(t.Rows) > 0 {
			out = append(out, t)
		}
	}
	return out
}

// head says what was run, and first of all whether it was real.
func (v *view) head(s *report.Summary) {
	scenarios := plural(len(s.Main.Scenarios), "scenario")
	if s.Harms != nil {
		scenarios += fmt.Sprintf(" + %d tagged harms", len(s.Harms.Scenarios))
	}
	parts := []string{scenarios, plural(len(s.Models), "model"), plural(len(s.Arms), "arm"), plural(s.Repetitions, "repetition")}
	v.Shape = strings.Join(parts, " × ") + ": " + plural(s.Trials, "trial") + " run, " + count(s.Graded) + " graded"
	for _, p := range []struct {
		n    int
		what string
	}{{s.Errored, "errored"}, {s.Ungraded - s.Errored, "ungraded"}, {s.CutTrials, "cut"}} {
		if p.n > 0 {
			v.Shape += ", " + count(p.n) + " " + p.what
		}
	}
	v.Shape += fmt.Sprintf(". Seed %d.", s.Seed)
	var simulated []string
	for _, m := range s.Models {
		if m.Simulated {
			simulated = append(simulated, name(m.Model))
		}
	}
	switch {
	case len(simulated) > 0 && len(simulated) == len(s.Models):
		v.Simulated = "All models are simulated, with fictitious prices: the numbers show what the harness does, and say nothing about real models."
	case len(simulated) > maxColumns:
		v.Simulated = plural(len(simulated), "model") + " are simulated, with fictitious prices: their numbers say nothing about real models."
	case len(simulated) > 0:
		v.Simulated = list(simulated) + map[bool]string{true: " is", false: " are"}[len(simulated) == 1] + " simulated, with fictitious prices: the numbers say nothing about real models."
	}
	if s.Volatile > 0 {
		v.Volatile = plural(s.Volatile, "trial") + " of scenarios that are marked volatile: another run may differ there."
	}
}

func (v *view) harms(s *report.Summary) {
	if s.Harms == nil {
		return
	}
	var fired report.Section
	var silent []string
	for _, m := range modelsOf(s.Harms.Guards) {
		var names []string
		for _, c := range where(s.Harms.Guards, func(c *report.Contrast) bool { return c.Model == m }) {
			if c.Measured {
				fired.Guards = append(fired.Guards, *c)
			} else if len(names) < maxRows {
				names = append(names, name(c.Guard))
			}
		}
		if len(names) > 0 {
			silent = append(silent, "Never fired there on "+modelName(m, simulated(s, m))+", so not measured: "+list(names)+".")
		}
	}
	v.Harms = v.forests(&fired, "harm")
	v.HarmsNote = strings.Join(silent, " ")
}

// nav lists the sections that the page has, in its order.
func (v *view) nav() {
	for _, e := range []struct {
		there    bool
		to, text string
	}{
		{true, "answer", "The answer"},
		{v.Firing != nil, "firing", "Traps and controls"},
		{v.Answer != nil, "plain", "In plain words"},
		{len(v.Guards) > 0, "guards", "Guards"},
		{len(v.Harms) > 0 || v.HarmsNote != "", "harms", "Harms"},
		{len(v.Whole) > 0, "whole", "Arms compared"},
		{len(v.Factorial) > 0, "factorial", "Factors"},
		{v.Scatter != nil, "cost", "Cost and pass rate"},
		{len(v.Heat) > 0, "heat", "Scenarios"},
		{v.Flips != nil, "flips", "Flips"},
		{v.Gates != nil, "gates", "Gates"},
		{true, "denominators", "Denominators"},
		{len(v.Arms) > 0, "arms", "Every arm"},
		{len(v.Outcomes) > 0, "outcomes", "Outcomes"},
		{true, "reading", "How to read"},
	} {
		if e.there {
			v.Nav = append(v.Nav, link{e.to, e.text})
		}
	}
}
