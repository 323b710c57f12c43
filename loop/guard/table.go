package guard

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Unit is what a parameter counts.
type Unit string

// Units of parameters. A duration is kept in nanoseconds, bytes in bytes, money
// in micro-USD.
const (
	Count    Unit = "count"
	Bytes    Unit = "bytes"
	Duration Unit = "duration"
	MicroUSD Unit = "micro-usd"
	Percent  Unit = "percent"
)

// Param is one number that tunes a guard.
type Param struct {
	Name     string
	Unit     Unit
	Default  int64
	Min, Max int64 // inclusive
	Doc      string
}

// Class groups guards in listings.
type Class string

// Classes of guards.
const (
	Loops    Class = "loops"    // stop a model that goes in circles
	Results  Class = "results"  // keep tool results within bounds
	Time     Class = "time"     // and budgets
	Ends     Class = "ends"     // decide whether it is done
	Recovery Class = "recovery" // from failing or blank model calls
	Context  Class = "context"  // keep the conversation within the window, and the task in it
	Safety   Class = "safety"   // what may be done, and what may be seen
	Speed    Class = "speed"    // the same answers sooner or cheaper
)

// Def describes one guard: a row of the table.
type Def struct {
	Name    string
	Class   Class
	Version int  // behaviour version: raised whenever the same events lead to another decision
	Policy  bool // acts inside a stage; see its own interface
	Mode    Mode // in profile default
	Stays   bool // in force in profile none too
	Full    Mode // in profile full
	Params  []Param
	Summary string // what it does, one line
	WhenOff string // what happens without it, one line
	// build makes the fold; nil for policies. v holds the parameters in the
	// order of Params.
	build func(v []int64, env Env) Guard
	// older are the behaviours before Version that are still in the code: sessions
	// recorded under them replay. One may be dropped; they are OLD_BEHAVIOUR then.
	older []behaviour
}

// behaviour is one version of what a guard does.
type behaviour struct {
	version int
	params  []Param
	build   func(v []int64, env Env) Guard
}

// at returns the behaviour of a version, if it is in the code.
func (d *Def) at(version int) (behaviour, bool) {
	if version == d.Version {
		return behaviour{d.Version, d.Params, d.build}, true
	}
	for _, b := range d.older {
		if b.version == version {
			return b, true
		}
	}
	return behaviour{}, false
}

// Versions lists the behaviour versions that are in the code, in rising order.
func (d *Def) Versions() []int {
	out := []int{d.Version}
	for _, b := range d.older {
		out = append(out, b.version)
	}
	slices.Sort(out)
	return out
}

// Env is what guards need to know of the session, fixed at its start.
type Env struct {
	Tools    []string // names of the tools the model has, in order
	Task     string   // the task, as the model reads it
	Contract []string // what acceptance checks, in words, a condition each
	// Limits are what bounds the session: of the scenario's own, limits and
	// run_deadline the tightest, the last two where they are enforced. NewSet fills
	// them in.
	Limits Backstop
}

const day = int64(24 * time.Hour)

