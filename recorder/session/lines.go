package session

import (
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
)

// Header is the first line: everything a replay has to be given.
type Header struct {
	Canon          string // canonical form of requests; "canon/1"
	Scenario       string
	ScenarioDigest model.Digest // zero = unknown
	Repetition     int          // from 0
	Model          string       // provider/name
	Simulated      bool
	Config         []byte       // canonical JSON object: guard settings and versions, limits, params, seed, prices, ...
	ConfigDigest   model.Digest // SHA-256 of Config
	Tree           []TreeFile   // the initial workspace, sorted by path
	TreeDigest     model.Digest
	Normalisers    []string
	Fork           *Fork             // of a session that goes on from another; else nil
	Labels         map[string]string // annotation
}

// Fork says of a session from which one it branched off, and what it owes to it.
type Fork struct {
	Parent model.Digest // the full digest in the parent's footer
	// Turns are the turns before the first request that only one of the two asked:
	// the shared prefix.
	Turns  int
	Spared model.Usage // of the parent's answers that were served: tokens not spent
	Set    []string    // the changes, as name=value; empty = none
	Live   bool        // it went on live; else it ends where the parent's answers do
}

// TreeFile is one file of the initial workspace.
type TreeFile struct {
	Path    string // relative, slashes
	Size    int64
	Mode    uint32 // permission bits
	Digest  model.Digest
	Content []byte // nil after decoding when it stands in a blob named by Digest
}

// Part is a part of requests that no other line carries.
type Part struct {
	Why    string // tool, system, task, feedback, rewrite, user
	Kind   model.PartKind
	Role   model.Role
	Body   []byte      // the canonical JSON
	Digest ShortDigest // of Body, as recorded
}

// Request is a question asked. Parts are implied unless Explicit.
type Request struct {
	Turn         int
	Chain        ShortDigest
	Params       []byte // canonical JSON; nil = those of the lane's request before
	ParamsDigest ShortDigest
	Explicit     bool // Keep and Add stand in the line
	Keep         int
	Add          []ShortDigest
	Purpose      model.Purpose
}

// Attempt is a model call that did not stand.
type Attempt struct {
	N       int
	Err     *model.Error    // nil when an answer was dropped; Usage and Elapsed are set
	Resp    *model.Response // the dropped answer
	Elapsed time.Duration
	Wait    time.Duration
	Again   bool
}

// Response is an answer that stands. Call ids are not in it: the loop assigns
// them again, and tool.request lines name them.
type Response struct {
	Resp model.Response // Model is empty when it is the header's
}

// ToolRequest is one canonical call of a batch.
type ToolRequest struct {
	Index     int
	ID        string
	Tool      string
	Version   int
	Effect    event.Effect
	Args      string // canonical arguments where they differ from what the model wrote
	HasArgs   bool   // Args stands in the line
	Resources []string
	// HasResources: Resources stands in the line; else it is the argument "path"
	// of the canonical arguments if that is a string, or none.
	HasResources bool
	Problem      event.Problem
	Detail       string
}

// ToolResult is the terminal result of one call.
type ToolResult struct {
	Index   int
	ID      string
	Outcome event.Outcome
	Text    string
	Bytes   int64 // of the raw result where it was no UTF-8; else len(Text)
	Took    time.Duration
	Want    time.Duration // = Took unless a deadline cut the call
	Exit    *int
	Delta   []Delta
	// Redacted says which secrets are overwritten in Text, by kind and count.
	Redacted string
}

// Delta is a recorded change of the workspace. [Trail] makes an event of it.
type Delta struct {
	Op     string // write or delete
	Path   string
	Before ShortDigest // of the content before; zero = there was no file
	Mode   uint32
	Inline bool         // Data is the content
	Data   []byte       // content after, when Inline
	Arg    string       // the content is this string member of the call's canonical arguments
	Blob   model.Digest // the content stands in this blob
	Size   int64        // of the blob
	// Redacted: secrets are overwritten in the content, which the file had.
	Redacted bool
}

// Guard is a firing.
type Guard struct {
	Name     string
	Version  int
	Mode     string
	Act      string
	Evidence string
	On       string
	Failed   string
}

// Approval is what an approver said of one operation.
type Approval struct {
	ID       string      // of the call
	Op       ShortDigest // of the canonical operation
	Version  int         // of the state
	Decision string      // allow, deny, expire, stale
	Reason   string
	Took     time.Duration
	Expires  time.Duration // trial clock
}

// Acceptance is a terminal candidate and what the checks said.
type Acceptance struct {
	Checked bool
	Fail    string
	Empty   bool
}

// State closes a turn.
type State struct {
	Version int
	Calls   int
	Usage   model.Usage
	Cost    event.Cost
	At      time.Duration
	Inputs  ShortDigest
}

// Note is a recorded anomaly.
type Note struct{ What string }

// Footer is the last line.
type Footer struct {
	Reason       event.Reason
	Evidence     string
	Backstop     bool
	Unchecked    bool
	Turns        int
	Calls        int
	Attempts     int
	Usage        model.Usage
	Cost         event.Cost
	AnswerDigest model.Digest // of the answer's text
	TreeDigest   model.Digest // zero = unknown
	At           time.Duration
	Inputs       model.Digest
	Lines        int          // the footer included
	Digest       model.Digest // of the chain before the footer
}

// ShortDigest is the first half of a digest, as lines carry it.
type ShortDigest [16]byte

// Short cuts a digest.
func Short(d model.Digest) ShortDigest { return ShortDigest(d[:16]) }

// IsZero reports whether s is none.
func (s ShortDigest) IsZero() bool { return s == ShortDigest{} }

// String returns 32 hex digits.
func (s ShortDigest) String() string {
	var d model.Digest
	copy(d[:], s[:])
	return d.Short()
}

// Of reports whether s is the first half of d.
func (s ShortDigest) Of(d model.Digest) bool { return s == ShortDigest(d[:16]) }
