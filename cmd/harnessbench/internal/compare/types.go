package compare

import (
	"errors"

	"github.com/harnessbench/harnessbench/results/importer"
)

// Schema names the format of the JSON.
const Schema = "harnessbench/compare/v1"

// Input is a run or a table.
type Input struct {
	Name        string              // short, unique among the inputs
	Rows        []importer.TableRow // sorted as [importer.Table] has them
	Models      []string            // in the order to print; others follow by name
	Arms        []string            // likewise
	Scenarios   []string            // that every arm was to run; nil: those of the rows
	Repetitions int                 // planned; 0: as many as there are
	Seed        uint64              // of draws
	Simulated   map[string]bool     // by model
	Harms       map[string]bool     // scenarios tagged harms, reported apart
	Digests     map[string]string   // of scenarios, where known
}

// Values of the options.
const (
	SignFlip = "sign-flip"
	McNemar  = "mcnemar"
	T        = "t"

	Holm = "holm"
	BH   = "bh"
	None = "none"

	Pass  = "pass"
	Score = "score"
)

// Options says what is compared and how.
type Options struct {
	Base   string  // of one input: an arm, or a model and an arm with a slash between them
	Test   string  // SignFlip, McNemar or T
	Adjust string  // Holm, BH or None
	Metric string  // Pass or Score
	Margin float64 // b may be this much worse and still be not inferior; 0 = not asked
}

// Errors that the command gives codes of their own.
var (
	ErrNothing = errors.New("nothing to compare") // no two arms have a scenario in common
	ErrUsage   = errors.New("usage")              // an option does not fit the data
)

// usage is an error of the options with what to do about it.
type usage struct{ what, hint string }

func (e *usage) Error() string        { return e.what }
func (e *usage) Is(target error) bool { return target == ErrUsage }

// Hint says what to do about an error; empty when there is nothing to say.
func Hint(err error) string {
	var u *usage
	if errors.As(err, &u) {
		return u.hint
	}
	return ""
}

// Report is what compare --json prints.
type Report struct {
	Schema      string       `json:"schema"`
	Inputs      []string     `json:"inputs"`      // short names; with two, the base comes first
	Metric      string       `json:"metric"`      // pass: rates are shares of passes; score: they are mean scores
	Adjust      string       `json:"adjust"`      // how p values are adjusted over all comparisons, those of harms among themselves: holm, bh or none
	Arms        []Arm        `json:"arms"`        // one entry per model and arm that is compared
	Comparisons []Comparison `json:"comparisons"` // b against a, the base
	Harms       *Pool        `json:"harms"`       // scenarios tagged harms, never pooled with the others; null when there are none
	Notes       []string     `json:"notes"`       // what must be said of the inputs
	FailIf      []Condition  `json:"fail_if"`     // conditions of --fail-if on each comparison
}

// Pool is the same for other scenarios.
type Pool struct {
	Arms        []Arm        `json:"arms"`        // one entry per model and arm that is compared
	Comparisons []Comparison `json:"comparisons"` // b against a, the base
}

// Interval is a 95 % interval.
type Interval [2]float64

// OpenInterval is a 95 % interval whose ends can be missing.
type OpenInterval [2]*float64

// Arm is what one model did in one arm.
type Arm struct {
	Model       *string             `json:"model"`              // null when the table has no such column
	Arm         *string             `json:"arm"`                // of the column, or the input's name; null when there is neither
	Scenarios   int                 `json:"scenarios"`          // with a graded trial
	Trials      int                 `json:"trials"`             // rows
	Graded      int                 `json:"graded"`             // with a verdict
	Errored     int                 `json:"errored"`            // the infrastructure failed
	Passed      int                 `json:"passed"`             // trials that passed
	Rate        *float64            `json:"rate"`               // mean over scenarios of the mean over repetitions; null when nothing was graded
	CI          *Interval           `json:"ci"`                 // 95 % interval of rate
	CIMethod    string              `json:"ci_method"`          // how ci was made
	CINaive     *Interval           `json:"ci_naive"`           // as if all trials were independent; null for scores
	SEClustered *float64            `json:"se_clustered"`       // standard error of rate, scenarios as clusters
	SENaive     *float64            `json:"se_naive"`           // as if all trials were independent; null for scores
	PassHat     map[string]*float64 `json:"pass_hat"`           // pass^k by k: chance that k trials of k pass; null where a scenario has fewer than k graded trials
	PassAt      map[string]*float64 `json:"pass_at"`            // pass@k by k: chance that one trial of k passes; null likewise
	ICC         *float64            `json:"icc"`                // intra-class correlation of repetitions within scenarios
	Tokens      *int64              `json:"tokens"`             // of all trials; null when one is unknown
	CostUSD     *float64            `json:"cost_usd"`           // of all trials, errored ones included; null when one is unknown
	CostOfPass  *float64            `json:"cost_of_pass"`       // cost_usd / passed; null when cost_of_pass_state is not known
	CostPassCI  *OpenInterval       `json:"cost_of_pass_ci"`    // 95 % interval of cost_of_pass by Fieller; an end that does not exist is null
	CostState   string              `json:"cost_of_pass_state"` // known, unknown, infinite (nothing passed) or none (nothing was graded)
	DurationS   *float64            `json:"duration_s"`         // of all trials, seconds; null when one is unknown
	Simulated   bool                `json:"simulated"`          // says nothing about real models
	Warnings    []string            `json:"warnings"`           // what must be said beside rate

	label string
}

