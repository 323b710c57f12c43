package stats

import (
	"cmp"
	"slices"
)

// Exposure is what two arms that differ in one guard alone did in one
// scenario, over the trials in which that guard fired: a trial is exposed by
// its own first firing, real or in shadow, never by the other arm's.
type Exposure struct {
	ID string // scenario
	// Cells counts the repetitions that are graded in both arms by what happened in
	// a, the base (first index), and in b: Unexposed, ExposedFail or ExposedPass.
	Cells [3][3]int
}

// What happened to a trial, for the cells of [Exposure].
const (
	Unexposed = iota
	ExposedFail
	ExposedPass
)

// Fired is the effect of a guard where it fired.
type Fired struct {
	Estimate
	Scenarios int // with exposed trials in both arms: those that count
	ExposedA  int // exposed graded trials of a, all scenarios
	ExposedB  int // exposed graded trials of b, all scenarios
	Paired    int // repetitions exposed in both
	Test      Test
}

// WhereFired estimates the effect of a guard among the trials in which it
// fired: per scenario the mean of the exposed trials of b minus that of a,
// weighted n_a n_b/(n_a+n_b) (Mantel-Haenszel weights for a risk difference:
// Greenland and Robins, "Estimation of a common effect parameter from sparse
// follow-up data", Biometrics 41, 1985). Scenarios exposed in one arm only
// have weight 0. The scenarios are taken as fixed: the estimate says nothing
// about others.
//
// Interval: Tango's score if every exposed trial has an exposed partner, else
// [StratifiedMN], which takes the arms as independent and so is too wide where
// pairs resemble each other. With 1 to 50 scenarios of 1 to 10 repetitions, a guard
// that fires in 30 to 100 % of them, exposed pass rates of 0.02 to 0.75, effects of 0
// and 0.2, arms independent or sharing their luck, neither covered less than 93 % in
// simulation (1000 to 1500 suites a cell).
//
// Test: without an effect of the guard, the two trials of one repetition could
// have been swapped, their exposure with them. The statistic is the numerator of
// the estimate, the sum over scenarios of (n_a pass_b - n_b pass_a)/(n_a+n_b). A
// swap changes neither a scenario's exposed trials nor their passes, so it is
// passes of b minus their expectation, and each swap only turns the sign of one
// term: the p value is that of [SignFlip] over repetitions. Interval and test are
// made in different ways and may disagree near 5 %.
func WhereFired(in []Exposure, seed uint64) Fired {
	xs := slices.Clone(in)
	slices.SortFunc(xs, func(a, b Exposure) int { return cmp.Compare(a.ID, b.ID) })
	f := Fired{Estimate: Estimate{Method: MethodNone}, Test: Test{Method: TestNone}}
	var sum, weights, aOnly, bOnly float64
	strata, signs := make([]Stratum, 0, len(xs)), newFlips(3*len(xs))
	for i := range xs {
		x := &xs[i]
		s, paired := x.stratum()
		f.ExposedA += s.NA
		f.ExposedB += s.NB
		f.Paired += paired
		aOnly += float64(x.Cells[ExposedPass][ExposedFail])
		bOnly += float64(x.Cells[ExposedFail][ExposedPass])
		x.signs(signs, s)
		if s.NA == 0 || s.NB == 0 {
			continue
		}
		w := s.weight()
		sum += w * (float64(s.PassB)/float64(s.NB) - float64(s.PassA)/float64(s.NA))
		weights += w
		strata = append(strata, s)
		f.Scenarios++
	}
	if f.Scenarios == 0 {
		f.Warnings = []Warning{NoData}
		return f
	}
	f.Value, f.N = ptr(sum/weights), float64(f.Scenarios)
	f.Warnings = []Warning{FixedScenarios}
	var lo, hi float64
	if f.Paired == f.ExposedA && f.Paired == f.ExposedB {
		lo, hi = Tango(bOnly, aOnly, float64(f.Paired))
		f.Method = MethodTango
	} else {
		lo, hi = StratifiedMN(strata)
		f.Method = MethodMN
	}
	f.Lo, f.Hi = &lo, &hi
	f.Test = signs.test(seed)
	f.Test.Method = TestSwap
	if f.Test.N > exactFlips {
		f.Test.Method = TestSwapDraws
	}
	return f
}

// stratum counts the exposed trials of both arms, and the repetitions exposed in
// both.
func (x *Exposure) stratum() (s Stratum, paired int) {
	for a := range 3 {
		for b := range 3 {
			n := x.Cells[a][b]
			if a != Unexposed {
				s.NA += n
			}
			if b != Unexposed {
				s.NB += n
			}
			if a == ExposedPass {
				s.PassA += n
			}
			if b == ExposedPass {
				s.PassB += n
			}
			if a != Unexposed && b != Unexposed {
				paired += n
			}
		}
	}
	return s, paired
}

// signs adds what a swap of each repetition would turn: half the difference of
// what its two trials add to b's passes minus their expectation.
func (x *Exposure) signs(f *flips, s Stratum) {
	if s.NA+s.NB == 0 {
		return
	}
	share := float64(s.PassA+s.PassB) / float64(s.NA+s.NB)
	value := [3]float64{Unexposed: 0, ExposedFail: -share, ExposedPass: 1 - share}
	for a := range 3 {
		for b := range 3 {
			f.add((value[b]-value[a])/2, x.Cells[a][b])
		}
	}
}

// CostOfPass is what one pass costs: cost / passes. It is nil when the cost is
// unknown, and infinite (nil, true) when something was spent and nothing
// passed. (Erol et al., "Cost-of-Pass: An Economic Framework for Evaluating
// Language Models", arXiv:2504.13359, 2025.)
func CostOfPass(costUSD *float64, passes int) (usd *float64, infinite bool) {
	switch {
	case costUSD == nil:
		return nil, false
	case passes == 0:
		return nil, true
	}
	return ptr(*costUSD / float64(passes)), false
}
