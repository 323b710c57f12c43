package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// Newcombe, "Two-sided confidence intervals for the single proportion",
// Statistics in Medicine 17 (1998), table I, method 3 (score without
// continuity correction); the last two: codegolf.stackexchange.com/q/105389.
func TestWilsonPublished(t *testing.T) {
	for _, c := range []struct{ x, n, lo, hi float64 }{
		{81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611}, {1, 29, 0.0061, 0.1718},
		{10, 100, 0.0552, 0.1744}, {100, 100, 0.9630, 1},
	} {
		lo, hi := Wilson(c.x/c.n, c.n)
		near(t, fmt.Sprintf("lower end of %v/%v", c.x, c.n), lo, c.lo, 5e-5)
		near(t, fmt.Sprintf("upper end of %v/%v", c.x, c.n), hi, c.hi, 5e-5)
	}
	if lo, hi := Wilson(0.5, 0); lo != 0 || hi != 1 {
		t.Errorf("no trials: [%v, %v], want [0, 1]", lo, hi)
	}
}

// Fagerland, Lydersen and Laake, "Recommended tests and confidence intervals
// for paired binomial proportions", Statistics in Medicine 33 (2014), and their
// R package contingencytables: airway hyper-responsiveness (1, 1, 7, 12) and
// complete response (59, 6, 16, 80), Tango's asymptotic score interval.
func TestTangoPublished(t *testing.T) {
	lo, hi := Tango(1, 7, 21)
	near(t, "lower end, Bentur", lo, -0.517, 5e-4)
	near(t, "upper end, Bentur", hi, -0.026, 5e-4)
	lo, hi = Tango(6, 16, 161)
	near(t, "lower end, Cavo", lo, -0.1240, 5e-5)
	near(t, "upper end, Cavo", hi, -0.0054, 5e-5)
}

// TestTangoByLikelihood computes the score another way: the nuisance share is
// found by maximising the likelihood numerically, not by Tango's formula.
func TestTangoByLikelihood(t *testing.T) {
	for _, c := range []struct{ b, c, n float64 }{{1, 7, 21}, {6, 16, 161}, {40, 20, 160}, {2.5, 1, 12}, {3, 0, 12}} {
		lo, hi := Tango(c.b, c.c, c.n)
		near(t, fmt.Sprintf("score at the lower end of %v", c), scoreByLikelihood(c.b, c.c, c.n, lo), z95, 1e-3)
		near(t, fmt.Sprintf("score at the upper end of %v", c), scoreByLikelihood(c.b, c.c, c.n, hi), -z95, 1e-3)
	}
}

func scoreByLikelihood(b, c, n, delta float64) float64 {
	// The share of (no, yes) pairs is q, of (yes, no) pairs q + delta.
	term := func(k, p float64) float64 {
		if k == 0 {
			return 0
		}
		return k * math.Log(p)
	}
	loglik := func(q float64) float64 { return term(b, q+delta) + term(c, q) + term(n-b-c, 1-2*q-delta) }
	lo, hi := max(0, -delta)+1e-12, (1-delta)/2-1e-12
	for range 300 { // ternary search: the likelihood is concave
		x, y := lo+(hi-lo)/3, hi-(hi-lo)/3
		if loglik(x) < loglik(y) {
			lo = x
		} else {
			hi = y
		}
	}
	q := (lo + hi) / 2
	return (b - c - n*delta) / math.Sqrt(n*(2*q+delta-delta*delta))
}

func TestTangoEnds(t *testing.T) {
	lo, hi := Tango(0, 0, 12) // no discordant pair: +-z^2/(n+z^2)
	want := z95 * z95 / (12 + z95*z95)
	near(t, "lower end", lo, -want, 1e-12)
	near(t, "upper end", hi, want, 1e-12)
	if _, hi = Tango(12, 0, 12); hi != 1 {
		t.Errorf("all pairs (yes, no): upper end %v, want 1", hi)
	}
	if lo, _ = Tango(0, 12, 12); lo != -1 {
		t.Errorf("all pairs (no, yes): lower end %v, want -1", lo)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		n := 1 + rng.Float64()*50
		b := rng.Float64() * n
		c := rng.Float64() * (n - b)
		lo, hi := Tango(b, c, n)
		lo2, hi2 := Tango(c, b, n)
		if d := (b - c) / n; !(lo <= d && d <= hi && lo >= -1 && hi <= 1) {
			t.Fatalf("Tango(%v, %v, %v) = [%v, %v] does not hold %v", b, c, n, lo, hi, d)
		}
		if math.Abs(lo+hi2) > 1e-9 || math.Abs(hi+lo2) > 1e-9 {
			t.Fatalf("Tango(%v, %v, %v) = [%v, %v] is not the mirror of [%v, %v]", b, c, n, lo, hi, lo2, hi2)
		}
	}
}

