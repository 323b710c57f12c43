package report

// Meta is what the suite knows and the rows do not say.
type Meta struct {
	RunID       string        `json:"run_id"`
	Suite       string        `json:"suite"`
	Seed        uint64        `json:"seed"`
	Repetitions int           `json:"repetitions"` // planned per scenario, model and arm
	Models      []string      `json:"models"`      // in the order to print; others follow by name
	Arms        []string      `json:"arms"`        // in the order to print; others follow by name
	Comparisons []Comparison  `json:"comparisons"`
	Factors     []Factor      `json:"factors"` // of a factorial design; empty = none
	Expect      []Expectation `json:"expect"`  // of arms that are there to make a guard fire, or not
	Gates       []Gate        `json:"gates"`   // bounds that results must keep, in the suite's order
	Cut         []CutBlock    `json:"cut"`     // what was planned and not run, in any order
	Notes       []string      `json:"notes"`   // said at the end, for example which isolation was in force
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
