package stats

import (
	"cmp"
	"slices"
)

// Exposure is what two arms that differ in one guard alone did in one
// scenario, over the trials in which that guard fired: a trial is exposed by
// its own first firing, real or in shadow, never by the other arm's.
type Exposure struct {
	ID     string // scenario
	NA     int    // graded exposed trials of a, the base
	PassA  int    // of them, passed
	NB     int    // graded exposed trials of b
	PassB  int    // of them, passed
	Paired int    // repetitions exposed in both
	// Cells counts repetitions graded in both arms by what happened in a (first
	// index) and in b: Unexposed, ExposedFail or ExposedPass. The fields above follow
	// from it.
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
// about others. There is no interval yet, so the method is "none".
func WhereFired(in []Exposure) Fired {
	xs := slices.Clone(in)
	slices.SortFunc(xs, func(a, b Exposure) int { return cmp.Compare(a.ID, b.ID) })
	f := Fired{Estimate: Estimate{Method: MethodNone}}
	var sum, weights float64
	for _, x := range xs {
		f.ExposedA += x.NA
		f.ExposedB += x.NB
		f.Paired += x.Paired
		if x.NA == 0 || x.NB == 0 {
			continue
		}
		na, nb := float64(x.NA), float64(x.NB)
		w := na * nb / (na + nb)
		sum += w * (float64(x.PassB)/nb - float64(x.PassA)/na)
		weights += w
		f.Scenarios++
	}
	if f.Scenarios == 0 {
		f.Warnings = []Warning{NoData}
		return f
	}
	f.Value, f.N = ptr(sum/weights), float64(f.Scenarios)
	f.Warnings = []Warning{FixedScenarios}
	return f
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
