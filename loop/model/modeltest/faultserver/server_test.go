package faultserver

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop/model"
)

func body(stream bool) string {
	return fmt.Sprintf(`{"model":"m","stream":%t,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"h\u00e9"}],"tools":[{"type":"function"}]}`, stream)
}

// dial speaks HTTP by hand and returns the raw answer as it was read.
func dial(t *testing.T, s *Server, stream bool, headers string) (reads []string, err error) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	b := body(stream)
	fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%sContent-Length: %d\r\n\r\n%s", headers, len(b), b)
	patience := 30 * time.Second
	if script := s.pick.plan.Script; len(script) == 1 && (script[0] == Hang || script[0] == Stall) {
		awaitInjected(t, s, script[0])
		patience = 300 * time.Millisecond // of silence
	}
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1<<20)
	for {
		n, err := conn.Read(buf)
		if n > 0 {
			reads = append(reads, string(buf[:n]))
		}
		if err != nil {
			return reads, err
		}
	}
}

// awaitInjected waits until a fault of silence has begun.
func awaitInjected(t *testing.T, s *Server, f Fault) {
	t.Helper()
	for range 3000 {
		s.mu.Lock()
		n := s.counts.Injected[f]
		s.mu.Unlock()
		if n > 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("no %s within 30 s", f)
}

// parse reads a raw answer.
func parse(t *testing.T, raw string) (*http.Response, string) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(raw)), nil)
	if err != nil {
		t.Fatalf("%v in %.200q", err, raw)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		b = append(b, "<"+err.Error()+">"...)
	}
	return resp, string(b)
}

// chunks are the pieces of a chunked body as the server wrote them.
func chunks(t *testing.T, raw string) (out []string) {
	t.Helper()
	_, rest, _ := strings.Cut(raw, "\r\n\r\n")
	for rest != "" {
		var n int
		size, after, ok := strings.Cut(rest, "\r\n")
		if _, err := fmt.Sscanf(size, "%x", &n); err != nil || !ok {
			t.Fatalf("no chunk: %.80q", rest)
		}
		if n == 0 {
			break
		}
		out, rest = append(out, after[:n]), after[n+2:]
	}
	return out
}

