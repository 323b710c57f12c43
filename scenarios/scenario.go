package scenarios

import (
	"slices"
	"strings"
	"time"

	"github.com/harnessbench/harnessbench/graders/check"
	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

// Schema is the schema that this package reads.
const Schema = "harnessbench/scenario/v1"

// Scenario is one task. It is not changed after it was loaded.
type Scenario struct {
	ID       string
	Summary  string // one line
	Tags     []string
	Stresses []string // guards that should fire, each where no other guard has dealt with the cause before it
	Controls []string // guards that must not fire
	Hurts    []Hurt   // bad settings that this scenario shows the price of
	Cache    string   // how the response cache stands before a trial: "" = as the run has it, else CacheWarm or CacheOther

	Instruction string // the task, as the model reads it
	Files       []File // the workspace at the start, sorted by path
	Limits      Limits
	Tools       []Tool
	Faults      []Fault
	Permissions Permissions
	Approvals   []Approval  // operations that wait for an approver, and what he says
	Secrets     []string    // texts that neither model nor session may see, besides known shapes of keys
	User        []Utterance // a scripted user, for dialogues
	Acceptance  check.Acceptance
	Seals       []string // globs of files that must not change
	Graders     check.Graders
	GraderFiles []File // below graders/, never visible to the agent
	Lint        Lint

	Oracle     []byte // how simulated models solve it, YAML of package loop/model/sim; nil = none
	OracleName string // its name in messages

	Source string // the folder or archive it was read from, for messages
	Digest string // SHA-256 over names and contents of all files, hex

	node *strictyaml.Node // scenario.yaml, for At
}

// At is the place in scenario.yaml of what keys (string) and entries of lists (int,
// from 0) lead to; of as much of it as is there.
func (s *Scenario) At(keys ...any) strictyaml.Pos {
	n := s.node
	if n == nil {
		return strictyaml.Pos{File: s.Source}
	}
	for _, k := range keys {
		next := n
		switch k := k.(type) {
		case string:
			next = n.Get(k)
		case int:
			if n.Kind != strictyaml.List || k >= len(n.Items) {
				return n.Pos
			}
			next = n.Items[k]
		}
		if next == nil {
			break
		}
		n = next
	}
	return n.Pos
}

// Tagged reports whether the scenario has a tag.
func (s *Scenario) Tagged(tag string) bool {
	for _, t := range s.Tags {
		if t == tag {
			return true
		}
	}
	return false
}

// Hurt is a bad setting of a guard and what it costs here: with the profile
// default the model passes, with the guard set so it does worse.
type Hurt struct {
	Guard string
	Mode  string            // off, shadow or enforce; empty = enforce
	Set   map[string]string // parameters, as suites spell them
	Model string            // simulated model; empty = sim/oracle
	By    string            // how it shows, see HurtKinds; empty = fail
	// Fallback are the models for the guard fallback; none = FallbackModels.
	Fallback []string
	Pos      strictyaml.Pos
}

// FallbackModels are the models for the guard fallback where a scenario is proved
// and names none.
var FallbackModels = []string{"sim/oracle"}

// Fallbacks are the models for the guard fallback.
func (h *Hurt) Fallbacks() []string {
	if len(h.Fallback) > 0 {
		return h.Fallback
	}
	return FallbackModels
}

// How a scenario has the response cache filled before each trial in which the guard
// is on: by an unrecorded run of the trial itself, or of its next repetition.
const (
	CacheWarm  = "warm"
	CacheOther = "other"
)

// HurtKinds are the ways in which a bad setting shows: the verdict is fail, or the
// session takes at least half as many tokens, or half as much time, again.
var HurtKinds = []string{"fail", "tokens", "time"}

// TagHarms marks a scenario that shows what a guard costs. Results of such
// scenarios stand in a row of their own.
const TagHarms = "harms"

// File is one file of a tree.
type File struct {
	Path string // relative, slashes
	Data []byte
}

// Limits are the scenario's own bounds, in force in every arm. Turns, ToolCalls
// and Wall are always set, the others are unset at zero.
type Limits struct {
	Turns         int           // model turns, 1 to 100,000; default 50
	ToolCalls     int           // 1 to 1,000,000; default 200
	Tokens        int64         // input and output
	CostMicroUSD  int64         // in 1e-6 USD
	Wall          time.Duration // on the trial's clock; default 30 min
	ContextWindow int           // tokens; what a request may have
	MaxTokens     int           // of one answer; unset = the provider's default
}

// Tool is a tool that the agent has: a built-in one by its name, or a mock.
type Tool struct {
	Name string
	Mock *Mock // nil = built in
}

// Effects of tools.
const (
	EffectRead     = "read"     // changes nothing
	EffectWrite    = "write"    // changes the workspace
	EffectExternal = "external" // changes something outside
)

// Mock is a scripted tool; package loop/tool/mock runs it.
type Mock struct {
	Version     int    // from 1
	Description string // for the model
	Schema      string // JSON Schema of the arguments, canonical JSON
	Effect      string // read (default), write or external
	Parallel    bool   // may run beside others though not read-only
	Takes       time.Duration
	Paths       []string   // arguments that are workspace paths
	Commands    []string   // arguments that are command lines
	Hosts       []string   // arguments that are URLs or hosts
	Responses   []Response // at least one
	Cycle       bool       // a sequence starts again after its last response, which otherwise repeats
}

// Response is one answer of a mock tool. A call takes the first response whose
// When fits its arguments and whose AtCall holds its number; without one the first
// that fits and has no AtCall, which with those of the very same When is a
// sequence over the calls. A call that nothing fits gets a tool error that says
// so.
type Response struct {
	AtCall []Range           // of the tool's calls, from 1; none = see above
	When   map[string]string // argument name, or * for all arguments as JSON, to RE2 over its text
	Text   string            // the result: ${name} is the argument of that name, $$ a dollar sign; generated parts expanded and escaped
	Error  bool              // the result is a tool error
	Takes  time.Duration     // 0 = the tool's
	Files  []File            // written to the workspace; path and content are templates like Text
}

// Range is the calls First to Last, both included and counted from 1; Last 0 =
// without end.
type Range struct{ First, Last int }

// Fault is injected trouble in a tool or in the model's endpoint.
type Fault struct {
	Tool      string // a tool's name; empty when Model
	Model     bool   // the endpoint
	Kind      string // see FaultKinds and ModelFaultKinds
	AtCall    []int  // of a tool: which of its calls, from 1; none = all
	AtTurn    []int  // of the model: which turns, from 1; none = all
	AtAttempt []int  // of the model: which attempts within the turn, from 1; none = all
	Purpose   string // of the model: which calls; empty = those of turns, else "summary"

	Status     int           // of a model fault: HTTP status; 0 = the kind's
	RetryAfter time.Duration // of a model fault
	Takes      time.Duration // slow: how long; others: until the error; 0 = a default
	Text       string        // the error's text; empty = a default
	Bytes      int           // truncate: how much of the result stays; 0 = half
	P          float64       // flaky: the probability; 0 = 0.5
	Pos        strictyaml.Pos
}

// FaultKinds are the faults of tools.
var FaultKinds = []string{"error", "flaky", "hang", "malformed", "slow", "truncate"}

// ModelFaultKinds are the faults of a model's endpoint.
var ModelFaultKinds = []string{
	"auth", "bad_request", "broken_stream", "context_overflow", "hang", "quota", "rate_limit", "server", "slow", "timeout", "transport",
}

// Permissions bound what tools may touch. Globs are over workspace paths: * and ?
// stay within a name, ** is any number of names, and a glob covers what it matches
// and all below. Empty lists allow everything in the workspace.
type Permissions struct {
	Read     []string
	Write    []string
	Deny     []string // wins
	Commands []string // command lines; * is any text without the shell's operators
	Network  string   // "none" (default) or "any"
}

// Approval is an operation that waits for an approver. The first that fits a call
// decides.
type Approval struct {
	Tool   string
	When   map[string]string // argument name to RE2 over its text; all must match
	Decide string            // allow, deny or expire; empty = nobody is there
	Takes  time.Duration     // until he decides
	Reason string            // what he says
}

// Utterance is one line of a scripted user.
type Utterance struct {
	When string // RE2 over the answer it replies to; empty = any
	Say  string
}

// Lint says what scenario check expects of three simple agents: pass or fail.
type Lint struct {
	Oracle string // default pass
	Noop   string // default fail
	Spam   string // default fail
}

// Setting is the bad setting as suites write it: stuck.abort=2, or spill=off.
func (h *Hurt) Setting() string {
	var out []string
	if h.Mode != "" {
		out = append(out, h.Guard+"="+h.Mode)
	}
	names := make([]string, 0, len(h.Set))
	for name := range h.Set {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		out = append(out, h.Guard+"."+name+"="+h.Set[name])
	}
	return strings.Join(out, " ")
}

// Shows is how it shows, fail where nothing is said.
func (h *Hurt) Shows() string {
	if h.By == "" {
		return HurtKinds[0]
	}
	return h.By
}
