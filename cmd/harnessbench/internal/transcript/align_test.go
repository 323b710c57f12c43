package transcript

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func keys(s string) (out []uint64) {
	for _, c := range s {
		out = append(out, uint64(c))
	}
	return out
}

// joined is the subsequence that an alignment found; it fails when it is none.
func joined(t *testing.T, a, b []uint64, pairs [][2]int) string {
	t.Helper()
	var s strings.Builder
	for i, p := range pairs {
		if a[p[0]] != b[p[1]] || i > 0 && (p[0] <= pairs[i-1][0] || p[1] <= pairs[i-1][1]) {
			t.Fatalf("%v of %v and %v is no common subsequence", pairs, a, b)
		}
		s.WriteRune(rune(a[p[0]]))
	}
	return s.String()
}

func TestCommon(t *testing.T) {
	for _, c := range [][3]string{
		{"", "", ""}, {"abc", "", ""}, {"abc", "abc", "abc"}, {"abc", "xabc", "abc"}, {"abc", "abxc", "abc"},
		{"abcdef", "abzef", "abef"}, {"aaaab", "aaaaaaab", "aaaab"}, {"xay", "yax", "x"}, {"abcabc", "cab", "cab"},
	} {
		if got := joined(t, keys(c[0]), keys(c[1]), common(keys(c[0]), keys(c[1]))); len(got) != len(c[2]) {
			t.Errorf("%q and %q: %q, want one as long as %q", c[0], c[1], got, c[2])
		}
	}
}

// For any two sequences: what is found is common to both; by table it is a
// longest; patience finds all where every key stands once.
func TestCommonProperty(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		a, b := make([]uint64, r.IntN(12)), make([]uint64, r.IntN(12))
		for i := range a {
			a[i] = 'a' + r.Uint64N(5)
		}
		for i := range b {
			b[i] = 'a' + r.Uint64N(5)
		}
		if got, want := len(joined(t, a, b, common(a, b))), brute(a, b); got != want {
			t.Fatalf("%v and %v: %d of %d", a, b, got, want)
		}
		joined(t, a, b, patience(a, b))
		some := make([]uint64, 0, len(a))
		for i := range uint64(20) {
			some = append(some, i)
		}
		gone := slices.Delete(slices.Clone(some), 3, 3+r.IntN(10))
		if got := len(patience(some, gone)); got != len(gone) {
			t.Fatalf("patience finds %d of %d", got, len(gone))
		}
	}
}

func brute(a, b []uint64) int {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	if a[0] == b[0] {
		return 1 + brute(a[1:], b[1:])
	}
	return max(brute(a[1:], b), brute(a, b[1:]))
}

// Very long sequences are aligned without a table of their product.
func TestCommonLong(t *testing.T) {
	a := make([]uint64, 20_000)
	for i := range a {
		a[i] = uint64(i)
	}
	b := slices.Insert(slices.Clone(a), 5_000, 1<<40, 1<<41)
	b = slices.Delete(b, 15_000, 15_010)
	if got := len(common(a, b)); got != len(a)-10 {
		t.Errorf("%d of %d", got, len(a)-10)
	}
}
