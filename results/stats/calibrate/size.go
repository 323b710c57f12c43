package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/harnessbench/harnessbench/results/stats"
)

// The tests whose size is counted, by their index in a tally.
const (
	signFlip = iota
	mcnemar
	studentT
	holm
	bh
	swap
	contrast // main effect of a factorial design
	sizeTests
)

// The estimates where a guard fired, by their index among a tally's means.
const (
	firedNull = iota // minus the true effect, 0
	firedHelp        // minus the true effect, helps
)

// helps is the true effect of a guard where it fired. It fits under what harmed leaves.
const helps = 0.2

// family is the number of comparisons in Holm's family, of which silent never fire.
const family, silent = 8, 2

// sizeCells are the cells under the null hypothesis.
func sizeCells(quick bool) (out []cell) {
	scenarios := []int{10, 12, 30, 100}
	if quick {
		scenarios = []int{12}
	}
	for _, n := range scenarios {
		for _, reps := range []int{1, 5} {
			for _, icc := range []float64{0, 0.4} {
				for _, shared := range []bool{false, true} {
					for _, rate := range []float64{0.5, 0.1} {
						if !quick || icc > 0 && rate == 0.5 {
							out = append(out, cell{n, reps, icc, rate, shared})
						}
					}
				}
			}
		}
	}
	return out
}

// sizeJobs simulate a cell: each kind of test has suites of its own.
func sizeJobs(c cell) []job {
	return []job{
		{"compare " + c.String(), c.compare},
		{"fired " + c.String(), c.fired},
		{"factorial " + c.String(), c.factorial},
	}
}

// hopeless says that no sign-flip test of these differences can reach 5 %: their
// sum is less than one standard deviation of a sum with random signs, and beyond
// that lie at least 12/64 of all assignments of signs. It saves most of the time.
// (Dvorak and Klein, "Probability mass of Rademacher sums beyond one standard
// deviation", arXiv:2104.10005, 2021.)
func hopeless(d []float64) bool {
	sum, sq := 0.0, 0.0
	for _, x := range d {
		sum, sq = sum+x, sq+x*x
	}
	return sum*sum < sq*(1-1e-9)
}

// arms draws k more arms beside a base, all of the same pass rates: passes by arm
// and scenario, and for the first two arms the pairs.
func (c cell) arms(r *rand.Rand, k int) (passed [][]int, first []stats.Pairs) {
	passed = make([][]int, k+1)
	for a := range passed {
		passed[a] = make([]int, c.scenarios)
	}
	first = make([]stats.Pairs, c.scenarios)
	for i := range c.scenarios {
		p := beta(r, c.rate, c.icc)
		first[i] = stats.Pairs{ID: ids[i], N: c.reps}
		for range c.reps {
			u := r.Float64()
			base := u < p
			if base {
				passed[0][i]++
			}
			for a := 1; a <= k; a++ {
				v := u
				if !c.shared || r.Float64() >= sharing {
					v = r.Float64()
				}
				if v < p {
					passed[a][i]++
				}
				if a == 1 {
					switch {
					case base && v < p:
						first[i].Both++
					case base:
						first[i].AOnly++
					case v < p:
						first[i].BOnly++
					}
				}
			}
		}
	}
	return passed, first
}

// compare tests two arms, and a family of arms against one base.
func (c cell) compare(r *rand.Rand, number uint64, t *tally) {
	passed, first := c.arms(r, family-silent)
	d := differences(first, make([]float64, 0, c.scenarios))
	if c.reps == 1 {
		aOnly, bOnly := 0, 0
		for _, p := range first {
			aOnly, bOnly = aOnly+p.AOnly, bOnly+p.BOnly
		}
		t.shares[mcnemar].add(*stats.McNemar(aOnly, bOnly).P <= 0.05)
	}
	if p := stats.PairedT(d).P; p != nil {
		t.shares[studentT].add(*p <= 0.05)
	}
	ps := make([]float64, family)
	for j := range ps {
		ps[j] = math.NaN() // never fired: stays in the family
		if j >= family-silent {
			continue
		}
		for i := range d {
			d[i] = float64(passed[j+1][i]-passed[0][i]) / float64(c.reps)
		}
		if !hopeless(d) {
			ps[j] = *stats.SignFlip(d, number*family+uint64(j)).P
		}
	}
	t.shares[signFlip].add(ps[0] <= 0.05)
	any := func(adjusted []float64) bool {
		for _, p := range adjusted {
			if p <= 0.05 {
				return true
			}
		}
		return false
	}
	t.shares[holm].add(any(stats.Holm(ps)))
	t.shares[bh].add(any(stats.BenjaminiHochberg(ps)))
}

