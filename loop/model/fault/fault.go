package fault

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
)

// Kind is what a fault does to a model call.
type Kind string

// The kinds of model faults. Slow and hang still answer, later; all others are
// errors in place of an answer.
const (
	Transport    Kind = "transport"
	BrokenStream Kind = "broken_stream"
	Timeout      Kind = "timeout"
	RateLimit    Kind = "rate_limit"       // 429
	Quota        Kind = "quota"            // 429 that does not pass
	Server       Kind = "server"           // 503 unless Status says otherwise
	Auth         Kind = "auth"             // 401
	BadRequest   Kind = "bad_request"      // 400
	Overflow     Kind = "context_overflow" // 400: the request is too large, whatever the window
	Slow         Kind = "slow"
	Hang         Kind = "hang"
)

// HangFor is how much longer a hanging call takes: whatever bounds the call cuts
// it.
const HangFor = 24 * time.Hour

// slowBy is how much longer a slow call takes when its fault does not say.
const slowBy = 20 * time.Second

// ErrorTook is the declared time of an error that says nothing of its own.
const ErrorTook = 80 * time.Millisecond

// Fault strikes model calls by their place, never by counting: turn and attempt
// come with the request.
type Fault struct {
	Turns    []int // from 1; none = every turn
	Attempts []int // within the turn, from 1; none = every attempt
	// Purpose says which calls are struck: of requests that are no turn, those of
	// this purpose. "" = those of turns, and where neither Turns nor Attempts say
	// which, all.
	Purpose    model.Purpose
	Kind       Kind
	Status     int           // HTTP status of an error; 0 = the kind's
	RetryAfter time.Duration // of an error; 0 = the provider does not say
	Takes      time.Duration // until an error, 0 = ErrorTook; added by slow, 0 = 20 s
	Message    string        // of an error; "" = a default
	P          float64       // probability that it strikes such a call; 0 = always
}

var errorsOf = map[Kind]struct {
	kind   model.ErrorKind
	status int
	text   string
}{
	Transport:    {model.ErrTransport, 0, "connection reset by peer"},
	BrokenStream: {model.ErrBrokenStream, 0, "the stream ended before the answer did"},
	Timeout:      {model.ErrTimeout, 0, "no answer in time"},
	RateLimit:    {model.ErrRateLimit, 429, "rate limit reached"},
	Quota:        {model.ErrQuota, 429, "quota exhausted"},
	Server:       {model.ErrServer, 503, "service unavailable"},
	Auth:         {model.ErrAuth, 401, "invalid key"},
	BadRequest:   {model.ErrBadRequest, 400, "bad request"},
	Overflow:     {model.ErrContextOverflow, 400, "the request is too large for this endpoint"},
}

// Kinds lists all kinds, sorted.
func Kinds() []Kind {
	out := []Kind{Slow, Hang}
	for k := range errorsOf {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// Check says what is wrong with a fault.
func (f *Fault) Check() error {
	_, fails := errorsOf[f.Kind]
	switch {
	case !fails && f.Kind != Slow && f.Kind != Hang:
		return fmt.Errorf("model fault: no kind %q; there are %q", f.Kind, Kinds())
	case slices.ContainsFunc(f.Turns, below1) || slices.ContainsFunc(f.Attempts, below1):
		return fmt.Errorf("model fault %s: turns and attempts are counted from 1", f.Kind)
	case f.Takes < 0 || f.Takes > HangFor || f.RetryAfter < 0:
		return fmt.Errorf("model fault %s: takes %v, retry after %v: want 0 to %v", f.Kind, f.Takes, f.RetryAfter, HangFor)
	case f.P != f.P || f.P < 0 || f.P > 1:
		return fmt.Errorf("model fault %s: p = %v: want a probability", f.Kind, f.P)
	case f.Status != 0 && (f.Status < 400 || f.Status > 599):
		return fmt.Errorf("model fault %s: status %d: want 400 to 599", f.Kind, f.Status)
	}
	return nil
}

func below1(n int) bool { return n < 1 }

// First returns the place of the first fault that strikes a request, or -1.
// Attempt, which counts from 0 in a request, counts from 1 in a fault.
func First(faults []Fault, seed uint64, req *model.Request) int {
	for i := range faults {
		f := &faults[i]
		if f.meant(req.Purpose) && hits(f.Turns, req.Turn) && hits(f.Attempts, req.Attempt+1) && (f.P == 0 || draw(seed, i, req) < f.P) {
			return i
		}
	}
	return -1
}

// meant reports whether requests of a purpose are struck at all.
func (f *Fault) meant(p model.Purpose) bool {
	return f.Purpose == p || f.Purpose == "" && len(f.Turns)+len(f.Attempts) == 0
}

func hits(list []int, n int) bool { return len(list) == 0 || slices.Contains(list, n) }

// draw is a number in [0, 1) keyed by seed, fault, purpose, lane, turn and attempt: the
// first 53 bits of a SHA-256 digest.
func draw(seed uint64, fault int, req *model.Request) float64 {
	b := append(make([]byte, 0, 96), "harnessbench/model/fault"...)
	for _, n := range [...]uint64{seed, uint64(fault), uint64(req.Turn), uint64(req.Attempt)} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	b = append(append(b, req.Purpose...), 0)
	sum := sha256.Sum256(append(b, req.Lane...))
	return float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53)
}

// Error returns a new error that takes the place of the answer; nil for slow and
// hang.
func (f *Fault) Error() *model.Error {
	info, ok := errorsOf[f.Kind]
	if !ok {
		return nil
	}
	e := &model.Error{Kind: info.kind, Status: info.status, RetryAfter: f.RetryAfter, Message: info.text, Elapsed: f.Takes}
	if f.Status != 0 {
		e.Status = f.Status
	}
	if f.Message != "" {
		e.Message = f.Message
	}
	if e.Elapsed == 0 {
		e.Elapsed = ErrorTook
	}
	return e
}

// Delay is how much longer the answer takes: of slow and hang; else 0.
func (f *Fault) Delay() time.Duration {
	switch {
	case f.Kind == Hang:
		return HangFor
	case f.Kind != Slow:
		return 0
	case f.Takes == 0:
		return slowBy
	}
	return f.Takes
}
