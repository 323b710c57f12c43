package faultserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop/model"
)

// Subject is an adapter under test.
type Subject struct {
	// New makes the model on a server, http://127.0.0.1:PORT.
	New func(serverURL string) model.Model
	// Handler answers in the adapter's own API; nil = chat completions by Echo.
	Handler http.Handler
}

func (s Subject) serve(p Plan) *Server {
	if s.Handler != nil {
		return Wrap(s.Handler, p)
	}
	return New(nil, p)
}

// soon is how long a call may last that has no reason to wait. It is generous:
// machines that test are busy.
const soon = 5 * time.Second

// expected is what an adapter makes of each fault that gives no answer.
var expected = map[Fault]model.Error{
	RateLimit:     {Kind: model.ErrRateLimit, Status: 429, RetryAfter: 2 * time.Second},
	RateLimitDate: {Kind: model.ErrRateLimit, Status: 429, RetryAfter: 2 * time.Second},
	Quota:         {Kind: model.ErrQuota, Status: 429},
	ServerError:   {Kind: model.ErrServer, Status: 500},
	Unavailable:   {Kind: model.ErrServer, Status: 503},
	Overloaded:    {Kind: model.ErrServer, Status: 529},
	Closed:        {Kind: model.ErrTransport},
	Reset:         {Kind: model.ErrBrokenStream},
	Cut:           {Kind: model.ErrBrokenStream},
	BadJSON:       {Kind: model.ErrProtocol},
	WrongType:     {Kind: model.ErrProtocol},
	ErrorObject:   {Kind: model.ErrServer},
	Hang:          {Kind: model.ErrTimeout},
	Stall:         {Kind: model.ErrTimeout},
}

// TestModel runs an adapter through every fault over real loopback connections.
// Run it with the race detector, and not beside other tests: it counts
// goroutines.
func TestModel(t *testing.T, s Subject) {
	t.Helper()
	before := runtime.NumGoroutine()
	whole := baseline(t, s)
	for _, f := range Harmful() {
		t.Run(string(f), func(t *testing.T) { s.harmful(t, f, whole) })
	}
	for _, f := range Harmless() {
		t.Run(string(f), func(t *testing.T) { s.harmless(t, f, whole) })
	}
	for _, f := range []Fault{Hang, Stall, Drip} {
		t.Run("cancelled in "+string(f), func(t *testing.T) { s.cancelled(t, f) })
	}
	t.Run("long text", func(t *testing.T) { s.long(t) })
	t.Run("storm", func(t *testing.T) { s.storm(t) })
	t.Run("goroutines", func(t *testing.T) { noneLeft(t, before) })
}

// question is a request of several turns with tools; text makes it another one.
func question(m model.Model, text string) *model.Request {
	t := model.NewTranscript()
	for _, p := range []*model.Part{
		model.NewToolPart(model.ToolSpec{Name: "list_dir", Version: 1, Description: "Lists a folder.", Schema: `{"properties":{"path":{"type":"string"}},"type":"object"}`}),
		model.NewTextPart(model.System, "Work in /workspace."),
		model.NewTextPart(model.User, "Which file says h\u00e9llo? "+text),
		model.NewMessagePart(model.Message{Role: model.Assistant, Items: []model.Item{
			{Type: model.CallItem, Call: model.ToolCall{ID: "call_1", Name: "list_dir", Args: `{"path":"."}`}}}}),
		model.NewResultPart("call_1", "a.txt"),
		model.NewTextPart(model.User, "Look into it."),
	} {
		t.Append(p)
	}
	params := model.Params{Model: m.ID(), MaxTokens: 4096}
	view, chains := t.View()
	return &model.Request{Params: params, ParamsDigest: params.Digest(), Parts: view, Chains: chains, Count: len(view), Lane: "main", Turn: 2}
}

func baseline(t *testing.T, s Subject) *model.Response {
	t.Helper()
	srv := s.serve(Plan{})
	defer srv.Close()
	m := s.New(srv.URL)
	resp, err := m.Generate(context.Background(), question(m, ""), nil)
	if err != nil {
		t.Fatalf("without any fault: %v", err)
	}
	if len(resp.Items) == 0 || model.TextOf(resp.Items) == "" {
		t.Fatalf("without any fault the answer says nothing: %+v", resp)
	}
	return resp
}

// harmful checks the error, and that the next call is not harmed by it. A call
// that is to run out of time is given more of it until the server has seen it: on
// a busy machine its time may be over before, and the fault would wait for the
// next call, which has no limit of its own.
func (s Subject) harmful(t *testing.T, f Fault, whole *model.Response) {
	wait := time.Duration(0)
	if expected[f].Kind == model.ErrTimeout {
		wait = 150 * time.Millisecond
	}
	for !s.meets(t, f, whole, wait) {
		if wait *= 4; wait == 0 || wait > soon {
			t.Fatal("no call met the fault")
		}
	}
}

