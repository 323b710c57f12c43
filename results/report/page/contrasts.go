package page

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/harnessbench/harnessbench/results/report"
)

// forests makes one table per model of a section's guards, sorted by effect.
// Those that never fired come last, in one row each: they are part of the answer.
func (v *view) forests(sec *report.Section, prefix string) (out []table) {
	if sec == nil {
		return nil
	}
	for _, m := range modelsOf(sec.Guards) {
		list := where(sec.Guards, func(c *report.Contrast) bool { return c.Model == m })
		slices.SortStableFunc(list, func(a, b *report.Contrast) int {
			return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(a.Guard, b.Guard))
		})
		var es []report.Estimate
		for _, c := range list {
			if e, _ := primary(c); c.Measured {
				es = append(es, e, c.OverAll)
			}
		}
		ax := newAxis("%+.2f", es...)
		t := table{ID: fmt.Sprintf("%s-%d", prefix, len(out)), Class: "forest",
			Caption: "Guards on " + modelName(m, list[0].Simulated) + ", largest effect first",
			Heads: []head{{Text: "Guard"}, {Text: "Answer"}, {Text: "● where it fired, ○ over all", Figure: ax.head()},
				{Text: "Pass rate, with it minus without"}, {Text: "p, adjusted"}, {Text: "Trials in which it fired, of graded"}, {Text: "Cost with it, in parts of that without"}}}
		for i, c := range list {
			t.Rows = append(t.Rows, v.guardRow(c, ax, fmt.Sprintf("%s-%d", t.ID, i)))
		}
		t.trim("guards")
		out = append(out, t)
	}
	return out
}

// rank sorts by effect where it fired; unmeasured ones last.
func rank(c *report.Contrast) float64 {
	if e, _ := primary(c); c.Measured && finite(e.Value) != nil {
		return *e.Value
	}
	return -1e9
}

func (v *view) guardRow(c *report.Contrast, ax axis, id string) row {
	st := states[judge(c)]
	r := row{Name: name(c.Guard), ID: id, Class: st.Class, Notes: v.notes.refs(c.Notes)}
	if !c.Measured {
		why := "it never fired"
		if c.A.Enforced+c.A.Shadow+c.B.Enforced+c.B.Shadow > 0 {
			why = "it fired in no trial that can be compared"
		}
		r.Cells = []cell{{Lines: []string{st.Word}, Mark: st.Mark, Class: "none"}, words(why), words(dash), words(dash),
			firedCell(withoutWord(c), c.A.Enforced+c.A.Shadow, c.A.Graded, c.B.Enforced+c.B.Shadow, c.B.Graded), words(dash)}
		return r
	}
	var f report.Fired
	if c.Fired != nil {
		f = *c.Fired
	}
	v.methods.add(f.Test.Test, c.Test.Test)
	fired := firedCell(withoutWord(c), f.ExposedA, c.A.Graded, f.ExposedB, c.B.Graded)
	fired.Lines = append(fired.Lines, plural(f.Scenarios, "scenario")+", "+plural(f.Paired, "pair"))
	r.Cells = []cell{
		{Lines: []string{st.Word}, Mark: st.Mark, Class: st.Class},
		{Figure: ax.strip("Effect of "+name(c.Guard)+": where it fired "+diff(f.Estimate.Value)+" "+between(f.Estimate, "%+.2f")+
			", over all "+diff(c.OverAll.Value)+" "+between(c.OverAll, "%+.2f"),
			mark{e: f.Estimate, class: st.Class}, mark{e: c.OverAll, class: "flat", hollow: true})},
		{Lines: []string{"● " + v.estimate(f.Estimate, "%+.2f"), "○ " + v.estimate(c.OverAll, "%+.2f")}, NoBreak: true,
			Notes: v.notes.refs(f.Estimate.Warnings, c.OverAll.Warnings)},
		{Lines: []string{"● " + pValue(f.Test.Adjusted), "○ " + pValue(c.Test.Adjusted)}, NoBreak: true, Notes: v.notes.refs(f.Test.Warnings, c.Test.Warnings)},
		fired,
		v.costCell(c),
	}
	if c.Margin != nil {
		r.Cells[0].Lines = append(r.Cells[0].Lines, v.margin(c.Margin))
	}
	return r
}

// withoutWord says what a guard's base does with it.
func withoutWord(c *report.Contrast) string {
	if c.A.Enforced > 0 {
		return "in the base"
	}
	return "in shadow"
}

func firedCell(without string, a, ofA, b, ofB int) cell {
	return cell{NoBreak: true, Lines: []string{fmt.Sprintf("with it %s of %s", count(b), count(ofB)), fmt.Sprintf("%s %s of %s", without, count(a), count(ofA))}}
}