// What the server says it injected is what goes over the wire.
func TestInjectsWhatItSays(t *testing.T) {
	plain := New(nil, Plan{})
	defer plain.Close()
	want := map[bool]string{}
	for _, stream := range []bool{false, true} {
		reads, _ := dial(t, plain, stream, "")
		_, want[stream] = parse(t, strings.Join(reads, ""))
	}
	for _, tt := range []struct {
		fault  Fault
		stream bool
		check  func(raw string, end error) bool
	}{
		{RateLimit, false, func(raw string, _ error) bool {
			r, b := parse(t, raw)
			return r.StatusCode == 429 && r.Header.Get("Retry-After") == "3" && r.Header.Get("Retry-After-Ms") == "2500" && strings.Contains(b, "rate_limit_exceeded")
		}},
		{RateLimitDate, false, func(raw string, _ error) bool {
			r, _ := parse(t, raw)
			at, err := http.ParseTime(r.Header.Get("Retry-After"))
			from, err2 := http.ParseTime(r.Header.Get("Date"))
			return r.StatusCode == 429 && err == nil && err2 == nil && at.Sub(from) == 3*time.Second
		}},
		{Quota, false, func(raw string, _ error) bool {
			r, b := parse(t, raw)
			return r.StatusCode == 429 && r.Header.Get("Retry-After") == "" && strings.Contains(b, `"code":"insufficient_quota"`)
		}},
		{ServerError, false, func(raw string, _ error) bool { r, _ := parse(t, raw); return r.StatusCode == 500 }},
		{Unavailable, false, func(raw string, _ error) bool {
			r, b := parse(t, raw)
			return r.StatusCode == 503 && strings.Contains(b, "<html>")
		}},
		{Overloaded, false, func(raw string, _ error) bool { r, _ := parse(t, raw); return r.StatusCode == 529 }},
		{Closed, false, func(raw string, end error) bool {
			return raw == "" && (errors.Is(end, io.EOF) || errors.Is(end, syscall.ECONNRESET))
		}},
		{Hang, false, func(raw string, end error) bool { return raw == "" && isTimeout(end) }},
		{Reset, true, func(raw string, end error) bool {
			return strings.Contains(raw, "data: ") && !strings.Contains(raw, `"finish_reason":"`) && errors.Is(end, syscall.ECONNRESET)
		}},
		{Cut, true, func(raw string, end error) bool {
			_, b := parse(t, raw)
			return errors.Is(end, io.EOF) && len(b) > 0 && strings.HasPrefix(want[true], b) && !strings.Contains(b, `"finish_reason":"`)
		}},
		{Cut, false, func(raw string, _ error) bool {
			_, b := parse(t, raw)
			return len(b) > 0 && len(b) < len(want[false]) && strings.HasPrefix(want[false], b)
		}},
		{Stall, true, func(raw string, end error) bool { return strings.Contains(raw, "data: ") && isTimeout(end) }},
		{BadJSON, false, func(raw string, _ error) bool { _, b := parse(t, raw); return b == `{"choices":[}` }},
		{BadJSON, true, func(raw string, _ error) bool {
			_, b := parse(t, raw)
			return strings.HasPrefix(b, "data: {\"choices\":[{") && strings.HasSuffix(b, "data: {\"choices\":[}\n\n")
		}},
		{WrongType, false, func(raw string, _ error) bool {
			r, _ := parse(t, raw)
			return r.StatusCode == 200 && strings.HasPrefix(r.Header.Get("Content-Type"), "text/html")
		}},
		{ErrorObject, true, func(raw string, _ error) bool {
			r, b := parse(t, raw)
			return r.StatusCode == 200 && strings.HasPrefix(b, "data: {\"choices\"") && strings.Contains(b, `data: {"error":`)
		}},
		{Drip, true, func(raw string, _ error) bool {
			n := len(chunks(t, raw))
			return n > 40 && n <= 51 && strings.Join(chunks(t, raw), "") == want[true]
		}},
		{SplitUTF8, false, func(raw string, _ error) bool {
			all := chunks(t, raw)
			return len(all) > 5 && !utf8.ValidString(all[0]) && strings.Join(all, "") == want[false]
		}},
		{SplitFrames, true, func(raw string, _ error) bool {
			all := chunks(t, raw)
			return len(all[0]) == 7 && len(all[1]) == 7 && strings.Join(all, "") == want[true]
		}},
		{CRLF, true, func(raw string, _ error) bool {
			_, b := parse(t, raw)
			return strings.Contains(b, "}\r\n\r\ndata: ") && strings.ReplaceAll(b, "\r", "") == want[true]
		}},
		{Comments, true, func(raw string, _ error) bool {
			_, b := parse(t, raw)
			return strings.HasPrefix(b, ": keep-alive\n\n") && strings.Count(b, "event: ping") > 20
		}},
		{Gzip, true, func(raw string, _ error) bool {
			r, b := parse(t, raw)
			z, err := gzip.NewReader(strings.NewReader(b))
			if err != nil {
				return false
			}
			text, err := io.ReadAll(z)
			return err == nil && r.Header.Get("Content-Encoding") == "gzip" && string(text) == want[true]
		}},
		{Big, true, func(raw string, _ error) bool {
			_, b := parse(t, raw)
			return len(b) > 10_000_000 && strings.HasSuffix(b, want[true])
		}},
		{Big, false, func(raw string, _ error) bool {
			_, b := parse(t, raw)
			return len(b) > 10_000_000 && strings.TrimSpace(b) == strings.TrimSpace(want[false])
		}},
		{NoDone, true, func(raw string, _ error) bool { _, b := parse(t, raw); return b+doneFrame == want[true] }},
	} {
		t.Run(fmt.Sprintf("%s stream %t", tt.fault, tt.stream), func(t *testing.T) {
			s := New(nil, Plan{Script: []Fault{tt.fault}, RetryAfter: 2500 * time.Millisecond})
			headers := ""
			if tt.fault == Gzip {
				headers = "Accept-Encoding: gzip\r\n"
			}
			reads, end := dial(t, s, tt.stream, headers)
			if raw := strings.Join(reads, ""); !tt.check(raw, end) {
				t.Errorf("end %v, %d bytes: %.600q", end, len(raw), raw)
			}
			s.Close()
			if c := s.Counts(); c.Injected[tt.fault] != 1 || c.Requests != 1 || c.Passed != 0 || c.Served+c.Harmful() != 1 {
				t.Errorf("counts %+v", c)
			}
		})
	}
}

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

