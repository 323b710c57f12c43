package stats

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// The reference values come from R and from Python; testdata/reference.R and
// testdata/reference.py make them, and say how.

func reference(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func TestAgainstR(t *testing.T) {
	var r struct {
		Paired struct {
			Diffs        []float64
			Mean, Lo, Hi float64
			PT           float64 `json:"p_t"`
			PSign        float64 `json:"p_sign_flip"`
		}
		McNemar struct {
			A []int     `json:"a_only"`
			B []int     `json:"b_only"`
			P []float64 `json:"p"`
		}
		Adjust struct{ P, Holm, BH []float64 }
		F      struct{ D1, D2, Lo, Hi []float64 } `json:"f_quantiles"`
		Margin struct {
			N            []int
			A            []int `json:"a_only"`
			B            []int `json:"b_only"`
			Both         []int
			Margin       float64
			PNonInferior float64 `json:"p_noninferior"`
			PEquivalent  float64 `json:"p_equivalent"`
		}
		ICC struct {
			Passed, Graded []int
			ICC, Lo, Hi    float64
		}
		Fieller struct {
			X, Y          []float64
			Ratio, Lo, Hi float64
		}
		Factorial struct{ Response, Effects []float64 }
	}
	reference(t, "reference-r.json", &r)
	e := MeanDifference(r.Paired.Diffs)
	near(t, "mean", *e.Value, r.Paired.Mean, 1e-12)
	near(t, "t lo", *e.Lo, r.Paired.Lo, 1e-12)
	near(t, "t hi", *e.Hi, r.Paired.Hi, 1e-12)
	near(t, "paired t", *PairedT(r.Paired.Diffs).P, r.Paired.PT, 1e-12)
	near(t, "sign flips", *SignFlip(r.Paired.Diffs, 1).P, r.Paired.PSign, 1e-12)
	for i, p := range r.McNemar.P {
		near(t, "McNemar", *McNemar(r.McNemar.A[i], r.McNemar.B[i]).P, p, 1e-12)
	}
	for i := range r.Adjust.P {
		near(t, "Holm", Holm(r.Adjust.P)[i], r.Adjust.Holm[i], 1e-12)
		near(t, "BH", BenjaminiHochberg(r.Adjust.P)[i], r.Adjust.BH[i], 1e-12)
	}
	for i, d1 := range r.F.D1 {
		f := distuv.F{D1: d1, D2: r.F.D2[i]}
		near(t, "F quantile", f.Quantile(0.025), r.F.Lo[i], 1e-9*r.F.Lo[i])
		near(t, "F quantile", f.Quantile(0.975), r.F.Hi[i], 1e-9*r.F.Hi[i])
	}
	var pairs []Pairs
	for i, n := range r.Margin.N {
		pairs = append(pairs, Pairs{ID: fmt.Sprint(i), N: n, AOnly: r.Margin.A[i], BOnly: r.Margin.B[i], Both: r.Margin.Both[i]})
	}
	m := Margin(pairs, r.Margin.Margin)
	near(t, "not inferior", *m.PNonInferior, r.Margin.PNonInferior, 1e-7)
	near(t, "equivalent", *m.PEquivalent, r.Margin.PEquivalent, 1e-7)
	var in []Counts
	for i, n := range r.ICC.Graded {
		in = append(in, Counts{fmt.Sprint(i), n, r.ICC.Passed[i]})
	}
	icc := ICC(in)
	near(t, "ICC", *icc.Value, r.ICC.ICC, 1e-12)
	near(t, "ICC lo", *icc.Lo, r.ICC.Lo, 1e-9)
	near(t, "ICC hi", *icc.Hi, r.ICC.Hi, 1e-9)
	ratio, unbounded := Ratio(r.Fieller.X, r.Fieller.Y)
	near(t, "ratio", *ratio.Value, r.Fieller.Ratio, 1e-12)
	near(t, "Fieller lo", *ratio.Lo, r.Fieller.Lo, 1e-9)
	near(t, "Fieller hi", *ratio.Hi, r.Fieller.Hi, 1e-9)
	if unbounded {
		t.Error("a bounded interval is called unbounded")
	}
	effects, err := Factorial(5, reactor(r.Factorial.Response), 2)
	if err != nil || len(effects) != 15 {
		t.Fatal(len(effects), err)
	}
	for i, e := range effects {
		near(t, fmt.Sprint("effect ", e.Factors), *e.Value, r.Factorial.Effects[i], 1e-9)
		if len(e.Aliases) != 1 || len(e.Aliases[0])+len(e.Factors) != 5 {
			t.Errorf("in this half an effect's one alias is all the other factors: %v, %v", e.Factors, e.Aliases)
		}
	}
}

// reactor is the 2^(5-1) design of the reactor example, E = ABCD, A fastest.
func reactor(response []float64) []Cell {
	var out []Cell
	for i, y := range response {
		c := Cell{Levels: make([]int8, 5), Rates: map[string]float64{"reacted": y}}
		c.Levels[4] = 1
		for f := range 4 {
			c.Levels[f] = int8(2*(i>>f&1) - 1)
			c.Levels[4] *= c.Levels[f]
		}
		out = append(out, c)
	}
	return out
}

func TestAgainstPython(t *testing.T) {
	var r struct {
		Stratified []struct {
			Strata        [][4]int
			Value, Lo, Hi float64
		} `json:"stratified_mn"`
		Swap []struct {
			Units [][3]int
			P     float64
		}
	}
	reference(t, "reference-py.json", &r)
	for _, c := range r.Stratified {
		var in []Stratum
		for _, s := range c.Strata {
			in = append(in, Stratum{PassA: s[0], NA: s[1], PassB: s[2], NB: s[3]})
		}
		lo, hi := StratifiedMN(in)
		near(t, "stratified lo", lo, c.Lo, 1e-5)
		near(t, "stratified hi", hi, c.Hi, 1e-5)
	}
	for _, c := range r.Swap {
		by := map[int]*Exposure{}
		var in []Exposure
		for _, u := range c.Units {
			if by[u[0]] == nil {
				by[u[0]] = &Exposure{ID: fmt.Sprint(u[0])}
			}
			by[u[0]].Cells[u[1]][u[2]]++
		}
		for _, x := range by {
			in = append(in, *x)
		}
		near(t, "swaps", *WhereFired(in, 1).Test.P, c.P, 1e-12)
	}
}

// Newcombe, "Interval estimation for the difference between independent
// proportions: comparison of eleven methods", Statistics in Medicine 17, 1998,
// table II, method 6, contrasts (a) to (g).
func TestMiettinenNurminenPublished(t *testing.T) {
	for _, c := range []struct {
		passB, nB, passA, nA int
		lo, hi               float64
	}{
		{56, 70, 48, 80, 0.0528, 0.3382},
		{9, 10, 3, 10, 0.1700, 0.8406},
		{6, 7, 2, 7, 0.0342, 0.8534},
		{5, 56, 0, 29, -0.0326, 0.1933},
		{0, 10, 0, 20, -0.1658, 0.2844},
		{0, 10, 0, 10, -0.2879, 0.2879},
		{10, 10, 0, 20, 0.7156, 1},
	} {
		what := fmt.Sprintf("%d/%d - %d/%d", c.passB, c.nB, c.passA, c.nA)
		lo, hi := StratifiedMN([]Stratum{{NA: c.nA, PassA: c.passA, NB: c.nB, PassB: c.passB}})
		near(t, what+" lo", lo, c.lo, 5.1e-5)
		near(t, what+" hi", hi, c.hi, 5.1e-5)
	}
}

// The stratified example in the README of the R package cicalc
// (GSK-Biostatistics): 7/10 - 5/10 and 5/10 - 4/10, weights 5 and 5.
func TestStratifiedMNPublished(t *testing.T) {
	lo, hi := StratifiedMN([]Stratum{{NA: 10, PassA: 5, NB: 10, PassB: 7}, {NA: 10, PassA: 4, NB: 10, PassB: 5}})
	near(t, "lo", lo, -0.1606, 5e-5)
	near(t, "hi", hi, 0.4338, 5e-5)
}
