package report

// Schema names the format of report.json.
const Schema = "harnessbench/report/v1"

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
	Firing   []Firing     `json:"firing" doc:"what each guard did in its traps and controls; empty when the suite expects nothing"`
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
	Name   string `json:"name" doc:"over all, where it fired or factorial effects; those of the scenarios tagged harms say so"`
	Method string `json:"method" doc:"how p values are adjusted: Holm or Benjamini-Hochberg"`
	Tests  int    `json:"tests" doc:"tests in it: every declared comparison on every model; a guard that never fired counts with p = 1"`
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
	Comparisons []Contrast  `json:"comparisons" doc:"declared comparisons of whole arms: those of two models first, then per model"`
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
