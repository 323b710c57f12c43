package report

import (
	"fmt"
	"strconv"
)

// armTable is the table of every model and arm.
func armTable(p *printer, sec *Section) table {
	k, errored := 0, 0
	for _, a := range sec.Arms {
		k, errored = max(k, len(a.ByK)), errored+a.Errored
	}
	heads := []string{"arm", "pass rate", "passed"}
	if errored > 0 {
		heads = append(heads, "errored")
	}
	if k > 1 {
		heads = append(heads, fmt.Sprintf("pass^%d", k))
	}
	t := table{block: "model", heads: append(heads, "tokens/trial", "USD/trial", "USD/pass", "frontier", "notes"), left: 1, ends: true, spare: []string{"tokens/trial", "frontier"}}
	for _, a := range sec.Arms {
		row := []string{p.name(a.Arm), p.interval(a.rate(), "%.2f"), fmt.Sprintf("%d/%d", a.Passed, a.Graded)}
		if errored > 0 {
			row = append(row, fmt.Sprint(a.Errored))
		}
		if k > 1 {
			hat := "-"
			if len(a.ByK) == k {
				hat = rate(a.ByK[k-1].Hat.Value)
			}
			row = append(row, hat)
		}
		t.add(p.model(a.Model, a.Simulated), append(row,
			perTrial(a.Tokens, a.Trials), usd(a.CostPerTrial, unknownIf(a.Trials)), amount(a.perPass()), frontier(a), p.note(armNotes(a)...)))
	}
	return t
}

// frontier prints whether an arm is on the frontier, and in what share of draws it is.
func frontier(a Arm) string {
	if a.Frontier == nil {
		return "-"
	}
	mark := "  "
	if *a.Frontier {
		mark = "* "
	}
	return mark + rate(a.FrontierShare)
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
		heads: []string{"arm", "scenarios", "trials", "graded", "errored", "ungraded", "cut", "passed", "rate", "se clustered", "se naive", "icc"}, spare: []string{"icc"}}
	for _, a := range sec.Arms {
		row := []string{p.name(a.Arm)}
		for _, n := range []int{a.Scenarios, a.Trials, a.Graded, a.Errored, a.Ungraded, a.Cut, a.Passed} {
			row = append(row, fmt.Sprint(n))
		}
		t.add(p.model(a.Model, a.Simulated), append(row, number(a.Rate, "%.3f"), number(a.SEClustered, "%.4f"), number(a.SENaive, "%.4f"), number(a.ICC, "%.2f")))
	}
	return t
}

// costTable shows what a pass costs, and who gives more for less.
func costTable(p *printer, sec *Section) table {
	t := table{block: "model", heads: []string{"arm", "USD/trial", "USD/pass", "95 % interval", "on frontier", "beaten by"}, left: 1, ends: true, spare: []string{"on frontier", "beaten by"}}
	for _, a := range sec.Arms {
		t.add(p.model(a.Model, a.Simulated), []string{p.name(a.Arm), usd(a.CostPerTrial, unknownIf(a.Trials)), amount(a.perPass()), a.CostOfPassCI.text(), frontier(a), p.safe(a.BeatenBy, maxCellName)})
	}
	return t
}

// maxCellName bounds a name of a model and an arm in one cell.
const maxCellName = 40

// text prints an interval of amounts in USD, whose ends may not exist.
func (i *OpenInterval) text() string {
	if i == nil {
		return "-"
	}
	return "[" + usd(i[0], "0") + ", " + usd(i[1], "no end") + "]"
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
