package limit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/modeltest"
	"github.com/harnessbench/harnessbench/loop/model/sim"
)

// provider is a simulated provider with a true limit, latency and faults.
type provider struct {
	rate    func(now time.Duration) float64 // requests a second that it takes; nil = any number
	depth   float64                         // of its bucket, in requests
	silent  bool                            // 429s say no Retry-After
	latency func(*rand.Rand) time.Duration
	fault   func(*rand.Rand) *model.Error // nil = none
	down    func(now time.Duration) bool

	mu       sync.Mutex
	began    time.Time
	r        *rand.Rand
	level    float64
	filled   time.Duration
	flying   int
	peak     int
	arrivals []time.Duration
	quiet    time.Duration   // nobody may come before: the longest Retry-After said
	early    int             // requests that came all the same
	used     []time.Duration // arrivals that took tokens
	taken    int             // requests that used the limit
}

func newProvider(seed uint64) *provider {
	return &provider{began: time.Now(), r: rand.New(rand.NewPCG(seed, 9)), depth: 1,
		latency: func(r *rand.Rand) time.Duration { return time.Duration(float64(sec) * (0.5 + r.Float64())) }}
}

func (p *provider) ID() string { return "test/model" }

func (p *provider) Generate(ctx context.Context, _ *model.Request, _ func(model.Delta)) (*model.Response, error) {
	wait, err := p.arrive()
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flying--
	var e *model.Error
	if errors.As(err, &e) && e.RetryAfter > 0 {
		p.quiet = max(p.quiet, time.Since(p.began)+e.RetryAfter)
	}
	if err != nil {
		return nil, err
	}
	return &model.Response{Items: []model.Item{{Type: model.Text, Text: "yes"}}, Finish: model.FinishStop, Usage: model.Usage{InputUncached: 100, Output: 50}}, nil
}

// arrive decides what happens to a request and how long it takes.
func (p *provider) arrive() (time.Duration, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Since(p.began)
	p.flying++
	p.peak = max(p.peak, p.flying)
	p.arrivals = append(p.arrivals, now)
	if now < p.quiet {
		p.early++
	}
	if p.down != nil && p.down(now) {
		return 10 * time.Millisecond, &model.Error{Kind: model.ErrTransport, Message: "connection refused"}
	}
	if p.rate != nil {
		rate := p.rate(now)
		p.level = min(p.depth, p.level+rate*(now-p.filled).Seconds())
		p.filled = now
		if p.level < 1 {
			// whole seconds, as the header has them
			if p.silent {
				return 10 * time.Millisecond, &model.Error{Kind: model.ErrRateLimit, Status: 429}
			}
			after := (time.Duration((1-p.level)/rate*float64(sec)) + sec).Truncate(sec)
			return 10 * time.Millisecond, &model.Error{Kind: model.ErrRateLimit, Status: 429, RetryAfter: after}
		}
		p.level--
	}
	p.taken++
	if p.fault != nil {
		if err := p.fault(p.r); err != nil {
			if err.Kind != model.ErrRateLimit {
				p.used = append(p.used, now)
			}
			return p.latency(p.r) / 4, err
		}
	}
	p.used = append(p.used, now)
	return p.latency(p.r), nil
}

// mixed is 20 % faults: every kind that a retry policy retries.
func mixed(r *rand.Rand) *model.Error {
	kinds := []*model.Error{
		{Kind: model.ErrTransport}, {Kind: model.ErrServer, Status: 500}, {Kind: model.ErrBrokenStream}, {Kind: model.ErrServer, Status: 529},
		{Kind: model.ErrRateLimit, Status: 429}, {Kind: model.ErrTimeout, Status: 408},
	}
	if i := r.IntN(5 * len(kinds)); i < len(kinds) {
		e := *kinds[i]
		return &e
	}
	return nil
}

// load lets trials of calls ask, each with retries as the loop's policy has them,
// and returns how many calls of each trial got an answer.
func load(t *testing.T, m model.Model, trials, calls int) []int {
	t.Helper()
	got := make([]int, trials)
	var wg sync.WaitGroup
	for i := range trials {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 5))
			for range calls {
				for attempt := range 4 {
					_, err := m.Generate(t.Context(), ask(), nil)
					if err == nil {
						got[i]++
						break
					}
					var e *model.Error
					if !errors.As(err, &e) {
						t.Errorf("%v", err)
						return
					}
					wait := time.Duration(r.Int64N(int64(200*time.Millisecond)<<attempt)) + 1
					time.Sleep(max(wait, e.RetryAfter))
				}
			}
		})
	}
	wg.Wait()
	return got
}

