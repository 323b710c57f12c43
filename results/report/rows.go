package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Widths to which names are cut, so that tables fit.
const (
	maxName  = 24
	maxArm   = 96 // of names that a shorter cut would make equal
	maxModel = 60
	maxCell  = 200

	maxReason = 1000 // of what a gate found: names of two arms, and the bound at its end
)

// wholeTable is the table of comparisons of whole arms.
func wholeTable(p *printer, sec *Section) table {
	t := table{block: "model", heads: []string{"arm b", "base a", "rate a", "rate b", "over all", headPerPass, "notes"}, left: 2, ends: true, spare: []string{headPerPass}, pair: true}
	for i := range sec.Comparisons {
		c := &sec.Comparisons[i]
		t.add(p.models(c), []string{
			p.name(c.Arm), p.name(c.Base), rate(c.A.Rate), rate(c.B.Rate), p.tested(c.OverAll, c.Test), moneys(c), p.note(contrastNotes(c)...),
		})
	}
	return t
}

// headPerPass is the head of a column that a narrow page can spare: every arm's own row
// has it too.
const headPerPass = "USD/pass a -> b"

// guardTable is the table of guards, the largest effect first. Guards that
// never fired are rows, or with silentRows false a line per model.
func guardTable(p *printer, sec *Section, silentRows bool) (t table, silent []string) {
	t = table{block: "model", heads: []string{"guard", "where it fired", "fired a, b", "over all", headPerPass, "notes"}, left: 2, ends: true, spare: []string{headPerPass}}
	quiet := map[string][]string{}
	var models []string
	for _, c := range byEffect(sec.Guards) {
		model := p.models(&c)
		if !c.Measured && !silentRows {
			if quiet[model] == nil {
				models = append(models, model)
			}
			quiet[model] = append(quiet[model], p.safe(c.Guard, 2*maxName))
			continue
		}
		where := "not measured"
		switch v := c.Fired.Estimate.Value; {
		case v != nil:
			where = p.paint.effect(p.tested(c.Fired.Estimate, c.Fired.Test), *v)
		case c.Measured:
			where = "one arm only"
		}
		fired := fmt.Sprintf("%d, %d", c.Fired.ExposedA, c.Fired.ExposedB)
		row := []string{p.safe(c.Guard, 2*maxName), where, fired}
		if v := c.OverAll.Value; !c.Measured && (v == nil || *v == 0) {
			// A zero from two arms that could not differ looks like a finding; nor may
			// the legend have notes on it, to which no row leads.
			row = append(row, "-", "-", "")
		} else {
			row = append(row, p.difference(c.OverAll), moneys(&c), p.note(contrastNotes(&c)...))
		}
		t.add(model, row)
	}
	for _, m := range models {
		silent = append(silent, m+": never fired there, so not measured: "+strings.Join(quiet[m], ", ")+".")
	}
	return t, silent
}

// byEffect orders comparisons by model as they come, then by the effect where
// the guard fired, then by name; what was not measured comes last.
func byEffect(in []Contrast) []Contrast {
	order := map[string]int{}
	for _, c := range in {
		if _, ok := order[c.Model]; !ok {
			order[c.Model] = len(order)
		}
	}
	rank := func(c Contrast) (int, float64) {
		switch {
		case c.Fired.Estimate.Value != nil:
			return 0, -*c.Fired.Estimate.Value
		case c.Measured:
			return 1, 0
		}
		return 2, 0
	}
	out := slices.Clone(in)
	slices.SortStableFunc(out, func(a, b Contrast) int {
		ra, va := rank(a)
		rb, vb := rank(b)
		return cmp.Or(cmp.Compare(order[a.Model], order[b.Model]), cmp.Compare(ra, rb), cmp.Compare(va, vb), cmp.Compare(a.Guard, b.Guard))
	})
	return out
}

// add appends a row to the block of that name.
func (t *table) add(name string, row []string) {
	for i := range t.blocks {
		if t.blocks[i].name == name {
			t.blocks[i].rows = append(t.blocks[i].rows, row)
			return
		}
	}
	t.blocks = append(t.blocks, block{name, [][]string{row}})
}
