package results

// Turn is one row of turns.parquet: one model inference and the execution of
// the tool calls that it asked for.
//
// The rows of this table, of model_calls and of tool_calls are read from the
// trials' session files. Usage, costs and times are null where the session does
// not know them, as for a recording of another tool.
type Turn struct {
	RunID      string `json:"run_id" parquet:"run_id,dict" doc:"run this row belongs to"`
	Scenario   string `json:"scenario" parquet:"scenario,dict" doc:"scenario id"`
	Model      string `json:"model" parquet:"model,dict" doc:"model of the trial, provider/name"`
	Arm        string `json:"arm" parquet:"arm,dict" doc:"harness configuration under test"`
	Repetition int    `json:"repetition" parquet:"repetition" doc:"repetition, from 0"`

	Index int    `json:"index" parquet:"index" doc:"position of the turn in its session, from 0"`
	Lane  string `json:"lane" parquet:"lane,dict" doc:"lane: main, or a subagent's"`
	Turn  int    `json:"turn" parquet:"turn" doc:"turn in its lane, from 1"`

	ModelCalls int    `json:"model_calls" parquet:"model_calls" doc:"model calls of this turn, attempts that did not stand included"`
	ToolCalls  int    `json:"tool_calls" parquet:"tool_calls" doc:"tool calls of this turn with a terminal result"`
	Firings    int    `json:"firings" parquet:"firings" doc:"firings of guards in this turn, also in shadow"`
	AtUS       *int64 `json:"at_us" parquet:"at_us" doc:"the trial's clock at the turn's end, microseconds from the trial's start; null when unknown"`

	InputUncached *int64   `json:"input_uncached" parquet:"input_uncached" doc:"input tokens of this turn that no prompt cache served; null when unknown"`
	CacheRead     *int64   `json:"cache_read" parquet:"cache_read" doc:"input tokens of this turn read from a prompt cache; null when unknown"`
	CacheWrite    *int64   `json:"cache_write" parquet:"cache_write" doc:"input tokens of this turn written to a prompt cache; null when unknown"`
	Output        *int64   `json:"output" parquet:"output" doc:"output tokens of this turn, reasoning included; null when unknown"`
	Reasoning     *int64   `json:"reasoning" parquet:"reasoning" doc:"the part of output that is reasoning, tokens; null when unknown"`
	CostUSD       *float64 `json:"cost_usd" parquet:"cost_usd" doc:"as-if cost of this turn's model calls, USD; null when a price or a count is unknown"`
}

// ModelCall is one row of model_calls.parquet: one call of a model, also one
// that did not stand.
type ModelCall struct {
	RunID      string `json:"run_id" parquet:"run_id,dict" doc:"run this row belongs to"`
	Scenario   string `json:"scenario" parquet:"scenario,dict" doc:"scenario id"`
	Model      string `json:"model" parquet:"model,dict" doc:"model of the trial, provider/name"`
	Arm        string `json:"arm" parquet:"arm,dict" doc:"harness configuration under test"`
	Repetition int    `json:"repetition" parquet:"repetition" doc:"repetition, from 0"`

	Index   int    `json:"index" parquet:"index" doc:"position of the call in its session, from 0"`
	Lane    string `json:"lane" parquet:"lane,dict" doc:"lane: main, or a subagent's"`
	Turn    int    `json:"turn" parquet:"turn" doc:"turn in its lane, from 1"`
	Purpose string `json:"purpose" parquet:"purpose,dict" doc:"turn, final_synthesis or summary"`
	Attempt int    `json:"attempt" parquet:"attempt" doc:"attempt within its turn, from 0"`
	Called  string `json:"called" parquet:"called,dict" doc:"id of the model that was called: another one than the trial's after a fallback"`

	Stood        bool    `json:"stood" parquet:"stood" doc:"true when the answer was used; false for errors and for answers that a policy dropped"`
	Finish       *string `json:"finish" parquet:"finish,dict" doc:"stop signal of the answer; null on an error or when none was given"`
	ErrorKind    *string `json:"error_kind" parquet:"error_kind,dict" doc:"transport, broken_stream, timeout, rate_limit, quota, auth, server, bad_request, context_overflow, protocol, cancelled or deadline; null when the model answered"`
	ErrorStatus  *int    `json:"error_status" parquet:"error_status" doc:"HTTP status of the error; null when there is none"`
	RetryAfterUS *int64  `json:"retry_after_us" parquet:"retry_after_us" doc:"Retry-After as the provider said it, microseconds; null when it said none"`

	InputUncached *int64   `json:"input_uncached" parquet:"input_uncached" doc:"input tokens that no prompt cache served; null when unknown"`
	CacheRead     *int64   `json:"cache_read" parquet:"cache_read" doc:"input tokens read from a prompt cache; null when unknown"`
	CacheWrite    *int64   `json:"cache_write" parquet:"cache_write" doc:"input tokens written to a prompt cache; null when unknown"`
	Output        *int64   `json:"output" parquet:"output" doc:"output tokens, reasoning included; null when unknown"`
	Reasoning     *int64   `json:"reasoning" parquet:"reasoning" doc:"the part of output that is reasoning, tokens; null when unknown"`
	CostUSD       *float64 `json:"cost_usd" parquet:"cost_usd" doc:"as-if cost of the call, USD, at the prices in the session's header; null when a price or a count is unknown"`

	ElapsedUS *int64 `json:"elapsed_us" parquet:"elapsed_us" doc:"time of the call on the trial's clock, microseconds; null when unknown"`
	WaitUS    *int64 `json:"wait_us" parquet:"wait_us" doc:"time waited after the call before the next attempt, microseconds, 0 when there is none; null when unknown"`
}

