package limit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
)

const sec = time.Second

func TestWindow(t *testing.T) {
	w := NewWindow(4, 16)
	for range 4 {
		w.Answered(w.Slots(), sec)
	}
	if w.Size != 8 || w.Latency != sec {
		t.Errorf("slow start: %+v", w)
	}
	if w.Answered(7, sec); w.Size != 8 {
		t.Errorf("grew although it was not full: %v", w.Size)
	}
	for range 20 {
		w.Answered(w.Slots(), sec)
	}
	if w.Size != 16 {
		t.Errorf("passed its bound: %v", w.Size)
	}
	if !w.Throttled(10*sec, 9*sec, true) || w.Size != 8 {
		t.Errorf("a 429: %v", w.Size)
	}
	if w.Throttled(11*sec, 9*sec, true) || w.Size != 8 {
		t.Errorf("a 429 of a call from before the cut: %v", w.Size)
	}
	for range 4 {
		w.Answered(w.Slots(), sec)
	}
	if w.Size != 12 {
		t.Errorf("three quarters of where it was: %v", w.Size)
	}
	if w.Answered(12, sec); w.Size != 12.25 {
		t.Errorf("climbs additively: %v", w.Size)
	}
	now := 20 * sec
	for range 20 {
		w.Throttled(now, now, true)
		now += sec
	}
	if w.Size != toldWindow {
		t.Errorf("the least where a Retry-After paces: %v", w.Size)
	}
	for range 20 {
		w.Throttled(now, now, false)
		now += sec
	}
	if w.Throttled(now, now, true); w.Size != minWindow {
		t.Errorf("a Retry-After widened it: %v", w.Size)
	}
	if w.Size != minWindow || w.Slots() != 1 || w.Gap(time.Hour) != 64*sec || w.Gap(sec) != sec {
		t.Errorf("the least: %+v, gap %s", w, w.Gap(time.Hour))
	}
	for n := 0; w.Size < 1; n++ {
		if w.Answered(1, sec); n > 40 {
			t.Fatalf("does not recover: %v", w.Size)
		}
	}
	w.Size = 16
	if w.Restart(4); w.Size != 4 || w.slow != 8 {
		t.Errorf("restart: %+v", w)
	}
	if w = NewWindow(4, 2); w.Slots() != 2 {
		t.Errorf("a start beyond the bound: %+v", w)
	}
}

// No half-open minute has more requests than the limit, however they come, and a
// backlog gets nearly all of it.
func TestPacerBound(t *testing.T) {
	for _, n := range []int{1, 3, 59, 60, 61, 600, 6000} {
		r := rand.New(rand.NewPCG(uint64(n), 1))
		p := NewPacer(n)
		var times []time.Duration
		now := time.Duration(0)
		for now < 10*time.Minute {
			if at := p.At(); at > now {
				now = at + time.Duration(r.Int64N(int64(2*time.Millisecond))) // a late timer
			}
			p.Take(now)
			times = append(times, now)
			if r.IntN(200) == 0 {
				now += time.Duration(r.Int64N(int64(30 * sec))) // nobody asks
			}
		}
		for i := range times {
			if j := i + n; j < len(times) && times[j]-times[i] < time.Minute {
				t.Fatalf("rpm %d: %d requests within %s", n, n+1, times[j]-times[i])
			}
		}
	}
	p := NewPacer(600)
	n := 0
	for now := time.Duration(0); now < 10*time.Minute; now = max(now, p.At()) {
		p.Take(now)
		n++
	}
	if n < 5880 {
		t.Errorf("a backlog got %d of 6000", n)
	}
	if p = NewPacer(0); p.At() > 0 {
		t.Error("no limit waits")
	}
}

