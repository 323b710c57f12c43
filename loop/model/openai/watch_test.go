package openai

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/modeltest"
)

func question() *model.Request { return modeltest.Conversations("openai/test")[1] }

// slow is a transport on the bubble's clock: it connects, sends a first byte of
// the body and further ones, each after its time.
type slow struct {
	connect, first, idle time.Duration
	pieces               []string
	trailing             time.Duration // before the end of the body
}

func (s *slow) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	if err := pause(ctx, s.connect); err != nil {
		return nil, err
	}
	httptrace.ContextClientTrace(ctx).GotConn(httptrace.GotConnInfo{})
	kind := "application/json"
	if req.Header.Get("Accept") == "text/event-stream" {
		kind = "text/event-stream"
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {kind}}, Body: &slowBody{s: s, ctx: ctx, wait: s.first}}, nil
}

type slowBody struct {
	s    *slow
	ctx  context.Context
	wait time.Duration
	n    int
}

func (b *slowBody) Read(p []byte) (int, error) {
	if b.n == len(b.s.pieces) {
		if err := pause(b.ctx, b.s.trailing); err != nil {
			return 0, err
		}
		return 0, io.EOF
	}
	if err := pause(b.ctx, b.wait); err != nil {
		return 0, err
	}
	b.wait = b.s.idle
	b.n++
	return copy(p, b.s.pieces[b.n-1]), nil
}

func (b *slowBody) Close() error { return nil }

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

func TestTimeouts(t *testing.T) {
	const s = time.Second
	body := []string{events(delta(`"content":"h"`)), ": ping\n\n", events(delta(`"content":"i"`)), events(finished, metered, done)}
	for _, tt := range []struct {
		name     string
		limits   Timeouts
		own      time.Duration
		net      slow
		says     string // empty = an answer
		after    time.Duration
		unbilled bool
	}{
		{"all in time", Timeouts{1 * s, 2 * s, 3 * s, 20 * s}, 0, slow{connect: s - 1, first: 2*s - 1, idle: 3*s - 1}, "", 12*s - 5, false},
		{"connect", Timeouts{Connect: s}, 0, slow{connect: s + 1}, "no connection (timeout connect) within 1s", s, true},
		{"connect by default", Timeouts{}, 0, slow{connect: time.Hour}, "within 10s", 10 * s, true},
		{"first byte", Timeouts{FirstByte: 2 * s}, 0, slow{first: 3 * s}, "no first byte of the answer (timeout first byte) within 2s", 2 * s, false},
		{"idle", Timeouts{Idle: 2 * s}, 0, slow{idle: 3 * s}, "no further byte of the answer (timeout idle) within 2s", 2 * s, false},
		{"idle by default", Timeouts{}, 0, slow{idle: time.Hour}, "within 2m0s", 2 * time.Minute, false},
		{"pings are bytes", Timeouts{Idle: 2 * s}, 0, slow{idle: 2*s - 1}, "", 6*s - 3, false},
		{"whole", Timeouts{Whole: 4 * s}, 0, slow{idle: 3 * s}, "no whole answer (timeout whole) within 4s", 4 * s, false},
		{"the request's own", Timeouts{}, 5 * s, slow{idle: 3 * s}, "the request's own timeout) within 5s", 5 * s, false},
		{"the shorter counts", Timeouts{Whole: 4 * s}, 5 * s, slow{idle: 3 * s}, "timeout whole) within 4s", 4 * s, false},
		{"none", Timeouts{-1, -1, -1, -1}, 0, slow{connect: time.Hour, first: time.Hour, idle: time.Hour}, "", 5 * time.Hour, false},
		{"no end after [DONE]", Timeouts{}, 0, slow{trailing: time.Hour}, "", drainLimit, false},
		{"an end soon after [DONE]", Timeouts{}, 0, slow{trailing: drainLimit / 2}, "", drainLimit / 2, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.net.pieces = body
				m, err := newModel(Options{ID: "openai/test", Stream: true, Timeouts: tt.limits}, &tt.net)
				if err != nil {
					t.Fatal(err)
				}
				req, start := question(), time.Now()
				req.Timeout = tt.own
				r, err := m.Generate(context.Background(), req, nil)
				if took := time.Since(start); took != tt.after {
					t.Errorf("took %s, want %s", took, tt.after)
				}
				if tt.says == "" {
					if err != nil || model.TextOf(r.Items) != "hi" {
						t.Fatalf("got %+v, %v", r, err)
					}
					return
				}
				e := modelError(t, err)
				if e.Kind != model.ErrTimeout || !strings.Contains(e.Message, tt.says) || e.Usage.Unknown == tt.unbilled {
					t.Errorf("got %+v", e)
				}
			})
		})
	}
}

// The caller's end counts before the call's own limits, and ends it at once.
func TestCallersEnd(t *testing.T) {
	for _, net := range []slow{{connect: time.Hour}, {first: time.Hour}, {idle: time.Hour}} {
		synctest.Test(t, func(t *testing.T) {
			net.pieces = []string{events(delta(`"content":"h"`)), events(finished)}
			m, err := newModel(Options{ID: "openai/test", Stream: true, Timeouts: Timeouts{-1, -1, -1, -1}}, &net)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			start := time.Now()
			if _, err = m.Generate(ctx, question(), nil); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
				t.Errorf("%v after %s", err, time.Since(start))
			}
		})
	}
}

// A transport that breaks in the middle tells what it may have cost.
type breaking struct{ body string }

func (b breaking) RoundTrip(req *http.Request) (*http.Response, error) {
	httptrace.ContextClientTrace(req.Context()).GotConn(httptrace.GotConnInfo{})
	body := io.MultiReader(bytes.NewReader([]byte(b.body)), failing{})
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(body)}, nil
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestBreaksAfterTheUsage(t *testing.T) {
	m, err := newModel(Options{ID: "openai/test", Stream: true}, breaking{events(delta(`"content":"hi"`), finished, metered)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Generate(context.Background(), question(), nil)
	if e := modelError(t, err); e.Kind != model.ErrBrokenStream || e.Usage != told || !strings.Contains(e.Message, "unexpected end") {
		t.Errorf("got %+v", e)
	}
}

// replaying answers with the bytes of a reader.
type replaying struct{ r io.Reader }

func (p replaying) RoundTrip(req *http.Request) (*http.Response, error) {
	httptrace.ContextClientTrace(req.Context()).GotConn(httptrace.GotConnInfo{})
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(p.r)}, nil
}
