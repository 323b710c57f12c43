package report

// Schema names the format of report.json.
const Schema = "harnessbench/report/v1"

// Meta is what the suite knows and the rows do not say.
type Meta struct {
	RunID       string       `json:"run_id"`
	Suite       string       `json:"suite"`
	Seed        uint64       `json:"seed"`
	Repetitions int          `json:"repetitions"` // planned per scenario, model and arm
	Models      []string     `json:"models"`      // in the order to print; others follow by name
	Arms        []string     `json:"arms"`        // in the order to print; others follow by name
	Comparisons []Comparison `json:"comparisons"`
	Cut         []CutBlock   `json:"cut"`   // what was planned and not run, in any order
	Notes       []string     `json:"notes"` // said at the end, for example which isolation was in force
}

// CutBlock is one block (scenario, model, repetition) that was planned and not
// run in any arm, so that arms stay paired: its trials have no rows.
type CutBlock struct {
	Scenario   string `json:"scenario"`
	Harms      bool   `json:"harms"` // the scenario is tagged harms
	Model      string `json:"model"`
	Simulated  bool   `json:"simulated"`  // the model is
	Repetition int    `json:"repetition"` // from 0
	Trials     int    `json:"trials"`     // of the block, one an arm
	Reason     string `json:"reason"`     // one line, for example "cost budget of 5 USD"
}

// Comparison declares two arms to be compared, b - a.
type Comparison struct {
	// Guard is the guard in which alone the arms differ: enforced in Arm, in
	// shadow in Base. Empty when the arms differ in more than one thing; then
	// there is no "where it fired".
	Guard string `json:"guard"`
	Base  string `json:"base"` // a: for a leave-one-out arm the one without the guard
	Arm   string `json:"arm"`  // b: the one with it
}

// Summary is the content of report.json. The main pool of scenarios stands at
// the top level; the pool of those tagged harms beside it, in the same shape.
type Summary struct {
	Schema      string   `json:"schema" doc:"harnessbench/report/v1"`
	RunID       string   `json:"run_id" doc:"run the summary is of"`
	Suite       string   `json:"suite" doc:"name of the suite"`
	Seed        uint64   `json:"seed" doc:"seed of the suite"`
	Repetitions int      `json:"repetitions" doc:"planned repetitions of each scenario, model and arm"`
	Models      []Model  `json:"models" doc:"models, in the suite's order"`
	Arms        []string `json:"arm_names" doc:"arms, in the suite's order"`
	Trials      int      `json:"trials" doc:"trials that were run, of both pools"`
	Graded      int      `json:"graded" doc:"trials with a verdict of pass or fail"`
	Errored     int      `json:"errored" doc:"trials that the infrastructure failed; in no denominator"`
	Ungraded    int      `json:"ungraded" doc:"trials without a verdict, the errored ones included"`
	CutTrials   int      `json:"cut" doc:"trials that were planned and not run: whole blocks of a scenario, model and repetition, over all arms"`
	Volatile    int      `json:"volatile" doc:"trials of scenarios whose commands are not proved stable"`

	//lint:ignore SA5008 it is an option of the JSON library that writes the report
	Main  Section  `json:",embed" doc:"scenarios not tagged harms"`
	Harms *Section `json:"harms" doc:"scenarios tagged harms, which exist to show where a guard hurts; null when there are none"`

	Errors []ErrorCount `json:"errors" doc:"errored trials by class"`
	Cut    []CutCount   `json:"cut_blocks" doc:"blocks that were cut, by model and reason"`
	Notes  []string     `json:"notes" doc:"what must be said of the run as a whole"`
}

// Model names a model and says whether it is simulated.
type Model struct {
	Model     string `json:"model" doc:"provider/name"`
	Simulated bool   `json:"simulated" doc:"true: its numbers say nothing about real models"`
}

// Section is the summary of one pool of scenarios.
type Section struct {
	Scenarios   []string   `json:"scenarios" doc:"ids, sorted"`
	Arms        []Arm      `json:"arms" doc:"one entry per model and arm"`
	Comparisons []Contrast `json:"comparisons" doc:"declared comparisons of arms that differ in more than one guard, per model"`
	Guards      []Contrast `json:"guards" doc:"declared comparisons of arms that differ in one guard alone, per model"`
}

// Estimate is a number with its interval.
type Estimate struct {
	Value    *float64 `json:"value" doc:"point estimate; null when nothing was measured"`
	Lo       *float64 `json:"lo" doc:"lower end of the 95 % interval; null when there is none"`
	Hi       *float64 `json:"hi" doc:"upper end of the 95 % interval; null when there is none"`
	Method   string   `json:"ci_method" doc:"how the interval was made"`
	N        float64  `json:"n" doc:"scenarios, or the effective number that the method used"`
	Warnings []string `json:"warnings" doc:"what must be said beside the number"`
}

