// Package event is the vocabulary in which the loop says what happens.
//
//  1. The loop emits each event to one [Sink], in order, from one goroutine.
//  2. Guards fold over the same events; some exist for guards only and are not
//     recorded (their doc says so).
//  3. A recorder turns events into session lines; a replayer compares them with
//     the lines of a recording.
//
// Events are pointers for speed. A sink keeps nothing of an event after Emit
// returned, and changes nothing in it. Times are durations since the trial's
// start on the trial's clock.
package event

import (
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
)

// Kind is a bit that names one event type, so that a consumer can say in one
// word what it listens to.
type Kind uint32

// The kinds of events.
const (
	KindStart Kind = 1 << iota
	KindPart
	KindCheckpoint
	KindRequest
	KindAttempt
	KindResponse
	KindAnomaly
	KindToolRequest
	KindToolResult
	KindRound
	KindCandidate
	KindGuard
	KindState
	KindEnd
	KindSeal
	KindApproval
	KindTurnEnd
)

// Head stands in front of every event.
type Head struct {
	Lane string        // "main" or a subagent's
	Turn int           // from 1; 0 before the first
	At   time.Duration // on the trial's clock
}

// Header returns the head itself.
func (h *Head) Header() *Head { return h }

// Event is one thing that happened.
type Event interface {
	Header() *Head
	Kind() Kind
}

// Sink receives events. An error from Emit ends the loop: a recording that
// cannot be kept is no recording.
type Sink interface{ Emit(Event) error }

// MainLane is the lane of the main conversation.
const MainLane = "main"

// Start opens a session.
type Start struct {
	Head
	Config model.Digest // of the frozen configuration
}

// Part is a system prompt, tool spec or message that no other event carries:
// the task, a feedback, the rewritten form of a tool result, what asks for a
// summary, or what compaction puts into the conversation.
type Part struct {
	Head
	Part *model.Part
	Why  string // "tool", "system", "task", "feedback", "rewrite", "user", "summarise", "compacted"
}

// Next says what a Checkpoint stands before.
type Next string

// What a Checkpoint stands before.
const (
	NextTurn  Next = "turn"
	NextModel Next = "model"
	NextTool  Next = "tool"
)

// Checkpoint stands before a turn, every model call and every tool call. It is
// for guards and sinks; it is not recorded.
type Checkpoint struct {
	Head
	Next   Next
	Index  int // of the tool call in its batch, for NextTool
	Turns  int // turns begun, this one not included for NextTurn
	Calls  int // tool calls executed so far
	Usage  model.Usage
	Cost   Cost   // spent so far
	Effect Effect // of the tool call, for NextTool
}

// Cost is money in units of 1e-12 USD, exact in sums. Known is false when a
// price is unknown; then Pico counts only what is known.
type Cost struct {
	Pico  int64
	Known bool
}

// Request is a question about to be asked.
type Request struct {
	Head
	Req *model.Request
	// Keep and Add say which parts of the previous request stay and which parts
	// follow when that is not implied (nothing but additions in line order): after
	// compaction, for a summary, and after that.
	Implied bool
	Keep    int
	Add     []*model.Part
}

// Attempt is a model call that did not stand: an error, or an answer that a
// policy dropped (truncated and empty).
type Attempt struct {
	Head
	N     int             // from 0 within the turn
	Err   *model.Error    // nil when Resp was dropped
	Resp  *model.Response // nil on an error
	Took  time.Duration
	Wait  time.Duration // before the next attempt, decided by the policy
	Again bool          // whether there is a next one
}

// Response is an answer that stands.
type Response struct {
	Head
	Resp *model.Response
	Part *model.Part // the assistant message, ids assigned
	Took time.Duration
	Cost Cost // of this call
}

// Anomaly is a contradiction in what a provider sent, recorded and survived: a
// stop signal that does not fit the items, for example.
type Anomaly struct {
	Head
	What string
}

// Effect is the effect class of a tool.
type Effect string

// Effect classes.
const (
	Read     Effect = "read"     // changes nothing, may run beside others
	Write    Effect = "write"    // changes the workspace
	External Effect = "external" // changes something outside, cannot be undone
)

