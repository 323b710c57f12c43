package report

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

// ScenarioCell is one scenario in one arm.
type ScenarioCell struct {
	Scenario string   `json:"scenario" doc:"scenario id"`
	Trials   int      `json:"trials" doc:"trials that were run"`
	Graded   int      `json:"graded" doc:"of them, graded"`
	Passed   int      `json:"passed" doc:"of them, passed"`
	CostUSD  *float64 `json:"cost_usd" doc:"as-if cost of its trials, USD; null when unknown"`
}
