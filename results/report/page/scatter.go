package page

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/harnessbench/harnessbench/results/report"
)

// scatter is the figure of cost against pass rate, and the table that says the
// same in numbers.
type scatter struct {
	Figure  template.HTML
	Scale   string // which axis was chosen, and why
	Shapes  []shapeKey
	Table   table
	Unknown []string // arms whose cost is unknown
}

// Size of the figure, and of its plot within.
const (
	figW, figH                         = 860, 460
	plotL, plotR, plotT, plotB float64 = 58, figW - 20, 16, figH - 52
)

// point is one arm, or several that lie in one place.
type point struct {
	x, y     float64
	cost     float64
	rate     float64
	model    int
	frontier bool
	numbers  []int // of the table, from 1
	name     string
	title    string
}

// newScatter draws the arms of the main section whose cost and rate are known.
func (v *view) newScatter(s *report.Summary) *scatter {
	var arms []*report.Arm
	for i := range s.Main.Arms {
		if a := &s.Main.Arms[i]; finite(a.Rate) != nil {
			arms = append(arms, a)
		}
	}
	if len(arms) == 0 {
		return nil
	}
	sc := &scatter{Table: table{ID: "cost-table", Caption: "Cost of a trial and pass rate of every arm, cheapest first", Heads: []head{{Text: "Arm"}, {Text: "Cost of a trial", Number: true},
		{Text: "Pass rate", Number: true}, {Text: "On the frontier"}, {Text: "In draws", Number: true}, {Text: "Beaten by"}}}}
	slices.SortStableFunc(arms, func(a, b *report.Arm) int { return cmp.Compare(costOf(a), costOf(b)) })
	var known []*report.Arm
	for _, a := range arms {
		if c := finite(a.CostPerTrial); c == nil || *c < 0 {
			sc.Unknown = append(sc.Unknown, fmt.Sprintf("%s + %s, pass rate %s", modelName(a.Model, a.Simulated), name(a.Arm), rate(a.Rate)))
			continue
		}
		known = append(known, a)
	}
	if len(sc.Unknown) > maxColumns {
		sc.Unknown = append(sc.Unknown[:maxColumns], fmt.Sprintf("and %d more", len(sc.Unknown)-maxColumns))
	}
	for i, a := range known {
		sc.Table.Rows = append(sc.Table.Rows, v.scatterRow(i+1, a))
	}
	sc.Table.trim("arms")
	if len(known) > 0 {
		sc.draw(s, known[:min(len(known), maxPoints)])
	}
	return sc
}

func costOf(a *report.Arm) float64 {
	if c := finite(a.CostPerTrial); c != nil {
		return *c
	}
	return math.MaxFloat64
}

func (v *view) scatterRow(n int, a *report.Arm) row {
	on := "unknown"
	if a.Frontier != nil {
		on = map[bool]string{true: "★ yes", false: "no"}[*a.Frontier]
	}
	share := dash
	if a.FrontierShare != nil {
		share = fmt.Sprintf("%.0f %%", 100**a.FrontierShare)
	}
	return row{Name: fmt.Sprintf("%d. %s", n, name(a.Arm)), Under: modelName(a.Model, a.Simulated),
		Cells: []cell{numbers(usd(a.CostPerTrial)), {Lines: []string{v.estimate(estimateOf(a), "%.2f")}, Number: true, NoBreak: true},
			words(on), numbers(share), words(beaten(v.summary, a.BeatenBy))}}
}

