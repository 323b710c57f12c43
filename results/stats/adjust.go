package stats

import (
	"cmp"
	"math"
	"slices"
)

// Methods by which the p values of a family are adjusted.
const (
	AdjustHolm = "Holm"
	AdjustBH   = "Benjamini-Hochberg"
)

// Holm adjusts the p values of one family so that rejecting those below alpha
// keeps the chance of any false rejection below alpha, whatever their dependence.
// The result is in the order given. A p value that is NaN counts as 1: a test
// that could not be made stays in its family. (Holm, "A simple sequentially
// rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979.)
func Holm(p []float64) []float64 {
	order, out := ascending(p)
	most := 0.0
	for rank, i := range order {
		most = max(most, min(1, out[i]*float64(len(p)-rank)))
		out[i] = most
	}
	return out
}

// BenjaminiHochberg adjusts the p values of one family so that rejecting those
// below alpha keeps the expected share of false rejections below alpha, when they
// are independent or positively dependent. Otherwise as [Holm]. (Benjamini and
// Hochberg, "Controlling the false discovery rate", JRSS B 57, 1995.)
func BenjaminiHochberg(p []float64) []float64 {
	order, out := ascending(p)
	least := 1.0
	for rank := len(order) - 1; rank >= 0; rank-- {
		i := order[rank]
		// Multiplied in this order, rounding never takes it below p itself.
		least = min(least, out[i]*(float64(len(p))/float64(rank+1)))
		out[i] = least
	}
	return out
}

// ascending gives the indices by rising p, and a copy without NaN.
func ascending(p []float64) (order []int, clean []float64) {
	clean = slices.Clone(p)
	order = make([]int, len(p))
	for i := range p {
		order[i] = i
		if math.IsNaN(clean[i]) {
			clean[i] = 1
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(clean[a], clean[b]) })
	return order, clean
}
