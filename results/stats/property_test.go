package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// randomPairs draws a suite of pairs of any shape, equal ones among them.
func randomPairs(r *rand.Rand) []Pairs {
	pa, pb := r.Float64(), r.Float64()
	out := make([]Pairs, 1+r.IntN(25))
	for i := range out {
		x := &out[i]
		x.ID, x.N = fmt.Sprintf("s%02d", i), r.IntN(6)
		for range x.N {
			switch a, b := r.Float64() < pa, r.Float64() < pb; {
			case a && b:
				x.Both++
			case a:
				x.AOnly++
			case b:
				x.BOnly++
			}
		}
	}
	return out
}

// Whatever tests or estimates is the same for every order of scenarios, and leaves
// its argument as it was.
func TestOrderDoesNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		pairs := randomPairs(r)
		var counts []Counts
		var diffs []float64
		var fired []Exposure
		for _, p := range pairs {
			counts = append(counts, Counts{p.ID, p.N, p.AOnly + p.Both})
			diffs = append(diffs, float64(p.BOnly-p.AOnly)/float64(max(p.N, 1)))
			x := Exposure{ID: p.ID}
			for range p.N {
				x.Cells[r.IntN(3)][r.IntN(3)]++
			}
			fired = append(fired, x)
		}
		all := func() []any {
			return []any{Margin(pairs, 0.1), ICC(counts), PairedT(diffs), SignFlip(diffs, 3), WhereFired(fired, 3), PairedDifference(pairs), PassRate(counts)}
		}
		want := all()
		perm := r.Perm(len(pairs))
		pairs, counts, diffs, fired = permuted(pairs, perm), permuted(counts, perm), permuted(diffs, perm), permuted(fired, perm)
		before := fmt.Sprint(pairs, counts, diffs, fired)
		for i, got := range all() {
			if !reflect.DeepEqual(got, want[i]) {
				t.Fatalf("%T depends on the order of scenarios", got)
			}
		}
		if fmt.Sprint(pairs, counts, diffs, fired) != before {
			t.Fatal("an argument was changed")
		}
	}
}

func permuted[T any](x []T, perm []int) []T {
	out := make([]T, len(x))
	for i, j := range perm {
		out[i] = x[j]
	}
	return out
}

// A test does not care which arm is called the base, and 0 < p <= 1.
func TestTestsAreTwoSided(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 500 {
		d := make([]float64, r.IntN(40))
		turned := make([]float64, len(d))
		aOnly, bOnly := r.IntN(20), r.IntN(20)
		for i := range d {
			d[i] = float64(r.IntN(11)-4) / 5
			if r.IntN(4) == 0 {
				d[i] = r.NormFloat64()
			}
			turned[i] = -d[i]
		}
		for _, p := range [][2]Test{
			{SignFlip(d, 4), SignFlip(turned, 4)}, {PairedT(d), PairedT(turned)}, {McNemar(aOnly, bOnly), McNemar(bOnly, aOnly)},
		} {
			if p[0].Method == TestNone && p[1].Method == TestNone {
				continue
			}
			near(t, p[0].Method+" turned round", *p[1].P, *p[0].P, 1e-12)
			if !(*p[0].P > 0 && *p[0].P <= 1) {
				t.Fatalf("%s: p = %v for %v", p[0].Method, *p[0].P, d)
			}
		}
	}
	for _, d := range [][]float64{{1, math.NaN(), 2}, {math.Inf(1), 1}} {
		if a, b := SignFlip(d, 1), PairedT(d); a.P != nil || b.P != nil || a.Method != TestNone || b.Method != TestNone {
			t.Errorf("%v: %+v %+v, want no test", d, a, b)
		}
	}
}

// Sign flips of up to 20 differences by walking all assignments, one by one.
func TestSignFlipByEnumeration(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 200 {
		d := make([]float64, 1+r.IntN(10))
		sum := 0.0
		for i := range d {
			d[i] = float64(r.IntN(7)-3) / 3
			if r.IntN(3) == 0 {
				d[i] = r.NormFloat64()
			}
			sum += d[i]
		}
		hits := 0
		for set := range 1 << len(d) {
			s := 0.0
			for i, v := range d {
				s += v * float64(2*(set>>i&1)-1)
			}
			if math.Abs(s) >= math.Abs(sum)-1e-9 {
				hits++
			}
		}
		near(t, fmt.Sprint(d), *SignFlip(d, 1).P, float64(hits)/float64(int(1)<<len(d)), 1e-12)
	}
}

