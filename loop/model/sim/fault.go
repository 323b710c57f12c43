package sim

import (
	"fmt"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/fault"
)

// FaultKind is what an injected fault does to a model call.
type FaultKind = fault.Kind

// The kinds of model faults, see package fault.
const (
	FaultTransport    = fault.Transport
	FaultBrokenStream = fault.BrokenStream
	FaultTimeout      = fault.Timeout
	FaultRateLimit    = fault.RateLimit
	FaultQuota        = fault.Quota
	FaultServer       = fault.Server
	FaultAuth         = fault.Auth
	FaultBadRequest   = fault.BadRequest
	FaultOverflow     = fault.Overflow
	FaultSlow         = fault.Slow
	FaultHang         = fault.Hang
)

// Fault strikes model calls by their place.
type Fault = fault.Fault

// FaultKinds lists the kinds that a scenario may inject, sorted.
func FaultKinds() []FaultKind { return fault.Kinds() }

// strike returns what the faults of this call add to its duration, or the error.
// A call that a fault of the scenario strikes has none of the profile's own
// misfortunes beside it: a wrapper around the model would not know of those.
func (m *Model) strike(req *model.Request) (time.Duration, error) {
	if i := fault.First(m.faults, m.seed, req); i >= 0 {
		return struck(&m.faults[i])
	}
	if req.Purpose != "" {
		return 0, nil
	}
	return m.misfortune(req)
}

func struck(f *Fault) (time.Duration, error) {
	if e := f.Error(); e != nil {
		return 0, e
	}
	return f.Delay(), nil
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
		return struck(&Fault{Kind: FaultTransport})
	case hit("rate_limit", p.Rates.RateLimit):
		return struck(&Fault{Kind: FaultRateLimit, RetryAfter: time.Second})
	case hit("server", p.Rates.Server):
		return struck(&Fault{Kind: FaultServer})
	case hit("hang", p.Rates.Hang):
		return struck(&Fault{Kind: FaultHang})
	case hit("slow", p.Rates.Slow):
		return p.SlowBy, nil
	}
	return 0, nil
}

func overflowText(have int64, window int) string {
	return fmt.Sprintf("this request has about %d tokens, the context window is %d", have, window)
}
