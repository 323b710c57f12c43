package stats

import (
	"cmp"
	"math"
	"slices"
)

// Methods by which an interval was made.
const (
	MethodNone            = "none"                        // no interval can be given
	MethodWilson          = "Wilson score"                // one trial per scenario
	MethodWilsonEffective = "Wilson score on effective n" // clustered, near 0 or 1, or all scenarios equal
	MethodT               = "Student t over scenarios"    // clustered
	MethodTango           = "Tango score"                 // paired, all scenarios equal
)

// Warning is something to be said beside a number.
type Warning string

// The warnings that an estimate can carry.
const (
	NoData              Warning = "nothing was graded"
	FewScenarios        Warning = "fewer than 6 scenarios"
	Ceiling             Warning = "ceiling: 95 % or more passed, so a better harness could hardly show"
	Floor               Warning = "floor: 5 % or fewer passed, so a worse harness could hardly show"
	UnequalDenominators Warning = "unequal denominators: not every scenario has the same number of graded trials"
	UnequalArms         Warning = "unequal arms: some repetitions are graded in one arm only and were left out"
	FixedScenarios      Warning = "the scenarios are taken as fixed: this says nothing about others"
)

// Thresholds of the warnings.
const (
	fewScenarios = 6
	ceilingFrom  = 0.95
	floorTo      = 0.05
)

// Estimate is a number with its interval. Pointers are nil where there is no
// value: nothing was measured, or the method does not exist for so little data.
type Estimate struct {
	Value    *float64  // point estimate
	Lo, Hi   *float64  // 95 % interval
	Method   string    // how the interval was made, one of the Method constants
	N        float64   // what the method took as n: scenarios, or the effective number
	Warnings []Warning // in a fixed order, without repetition
}

// Counts is what one arm did in one scenario.
type Counts struct {
	ID     string // scenario
	Graded int    // graded trials
	Passed int    // of them, passed
}

// mean is the scenario's share of passes; the caller has seen that Graded > 0.
func (c Counts) mean() float64 { return float64(c.Passed) / float64(c.Graded) }

// graded returns the scenarios that have a graded trial, by id: sums of floats
// must not depend on the order in which trials finished.
func graded(in []Counts) []Counts {
	out := make([]Counts, 0, len(in))
	for _, c := range in {
		if c.Graded > 0 {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b Counts) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// countWarnings gives what must be said of a rate over the given scenarios.
func countWarnings(in []Counts, rate float64) []Warning {
	var w []Warning
	if len(graded(in)) < fewScenarios {
		w = append(w, FewScenarios)
	}
	switch {
	case rate >= ceilingFrom:
		w = append(w, Ceiling)
	case rate <= floorTo:
		w = append(w, Floor)
	}
	for _, c := range in {
		if c.Graded != in[0].Graded {
			return append(w, UnequalDenominators)
		}
	}
	return w
}

// meanSD returns mean and sample standard deviation (n-1; NaN for one value).
// Equal values give a deviation of exactly 0, whatever rounding does.
func meanSD(x []float64) (mean, sd float64) {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	mean = sum / float64(len(x))
	if len(x) < 2 {
		return mean, math.NaN()
	}
	if allEqual(x) {
		return x[0], 0
	}
	ss := 0.0
	for _, v := range x {
		ss += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(ss / float64(len(x)-1))
}

// allEqual takes values that differ by rounding alone as equal: equal fractions
// come out of different divisions.
func allEqual(x []float64) bool {
	lo, hi := x[0], x[0]
	for _, v := range x {
		lo, hi = min(lo, v), max(hi, v)
	}
	return hi-lo <= 1e-12*max(math.Abs(lo), math.Abs(hi))
}

func ptr(v float64) *float64 { return &v }

func clip(v, lo, hi float64) float64 { return min(max(v, lo), hi) }
