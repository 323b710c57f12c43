package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/results/stats"
)

// contrastNotes collects what must be said beside a comparison.
func contrastNotes(c *Contrast) []string {
	var out []string
	add := func(texts []string, about string) {
		for _, s := range texts {
			// The legend says once what is true of every row, and the cells
			// themselves show what has no data.
			if s == string(stats.FixedScenarios) || s == string(stats.NoData) || s == NoteCache {
				continue
			}
			if s = about + s; !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	add(c.OverAll.Warnings, "")
	add(testWarnings(c.Test, "scenarios"), "over all: ")
	if c.Fired != nil {
		add(c.Fired.Estimate.Warnings, "")
		add(testWarnings(c.Fired.Test, "repetitions"), "where it fired: ")
	}
	add(c.Notes, "")
	if m := c.Margin; m != nil && m.Answer != "" {
		add([]string{fmt.Sprintf("%s by more than %g in pass rate (%s)", m.Answer, m.Margin, m.Method)}, "")
	}
	if n := c.A.Trials - c.A.Graded + c.B.Trials - c.B.Graded; n > 0 && c.DiffMin != nil {
		add([]string{fmt.Sprintf("%s ungraded: whatever they would have been, the difference over all is between %+.2f and %+.2f", plural(n, "trial"), *c.DiffMin, *c.DiffMax)}, "")
	}
	return out
}

// testWarnings gives what must be said of a test, of which the units have a name. Where a
// stronger warning says the same it stands alone.
func testWarnings(p P, units string) []string {
	if n := len(p.Warnings); n > 0 && strings.HasPrefix(p.Warnings[n-1], outOfReachPrefix) {
		return p.Warnings[n-1:]
	}
	var out []string
	for _, w := range p.Warnings {
		out = append(out, strings.Replace(w, "of them", units, 1))
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
