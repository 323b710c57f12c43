package stats

// Methods by which a p value was made.
const (
	TestNone          = "none"                                  // no test can be made
	TestSignFlip      = "sign flips of scenarios, exact"        // up to 20 scenarios
	TestSignFlipDraws = "sign flips of scenarios, 10,000 draws" // more
	TestMcNemar       = "McNemar, exact"                        // one repetition
	TestT             = "paired t over scenarios"
	TestSwap          = "swaps of whole trials, exact"
	TestSwapDraws     = "swaps of whole trials, 10,000 draws"
)

// Test is a two-sided p value with its method.
type Test struct {
	P        *float64 // 0 < p <= 1; nil where no test can be made
	Method   string   // one of the Test constants
	N        int      // units that could be flipped or swapped, or pairs that differ
	Warnings []Warning
}

// SignFlip tests that differences of scenarios (b - a) are symmetric around 0.
func SignFlip(diffs []float64, seed uint64) Test { panic("not built") }

// McNemar tests that as many pairs turned from fail to pass as from pass to fail.
func McNemar(aOnly, bOnly int) Test { panic("not built") }

// PairedT is Student's t test of a mean difference of 0.
func PairedT(diffs []float64) Test { panic("not built") }

// Holm adjusts p values of one family for its family-wise error rate, in the order given.
func Holm(p []float64) []float64 { panic("not built") }

// BenjaminiHochberg adjusts p values of one family for its false discovery rate.
func BenjaminiHochberg(p []float64) []float64 { panic("not built") }

// Answers to the question whether b is worse than a by more than a margin.
const (
	NotInferior  = "not inferior" // the interval lies above -margin
	Inferior     = "inferior"     // it lies below -margin
	Inconclusive = "inconclusive" // it holds -margin
)

// MarginTest says whether b is not worse than a by more than a margin, and
// whether the two are equal within it.
type MarginTest struct {
	Margin       float64
	Answer       string   // NotInferior, Inferior or Inconclusive
	PNonInferior *float64 // one-sided
	Equivalent   bool     // both within the margin
	PEquivalent  *float64 // the larger of two one-sided p values
	Method       string
	Warnings     []Warning
}

// Margin compares two arms with a margin of pass rate, 0 < margin <= 1.
func Margin(in []Pairs, margin float64, seed uint64) MarginTest { panic("not built") }

// ICC is the intra-class correlation of repetitions within scenarios.
func ICC(in []Counts) Estimate { panic("not built") }
