package compare

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/results/report"
)

// alpha is below what a p value has to be for a difference not to be marked "~".
const alpha = 0.05

// grid is a table to be printed.
type grid struct {
	heads []string
	rows  [][]string
	left  int // columns set left; numbers stand right
}

// WriteText prints the report for a terminal.
func (r *Report) WriteText(w io.Writer) error {
	return r.write(w, func(t grid) error { return cli.Table(w, t.heads, t.rows) }, "", "  ")
}

// WriteMarkdown prints the report as GitHub's Markdown.
func (r *Report) WriteMarkdown(w io.Writer) error {
	return r.write(w, func(t grid) error { return writeMarkdown(w, t) }, "### ", "- ")
}

func (r *Report) write(w io.Writer, table func(grid) error, head, item string) error {
	text := func(s string) string {
		if head != "" {
			return markup.Replace(cli.SanitizeLine(s))
		}
		return cli.SanitizeLine(s)
	}
	one := func(title string, p Pool) error {
		if title != "" {
			fmt.Fprintf(w, "%s%s\n\n", head, text(title))
		}
		if err := table(r.comparisons(p.Comparisons)); err != nil {
			return err
		}
		lines(w, item, text, warnings(p.Comparisons))
		fmt.Fprintln(w)
		if err := table(r.arms(p.Arms)); err != nil {
			return err
		}
		lines(w, item, text, armWarnings(p.Arms))
		return nil
	}
	if len(r.Inputs) == 2 {
		fmt.Fprintf(w, "a: %s   b: %s\n\n", text(r.Inputs[0]), text(r.Inputs[1]))
	}
	if len(r.Comparisons) > 0 {
		if err := one("", Pool{r.Arms, r.Comparisons}); err != nil {
			return err
		}
	}
	if r.Harms != nil {
		fmt.Fprintln(w)
		if err := one("scenarios tagged harms, never pooled with the others", *r.Harms); err != nil {
			return err
		}
	}
	fmt.Fprintln(w)
	lines(w, item, text, r.Notes)
	lines(w, item, text, []string{r.legend()})
	return nil
}

func lines(w io.Writer, item string, text func(string) string, in []string) {
	for _, s := range in {
		fmt.Fprintln(w, item+text(s))
	}
}

// legend says how p and intervals were made.
func (r *Report) legend() string {
	var tests, methods []string
	cs := r.Comparisons
	if r.Harms != nil {
		cs = slices.Concat(cs, r.Harms.Comparisons)
	}
	for _, c := range cs {
		if !slices.Contains(tests, c.Test) {
			tests = append(tests, c.Test)
		}
		if !slices.Contains(methods, c.CIMethod) {
			methods = append(methods, c.CIMethod)
		}
	}
	over := fmt.Sprintf(", adjusted by %s over %s", adjustName(r.Adjust), r.families())
	if r.Adjust == None {
		over = ", not adjusted"
	}
	return fmt.Sprintf("diff is b - a, 95 %% interval: %s; p: %s%s; ~ is no significant difference (p >= 0.05)",
		strings.Join(methods, ", "), strings.Join(tests, ", "), over)
}

// families says how many comparisons each table of them has.
func (r *Report) families() string {
	main := cli.Count(len(r.Comparisons), "comparison")
	switch {
	case r.Harms == nil:
		return main
	case len(r.Comparisons) == 0:
		return cli.Count(len(r.Harms.Comparisons), "comparison")
	}
	return fmt.Sprintf("%s, and %d on scenarios tagged harms among themselves", main, len(r.Harms.Comparisons))
}

func adjustName(s string) string {
	if s == BH {
		return "Benjamini-Hochberg"
	}
	return "Holm"
}

