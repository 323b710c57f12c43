package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/results/report"
)

// factorial is the analysis of a factorial design on one model.
type factorial struct {
	Table  table
	Notes  []string
	Folded bool // of scenarios tagged harms
}

func (v *view) factorials(s *report.Summary) {
	add := func(sec *report.Section, suffix string) {
		for i := range sec.Factorials {
			if len(v.Factorial) < maxColumns {
				v.Factorial = append(v.Factorial, v.factorial(&sec.Factorials[i], suffix))
			}
		}
	}
	add(&s.Main, "")
	if s.Harms != nil {
		add(s.Harms, ", in scenarios tagged harms")
	}
}

func (v *view) factorial(f *report.Factorial, suffix string) factorial {
	var es []report.Estimate
	for _, e := range f.Effects {
		es = append(es, e.Estimate)
	}
	ax := newAxis("%+.2f", es...)
	out := factorial{Folded: suffix != "", Table: table{ID: fmt.Sprintf("factorial-%d", len(v.Factorial)), Class: "forest",
		Caption: "Effects on " + modelName(f.Model, f.Simulated) + suffix,
		Heads: []head{{Text: "Effect"}, {Text: "Answer"}, {Text: "High minus low", Figure: ax.head()}, {Text: "Pass rate, high minus low"},
			{Text: "p, adjusted"}, {Text: "Cannot be told from"}}}}
	for _, e := range f.Effects {
		st := states[judge(&report.Contrast{OverAll: e.Estimate, Test: e.Test})]
		if len(e.Factors) > 1 {
			st.Word = strings.NewReplacer("helped", "more together", "hurt", "less together").Replace(st.Word)
		}
		v.methods.add(e.Test.Test)
		out.Table.Rows = append(out.Table.Rows, row{Name: name(e.Name), Class: st.Class, Cells: []cell{
			{Lines: []string{st.Word}, Mark: st.Mark, Class: st.Class},
			{Figure: ax.strip("Effect of "+name(e.Name)+": "+diff(e.Estimate.Value)+" "+between(e.Estimate, "%+.2f"), mark{e: e.Estimate, class: st.Class})},
			{Lines: []string{v.estimate(e.Estimate, "%+.2f")}, NoBreak: true, Notes: v.notes.refs(e.Estimate.Warnings)},
			{Lines: []string{pValue(e.Test.Adjusted)}, NoBreak: true, Notes: v.notes.refs(e.Test.Warnings)},
			words(aliases(e.Aliases)),
		}})
	}
	out.Table.trim("effects")
	for i, n := range f.Notes {
		if i < maxColumns {
			out.Notes = append(out.Notes, sentence(n))
		}
	}
	return out
}

// aliases names what an effect cannot be told from, short ones first.
func aliases(list []string) string {
	const shown = 4
	var out []string
	for _, a := range list[:min(len(list), shown)] {
		out = append(out, name(a))
	}
	s := strings.Join(out, ", ")
	if n := len(list) - shown; n > 0 {
		s += fmt.Sprintf(" and %d more", n)
	}
	if s == "" {
		return "nothing: the design tells it from all"
	}
	return s
}

// firing says whether each guard did what the suite expects of it.
func (v *view) firing(s *report.Summary) *table {
	if len(s.Firing) == 0 {
		return nil
	}
	t := &table{ID: "firing-table", Caption: "Each guard in its traps, where it has to fire, and in its controls, where it must not", Heads: []head{{Text: "Guard"}, {Text: "Result"},
		{Text: "Traps", Number: true}, {Text: "Fired", Number: true}, {Text: "Controls", Number: true}, {Text: "Fired", Number: true}, {Text: "Otherwise than expected in"}}}
	for i := range s.Firing {
		f := &s.Firing[i]
		c := cell{Lines: []string{f.Word()}, Mark: "✓", Class: "up"}
		if !f.OK {
			c.Mark, c.Class = "✗", "down"
		}
		var where []string
		for _, x := range f.Surprises[:min(len(f.Surprises), 3)] {
			where = append(where, x.Scenario+" ("+x.Model+")")
		}
		t.Rows = append(t.Rows, row{Name: name(f.Guard), Class: c.Class, Cells: []cell{c, numbers(count(f.Traps.Trials)), numbers(count(f.Traps.Fired)),
			numbers(count(f.Controls.Trials)), numbers(count(f.Controls.Fired)), words(sentence(strings.Join(where, ", ")))}})
	}
	t.trim("guards")
	return t
}

