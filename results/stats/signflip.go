package stats

import (
	"cmp"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Permutation tests are exact up to exactFlips units that differ, which is 2^19
// sums; beyond that they take flipDraws draws.
const (
	exactFlips = 20
	flipDraws  = 10_000
)

// SignFlip tests that the differences of scenarios (b - a) are symmetric around
// 0: the p value is the share of all assignments of signs whose sum is at least as
// far from 0. Zero differences keep their place in every assignment, so only the
// others count for N. Exact up to 20 of them; beyond, 10,000 draws of the seed,
// with p = (1 + hits) / (1 + draws), which holds its size whatever the draws are.
// The order of diffs does not matter. A difference that is not finite leaves no
// test.
//
// It assumes that scenarios are independent, and nothing of the shape of their
// differences. (Fisher, "The Design of Experiments", 1935, section 21; Phipson
// and Smyth, "Permutation p-values should never be zero", 2010.)
func SignFlip(diffs []float64, seed uint64) Test {
	f := newFlips(len(diffs))
	for _, d := range diffs {
		if math.IsNaN(d) || math.IsInf(d, 0) {
			return Test{Method: TestNone, N: len(diffs)}
		}
		f.add(d, 1)
	}
	t := f.test(seed)
	t.Method = TestSignFlip
	if f.units() > exactFlips {
		t.Method = TestSignFlipDraws
	}
	return t
}

// flips is the null distribution of a sum whose terms have random signs.
type flips struct {
	groups []flipGroup
	sum    float64
}

// flipGroup is units of one magnitude.
type flipGroup struct {
	size float64
	n    int
}

func newFlips(n int) *flips { return &flips{groups: make([]flipGroup, 0, n)} }

// add adds n units of difference d.
func (f *flips) add(d float64, n int) {
	if d != 0 && n > 0 {
		f.sum += d * float64(n)
		f.groups = append(f.groups, flipGroup{math.Abs(d), n})
	}
}

func (f *flips) units() int {
	n := 0
	for _, g := range f.groups {
		n += g.n
	}
	return n
}

// sameSize is how far apart two magnitudes, or two sums relative to the largest,
// may be and still count as equal: the same fractions come out of different
// roundings.
const sameSize = 1e-10

// test gives the p value of the sum.
func (f *flips) test(seed uint64) Test {
	f.merge()
	n := f.units()
	t := Test{N: n, P: ptr(1)}
	if n < leastFlips {
		t.Warnings = []Warning{FewToFlip}
	}
	switch {
	case n == 0:
	case n <= exactFlips:
		t.P = ptr(f.exact())
	default:
		t.P = ptr(f.draws(seed))
	}
	return t
}

// merge joins groups of one magnitude, so that draws cost a step a group, and
// puts them in an order of their own.
func (f *flips) merge() {
	slices.SortFunc(f.groups, func(a, b flipGroup) int { return cmp.Compare(a.size, b.size) })
	out := f.groups[:0]
	for _, g := range f.groups {
		if i := len(out) - 1; i >= 0 && g.size-out[i].size <= sameSize*g.size {
			out[i].n += g.n
			continue
		}
		out = append(out, g)
	}
	f.groups = out
}

// bound is the sum from which an assignment counts as at least as far out.
func (f *flips) bound() float64 {
	most := 0.0
	for _, g := range f.groups {
		most += g.size * float64(g.n)
	}
	return math.Abs(f.sum) - sameSize*most
}

// exact walks all assignments: a group of n units of one size has n+1 sums, each
// of as many assignments as there are ways to choose.
func (f *flips) exact() float64 {
	bound := f.bound()
	var walk func(i int, sum, ways float64) float64
	walk = func(i int, sum, ways float64) float64 {
		if i == len(f.groups) {
			if math.Abs(sum) >= bound {
				return ways
			}
			return 0
		}
		g, hits, choose := f.groups[i], 0.0, 1.0
		for k := 0; k <= g.n; k++ {
			hits += walk(i+1, sum+g.size*float64(2*k-g.n), ways*choose)
			choose = choose * float64(g.n-k) / float64(k+1)
		}
		return hits
	}
	return min(1, walk(0, 0, 1)/math.Exp2(float64(f.units())))
}

// draws takes random assignments: a group's sum is its size times twice the
// heads among n coins, less n.
func (f *flips) draws(seed uint64) float64 {
	bound, b := f.bound(), bitSource{from: rand.NewPCG(seed, 0x7369676e666c6970)}
	least := 0.0 // the sum when all coins fall on tails
	for _, g := range f.groups {
		least -= g.size * float64(g.n)
	}
	hits := 0
	for range flipDraws {
		sum := least
		for _, g := range f.groups {
			heads := 0
			if n := g.n; n < b.left { // nearly always: spare the call
				heads = bits.OnesCount64(b.word << uint(64-n&63))
				b.word >>= uint(n & 63)
				b.left -= n
			} else {
				heads = b.ones(n)
			}
			sum += 2 * g.size * float64(heads)
		}
		if math.Abs(sum) >= bound {
			hits++
		}
	}
	return float64(1+hits) / float64(1+flipDraws)
}

// bitSource hands out random bits.
type bitSource struct {
	from *rand.PCG
	word uint64
	left int
}

// ones is how many of n fair coins fall on heads.
func (b *bitSource) ones(n int) int {
	heads := 0
	for n > 0 {
		if b.left == 0 {
			b.word, b.left = b.from.Uint64(), 64
		}
		k := min(n, b.left)
		heads += bits.OnesCount64(b.word << (64 - k))
		b.word >>= k
		b.left -= k
		n -= k
	}
	return heads
}

// sorted is a sorted copy: sums of floats must not depend on an order that means
// nothing.
func sorted(x []float64) []float64 {
	out := slices.Clone(x)
	slices.Sort(out)
	return out
}
