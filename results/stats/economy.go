package stats

import (
	"cmp"
	"math"
	"slices"
)

// Methods of intervals of ratios.
const (
	MethodFieller   = "Fieller over scenarios"
	MethodBootstrap = "percentiles of a bootstrap over scenarios"
)

// Warnings of ratios and costs.
const (
	UnknownCost   Warning = "the cost of a trial is unknown, and so are all that depend on it"
	Unbounded     Warning = "the interval has no upper end: the data do not exclude that next to nothing passes"
	FewDraws      Warning = "in more than 1 % of the draws nothing passed in either arm; these were left out"
	UnsharedArms  Warning = "not every scenario was run in every arm"
	NotOrthogonal Warning = "the design is not balanced for this effect: others mix into it in part"
)

// Totals is what one arm spent and got in one scenario.
type Totals struct {
	ID      string   // scenario
	Trials  int      // run, errored ones included
	Graded  int      // of them, graded
	Passed  int      // of them, passed
	CostUSD *float64 // of all trials; nil when a price is unknown
}

// byID sorts a copy, and reports whether all costs are known.
func byID(in []Totals) (out []Totals, known bool) {
	out, known = slices.Clone(in), true
	slices.SortFunc(out, func(a, b Totals) int { return cmp.Compare(a.ID, b.ID) })
	for _, t := range out {
		known = known && (t.CostUSD != nil || t.Trials == 0)
	}
	return out, known
}

// PerPass is a cost of a pass with its interval, in USD.
type PerPass struct {
	Estimate
	Infinite  bool // something was graded and nothing passed: there is no value
	Unbounded bool // the interval has no upper end: Hi is nil, and Lo where nothing is excluded
}

// CostPerPass estimates cost / passes over all scenarios, with the interval of
// [Ratio] on the scenarios' totals; the cost of errored trials is in it. (Erol et
// al., "Cost-of-Pass: An Economic Framework for Evaluating Language Models",
// arXiv:2504.13359, 2025.)
func CostPerPass(in []Totals) PerPass {
	ts, known := byID(in)
	p := PerPass{Estimate: Estimate{Method: MethodNone, N: float64(len(ts))}}
	var cost, passes []float64
	graded, passed := 0, 0
	for _, t := range ts {
		graded, passed = graded+t.Graded, passed+t.Passed
		if t.Trials == 0 || !known {
			continue
		}
		cost, passes = append(cost, *t.CostUSD), append(passes, float64(t.Passed))
	}
	switch {
	case graded == 0:
		p.Warnings = []Warning{NoData}
	case passed == 0:
		p.Infinite = true
	case !known:
		p.Warnings = []Warning{UnknownCost}
	default:
		p.Estimate, p.Unbounded = Ratio(passes, cost)
	}
	return p
}

// Ratio estimates sum(y) / sum(x) of the totals of scenarios, none negative, with
// Fieller's interval: all ratios r for which a t test of mean(y - r x) = 0 does not
// reject. Where mean(x) cannot be told from 0 that set has no upper end:
// unbounded is true, Hi is nil, and so is Lo when the set is everything. It has
// no value when sum(x) is 0 and no interval below two scenarios or without any
// spread. It assumes independent scenarios and nearly normal means. (Fieller,
// "Some problems in interval estimation", JRSS B 16, 1954.)
func Ratio(x, y []float64) (e Estimate, unbounded bool) {
	e = Estimate{Method: MethodNone, N: float64(len(x))}
	mx, sx := meanSD(x)
	my, sy := meanSD(y)
	if len(x) == 0 || len(x) != len(y) || mx <= 0 {
		e.Warnings = []Warning{NoData}
		return e, false
	}
	e.Value = ptr(my / mx)
	if len(x) < fewScenarios {
		e.Warnings = append(e.Warnings, FewScenarios)
	}
	if len(x) < 2 || sy == 0 && (sx == 0 || my == 0) {
		return e, false
	}
	k := float64(len(x))
	cov := 0.0
	for i := range x {
		cov += (x[i] - mx) * (y[i] - my)
	}
	t2 := t95(len(x)-1) * t95(len(x)-1) / k
	vx, vy, cxy := t2*sx*sx, t2*sy*sy, t2*cov/(k-1)
	// The set of r with a r^2 - 2 b r + c <= 0.
	a, b, c := mx*mx-vx, mx*my-cxy, my*my-vy
	root := b*b - a*c
	e.Method = MethodFieller
	if a > 0 {
		r := math.Sqrt(max(root, 0))
		lo, hi := max((b-r)/a, 0), (b+r)/a
		if hi-lo <= sameSize*hi { // y is a multiple of x: no spread
			e.Method = MethodNone
			return e, false
		}
		e.Lo, e.Hi = ptr(lo), ptr(hi)
		return e, false
	}
	e.Warnings = append(e.Warnings, Unbounded)
	if a == 0 || root < 0 {
		return e, true
	}
	// Outside the two roots; amounts are not negative, so of the left part only
	// what lies above 0 counts, and then nothing is excluded below.
	small, large := (b+math.Sqrt(root))/a, (b-math.Sqrt(root))/a
	if small < 0 && large > 0 {
		e.Lo = ptr(large)
	}
	return e, true
}

// PerPassRatio estimates how many times a's cost of a pass b pays, with the
// percentile interval of a bootstrap over scenarios, resampled for both arms
// together. Hi is nil where b passes nothing in so many draws that the interval has
// no upper end. (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993,
// chapter 13.)
func PerPassRatio(a, b []Totals, draws int, seed uint64) Estimate {
	return Resample([]ArmTotals{{"a", a}, {"b", b}}, draws, seed).PerPassRatio(0, 1)
}

// ArmTotals is one arm's totals.
type ArmTotals struct {
	Name      string
	Scenarios []Totals
}

// FrontierPoint is where an arm stands between cost and pass rate.
type FrontierPoint struct {
	Name     string
	Cost     *float64 // USD a trial; nil when unknown: the arm cannot be placed
	Rate     *float64 // pass rate: mean over scenarios of the mean over repetitions
	On       bool     // no arm is at least as good in both and better in one
	Share    *float64 // share of bootstrap draws in which that is so; nil when it cannot be placed
	Beaten   string   // the arm that beats it with the highest pass rate; empty when On
	Warnings []Warning
}

// Frontier finds the Pareto frontier of cost a trial (low is good) and pass rate
// (high is good), and how often each arm is on it when scenarios are resampled,
// the same ones for all arms.
func Frontier(arms []ArmTotals, draws int, seed uint64) []FrontierPoint {
	return Resample(arms, draws, seed).Frontier()
}

// BootstrapDraws is the number of draws that reports use.
const BootstrapDraws = 10_000