func (v *view) gates(s *report.Summary) *table {
	if len(s.Gates) == 0 {
		return nil
	}
	t := &table{ID: "gates-table", Caption: "Gates of the suite, judged", Heads: []head{{Text: "Gate"}, {Text: "Verdict"}, {Text: "Value", Number: true}, {Text: "Why"}}}
	for _, g := range s.Gates {
		c := cell{Lines: []string{"pass"}, Mark: "✓", Class: "up"}
		switch g.Verdict {
		case report.GateFail:
			c = cell{Lines: []string{"fail"}, Mark: "✗", Class: "down"}
		case report.GatePass:
		default:
			c = cell{Lines: []string{name(g.Verdict)}, Mark: "?", Class: "none"}
		}
		under := modelName(g.Model, simulated(s, g.Model))
		if g.Source != "" {
			under += "; " + name(g.Source)
		}
		t.Rows = append(t.Rows, row{Name: sentence(g.Gate), Under: under, Class: c.Class, Cells: []cell{c, numbers(number(g.Value, "%.4g")), words(sentence(g.Reason))}})
	}
	t.trim("gates")
	return t
}

// denominators says of every arm what happened to its trials, and what the rate
// would be if the ungraded ones had all failed or all passed.
func (v *view) denominators(s *report.Summary) {
	add := func(sec *report.Section, id, caption string) {
		t := &table{ID: id, Caption: caption, Heads: []head{{Text: "Arm"}, {Text: "Planned", Number: true}, {Text: "Cut", Number: true}, {Text: "Errored", Number: true},
			{Text: "Ungraded otherwise", Number: true}, {Text: "Graded", Number: true}, {Text: "Passed", Number: true}, {Text: "Share of passes, between", Number: true}}}
		for i := range sec.Arms {
			a := &sec.Arms[i]
			r := row{Name: name(a.Arm), Under: modelName(a.Model, a.Simulated)}
			for _, n := range []int{a.Trials + a.Cut, a.Cut, a.Errored, a.Ungraded - a.Errored, a.Graded, a.Passed} {
				r.Cells = append(r.Cells, numbers(count(n)))
			}
			r.Cells = append(r.Cells, numbers(rate(a.RateMin)+" and "+rate(a.RateMax)))
			t.Rows = append(t.Rows, r)
		}
		t.trim("arms")
		v.Denom = append(v.Denom, tables(t)...)
	}
	add(&s.Main, "denom-main", "Trials of every arm")
	if s.Harms != nil {
		add(s.Harms, "denom-harms", "Trials of every arm in scenarios tagged harms")
	}
	for i, e := range s.Errors {
		if i < maxColumns {
			v.Missing = append(v.Missing, fmt.Sprintf("Errored, %s: %s. For example: %s", name(e.Class), plural(e.Trials, "trial"), sentence(e.Example)))
		}
	}
	for i, c := range s.Cut {
		if i < maxColumns {
			v.Missing = append(v.Missing, fmt.Sprintf("Cut on %s: %s of %s, %s over all arms. Reason: %s", modelName(c.Model, simulated(s, c.Model)),
				plural(c.Blocks, "block"), plural(c.Scenarios, "scenario"), plural(c.Trials, "trial"), sentence(c.Reason)))
		}
	}
}

func (v *view) armTables(s *report.Summary) {
	v.Arms = tables(v.armTable(&s.Main, "arms-main", "Pass rate, repetitions, tokens and cost of every arm"))
	if s.Harms != nil {
		v.Arms = append(v.Arms, tables(v.armTable(s.Harms, "arms-harms", "The same in scenarios tagged harms"))...)
	}
}

