package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/harnessbench/harnessbench/results/stats"
)

// Widths to which names are cut, so that tables fit.
const (
	maxName  = 24
	maxArm   = 96 // of names that a shorter cut would make equal
	maxModel = 60
	maxCell  = 200
)

// wholeTable is the table of comparisons of whole arms.
func wholeTable(p *printer, sec *Section) table {
	t := table{block: "model", heads: []string{"arm b", "base a", "rate a", "rate b", "over all", "USD/pass a -> b", "notes"}, left: 2, ends: true}
	for _, c := range sec.Comparisons {
		t.add(p.model(c.Model, c.Simulated), []string{
			p.name(c.Arm), p.name(c.Base), rate(c.A.Rate), rate(c.B.Rate), p.difference(c.OverAll), moneys(c), p.note(contrastNotes(c)...),
		})
	}
	return t
}

// guardTable is the table of guards, the largest effect first. Guards that
// never fired are rows, or with silentRows false a line per model.
func guardTable(p *printer, sec *Section, silentRows bool) (t table, silent []string) {
	t = table{block: "model", heads: []string{"guard", "where it fired", "in shadow", "enforced", "over all", "USD/pass a -> b", "notes"}, left: 1, ends: true}
	quiet := map[string][]string{}
	var models []string
	for _, c := range byEffect(sec.Guards) {
		model := p.model(c.Model, c.Simulated)
		if !c.Measured && !silentRows {
			if quiet[model] == nil {
				models = append(models, model)
			}
			quiet[model] = append(quiet[model], p.name(c.Guard))
			continue
		}
		where := "not measured"
		switch v := c.Fired.Estimate.Value; {
		case v != nil:
			where = p.paint.effect(fmt.Sprintf("%+.2f", *v), *v)
		case c.Measured:
			where = "one arm only"
		}
		inA, inB := fmt.Sprint(c.Fired.ExposedA), fmt.Sprint(c.Fired.ExposedB)
		row := []string{p.name(c.Guard), where, inA, inB, p.difference(c.OverAll), moneys(c), p.note(contrastNotes(c)...)}
		if v := c.OverAll.Value; !c.Measured && (v == nil || *v == 0) {
			// A zero from two arms that could not differ looks like a finding.
			row = []string{p.name(c.Guard), where, inA, inB, "-", "-", ""}
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

// armTable is the table of every model and arm.
func armTable(p *printer, sec *Section) table {
	k := 0
	for _, a := range sec.Arms {
		k = max(k, len(a.ByK))
	}
	heads := []string{"arm", "pass rate", "passed", "errored"}
	if k > 1 {
		heads = append(heads, fmt.Sprintf("pass^%d", k))
	}
	t := table{block: "model", heads: append(heads, "tokens/trial", "USD/trial", "USD/pass", "notes"), left: 1, ends: true}
	for _, a := range sec.Arms {
		row := []string{p.name(a.Arm), p.interval(a.rate(), "%.2f"), fmt.Sprintf("%d/%d", a.Passed, a.Graded), fmt.Sprint(a.Errored)}
		if k > 1 {
			hat := "-"
			if len(a.ByK) == k {
				hat = rate(a.ByK[k-1].Hat.Value)
			}
			row = append(row, hat)
		}
		t.add(p.model(a.Model, a.Simulated), append(row,
			perTrial(a.Tokens, a.Trials), usd(a.CostPerTrial, unknownIf(a.Trials)), amount(a.perPass()), p.note(armNotes(a)...)))
	}
	return t
}

// unknownIf is how an amount that is not there prints: a dash where nothing was
// run, else a question.
func unknownIf(trials int) string {
	if trials == 0 {
		return "-"
	}
	return "?"
}

// rateTable shows what stands behind each rate.
func rateTable(p *printer, sec *Section) table {
	t := table{block: "model", left: 1,
		heads: []string{"arm", "scenarios", "trials", "graded", "errored", "ungraded", "cut", "passed", "rate", "se clustered", "se naive"}}
	for _, a := range sec.Arms {
		row := []string{p.name(a.Arm)}
		for _, n := range []int{a.Scenarios, a.Trials, a.Graded, a.Errored, a.Ungraded, a.Cut, a.Passed} {
			row = append(row, fmt.Sprint(n))
		}
		t.add(p.model(a.Model, a.Simulated), append(row, number(a.Rate, "%.3f"), number(a.SEClustered, "%.4f"), number(a.SENaive, "%.4f")))
	}
	return t
}

// kTable shows pass^k and pass@k for the first four k and the last.
func kTable(p *printer, sec *Section) table {
	most := 0
	for _, a := range sec.Arms {
		most = max(most, len(a.ByK))
	}
	var ks []int
	for k := 1; k <= most; k++ {
		if k <= 4 || k == most {
			ks = append(ks, k)
		}
	}
	t := table{block: "model", left: 1, heads: []string{"arm"}}
	for _, k := range ks {
		t.heads = append(t.heads, fmt.Sprintf("pass^%d", k))
	}
	for _, k := range ks {
		t.heads = append(t.heads, fmt.Sprintf("pass@%d", k))
	}
	for _, a := range sec.Arms {
		row := []string{p.name(a.Arm)}
		for _, k := range ks {
			row = append(row, number(a.PassHat[strconv.Itoa(k)], "%.3f"))
		}
		for _, k := range ks {
			row = append(row, number(a.PassAt[strconv.Itoa(k)], "%.3f"))
		}
		t.add(p.model(a.Model, a.Simulated), row)
	}
	return t
}

// timeTable shows on what the trials' clocks were spent.
func timeTable(p *printer, sec *Section) table {
	t := table{block: "model", heads: []string{"arm", "time/trial", "in model calls", "in tools", "waiting between attempts"}, left: 1}
	for _, a := range sec.Arms {
		row := []string{p.name(a.Arm), duration(a.Time, a.Trials)}
		for _, v := range []*float64{a.Time.ModelShare, a.Time.ToolShare, a.Time.WaitShare} {
			if v == nil {
				row = append(row, unknownIf(a.Trials))
				continue
			}
			row = append(row, fmt.Sprintf("%.1f %%", 100**v))
		}
		t.add(p.model(a.Model, a.Simulated), row)
	}
	return t
}

// outcomeTable lists how the trials of each arm ended.
func outcomeTable(p *printer, sec *Section) table {
	t := table{block: "model", heads: []string{"arm", "outcome: trials (of them passed)"}, left: 2}
	for _, a := range sec.Arms {
		var parts []string
		for _, o := range a.Outcomes {
			s := fmt.Sprintf("%s %d (%d)", p.name(o.Outcome), o.Trials, o.Passed)
			if o.Backstop > 0 {
				s += fmt.Sprintf(" %d by backstop", o.Backstop)
			}
			parts = append(parts, s)
		}
		// Long lists go on in further rows: a row is one line.
		for i, line := range fold(parts, ", ", width-4-maxName-4) {
			name := ""
			if i == 0 {
				name = p.name(a.Arm)
			}
			t.add(p.model(a.Model, a.Simulated), []string{name, line})
		}
	}
	return t
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

// contrastNotes collects what must be said beside a comparison.
func contrastNotes(c Contrast) []string {
	var out []string
	add := func(texts []string) {
		for _, s := range texts {
			// The legend says once what is true of every row, and the cells
			// themselves show what has no data.
			if s != string(stats.FixedScenarios) && s != string(stats.NoData) && s != NoteCache && !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	add(c.OverAll.Warnings)
	if c.Fired != nil {
		add(c.Fired.Estimate.Warnings)
	}
	add(c.Notes)
	if n := c.A.Trials - c.A.Graded + c.B.Trials - c.B.Graded; n > 0 && c.DiffMin != nil {
		add([]string{fmt.Sprintf("%s ungraded: whatever they would have been, the difference over all is between %+.2f and %+.2f", plural(n, "trial"), *c.DiffMin, *c.DiffMax)})
	}
	return out
}

func armNotes(a Arm) []string {
	var out []string
	for _, w := range a.Warnings {
		if w != string(stats.NoData) {
			out = append(out, w)
		}
	}
	if a.Cut > 0 {
		out = append(out, fmt.Sprintf("%s cut before they ran: the numbers are over the others", plural(a.Cut, "trial")))
	}
	if a.Ungraded > 0 && a.RateMin != nil {
		out = append(out, fmt.Sprintf("%s ungraded: whatever they would have been, the pass rate is between %.2f and %.2f", plural(a.Ungraded, "trial"), *a.RateMin, *a.RateMax))
	}
	return out
}