func ask() *model.Request {
	tr := model.NewTranscript()
	tr.Append(model.NewTextPart(model.User, strings.Repeat("x", 300)))
	parts, chains := tr.View()
	return &model.Request{Params: model.Params{Model: "test/model", MaxTokens: 100}, Parts: parts, Chains: chains, Turn: 1}
}

// busiest is the largest number of arrivals in a half-open minute.
func busiest(times []time.Duration) (most int) {
	from := 0
	for i, at := range times {
		for times[from] <= at-time.Minute {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}

// With the account's limits declared: never above any of them, most of them used,
// and every trial served, with faults in every fifth answer.
func TestStaysBelowDeclaredLimits(t *testing.T) {
	for _, c := range []struct {
		name   string
		o      Options
		trials int
		most   func(seconds float64) float64 // calls that the limits allow
	}{
		{"rpm", Options{Concurrency: 64, RPM: 600}, 80, func(s float64) float64 { return 10 * s }},
		{"tpm", Options{Concurrency: 64, TPM: 60_000}, 80, func(s float64) float64 { return 60_000 / 150 * s / 60 }},
		{"concurrency", Options{Concurrency: 8}, 80, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newProvider(1)
				p.fault = mixed
				a := New(c.o)
				got := load(t, a.Wrap(p), c.trials, 40)
				took := time.Since(p.began).Seconds()
				s := a.Snapshot()
				t.Logf("%.0f s, %d requests, peak %d, busiest minute %d, fewest answers %d, %+v", took, len(p.arrivals), p.peak, busiest(p.arrivals), slices.Min(got), s)
				if p.peak > c.o.Concurrency {
					t.Errorf("%d in flight", p.peak)
				}
				if most, used := busiest(p.arrivals), busiest(p.used); c.o.RPM > 0 && most > c.o.RPM || c.o.TPM > 0 && int64(used)*150 > c.o.TPM {
					t.Errorf("%d requests in a minute, %d of them with tokens", most, used)
				}
				allowed := 0.0
				if c.most != nil {
					allowed = c.most(took)
				} else { // in flight all the time, with faults that take a quarter of a call
					allowed = float64(c.o.Concurrency) * took / (0.8 + 0.2/4)
				}
				if share := float64(len(p.arrivals)) / allowed; share < 0.8 {
					t.Errorf("used %.0f %% of what the limits allow", 100*share)
				}
				if slices.Min(got) < 36 {
					t.Errorf("a trial got %d of 40 answers", slices.Min(got))
				}
				if s.InFlight != 0 || s.Waiting != 0 || s.Breaker != Closed || s.Opened != 0 {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

// A provider that allows less than was declared, and for two minutes half of
// that: 429s with Retry-After. Nobody asks before a Retry-After is over, and most
// of what it takes is used.
func TestStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(2)
		p.fault, p.depth = mixed, 20
		p.rate = func(now time.Duration) float64 {
			if now > 2*time.Minute && now < 4*time.Minute {
				return 2.5
			}
			return 5
		}
		a := New(Options{Concurrency: 32})
		got := load(t, a.Wrap(p), 100, 20)
		took := time.Since(p.began)
		allowed := 5*took.Seconds() - 2.5*120
		s := a.Snapshot()
		t.Logf("%s, %d requests, %d taken of %.0f, fewest answers %d, %+v", took, len(p.arrivals), p.taken, allowed, slices.Min(got), s)
		if p.early > 0 {
			t.Errorf("%d requests before a Retry-After was over", p.early)
		}
		if share := float64(p.taken) / allowed; share < 0.8 {
			t.Errorf("used %.0f %% of what the provider takes", 100*share)
		}
		if share := float64(s.Throttled) / float64(s.Calls); share > 0.25 {
			t.Errorf("%.0f %% of the requests were throttled", 100*share)
		}
		if slices.Min(got) < 15 {
			t.Errorf("a trial got %d of 20 answers", slices.Min(got))
		}
	})
}

// A provider that takes far less than one fast call after the other, and does not
// say when to come back: the window goes below 1.
func TestSlowProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(7)
		p.depth, p.silent = 5, true
		p.rate = func(time.Duration) float64 { return 2 }
		p.latency = func(*rand.Rand) time.Duration { return 50 * time.Millisecond }
		a := New(Options{})
		got := load(t, a.Wrap(p), 20, 30)
		took := time.Since(p.began).Seconds()
		s := a.Snapshot()
		t.Logf("%.0f s, %d requests, %d taken of %.0f, fewest answers %d, %+v", took, len(p.arrivals), p.taken, 2*took, slices.Min(got), s)
		if share := float64(p.taken) / (2 * took); share < 0.8 {
			t.Errorf("used %.0f %% of what the provider takes", 100*share)
		}
		if share := float64(s.Throttled) / float64(s.Calls); share > 0.3 {
			t.Errorf("%.0f %% of the requests were throttled", 100*share)
		}
		if slices.Min(got) < 25 {
			t.Errorf("a trial got %d of 30 answers", slices.Min(got))
		}
	})
}

