package stats

// Totals is what one arm spent and got in one scenario.
type Totals struct {
	ID      string   // scenario
	Trials  int      // run, errored ones included
	Graded  int      // of them, graded
	Passed  int      // of them, passed
	CostUSD *float64 // of all trials; nil when a price is unknown
}

// PerPass is a cost of a pass with its interval. Value nil with Infinite: something was
// spent and nothing passed.
type PerPass struct {
	Estimate
	Infinite  bool // nothing passed
	Unbounded bool // the interval has no upper end: Hi is nil, Lo may be too
}

// CostPerPass estimates cost / passes with Fieller's interval on scenario totals.
func CostPerPass(in []Totals) PerPass { panic("not built") }

// Ratio estimates sum(y) / sum(x) of per-scenario totals with Fieller's interval.
// unbounded says that the interval has no upper end.
func Ratio(x, y []float64) (e Estimate, unbounded bool) { panic("not built") }

// PerPassRatio estimates how many times a's cost of a pass b pays, by a bootstrap over
// the scenarios that both have.
func PerPassRatio(a, b []Totals, draws int, seed uint64) Estimate { panic("not built") }

// ArmTotals is one arm's totals for a frontier.
type ArmTotals struct {
	Name      string
	Scenarios []Totals
}

// FrontierPoint is where an arm stands between cost and pass rate.
type FrontierPoint struct {
	Name     string
	Cost     *float64 // USD a trial; nil when unknown: the arm cannot be placed
	Rate     *float64 // pass rate
	On       bool     // no arm is at least as good in both and better in one
	Share    *float64 // share of bootstrap draws over scenarios in which it is
	Beaten   string   // an arm that beats it, when not On
	Warnings []Warning
}

// Frontier finds the Pareto frontier of (cost a trial, pass rate).
func Frontier(arms []ArmTotals, draws int, seed uint64) []FrontierPoint { panic("not built") }

// BootstrapDraws is the number of draws that reports use.
const BootstrapDraws = 10_000
