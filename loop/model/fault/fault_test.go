package fault_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/fault"
	"github.com/harnessbench/harnessbench/loop/model/modeltest"
	"github.com/harnessbench/harnessbench/loop/model/sim"
)

// observed is a model that keeps what passed through it, by the place of the
// call.
type observed struct {
	model.Model
	mu   *sync.Mutex
	gave map[string]model.Digest
	resp map[string]*model.Response
}

func observe(m model.Model) observed {
	return observed{m, &sync.Mutex{}, map[string]model.Digest{}, map[string]*model.Response{}}
}

func place(lane string, turn, attempt int) string {
	return fmt.Sprintf("%s/%d/%d", lane, turn, attempt)
}

func (o observed) Generate(ctx context.Context, req *model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	resp, err := o.Model.Generate(ctx, req, onDelta)
	o.mu.Lock()
	defer o.mu.Unlock()
	at := place(req.Lane, req.Turn, req.Attempt)
	o.gave[at], o.resp[at] = fault.Digest(resp, err), resp
	return resp, err
}

// plain answers every request with its own text, and some with an error.
type plain struct{}

func (plain) ID() string { return "fake/plain" }

func (plain) Generate(ctx context.Context, req *model.Request, _ func(model.Delta)) (*model.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if req.Turn%7 == 0 {
		return nil, &model.Error{Kind: model.ErrContextOverflow, Status: 400, Elapsed: time.Second}
	}
	return &model.Response{Finish: model.FinishStop, Model: "fake/plain", Elapsed: time.Second, Usage: model.Usage{InputUncached: 3, Output: 2},
		Items: []model.Item{{Type: model.Text, Text: place(req.Lane, req.Turn, req.Attempt)}}}, nil
}

func request(turn, attempt int) *model.Request {
	req := model.NewRequest(model.Params{Model: "fake/plain"}, nil, []model.Message{{Role: model.User, Items: []model.Item{{Type: model.Text, Text: "Do it."}}}})
	req.Lane, req.Turn, req.Attempt = "main", turn, attempt
	return req
}