// fired tests and estimates the effect where a guard fired, without and with one.
func (c cell) fired(r *rand.Rand, number uint64, t *tally) {
	exposures := c.exposures(r, 0, make([]stats.Exposure, 0, c.scenarios))
	f := stats.WhereFired(exposures, number)
	if f.Test.P != nil {
		t.shares[swap].add(*f.Test.P <= 0.05)
	}
	if f.Value != nil {
		t.means[firedNull].add(*f.Value)
	}
	if number%4 != 0 {
		return // the test in it costs most of the time, and is not what is wanted here
	}
	exposures = c.exposures(r, helps, exposures)
	if f := stats.WhereFired(exposures, number); f.Value != nil {
		t.means[firedHelp].add(*f.Value - helps)
	}
}

// factorial tests a main effect of a 2^(3-1) half fraction in which nothing has one.
func (c cell) factorial(r *rand.Rand, _ uint64, t *tally) {
	passed, _ := c.arms(r, 3)
	cells := make([]stats.Cell, 4)
	for a := range cells {
		x, y := int8(a&1*2-1), int8(a&2-1)
		cells[a] = stats.Cell{Levels: []int8{x, y, x * y}, Rates: make(map[string]float64, c.scenarios)}
		for i, n := range passed[a] {
			cells[a].Rates[ids[i]] = float64(n) / float64(c.reps)
		}
	}
	effects, err := stats.Factorial(3, cells, 1)
	if err != nil {
		panic(err) // the design above is sound
	}
	if p := effects[0].Test.P; p != nil {
		t.shares[contrast].add(*p <= 0.05)
	}
}

// sizeTable prints the sizes and names the breaches of their bounds.
func sizeTable(suites int, seed uint64, quick bool) ([]table, []string) {
	cells := sizeCells(quick)
	var jobs []job
	for _, c := range cells {
		jobs = append(jobs, sizeJobs(c)...)
	}
	all := simulate(jobs, suites, seed)
	out := table{head: []string{"scenarios", "repetitions", "ICC", "coupling", "rate", "sign flip", "McNemar", "t", "Holm", "BH", "swap",
		"factorial", "bias, no effect", "bias, effect"}}
	var bad []string
	for i, c := range cells {
		var got tally
		for k := range all[:len(jobs)/len(cells)] {
			got.join(&all[i*len(jobs)/len(cells)+k])
		}
		row := c.columns()
		for k := range sizeTests {
			row = append(row, percent(got.shares[k]))
			if b := c.breach(k, got.shares[k]); b != "" {
				bad = append(bad, fmt.Sprintf("%s: %s %s", c, out.head[5+k], b))
			}
		}
		for k, m := range got.means[:2] {
			row = append(row, fmt.Sprintf("%+.4f (%.4f)", m.value(), m.se()))
			if math.Abs(m.value()) > sigmas*m.se() {
				bad = append(bad, fmt.Sprintf("%s: %s %+.4f is more than %.1f standard errors of %.4f from 0", c, out.head[5+sizeTests+k], m.value(), sigmas, m.se()))
			}
		}
		out.rows = append(out.rows, row)
	}
	return []table{out}, bad
}

// sigmas is how many Monte Carlo standard errors a bound allows for.
const sigmas = 3.5

// breach says how a test breaks its bound in a cell; empty when it does not.
func (c cell) breach(k int, s share) string {
	if s.n == 0 {
		return ""
	}
	most := 0.05 + sigmas*s.se(0.05)
	if k == studentT && c.reps == 5 && c.scenarios >= 12 && c.rate == 0.5 && !c.shared {
		slack := sigmas * s.se(0.05)
		if s.n >= 10_000 {
			slack = 0
		}
		if s.value() < 0.04-slack || s.value() > 0.06+slack {
			return fmt.Sprintf("rejects %s: not within 4..6 %%", percent(s))
		}
		return ""
	}
	if s.value() > most {
		return fmt.Sprintf("rejects %s: more than %.2f %%", percent(s), 100*most)
	}
	return ""
}