// costCell says what a trial and a pass cost, b in parts of a.
func (v *view) costCell(c *report.Contrast) cell {
	x := cell{NoBreak: true, Notes: v.notes.refs(c.CostDiff.Warnings, c.CostRatio.Estimate.Warnings, c.PerPassRatio.Estimate.Warnings)}
	v.methods.add(c.CostRatio.Estimate.Method, c.PerPassRatio.Estimate.Method)
	switch judgePrice(c) {
	case dearer:
		x.Lines = append(x.Lines, "▲ dearer")
	case cheaper:
		x.Lines = append(x.Lines, "▼ cheaper")
	}
	x.Lines = append(x.Lines, "trial "+ratio(c.CostRatio))
	if c.PerPassRatio.Estimate.Value != nil {
		x.Lines = append(x.Lines, "pass "+ratio(c.PerPassRatio))
	} else {
		x.Lines = append(x.Lines, "pass "+money(c.A.CostOfPass.USD, c.A.CostOfPass.Text)+" → "+money(c.B.CostOfPass.USD, c.B.CostOfPass.Text))
	}
	return x
}

func ratio(r report.Ratio) string {
	s := factor(r.Estimate.Value)
	if in := between(r.Estimate, "%.2f"); in != "" {
		s += " " + in
	}
	return s
}

func (v *view) margin(m *report.Margin) string {
	v.methods.add(m.Method)
	s := fmt.Sprintf("margin %s: %s", minus(fmt.Sprintf("%.2f", m.Margin)), sentence(m.Answer))
	if m.PNonInferior != nil {
		s += ", p " + pValue(m.PNonInferior)
	}
	if m.Equivalent {
		s += "; equal within it, p " + pValue(m.PEquivalent)
	}
	return s
}

// whole makes the table of comparisons of whole arms.
func (v *view) whole(sec *report.Section, id string) *table {
	if sec == nil || len(sec.Comparisons) == 0 {
		return nil
	}
	var es []report.Estimate
	for _, c := range sec.Comparisons {
		es = append(es, c.OverAll)
	}
	ax := newAxis("%+.2f", es...)
	t := &table{ID: id, Class: "forest", Caption: "Arms compared as a whole: b minus its base a, over all scenarios",
		Heads: []head{{Text: "b against a"}, {Text: "Answer"}, {Text: "Difference in pass rate", Figure: ax.head()}, {Text: "Pass rate, b minus a"},
			{Text: "p, adjusted"}, {Text: "Bounds, were ungraded trials against b or for it"}, {Text: "Cost of b, in parts of a"}}}
	for i := range sec.Comparisons {
		t.Rows = append(t.Rows, v.wholeRow(&sec.Comparisons[i], ax))
	}
	t.trim("comparisons")
	return t
}

func (v *view) wholeRow(c *report.Contrast, ax axis) row {
	st := states[judge(c)]
	if st.Word == "helped" || st.Word == "hurt" {
		st.Word = map[string]string{"helped": "b is better", "hurt": "b is worse"}[st.Word]
	}
	v.methods.add(c.Test.Test)
	r := row{Name: title(c), Class: st.Class, Notes: v.notes.refs(c.Notes)}
	r.Under = fmt.Sprintf("%s; %s repetitions graded in both", ranOn(v.summary, c), count(c.Paired))
	r.Cells = []cell{
		{Lines: []string{st.Word}, Mark: st.Mark, Class: st.Class},
		{Figure: ax.strip("Difference of "+title(c)+": "+diff(c.OverAll.Value)+" "+between(c.OverAll, "%+.2f"), mark{e: c.OverAll, class: st.Class})},
		{Lines: []string{v.estimate(c.OverAll, "%+.2f"), rate(c.A.Rate) + " → " + rate(c.B.Rate)}, NoBreak: true, Notes: v.notes.refs(c.OverAll.Warnings)},
		{Lines: []string{pValue(c.Test.Adjusted)}, Notes: v.notes.refs(c.Test.Warnings), NoBreak: true},
		words(diff(c.DiffMin) + " to " + diff(c.DiffMax)),
		v.costCell(c),
	}
	if c.Margin != nil {
		r.Cells[0].Lines = append(r.Cells[0].Lines, v.margin(c.Margin))
	}
	return r
}

// title names a comparison of whole arms.
func title(c *report.Contrast) string { return name(c.Arm) + " against " + name(c.Base) }

// ranOn names the model of a comparison, or both.
func ranOn(s *report.Summary, c *report.Contrast) string {
	if c.BaseModel == "" {
		return modelName(c.Model, c.Simulated)
	}
	return modelName(c.Model, simulated(s, c.Model)) + " against " + modelName(c.BaseModel, simulated(s, c.BaseModel))
}

func modelsOf(list []report.Contrast) (out []string) {
	for i := range list {
		if !slices.Contains(out, list[i].Model) {
			out = append(out, list[i].Model)
		}
	}
	return out
}

func where(list []report.Contrast, keep func(*report.Contrast) bool) (out []*report.Contrast) {
	for i := range list {
		if keep(&list[i]) {
			out = append(out, &list[i])
		}
	}
	return out
}