// Problem says why a call cannot be run as it stands.
type Problem string

// Problems found in stages 3 and 4. Each is the terminal outcome of its call.
const (
	NoProblem        Problem = ""
	ProblemUnknown   Problem = Problem(UnknownTool)
	ProblemArguments Problem = Problem(ValidationFailed)
	ProblemDenied    Problem = Problem(PermissionDenied)
	// ProblemUnapproved: it waited for an approver, or had to, and nobody allowed it.
	ProblemUnapproved Problem = Problem(ApprovalRequired)
)

// ToolRequest is one call of a batch, resolved, validated, canonicalised and
// authorised. Every call of a batch has its request before the first runs.
type ToolRequest struct {
	Head
	Index     int
	Call      model.ToolCall
	Version   int          // of the tool the model saw; 0 = unknown tool
	Args      string       // canonical JSON; the raw text when it is no JSON
	Digest    model.Digest // of tool name and Args
	Effect    Effect
	Resources []string // canonical paths and other resources it names
	Problem   Problem
	Detail    string // of the problem, for the model
}

// Outcome is the terminal outcome of a tool call.
type Outcome string

// Terminal outcomes: each request gets exactly one.
const (
	Success            Outcome = "success"
	ValidationFailed   Outcome = "validation_failed"
	UnknownTool        Outcome = "unknown_or_disabled_tool"
	PermissionDenied   Outcome = "permission_denied"
	ApprovalRequired   Outcome = "approval_required"
	Timeout            Outcome = "timeout"
	Cancelled          Outcome = "cancelled"
	BackgroundAccepted Outcome = "background_accepted"
	UnknownOutcome     Outcome = "unknown_outcome"
	ToolError          Outcome = "tool_error"
)

// Texts of results that the loop gives calls which it neither ran nor counted.
const (
	NotRun = "not run: the session is ending"
	// NotBeside is that of a call which was not begun because another of its batch
	// had failed.
	NotBeside = "not run: another call of the batch failed"
	InLimbo   = "this very operation was cut off before and its outcome is unknown; find out what it did before you do it again"
	Lapsed    = "not run: the approval did not stand any more when it was this call's turn; ask for the operation again"
)

// CutShort is how the result of a call begins that was cancelled while it ran
// because another of its batch failed.
const CutShort = "cancelled: another call of the batch failed"

// Delta is one change of the workspace.
type Delta struct {
	Op      string       // "write" or "delete"
	Path    string       // relative to the workspace root, slashes
	Before  model.Digest // of the content before; zero = there was none
	After   model.Digest // of the content after; zero when deleted
	Size    int64        // bytes after
	Mode    uint32       // permission bits after
	Content []byte       // bytes after; nil when deleted
	// Redacted says that secrets are overwritten in Content, and so in After; the
	// file itself has them.
	Redacted bool
}

// ToolResult is the terminal result of one call. Raw is what the tool said;
// Shown is what the model will see after the rewrites so far.
type ToolResult struct {
	Head
	Index     int
	Call      model.ToolCall
	Args      string       // as in ToolRequest
	ReqDigest model.Digest // as in ToolRequest
	Effect    Effect
	Resources []string
	Outcome   Outcome
	Detail    string // of a problem, as in ToolRequest
	Raw       string
	RawDigest model.Digest
	Shown     string
	Took      time.Duration // what passed on the trial's clock
	Want      time.Duration // what it would have taken without a deadline; = Took when none cut it
	Deadline  time.Duration // in force, 0 = none
	Exit      *int          // of a command
	Delta     []Delta
	Redacted  string // secrets that are overwritten in Raw, by kind and count; empty = none
}

// Round closes a committed batch of N calls. It is for guards and sinks; it is
// not recorded.
type Round struct {
	Head
	N int
}

// TurnEnd closes a turn that no stop and no accepted end makes the last; what is
// fed back on it is said, and a stop on it counts. It is for guards only: no sink
// hears of it.
type TurnEnd struct {
	Head
	Calls int // tool calls executed so far
	Usage model.Usage
	Cost  Cost // spent so far
}

