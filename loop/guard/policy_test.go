package guard

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
)

func defaultRetry() Retry { return newRetry(MustProfile(ProfileDefault).Get("retry").Values) }

func TestRetryable(t *testing.T) {
	for _, tt := range []struct {
		kind   model.ErrorKind
		status int
		want   bool
	}{
		{model.ErrTransport, 0, true}, {model.ErrBrokenStream, 0, true}, {model.ErrBrokenStream, 200, true}, {model.ErrTimeout, 0, true},
		{model.ErrBadRequest, 408, true}, {model.ErrBadRequest, 409, true}, {model.ErrBadRequest, 425, true},
		{model.ErrRateLimit, 429, true}, {model.ErrRateLimit, 0, true},
		{model.ErrServer, 500, true}, {model.ErrServer, 502, true}, {model.ErrServer, 503, true}, {model.ErrServer, 529, true}, {model.ErrServer, 599, true}, {model.ErrServer, 0, true},
		{model.ErrQuota, 429, false}, {model.ErrQuota, 0, false},
		{model.ErrAuth, 401, false}, {model.ErrAuth, 403, false}, {model.ErrAuth, 429, false},
		{model.ErrBadRequest, 400, false}, {model.ErrBadRequest, 404, false}, {model.ErrBadRequest, 413, false}, {model.ErrBadRequest, 422, false}, {model.ErrBadRequest, 0, false},
		{model.ErrContextOverflow, 400, false}, {model.ErrContextOverflow, 500, false},
		{model.ErrProtocol, 200, false}, {model.ErrCancelled, 0, false}, {model.ErrDeadline, 0, false}, {model.ErrDeadline, 504, false},
		{"", 600, false}, {"", 0, false}, {"", 200, false},
	} {
		e := &model.Error{Kind: tt.kind, Status: tt.status}
		if got := Retryable(e); got != tt.want {
			t.Errorf("%s %d: %v", tt.kind, tt.status, got)
		}
		wait, again := defaultRetry().Next(7, 0, e)
		if again != tt.want || again != (wait > 0) {
			t.Errorf("%s %d: wait %s, again %v", tt.kind, tt.status, wait, again)
		}
	}
}

func TestRetryCountsAttempts(t *testing.T) {
	e := &model.Error{Kind: model.ErrServer, Status: 503}
	for attempt, want := range []bool{true, true, true, false, false} { // four calls in all
		if _, again := defaultRetry().Next(0, attempt, e); again != want {
			t.Errorf("after attempt %d: again %v", attempt+1, again)
		}
	}
	if _, again := (Retry{}).Next(0, 0, e); again {
		t.Error("a zero Retry retries")
	}
	if _, again := (Retry{Attempts: 1, Base: 1, Cap: 1}).Next(0, 0, e); again {
		t.Error("one attempt is tried twice")
	}
}

func TestBackoff(t *testing.T) {
	e := &model.Error{Kind: model.ErrServer, Status: 503}
	r := defaultRetry()
	r.Attempts = 100
	for attempt, ceiling := range []time.Duration{200e6, 400e6, 800e6, 1600e6, 3200e6, 6400e6, 12800e6, 25600e6, 30e9, 30e9, 30e9} {
		low, _ := r.Next(0, attempt, e)
		high, _ := r.Next(math.MaxUint64, attempt, e)
		mid, _ := r.Next(math.MaxUint64/2+1, attempt, e)
		if low != time.Microsecond || high != ceiling || mid != ceiling/2+time.Microsecond {
			t.Errorf("attempt %d: %s .. %s .. %s, want up to %s", attempt, low, mid, high, ceiling)
		}
	}
	for attempt := range 98 {
		if high, again := r.Next(math.MaxUint64, attempt, e); !again || high > r.Cap {
			t.Errorf("attempt %d: %s", attempt, high)
		}
	}
}

// Over all that a user may set: never zero, never above the caps, and the ladder
// never goes down, also where a shift would overflow.
func TestBackoffIsBounded(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 9))
	e := &model.Error{Kind: model.ErrTransport}
	wraps := Retry{Attempts: 101, Base: 1<<46 + 1, Cap: time.Duration(day)} // times 2^18 is 2^18 in 64 bits
	for i := range 2_000 {
		r := Retry{Attempts: 101, Base: 1e6 + time.Duration(rnd.Int64N(day)), Cap: 1e6 + time.Duration(rnd.Int64N(day))}
		if rnd.IntN(2) == 0 {
			r.Base = time.Millisecond << rnd.IntN(26)
		}
		if i == 0 {
			r = wraps
		}
		last := time.Duration(0)
		for attempt := range 100 {
			high, again := r.Next(math.MaxUint64, attempt, e)
			drawn, _ := r.Next(rnd.Uint64(), attempt, e)
			if !again || high > r.Cap || drawn <= 0 || drawn > high {
				t.Fatalf("%+v, attempt %d: %s of %s", r, attempt, drawn, high)
			}
			if high < last {
				t.Fatalf("%+v, attempt %d: the ceiling fell from %s to %s", r, attempt, last, high)
			}
			last = high
		}
	}
}