func wrap(t testing.TB, m model.Model, o fault.Options) *fault.Model {
	t.Helper()
	w, err := fault.New(m, o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestEveryKind(t *testing.T) {
	const s = time.Second
	for kind, want := range map[fault.Kind]model.Error{
		fault.Transport:    {Kind: model.ErrTransport, Message: "connection reset by peer"},
		fault.BrokenStream: {Kind: model.ErrBrokenStream, Message: "the stream ended before the answer did"},
		fault.Timeout:      {Kind: model.ErrTimeout, Message: "no answer in time"},
		fault.RateLimit:    {Kind: model.ErrRateLimit, Status: 429, Message: "rate limit reached"},
		fault.Quota:        {Kind: model.ErrQuota, Status: 429, Message: "quota exhausted"},
		fault.Server:       {Kind: model.ErrServer, Status: 503, Message: "service unavailable"},
		fault.Auth:         {Kind: model.ErrAuth, Status: 401, Message: "invalid key"},
		fault.BadRequest:   {Kind: model.ErrBadRequest, Status: 400, Message: "bad request"},
		fault.Overflow:     {Kind: model.ErrContextOverflow, Status: 400, Message: "the request is too large for this endpoint"},
		fault.Slow:         {Elapsed: 21 * s},
		fault.Hang:         {Elapsed: fault.HangFor + s},
	} {
		m := wrap(t, plain{}, fault.Options{Faults: []fault.Fault{{Kind: kind, Turns: []int{2}, Attempts: []int{1, 3}}}})
		for attempt := range 4 {
			for turn := 1; turn <= 3; turn++ {
				resp, err := m.Generate(t.Context(), request(turn, attempt), nil)
				struck := turn == 2 && attempt%2 == 0
				var e *model.Error
				switch {
				case !struck && (err != nil || resp.Elapsed != s):
					t.Errorf("%s, turn %d, attempt %d: struck where it should not: %v, %v", kind, turn, attempt+1, resp, err)
				case struck && want.Kind == "" && (err != nil || resp.Elapsed != want.Elapsed):
					t.Errorf("%s: %+v, %v, want it after %v", kind, resp, err, want.Elapsed)
				case struck && want.Kind != "":
					want := want
					want.Elapsed = fault.ErrorTook
					if !errors.As(err, &e) || resp != nil || *e != want {
						t.Errorf("%s: %+v, want %+v", kind, err, want)
					}
				}
			}
		}
	}
	m := wrap(t, plain{}, fault.Options{Faults: []fault.Fault{{Kind: fault.Server, Status: 529, RetryAfter: s, Takes: 2 * s, Message: "overloaded"}}})
	_, err := m.Generate(t.Context(), request(1, 0), nil)
	if want := (&model.Error{Kind: model.ErrServer, Status: 529, RetryAfter: s, Elapsed: 2 * s, Message: "overloaded"}); cmp.Diff(want, err) != "" {
		t.Error(cmp.Diff(want, err))
	}
	// What the model itself fails with is late, too.
	m = wrap(t, plain{}, fault.Options{Faults: []fault.Fault{{Kind: fault.Slow, Takes: 4 * s}}})
	_, err = m.Generate(t.Context(), request(7, 0), nil)
	if e := new(model.Error); !errors.As(err, &e) || e.Elapsed != 5*s || e.Kind != model.ErrContextOverflow {
		t.Errorf("a slow refusal: %+v", err)
	}
	if len(fault.Kinds()) != 11 || !slices.IsSorted(fault.Kinds()) {
		t.Errorf("%q", fault.Kinds())
	}
}

// Every reported injection is what an observer saw, and nothing else was changed.
func TestInjectionsAreProved(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	kinds, struck := fault.Kinds(), map[fault.Kind]int{}
	for range 200 {
		var faults []fault.Fault
		for range 1 + rnd.IntN(4) {
			f := fault.Fault{Kind: kinds[rnd.IntN(len(kinds))], P: float64(rnd.IntN(3)) / 2, Takes: time.Duration(rnd.IntN(2)) * time.Minute}
			for range rnd.IntN(3) {
				f.Turns = append(f.Turns, 1+rnd.IntN(20))
				f.Attempts = append(f.Attempts, 1+rnd.IntN(3))
			}
			faults = append(faults, f)
		}
		var log fault.Log
		inner := observe(plain{})
		outer := observe(wrap(t, inner, fault.Options{Faults: faults, Seed: rnd.Uint64(), Log: &log}))
		var reqs []*model.Request
		for turn := 1; turn <= 20; turn++ {
			for attempt := range 3 {
				reqs = append(reqs, request(turn, attempt))
			}
		}
		rnd.Shuffle(len(reqs), func(i, j int) { reqs[i], reqs[j] = reqs[j], reqs[i] })
		var wg sync.WaitGroup
		for part := range slices.Chunk(reqs, 20) {
			wg.Go(func() {
				for _, req := range part {
					outer.Generate(context.Background(), req, nil) // what it gives is observed
				}
			})
		}
		wg.Wait()
		injected := map[string]bool{}
		last := fault.Injection{}
		for _, in := range log.Injections() {
			at := place(in.Lane, in.Turn, in.Attempt)
			was, asked := inner.gave[at]
			switch {
			case injected[at]:
				t.Fatalf("%s is reported twice", at)
			case in.Turn < last.Turn || in.Turn == last.Turn && in.Attempt <= last.Attempt:
				t.Fatalf("%+v after %+v", in, last)
			case in.Asked != asked || in.Was != was || in.Gave != outer.gave[at]:
				t.Fatalf("%+v, but the model was asked: %v, gave %s, and the caller got %s", in, asked, was, outer.gave[at])
			case in.Gave == in.Was:
				t.Fatalf("%+v changed nothing", in)
			case in.Kind != faults[in.Fault].Kind || in.Delay <= 0:
				t.Fatalf("%+v is not fault %+v", in, faults[in.Fault])
			}
			injected[at], last = true, in
			struck[in.Kind]++
		}
		for at, gave := range outer.gave {
			if !injected[at] && (gave != inner.gave[at] || outer.resp[at] != inner.resp[at]) {
				t.Fatalf("%s was changed and is not reported", at)
			}
		}
	}
	for _, k := range kinds {
		if struck[k] == 0 {
			t.Errorf("%s never struck: %v", k, struck)
		}
	}
}

// What strikes a call depends on its place alone: a prefix that is served from a
// recording, or another order, shifts no fault.
func TestWrapperCountsNothing(t *testing.T) {
	o := fault.Options{Seed: 9, Faults: []fault.Fault{{Kind: fault.Server, P: 0.3}, {Kind: fault.Slow, Turns: []int{5}}}}
	history := func(first int, o fault.Options) string {
		m, b := wrap(t, plain{}, o), []byte{}
		for turn := 60; turn >= first; turn-- { // backwards
			resp, err := m.Generate(t.Context(), request(turn, turn%2), nil)
			b = append(b, fault.Digest(resp, err).Short()[:4]...)
		}
		return string(b)
	}
	whole, tail := history(1, o), history(31, o)
	if !strings.HasPrefix(whole, tail) {
		t.Errorf("what comes after a served prefix is another:\n%s\n%s", whole, tail)
	}
	other := o
	other.Seed++
	if history(1, other) == whole {
		t.Error("two seeds agree")
	}
	n := 0
	for turn := range 10000 {
		if fault.First([]fault.Fault{{Kind: fault.Server, P: 0.3}}, 1, request(turn, 0)) >= 0 {
			n++
		}
	}
	if got := float64(n) / 10000; math.Abs(got-0.3) > 0.02 {
		t.Errorf("rate %v, want 0.3", got)
	}
	for _, c := range []struct {
		f       fault.Fault
		purpose model.Purpose
		struck  bool
	}{
		{fault.Fault{}, "", true},
		{fault.Fault{}, model.ForSummary, true}, // every call is
		{fault.Fault{Turns: []int{5}}, "", true},
		{fault.Fault{Turns: []int{5}}, model.ForSummary, false},
		{fault.Fault{Attempts: []int{1}}, model.ForSummary, false},
		{fault.Fault{Turns: []int{5}, Purpose: model.ForSummary}, model.ForSummary, true},
		{fault.Fault{Turns: []int{4}, Purpose: model.ForSummary}, model.ForSummary, false},
		{fault.Fault{Purpose: model.ForSummary}, "", false},
		{fault.Fault{Purpose: model.ForSummary}, model.ForFinalSynthesis, false},
	} {
		req := request(5, 0)
		req.Purpose, c.f.Kind = c.purpose, fault.Server
		if got := fault.First([]fault.Fault{c.f}, 1, req) == 0; got != c.struck {
			t.Errorf("%+v, a request for %q: struck %v", c.f, c.purpose, got)
		}
	}
}

// With Wait a call takes real time, as long as its context lasts; nothing is
// declared.
func TestWaits(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		f       fault.Fault
		limit   time.Duration // 0 = none
		took    time.Duration
		err     error
		kind    model.ErrorKind
		elapsed time.Duration // as declared by what came
		asked   bool
	}{
		"slow":           {f: fault.Fault{Kind: fault.Slow, Takes: 3 * s}, took: 3 * s, elapsed: s, asked: true},
		"slow, cut":      {f: fault.Fault{Kind: fault.Slow}, limit: s, took: s, err: context.DeadlineExceeded},
		"hang, cut":      {f: fault.Fault{Kind: fault.Hang}, limit: 90 * s, took: 90 * s, err: context.DeadlineExceeded},
		"hang":           {f: fault.Fault{Kind: fault.Hang}, took: fault.HangFor, elapsed: s, asked: true},
		"an error":       {f: fault.Fault{Kind: fault.Server}, kind: model.ErrServer},
		"a late error":   {f: fault.Fault{Kind: fault.Server, Takes: 5 * s}, took: 5 * s, kind: model.ErrServer},
		"no time for it": {f: fault.Fault{Kind: fault.Server, Takes: 5 * s}, limit: s, took: s, err: context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log fault.Log
			m := wrap(t, plain{}, fault.Options{Faults: []fault.Fault{c.f}, Wait: true, Log: &log})
			ctx := t.Context()
			if c.limit > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.limit)
				defer cancel()
			}
			began := time.Now()
			resp, err := m.Generate(ctx, request(1, 0), nil)
			if took := time.Since(began); took != c.took {
				t.Errorf("%s: took %v, want %v", name, took, c.took)
			}
			var e *model.Error
			switch {
			case c.err != nil && (!errors.Is(err, c.err) || resp != nil):
				t.Errorf("%s: %v, want %v", name, err, c.err)
			case c.kind != "" && (!errors.As(err, &e) || e.Kind != c.kind || e.Elapsed != 0):
				t.Errorf("%s: %+v", name, err)
			case c.err == nil && c.kind == "" && (err != nil || resp.Elapsed != c.elapsed):
				t.Errorf("%s: %+v, %v", name, resp, err)
			}
			if ins := log.Injections(); len(ins) != 1 || ins[0].Asked != c.asked || ins[0].Gave != fault.Digest(resp, err) {
				t.Errorf("%s: %+v", name, ins)
			}
		})
	}
}