// No half-open minute has more tokens than the limit, whatever is reserved and
// used, as long as no call uses more than it reserved.
func TestMeterBound(t *testing.T) {
	const most = 10_000
	type call struct {
		at, ends       time.Duration
		reserved, used int64
		settled        bool
	}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		m := NewMeter(most)
		var calls []call
		now := time.Duration(r.Int64N(int64(90 * sec)))
		start := now
		for now < start+10*time.Minute {
			for i := range calls {
				if c := &calls[i]; !c.settled && c.ends <= now {
					m.Add(now, c.at, c.used-c.reserved)
					c.settled = true
				}
			}
			n := 1 + r.Int64N(1500)
			at := m.At(now, n)
			if at > now {
				before, then := *m, *m
				if before.At(at-1, n) != at || then.At(at, n) != at {
					t.Fatalf("%s is not the earliest time", at)
				}
				now = min(at, now+time.Duration(r.Int64N(int64(2*sec)))) // perhaps a call ends before
				continue
			}
			m.Add(now, now, n)
			calls = append(calls, call{now, now + time.Duration(r.Int64N(int64(90*sec))), n, r.Int64N(n + 1), false})
			now += time.Duration(r.Int64N(int64(sec) / 4))
		}
		var total int64
		for i := range calls {
			var sum int64
			for j := i; j < len(calls) && calls[j].at < calls[i].at+time.Minute; j++ {
				if calls[j].settled {
					sum += calls[j].used
				} else {
					sum += calls[j].reserved
				}
			}
			if sum > most {
				t.Fatalf("seed %d: %d tokens in the minute from %s", seed, sum, calls[i].at)
			}
			total += calls[i].used
		}
		if len(calls) < 50 || total == 0 {
			t.Fatalf("seed %d: only %d calls", seed, len(calls))
		}
	}
	m := NewMeter(100)
	if at := m.At(5*sec, 1000); at != 5*sec {
		t.Errorf("a call beyond the limit never goes: %s", at)
	}
	m.Add(5*sec, 5*sec, 1000)
	if at := m.At(6*sec, 1); at != 66*sec {
		t.Errorf("the next one at %s", at)
	}
	m.Add(10*time.Minute, 5*sec, 1<<40) // settled too late to count
	if at := m.At(10*time.Minute, 100); at != 10*time.Minute {
		t.Errorf("%s", at)
	}
	if free := NewMeter(0); free.At(sec, 1<<60) != sec {
		t.Error("no limit waits")
	}
}