// Student's t quantiles: any printed table (df 1, 11, 49).
func TestT95(t *testing.T) {
	near(t, "df 1", t95(1), 12.7062, 5e-5)
	near(t, "df 11", t95(11), 2.2010, 5e-5)
	near(t, "df 49", t95(49), 2.0096, 5e-5)
}

// counts gives one scenario per number of passes, each with n trials.
func counts(n int, passes ...int) []Counts {
	out := make([]Counts, len(passes))
	for i, p := range passes {
		out[i] = Counts{fmt.Sprintf("s%02d", i), n, p}
	}
	return out
}

func TestPassRateMethods(t *testing.T) {
	for _, c := range []struct {
		name         string
		in           []Counts
		value, n     float64
		method       string
		lo, hi       float64
		warnings     []Warning
		wantSE, nSEs float64 // clustered, naive; NaN = nil
	}{
		{"one trial per scenario", counts(1, 1, 1, 0, 1, 0, 1, 1, 0, 1, 1), 0.7, 10, MethodWilson, 0.3968, 0.8922, nil, 0.152753, 0.144914},
		// By hand: means 0 .25 .5 .5 .75 1, mean 0.5, sd 0.353553, se 0.144338, t(5) 2.570582.
		{"spread", counts(4, 0, 1, 2, 2, 3, 4), 0.5, 6, MethodT, 0.128969, 0.871031, nil, 0.144338, 0.102062},
		{"clipped", counts(2, 0, 2), 0.5, 2, MethodT, 0, 1, []Warning{FewScenarios}, 0.5, 0.25},
		{"all equal", counts(4, 2, 2, 2, 2, 2, 2), 0.5, 6, MethodWilsonEffective, 0.1876, 0.8124, nil, 0, 0.102062},
		{"ceiling", counts(5, 5, 5, 5, 5, 5, 5), 1, 6, MethodWilsonEffective, 0.6097, 1, []Warning{Ceiling}, 0, 0},
		// By hand: means 1 x 11 and .5, p = 0.958333, se 0.041667; n = p(1-p)/se^2 (1.96/2.201)^2 = 18.2385.
		{"near 1", counts(2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1), 23.0 / 24, 18.2385, MethodWilsonEffective, 0.7632, 0.9937, []Warning{Ceiling}, 0.041667, 0.040789},
		{"one scenario", counts(5, 3), 0.6, 1, MethodWilsonEffective, 0.0771, 0.9642, []Warning{FewScenarios}, math.NaN(), 0.219089},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := PassRate(c.in)
			near(t, "value", *r.Value, c.value, 1e-12)
			near(t, "n", r.N, c.n, 1e-3)
			if r.Method != c.method {
				t.Errorf("method %q, want %q", r.Method, c.method)
			}
			near(t, "lo", *r.Lo, c.lo, 1e-3)
			near(t, "hi", *r.Hi, c.hi, 1e-3)
			if !slices.Equal(r.Warnings, c.warnings) {
				t.Errorf("warnings %q, want %q", r.Warnings, c.warnings)
			}
			if math.IsNaN(c.wantSE) != (r.SEClustered == nil) {
				t.Errorf("clustered se %v, want %v", r.SEClustered, c.wantSE)
			} else if r.SEClustered != nil {
				near(t, "clustered se", *r.SEClustered, c.wantSE, 1e-6)
			}
			near(t, "naive se", *r.SENaive, c.nSEs, 1e-6)
		})
	}
}

// TestEffectiveNIsBounded: near 0 or 1 a lucky spread cannot claim more than
// two trials per scenario.
func TestEffectiveNIsBounded(t *testing.T) {
	in := counts(100, 95, 96, 95, 96, 95, 96, 95, 96)
	if r := PassRate(in); r.N != 16 || r.Method != MethodWilsonEffective {
		t.Errorf("n = %v by %q, want 16 by %q", r.N, r.Method, MethodWilsonEffective)
	}
}

// TestMethodAtTheBorder: a mean of exactly 0.2 or 0.8 is inside, whatever the
// last bit of the sum says.
func TestMethodAtTheBorder(t *testing.T) {
	for _, in := range [][]Counts{counts(10, 1, 3, 1, 3, 1, 3), counts(10, 9, 7, 9, 7, 9, 7), counts(10, 1, 2, 3, 2, 1, 3, 2)} {
		if r := PassRate(in); r.Method != MethodT {
			t.Errorf("rate %v by %q, want %q", *r.Value, r.Method, MethodT)
		}
	}
	if r := PassRate(counts(10, 1, 3, 1, 3, 1, 2)); r.Method != MethodWilsonEffective {
		t.Errorf("rate %v by %q, want %q", *r.Value, r.Method, MethodWilsonEffective)
	}
}

