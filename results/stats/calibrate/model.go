package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/harnessbench/harnessbench/results/stats"
)

// sharing is the chance that, under shared-prefix, the two trials of a repetition
// get the same luck; otherwise, and always under independent coupling, each has
// its own.
const sharing = 0.6

// cell says how suites are made.
type cell struct {
	scenarios, reps int
	icc             float64 // of repetitions within a scenario
	rate            float64 // mean pass rate of the base over all scenarios there could be
	shared          bool    // coupling shared-prefix
}

func (c cell) String() string {
	return fmt.Sprintf("%d x %d, ICC %.1f, rate %.2f, %s", c.scenarios, c.reps, c.icc, c.rate, c.coupling())
}

// columns are the first of a row about the cell.
func (c cell) columns() []string {
	return []string{strconv.Itoa(c.scenarios), strconv.Itoa(c.reps), fmt.Sprintf("%.1f", c.icc), c.coupling(), fmt.Sprintf("%.1f", c.rate)}
}

func (c cell) coupling() string {
	if c.shared {
		return "shared-prefix"
	}
	return "independent"
}

// luck is the chance of equal luck.
func (c cell) luck() float64 {
	if c.shared {
		return sharing
	}
	return 0
}

// ids names scenarios; suites of a chunk share the strings.
var ids = func() (out [1000]string) {
	for i := range out {
		out[i] = "s" + strconv.Itoa(1000+i)
	}
	return out
}()

// beta draws a scenario's pass rate from the beta distribution with the given mean
// and intra-class correlation: shapes mean and 1-mean times (1-icc)/icc.
func beta(r *rand.Rand, mean, icc float64) float64 {
	switch {
	case icc <= 0:
		return mean
	case icc >= 1:
		if r.Float64() < mean {
			return 1
		}
		return 0
	}
	n := (1 - icc) / icc
	x, y := gamma(r, mean*n), gamma(r, (1-mean)*n)
	if x+y == 0 { // both below the smallest float
		return mean
	}
	return x / (x + y)
}

// gamma draws from the gamma distribution with scale 1. (Marsaglia and Tsang, "A
// simple method for generating gamma variables", ACM TOMS 26, 2000; shapes below 1
// by their section 6.)
func gamma(r *rand.Rand, shape float64) float64 {
	if shape < 1 {
		return gamma(r, shape+1) * math.Exp(-r.ExpFloat64()/shape)
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-r.Float64()) < 0.5*x*x+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

// shifted is the pass rate of the other arm in a scenario, so that the mean over
// scenarios differs by effect: it turns a share of failures into passes, or of
// passes into failures. [stats.Design] assumes the same.
func shifted(p, mean, effect float64) float64 {
	if effect >= 0 {
		return p + (1-p)*effect/(1-mean)
	}
	return p + p*effect/mean
}

// twins draws the two trials of one repetition.
func twins(r *rand.Rand, pa, pb, luck float64) (a, b bool) {
	u := r.Float64()
	a = u < pa
	if luck == 0 || r.Float64() >= luck {
		u = r.Float64()
	}
	return a, u < pb
}

// pairs draws a suite of two arms whose mean pass rates differ by effect.
func (c cell) pairs(r *rand.Rand, effect float64, out []stats.Pairs) []stats.Pairs {
	out = out[:0]
	for i := range c.scenarios {
		p := beta(r, c.rate, c.icc)
		q := shifted(p, c.rate, effect)
		s := stats.Pairs{ID: ids[i], N: c.reps}
		for range c.reps {
			switch a, b := twins(r, p, q, c.luck()); {
			case a && b:
				s.Both++
			case a:
				s.AOnly++
			case b:
				s.BOnly++
			}
		}
		out = append(out, s)
	}
	return out
}

// differences are the scenarios' differences in pass rate.
func differences(in []stats.Pairs, out []float64) []float64 {
	out = out[:0]
	for _, p := range in {
		out = append(out, float64(p.BOnly-p.AOnly)/float64(p.N))
	}
	return out
}

// A guard fires in two scenarios of three, there in trials that go badly: their
// pass rate is harmed times that of the scenario.
const harmed = 0.75

// exposures draws what two arms that differ in one guard did. The effect is added
// to the pass rate of b's exposed trials, at most 1 - harmed. Under shared-prefix
// the arms are alike until the guard fires, so it fires in both or in none, and
// trials without a firing end alike.
func (c cell) exposures(r *rand.Rand, effect float64, out []stats.Exposure) []stats.Exposure {
	out = out[:0]
	for i := range c.scenarios {
		x := stats.Exposure{ID: ids[i]}
		p := beta(r, c.rate, c.icc)
		fires := 0.0
		if i%3 != 0 {
			fires = 0.2 + 0.6*r.Float64()
		}
		for range c.reps {
			fa := r.Float64() < fires
			fb := fa
			if !c.shared {
				fb = r.Float64() < fires
			}
			pa, pb, luck := p, p, c.luck()
			if fa {
				pa *= harmed
			} else if c.shared {
				luck = 1
			}
			if fb {
				pb = pb*harmed + effect
			}
			a, b := twins(r, pa, pb, luck)
			x.Cells[exposed(fa, a)][exposed(fb, b)]++
		}
		out = append(out, x)
	}
	return out
}

func exposed(fired, passed bool) int {
	switch {
	case !fired:
		return stats.Unexposed
	case passed:
		return stats.ExposedPass
	}
	return stats.ExposedFail
}
