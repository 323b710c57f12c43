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
	Factors     []Factor     `json:"factors"` // of a factorial design; empty = none
	Gates       []Gate       `json:"gates"`   // bounds that results must keep, in the suite's order
	Cut         []CutBlock   `json:"cut"`     // what was planned and not run, in any order
	Notes       []string     `json:"notes"`   // said at the end, for example which isolation was in force
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
	// BaseModel and ArmModel are set when each arm runs on one model and they differ: a
	// weak model with a harness against a strong one without. Both empty: compared on every
	// model that both arms ran on. Trials of two models are paired by scenario alone.
	BaseModel string  `json:"base_model"`
	ArmModel  string  `json:"arm_model"`
	Margin    float64 `json:"margin"` // b may be this much worse in pass rate and still be not inferior; 0 = not asked
}

// Factor is a factor of a factorial design and where each arm stands in it.
type Factor struct {
	Name   string            `json:"name"`
	Levels []string          `json:"levels"`  // two or more, the first is the low one
	ArmsAt map[string]string `json:"arms_at"` // level by arm; arms of no cell are absent
}

// Gate is a bound that a result must keep; the fields are those of a suite's gates.
type Gate struct {
	Arm    string   `json:"arm"`    // an arm, or else a comparison:
	Guard  string   `json:"guard"`  // its guard, empty for whole arms
	A      string   `json:"a"`      // its base
	B      string   `json:"b"`      // its other arm
	Model  string   `json:"model"`  // only on this model; empty = on each
	Metric string   `json:"metric"` // as in suites
	K      int      `json:"k"`      // of pass_hat and pass_at
	Of     string   `json:"of"`     // value, lo or hi
	Min    *float64 `json:"min"`
	Max    *float64 `json:"max"`
	Source string   `json:"source"` // file:line:column in the suite, for messages; may be empty
}

// GateResult is one gate on one model, judged.
type GateResult struct {
	Gate    string   `json:"gate" doc:"the gate in words: what must hold"`
	Source  string   `json:"source" doc:"where the suite has it, file:line:column"`
	Model   string   `json:"model" doc:"model that it was judged on"`
	Value   *float64 `json:"value" doc:"what was held to the bound; null when there is no value"`
	Verdict string   `json:"verdict" doc:"pass, fail, or not judged (there is no value)"`
	Reason  string   `json:"reason" doc:"why, one line"`
}

// Verdicts of gates.
const (
	GatePass      = "pass"
	GateFail      = "fail"
	GateNotJudged = "not judged"
)

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

	Headline *Headline    `json:"headline" doc:"the answer in one line; null when the suite compares no whole arms"`
	Gates    []GateResult `json:"gates" doc:"gates of the suite, judged, one entry per gate and model"`
	Families []Family     `json:"families" doc:"families of tests whose p values are adjusted together"`

	Errors []ErrorCount `json:"errors" doc:"errored trials by class"`
	Cut    []CutCount   `json:"cut_blocks" doc:"blocks that were cut, by model and reason"`
	Notes  []string     `json:"notes" doc:"what must be said of the run as a whole"`
}

// Headline is the answer of a run in one line.
type Headline struct {
	Text       string `json:"text" doc:"one sentence: rates, difference, interval, p, cost ratio"`
	Comparison int    `json:"comparison" doc:"index in comparisons of the one it is about"`
}

// Family is a set of tests whose p values are adjusted together, fixed before the data.
type Family struct {
	Name   string `json:"name" doc:"over all, or where it fired"`
	Method string `json:"method" doc:"how p values are adjusted: Holm or Benjamini-Hochberg"`
	Tests  int    `json:"tests" doc:"tests in it: every declared comparison on every model; a guard that never fired counts with p = 1"`
}

// P is a p value with what it was made of.
type P struct {
	P        *float64 `json:"p" doc:"two-sided p value; null when there is no test"`
	Adjusted *float64 `json:"p_adjusted" doc:"adjusted over its family; null when there is no test"`
	Test     string   `json:"test" doc:"the test"`
	N        int      `json:"n" doc:"units that it could flip or swap, or pairs that differ"`
	Warnings []string `json:"warnings" doc:"what must be said beside it"`
}

