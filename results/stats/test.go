package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Methods by which a p value was made.
const (
	TestNone          = "none"                                  // no test can be made
	TestSignFlip      = "sign flips of scenarios, exact"        // up to 20 scenarios that differ
	TestSignFlipDraws = "sign flips of scenarios, 10,000 draws" // more
	TestMcNemar       = "McNemar, exact"                        // one repetition
	TestT             = "paired t over scenarios"
	TestSwap          = "swaps of whole trials, exact" // up to 20 repetitions that differ
	TestSwapDraws     = "swaps of whole trials, 10,000 draws"
)

// Test is a two-sided p value with its method.
type Test struct {
	P        *float64 // 0 < p <= 1; nil where no test can be made
	Method   string   // one of the Test constants
	N        int      // units whose sign could be flipped, or pairs that differ
	Warnings []Warning
}

// FewToFlip is given where even the clearest outcome could not reach 5 %: the
// least p value of n flips is 2^(1-n).
const FewToFlip Warning = "fewer than 6 of them differ: no outcome could have reached p = 0.05"

// leastFlips is the number of differing units from which p < 0.05 is possible.
const leastFlips = 6

// McNemar tests that as many pairs turned from pass to fail (aOnly) as from
// fail to pass (bOnly): exact and two-sided, by the binomial distribution of the
// pairs that differ. It assumes that pairs are independent, so one repetition
// per scenario. (McNemar, "Note on the sampling error of the difference between
// correlated proportions or percentages", Psychometrika 12, 1947.)
func McNemar(aOnly, bOnly int) Test {
	n := aOnly + bOnly
	t := Test{P: ptr(1), Method: TestMcNemar, N: n}
	if n > 0 {
		tail := distuv.Binomial{N: float64(n), P: 0.5}.CDF(float64(min(aOnly, bOnly)))
		t.P = ptr(min(1, 2*tail))
	}
	if n < leastFlips {
		t.Warnings = []Warning{FewToFlip}
	}
	return t
}

// PairedT is Student's t test of a mean difference of 0. It assumes independent
// scenarios and that the mean of their differences is nearly normal.
//
// Its size, counted exactly where each scenario has one repetition (a difference
// is -1, 0 or 1): 5.3 % at 10 scenarios of which half differ, 5.7 % at 20 and 7.0 %
// at 8 of which 70 % do; given that 4 differ it is 12.5 %, as it calls four of one
// sign significant. With 5 repetitions it is 4 to 6 % from 12 scenarios on. So it is
// never the default: [SignFlip] holds its size everywhere, and [CoarseT] says where
// it must be preferred. There is no test for fewer than 2 differences, nor where all
// are equal and not 0.
func PairedT(diffs []float64) Test {
	x := sorted(diffs)
	mean, sd := meanSD(x)
	t := Test{Method: TestNone, N: len(x)}
	switch {
	case len(x) < 2 || sd == 0 && mean != 0 || math.IsNaN(sd) || math.IsInf(mean, 0):
		t.Warnings = []Warning{NoSpread}
		return t
	case sd == 0:
		t.P = ptr(1)
	default:
		score := math.Abs(mean) / (sd / math.Sqrt(float64(len(x))))
		p := 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(len(x) - 1)}.Survival(score)
		t.P = ptr(clip(p, math.SmallestNonzeroFloat64, 1))
	}
	t.Method = TestT
	if coarse(x) {
		t.Warnings = []Warning{CoarseT}
	}
	return t
}

// coarse says that fewer differences than leastFlips are not 0, or that those
// all have one size.
func coarse(diffs []float64) bool {
	var sizes []float64
	for _, d := range diffs {
		if d != 0 {
			sizes = append(sizes, math.Abs(d))
		}
	}
	return len(sizes) < leastFlips || allEqual(sizes)
}

// Warnings of [PairedT].
const (
	NoSpread Warning = "no t test: fewer than two scenarios, or all differences are equal"
	CoarseT  Warning = "the t test can reject too often here: few scenarios differ, or all by the same amount; use sign flips"
)