func post(t *testing.T, s *Server, text string) int {
	t.Helper()
	resp, err := http.Post(s.URL+"/v1/chat/completions", "application/json", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// A fault that does not apply is not counted as one.
func TestFaultsThatDoNotApply(t *testing.T) {
	s := New(nil, Plan{Script: []Fault{CRLF, Comments, NoDone}})
	defer s.Close()
	for range 3 {
		if got := post(t, s, body(false)); got != 200 {
			t.Errorf("status %d", got)
		}
	}
	if c := s.Counts(); c.Passed != 3 || c.Served != 3 || len(c.Injected) != 0 || c.Status[200] != 3 {
		t.Errorf("counts %+v", c)
	}
}

// The faults of a run depend on bodies and seed, not on order; a repetition of a
// body is drawn anew; rates are kept.
func TestRates(t *testing.T) {
	run := func(seed uint64, workers int) (map[string]int, Counts) {
		s := New(nil, Plan{Rates: map[Fault]float64{ServerError: 0.1, RateLimit: 0.2, Overloaded: 0.1}, Seed: seed})
		defer s.Close()
		var mu sync.Mutex
		got := map[string]int{}
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				for i := w; i < 300; i += workers {
					for again := range 2 {
						status := post(t, s, fmt.Sprintf(`{"messages":[%d]}`, i))
						mu.Lock()
						got[fmt.Sprint(i, again)] = status
						mu.Unlock()
					}
				}
			})
		}
		wg.Wait()
		return got, s.Counts()
	}
	one, c := run(1, 1)
	many, d := run(1, 8)
	if diff := cmp.Diff(one, many); diff != "" || !cmp.Equal(c, d) {
		t.Errorf("order shows: %s\n%+v\n%+v", diff, c, d)
	}
	if other, _ := run(2, 1); cmp.Equal(one, other) {
		t.Error("the seed does not show")
	}
	for f, want := range map[Fault]int{ServerError: 60, RateLimit: 120, Overloaded: 60} {
		if n := c.Injected[f]; n < want*2/3 || n > want*4/3 {
			t.Errorf("%s: %d of 600, want about %d", f, n, want)
		}
	}
	if c.Served+c.Harmful() != 600 || c.Requests != 600 {
		t.Errorf("counts %+v", c)
	}
	again := 0
	for i := range 300 {
		if one[fmt.Sprint(i, 0)] != one[fmt.Sprint(i, 1)] {
			again++
		}
	}
	if again == 0 {
		t.Error("a body meets one fault for ever")
	}
}

func TestBucket(t *testing.T) {
	p := newPicker(Plan{PerSecond: 10, Burst: 3})
	now := time.Unix(0, 0)
	for i, tt := range []struct {
		after time.Duration
		wait  time.Duration
	}{{0, 0}, {0, 0}, {0, 0}, {0, 100 * time.Millisecond}, {60 * time.Millisecond, 40 * time.Millisecond}, {40 * time.Millisecond, 0}, {0, 100 * time.Millisecond}, {time.Hour, 0}, {0, 0}, {0, 0}, {0, 100 * time.Millisecond}} {
		now = now.Add(tt.after)
		if got := p.take(now).Round(time.Millisecond); got != tt.wait {
			t.Errorf("request %d: wait %s, want %s", i, got, tt.wait)
		}
	}
	s := New(nil, Plan{PerSecond: 0.001, Burst: 2})
	defer s.Close()
	got := []int{post(t, s, body(false)), post(t, s, body(false)), post(t, s, body(false))}
	if c := s.Counts(); !cmp.Equal(got, []int{200, 200, 429}) || c.Limited != 1 || c.Served != 2 {
		t.Errorf("statuses %v, counts %+v", got, c)
	}
}

// Wrap stands in front of anything, and what passes is untouched.
func TestWrap(t *testing.T) {
	s := Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Mine", "1")
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write(bytes.ToUpper(b))
	}), Plan{Script: []Fault{None, Drip, ServerError}})
	defer s.Close()
	for i, want := range []string{"418 ABC", "418 ABC", "500 "} {
		resp, err := http.Post(s.URL+"/any", "text/plain", strings.NewReader("abc"))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if got := fmt.Sprintf("%d %s", resp.StatusCode, b); !strings.HasPrefix(got, want) || i < 2 && resp.Header.Get("X-Mine") != "1" {
			t.Errorf("request %d: %s", i, got)
		}
	}
	if c := s.Counts(); c.Served != 2 || c.Passed != 1 || c.Injected[ServerError] != 1 || c.Status[418] != 2 {
		t.Errorf("counts %+v", c)
	}
}

func TestAnswers(t *testing.T) {
	s := New(func(a *Ask) (*model.Response, error) {
		switch a.Model {
		case "known":
			return nil, &model.Error{Kind: model.ErrRateLimit, Status: 429, Message: "slow"}
		case "unknown":
			return nil, errors.New("oops")
		}
		return Echo(a)
	}, Plan{})
	defer s.Close()
	for text, want := range map[string]int{`{"model":"known"}`: 429, `{"model":"unknown"}`: 500, `{"model":"x"}`: 200, `{`: 400} {
		if got := post(t, s, text); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
	if resp, err := http.Get(s.URL + "/v1/models"); err != nil || resp.StatusCode != 404 {
		t.Errorf("another path: %v, %v", resp, err)
	} else {
		resp.Body.Close()
	}
}

func TestPlansThatCannotBe(t *testing.T) {
	for _, rates := range []map[Fault]float64{{ServerError: 0.7, Reset: 0.4}, {ServerError: -0.1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v was taken", rates)
				}
			}()
			newPicker(Plan{Rates: rates})
		}()
	}
}
