package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/harnessbench/harnessbench/results/stats"
)

// The answers that are counted, by their index in a tally.
const (
	inferior = iota // not inferior, though b is worse by exactly the margin
	equivalent
	marginTests
)

// marginOf is the margin of the cell: what can be lost at its rate.
func (c cell) marginOf() float64 { return min(0.1, c.rate/2) }

// margin holds b against a margin by exactly which it is worse.
func (c cell) margin(r *rand.Rand, _ uint64, t *tally) {
	m := c.marginOf()
	res := stats.Margin(c.pairs(r, -m, make([]stats.Pairs, 0, c.scenarios)), m)
	t.shares[inferior].add(res.Answer == stats.NotInferior)
	t.shares[equivalent].add(res.Equivalent)
}

// marginTable prints how often b passes for as good as a where it is worse by
// exactly the margin. The promise is 2.5 %, one side of the interval; the bound is
// that of all tests.
func marginTable(suites int, seed uint64, quick bool) ([]table, []string) {
	cells := sizeCells(quick)
	jobs := make([]job, len(cells))
	for i, c := range cells {
		jobs[i] = job{"margin " + c.String(), c.margin}
	}
	out := table{head: []string{"scenarios", "repetitions", "ICC", "coupling", "rate", "margin", "not inferior", "equivalent"}}
	var bad []string
	for i, got := range simulate(jobs, suites, seed) {
		c := cells[i]
		row := append(c.columns(), fmt.Sprintf("%.2f", c.marginOf()))
		for k := range marginTests {
			s := got.shares[k]
			if row = append(row, percent(s)); s.value() > 0.05+sigmas*s.se(0.05) {
				bad = append(bad, fmt.Sprintf("%s: %s is said in %s %%, more than 5 %%", c, out.head[6+k], percent(s)))
			}
		}
		out.rows = append(out.rows, row)
	}
	return []table{out}, bad
}
