package fault

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/tool"
)

// Kind is a way in which a call of a tool fails.
type Kind string

// The faults of a tool.
const (
	Error     Kind = "error"     // tool_error with Text
	Flaky     Kind = "flaky"     // error with probability P
	Hang      Kind = "hang"      // takes HangFor and answers nothing
	Malformed Kind = "malformed" // Text, or the first half and replacement characters
	Slow      Kind = "slow"      // takes longer
	Truncate  Kind = "truncate"  // the text breaks off after Bytes, or half way
)

// Kinds lists all kinds, sorted.
func Kinds() []Kind { return []Kind{Error, Flaky, Hang, Malformed, Slow, Truncate} }

// HangFor is what a hanging call takes: longer than every deadline.
const HangFor = 24 * time.Hour

// SlowTakes is how long a slow call takes when its fault does not say.
const SlowTakes = 30 * time.Second

// MaxText bounds the text of a fault, in bytes.
const MaxText = 8 << 20

// Fault spoils calls of one tool.
type Fault struct {
	Kind   Kind
	AtCall []int         // of the tool's calls in the lane, from 1; empty = every call
	Text   string        // of error, flaky and malformed; empty = a default
	Takes  time.Duration // of slow: by how much longer it takes, 0 = SlowTakes; of others: until the result, 0 = as ever
	P      float64       // of flaky: 0 < P <= 1; 0 = 0.5
	Bytes  int           // of truncate: 0 = half
}

// Check says what is wrong with a fault.
func (f *Fault) Check() error {
	if !slices.Contains(Kinds(), f.Kind) {
		return fmt.Errorf("kind %q: want error, hang, truncate, flaky, malformed or slow", f.Kind)
	}
	for _, n := range f.AtCall {
		if n < 1 {
			return fmt.Errorf("call %d: calls are counted from 1", n)
		}
	}
	switch {
	case f.P < 0 || f.P > 1 || f.P != f.P:
		return fmt.Errorf("p = %v: want a probability", f.P)
	case f.P != 0 && f.Kind != Flaky:
		return fmt.Errorf("p is for flaky, not for %s", f.Kind)
	case f.Bytes < 0 || f.Bytes != 0 && f.Kind != Truncate:
		return fmt.Errorf("bytes = %d: want a positive number, and only for truncate", f.Bytes)
	case f.Takes < 0 || f.Takes > HangFor:
		return fmt.Errorf("takes %v: want 0 to %v", f.Takes, HangFor)
	case len(f.Text) > MaxText:
		return fmt.Errorf("text of %d bytes: at most %d", len(f.Text), MaxText)
	}
	return nil
}

// First returns the place of the first fault that strikes call number nth (from 0)
// of a tool, or -1.
func First(faults []Fault, seed uint64, name string, nth int) int {
	for i := range faults {
		f := &faults[i]
		if (len(f.AtCall) == 0 || slices.Contains(f.AtCall, nth+1)) && (f.Kind != Flaky || draw(seed, name, i, nth) < f.chance()) {
			return i
		}
	}
	return -1
}

func (f *Fault) chance() float64 {
	if f.P == 0 {
		return 0.5
	}
	return f.P
}

// draw is a number in [0, 1) keyed by seed, tool, fault and call: the first 53
// bits of a SHA-256 digest.
func draw(seed uint64, name string, fault, nth int) float64 {
	b := make([]byte, 0, 64)
	b = binary.BigEndian.AppendUint64(b, seed)
	b = append(b, name...)
	b = append(b, 0)
	b = binary.BigEndian.AppendUint64(b, uint64(fault))
	b = binary.BigEndian.AppendUint64(b, uint64(nth))
	sum := sha256.Sum256(b)
	return float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53)
}

// Instead gives the result of a fault that keeps the call from being made: error,
// flaky and hang. takes is what it took, unless it hangs.
func (f *Fault) Instead(name string, takes time.Duration) (tool.Result, bool) {
	res := tool.Result{Outcome: event.ToolError, Text: f.Text, Took: takes}
	switch f.Kind {
	case Error:
		if res.Text == "" {
			res.Text = name + ": internal error"
		}
	case Flaky:
		if res.Text == "" {
			res.Text = name + ": temporarily unavailable, try again"
		}
	case Hang:
		res.Took, res.Text = HangFor, name+": no answer"
	default:
		return res, false
	}
	return res, true
}

// Spoil changes the text of a call that was made: truncate and malformed.
func (f *Fault) Spoil(res *tool.Result) {
	switch f.Kind {
	case Truncate:
		n := f.Bytes
		if n == 0 {
			n = len(res.Text) / 2
		}
		res.Text = Cut(res.Text, n)
	case Malformed:
		if f.Text != "" {
			res.Text = f.Text
		} else {
			res.Text = Cut(res.Text, len(res.Text)/2) + strings.Repeat("\uFFFD", 3)
		}
	}
}

// Cut returns at most n bytes of a text, never a part of a UTF-8 sequence.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
