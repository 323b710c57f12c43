package stats

import (
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// Design is how many trials a comparison of two arms over all scenarios has, and
// what is assumed of them. The test is the default one: sign flips of the scenarios'
// differences.
//
// The assumptions, which a run can be held against:
//
//   - pass rates of scenarios follow a beta distribution, and repetitions of one are
//     independent given its rate (beta-binomial; the variance inflation of Donner and
//     Klar, "Design and Analysis of Cluster Randomization Trials", 2000, chapter 5);
//   - b turns the same share of every scenario's failures into passes (a loss: of
//     passes into failures). An effect in few scenarios needs more of them;
//   - with chance Coupling the two trials of a repetition have the same luck, so that
//     only the effect can part them; otherwise each has its own.
type Design struct {
	Scenarios   int
	Repetitions int
	Rate        float64 // pass rate of the base, assumed, 0..1
	ICC         float64 // of repetitions within a scenario, 0..1
	Coupling    float64 // correlation of the two arms' trials of one repetition beside it, 0 = independent
	Alpha       float64 // two-sided, of the family; 0 = 0.05
	Family      int     // comparisons in the family, for Holm's first step; 0 = 1
}

// alpha is the level at which the smallest p value of the family is judged.
func (d Design) alpha() float64 {
	a := d.Alpha
	if a == 0 {
		a = 0.05
	}
	return a / float64(max(1, d.Family))
}

// LeastDiffering is the number of scenarios that must differ between the arms
// before any outcome can be significant: the least p value of n sign flips is
// 2^(1-n).
func (d Design) LeastDiffering() int {
	return 1 + int(math.Ceil(-math.Log2(d.alpha())-1e-9))
}

// Power is the chance that the test sees an effect (a difference in mean pass
// rate, b - a, not 0) with its right sign. It is NaN where a number is out of
// range, or the rate plus the effect is.
//
// Method: M, the number of scenarios whose difference is not 0, is binomial. At
// one repetition M fixes the test, which is then exact. Otherwise the M differences
// have a known mean and variance (Miller 2024, section 5, with the variance of the
// scenarios' effects, of trials, and the covariance of coupled ones), and the
// power is that of a t test of M values by the noncentral t distribution; it is 0
// where M is below [Design.LeastDiffering].
func (d Design) Power(effect float64) float64 {
	if effect < 0 { // fail and pass change places
		d.Rate, effect = 1-d.Rate, -effect
	}
	return d.gain(effect, d.nodes())
}

// SmallestEffect is the least gain in pass rate that is seen with the given power.
// Where not even a gain to 1 is, it is the least loss, below 0; NaN when none is.
func (d Design) SmallestEffect(power float64) float64 {
	if gain := d.smallest(power); !math.IsNaN(gain) {
		return gain
	}
	return -d.mirrored().smallest(power)
}

// smallest finds the smallest gain to four digits: power rises with it.
func (d Design) smallest(power float64) float64 {
	nodes := d.nodes()
	room := int(math.Floor((1 - d.Rate) * 1e4))
	i := sort.Search(room, func(i int) bool { return d.gain(float64(i+1)/1e4, nodes) >= power })
	if i >= room {
		return math.NaN()
	}
	return float64(i+1) / 1e4
}

// Cheapest searches the given numbers of scenarios and of repetitions, both
// rising, for the design that sees an effect with the given power at the least
// cost; ok is false when none does. cost must rise with scenarios.
func (d Design) Cheapest(effect, power float64, scenarios, repetitions []int, cost func(scenarios, repetitions int) float64) (best Design, ok bool) {
	if effect < 0 {
		best, ok = d.mirrored().Cheapest(-effect, power, scenarios, repetitions, cost)
		return best.mirrored(), ok
	}
	nodes, least := d.nodes(), math.Inf(1)
	for _, reps := range repetitions {
		d.Repetitions = reps
		i := sort.Search(len(scenarios), func(i int) bool {
			d.Scenarios = scenarios[i]
			return d.gain(effect, nodes) >= power
		})
		if i == len(scenarios) {
			continue
		}
		d.Scenarios = scenarios[i]
		if c := cost(d.Scenarios, reps); c < least {
			best, least, ok = d, c, true
		}
	}
	return best, ok
}

func (d Design) mirrored() Design {
	d.Rate = 1 - d.Rate
	return d
}

// rateNodes is the number of quantiles that stand for the distribution of pass
// rates, where only its shape counts.
const rateNodes = 40

// nodes are pass rates of scenarios, equally likely.
func (d Design) nodes() []float64 {
	if !(d.Rate > 0 && d.Rate < 1 && d.ICC > 0) {
		return []float64{d.Rate}
	}
	out := make([]float64, rateNodes)
	icc := min(d.ICC, 0.999)
	n := (1 - icc) / icc
	b := distuv.Beta{Alpha: d.Rate * n, Beta: (1 - d.Rate) * n}
	for i := range out {
		out[i] = b.Quantile((float64(i) + 0.5) / rateNodes)
	}
	return out
}

// gain is the power for an effect above 0.
func (d Design) gain(effect float64, nodes []float64) float64 {
	a := d.alpha()
	if !(d.Scenarios >= 1 && d.Repetitions >= 1 && effect > 0 && d.Rate >= 0 && d.Rate+effect <= 1+1e-12 &&
		d.ICC >= 0 && d.ICC <= 1 && d.Coupling >= 0 && d.Coupling <= 1 && a > 0 && a < 1) {
		return math.NaN()
	}
	m := d.moments(effect, nodes)
	if d.Repetitions == 1 {
		return d.overDiffering(m.differ, func(n int) float64 { return signPower(n, (1+m.by[0])/2, a) })
	}
	z := distuv.UnitNormal.Quantile(1 - a/2)
	return d.overDiffering(m.differ, func(n int) float64 { return m.flipPower(float64(n), z, 1/float64(d.Repetitions)) })
}

// moments of a scenario's difference, given that it is not 0.
type moments struct {
	differ float64    // chance that it is not 0
	by     [4]float64 // mean of its powers 1 to 4
}

// moments adds up, over the nodes, those of (pairs that b alone passes - pairs that
// a alone passes) / repetitions.
func (d Design) moments(effect float64, nodes []float64) (m moments) {
	fail := 0.0
	for _, p := range nodes {
		fail += (1 - p) / float64(len(nodes))
	}
	share := min(1, effect/fail) // of failures that become passes
	r := float64(d.Repetitions)
	for _, p := range nodes {
		q := p + share*(1-p)
		up := (1-d.Coupling)*(1-p)*q + d.Coupling*(q-p)
		down := (1 - d.Coupling) * p * (1 - q)
		m.differ += 1 - tie(d.Repetitions, up, down)
		// Central moments of a step, of the mean of r steps, then those about 0.
		e, s := up-down, up+down
		c2, c3, c4 := s-e*e, e-3*e*s+2*e*e*e, s-4*e*e+6*e*e*s-3*e*e*e*e
		c2, c3, c4 = c2/r, c3/(r*r), (c4+3*(r-1)*c2*c2)/(r*r*r)
		for k, x := range [4]float64{e, c2 + e*e, c3 + 3*e*c2 + e*e*e, c4 + 4*e*c3 + 6*e*e*c2 + e*e*e*e} {
			m.by[k] += x
		}
	}
	m.differ = max(m.differ, 1e-12)
	for k := range m.by {
		m.by[k] /= m.differ // 0 adds nothing to a moment
	}
	m.differ /= float64(len(nodes))
	return m
}

// mostWalked is the number of repetitions up to which ties are counted exactly.
const mostWalked = 64

// tie is the chance that n steps of +1, -1 or 0 end where they began.
func tie(n int, up, down float64) float64 {
	if n <= mostWalked {
		return walk(n, up, down)[n]
	}
	mean, sd := float64(n)*(up-down), math.Sqrt(float64(n)*(up+down-(up-down)*(up-down)))
	if sd < 1e-9 {
		return float64(count(math.Abs(mean) < 0.5))
	}
	return distuv.UnitNormal.CDF((0.5-mean)/sd) - distuv.UnitNormal.CDF((-0.5-mean)/sd)
}

// walk is the distribution of n steps of +1, -1 or 0: entry n+k is the chance of k.
func walk(n int, up, down float64) []float64 {
	at, next := make([]float64, 2*n+1), make([]float64, 2*n+1)
	at[n] = 1
	for i := range n {
		clear(next)
		for k := n - i; k <= n+i; k++ {
			next[k] += at[k] * (1 - up - down)
			next[k+1] += at[k] * up
			next[k-1] += at[k] * down
		}
		at, next = next, at
	}
	return at
}

// flipPower is the chance that the sum S of n differences exceeds what sign flips
// of them allow: c sqrt(V), V the sum of their squares, plus half a step of the
// lattice that S lies on. c is the normal quantile z, corrected for the lighter
// tails of a sum of n signs (Cornish and Fisher 1938); S - c sqrt(V) is taken as
// normal with its mean and variance to the first order in 1/n.
func (m *moments) flipPower(n, z, half float64) float64 {
	m1, m2, m3, m4 := m.by[0], m.by[1], m.by[2], m.by[3]
	c := z - (z*z*z-3*z)/12*(m4/(m2*m2))/n
	v2 := m4 - m2*m2
	root := math.Sqrt(n * m2)
	mean := n*m1 - c*root*(1-v2/(8*n*m2*m2)) - half
	variance := n * (m2 - m1*m1 - c/root*(m3-m1*m2) + c*c/(4*n*m2)*v2)
	if variance <= 1e-12 {
		return float64(count(mean > 0))
	}
	return distuv.UnitNormal.CDF(mean / math.Sqrt(variance))
}

// overDiffering is the mean of power over the number of scenarios that differ.
func (d Design) overDiffering(differ float64, power func(m int) float64) float64 {
	n := float64(d.Scenarios)
	least, mean := d.LeastDiffering(), n*differ
	if mean > 200 && mean > float64(3*least) { // one number stands for all
		return power(int(mean + 0.5))
	}
	sum, sd := 0.0, math.Sqrt(mean)
	b := distuv.Binomial{N: n, P: min(differ, 1-1e-12)}
	for m := max(least, int(mean-6*sd)); m <= d.Scenarios && float64(m) <= mean+6*sd+6; m++ {
		sum += b.Prob(float64(m)) * power(m)
	}
	return min(sum, 1)
}

// signPower is the chance that of m scenarios that differ by 1, each upwards with
// the given chance, so many go up that a two-sided sign test rejects.
func signPower(m int, up, alpha float64) float64 {
	null := distuv.Binomial{N: float64(m), P: 0.5}
	most := -1 // of the down ones
	for tail := 0.0; most < m; most++ {
		if tail += null.Prob(float64(most + 1)); 2*tail > alpha*(1+1e-12) {
			break
		}
	}
	if most < 0 {
		return 0
	}
	if down := 1 - up; down > 0 {
		return distuv.Binomial{N: float64(m), P: down}.CDF(float64(most))
	}
	return 1
}

// Numbers from..to, for [Design.Cheapest].
func Numbers(from, to int) []int {
	out := slices.Grow([]int(nil), max(0, to-from+1))
	for i := from; i <= to; i++ {
		out = append(out, i)
	}
	return out
}
