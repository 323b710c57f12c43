package limit

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
)

// An outage: calls wait, one at a time probes, and all are served once it is over.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(4)
		p.down = func(now time.Duration) bool { return now > 20*sec && now < 110*sec }
		a := New(Options{Concurrency: 16})
		got := load(t, a.Wrap(p), 60, 10)
		probes := 0
		for _, at := range p.arrivals {
			if at > 25*sec && at < 110*sec {
				probes++
			}
		}
		if probes < 2 || probes > 6 {
			t.Errorf("%d requests during the outage", probes)
		}
		if slices.Min(got) < 10 {
			t.Errorf("a trial got %d of 10 answers", slices.Min(got))
		}
		if s := a.Snapshot(); s.Breaker != Closed || s.Opened < 2 {
			t.Errorf("%+v", s)
		}
	})
}

// An outage that lasts ends calls with an error that says so.
func TestLastingOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(5)
		p.down = func(time.Duration) bool { return len(p.arrivals) > 1 }
		a := New(Options{Name: "acme", BreakAfter: 3})
		m := a.Wrap(p)
		if _, err := m.Generate(t.Context(), ask(), nil); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := m.Generate(t.Context(), ask(), nil); err == nil || strings.Contains(err.Error(), "breaker") {
				t.Fatal(err)
			}
		}
		errs := make(chan error, 20)
		began := time.Now()
		for range 20 {
			go func() { _, err := m.Generate(t.Context(), ask(), nil); errs <- err }()
		}
		waited := 0
		for range 20 {
			err := <-errs
			var e *model.Error
			if !errors.As(err, &e) || e.Kind != model.ErrTransport || e.Status != 0 {
				t.Fatalf("%v", err)
			}
			if strings.Contains(e.Message, "the circuit breaker of provider acme is open") {
				waited++
			}
		}
		if waited < 15 || time.Since(began) != time.Minute {
			t.Errorf("%d waited, all ended after %s", waited, time.Since(began))
		}
	})
}

// A call that had long been in the queue when the breaker opened waits for it as
// long as one that came then.
func TestOutageAfterQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(8)
		p.latency = func(*rand.Rand) time.Duration { return 100 * sec }
		p.fault = func(*rand.Rand) *model.Error {
			if len(p.arrivals) == 1 {
				return &model.Error{Kind: model.ErrTransport}
			}
			return nil
		}
		a := New(Options{Concurrency: 1, BreakAfter: 1, OpenWait: 20 * sec}) // the failure takes 25 s
		got := load(t, a.Wrap(p), 2, 1)
		if len(p.arrivals) != 3 || p.arrivals[1] != 30*sec || !slices.Equal(got, []int{1, 1}) {
			t.Errorf("arrivals %v, answers %v", p.arrivals, got)
		}
	})
}