// Table lists the guards. Its order is the order in which rewrites compose and
// in which the first stop wins; it is part of the behaviour.
var Table = []Def{
	{Name: "stuck", Class: Loops, Version: 1, Mode: Enforce, Full: Enforce, build: newStuck,
		Summary: "equal rounds and cycles of 2 to 4 rounds: nudge, then stop",
		WhenOff: "loops run to the backstop",
		Params: []Param{
			{"nudge", Count, 3, 2, 1000, "consecutive equal rounds before the nudge"},
			{"abort", Count, 6, 2, 1000, "consecutive equal rounds before the stop"},
			{"cycle_nudge", Count, 2, 2, 100, "whole periods of a cycle before the nudge"},
			{"cycle_abort", Count, 3, 2, 100, "whole periods of a cycle before the stop"},
		}},
	{Name: "monotony", Class: Loops, Version: 1, Mode: Off, Full: Enforce, build: newMonotony,
		Summary: "rounds that call one tool only: nudge, then stop",
		WhenOff: "a model may go on with one tool to the backstop",
		Params: []Param{
			{"nudge", Count, 8, 2, 1000, "consecutive rounds of one tool before the nudge"},
			{"abort", Count, 16, 2, 1000, "consecutive rounds of one tool before the stop"},
		}},
	{Name: "no_progress", Class: Loops, Version: 1, Mode: Enforce, Full: Enforce, build: newNoProgress,
		Summary: "failing calls, the same or any: nudge, then stop",
		WhenOff: "a model may go on failing to the backstop",
		Params: []Param{
			{"nudge", Count, 3, 1, 1000, "times the same failure before the nudge"},
			{"abort", Count, 6, 2, 1000, "times the same failure before the stop"},
			{"any_nudge", Count, 3, 1, 1000, "failing calls in a row before the nudge"},
			{"any_abort", Count, 6, 2, 1000, "failing calls in a row before the stop"},
		}},
	{Name: "dedupe", Class: Results, Version: 1, Mode: Off, Full: Enforce, build: newDedupe,
		Summary: "answers a read that was made before, with nothing written since, with a pointer to its result",
		WhenOff: "the same result comes again",
		Params: []Param{
			{"least", Bytes, 256, 0, 1 << 30, "smaller results are shown again"},
		}},
	{Name: "spill", Class: Results, Version: 1, Mode: Enforce, Full: Enforce, build: newSpill,
		Summary: "keeps a large result whole in a file and shows a preview with its path",
		WhenOff: "the ceiling cuts",
		Params: []Param{
			{"over", Bytes, 24 << 10, 256, 1 << 30, "results larger than this are spilled"},
			{"preview", Bytes, 4 << 10, 0, 1 << 20, "how much of the result stays in sight"},
		}},
	{Name: "result_ceiling", Class: Results, Version: 1, Mode: Enforce, Full: Enforce, build: newCeiling,
		Summary: "cuts a larger result and says how much was cut",
		WhenOff: "the whole result goes into the conversation",
		Params: []Param{
			{"bytes", Bytes, 24 << 10, 256, 1 << 30, "how much of a result is kept"},
		}},
	{Name: "tool_deadline", Class: Time, Version: 1, Mode: Enforce, Full: Enforce, build: newToolDeadline,
		Summary: "ends a tool call that takes too long with a timeout result",
		WhenOff: "only the wall limit stops a hanging tool",
		Params: []Param{
			{"per_call", Duration, int64(120 * time.Second), int64(time.Millisecond), day, "what one call may take"},
		}},
	{Name: "run_deadline", Class: Time, Version: 1, Mode: Enforce, Full: Enforce, build: newRunDeadline,
		Summary: "ends the session when its time is up, checked before every model and tool call",
		WhenOff: "the scenario's backstop ends it",
		Params: []Param{
			{"total", Duration, int64(30 * time.Minute), int64(time.Millisecond), 30 * day, "what the session may take"},
		}},
	{Name: "limits", Class: Time, Version: 1, Mode: Enforce, Full: Enforce, build: newLimits,
		Summary: "turns, tool calls, tokens and cost; explicit ones only tighten the scenario's",
		WhenOff: "the scenario's backstop ends it",
		Params: []Param{
			{"turns", Count, 50, 1, 1 << 20, "turns a session may take"},
			{"calls", Count, 200, 1, 1 << 20, "tool calls a session may make"},
			{"tokens", Count, 0, 0, 1 << 50, "input and output tokens; 0 = unset"},
			{"cost", MicroUSD, 0, 0, 1 << 50, "cost in millionths of a USD; 0 = unset"},
		}},
	{Name: "final_synthesis", Class: Ends, Version: 1, Policy: true, Mode: Enforce, Full: Enforce,
		Summary: "when turns or time run out, one reserved call without tools asks for the best answer",
		WhenOff: "the last text is the answer",
		Params: []Param{
			{"timeout", Duration, int64(60 * time.Second), int64(time.Millisecond), day, "what the reserved call may take"},
		}},
	{Name: "acceptance", Class: Ends, Version: 1, Mode: Enforce, Full: Enforce, build: newAcceptance,
		Summary: "runs the scenario's checks when the model says it is done and sends the first failing reason back",
		WhenOff: "the session ends unchecked",
		Params: []Param{
			{"retries", Count, 2, 0, 1000, "how often a rejected end is sent back"},
		}},
	{Name: "seals", Class: Ends, Version: 1, Mode: Enforce, Full: Enforce, build: newSeals,
		Summary: "ends the session when a declared file was changed, created or deleted by the time the model says it is done",
		WhenOff: "a model may change what it is checked by"},
	{Name: "retry", Class: Recovery, Version: 1, Policy: true, Mode: Enforce, Full: Enforce,
		Summary: "asks again after a model error that passes with time, with seeded exponential backoff",
		WhenOff: "the first error ends the session",
		Params: []Param{
			{"attempts", Count, 4, 1, 100, "how often one model call is tried, the first included; answers that truncated_empty drops do not count"},
			{"base", Duration, int64(200 * time.Millisecond), int64(time.Millisecond), day, "first backoff"},
			{"cap", Duration, int64(30 * time.Second), int64(time.Millisecond), day, "longest backoff"},
			{"retry_after_cap", Duration, int64(120 * time.Second), 0, day, "longest Retry-After honoured"},
		}},
	{Name: "fallback", Class: Recovery, Version: 1, Policy: true, Mode: Off, Full: Enforce,
		Summary: "asks the next model of the configured list when the one asked keeps failing",
		WhenOff: "the last error ends the session",
		Params: []Param{
			{"models", Count, 8, 1, 64, "how many other models one turn may turn to"},
			{"after", Count, 0, 0, 100, "failed calls of a model after which the next one is asked although retry would go on; 0 = when retry is done"},
		}},
	{Name: "truncated_empty", Class: Recovery, Version: 1, Policy: true, Mode: Enforce, Full: Enforce,
		Summary: "drops an answer that was cut before it said anything and asks again with more room",
		WhenOff: "a blank answer",
		Params: []Param{
			{"retries", Count, 1, 0, 10, "how often a turn asks again"},
			{"factor_cap", Count, 4, 1, 64, "max_tokens grows at most to this multiple of the original"},
		}},
	{Name: "context_overflow", Class: Recovery, Version: 1, Policy: true, Mode: Enforce, Full: Enforce,
		Summary: "shrinks the conversation once when the provider refuses its size, and asks again",
		WhenOff: "the refusal ends the session",
		Params: []Param{
			{"retries", Count, 1, 0, 10, "how often a turn shrinks and asks again"},
		}},
	{Name: "empty_response", Class: Recovery, Version: 1, Mode: Enforce, Full: Enforce, build: newEmptyResponse,
		Summary: "answers a blank answer with one correction, then stops",
		WhenOff: "a blank answer ends the session",
		Params: []Param{
			{"corrections", Count, 1, 0, 100, "how often in a row a blank answer is corrected"},
		}},
	{Name: "unknown_tool", Class: Recovery, Version: 1, Mode: Enforce, Full: Enforce, build: newUnknownTool,
		Summary: "answers a call of an unknown tool with the nearest name and the list of tools",
		WhenOff: "a plain error"},
	{Name: "argument_repair", Class: Recovery, Version: 1, Policy: true, Mode: Enforce, Full: Enforce,
		Summary: "repairs arguments that are almost JSON, and says where others do not fit and what is expected there",
		WhenOff: "a plain error",
		Params: []Param{
			{"strings", Count, 0, 0, 1, "whether a string that breaks off is closed too: what it lost stays lost"},
		}},
	{Name: "compaction", Class: Context, Version: 1, Policy: true, Mode: Enforce, Full: Enforce,
		Summary: "shrinks old results and summarises the middle of a conversation that fills the context window",
		WhenOff: "the conversation grows until the provider refuses it",
		Params: []Param{
			{"at", Percent, 75, 1, 100, "share of the window at which it begins"},
			{"to", Percent, 55, 1, 100, "share of the window at which it ends"},
			{"keep", Count, 3, 0, 1000, "latest rounds that are left as they are, if they fit"},
			{"summary", Count, 1, 0, 1, "whether a model is asked to summarise what trimming alone cannot shrink"},
		}},
	{Name: "budget_notice", Class: Context, Version: 1, Mode: Off, Full: Enforce, build: newBudgetNotice,
		Summary: "tells the model what is left of turns, calls, tokens, cost and time",
		WhenOff: "the model learns of its limits when they end it",
		Params: []Param{
			{"first", Percent, 50, 1, 100, "share of the tightest limit at which the first notice comes"},
			{"second", Percent, 80, 1, 100, "share of the tightest limit at which the second notice comes"},
		}},
	{Name: "goal_reminder", Class: Context, Version: 1, Mode: Off, Full: Enforce, build: newGoalReminder,
		Summary: "presents the task again after turns without new evidence, then what is missing, then narrows what may be done, then pauses",
		WhenOff: "a model may drift from its task",
		Params: []Param{
			{"turns", Count, 4, 1, 1000, "turns without new evidence before each step"},
		}},
	{Name: "scope", Class: Safety, Version: 1, Policy: true, Mode: Enforce, Full: Enforce, Stays: true,
		Summary: "denies what lies outside the scenario's permissions",
		WhenOff: "nothing is outside"},
	{Name: "approval", Class: Safety, Version: 1, Policy: true, Mode: Off, Full: Enforce,
		Summary: "lets listed operations wait for an approver",
		WhenOff: "they run unasked",
		Params: []Param{
			{"expires", Duration, int64(10 * time.Minute), int64(time.Millisecond), 30 * day, "how long a request for approval, and an approval, stand"},
		}},
	{Name: "redaction", Class: Safety, Version: 1, Policy: true, Mode: Enforce, Full: Enforce, Stays: true,
		Summary: "replaces declared secrets and known shapes of keys, length kept, before anything is written or hashed",
		WhenOff: "secrets reach the model and the session"},
	{Name: "parallel_tools", Class: Speed, Version: 1, Policy: true, Mode: Enforce, Full: Enforce,
		Summary: "runs the calls of one batch at once where all of them only read or say that they may",
		WhenOff: "one call after the other",
		Params: []Param{
			{"most", Count, 8, 1, 64, "calls that run at once"},
			{"cancel", Count, 0, 0, 1, "whether the calls that still run are cancelled when one fails"},
		}},
	{Name: "response_cache", Class: Speed, Version: 1, Policy: true, Mode: Off, Full: Off,
		Summary: "answers a request that was answered before from a cache, unbilled",
		WhenOff: "the model is asked again",
		Params: []Param{
			{"across", Count, 0, 0, 1, "whether repetitions share answers; they are no repetitions then"},
		}},
}