// Arm is what one model did in one arm. Numbers have full precision; what is
// unknown is null.
type Arm struct {
	Model     string `json:"model" doc:"model as provider/name"`
	Arm       string `json:"arm" doc:"harness configuration"`
	Scenarios int    `json:"scenarios" doc:"scenarios with a graded trial"`
	Trials    int    `json:"trials" doc:"trials that were run"`
	Graded    int    `json:"graded" doc:"trials with a verdict of pass or fail"`
	Errored   int    `json:"errored" doc:"trials that the infrastructure failed"`
	Passed    int    `json:"passed" doc:"trials that passed"`

	Rate        *float64            `json:"rate" doc:"pass rate: mean over scenarios of the mean over repetitions; null when nothing was graded"`
	CI          *Interval           `json:"ci" doc:"95 % interval of rate, [lo, hi]; null when there is none"`
	CIMethod    string              `json:"ci_method" doc:"how ci was made"`
	CINaive     *Interval           `json:"ci_naive" doc:"Wilson's 95 % interval as if all trials were independent, [lo, hi]"`
	SEClustered *float64            `json:"se_clustered" doc:"standard error of rate, scenarios as clusters; null below 2 scenarios"`
	SENaive     *float64            `json:"se_naive" doc:"standard error as if all trials were independent"`
	PassHat     map[string]*float64 `json:"pass_hat" doc:"pass^k by k: chance that k trials of k pass; null where a scenario has fewer than k graded trials"`
	PassAt      map[string]*float64 `json:"pass_at" doc:"pass@k by k: chance that one trial of k passes; null likewise"`

	Tokens          *int64   `json:"tokens" doc:"tokens of all trials, input and output; null when a count is unknown"`
	CostUSD         *float64 `json:"cost_usd" doc:"as-if cost of all trials, errored ones included, USD; null when a price or a count is unknown"`
	CostOfPass      *float64 `json:"cost_of_pass" doc:"cost_usd / passed, USD; null when cost_of_pass_state is not known"`
	CostOfPassState string   `json:"cost_of_pass_state" doc:"known; unknown (a price or a count is); infinite (something was graded, nothing passed); none (nothing was graded)"`

	Simulated    bool           `json:"simulated" doc:"true for simulated models"`
	Ungraded     int            `json:"ungraded" doc:"trials without a verdict, the errored ones included"`
	Cut          int            `json:"cut" doc:"trials that were planned and not run"`
	Errors       map[string]int `json:"errored_by_class" doc:"errored trials by class: auth, quota, provider, sandbox, internal or grader"`
	N            float64        `json:"ci_n" doc:"scenarios, or the effective number that ci_method used"`
	Warnings     []string       `json:"warnings" doc:"what must be said beside rate"`
	RateMin      *float64       `json:"rate_min" doc:"share of passes if every ungraded trial had failed"`
	RateMax      *float64       `json:"rate_max" doc:"share of passes if every ungraded trial had passed"`
	ByK          []K            `json:"by_k" doc:"pass^k and pass@k with their intervals"`
	Usage        Tokens         `json:"tokens_by_class" doc:"tokens of all trials by class"`
	SpentUSD     *float64       `json:"spent_usd" doc:"really spent, USD; null when a price or a count is unknown"`
	CostPerTrial *float64       `json:"cost_per_trial_usd" doc:"cost_usd / trials"`
	Time         Time           `json:"time" doc:"where the time of all trials went, on their clocks"`
	Outcomes     []OutcomeCount `json:"outcomes" doc:"how the trials ended, most frequent first"`
}

// Interval is a 95 % interval, [lo, hi].
type Interval [2]float64

// K is what one arm's trials say of k trials.
type K struct {
	K   int      `json:"k" doc:"number of trials"`
	Hat Estimate `json:"hat" doc:"pass^k, mean over scenarios"`
	At  Estimate `json:"at" doc:"pass@k, mean over scenarios"`
}

// Time splits the time of an arm's trials; a part is null when a trial's is
// unknown.
type Time struct {
	ModelUS    *int64   `json:"model_us" doc:"in model calls, microseconds"`
	ToolUS     *int64   `json:"tool_us" doc:"in tools, microseconds"`
	WaitUS     *int64   `json:"wait_us" doc:"waited between attempts, microseconds"`
	ModelShare *float64 `json:"model_share" doc:"model_us / (model_us + tool_us + wait_us); null when one is unknown or all are 0"`
	ToolShare  *float64 `json:"tool_share" doc:"tool_us likewise"`
	WaitShare  *float64 `json:"wait_share" doc:"wait_us likewise"`
}