// comparisons is the table of comparisons.
func (r *Report) comparisons(cs []Comparison) grid {
	t := grid{heads: []string{"a", "b", "scenarios", "trials", r.rateName() + " a", r.rateName() + " b", "diff", "p"}, left: 2}
	has := func(get func(Comparison) *float64) bool {
		return slices.ContainsFunc(cs, func(c Comparison) bool { return get(c) != nil })
	}
	costs := has(func(c Comparison) *float64 { return c.CostOfPassA }) || has(func(c Comparison) *float64 { return c.CostOfPassB })
	margin := slices.ContainsFunc(cs, func(c Comparison) bool { return c.Margin != nil })
	if costs {
		t.heads = append(t.heads, "USD/pass a -> b", "b / a")
	}
	if margin {
		t.heads = append(t.heads, "margin")
	}
	for _, c := range cs {
		row := []string{c.A, c.B, strconv.Itoa(c.Scenario), fmt.Sprintf("%d/%d", c.TrialsA, c.TrialsB), number(c.RateA, "%.3f"), number(c.RateB, "%.3f"), c.difference(), c.pText()}
		if costs {
			row = append(row, perPass(c.CostOfPassA, c.infinite[0])+" -> "+perPass(c.CostOfPassB, c.infinite[1]), ratio(c.PassRatio, c.PassRatioCI))
		}
		if margin {
			answer := "-"
			if c.Margin != nil && c.Margin.Answer != "" {
				answer = fmt.Sprintf("%s (%g)", c.Margin.Answer, c.Margin.Margin)
			}
			row = append(row, answer)
		}
		t.rows = append(t.rows, row)
	}
	return t
}

func (r *Report) rateName() string {
	if r.Metric == Score {
		return "score"
	}
	return "rate"
}

func (c *Comparison) difference() string {
	s := number(c.Diff, "%+.3f")
	if c.CI != nil {
		s += fmt.Sprintf(" [%+.3f, %+.3f]", c.CI[0], c.CI[1])
	}
	return s
}

func (c *Comparison) pText() string {
	if c.PAdjusted == nil {
		return "- ~"
	}
	s := fmt.Sprintf("%.3f", *c.PAdjusted)
	if *c.PAdjusted < 0.0005 {
		s = "<0.001"
	}
	if *c.PAdjusted >= alpha {
		s += " ~"
	}
	return s
}

// arms is the table of arms; columns of which nothing is known are left out.
func (r *Report) arms(as []Arm) grid {
	k := 0
	var tokens, costs bool
	for _, a := range as {
		k = max(k, len(a.PassHat))
		tokens = tokens || a.Tokens != nil
		costs = costs || a.CostUSD != nil
	}
	t := grid{heads: []string{"arm", r.rateName(), "95 % interval", "passed", "errored"}, left: 1}
	if k > 1 {
		t.heads = append(t.heads, fmt.Sprintf("pass^%d", k), fmt.Sprintf("pass@%d", k), "ICC")
	}
	if tokens {
		t.heads = append(t.heads, "tokens/trial")
	}
	if costs {
		t.heads = append(t.heads, "USD/trial", "USD/pass")
	}
	for _, a := range as {
		row := []string{a.label, number(a.Rate, "%.3f"), "-", fmt.Sprintf("%d/%d", a.Passed, a.Graded), strconv.Itoa(a.Errored)}
		if a.Simulated {
			row[0] += " (simulated)"
		}
		if a.CI != nil {
			row[2] = fmt.Sprintf("[%.3f, %.3f]", a.CI[0], a.CI[1])
		}
		if k > 1 {
			row = append(row, number(a.PassHat[strconv.Itoa(k)], "%.3f"), number(a.PassAt[strconv.Itoa(k)], "%.3f"), number(a.ICC, "%.2f"))
		}
		if tokens {
			row = append(row, perTrial(a.Tokens, a.Trials))
		}
		if costs {
			row = append(row, usd(each(a.CostUSD, a.Trials)), a.perPass())
		}
		t.rows = append(t.rows, row)
	}
	return t
}

func perPass(v *float64, infinite bool) string {
	if infinite {
		return "inf"
	}
	return usd(v)
}

func (a *Arm) perPass() string {
	switch a.CostState {
	case report.Infinite:
		return "inf"
	case report.Nothing:
		return "-"
	}
	return usd(a.CostOfPass)
}

// warnings are the lines under the comparisons: one per warning, with the
// comparisons that it is about, where it is not about all.
func warnings(cs []Comparison) (out []string) {
	var order []string
	about := map[string][]string{}
	for _, c := range cs {
		for _, w := range c.Warnings {
			if about[w] == nil {
				order = append(order, w)
			}
			about[w] = append(about[w], c.A+" -> "+c.B)
		}
	}
	for _, w := range order {
		out = append(out, beside(w, about[w], len(cs)))
	}
	for _, c := range cs {
		for _, x := range []struct {
			name string
			ids  []string
		}{{c.A, c.OnlyA}, {c.B, c.OnlyB}} {
			if len(x.ids) > 0 {
				out = append(out, fmt.Sprintf("%s -> %s: graded in %s alone: %s", c.A, c.B, x.name, list(x.ids)))
			}
		}
	}
	return out
}

