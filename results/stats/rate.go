package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// z95 is the two-sided 95 % point of the normal distribution, 1.96.
var z95 = distuv.UnitNormal.Quantile(0.975)

// Student's t is used for rates in tLo..tHi, the ends included: rounding in the
// last bit of a mean must not choose the method.
const (
	tLo, tHi = 0.2, 0.8
	rounding = 1e-9
)

// t95 is the two-sided 95 % point of Student's t with df degrees of freedom.
func t95(df int) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(df)}.Quantile(0.975)
}

// Rate is the pass rate of one arm.
type Rate struct {
	Estimate
	SEClustered *float64 // sd of scenario means / sqrt(scenarios); nil below 2 scenarios
	SENaive     *float64 // as if all trials were independent
	NaiveLo     *float64 // Wilson interval as if all trials were independent
	NaiveHi     *float64
	Scenarios   int // with at least one graded trial
	Graded      int // graded trials
	Passed      int // of them, passed
}

// PassRate estimates an arm's pass rate: the mean over scenarios of the mean
// over repetitions. Scenarios without a graded trial are left out and warned
// of.
//
// Standard error, clustered: sd of the scenario means / sqrt(scenarios)
// (Miller 2024, section 2.2, with equal weight per scenario). Naive:
// sqrt(p(1-p)/trials) on the pooled share of passes.
//
// Interval: see [valueInterval]. With one trial per scenario it is Wilson's.
func PassRate(in []Counts) Rate {
	cs := graded(in)
	r := Rate{Estimate: Estimate{Method: MethodNone}, Scenarios: len(cs)}
	if len(cs) == 0 {
		r.Warnings = []Warning{NoData}
		return r
	}
	means, single := make([]float64, len(cs)), true
	for i, c := range cs {
		means[i] = c.mean()
		single = single && c.Graded == 1
		r.Graded += c.Graded
		r.Passed += c.Passed
	}
	r.Estimate = valueInterval(means, single)
	if _, sd := meanSD(means); !math.IsNaN(sd) {
		r.SEClustered = ptr(sd / math.Sqrt(float64(len(means))))
	}
	n := float64(r.Graded)
	pooled := float64(r.Passed) / n
	r.SENaive = ptr(math.Sqrt(pooled * (1 - pooled) / n))
	lo, hi := Wilson(pooled, n)
	r.NaiveLo, r.NaiveHi = &lo, &hi
	r.Warnings = countWarnings(in, *r.Value)
	return r
}

// valueInterval gives mean and 95 % interval of values in [0, 1], one per
// scenario.
//
//   - single (one observation per scenario): Wilson with n = scenarios.
//   - otherwise Student t on the values, clipped to [0, 1];
//   - but where all values are equal, or the mean is outside 0.2..0.8, where t
//     is short or empty: Wilson on the effective n
//     min(p(1-p)/se^2 x (z/t)^2, 2 x scenarios), and n = scenarios when se = 0.
//     (Korn and Graubard, "Confidence intervals for proportions with small
//     expected number of positive counts", Survey Methodology 24, 1998: the
//     effective sample size, corrected for the degrees of freedom of se.)
//
// One scenario has no se: its n is 1.
func valueInterval(values []float64, single bool) Estimate {
	k := len(values)
	mean, sd := meanSD(values)
	e := Estimate{Value: ptr(mean), N: float64(k)}
	if single {
		return e.wilson(MethodWilson)
	}
	if k < 2 || sd == 0 {
		return e.wilson(MethodWilsonEffective)
	}
	se, t := sd/math.Sqrt(float64(k)), t95(k-1)
	if mean < tLo-rounding || mean > tHi+rounding {
		e.N = min(mean*(1-mean)/(se*se)*(z95/t)*(z95/t), 2*float64(k))
		return e.wilson(MethodWilsonEffective)
	}
	e.Method = MethodT
	e.Lo, e.Hi = ptr(clip(mean-t*se, 0, 1)), ptr(clip(mean+t*se, 0, 1))
	return e
}

func (e Estimate) wilson(method string) Estimate {
	lo, hi := Wilson(*e.Value, e.N)
	e.Lo, e.Hi, e.Method = &lo, &hi, method
	return e
}

// Wilson returns the 95 % score interval of a proportion p of n trials; n may
// be fractional (an effective number). It is [0, 1] for n <= 0. (Wilson,
// "Probable inference, the law of succession, and statistical inference",
// JASA 22, 1927.)
func Wilson(p, n float64) (lo, hi float64) {
	if !(n > 0) {
		return 0, 1
	}
	z2 := z95 * z95
	centre := (p + z2/(2*n)) / (1 + z2/n)
	half := z95 / (1 + z2/n) * math.Sqrt(p*(1-p)/n+z2/(4*n*n))
	lo, hi = clip(centre-half, 0, 1), clip(centre+half, 0, 1)
	// At the ends the formula gives the end itself, up to rounding.
	if p <= 0 {
		lo = 0
	}
	if p >= 1 {
		hi = 1
	}
	return lo, hi
}