func TestBreaker(t *testing.T) {
	b := NewBreaker(3, 5*sec, 15*sec)
	state := func(what string, want BreakerState) {
		t.Helper()
		if b.state != want {
			t.Fatalf("%s: %s, want %s", what, b.state, want)
		}
	}
	b.Failed(1*sec, false)
	b.Failed(1*sec, false)
	b.Answered(false)
	b.Failed(1*sec, false)
	if b.Failed(1*sec, false); b.state != Closed {
		t.Fatal("opened although not all in a row failed")
	}
	if !b.Failed(2*sec, false) {
		t.Fatal("did not open")
	}
	state("third failure", Open)
	if at, never := b.At(); at != 7*sec || never {
		t.Errorf("cool-down until %s", at)
	}
	b.Answered(false) // stragglers change nothing
	b.Failed(3*sec, false)
	state("stragglers", Open)
	for _, until := range []time.Duration{20 * sec, 35 * sec, 50 * sec} { // 10 s, then 15 s at most
		if !b.Begin() {
			t.Fatal("no probe")
		}
		state("probe", Probing)
		if _, never := b.At(); !never || b.Begin() {
			t.Error("a second probe")
		}
		b.Answered(false)
		b.Failed(until, false)
		state("stragglers", Probing)
		now := until - 10*sec
		if until > 20*sec {
			now = until - 15*sec
		}
		if !b.Failed(now, true) || b.until != until || b.since != 2*sec {
			t.Errorf("after a failed probe: until %s, want %s", b.until, until)
		}
	}
	b.Begin()
	b.GaveUp(true)
	state("a probe whose caller left", Open)
	if at, never := b.At(); at != 50*sec || never {
		t.Error("the next one may not probe at once")
	}
	b.Begin()
	if !b.Answered(true) || b.failed != 0 {
		t.Error("an answered probe does not end the outage")
	}
	state("answered", Closed)
	never := NewBreaker(-1, sec, sec)
	for range 100 {
		never.Failed(sec, false)
	}
	if never.state != Closed {
		t.Error("a breaker that never opens did")
	}
}

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		err  error
		want Outcome
	}{
		{nil, Answered},
		{context.Canceled, GaveUp},
		{errors.New("driver"), GaveUp},
		{&model.Error{Kind: model.ErrRateLimit, Status: 429}, Throttled},
		{fmt.Errorf("wrapped: %w", &model.Error{Kind: model.ErrRateLimit}), Throttled},
		{&model.Error{Kind: model.ErrQuota, Status: 429}, Refused},
		{&model.Error{Kind: model.ErrAuth, Status: 401}, Refused},
		{&model.Error{Kind: model.ErrBadRequest, Status: 400}, Refused},
		{&model.Error{Kind: model.ErrContextOverflow, Status: 400}, Refused},
		{&model.Error{Kind: model.ErrProtocol}, Refused},
		{&model.Error{Kind: model.ErrServer, Status: 500}, Failed},
		{&model.Error{Kind: model.ErrServer, Status: 503}, Failed},
		{&model.Error{Kind: model.ErrServer, Status: 529}, Failed},
		{&model.Error{Kind: model.ErrTransport}, Failed},
		{&model.Error{Kind: model.ErrBrokenStream}, Failed},
		{&model.Error{Kind: model.ErrTimeout}, Failed},
		{&model.Error{Kind: model.ErrCancelled}, GaveUp},
		{&model.Error{Kind: model.ErrDeadline}, GaveUp},
	} {
		if got := Classify(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}

// A pause only lengthens, is bounded, and is followed by calls one by one.
func TestGatePause(t *testing.T) {
	g := newGate(Options{Start: 4, MaxPause: 100 * sec}.filled())
	begin := func(now time.Duration) ticket { return g.begin(now, 10) }
	var flying []ticket
	for range 4 {
		flying = append(flying, begin(0))
	}
	if _, never := g.at(0, 10); !never {
		t.Fatal("a fifth call")
	}
	g.end(2*sec, flying[0], Throttled, 30*sec, model.Usage{})
	g.end(3*sec, flying[1], Throttled, 5*sec, model.Usage{}) // shorter: the longer one holds
	if at := g.pausedUntil; at != 32*sec {
		t.Errorf("a shorter Retry-After moved the pause to %s", at)
	}
	g.end(4*sec, flying[2], Failed, 28*sec+1, model.Usage{})
	g.end(4*sec, flying[3], Refused, 90*sec, model.Usage{}) // a quota: no matter of time
	if at, _ := g.at(5*sec, 10); at != 32*sec+1 || g.window.Size != 2 || g.paused != 30*sec+1 {
		t.Fatalf("paused until %s, window %v, paused %s", at, g.window.Size, g.paused)
	}
	g.o.Concurrency = 16
	g.window.Latency = sec
	first := begin(33 * sec)
	if at, _ := g.at(33*sec, 10); at != 33*sec+sec/2 { // latency 1 s / window 2
		t.Errorf("the second one at %s", at)
	}
	g.end(34*sec, first, Answered, 0, model.Usage{})
	g.end(40*sec, begin(34*sec), Throttled, time.Hour, model.Usage{})
	if at, _ := g.at(40*sec, 10); at != 140*sec {
		t.Errorf("an hour is heeded until %s", at)
	}
}

// Without a Retry-After the account backs off by itself, longer with each 429
// in a row.
func TestGateBackoff(t *testing.T) {
	g := newGate(Options{}.filled())
	now := time.Duration(0)
	for i, want := range []time.Duration{200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000} {
		g.end(now, g.begin(now, 1), Throttled, 0, model.Usage{})
		if got := g.pausedUntil - now; got != want*time.Millisecond {
			t.Errorf("429 number %d: %s", i+1, got)
		}
		now = g.pausedUntil + time.Hour
	}
	g.end(now, g.begin(now, 1), Answered, 0, model.Usage{})
	g.end(now, g.begin(now, 1), Throttled, 0, model.Usage{})
	if g.pausedUntil-now != 200*time.Millisecond {
		t.Errorf("after an answer: %s", g.pausedUntil-now)
	}
}

func TestReserveAndSettle(t *testing.T) {
	g := newGate(Options{TPM: 100_000}.filled())
	req := &model.Request{Parts: []*model.Part{model.NewTextPart(model.User, string(make([]byte, 4000)))}}
	size := int64(req.Parts[0].Size)
	if n := g.reserve(req); n != size/4+firstOutput {
		t.Errorf("without max_tokens: %d", n)
	}
	req.Params.MaxTokens = 100
	if n := g.reserve(req); n != size/4+100 {
		t.Errorf("with max_tokens: %d", n)
	}
	for _, c := range []struct {
		how  Outcome
		u    model.Usage
		want int64
	}{
		{Answered, model.Usage{InputUncached: 10, CacheRead: 20, Output: 30}, 60},
		{Answered, model.Usage{Unknown: true}, 1000},
		{Throttled, model.Usage{}, 0},
		{Refused, model.Usage{}, 0},
		{Failed, model.Usage{}, 1000},
		{Failed, model.Usage{Output: 7}, 7},
		{GaveUp, model.Usage{}, 1000},
		{Answered, model.Usage{Output: 5000}, 5000},
	} {
		g := newGate(Options{TPM: 100_000}.filled())
		g.end(2*sec, g.begin(0, 1000), c.how, 0, c.u)
		if got := g.tpm.buckets[0]; got != c.want {
			t.Errorf("%d with %+v: %d tokens count, want %d", c.how, c.u, got, c.want)
		}
	}
	for range 200 {
		g.end(0, g.begin(0, 1), Answered, 0, model.Usage{Output: 40})
	}
	if req.Params.MaxTokens = 0; g.reserve(req) != size/4+41 {
		t.Errorf("the running mean: %d", g.reserve(req)-size/4)
	}
}