// ToolCall is one row of tool_calls.parquet: one tool call with its terminal
// result.
type ToolCall struct {
	RunID      string `json:"run_id" parquet:"run_id,dict" doc:"run this row belongs to"`
	Scenario   string `json:"scenario" parquet:"scenario,dict" doc:"scenario id"`
	Model      string `json:"model" parquet:"model,dict" doc:"model of the trial, provider/name"`
	Arm        string `json:"arm" parquet:"arm,dict" doc:"harness configuration under test"`
	Repetition int    `json:"repetition" parquet:"repetition" doc:"repetition, from 0"`

	Index  int    `json:"index" parquet:"index" doc:"position of the call in its session, from 0"`
	Lane   string `json:"lane" parquet:"lane,dict" doc:"lane: main, or a subagent's"`
	Turn   int    `json:"turn" parquet:"turn" doc:"turn in its lane, from 1"`
	Call   int    `json:"call" parquet:"call" doc:"position of the call in its turn's batch, from 0"`
	CallID string `json:"call_id" parquet:"call_id" doc:"id of the call, as guard_events.on names it"`

	Tool    string  `json:"tool" parquet:"tool,dict" doc:"name of the tool, as the model wrote it"`
	Version *int    `json:"version" parquet:"version" doc:"version of the tool that the model saw; null for an unknown tool"`
	Effect  *string `json:"effect" parquet:"effect,dict" doc:"read, write or external; null for an unknown tool"`
	Outcome string  `json:"outcome" parquet:"outcome,dict" doc:"terminal outcome: success, validation_failed, unknown_or_disabled_tool, permission_denied, approval_required, timeout, cancelled, background_accepted, unknown_outcome or tool_error"`
	Exit    *int    `json:"exit" parquet:"exit" doc:"exit code of a command; null when none ran"`
	Changes int     `json:"changes" parquet:"changes" doc:"files that the call wrote or deleted"`

	ArgsBytes   int64  `json:"args_bytes" parquet:"args_bytes" doc:"bytes of the canonical arguments"`
	ArgsDigest  string `json:"args_digest" parquet:"args_digest" doc:"first 16 bytes of the SHA-256 of the canonical arguments, hex: equal for equal calls of a tool"`
	ResultBytes int64  `json:"result_bytes" parquet:"result_bytes" doc:"bytes of the raw result"`
	ShownBytes  int64  `json:"shown_bytes" parquet:"shown_bytes" doc:"bytes of what the model saw, after every rewrite"`

	TookUS *int64 `json:"took_us" parquet:"took_us" doc:"time of the call on the trial's clock, microseconds; null when unknown"`
	WantUS *int64 `json:"want_us" parquet:"want_us" doc:"time that it would have taken without a deadline, microseconds; null when unknown"`
}

// Key returns the key of the trial that the turn belongs to.
func (t *Turn) Key() TrialKey { return TrialKey{t.Scenario, t.Model, t.Arm, t.Repetition} }

// Key returns the key of the trial that made the call.
func (c *ModelCall) Key() TrialKey { return TrialKey{c.Scenario, c.Model, c.Arm, c.Repetition} }

// Key returns the key of the trial that made the call.
func (c *ToolCall) Key() TrialKey { return TrialKey{c.Scenario, c.Model, c.Arm, c.Repetition} }

// Run returns the id of the run that the row belongs to.
func (t *Trial) Run() string { return t.RunID }

// Run returns the id of the run that the row belongs to.
func (t *Turn) Run() string { return t.RunID }

// Run returns the id of the run that the row belongs to.
func (c *ModelCall) Run() string { return c.RunID }

// Run returns the id of the run that the row belongs to.
func (c *ToolCall) Run() string { return c.RunID }

// Run returns the id of the run that the row belongs to.
func (e *GuardEvent) Run() string { return e.RunID }

// Run returns the id of the run that the row belongs to.
func (v *Verdict) Run() string { return v.RunID }