// Lookup returns the position of a guard in Table, or -1.
func Lookup(name string) int {
	for i := range Table {
		if Table[i].Name == name {
			return i
		}
	}
	return -1
}

// Names returns all guard names in table order.
func Names() []string {
	out := make([]string, len(Table))
	for i := range Table {
		out[i] = Table[i].Name
	}
	return out
}

// param returns the position of a parameter of b, or -1.
func (b *behaviour) param(name string) int {
	return slices.IndexFunc(b.params, func(p Param) bool { return p.Name == name })
}

// Format writes a value of p as suites and listings spell it.
func (p *Param) Format(v int64) string {
	switch p.Unit {
	case Duration:
		return time.Duration(v).String()
	case Bytes:
		switch {
		case v > 0 && v%(1<<20) == 0:
			return strconv.FormatInt(v>>20, 10) + "MiB"
		case v > 0 && v%(1<<10) == 0:
			return strconv.FormatInt(v>>10, 10) + "KiB"
		}
	}
	return strconv.FormatInt(v, 10)
}

// Parse reads a value of p: an integer, for bytes also with KiB or MiB, for
// durations as Go writes them (90s, 2m30s).
func (p *Param) Parse(s string) (int64, error) {
	s = strings.TrimSpace(s)
	v, err := strconv.ParseInt(s, 10, 64)
	switch p.Unit {
	case Duration:
		d, derr := time.ParseDuration(s)
		if derr != nil {
			return 0, fmt.Errorf("%q is no duration; write it like 90s or 2m30s", s)
		}
		if d%time.Microsecond != 0 {
			return 0, fmt.Errorf("%q is finer than a microsecond", s)
		}
		v, err = int64(d), nil
	case Bytes:
		for suffix, shift := range map[string]uint{"KiB": 10, "MiB": 20} {
			if n, ok := strings.CutSuffix(s, suffix); ok {
				v, err = strconv.ParseInt(strings.TrimSpace(n), 10, 64)
				if v > 1<<40 || v < 0 { // the shift would wrap
					return 0, fmt.Errorf("%q is outside %s..%s", s, p.Format(p.Min), p.Format(p.Max))
				}
				v <<= shift
			}
		}
	}
	if err != nil {
		return 0, fmt.Errorf("%q is no whole number", s)
	}
	if v < p.Min || v > p.Max {
		return 0, fmt.Errorf("%s is outside %s..%s", s, p.Format(p.Min), p.Format(p.Max))
	}
	return v, nil
}