// meets makes a call that may last for wait (0 = as it likes) and, where it met
// the fault, checks it and the one after it.
func (s Subject) meets(t *testing.T, f Fault, whole *model.Response, wait time.Duration) bool {
	srv := s.serve(Plan{Script: []Fault{f}, RetryAfter: 2 * time.Second})
	defer srv.Close()
	m := s.New(srv.URL)
	req, want := question(m, ""), expected[f]
	req.Timeout = wait
	start := time.Now()
	resp, err := m.Generate(context.Background(), req, func(model.Delta) {})
	if took := time.Since(start); took > soon {
		t.Errorf("took %s", took)
	}
	if err != nil && srv.Counts().Injected[f] == 0 {
		return false
	}
	if resp != nil {
		t.Fatalf("an answer: %+v", resp)
	}
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("no *model.Error: %v", err)
	}
	if e.Kind != want.Kind || want.Status != 0 && e.Status != want.Status || e.RetryAfter != want.RetryAfter {
		t.Errorf("got kind %s, status %d, wait %s; want %s, %d, %s (%v)", e.Kind, e.Status, e.RetryAfter, want.Kind, want.Status, want.RetryAfter, e)
	}
	if e.Message == "" || strings.Contains(e.Message, "<nil>") {
		t.Errorf("says nothing: %q", e.Message)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*soon)
	defer cancel()
	resp, err = m.Generate(ctx, question(m, ""), nil)
	if err != nil {
		t.Fatalf("the next call: %v", err)
	}
	if diff := cmp.Diff(whole, resp); diff != "" {
		t.Errorf("the next answer differs (-whole +got):\n%s", diff)
	}
	if c := srv.Counts(); c.Injected[f] != 1 || c.Served != 1 || c.Requests != 2 {
		t.Errorf("the server did %+v", c)
	}
	return true
}

// harmless checks that the answer is whole, streamed pieces included.
func (s Subject) harmless(t *testing.T, f Fault, whole *model.Response) {
	srv := s.serve(Plan{Script: []Fault{f}})
	defer srv.Close()
	m := s.New(srv.URL)
	pieces := map[int]string{}
	resp, err := m.Generate(context.Background(), question(m, ""), func(d model.Delta) { pieces[d.Index] += d.Text })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole, resp); diff != "" {
		t.Errorf("the answer differs (-whole +got):\n%s", diff)
	}
	for i, text := range pieces {
		if resp.Items[i].Text != text {
			t.Errorf("the pieces of item %d are %q, not %q", i, text, resp.Items[i].Text)
		}
	}
	if c := srv.Counts(); c.Injected[f]+c.Passed != 1 || c.Served != 1 {
		t.Errorf("the server did %+v", c)
	}
}

// cancelled checks that a call ends soon after its context, wherever it is.
func (s Subject) cancelled(t *testing.T, f Fault) {
	srv := s.serve(Plan{Script: []Fault{f}, Pause: 200 * time.Millisecond})
	defer srv.Close()
	m := s.New(srv.URL)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stop := time.AfterFunc(100*time.Millisecond, cancel)
	defer stop.Stop()
	start := time.Now()
	resp, err := m.Generate(ctx, question(m, ""), nil)
	var e *model.Error
	if resp != nil || !errors.Is(err, context.Canceled) && !(errors.As(err, &e) && e.Kind == model.ErrCancelled) {
		t.Errorf("got %+v, %v; want the context's error or kind cancelled", resp, err)
	}
	if took := time.Since(start); took > soon {
		t.Errorf("took %s after the context ended", took)
	}
}

// long answers with ten megabytes of text, with characters of several bytes
// among it, compressed.
func (s Subject) long(t *testing.T) {
	if s.Handler != nil {
		return // it answers what it likes
	}
	line := "h\u00e9llo \u4f60\u597d \U0001F600" + strings.Repeat(" and so on", 100) + "\n"
	text := strings.Repeat(line, bigSize/len(line)+1)
	srv := New(func(*Ask) (*model.Response, error) {
		return &model.Response{Items: []model.Item{{Type: model.Text, Text: text}}, Finish: model.FinishStop, Usage: model.Usage{InputUncached: 1, Output: 1}}, nil
	}, Plan{Script: []Fault{Gzip}})
	defer srv.Close()
	m := s.New(srv.URL)
	resp, err := m.Generate(context.Background(), question(m, ""), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := model.TextOf(resp.Items); got != text {
		t.Fatalf("%d bytes of text, want %d", len(got), len(text))
	}
}

// storm asks from many goroutines and compares what the adapter says went wrong
// with what the server says it did.
func (s Subject) storm(t *testing.T) {
	const callers, each = 40, 5
	rates := Mixed(0.4)
	for _, f := range []Fault{SplitUTF8, SplitFrames, Gzip, CRLF} {
		rates[f] = 0.1
	}
	srv := s.serve(Plan{Rates: rates, Seed: 7, RetryAfter: 2 * time.Second})
	defer srv.Close()
	m := s.New(srv.URL)
	var mu sync.Mutex
	kinds, answers := map[model.ErrorKind]int{}, 0
	var wg sync.WaitGroup
	for g := range callers {
		wg.Go(func() {
			for i := range each {
				resp, err := m.Generate(context.Background(), question(m, fmt.Sprintf("caller %d, call %d", g, i)), nil)
				var e *model.Error
				mu.Lock()
				switch {
				case err == nil && model.TextOf(resp.Items) != "":
					answers++
				case errors.As(err, &e):
					kinds[e.Kind]++
				default:
					t.Errorf("got %+v, %v", resp, err)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	c := srv.Counts()
	want := map[model.ErrorKind]int{}
	for f, n := range c.Injected {
		if e, ok := expected[f]; ok {
			want[e.Kind] += n
		}
	}
	if diff := cmp.Diff(want, kinds); diff != "" || answers != c.Served || c.Requests != callers*each {
		t.Errorf("%d answers of %d served in %d requests; errors (-injected +told):\n%s", answers, c.Served, c.Requests, diff)
	}
}

// noneLeft waits until there are no more goroutines than before.
func noneLeft(t *testing.T, before int) {
	for end := time.Now().Add(soon); ; time.Sleep(10 * time.Millisecond) {
		// This test's own goroutine is one more.
		if runtime.NumGoroutine() <= before+1 {
			return
		}
		if time.Now().After(end) {
			buf := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
		}
	}
}
