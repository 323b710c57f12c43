package results

import "time"

// The verdicts that a trial or a grader can have.
const (
	Pass     = "pass"     // what was asked for is there
	Fail     = "fail"     // it is not
	Ungraded = "ungraded" // nobody can tell: the trial or its grader errored
)

// The modes in which a guard can have fired.
const (
	Enforce = "enforce" // the firing had its effect
	Shadow  = "shadow"  // the firing was recorded and had no effect
)

// The classes of errors that take a trial out of the denominator.
const (
	ErrorAuth     = "auth"     // the provider refused the key
	ErrorQuota    = "quota"    // the account ran out
	ErrorProvider = "provider" // the provider answered no arm of the block
	ErrorSandbox  = "sandbox"  // the isolation that the scenario requires failed
	ErrorInternal = "internal" // a fault of the harness's own
	ErrorGrader   = "grader"   // a grader errored or ran out of time
)

// HarmsTag marks scenarios that exist to show a harm. They are reported in a
// section of their own and never pooled with the others.
const HarmsTag = "harms"

// Trial is one row of trials.parquet: one scenario x model x arm x repetition.
//
// A nil pointer is "unknown" and becomes null, never 0. Nothing in a row may
// differ between two runs of one suite on simulated models: clock readings of
// the machine are nil there.
type Trial struct {
	RunID          string   `json:"run_id" parquet:"run_id,dict" doc:"run this row belongs to; derived from the suite's lock, so two runs of one suite share it"`
	Suite          string   `json:"suite" parquet:"suite,dict" doc:"name of the suite"`
	Scenario       string   `json:"scenario" parquet:"scenario,dict" doc:"scenario id"`
	ScenarioDigest string   `json:"scenario_digest" parquet:"scenario_digest,dict" doc:"SHA-256 of the scenario's files, hex"`
	Tags           []string `json:"tags" parquet:"-" doc:"the scenario's tags, sorted"`
	Harms          bool     `json:"harms" parquet:"harms" doc:"true when the scenario is tagged harms: reported apart, never pooled"`
	Model          string   `json:"model" parquet:"model,dict" doc:"model as provider/name"`
	Simulated      bool     `json:"simulated" parquet:"simulated" doc:"true for simulated models: the row says nothing about real ones"`
	Arm            string   `json:"arm" parquet:"arm,dict" doc:"harness configuration under test"`
	Repetition     int      `json:"repetition" parquet:"repetition" doc:"repetition, from 0"`
	Seed           uint64   `json:"seed" parquet:"seed" doc:"seed of this repetition"`

	Outcome    string   `json:"outcome" parquet:"outcome,dict" doc:"stop reason: how the session ended (completed, stuck, turn_limit, ...)"`
	Backstop   bool     `json:"backstop" parquet:"backstop" doc:"true when the scenario's own limit ended the session, not a guard"`
	Verdict    string   `json:"verdict" parquet:"verdict,dict" doc:"pass, fail or ungraded: what the graders say of the finished session"`
	Score      *float64 `json:"score" parquet:"score" doc:"graders' score, 0 to 1; null when ungraded"`
	Errored    bool     `json:"errored" parquet:"errored" doc:"true when the infrastructure failed, not the harness: not in the denominator"`
	ErrorClass *string  `json:"error_class" parquet:"error_class,dict" doc:"auth, quota, provider, sandbox, internal or grader; null when not errored"`
	ErrorText  *string  `json:"error_reason" parquet:"error_reason" doc:"what went wrong, one line; null when not errored"`

	Turns         int    `json:"turns" parquet:"turns" doc:"turns, over all lanes"`
	ModelCalls    int    `json:"model_calls" parquet:"model_calls" doc:"model calls, attempts that did not stand included"`
	ToolCalls     int    `json:"tool_calls" parquet:"tool_calls" doc:"tool calls with a terminal result"`
	InputUncached *int64 `json:"input_uncached" parquet:"input_uncached" doc:"input tokens that no prompt cache served; null when unknown"`
	CacheRead     *int64 `json:"cache_read" parquet:"cache_read" doc:"input tokens read from a prompt cache; null when unknown"`
	CacheWrite    *int64 `json:"cache_write" parquet:"cache_write" doc:"input tokens written to a prompt cache; null when unknown"`
	Output        *int64 `json:"output" parquet:"output" doc:"output tokens, reasoning included; null when unknown"`
	Reasoning     *int64 `json:"reasoning" parquet:"reasoning" doc:"the part of output that is reasoning, tokens; null when unknown"`

	CostUSD     *float64 `json:"cost_usd" parquet:"cost_usd" doc:"what the trial's own calls cost, USD, as if no answer had been shared with another arm; null when a price is unknown"`
	SpentUSD    *float64 `json:"spent_usd" parquet:"spent_usd" doc:"what was really spent on the trial, USD: shared answers are charged once; null when a price is unknown"`
	SpentTokens *int64   `json:"spent_tokens" parquet:"spent_tokens" doc:"tokens really spent on the trial: of an answer that arms share, only the first arm in plan order is charged; null when unknown"`

	ModelUS   *int64 `json:"model_us" parquet:"model_us" doc:"time in model calls on the trial's clock, microseconds; null when unknown"`
	ToolUS    *int64 `json:"tool_us" parquet:"tool_us" doc:"time in tools on the trial's clock, microseconds; null when unknown"`
	WaitUS    *int64 `json:"wait_us" parquet:"wait_us" doc:"time waited between attempts on the trial's clock, microseconds; null when unknown"`
	HarnessUS *int64 `json:"harness_us" parquet:"harness_us" doc:"time of the harness itself, microseconds; null on simulated models, whose clock does not run there"`

	StartedAt *time.Time `json:"started_at" parquet:"started_at,timestamp(microsecond)" doc:"wall clock at the start, UTC; null on simulated models"`
	EndedAt   *time.Time `json:"ended_at" parquet:"ended_at,timestamp(microsecond)" doc:"wall clock at the end, UTC; null on simulated models"`

	Volatile      bool         `json:"volatile" parquet:"volatile" doc:"true when the scenario runs commands that are not proved stable: two runs may differ"`
	Session       string       `json:"session" parquet:"session" doc:"session file, relative to the run's sessions folder"`
	SessionDigest string       `json:"session_digest" parquet:"session_digest" doc:"digest in the session's footer, hex"`
	Guards        []GuardCount `json:"guards" parquet:"-" doc:"one entry per guard that was enforced or in shadow, by name then mode"`

	// Lists make a table slow to write and awkward to read; it has these columns
	// in their place, see [TrialColumns]. They are empty everywhere else.
	TagNames       string `json:"-" parquet:"tags,dict" doc:"the scenario's tags, sorted, with commas between them"`
	GuardsEnforced string `json:"-" parquet:"guards_enforced,dict" doc:"guards that were enforced, sorted, with commas between them"`
	GuardsShadow   string `json:"-" parquet:"guards_shadow,dict" doc:"guards that were in shadow, sorted, with commas between them"`
	FiredEnforced  string `json:"-" parquet:"fired_enforced,dict" doc:"guards that fired while enforced, as name:firings:turn of the first, sorted, with commas between them (stuck:2:4); a guard of guards_enforced that is not here stayed silent"`
	FiredShadow    string `json:"-" parquet:"fired_shadow,dict" doc:"guards that fired in shadow, likewise"`
}