// Margin says whether b is not worse than a by more than a margin.
type Margin struct {
	Margin       float64  `json:"margin" doc:"of pass rate"`
	Answer       string   `json:"answer" doc:"not inferior, inferior or inconclusive"`
	PNonInferior *float64 `json:"p_non_inferior" doc:"one-sided p value of not being inferior"`
	Equivalent   bool     `json:"equivalent" doc:"true when the two are equal within the margin"`
	PEquivalent  *float64 `json:"p_equivalent" doc:"the larger of two one-sided p values"`
	Method       string   `json:"method" doc:"how it was judged"`
	Warnings     []string `json:"warnings" doc:"what must be said beside it"`
}

// Ratio is a ratio of costs, b / a.
type Ratio struct {
	Estimate  Estimate `json:"estimate" doc:"b / a; hi is null where the interval has no upper end"`
	Unbounded bool     `json:"unbounded" doc:"true when the interval has no upper end"`
}

// ScenarioCell is one scenario in one arm.
type ScenarioCell struct {
	Scenario string   `json:"scenario" doc:"scenario id"`
	Trials   int      `json:"trials" doc:"trials that were run"`
	Graded   int      `json:"graded" doc:"of them, graded"`
	Passed   int      `json:"passed" doc:"of them, passed"`
	CostUSD  *float64 `json:"cost_usd" doc:"as-if cost of its trials, USD; null when unknown"`
}

// Flip is one repetition that passed in one arm and failed in the other.
type Flip struct {
	Scenario   string `json:"scenario" doc:"scenario id"`
	Repetition int    `json:"repetition" doc:"repetition, from 0"`
	Helped     bool   `json:"helped" doc:"true: failed in a and passed in b; false: the other way round"`
	OutcomeA   string `json:"outcome_a" doc:"how it ended in a"`
	OutcomeB   string `json:"outcome_b" doc:"how it ended in b"`
	SessionA   string `json:"session_a" doc:"session file of a, relative to the run's sessions folder"`
	SessionB   string `json:"session_b" doc:"session file of b"`
	FiredA     bool   `json:"fired_a" doc:"the compared guard fired in a, in shadow; false for whole arms"`
	FiredB     bool   `json:"fired_b" doc:"it fired in b"`
}

// Flips counts the repetitions that changed their verdict, and shows some.
type Flips struct {
	Helped int    `json:"helped" doc:"repetitions that failed in a and passed in b"`
	Hurt   int    `json:"hurt" doc:"repetitions that passed in a and failed in b"`
	Shown  []Flip `json:"shown" doc:"the first of them in canonical order, those that hurt first, at most 20"`
}

// Factorial is the analysis of a factorial design on one model.
type Factorial struct {
	Model     string   `json:"model" doc:"model as provider/name"`
	Simulated bool     `json:"simulated" doc:"true for simulated models"`
	Factors   []string `json:"factors" doc:"factors of two levels, in the suite's order"`
	Effects   []Effect `json:"effects" doc:"main effects, then interactions of two"`
	Notes     []string `json:"notes" doc:"what must be said: aliases that matter, arms left out"`
}

// Effect is one contrast of a factorial design.
type Effect struct {
	Name     string   `json:"name" doc:"factor, or factors joined by x"`
	Factors  []string `json:"factors" doc:"the factors"`
	Estimate Estimate `json:"estimate" doc:"difference in pass rate, high level minus low"`
	Test     P        `json:"test" doc:"test of 0"`
	Aliases  []string `json:"aliases" doc:"effects that this design cannot tell from it; empty in a full design"`
}

// Model names a model and says whether it is simulated.
type Model struct {
	Model     string `json:"model" doc:"provider/name"`
	Simulated bool   `json:"simulated" doc:"true: its numbers say nothing about real models"`
}

