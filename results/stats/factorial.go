package stats

import (
	"fmt"
	"slices"
)

// Cell is one arm of a two-level design.
type Cell struct {
	Levels []int8             // -1 (low) or +1 (high), one per factor
	Rates  map[string]float64 // mean over repetitions, by scenario
}

// Effect is one contrast of a design: the mean of the half at which the product
// of its factors' levels is +1, minus that of the other half.
type Effect struct {
	Factors  []int // indices of the factors, rising; one is a main effect, more an interaction
	Estimate       // difference in pass rate, mean over scenarios
	Test     Test  // of no effect
	// Aliases are the effects (indices of factors, rising) whose contrast this design
	// cannot tell from this one but for its sign, short ones first.
	Aliases [][]int
}

// Bounds of [Factorial].
const (
	maxFactors = 16
	// aliasOrder is the order up to which aliases are listed in designs of many
	// factors.
	allOrders, aliasOrder = 10, 4
)

// Factorial estimates the main effects and interactions up to the given order
// (1 = main effects alone) of a full or fractional two-level design, each as the
// mean over scenarios of the scenario's contrast, with Student's t over scenarios.
// Scenarios that an arm lacks are left out, with a warning. An effect that is
// constant over the design (the mean's alias) is left out. (Box, Hunter and Hunter,
// "Statistics for Experimenters", 2nd edition, 2005, chapters 5 and 6.)
func Factorial(factors int, cells []Cell, order int) ([]Effect, error) {
	if factors < 1 || factors > maxFactors || order < 1 {
		return nil, fmt.Errorf("a factorial design has 1 to %d factors and an order from 1; got %d and %d", maxFactors, factors, order)
	}
	for i, c := range cells {
		if len(c.Levels) != factors || slices.ContainsFunc(c.Levels, func(l int8) bool { return l != 1 && l != -1 }) {
			return nil, fmt.Errorf("cell %d does not have %d levels of -1 and +1", i, factors)
		}
	}
	shared, unshared := sharedScenarios(cells)
	deep := factors
	if factors > allOrders {
		deep = max(aliasOrder, order)
	}
	sets := subsets(factors, deep)
	columns := make([][]int8, len(sets))
	for i, s := range sets {
		columns[i] = column(cells, s)
	}
	var out []Effect
	for i, s := range sets {
		if len(s) > order || !slices.Contains(columns[i], 1) || !slices.Contains(columns[i], -1) {
			continue
		}
		e := effect(cells, columns[i], shared)
		e.Factors = s
		if unshared {
			e.Warnings = append(e.Warnings, UnsharedArms)
		}
		mixed := false
		for j, other := range sets {
			if i == j {
				continue
			}
			switch dot := product(columns[i], columns[j]); {
			case dot == len(cells) || dot == -len(cells):
				e.Aliases = append(e.Aliases, other)
			case dot != 0 && len(other) <= order:
				mixed = true
			}
		}
		if mixed || product(columns[i], column(cells, nil)) != 0 {
			e.Warnings = append(e.Warnings, NotOrthogonal)
		}
		out = append(out, e)
	}
	return out, nil
}

// effect estimates one contrast.
func effect(cells []Cell, col []int8, scenarios []string) Effect {
	diffs := make([]float64, len(scenarios))
	for i, id := range scenarios {
		var sum, n [2]float64
		for j, c := range cells {
			half := count(col[j] == 1)
			sum[half], n[half] = sum[half]+c.Rates[id], n[half]+1
		}
		diffs[i] = sum[1]/n[1] - sum[0]/n[0]
	}
	e := Effect{Estimate: MeanDifference(diffs), Test: PairedT(diffs)}
	if e.Lo != nil {
		e.Lo, e.Hi = ptr(max(*e.Lo, -1)), ptr(min(*e.Hi, 1))
	}
	return e
}

// sharedScenarios are those of all cells, sorted; other reports whether some
// cell has another one.
func sharedScenarios(cells []Cell) (ids []string, other bool) {
	seen := map[string]int{}
	for _, c := range cells {
		for id := range c.Rates {
			seen[id]++
		}
	}
	for id, n := range seen {
		if n == len(cells) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, len(ids) < len(seen)
}

// column is the product of the levels of a set of factors, one per cell.
func column(cells []Cell, set []int) []int8 {
	out := make([]int8, len(cells))
	for i, c := range cells {
		out[i] = 1
		for _, f := range set {
			out[i] *= c.Levels[f]
		}
	}
	return out
}

func product(a, b []int8) int {
	sum := 0
	for i := range a {
		sum += int(a[i]) * int(b[i])
	}
	return sum
}

// subsets are the non-empty sets of 0..n-1 of at most most members, short ones
// first, each rising.
func subsets(n, most int) [][]int {
	var out [][]int
	last := [][]int{{}}
	for range min(n, most) {
		var next [][]int
		for _, s := range last {
			from := 0
			if len(s) > 0 {
				from = s[len(s)-1] + 1
			}
			for f := from; f < n; f++ {
				next = append(next, append(slices.Clone(s), f))
			}
		}
		out = append(out, next...)
		last = next
	}
	return out
}
