package stats

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// wide fails when an interval is missing, does not hold its value, or is a point.
func wide(t *testing.T, what any, e Estimate) {
	t.Helper()
	if e.Lo == nil || e.Hi == nil || *e.Hi-*e.Lo < 1e-6 || *e.Value < *e.Lo-1e-12 || *e.Value > *e.Hi+1e-12 {
		t.Fatalf("%v: %+v [%v, %v]", what, e, deref(e.Lo), deref(e.Hi))
	}
}

func deref(p *float64) any {
	if p == nil {
		return nil
	}
	return *p
}

// No interval of a rate, of pass^k or of a difference is ever a point: all
// outcomes of three scenarios with three repetitions, and random ones of any
// shape.
func TestNoIntervalIsAPoint(t *testing.T) {
	check := func(what any, in []Counts, pairs []Pairs) {
		t.Helper()
		wide(t, what, PassRate(in).Estimate)
		for k := 1; k <= 3; k++ {
			if e := PassHat(in, k); e.Value != nil {
				wide(t, what, e)
				wide(t, what, PassAt(in, k))
			}
		}
		if e := PairedDifference(pairs); e.Value != nil {
			wide(t, what, e)
		}
		if m := Margin(pairs, 0.05); m.Lo != nil && *m.Hi-*m.Lo < 1e-6 {
			t.Fatalf("%v: margin %+v", what, m)
		}
	}
	for a := range 64 {
		for b := range 64 {
			var in []Counts
			var pairs []Pairs
			for s := range 3 {
				pa, pb := a>>(2*s)&3, b>>(2*s)&3
				in = append(in, Counts{fmt.Sprint(s), 3, pa})
				pairs = append(pairs, Pairs{ID: fmt.Sprint(s), N: 3, AOnly: max(pa-pb, 0), BOnly: max(pb-pa, 0), Both: min(pa, pb)})
			}
			check([2]int{a, b}, in, pairs)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 3000 {
		var in []Counts
		var pairs []Pairs
		p := r.Float64()
		for s := range 1 + r.IntN(20) {
			n := 1 + r.IntN(7)
			c, x := Counts{ID: fmt.Sprint(s), Graded: n}, Pairs{ID: fmt.Sprint(s), N: n}
			for range n {
				pa, pb := r.Float64() < p, r.Float64() < p
				c.Passed += count(pa)
				x.Both += count(pa && pb)
				x.AOnly += count(pa && !pb)
				x.BOnly += count(pb && !pa)
			}
			in, pairs = append(in, c), append(pairs, x)
		}
		check(i, in, pairs)
	}
}

// The interval where a guard fired neither, whatever fired where.
func TestFiredIntervalIsNoPoint(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 3000 {
		var in, turned []Exposure
		for s := range 1 + r.IntN(8) {
			x, y := Exposure{ID: fmt.Sprint(s)}, Exposure{ID: fmt.Sprint(s)}
			for range r.IntN(6) {
				a, b := r.IntN(3), r.IntN(3)
				x.Cells[a][b]++
				y.Cells[b][a]++
			}
			in, turned = append(in, x), append(turned, y)
		}
		f, g := WhereFired(in, 1), WhereFired(turned, 1)
		if f.Value == nil {
			continue
		}
		wide(t, i, f.Estimate)
		near(t, "the arms turned round", *g.Value, -*f.Value, 1e-9)
		near(t, "its lower end", *g.Lo, -*f.Hi, 1e-9)
		if *f.Test.P <= 0 || *f.Test.P > 1 || *f.Test.P != *g.Test.P {
			t.Fatalf("p %v, turned round %v", *f.Test.P, *g.Test.P)
		}
	}
}

// Permutation p values do not depend on the order of scenarios, and beyond 20
// units lie near the exact one.
func TestSignFlipOrderAndDraws(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		d := make([]float64, 3+r.IntN(40))
		for i := range d {
			d[i] = float64(r.IntN(11)-4) / 5
		}
		want := *SignFlip(d, 7).P
		r.Shuffle(len(d), func(i, j int) { d[i], d[j] = d[j], d[i] })
		near(t, "shuffled", *SignFlip(d, 7).P, want, 0)
		f := newFlips(len(d))
		for _, x := range d {
			f.add(x, 1)
		}
		f.merge()
		if f.units() > 0 && len(f.groups) <= 6 {
			exact := f.exact()
			near(t, "draws against all assignments", f.draws(7), exact, 4*0.5/100+2e-4)
		}
	}
}