func armWarnings(as []Arm) (out []string) {
	var order []string
	about := map[string][]string{}
	for _, a := range as {
		for _, w := range a.Warnings {
			if about[w] == nil {
				order = append(order, w)
			}
			about[w] = append(about[w], a.label)
		}
	}
	for _, w := range order {
		out = append(out, beside(w, about[w], len(as)))
	}
	return out
}

func beside(w string, about []string, of int) string {
	if len(about) == of {
		return w
	}
	return list(about) + ": " + w
}

// WriteCSV prints the comparisons as CSV at full precision; what is unknown is empty.
func (r *Report) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"a", "b", "pool", "scenarios", "trials_a", "trials_b", "rate_a", "rate_b", "diff", "ci_lo", "ci_hi", "ci_method", "test", "p", "p_adjusted",
		"cost_of_pass_a", "cost_of_pass_b", "cost_of_pass_ratio", "cost_ratio", "warnings"})
	write := func(pool string, cs []Comparison) {
		for _, c := range cs {
			lo, hi := (*float64)(nil), (*float64)(nil)
			if c.CI != nil {
				lo, hi = &c.CI[0], &c.CI[1]
			}
			row := []string{c.A, c.B, pool, strconv.Itoa(c.Scenario), strconv.Itoa(c.TrialsA), strconv.Itoa(c.TrialsB)}
			for _, v := range []*float64{c.RateA, c.RateB, c.Diff, lo, hi} {
				row = append(row, exact(v))
			}
			row = append(row, c.CIMethod, c.Test)
			for _, v := range []*float64{c.P, c.PAdjusted, c.CostOfPassA, c.CostOfPassB, c.PassRatio, c.CostRatio} {
				row = append(row, exact(v))
			}
			row = append(row, strings.Join(c.Warnings, "; "))
			for i := range row {
				row[i] = cli.SanitizeLine(row[i])
			}
			row[0], row[1] = plainCell(row[0]), plainCell(row[1])
			_ = out.Write(row) // Error tells
		}
	}
	write("main", r.Comparisons)
	if r.Harms != nil {
		write("harms", r.Harms.Comparisons)
	}
	out.Flush()
	return out.Error()
}

// plainCell keeps a spreadsheet from running a name as a formula: an apostrophe before
// it makes it text.
func plainCell(name string) string {
	if name != "" && strings.ContainsRune("=+-@", rune(name[0])) {
		return "'" + name
	}
	return name
}

func exact(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}

// markup escapes what Markdown and HTML would take for theirs.
var markup = strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", ">", "&gt;", "&", "&amp;",
	"`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "#", "\\#", "!", "\\!", "~", "\\~")

func writeMarkdown(w io.Writer, t grid) error {
	row := func(cells []string) string {
		out := make([]string, len(cells))
		for i, c := range cells {
			out[i] = markup.Replace(cli.SanitizeLine(c))
		}
		return "| " + strings.Join(out, " | ") + " |\n"
	}
	var b strings.Builder
	b.WriteString(row(t.heads))
	for i := range t.heads {
		b.WriteString("|---")
		if i >= t.left {
			b.WriteString(":")
		}
	}
	b.WriteString("|\n")
	for _, r := range t.rows {
		b.WriteString(row(r))
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func number(v *float64, format string) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf(format, *v)
}

// usd prints an amount with three significant digits and no exponent.
func usd(v *float64) string {
	switch {
	case v == nil:
		return "?"
	case *v == 0:
		return "0"
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(*v))))
	return strconv.FormatFloat(*v, 'f', min(max(digits, 0), 9), 64)
}

func ratio(v *float64, ci *OpenInterval) string {
	if v == nil {
		return "-"
	}
	s := fmt.Sprintf("%.2f", *v)
	if ci == nil {
		return s
	}
	hi := "inf"
	if ci[1] != nil {
		hi = fmt.Sprintf("%.2f", *ci[1])
	}
	if ci[0] == nil {
		return s
	}
	return fmt.Sprintf("%s [%.2f, %s]", s, *ci[0], hi)
}

func each(v *float64, n int) *float64 {
	if v == nil || n == 0 {
		return nil
	}
	m := *v / float64(n)
	return &m
}

func perTrial(total *int64, trials int) string {
	if total == nil || trials == 0 {
		return "?"
	}
	return strconv.FormatFloat(float64(*total)/float64(trials), 'f', 0, 64)
}