func TestPassRateDenominators(t *testing.T) {
	in := counts(5, 5, 0, 5, 0, 5, 0, 5)
	in = append(in, Counts{ID: "none"}, Counts{ID: "short", Graded: 1, Passed: 1})
	r := PassRate(in)
	if r.Scenarios != 8 || r.Graded != 36 || r.Passed != 21 || *r.Value != 5.0/8 {
		t.Errorf("got %d scenarios, %d graded, %d passed, rate %v", r.Scenarios, r.Graded, r.Passed, *r.Value)
	}
	if !slices.Contains(r.Warnings, UnequalDenominators) {
		t.Errorf("warnings %q lack %q", r.Warnings, UnequalDenominators)
	}
	if r := PassRate([]Counts{{ID: "none"}}); r.Value != nil || r.Lo != nil || r.Method != MethodNone || !slices.Equal(r.Warnings, []Warning{NoData}) {
		t.Errorf("nothing graded: %+v", r)
	}
	before := fmt.Sprint(in)
	slices.Reverse(in)
	again := PassRate(in)
	if *again.Value != *r.Value || *again.Lo != *r.Lo {
		t.Error("the order of scenarios changes the estimate")
	}
	slices.Reverse(in)
	if fmt.Sprint(in) != before {
		t.Error("the argument was changed")
	}
}

// TestPassK compares with counting all subsets of k trials.
func TestPassK(t *testing.T) {
	for n := 1; n <= 7; n++ {
		for c := 0; c <= n; c++ {
			for k := 1; k <= n; k++ {
				all, some, sets := 0.0, 0.0, 0.0
				for set := range 1 << n {
					size, passed := 0, 0
					for i := range n {
						if set>>i&1 == 1 {
							size++
							if i < c {
								passed++
							}
						}
					}
					if size != k {
						continue
					}
					sets++
					if passed == k {
						all++
					}
					if passed > 0 {
						some++
					}
				}
				hat, ok1 := PassHatK(n, c, k)
				at, ok2 := PassAtK(n, c, k)
				if !ok1 || !ok2 {
					t.Fatalf("n %d c %d k %d: not ok", n, c, k)
				}
				near(t, fmt.Sprintf("pass^%d of %d/%d", k, c, n), hat, all/sets, 1e-12)
				near(t, fmt.Sprintf("pass@%d of %d/%d", k, c, n), at, some/sets, 1e-12)
			}
		}
	}
	for _, bad := range [][3]int{{3, 1, 4}, {3, 4, 2}, {3, -1, 2}, {3, 1, 0}} {
		if _, ok := PassHatK(bad[0], bad[1], bad[2]); ok {
			t.Errorf("PassHatK%v is ok", bad)
		}
		if _, ok := PassAtK(bad[0], bad[1], bad[2]); ok {
			t.Errorf("PassAtK%v is ok", bad)
		}
	}
}

func TestPassHatNeedsKTrials(t *testing.T) {
	in := append(counts(3, 3, 2), Counts{"short", 2, 2})
	if e := PassHat(in, 3); e.Value != nil || e.Method != MethodNone {
		t.Errorf("a scenario with 2 of 3 trials: %+v, want no value", e)
	}
	if e := PassHat(in, 2); e.Value == nil {
		t.Error("k = 2 has no value")
	}
}

func TestPairedDifference(t *testing.T) {
	// Differences .6 .2 0 0 .4 -.2: mean 1/6, sd 0.294392, se 0.120185, t(5) 2.570582.
	in := []Pairs{
		{ID: "a", N: 5, BOnly: 3}, {ID: "b", N: 5, BOnly: 1}, {ID: "c", N: 5, Both: 5}, {ID: "d", N: 5},
		{ID: "e", N: 5, BOnly: 3, AOnly: 1}, {ID: "f", N: 5, AOnly: 1},
	}
	e := PairedDifference(in)
	near(t, "value", *e.Value, 1.0/6, 1e-12)
	near(t, "lo", *e.Lo, 1.0/6-0.308943, 1e-5)
	near(t, "hi", *e.Hi, 1.0/6+0.308943, 1e-5)
	if e.Method != MethodT || len(e.Warnings) != 0 {
		t.Errorf("method %q, warnings %q", e.Method, e.Warnings)
	}
	// All equal: Tango with n = scenarios, here no discordant pair at all.
	same := []Pairs{{ID: "a", N: 5, Both: 5}, {ID: "b", N: 4, Both: 4, Dropped: 1}}
	e = PairedDifference(same)
	lo, hi := Tango(0, 0, 2)
	if e.Method != MethodTango || *e.Lo != lo || *e.Hi != hi || *e.Value != 0 {
		t.Errorf("all equal: %v [%v, %v] by %q", *e.Value, *e.Lo, *e.Hi, e.Method)
	}
	if want := []Warning{FewScenarios, Ceiling, UnequalDenominators, UnequalArms}; !slices.Equal(e.Warnings, want) {
		t.Errorf("warnings %q, want %q", e.Warnings, want)
	}
	// Equal differences that cancel inside scenarios still count as discordant.
	e = PairedDifference([]Pairs{{ID: "a", N: 4, AOnly: 1, BOnly: 1}, {ID: "b", N: 4, AOnly: 1, BOnly: 1}})
	if lo2, _ := Tango(0.5, 0.5, 2); *e.Lo != lo2 {
		t.Errorf("cancelling pairs: lower end %v, want %v", *e.Lo, lo2)
	}
	if e := PairedDifference(nil); e.Value != nil || !slices.Equal(e.Warnings, []Warning{NoData}) {
		t.Errorf("nothing: %+v", e)
	}
}

