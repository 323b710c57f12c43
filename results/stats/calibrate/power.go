package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/harnessbench/harnessbench/results/stats"
)

// The power that stats.Design says may be so much higher, and so much lower, than
// what is seen; for few scenarios in a family, where few outcomes are significant at
// all, it is lower still.
const tooHigh, tooLow, tooLowForFew = 0.01, 0.04, 0.10

// powerCell is a design, with the effect that it says is seen in 80 % of the runs.
type powerCell struct {
	cell
	family int
	effect float64
}

func (p powerCell) design() stats.Design {
	return stats.Design{Scenarios: p.scenarios, Repetitions: p.reps, Rate: p.rate, ICC: p.icc, Coupling: p.luck(), Family: p.family}
}

// powerCells are designs that see some effect.
func powerCells(quick bool) (out []powerCell) {
	for _, n := range []int{12, 30, 100} {
		for _, reps := range []int{1, 2, 5, 20} {
			for _, rate := range []float64{0.5, 0.2} {
				for _, shared := range []bool{false, true} {
					for _, fam := range []int{1, 8} {
						p := powerCell{cell: cell{n, reps, 0.4, rate, shared}, family: fam}
						if p.effect = p.design().SmallestEffect(0.8); math.IsNaN(p.effect) || quick && (n != 30 || reps == 2 || reps == 20 || rate != 0.5) {
							continue
						}
						out = append(out, p)
					}
				}
			}
		}
	}
	return out
}

// powerTable prints the smallest effects with the power that is seen for them.
func powerTable(suites int, seed uint64, quick bool) ([]table, []string) {
	cells := powerCells(quick)
	jobs := make([]job, len(cells))
	for i, p := range cells {
		jobs[i] = job{fmt.Sprintf("power %s, family %d", p, p.family), func(r *rand.Rand, number uint64, t *tally) {
			d := differences(p.pairs(r, p.effect, make([]stats.Pairs, 0, p.scenarios)), make([]float64, 0, p.scenarios))
			sum := 0.0
			for _, x := range d {
				sum += x
			}
			t.shares[0].add(sum > 0 && !hopeless(d) && *stats.SignFlip(d, number).P <= 0.05/float64(p.family))
		}}
	}
	out := table{head: []string{"scenarios", "repetitions", "coupling", "rate", "family", "smallest effect", "power by formula", "power seen"}}
	var bad []string
	for i, t := range simulate(jobs, suites, seed) {
		p, seen := cells[i], t.shares[0]
		said := p.design().Power(p.effect)
		out.rows = append(out.rows, []string{fmt.Sprint(p.scenarios), fmt.Sprint(p.reps), p.coupling(), fmt.Sprintf("%.1f", p.rate), fmt.Sprint(p.family),
			fmt.Sprintf("%.3f", p.effect), fmt.Sprintf("%.1f", 100*said), fmt.Sprintf("%.1f", 100*seen.value())})
		low, slack := tooLow, sigmas*seen.se(0.8)
		if p.scenarios <= 12 && p.family > 1 {
			low = tooLowForFew
		}
		if off := said - seen.value(); off > tooHigh+slack || -off > low+slack {
			bad = append(bad, fmt.Sprintf("%s, family %d: power %.3f by formula, %.3f seen", p, p.family, said, seen.value()))
		}
	}
	return []table{out}, bad
}