func TestConformance(t *testing.T) {
	some := []fault.Fault{{Kind: fault.Server, Turns: []int{1}, Attempts: []int{1}}, {Kind: fault.Slow, Turns: []int{2}}, {Kind: fault.Quota, P: 0.5}}
	for _, id := range []string{"sim/oracle", "sim/weak"} {
		for name, faults := range map[string][]fault.Fault{"no faults": nil, "faults": some} {
			t.Run(id+", "+name, func(t *testing.T) {
				p, ok := sim.Lookup(id)
				if !ok {
					t.Fatal("no such model")
				}
				modeltest.Test(t, modeltest.Subject{Deterministic: true, Streams: faults == nil, New: func() model.Model {
					return wrap(t, sim.New(p, sim.Options{Seed: 3}), fault.Options{Faults: faults, Seed: 4, Log: new(fault.Log)})
				}})
			})
		}
	}
}

// A simulated model meets faults of its own as one under a wrapper does.
func TestSimulatedModelsAgree(t *testing.T) {
	p, _ := sim.Lookup("sim/oracle")
	for _, kind := range fault.Kinds() {
		faults := []fault.Fault{{Kind: kind, Turns: []int{2}}}
		own := sim.New(p, sim.Options{Faults: faults})
		wrapped := wrap(t, sim.New(p, sim.Options{}), fault.Options{Faults: faults})
		for turn := 1; turn <= 3; turn++ {
			a, aerr := own.Generate(t.Context(), request(turn, 0), nil)
			b, berr := wrapped.Generate(t.Context(), request(turn, 0), nil)
			if fault.Digest(a, aerr) != fault.Digest(b, berr) {
				t.Errorf("%s, turn %d: %+v %v, wrapped %+v %v", kind, turn, a, aerr, b, berr)
			}
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for want, f := range map[string]fault.Fault{
		`no kind "x"`:                 {Kind: "x"},
		"counted from 1":              {Kind: fault.Auth, Turns: []int{0}},
		"attempts are counted from 1": {Kind: fault.Auth, Attempts: []int{1, -1}},
		"takes 25h0m0s":               {Kind: fault.Slow, Takes: 25 * time.Hour},
		"retry after -1ns":            {Kind: fault.RateLimit, RetryAfter: -1},
		"p = NaN":                     {Kind: fault.Auth, P: math.NaN()},
		"p = 2":                       {Kind: fault.Auth, P: 2},
		"status 200: want 400 to 599": {Kind: fault.Server, Status: 200},
	} {
		_, err := fault.New(plain{}, fault.Options{Faults: []fault.Fault{{Kind: fault.Hang}, f}})
		if err == nil || !strings.HasPrefix(err.Error(), "fault 2: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	var log *fault.Log // takes nothing, and does not mind
	m := wrap(t, plain{}, fault.Options{Faults: []fault.Fault{{Kind: fault.Auth}}, Log: log})
	if _, err := m.Generate(t.Context(), request(1, 0), nil); err == nil || m.ID() != "fake/plain" {
		t.Errorf("%v, %s", err, m.ID())
	}
}