// Where nothing differs, p <= alpha happens in at most alpha of all suites: counted
// over all signs of given magnitudes, so without luck. Beyond 20 the draws replace
// the count, and so do seeded suites.
func TestSizeOfSignFlips(t *testing.T) {
	sizes := []float64{0.2, 0.2, 0.4, 0.4, 0.4, 0.6, 0.8, 1, 1, 0.2}
	var ps []float64
	for set := range 1 << len(sizes) {
		d := slices.Clone(sizes)
		for i := range d {
			d[i] *= float64(2*(set>>i&1) - 1)
		}
		ps = append(ps, *SignFlip(d, 1).P)
	}
	for _, alpha := range []float64{0.01, 0.05, 0.1, 0.5} {
		if got := share(ps, alpha); got > alpha {
			t.Errorf("exact: p <= %v in %v of all assignments", alpha, got)
		}
	}
	r := rand.New(rand.NewPCG(13, 14))
	ps = ps[:0]
	for i := range 1000 {
		d := make([]float64, 40)
		for j := range d {
			d[j] = float64(r.IntN(11)-5) / 5
		}
		ps = append(ps, *SignFlip(d, uint64(i)).P)
	}
	for _, alpha := range []float64{0.01, 0.05, 0.1, 0.5} {
		if got := share(ps, alpha); got > alpha+3.5*math.Sqrt(alpha*(1-alpha)/1000) || got < alpha/2 {
			t.Errorf("draws: p <= %v in %v of the suites", alpha, got)
		}
	}
}

func share(ps []float64, alpha float64) float64 {
	n := 0
	for _, p := range ps {
		n += count(p <= alpha)
	}
	return float64(n) / float64(len(ps))
}

// The answer of a margin, its p values and its interval say the same, and the
// interval holds that of the difference.
func TestMarginAgreesWithItself(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	answers := map[string]int{}
	for range 3000 {
		in := randomPairs(r)
		margin := []float64{0.02, 0.1, 0.3, 0.8, 1}[r.IntN(5)]
		m, d := Margin(in, margin), PairedDifference(in)
		if d.Value == nil {
			if m.Answer != "" || m.Lo != nil || m.Method != MethodNone {
				t.Fatalf("no data: %+v", m)
			}
			continue
		}
		if *m.Lo > *d.Lo+1e-9 || *m.Hi < *d.Hi-1e-9 {
			t.Fatalf("%v: margin's [%v, %v] does not hold the difference's [%v, %v]", in, *m.Lo, *m.Hi, *d.Lo, *d.Hi)
		}
		answers[m.Answer]++
		if (m.Answer == NotInferior) != (*m.Lo > -margin) || (m.Answer == Inferior) != (*m.Hi < -margin) {
			t.Fatalf("%q for [%v, %v] against %v", m.Answer, *m.Lo, *m.Hi, margin)
		}
		if margin < 1 && math.Abs(*m.PNonInferior-0.025) > 1e-6 && (m.Answer == NotInferior) != (*m.PNonInferior < 0.025) {
			t.Fatalf("%v: %q but p %v", in, m.Answer, *m.PNonInferior)
		}
		if margin < 1 && math.Abs(*m.PEquivalent-0.025) > 1e-6 && m.Equivalent != (*m.PEquivalent < 0.025) {
			t.Fatalf("%v: equivalent %v but p %v", in, m.Equivalent, *m.PEquivalent)
		}
		if m.Equivalent && m.Answer != NotInferior {
			t.Fatal("equivalent and not not inferior")
		}
	}
	if len(answers) != 3 {
		t.Errorf("answers %v, want all three", answers)
	}
}

// Adjusted p values are never less than the raw ones, never above 1, keep the
// order, and Holm's are never below those of Benjamini and Hochberg.
func TestAdjustments(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	for range 500 {
		p := make([]float64, r.IntN(12))
		for i := range p {
			p[i] = math.Pow(r.Float64(), 4)
			if i > 0 && r.IntN(4) == 0 {
				p[i] = p[i-1]
			}
		}
		before := slices.Clone(p)
		h, b := Holm(p), BenjaminiHochberg(p)
		if !slices.Equal(p, before) {
			t.Fatal("the argument was changed")
		}
		for i := range p {
			if !(p[i] <= b[i] && b[i] <= h[i]+1e-15 && h[i] <= 1) {
				t.Fatalf("p %v, BH %v, Holm %v", p, b, h)
			}
			for j := range p {
				if p[i] <= p[j] && (h[i] > h[j] || b[i] > b[j]) {
					t.Fatalf("order lost: %v, %v, %v", p, h, b)
				}
			}
		}
	}
	if h, b := Holm([]float64{math.NaN(), 0.01}), BenjaminiHochberg([]float64{math.NaN(), 0.01}); h[0] != 1 || h[1] != 0.02 || b[0] != 1 || b[1] != 0.02 {
		t.Errorf("a test that could not be made: %v, %v", h, b)
	}
}