// A provider that refuses everything for a while before the first answer: what was
// not known then must not hold anybody back later.
func TestStormAtTheStart(t *testing.T) {
	for _, silent := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := newProvider(10)
			p.silent = silent
			p.latency = func(*rand.Rand) time.Duration { return 20 * time.Millisecond }
			p.depth = 100
			p.rate = func(time.Duration) float64 {
				if len(p.arrivals) <= 60 {
					return 1e-9
				}
				return 1e9
			}
			a := New(Options{Concurrency: 16, MaxPause: 50 * time.Millisecond})
			m := a.Wrap(p)
			for range 60 {
				_, _ = m.Generate(t.Context(), ask(), nil)
			}
			began := time.Now()
			load(t, m, 20, 20)
			if took := time.Since(began); took > 30*sec {
				t.Errorf("silent %v: 400 calls of 20 ms took %s: %+v", silent, took, a.Snapshot())
			}
		})
	}
}

// When a Retry-After is over, calls come one by one.
func TestNoHerd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(3)
		p.latency = func(*rand.Rand) time.Duration { return sec }
		first := true
		p.fault = func(*rand.Rand) *model.Error {
			if time.Since(p.began) >= 10*sec && first {
				first = false
				return &model.Error{Kind: model.ErrRateLimit, Status: 429, RetryAfter: 20 * sec}
			}
			return nil
		}
		a := New(Options{Concurrency: 16})
		load(t, a.Wrap(p), 200, 4)
		var after []time.Duration
		for _, at := range p.arrivals {
			if at >= 30*sec {
				after = append(after, at)
			}
		}
		if p.early > 0 || after[0] > 32*sec {
			t.Errorf("%d came early, the first one at %s", p.early, after[0])
		}
		for i := 1; i < 8; i++ { // 8 to 12 in flight, at 1 s each
			if gap := after[i] - after[i-1]; gap < 50*time.Millisecond || gap > 300*time.Millisecond {
				t.Errorf("call %d came %s after the one before", i, gap)
			}
		}
	})
}

// A caller that leaves at the moment of its turn does not keep the place.
func TestLeavesAtItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(9)
		p.latency = func(*rand.Rand) time.Duration { return sec }
		a := New(Options{Concurrency: 2})
		m := a.Wrap(p)
		for i := range 100 {
			var wg sync.WaitGroup
			for range 4 { // two go, two wait until the moment at which those end
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), sec)
					defer cancel()
					req := ask()
					if i%2 == 0 {
						ctx, req.Timeout = t.Context(), sec
					}
					_, _ = m.Generate(ctx, req, nil)
				})
			}
			wg.Wait()
			synctest.Wait()
			if s := a.Snapshot(); s.InFlight != 0 || s.Waiting != 0 {
				t.Fatalf("%+v", s)
			}
		}
	})
}

// First come, first served; who leaves makes room at once.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(6)
		p.latency = func(*rand.Rand) time.Duration { return 10 * sec }
		a := New(Options{Name: "acme", Concurrency: 1})
		m := a.Wrap(p)
		type end struct {
			who int
			at  time.Duration
			err error
		}
		ends := make(chan end, 10)
		start := func(who int, ctx context.Context, timeout time.Duration) {
			req := ask()
			req.Timeout = timeout
			go func() {
				_, err := m.Generate(ctx, req, nil)
				ends <- end{who, time.Since(p.began), err}
			}()
			synctest.Wait()
		}
		gone, leave := context.WithCancel(t.Context())
		late, cancel := context.WithTimeout(t.Context(), 4*sec)
		defer cancel()
		start(0, t.Context(), 0)
		start(1, gone, 0)
		start(2, late, 0)
		start(3, t.Context(), 5*sec)
		start(4, t.Context(), time.Minute)
		start(5, t.Context(), 0)
		time.Sleep(3 * sec)
		if s := a.Snapshot(); s.InFlight != 1 || s.Waiting != 5 || s.Waited != 15*sec {
			t.Errorf("%+v", s)
		}
		leave()
		want := []end{{1, 3 * sec, context.Canceled}, {2, 4 * sec, context.DeadlineExceeded}, {3, 5 * sec, nil}, {0, 10 * sec, nil}, {4, 20 * sec, nil}, {5, 30 * sec, nil}}
		for _, w := range want {
			got := <-ends
			var e *model.Error
			switch {
			case got.who != w.who || got.at != w.at:
				t.Errorf("%d ended after %s; want %d after %s", got.who, got.at, w.who, w.at)
			case w.who == 3:
				if !errors.As(got.err, &e) || e.Kind != model.ErrDeadline || !strings.Contains(e.Message, "acme") {
					t.Errorf("%v", got.err)
				}
			case !errors.Is(got.err, w.err):
				t.Errorf("%d: %v", got.who, got.err)
			}
		}
		if len(p.arrivals) != 3 {
			t.Errorf("%d calls were made", len(p.arrivals))
		}
		if s := a.Snapshot(); s.InFlight != 0 || s.Waiting != 0 || s.Calls != 3 || s.Waited != (3+4+5+10+20)*sec {
			t.Errorf("%+v", s)
		}
	})
}

