package session

import (
	"errors"
	"fmt"

	"github.com/harnessbench/harnessbench/loop/model"
)

// Version names the format and its major version; it is the header's "v" and
// the seed of the line chain.
const Version = "harnessbench/session/1"

// versionStem is Version without its number.
const versionStem = "harnessbench/session/"

// Names of session files.
const (
	Suffix        = ".session.jsonl" // of a finished session
	ZstdSuffix    = ".zst"           // follows Suffix when compressed
	PartialSuffix = ".partial"       // follows either while it is written
	BlobDir       = "blobs"          // beside the session file
)

// Limits of what is read and written.
const (
	MaxLine       = 64 << 20 // bytes of a line without its LF
	MaxDepth      = 512      // nesting of JSON values, the line's object included
	MaxLanes      = 1 << 16  // lanes of a session
	MaxBlob       = 1 << 30  // bytes of a blob
	InlineDelta   = 64 << 10 // bytes of a changed file that stand in the line
	InlineTree    = 4 << 10  // bytes of an initial file that stand in the header
	InlineTreeSum = 32 << 10 // bytes of all initial files in the header
	InlineBody    = 1 << 20  // bytes of an answer on the wire that stand in the line
	InlineAsk     = 64 << 10 // bytes of an auxiliary request that are kept
	MaxBody       = 64 << 20 // bytes of an answer on the wire
	LongText      = 64       // bytes above which an input text is chained by digest
)

// Type is the type of a line, its "t".
type Type string

// The line types of v1. Those after Footer are reserved: readers keep and skip
// them like any unknown type.
const (
	TypeHeader      Type = "header"
	TypePart        Type = "part"
	TypeRequest     Type = "request"
	TypeAttempt     Type = "attempt"
	TypeResponse    Type = "response"
	TypeToolRequest Type = "tool.request"
	TypeToolResult  Type = "tool.result"
	TypeGuard       Type = "guard"
	TypeApproval    Type = "approval"
	TypeAcceptance  Type = "acceptance"
	TypeState       Type = "state"
	TypeNote        Type = "note"
	TypeWire        Type = "wire"
	TypeFooter      Type = "footer"

	TypeLaneStart        Type = "lane.start"
	TypeLaneEnd          Type = "lane.end"
	TypeUser             Type = "user"
	TypeApprovalRequest  Type = "approval.request"
	TypeApprovalDecision Type = "approval.decision"
	TypeWorkStart        Type = "work.start"
	TypeWorkDone         Type = "work.done"
	TypeNondet           Type = "nondet"
)

// ChainStart is H0 of the line chain: SHA-256 of [Version].
var ChainStart = model.Sum([]byte(Version))

// tailLen is the length of `,"h":"<32 hex>"}`.
const tailLen = len(`,"h":"`) + 32 + len(`"}`)

// ErrTooNew is what errors.Is finds in the error for a session of a newer major
// version; the error's text names the version.
var ErrTooNew = errors.New("session format is too new")

// TooNewError refuses a newer major version.
type TooNewError struct{ Version string }

func (e *TooNewError) Error() string {
	return fmt.Sprintf("session has format %q; this build reads up to %q: use a newer harnessbench", e.Version, Version)
}

// Is makes errors.Is(err, ErrTooNew) true.
func (e *TooNewError) Is(target error) bool { return target == ErrTooNew }

// CorruptError says where a session is broken. Wrap it with the file's name.
type CorruptError struct {
	Line   int   // from 1
	Offset int64 // of the byte in the (decompressed) file
	What   string
	Err    error // what caused it, if anything
}

// Unwrap returns the cause.
func (e *CorruptError) Unwrap() error { return e.Err }

func (e *CorruptError) Error() string {
	return fmt.Sprintf("line %d, byte %d: %s", e.Line, e.Offset, e.What)
}

// DecodeError says that a sound line does not hold what its type asks for.
type DecodeError struct {
	Line  int
	Type  Type
	Field string // dotted path
	What  string
}

func (e *DecodeError) Error() string {
	return fmt.Sprintf("line %d (%s): field %q: %s", e.Line, e.Type, e.Field, e.What)
}

// Torn describes a last line without LF: the writer stopped inside it. All lines
// before it are good.
type Torn struct {
	Line   int
	Offset int64 // where the torn line begins: truncate here to recover
	Bytes  int64 // of the torn piece
}

func (t *Torn) String() string {
	return fmt.Sprintf("line %d is torn: %d bytes after byte %d without an end of line", t.Line, t.Bytes, t.Offset)
}