// Comparison is b against a.
type Comparison struct {
	A        string `json:"a"`         // the base: arm, or model/arm where there is more than one model
	B        string `json:"b"`         // what is compared with it
	Paired   string `json:"paired"`    // repetition: trials of one repetition are paired; scenario: scenarios alone are
	Scenario int    `json:"scenarios"` // graded in both

	TrialsA int      `json:"trials_a"` // graded trials of a that were compared
	TrialsB int      `json:"trials_b"` // graded trials of b that were compared
	RateA   *float64 `json:"rate_a"`   // over the shared scenarios
	RateB   *float64 `json:"rate_b"`   // over the shared scenarios

	Diff      *float64  `json:"diff"`       // rate_b - rate_a; null when nothing is shared
	CI        *Interval `json:"ci"`         // 95 % interval of diff; null when there is none
	CIMethod  string    `json:"ci_method"`  // how ci was made
	Test      string    `json:"test"`       // that p is of
	P         *float64  `json:"p"`          // two-sided, of no difference; null when there is no test
	PAdjusted *float64  `json:"p_adjusted"` // over all comparisons of the same pool

	Helped int `json:"helped"` // of paired repetitions, those that failed in a and passed in b; 0 where scenarios alone are paired
	Hurt   int `json:"hurt"`   // of paired repetitions, those that passed in a and failed in b

	CostOfPassA *float64      `json:"cost_of_pass_a"`        // USD, over the shared scenarios; null when unknown or nothing passed
	CostOfPassB *float64      `json:"cost_of_pass_b"`        // likewise
	PassRatio   *float64      `json:"cost_of_pass_ratio"`    // b / a
	PassRatioCI *OpenInterval `json:"cost_of_pass_ratio_ci"` // by a bootstrap over scenarios
	CostRatio   *float64      `json:"cost_ratio"`            // cost of a trial, b / a
	CostRatioCI *OpenInterval `json:"cost_ratio_ci"`         // by Fieller over scenarios

	Margin   *Margin  `json:"margin"`   // non-inferiority; null when it was not asked
	OnlyA    []string `json:"only_a"`   // scenarios that b has no graded trial of, left out
	OnlyB    []string `json:"only_b"`   // scenarios that a has no graded trial of, left out
	Warnings []string `json:"warnings"` // what must be said beside the comparison

	hat      [2]map[string]*float64
	infinite [2]bool // nothing passed
}

// Margin says whether b is not worse than a by more than a margin.
type Margin struct {
	Margin       float64  `json:"margin"`         // of pass rate
	Answer       string   `json:"answer"`         // not inferior, inferior or inconclusive
	PNonInferior *float64 `json:"p_non_inferior"` // one-sided; 0.025 is the line
	Equivalent   bool     `json:"equivalent"`     // the whole interval lies within the margin, both ways
	PEquivalent  *float64 `json:"p_equivalent"`   // the larger of two one-sided p values
	Method       string   `json:"method"`         // how it was judged
}

// Condition is one --fail-if on one comparison.
type Condition struct {
	Expr       string `json:"expr"`       // as it was given
	Comparison string `json:"comparison"` // a -> b
	Verdict    string `json:"verdict"`    // true, false or unknown
	Values     string `json:"values"`     // what the names in it stood for
}