func TestJitterIsUniform(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 3))
	e := &model.Error{Kind: model.ErrTransport}
	r := defaultRetry()
	var sum time.Duration
	const n = 20_000
	for range n {
		w, _ := r.Next(rnd.Uint64(), 0, e)
		sum += w
	}
	if mean := sum / n; mean < 98*time.Millisecond || mean > 102*time.Millisecond {
		t.Errorf("mean %s over (0, 200ms]", mean)
	}
}

func TestRetryAfter(t *testing.T) {
	r := defaultRetry()
	for _, tt := range []struct {
		after, low, high time.Duration // waits for the least and the most jitter
	}{
		{0, time.Microsecond, 200 * time.Millisecond},
		{-time.Hour, time.Microsecond, 200 * time.Millisecond},
		{50 * time.Millisecond, 50 * time.Millisecond, 200 * time.Millisecond},
		{2 * time.Second, 2 * time.Second, 2 * time.Second},
		{120 * time.Second, 120 * time.Second, 120 * time.Second},
		{121 * time.Second, 120 * time.Second, 120 * time.Second},
		{math.MaxInt64, 120 * time.Second, 120 * time.Second},
	} {
		e := &model.Error{Kind: model.ErrRateLimit, Status: 429, RetryAfter: tt.after}
		low, _ := r.Next(0, 0, e)
		high, _ := r.Next(math.MaxUint64, 0, e)
		if low != tt.low || high != tt.high {
			t.Errorf("%s: %s .. %s, want %s .. %s", tt.after, low, high, tt.low, tt.high)
		}
		e.Kind = model.ErrQuota
		if _, again := r.Next(0, 0, e); again {
			t.Errorf("%s: an exhausted quota is tried again", tt.after)
		}
	}
}

func blankItems(items ...model.Item) *model.Response {
	return &model.Response{Finish: model.FinishLength, Items: items}
}

func TestTruncatedEmptyApplies(t *testing.T) {
	text := func(s string) model.Item { return model.Item{Type: model.Text, Text: s} }
	for _, tt := range []struct {
		name  string
		r     *model.Response
		blank bool
	}{
		{"nothing", blankItems(), true},
		{"an empty text", blankItems(text("")), true},
		{"white space", blankItems(text(" \n\t\r")), true},
		{"only reasoning", blankItems(model.Item{Type: model.Reasoning, Text: "hm"}), true},
		{"text", blankItems(text("a")), false},
		{"reasoning and text", blankItems(model.Item{Type: model.Reasoning, Text: "hm"}, text("a")), false},
		{"a call", blankItems(model.Item{Type: model.CallItem}), false},
		{"a provider's call", blankItems(model.Item{Type: model.ProviderCall, Evidence: "{}"}), false},
		{"a question", blankItems(model.Item{Type: model.Question, Text: "?"}), false},
	} {
		if Blank(tt.r) != tt.blank {
			t.Errorf("%s: blank %v", tt.name, Blank(tt.r))
		}
		if (TruncatedEmpty{}).Applies(tt.r) != tt.blank {
			t.Errorf("%s: applies %v", tt.name, !tt.blank)
		}
		for _, f := range []model.Finish{model.FinishStop, model.FinishCalls, "", "content_filter"} {
			r := *tt.r
			r.Finish = f
			if (TruncatedEmpty{}).Applies(&r) {
				t.Errorf("%s: applies at finish %q", tt.name, f)
			}
		}
	}
}

func TestTruncatedEmptyNext(t *testing.T) {
	for _, tt := range []struct {
		retries, factor, orig int
		want                  string // max_tokens asked after each truncated answer, until it gives up
	}{
		{1, 4, 1000, "2000 stop"},
		{2, 4, 1000, "2000 4000 stop"},
		{4, 4, 1000, "2000 4000 4000 4000 stop"},
		{3, 3, 1000, "2000 3000 3000 stop"},
		{2, 1, 1000, "1000 1000 stop"},
		{1, 4, 0, "0 stop"}, // unset stays unset
		{2, 64, 0, "0 0 stop"},
		{0, 4, 1000, "stop"},
	} {
		p := TruncatedEmpty{Retries: tt.retries, FactorCap: tt.factor}
		cur, got := tt.orig, ""
		for used := 0; ; used++ {
			next, again := p.Next(used, tt.orig, cur, blankItems())
			if !again {
				if next != cur {
					t.Errorf("%+v: gives up and changes max_tokens to %d", tt, next)
				}
				got += "stop"
				break
			}
			got += fmt.Sprint(next, " ")
			cur = next
		}
		if got != tt.want {
			t.Errorf("%+v: %s", tt, got)
		}
	}
	if _, again := (TruncatedEmpty{1, 4}).Next(0, 1000, 1000, &model.Response{Finish: model.FinishStop}); again {
		t.Error("asks again after an answer that was not cut")
	}
}
