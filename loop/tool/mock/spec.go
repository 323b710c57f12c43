package mock

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/tool/fault"
)

// Hang is what a hanging call declares to take: longer than every deadline.
const Hang = fault.HangFor

// MaxText bounds what one call says, and each file that it writes, in bytes.
const MaxText = fault.MaxText

// AnyArgs as a key of Response.When stands for the canonical JSON of all
// arguments.
const AnyArgs = "*"

// Spec describes a mock tool.
type Spec struct {
	Name        string
	Version     int // 0 = 1
	Description string
	Schema      string // JSON Schema of the arguments, any JSON text; empty = any object
	Effect      event.Effect
	Parallel    bool          // may run beside others though not read-only
	Takes       time.Duration // what a call takes unless its response says otherwise
	Paths       []string      // top-level string arguments that are workspace paths: made canonical, and the call's resources
	Commands    []string      // such that are command lines, and resources
	Hosts       []string      // such that are URLs or hosts; the hosts are resources
	Responses   []Response    // at least one
	Cycle       bool          // a sequence starts again after its last response, which otherwise repeats
	Faults      []Fault
}

// Response is one thing that a tool may answer. A call takes the first response
// whose When fits its arguments and whose AtCall holds its index. Without one
// the first response that fits without AtCall decides: it and those with the very
// same When are a sequence, and the call's index says which of them answers. When
// nothing fits, the call is a tool_error that says so.
type Response struct {
	When   map[string]string // argument name (or AnyArgs) to RE2 that its text must match; all must. Strings are matched decoded, other values as JSON
	AtCall []Range           // of the tool's calls in the lane, from 1
	Text   string            // template: ${name} is the argument of that name, $$ a dollar sign
	Takes  time.Duration     // 0 = the tool's
	Error  bool              // the outcome is tool_error
	Files  []File            // written to the workspace; the tool's Effect must be write
}

// Range is the calls First to Last, both included and counted from 1; Last 0 =
// without end.
type Range struct{ First, Last int }

// ParseRange reads "3", "3-5" or "3-".
func ParseRange(s string) (Range, error) {
	first, last, ranged := strings.Cut(s, "-")
	r := Range{}
	var err error
	if r.First, err = strconv.Atoi(first); err != nil {
		return Range{}, fmt.Errorf("calls %q: want a number, \"3-5\" or \"3-\"", s)
	}
	switch {
	case !ranged:
		r.Last = r.First
	case last != "":
		if r.Last, err = strconv.Atoi(last); err != nil {
			return Range{}, fmt.Errorf("calls %q: want a number, \"3-5\" or \"3-\"", s)
		}
	}
	return r, r.check()
}

func (r Range) check() error {
	if r.First < 1 || r.Last != 0 && r.Last < r.First {
		return fmt.Errorf("calls %d-%d: want 1 <= first <= last", r.First, r.Last)
	}
	return nil
}

func (r Range) holds(call int) bool { return call >= r.First && (r.Last == 0 || call <= r.Last) }

// File is a file that a response writes. Path and Content are templates.
type File struct {
	Path    string // as an agent may spell it
	Content string
}

// FaultKind is a way in which a call fails.
type FaultKind = fault.Kind

// The faults of a tool, see package fault. None of them performs the response's
// file writes but slow, truncate and malformed, which only spoil how a call that
// worked looks.
const (
	FaultError     = fault.Error
	FaultHang      = fault.Hang
	FaultTruncate  = fault.Truncate
	FaultFlaky     = fault.Flaky
	FaultMalformed = fault.Malformed
	FaultSlow      = fault.Slow
)

// Fault spoils calls of a tool. What Takes says is all that the call takes.
type Fault = fault.Fault
