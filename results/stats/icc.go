package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// MethodF names the interval of [ICC].
const MethodF = "F ratio of scenarios to repetitions"

// Warnings of [ICC].
const (
	NoRepetitions Warning = "no scenario has two graded trials, so nothing is known of their resemblance"
	NegativeICC   Warning = "repetitions of a scenario resemble each other less than chance would have it; shown as 0"
	ApproximateF  Warning = "the interval is exact for normal values and approximate for passes"
)

// ICC estimates the intra-class correlation: how much repetitions of one scenario
// resemble each other, 0 (as if independent) to 1 (all alike). It is the one-way
// analysis of variance's (MSB - MSW) / (MSB + (n0-1) MSW), n0 the mean number of
// repetitions corrected for unequal ones; below 0 it is shown as 0. (Donner, "A
// review of inference procedures for the intraclass correlation coefficient in
// the one-way random effects model", International Statistical Review 54, 1986;
// the interval is Searle's, its equation 3.3.)
//
// It has no value where no scenario has two graded trials or all trials have one
// verdict, and no interval where all repetitions of each scenario agree.
func ICC(in []Counts) Estimate {
	cs := graded(in)
	none := Estimate{Method: MethodNone, N: float64(len(cs)), Warnings: []Warning{NoData}}
	k := float64(len(cs))
	var n, squares, passed float64
	for _, c := range cs {
		g := float64(c.Graded)
		n, squares, passed = n+g, squares+g*g, passed+float64(c.Passed)
	}
	switch {
	case len(cs) < 2 || passed == 0 || passed == n:
		return none
	case n == k:
		none.Warnings = []Warning{NoRepetitions}
		return none
	}
	var between, within float64
	for _, c := range cs {
		g, m := float64(c.Graded), c.mean()
		between += g * (m - passed/n) * (m - passed/n)
		within += g * m * (1 - m)
	}
	msb, msw := between/(k-1), within/(n-k)
	n0 := (n - squares/n) / (k - 1)
	e := Estimate{Method: MethodNone, N: k}
	icc := func(f float64) float64 { return clip((f-1)/(f+n0-1), 0, 1) }
	if msw == 0 {
		e.Value = ptr(1)
		return e
	}
	raw := (msb - msw) / (msb + (n0-1)*msw)
	e.Value = ptr(clip(raw, 0, 1))
	if raw < 0 {
		e.Warnings = append(e.Warnings, NegativeICC)
	}
	f := distuv.F{D1: k - 1, D2: n - k}
	lo, hi := icc(msb/msw/f.Quantile(0.975)), icc(msb/msw/f.Quantile(0.025))
	if hi > lo && !math.IsNaN(hi) {
		e.Lo, e.Hi, e.Method = ptr(lo), ptr(hi), MethodF
		e.Warnings = append(e.Warnings, ApproximateF)
	}
	return e
}