// Candidate is an answer without executable calls: the model thinks that it is
// done.
type Candidate struct {
	Head
	Answer  string
	Empty   bool   // no text and no call
	Checked bool   // the scenario's checks were run
	Fail    string // the first failing reason; empty = all passed
}

// Seal tells what became of the declared files between the first turn and a
// candidate. It is for guards and sinks; it is not recorded.
type Seal struct {
	Head
	Broken []string // the first "changed tests/a.txt", "created ...", "deleted ...", sorted by path
	Count  int      // of all that are broken
}

// Approval is what an approver said of one operation, or that nobody said
// anything in time. It binds to everything that stands here: an approval of
// another digest, actor or state version, or one that has expired, authorises
// nothing. It comes before the request of the operation, which says what became
// of it.
type Approval struct {
	Head
	Operation string       // id of the call
	Digest    model.Digest // of the canonical operation
	Actor     string       // the lane that asked
	Version   int          // state version it was asked at
	Decision  string       // "allow", "deny", "expire", "stale"
	Reason    string       // the approver's, for the model
	Took      time.Duration
	Expires   time.Duration // on the trial's clock; until then it stands
}

// Guard is a firing of a guard, in either mode.
type Guard struct {
	Head
	Name     string
	Version  int    // behaviour version
	Mode     string // "enforce" or "shadow"
	Act      string // nudge, stop, spill, cut, timeout, retry, give_up, ...
	Evidence string
	On       string // id of the call it acted on, "" = the turn
	Failed   string // why its effect could not be performed (the rewrite was dropped)
}

// State closes a turn.
type State struct {
	Head
	Version int // + 1 a turn
	Calls   int // tool calls run so far; calls with a problem are none
	Usage   model.Usage
	Cost    Cost
}

// End closes a session.
type End struct {
	Head
	Reason    Reason
	Evidence  string
	Backstop  bool // the scenario's own limit ended it
	Unchecked bool // no acceptance stood behind the end
	Answer    string
	Turns     int
	Calls     int
	Attempts  int // model calls, failed ones included
	Usage     model.Usage
	Cost      Cost
}

// Reason is a stop reason, the outcome of a session.
type Reason string

// The stop reasons a session can end with.
const (
	Completed          Reason = "completed"
	Unverified         Reason = "unverified"
	Stuck              Reason = "stuck"
	NoProgress         Reason = "no_progress"
	TurnLimit          Reason = "turn_limit"
	ToolCallLimit      Reason = "tool_call_limit"
	TokenBudget        Reason = "token_budget"
	CostBudget         Reason = "cost_budget"
	Deadline           Reason = "deadline"
	CancelledRun       Reason = "cancelled"
	PolicyStopped      Reason = "policy_stopped"
	WaitingForApproval Reason = "waiting_for_approval"
	WaitingForEvent    Reason = "waiting_for_external_event"
	EmptyResponse      Reason = "empty_response"
	ModelError         Reason = "model_error"
	ProtocolError      Reason = "protocol_error"
	ToolFailure        Reason = "tool_failure"
	SealBroken         Reason = "seal_broken"
	InternalError      Reason = "internal_error"
)

// Kind implements Event.
func (*Start) Kind() Kind       { return KindStart }
func (*Part) Kind() Kind        { return KindPart }
func (*Checkpoint) Kind() Kind  { return KindCheckpoint }
func (*Request) Kind() Kind     { return KindRequest }
func (*Attempt) Kind() Kind     { return KindAttempt }
func (*Response) Kind() Kind    { return KindResponse }
func (*Anomaly) Kind() Kind     { return KindAnomaly }
func (*ToolRequest) Kind() Kind { return KindToolRequest }
func (*ToolResult) Kind() Kind  { return KindToolResult }
func (*Round) Kind() Kind       { return KindRound }
func (*Candidate) Kind() Kind   { return KindCandidate }
func (*Guard) Kind() Kind       { return KindGuard }
func (*State) Kind() Kind       { return KindState }
func (*End) Kind() Kind         { return KindEnd }
func (*Seal) Kind() Kind        { return KindSeal }
func (*Approval) Kind() Kind    { return KindApproval }
func (*TurnEnd) Kind() Kind     { return KindTurnEnd }
