package report

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
	Paired   int    `json:"paired" doc:"repetitions graded in both arms; between two models the smaller number of graded trials of each scenario, added up"`
	Fired    *Fired `json:"where_fired" doc:"effect among trials in which the guard fired; null for whole arms"`

	OverAll      Estimate `json:"over_all" doc:"difference in pass rate (b - a), mean over scenarios, repetitions graded in both arms; between two models of the scenarios' mean rates"`
	DiffMin      *float64 `json:"over_all_min" doc:"difference of the arms' rates if every ungraded trial had failed in b and passed in a"`
	DiffMax      *float64 `json:"over_all_max" doc:"difference of the arms' rates if every ungraded trial had passed in b and failed in a"`
	Test         P        `json:"over_all_test" doc:"test of no difference over all scenarios"`
	CostDiff     Estimate `json:"cost_diff" doc:"difference in cost per trial (b - a), USD, mean over scenarios"`
	CostRatio    Ratio    `json:"cost_ratio" doc:"cost of a trial, b / a, by Fieller over scenarios"`
	PerPassRatio Ratio    `json:"cost_of_pass_ratio" doc:"cost of a pass, b / a, by a bootstrap over scenarios"`
	Margin       *Margin  `json:"margin" doc:"non-inferiority and equivalence; null when the suite gives no margin"`
	Flips        Flips    `json:"flips" doc:"repetitions that passed in one arm and failed in the other; between two models scenarios that no trial of the one and every trial of the other passed"`
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

// Flip is one repetition that passed in one arm and failed in the other.
type Flip struct {
	Scenario   string `json:"scenario" doc:"scenario id"`
	Repetition int    `json:"repetition" doc:"repetition, from 0; between two models that of a's first graded trial"`
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