// Section is the summary of one pool of scenarios.
type Section struct {
	Scenarios   []string    `json:"scenarios" doc:"ids, sorted"`
	Arms        []Arm       `json:"arms" doc:"one entry per model and arm"`
	Comparisons []Contrast  `json:"comparisons" doc:"declared comparisons of arms that differ in more than one guard, per model"`
	Guards      []Contrast  `json:"guards" doc:"declared comparisons of arms that differ in one guard alone, per model"`
	Factorials  []Factorial `json:"factorials" doc:"analysis of the factorial design, per model; empty without one"`
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

	Tokens          *int64        `json:"tokens" doc:"tokens of all trials, input and output; null when a count is unknown"`
	CostUSD         *float64      `json:"cost_usd" doc:"as-if cost of all trials, errored ones included, USD; null when a price or a count is unknown"`
	CostOfPass      *float64      `json:"cost_of_pass" doc:"cost_usd / passed, USD; null when cost_of_pass_state is not known"`
	CostOfPassCI    *OpenInterval `json:"cost_of_pass_ci" doc:"95 % interval of cost_of_pass by Fieller, [lo, hi]; an end that does not exist is null"`
	CostOfPassState string        `json:"cost_of_pass_state" doc:"known; unknown (a price or a count is); infinite (something was graded, nothing passed); none (nothing was graded)"`

	ICC           *float64       `json:"icc" doc:"intra-class correlation of repetitions within scenarios; null where it cannot be estimated"`
	Frontier      *bool          `json:"frontier" doc:"true when no arm of any model is as good in cost per trial and pass rate and better in one; null when the cost is unknown"`
	FrontierShare *float64       `json:"frontier_share" doc:"share of bootstrap draws over scenarios in which it is on the frontier"`
	BeatenBy      string         `json:"beaten_by" doc:"model/arm that is cheaper or as cheap and passes more or as much; empty on the frontier"`
	ByScenario    []ScenarioCell `json:"by_scenario" doc:"what it did in each scenario, by id"`
	Simulated     bool           `json:"simulated" doc:"true for simulated models"`
	Ungraded      int            `json:"ungraded" doc:"trials without a verdict, the errored ones included"`
	Cut           int            `json:"cut" doc:"trials that were planned and not run"`
	Errors        map[string]int `json:"errored_by_class" doc:"errored trials by class: auth, quota, provider, sandbox, internal or grader"`
	N             float64        `json:"ci_n" doc:"scenarios, or the effective number that ci_method used"`
	Warnings      []string       `json:"warnings" doc:"what must be said beside rate"`
	RateMin       *float64       `json:"rate_min" doc:"share of passes if every ungraded trial had failed"`
	RateMax       *float64       `json:"rate_max" doc:"share of passes if every ungraded trial had passed"`
	ByK           []K            `json:"by_k" doc:"pass^k and pass@k with their intervals"`
	Usage         Tokens         `json:"tokens_by_class" doc:"tokens of all trials by class"`
	SpentUSD      *float64       `json:"spent_usd" doc:"really spent, USD; null when a price or a count is unknown"`
	CostPerTrial  *float64       `json:"cost_per_trial_usd" doc:"cost_usd / trials"`
	Time          Time           `json:"time" doc:"where the time of all trials went, on their clocks"`
	Outcomes      []OutcomeCount `json:"outcomes" doc:"how the trials ended, most frequent first"`
}

// Interval is a 95 % interval, [lo, hi].
type Interval [2]float64

// OpenInterval is a 95 % interval whose ends can be missing, [lo, hi].
type OpenInterval [2]*float64

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
	BaseModel string `json:"base_model" doc:"model of a where it is another than model, which is b's; else empty"`

	Measured bool   `json:"measured" doc:"false when the guard fired in no graded trial of either arm (or no repetition is graded in both): then nothing is known of it"`
	A        Side   `json:"a" doc:"the base"`
	B        Side   `json:"b" doc:"the other arm"`
	Paired   int    `json:"paired" doc:"repetitions graded in both arms"`
	Fired    *Fired `json:"where_fired" doc:"effect among trials in which the guard fired; null for whole arms"`

	OverAll      Estimate `json:"over_all" doc:"difference in pass rate (b - a), mean over scenarios, repetitions graded in both arms"`
	DiffMin      *float64 `json:"over_all_min" doc:"difference of the arms' rates if every ungraded trial had failed in b and passed in a"`
	DiffMax      *float64 `json:"over_all_max" doc:"difference of the arms' rates if every ungraded trial had passed in b and failed in a"`
	Test         P        `json:"over_all_test" doc:"test of no difference over all scenarios"`
	CostDiff     Estimate `json:"cost_diff" doc:"difference in cost per trial (b - a), USD, mean over scenarios"`
	CostRatio    Ratio    `json:"cost_ratio" doc:"cost of a trial, b / a, by Fieller over scenarios"`
	PerPassRatio Ratio    `json:"cost_of_pass_ratio" doc:"cost of a pass, b / a, by a bootstrap over scenarios"`
	Margin       *Margin  `json:"margin" doc:"non-inferiority and equivalence; null when the suite gives no margin"`
	Flips        Flips    `json:"flips" doc:"repetitions that passed in one arm and failed in the other"`
	Notes        []string `json:"notes" doc:"what must be said beside the comparison"`
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
	Test      P        `json:"test" doc:"test of no difference: whole trials swapped between arms within scenario and repetition"`
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