// GuardCount says how often one guard fired in one trial. A guard that was
// enforced or in shadow and never fired has an entry with fired = 0.
type GuardCount struct {
	Guard     string `json:"guard" parquet:"guard,dict" doc:"name of the guard"`
	Mode      string `json:"mode" parquet:"mode,dict" doc:"enforce or shadow"`
	Fired     int    `json:"fired" parquet:"fired" doc:"number of firings, 0 when it stayed silent"`
	FirstTurn *int   `json:"first_turn" parquet:"first_turn" doc:"turn of the first firing, from 1; null when it never fired"`
}

// Verdict is one row of verdicts.parquet: what one grader says of one trial.
type Verdict struct {
	RunID      string `json:"run_id" parquet:"run_id,dict" doc:"run this row belongs to"`
	Scenario   string `json:"scenario" parquet:"scenario,dict" doc:"scenario id"`
	Model      string `json:"model" parquet:"model,dict" doc:"model as provider/name"`
	Arm        string `json:"arm" parquet:"arm,dict" doc:"harness configuration under test"`
	Repetition int    `json:"repetition" parquet:"repetition" doc:"repetition, from 0"`

	Index   int      `json:"index" parquet:"index" doc:"position of the grader in its scenario, from 0"`
	Grader  string   `json:"grader" parquet:"grader,dict" doc:"grader id, unique in its scenario"`
	Type    string   `json:"type" parquet:"type,dict" doc:"grader type (equals, file_exists, ...)"`
	Version int      `json:"version" parquet:"version" doc:"version of the grader type"`
	Digest  string   `json:"digest" parquet:"digest,dict" doc:"SHA-256 of the grader's definition and files, hex"`
	Gate    bool     `json:"gate" parquet:"gate" doc:"true when failing this one fails the trial whatever the others say"`
	Primary bool     `json:"primary" parquet:"primary" doc:"true when the trial's verdict is made from this one; false for parts of a group and for observers"`
	Verdict string   `json:"verdict" parquet:"verdict,dict" doc:"pass, fail or ungraded"`
	Score   *float64 `json:"score" parquet:"score" doc:"score, 0 to 1; null when ungraded"`

	Reason   string `json:"reason" parquet:"reason" doc:"why, one line"`
	Evidence string `json:"evidence" parquet:"evidence" doc:"what the grader looked at, cut; empty when there is nothing to show"`
}

// GuardEvent is one row of guard_events.parquet: one firing of one guard, also
// in shadow.
type GuardEvent struct {
	RunID      string `json:"run_id" parquet:"run_id,dict" doc:"run this row belongs to"`
	Scenario   string `json:"scenario" parquet:"scenario,dict" doc:"scenario id"`
	Model      string `json:"model" parquet:"model,dict" doc:"model as provider/name"`
	Arm        string `json:"arm" parquet:"arm,dict" doc:"harness configuration under test"`
	Repetition int    `json:"repetition" parquet:"repetition" doc:"repetition, from 0"`

	Index    int    `json:"index" parquet:"index" doc:"position of the firing in its session, from 0"`
	Lane     string `json:"lane" parquet:"lane,dict" doc:"lane: main, or a subagent's"`
	Turn     int    `json:"turn" parquet:"turn" doc:"turn of the firing, from 1"`
	AtUS     int64  `json:"at_us" parquet:"at_us" doc:"time of the firing on the trial's clock, microseconds from its start"`
	Guard    string `json:"guard" parquet:"guard,dict" doc:"name of the guard"`
	Version  int    `json:"version" parquet:"version" doc:"behaviour version of the guard"`
	Mode     string `json:"mode" parquet:"mode,dict" doc:"enforce or shadow"`
	Act      string `json:"act" parquet:"act,dict" doc:"what it did, or in shadow would have done"`
	On       string `json:"on" parquet:"on,dict" doc:"id of the call it acted on; empty when none"`
	Evidence string `json:"evidence" parquet:"evidence" doc:"why it fired, one line"`
}