func (v *view) armTable(sec *report.Section, id, caption string) *table {
	t := &table{ID: id, Caption: caption, Heads: []head{{Text: "Arm"}, {Text: "Pass rate", Number: true}}}
	ks := repetitions(sec)
	for _, k := range ks {
		t.Heads = append(t.Heads, head{Text: fmt.Sprintf("pass^%d", k), Number: true, Tooltip: fmt.Sprintf("chance that %d trials of %d pass", k, k)})
	}
	t.Heads = append(t.Heads, head{Text: "ICC", Number: true, Tooltip: "intra-class correlation of repetitions within scenarios"}, head{Text: "Tokens a trial", Number: true},
		head{Text: "Cost of a trial", Number: true}, head{Text: "Cost of a pass", Number: true})
	for i := range sec.Arms {
		a := &sec.Arms[i]
		r := row{Name: name(a.Arm), Under: modelName(a.Model, a.Simulated),
			Cells: []cell{{Lines: []string{v.estimate(estimateOf(a), "%.2f")}, Number: true, NoBreak: true, Notes: v.notes.refs(a.Warnings)}}}
		for _, k := range ks {
			c := numbers(dash)
			if j := slices.IndexFunc(a.ByK, func(x report.K) bool { return x.K == k }); j >= 0 {
				c = cell{Lines: []string{v.estimate(a.ByK[j].Hat, "%.2f")}, Number: true, NoBreak: true, Notes: v.notes.refs(a.ByK[j].Hat.Warnings)}
			}
			r.Cells = append(r.Cells, c)
		}
		tokens := "unknown"
		if a.Tokens != nil && a.Trials > 0 {
			tokens = thousands(*a.Tokens / int64(a.Trials))
		}
		pass := numbers(money(a.CostOfPass, a.CostOfPassState))
		if ci := a.CostOfPassCI; ci != nil && a.CostOfPass != nil {
			pass.Lines = append(pass.Lines, openInterval(*ci))
		}
		r.Cells = append(r.Cells, numbers(number(a.ICC, "%.2f")), numbers(tokens), numbers(usd(a.CostPerTrial)), pass)
		t.Rows = append(t.Rows, r)
	}
	t.trim("arms")
	return t
}

func openInterval(ci report.OpenInterval) string {
	end := func(v *float64) string {
		if v == nil {
			return "no limit"
		}
		return dollars(*v)
	}
	return "[" + end(ci[0]) + ", " + end(ci[1]) + "]"
}

// repetitions lists the largest k of each section's arms: the others are in the
// JSON.
func repetitions(sec *report.Section) (out []int) {
	best := 0
	for _, a := range sec.Arms {
		for _, k := range a.ByK {
			best = max(best, k.K)
		}
	}
	if best > 1 {
		out = []int{best}
	}
	return out
}

// outcomes says how trials ended, which is no verdict.
func (v *view) outcomes(s *report.Summary) {
	add := func(sec *report.Section, id, caption string) {
		t := &table{ID: id, Caption: caption, Heads: []head{{Text: "Arm"}, {Text: "How its trials ended: trials, of them passed"}}}
		for i := range sec.Arms {
			a := &sec.Arms[i]
			var parts []string
			for j, o := range a.Outcomes {
				if j >= maxColumns {
					break
				}
				text := fmt.Sprintf("%s %s, %s passed", name(o.Outcome), count(o.Trials), count(o.Passed))
				if o.Backstop > 0 {
					text += fmt.Sprintf(" (%s by the scenario's own limit)", count(o.Backstop))
				}
				parts = append(parts, text)
			}
			if len(parts) > 0 {
				t.Rows = append(t.Rows, row{Name: name(a.Arm), Under: modelName(a.Model, a.Simulated), Cells: []cell{words(strings.Join(parts, "; "))}})
			}
		}
		t.trim("arms")
		v.Outcomes = append(v.Outcomes, tables(t)...)
	}
	add(&s.Main, "outcomes-main", "How trials ended")
	if s.Harms != nil {
		add(s.Harms, "outcomes-harms", "How trials ended in scenarios tagged harms")
	}
}

// reading names families, methods and what is said of the run. It comes last:
// the sections before it have collected the notes.
func (v *view) reading(s *report.Summary) {
	for i, f := range s.Families {
		if i < maxColumns {
			v.Families = append(v.Families, fmt.Sprintf("%s: p values of %s, adjusted by %s", name(f.Name), plural(f.Tests, "test"), name(f.Method)))
		}
	}
	for _, m := range v.methods.names {
		v.Methods = append(v.Methods, name(m))
	}
	slices.Sort(v.Methods)
	v.Notes = v.notes.list()
	for i, n := range s.Notes {
		if i < maxRows {
			v.Said = append(v.Said, sentence(n))
		}
	}
}