// The model is told what is left of the call's time, and the queue is tallied
// apart.
func TestTimeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []time.Duration
		inner := modelFunc(func(_ context.Context, req *model.Request) (*model.Response, error) {
			told = append(told, req.Timeout)
			time.Sleep(7 * sec)
			return &model.Response{}, nil
		})
		m := New(Options{Concurrency: 1}).Wrap(inner)
		ctx, tally := WithTally(t.Context())
		req := ask()
		req.Timeout = time.Minute
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { _, _ = m.Generate(ctx, req, nil) })
		}
		wg.Wait()
		if !slices.Equal(told, []time.Duration{60 * sec, 53 * sec}) || req.Timeout != time.Minute || tally.Waited() != 7*sec {
			t.Errorf("told %v, waited %s", told, tally.Waited())
		}
	})
}

type modelFunc func(context.Context, *model.Request) (*model.Response, error)

func (modelFunc) ID() string { return "test/func" }

func (f modelFunc) Generate(ctx context.Context, req *model.Request, _ func(model.Delta)) (*model.Response, error) {
	return f(ctx, req)
}

// A model within an account is a model.
func TestConformance(t *testing.T) {
	profile, ok := sim.Lookup("sim/weak")
	if !ok {
		t.Fatal("no profile")
	}
	modeltest.Test(t, modeltest.Subject{Deterministic: true, New: func() model.Model {
		return New(Options{}).Wrap(sim.New(profile, sim.Options{Seed: 1}))
	}})
}

// A panic in a model does not cost the account a place.
func TestPanic(t *testing.T) {
	a := New(Options{Concurrency: 1})
	m := a.Wrap(modelFunc(func(context.Context, *model.Request) (*model.Response, error) { panic("x") }))
	for range 3 {
		func() {
			defer func() { _ = recover() }()
			_, _ = m.Generate(t.Context(), ask(), nil)
		}()
	}
	if s := a.Snapshot(); s.InFlight != 0 || s.Calls != 3 {
		t.Errorf("%+v", s)
	}
}

// Real goroutines, for the race detector: cancelled waiters, 429s and snapshots
// at once, and in the end every place is free.
func TestConcurrentUse(t *testing.T) {
	var mu sync.Mutex
	flying, peak := 0, 0
	count := func(d int) {
		mu.Lock()
		defer mu.Unlock()
		flying += d
		peak = max(peak, flying)
	}
	inner := modelFunc(func(_ context.Context, req *model.Request) (*model.Response, error) {
		count(1)
		defer count(-1)
		time.Sleep(time.Duration(req.Attempt%3) * 100 * time.Microsecond)
		if req.Attempt%7 == 0 {
			return nil, &model.Error{Kind: model.ErrRateLimit, RetryAfter: time.Millisecond}
		}
		return &model.Response{Usage: model.Usage{Output: 1}}, nil
	})
	a := New(Options{Concurrency: 6, RPM: 10_000_000, TPM: 1 << 40})
	m := a.Wrap(inner)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 40 {
				ctx, cancel := context.WithCancel(t.Context())
				if (i+j)%5 == 0 {
					time.AfterFunc(time.Duration(j)*50*time.Microsecond, cancel)
				}
				req := ask()
				req.Attempt = i*40 + j
				_, err := m.Generate(ctx, req, nil)
				var e *model.Error
				if err != nil && !errors.As(err, &e) && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				_ = fmt.Sprint(a.Snapshot())
				cancel()
			}
		})
	}
	wg.Wait()
	if s := a.Snapshot(); s.InFlight != 0 || s.Waiting != 0 || peak > 6 || s.Answered == 0 {
		t.Errorf("peak %d, %+v", peak, s)
	}
}