// draw makes the figure. The cost axis is logarithmic where the dearest arm costs
// more than ten times the cheapest and nothing is free.
func (sc *scatter) draw(s *report.Summary, arms []*report.Arm) {
	lo, hi := math.Inf(1), 0.0
	for _, a := range arms {
		lo, hi = min(lo, *a.CostPerTrial), max(hi, *a.CostPerTrial)
	}
	xs := scale{from: plotL + 12, to: plotR - 12}
	var marks []float64
	if lo > 0 && hi/lo > 10 {
		xs.log = true
		marks = decades(lo, hi)
		xs.lo, xs.hi = min(lo, marks[0]), max(hi, marks[len(marks)-1])
		sc.Scale = "The cost axis is logarithmic: the dearest arm costs more than ten times the cheapest."
	} else {
		_, top, step := around([]float64{max(hi, 1e-12)}, 6)
		xs.lo, xs.hi = 0, top
		marks = ticks(0, top, step)
		sc.Scale = "The cost axis is linear and begins at 0."
	}
	ys := scale{lo: 0, hi: 1, from: plotB, to: plotT}
	points := place(s, arms, xs, ys)
	var b svg
	b.add(`<svg class="plot" viewBox="0 0 %d %d" role="img" aria-labelledby="plot-title plot-desc"><title id="plot-title">Cost of a trial against pass rate</title><desc id="plot-desc">`, figW, figH)
	b.text(fmt.Sprintf("%s; the table below has the same numbers. Up and to the left is better.", plural(len(arms), "arm")))
	b.add(`</desc>`)
	axes(&b, xs, ys, marks)
	lines := staircase(&b, points)
	for _, p := range points {
		b.add(`<g class="point m%d%s"><title>`, p.model%5, map[bool]string{true: " on", false: ""}[p.frontier])
		b.text(p.title)
		b.add(`</title>`)
		shape(&b, p.model%5, p.x, p.y, 6)
		b.add(`</g>`)
	}
	labels(&b, points, lines)
	b.add(`</svg>`)
	sc.Figure = b.html()
	for i, m := range s.Models {
		if i >= maxColumns {
			break
		}
		var k svg
		k.add(`<svg class="key" width="16" height="16" aria-hidden="true"><g class="point m%d on">`, i%5)
		shape(&k, i%5, 8, 8, 5.5)
		k.add(`</g></svg>`)
		sc.Shapes = append(sc.Shapes, shapeKey{k.html(), modelName(m.Model, m.Simulated)})
	}
}

type shapeKey struct {
	Figure template.HTML
	Text   string
}

// place merges the arms that lie in one place and gives each its number.
func place(s *report.Summary, arms []*report.Arm, xs, ys scale) (out []*point) {
	model := map[string]int{}
	for i, m := range s.Models {
		model[m.Model] = i
	}
	for i, a := range arms {
		p := &point{x: xs.at(*a.CostPerTrial), y: ys.at(*a.Rate), cost: *a.CostPerTrial, rate: *a.Rate, model: model[a.Model],
			frontier: a.Frontier != nil && *a.Frontier, numbers: []int{i + 1}, name: shortName(a.Arm),
			title: fmt.Sprintf("%d. %s + %s: %s a trial, pass rate %s", i+1, modelName(a.Model, a.Simulated), name(a.Arm), usd(a.CostPerTrial), rate(a.Rate))}
		if a.FrontierShare != nil {
			p.title += fmt.Sprintf(", on the frontier in %.0f %% of draws", 100**a.FrontierShare)
		}
		at := slices.IndexFunc(out, func(q *point) bool {
			return q.model == p.model && math.Abs(q.x-p.x) < 3 && math.Abs(q.y-p.y) < 3
		})
		if at < 0 {
			out = append(out, p)
			continue
		}
		q := out[at]
		if p.frontier && !q.frontier {
			q.name, q.frontier, q.cost, q.rate = p.name, true, p.cost, p.rate
		}
		q.numbers = append(q.numbers, i+1)
		q.title = clean(q.title+"; "+p.title, 4*maxText)
	}
	return out
}

// shortName is an arm's name where it is short enough to stand in the figure.
func shortName(arm string) string {
	if s := name(arm); utf8.RuneCountInString(s) <= longHead {
		return s
	}
	return ""
}

// beaten names the arm that beats another, which comes as model/arm.
func beaten(s *report.Summary, by string) string {
	for _, m := range s.Models {
		if arm, ok := strings.CutPrefix(by, m.Model+"/"); ok && m.Model != "" {
			return modelName(m.Model, m.Simulated) + " + " + name(arm)
		}
	}
	return name(by)
}
