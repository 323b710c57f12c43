package stats

import (
	"cmp"
	"math"
	"slices"
)

// Pairs is what two arms, a (the base) and b, did in one scenario, over the
// repetitions that are graded in both.
type Pairs struct {
	ID    string // scenario
	N     int    // repetitions graded in both arms
	AOnly int    // of them, passed in a and not in b
	BOnly int    // passed in b and not in a
	Both  int    // passed in both
	// Dropped counts repetitions graded in one arm only.
	Dropped int
	// Worth is how many independent pairs the N are worth; 0 = all of them.
	Worth int
}

// CrossPairs pairs every graded trial of a with every one of b, where repetition r of
// one beside repetition r of the other would mean nothing, as with two models. The
// difference of the scenario is then that of its two mean rates, and its discordant
// share what independent trials would show; together the pairs are worth no more
// than the smaller side has trials.
func CrossPairs(a, b Counts) Pairs {
	return Pairs{ID: a.ID, N: a.Graded * b.Graded, Both: a.Passed * b.Passed, AOnly: a.Passed * (b.Graded - b.Passed),
		BOnly: b.Passed * (a.Graded - a.Passed), Worth: min(a.Graded, b.Graded)}
}

// PairedDifference estimates how much more b passes than a: the mean over
// scenarios of the difference of the two pass rates (b - a), over repetitions
// graded in both.
//
// Interval: Student t on the scenarios' differences, clipped to [-1, 1]. Where
// all differences are equal, or there is one scenario, t says nothing; then
// Tango's score interval with n = scenarios, on the mean shares of discordant
// repetitions.
func PairedDifference(in []Pairs) Estimate {
	diffs, aOnly, bOnly := differences(in)
	if len(diffs) == 0 {
		return Estimate{Method: MethodNone, Warnings: []Warning{NoData}}
	}
	dropped, unequal := 0, false
	var passA, passB float64
	for _, p := range in {
		dropped += p.Dropped
		unequal = unequal || p.N != in[0].N
		if p.N > 0 {
			passA += float64(p.AOnly+p.Both) / float64(p.N)
			passB += float64(p.BOnly+p.Both) / float64(p.N)
		}
	}
	k := float64(len(diffs))
	e := tInterval(diffs, -1, 1)
	if e.Method == MethodNone {
		lo, hi := Tango(bOnly, aOnly, k)
		e.Lo, e.Hi, e.Method = &lo, &hi, MethodTango
	}
	if len(diffs) < fewScenarios {
		e.Warnings = append(e.Warnings, FewScenarios)
	}
	switch {
	case min(passA, passB)/k >= ceilingFrom:
		e.Warnings = append(e.Warnings, Ceiling)
	case max(passA, passB)/k <= floorTo:
		e.Warnings = append(e.Warnings, Floor)
	}
	if unequal {
		e.Warnings = append(e.Warnings, UnequalDenominators)
	}
	if dropped > 0 {
		e.Warnings = append(e.Warnings, UnequalArms)
	}
	return e
}

// differences gives each scenario's difference in pass rate (b - a) by scenario
// id, and the sums over scenarios of their shares of pairs that differ.
func differences(in []Pairs) (diffs []float64, aOnly, bOnly float64) {
	ps := slices.Clone(in)
	slices.SortFunc(ps, func(a, b Pairs) int { return cmp.Compare(a.ID, b.ID) })
	for _, p := range ps {
		if p.N > 0 {
			n := float64(p.N)
			diffs = append(diffs, float64(p.BOnly-p.AOnly)/n)
			aOnly += float64(p.AOnly) / n
			bOnly += float64(p.BOnly) / n
		}
	}
	return diffs, aOnly, bOnly
}

// MeanDifference gives the mean of per-scenario differences of any amount
// (cost, tokens) with Student's t interval; no interval where all are equal or
// there are fewer than two. diffs must be in an order that does not depend on
// the run.
func MeanDifference(diffs []float64) Estimate {
	if len(diffs) == 0 {
		return Estimate{Method: MethodNone, Warnings: []Warning{NoData}}
	}
	e := tInterval(diffs, math.Inf(-1), math.Inf(1))
	if len(diffs) < fewScenarios {
		e.Warnings = []Warning{FewScenarios}
	}
	return e
}

// tInterval is the mean with its t interval clipped to [lo, hi]; MethodNone
// when the values have no spread. (Student, "The probable error of a mean",
// Biometrika 6, 1908.)
func tInterval(x []float64, lo, hi float64) Estimate {
	mean, sd := meanSD(x)
	e := Estimate{Value: ptr(mean), Method: MethodNone, N: float64(len(x))}
	if len(x) < 2 || sd == 0 {
		return e
	}
	half := t95(len(x)-1) * sd / math.Sqrt(float64(len(x)))
	e.Lo, e.Hi, e.Method = ptr(clip(mean-half, lo, hi)), ptr(clip(mean+half, lo, hi)), MethodT
	return e
}

// Tango returns the 95 % score interval of the difference of two paired
// proportions, (b - c)/n, where b pairs of n are (yes, no) and c are (no, yes).
// The counts may be fractional. It is [-1, 1] for n <= 0. (Tango, "Equivalence
// test and confidence interval for the difference in proportions for the
// paired-sample design", Statistics in Medicine 17, 1998.)
func Tango(b, c, n float64) (lo, hi float64) {
	if !(n > 0) {
		return -1, 1
	}
	d := (b - c) / n
	return bisect(-1, d, func(x float64) bool { return tangoScore(b, c, n, x) > z95 }),
		bisect(d, 1, func(x float64) bool { return tangoScore(b, c, n, x) >= -z95 })
}

// tangoScore is the score statistic of the hypothesis that the difference is
// delta: falling in delta, 0 at (b-c)/n. The variance is at the maximum
// likelihood estimate q of the (no, yes) share under the hypothesis.
func tangoScore(b, c, n, delta float64) float64 {
	num := b - c - n*delta
	A := 2 * n
	B := -b - c + (2*n-b+c)*delta
	C := -c * delta * (1 - delta)
	q := (math.Sqrt(max(B*B-4*A*C, 0)) - B) / (2 * A)
	v := n * (2*q + delta*(1-delta))
	if v <= 0 {
		// At the ends the variance is 0: any deviation is infinitely far.
		switch {
		case num > 0:
			return math.Inf(1)
		case num < 0:
			return math.Inf(-1)
		}
		return 0
	}
	return num / math.Sqrt(v)
}

// bisect finds where above turns from true to false in [lo, hi]. Seventy
// halvings are below the spacing of floats here.
func bisect(lo, hi float64, above func(float64) bool) float64 {
	for range 70 {
		mid := lo + (hi-lo)/2
		if above(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo + (hi-lo)/2
}
