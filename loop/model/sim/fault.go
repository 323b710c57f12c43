package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
)

// FaultKind is what an injected fault does to a model call.
type FaultKind string

// The kinds of model faults. Slow and hang still answer; a hang declares 24 h, so
// whatever bounds the call cuts it.
const (
	FaultTransport    FaultKind = "transport"
	FaultBrokenStream FaultKind = "broken_stream"
	FaultTimeout      FaultKind = "timeout"
	FaultRateLimit    FaultKind = "rate_limit" // 429
	FaultQuota        FaultKind = "quota"      // 429 that does not pass
	FaultServer       FaultKind = "server"     // 503 unless Status says otherwise
	FaultAuth         FaultKind = "auth"       // 401
	FaultBadRequest   FaultKind = "bad_request"
	FaultOverflow     FaultKind = "context_overflow" // 400: the request is too large, whatever the window
	FaultSlow         FaultKind = "slow"
	FaultHang         FaultKind = "hang"
)

// Fault strikes model calls by their place, never by counting: the turn and the
// attempt come with the request, so a served prefix moves no fault.
type Fault struct {
	Turns      []int         // from 1; none = every turn
	Attempts   []int         // within the turn, from 1; none = every attempt
	Purpose    model.Purpose // of the calls that it strikes; "" = those of turns
	Kind       FaultKind
	Status     int           // HTTP status; 0 = the kind's
	RetryAfter time.Duration // 0 = the provider does not say
	Takes      time.Duration // until the error, or added by slow; 0 = a default
	Message    string        // "" = a default
}

// errorTook is the declared time of an error that says nothing of its own.
const errorTook = 80 * time.Millisecond

var faultInfo = map[FaultKind]struct {
	kind   model.ErrorKind
	status int
	text   string
}{
	FaultTransport:    {model.ErrTransport, 0, "connection reset by peer"},
	FaultBrokenStream: {model.ErrBrokenStream, 0, "the stream ended before the answer did"},
	FaultTimeout:      {model.ErrTimeout, 0, "no answer in time"},
	FaultRateLimit:    {model.ErrRateLimit, 429, "rate limit reached"},
	FaultQuota:        {model.ErrQuota, 429, "quota exhausted"},
	FaultServer:       {model.ErrServer, 503, "service unavailable"},
	FaultAuth:         {model.ErrAuth, 401, "invalid key"},
	FaultBadRequest:   {model.ErrBadRequest, 400, "bad request"},
	FaultOverflow:     {model.ErrContextOverflow, 400, "the request is too large for this endpoint"},
}

// FaultKinds lists the kinds that a scenario may inject, sorted.
func FaultKinds() []FaultKind {
	out := []FaultKind{FaultSlow, FaultHang}
	for k := range faultInfo {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// strike returns what the faults of this call add to its duration, or the error.
func (m *Model) strike(req *model.Request) (time.Duration, error) {
	for i := range m.faults {
		f := &m.faults[i]
		if f.Purpose == req.Purpose && hits(f.Turns, req.Turn) && hits(f.Attempts, req.Attempt+1) {
			return f.strike()
		}
	}
	if req.Purpose != "" {
		return 0, nil
	}
	return m.misfortune(req)
}

func hits(list []int, n int) bool { return len(list) == 0 || slices.Contains(list, n) }

func (f *Fault) strike() (time.Duration, error) {
	switch f.Kind {
	case FaultHang:
		return hangFor, nil
	case FaultSlow:
		if f.Takes == 0 {
			return 20 * time.Second, nil
		}
		return f.Takes, nil
	}
	info, ok := faultInfo[f.Kind]
	if !ok {
		info = faultInfo[FaultServer]
	}
	e := &model.Error{Kind: info.kind, Status: info.status, RetryAfter: f.RetryAfter, Message: info.text, Elapsed: f.Takes}
	if f.Status != 0 {
		e.Status = f.Status
	}
	if f.Message != "" {
		e.Message = f.Message
	}
	if e.Elapsed == 0 {
		e.Elapsed = errorTook
	}
	return 0, e
}

// misfortune draws the profile's own faults, by turn and attempt.
func (m *Model) misfortune(req *model.Request) (time.Duration, error) {
	p := &m.profile
	if p.FaultAttempts > 0 && req.Attempt >= p.FaultAttempts {
		return 0, nil
	}
	hit := func(what string, rate float64) bool {
		return rate > 0 && draw(p.Name, m.seed, what, req.Lane, req.Turn*64+req.Attempt) < rate
	}
	switch {
	case hit("transport", p.Rates.Transport):
		return (&Fault{Kind: FaultTransport}).strike()
	case hit("rate_limit", p.Rates.RateLimit):
		return (&Fault{Kind: FaultRateLimit, RetryAfter: time.Second}).strike()
	case hit("server", p.Rates.Server):
		return (&Fault{Kind: FaultServer}).strike()
	case hit("hang", p.Rates.Hang):
		return hangFor, nil
	case hit("slow", p.Rates.Slow):
		return p.SlowBy, nil
	}
	return 0, nil
}

func overflowText(have int64, window int) string {
	return fmt.Sprintf("this request has about %d tokens, the context window is %d", have, window)
}