// Tokens adds up usage; a class is null when a trial's count is unknown.
type Tokens struct {
	InputUncached *int64 `json:"input_uncached" doc:"input tokens that no prompt cache served"`
	CacheRead     *int64 `json:"cache_read" doc:"input tokens read from a prompt cache"`
	CacheWrite    *int64 `json:"cache_write" doc:"input tokens written to a prompt cache"`
	Output        *int64 `json:"output" doc:"output tokens, reasoning included"`
	Total         *int64 `json:"total" doc:"sum of the four"`
}

// Money is an amount that can be unknown or infinite.
type Money struct {
	USD  *float64 `json:"usd" doc:"USD; null when state is not known"`
	Text string   `json:"state" doc:"known; unknown (a price is unknown); infinite (nothing passed); none (nothing was run)"`
}

// States of Money.
const (
	Known    = "known"
	Unknown  = "unknown"
	Infinite = "infinite"
	Nothing  = "none"
)

// OutcomeCount says how many trials ended for one reason.
type OutcomeCount struct {
	Outcome  string `json:"outcome" doc:"stop reason"`
	Trials   int    `json:"trials" doc:"trials that ended so"`
	Backstop int    `json:"backstop" doc:"of them, ended by the scenario's own limit"`
	Passed   int    `json:"passed" doc:"of them, passed: an outcome is no verdict"`
}

// Contrast is one declared comparison for one model: b - a.
type Contrast struct {
	Guard     string `json:"guard" doc:"guard in which alone the arms differ; empty for whole arms"`
	Model     string `json:"model" doc:"model as provider/name"`
	Simulated bool   `json:"simulated" doc:"true for simulated models"`
	Base      string `json:"base" doc:"a, the base: for a guard the arm in which it is in shadow"`
	Arm       string `json:"arm" doc:"b: for a guard the arm in which it is enforced"`

	Measured bool   `json:"measured" doc:"false when the guard fired in no graded trial of either arm (or no repetition is graded in both): then nothing is known of it"`
	A        Side   `json:"a" doc:"the base"`
	B        Side   `json:"b" doc:"the other arm"`
	Paired   int    `json:"paired" doc:"repetitions graded in both arms"`
	Fired    *Fired `json:"where_fired" doc:"effect among trials in which the guard fired; null for whole arms"`

	OverAll  Estimate `json:"over_all" doc:"difference in pass rate (b - a), mean over scenarios, repetitions graded in both arms"`
	DiffMin  *float64 `json:"over_all_min" doc:"difference of the arms' rates if every ungraded trial had failed in b and passed in a"`
	DiffMax  *float64 `json:"over_all_max" doc:"difference of the arms' rates if every ungraded trial had passed in b and failed in a"`
	CostDiff Estimate `json:"cost_diff" doc:"difference in cost per trial (b - a), USD, mean over scenarios"`
	Notes    []string `json:"notes" doc:"what must be said beside the comparison"`
}

// Side is one arm of a comparison.
type Side struct {
	Trials     int      `json:"trials" doc:"trials of the arm"`
	Graded     int      `json:"graded" doc:"of them, graded"`
	Passed     int      `json:"passed" doc:"of them, passed"`
	Rate       *float64 `json:"rate" doc:"pass rate, as in the arm's own row"`
	Enforced   int      `json:"fired_enforced" doc:"trials in which the guard fired and acted"`
	Shadow     int      `json:"fired_shadow" doc:"trials in which the guard fired in shadow"`
	Firings    int      `json:"firings" doc:"firings in all, both modes"`
	CostOfPass Money    `json:"cost_of_pass" doc:"cost per pass of the arm"`
}

// Fired is the effect of a guard where it fired.
type Fired struct {
	Estimate  Estimate `json:"estimate" doc:"mean of exposed b minus mean of exposed a per scenario, weighted n_a n_b/(n_a+n_b)"`
	Scenarios int      `json:"scenarios" doc:"scenarios with exposed trials in both arms"`
	ExposedA  int      `json:"exposed_a" doc:"graded trials of a in which the guard fired"`
	ExposedB  int      `json:"exposed_b" doc:"graded trials of b in which the guard fired"`
	Paired    int      `json:"exposed_both" doc:"repetitions in which it fired in both arms"`
}

// ErrorCount counts errored trials of one class.
type ErrorCount struct {
	Class   string `json:"class" doc:"auth, quota, provider, sandbox, internal or grader"`
	Trials  int    `json:"trials" doc:"trials"`
	Example string `json:"example" doc:"reason of the first of them, in canonical order"`
}

// CutCount counts the blocks of one model that were cut for one reason.
type CutCount struct {
	Model     string `json:"model" doc:"model as provider/name"`
	Reason    string `json:"reason" doc:"why they were not run"`
	Blocks    int    `json:"blocks" doc:"blocks of a scenario and a repetition"`
	Scenarios int    `json:"scenarios" doc:"scenarios with such a block"`
	Trials    int    `json:"trials" doc:"trials, over all arms"`
}