func TestMeanDifference(t *testing.T) {
	// Student 1908: extra sleep of ten patients, drug 2 against drug 1: mean
	// 1.58, sd 1.229995, t(9) 2.262157.
	e := MeanDifference([]float64{1.2, 2.4, 1.3, 1.3, 0, 1, 1.8, 0.8, 4.6, 1.4})
	near(t, "mean", *e.Value, 1.58, 1e-9)
	near(t, "lo", *e.Lo, 0.7001, 5e-5)
	near(t, "hi", *e.Hi, 2.4599, 5e-5)
	if e := MeanDifference([]float64{0.1, 0.1, 0.1}); *e.Value != 0.1 || e.Lo != nil || e.Method != MethodNone {
		t.Errorf("no spread: %+v", e)
	}
}

// Greenland and Robins 1985: the Mantel-Haenszel risk difference is
// sum((b1 n0 - b0 n1)/n) / sum(n1 n0/n); computed here so.
// exposed makes an exposure from independent counts: no repetition is exposed in
// both arms.
func exposed(id string, passA, failA, passB, failB int) Exposure {
	x := Exposure{ID: id}
	x.Cells[ExposedPass][Unexposed], x.Cells[ExposedFail][Unexposed] = passA, failA
	x.Cells[Unexposed][ExposedPass], x.Cells[Unexposed][ExposedFail] = passB, failB
	return x
}

func TestWhereFired(t *testing.T) {
	// weights 4*2/6 and 1*1/2; differences 0.5-0.25 and 1-0; the third scenario
	// is exposed in one arm only.
	f := WhereFired([]Exposure{exposed("a", 1, 3, 1, 1), exposed("b", 0, 1, 1, 0), exposed("c", 3, 0, 0, 0)}, 1)
	near(t, "where fired", *f.Value, (4.0/3*0.25+0.5*1)/(4.0/3+0.5), 1e-12)
	if f.Scenarios != 2 || f.ExposedA != 8 || f.ExposedB != 3 || f.Paired != 0 || f.Method != MethodMN {
		t.Errorf("got %+v", f)
	}
	if f := WhereFired([]Exposure{exposed("a", 3, 0, 0, 0)}, 1); f.Value != nil || f.Method != MethodNone || f.Test.P != nil {
		t.Errorf("one arm only: %+v", f)
	}
}

func TestCostOfPass(t *testing.T) {
	if usd, inf := CostOfPass(ptr(3.0), 4); inf || *usd != 0.75 {
		t.Errorf("3 USD, 4 passes: %v, %v", *usd, inf)
	}
	if usd, inf := CostOfPass(ptr(3.0), 0); !inf || usd != nil {
		t.Errorf("no pass: %v, %v", usd, inf)
	}
	if usd, inf := CostOfPass(nil, 0); inf || usd != nil {
		t.Errorf("unknown cost: %v, %v", usd, inf)
	}
}

// TestIntervalsHoldTheirValue: whatever the counts, lo <= value <= hi in [0, 1].
func TestIntervalsHoldTheirValue(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	for range 3000 {
		in := make([]Counts, 1+rng.IntN(15))
		for i := range in {
			n := rng.IntN(6)
			in[i] = Counts{fmt.Sprint(i), n, rng.IntN(n + 1)}
		}
		for _, e := range []Estimate{PassRate(in).Estimate, PassHat(in, 1), PassAt(in, 2)} {
			if e.Value == nil {
				continue
			}
			if !(0 <= *e.Lo && *e.Lo <= *e.Value+1e-12 && *e.Value <= *e.Hi+1e-12 && *e.Hi <= 1) {
				t.Fatalf("%v: %v not in [%v, %v] by %q, n %v", in, *e.Value, *e.Lo, *e.Hi, e.Method, e.N)
			}
		}
	}
}
