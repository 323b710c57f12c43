package openai

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/modeltest/faultserver"
)

var update = flag.Bool("update", false, "write the golden files")

// capture answers anything and keeps the last request.
type capture struct {
	*httptest.Server
	header http.Header
	url    string
	body   []byte
	conns  atomic.Int32
}

func newCapture(t testing.TB) *capture {
	c := &capture{}
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.header, c.url = r.Header.Clone(), r.URL.String()
		c.body, _ = io.ReadAll(r.Body)
		if strings.Contains(string(c.body), `"stream":true`) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, events(delta(`"content":"hi"`), finished, metered, done))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, whole(`"message":{"content":"hi"},"finish_reason":"stop"`))
	}))
	c.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			c.conns.Add(1)
		}
	}
	c.Start()
	t.Cleanup(c.Close)
	return c
}

// conversation holds what the library's own types cannot say: empty texts and
// arguments, and items of all types.
func conversation() *model.Request {
	temperature, top, seed := 0.0, 0.1234567890123, int64(1)<<60
	params := model.Params{Model: "openai/test", MaxTokens: 99, Temperature: &temperature, TopP: &top, Seed: &seed}
	t := model.NewTranscript()
	for _, p := range []*model.Part{
		model.NewToolPart(model.ToolSpec{Name: "a", Version: 1, Description: "Does <a> & b.", Schema: `{"properties":{"n":{"default":1.50,"type":"number"}},"type":"object"}`}),
		model.NewToolPart(model.ToolSpec{Name: "b", Version: 3}),
		model.NewTextPart(model.System, ""),
		model.NewTextPart(model.User, "Say \"messages\":null,\n\u2028 \U0001F600 \xff."),
		model.NewMessagePart(model.Message{Role: model.Assistant, Items: []model.Item{
			{Type: model.Reasoning, Text: "hm"}, {Type: model.Text, Text: "I look."}, {Type: model.Plan, Text: "1. look"},
			{Type: model.ProviderCall, Evidence: `{}`},
			called("a", `{"n": 1.50}`), called("b", ""), {Type: model.CallItem, Call: model.ToolCall{ID: "c3", Name: "a", Args: `{"n`}},
		}}),
		model.NewResultPart("c1", ""),
		model.NewResultPart("c3", "ok"),
		model.NewMessagePart(model.Message{Role: model.Assistant, Items: []model.Item{called("a", "{}")}}),
		model.NewMessagePart(model.Message{Role: model.Assistant}),
	} {
		t.Append(p)
	}
	view, chains := t.View()
	return &model.Request{Params: params, ParamsDigest: params.Digest(), Parts: view, Chains: chains, Count: len(view),
		Purpose: model.ForSummary, Lane: "main", Turn: 4, Attempt: 1, Occurrence: 2}
}

func TestRequest(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Options)
	}{
		{"plain", nil},
		{"all", func(o *Options) {
			o.Name, o.Stream, o.Trace, o.MaxTokensField, o.ReasoningEffort, o.SendReasoning = "gpt-5-mini", true, true, "max_completion_tokens", "low", true
			o.ResponseFormat = &ResponseFormat{Schema: `{"type":"object","title":"T"}`, Strict: true}
			o.Extra = map[string]any{"top_k": 40, "chat_template_kwargs": map[string]any{"enable_thinking": false}, "provider": map[string]any{"b": 1, "a": 2}}
		}},
		{"json", func(o *Options) { o.ResponseFormat = &ResponseFormat{} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCapture(t)
			m := on(t, c.URL, tt.change)
			if m.o.Trace {
				m = m.WithSeed(1<<64 - 1)
			}
			if _, err := m.Generate(context.Background(), conversation(), nil); err != nil {
				t.Fatal(err)
			}
			if !json.Valid(c.body) || !jsontext.Value(c.body).IsValid() { // no equal names either
				t.Fatalf("no JSON: %s", c.body)
			}
			v := jsontext.Value(c.body)
			if err := v.Indent(jsontext.WithIndent("  ")); err != nil {
				t.Fatal(err)
			}
			golden(t, tt.name+".json", append(v, '\n'))
		})
	}
}

// The last answer of a session is asked for without tools; our own endpoint, which
// is told what the request is for, gets all of it.
func TestLastAnswerWithoutTools(t *testing.T) {
	for _, tt := range []struct {
		purpose model.Purpose
		trace   bool
		tools   bool
	}{{"", false, true}, {model.ForFinalSynthesis, false, false}, {model.ForFinalSynthesis, true, true}} {
		c := newCapture(t)
		req := conversation()
		req.Purpose = tt.purpose
		if _, err := on(t, c.URL, func(o *Options) { o.Trace = tt.trace }).Generate(context.Background(), req, nil); err != nil {
			t.Fatal(err)
		}
		var body struct {
			Tools    []any             `json:"tools"`
			Messages []any             `json:"messages"`
			Metadata map[string]string `json:"metadata"`
		}
		if err := json.Unmarshal(c.body, &body); err != nil {
			t.Fatal(err)
		}
		if (len(body.Tools) == 2) != tt.tools || len(body.Tools) != 0 && !tt.tools || len(body.Messages) != 7 || tt.trace && body.Metadata["harnessbench_purpose"] != "final_synthesis" {
			t.Errorf("%q, trace %v: %s", tt.purpose, tt.trace, c.body)
		}
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "request", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
}

// The library guesses by names what models can do, and refuses: here the endpoint
// is the judge.
func TestNoGuessesByName(t *testing.T) {
	c := newCapture(t)
	for _, name := range []string{"o1", "gpt-5", "gpt-6-sol", "text-davinci-003", "davinci-002"} {
		if _, err := on(t, c.URL, func(o *Options) { o.Name = name }).Generate(context.Background(), conversation(), nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.HasPrefix(string(c.body), `{"model":"`+name+`"`) {
			t.Errorf("%s: sent %.40s", name, c.body)
		}
	}
}

func TestHeadersAndPaths(t *testing.T) {
	c := newCapture(t)
	for _, tt := range []struct{ base, want string }{
		{c.URL, "/chat/completions"},
		{c.URL + "/", "/chat/completions"},
		{c.URL + "/v1", "/v1/chat/completions"},
		{c.URL + "/v1//", "/v1/chat/completions"},
		{c.URL + "/openai/deployments/a%2Fb?api-version=2024-06-01", "/openai/deployments/a%2Fb/chat/completions?api-version=2024-06-01"},
	} {
		m := on(t, c.URL, func(o *Options) {
			o.BaseURL, o.Headers = tt.base, map[string]string{"HTTP-Referer": "https://example.com", "User-Agent": "mine"}
		})
		if _, err := m.Generate(context.Background(), question(), nil); err != nil {
			t.Fatalf("%s: %v", tt.base, err)
		}
		if c.url != tt.want || c.header.Get("HTTP-Referer") != "https://example.com" || c.header.Get("User-Agent") != "mine" ||
			c.header.Get("Authorization") != "Bearer "+testKey || c.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: asked %s with %v", tt.base, c.url, c.header)
		}
	}
	if _, err := on(t, c.URL, func(o *Options) { o.Key = "" }).Generate(context.Background(), question(), nil); err != nil {
		t.Fatal(err)
	}
	if v, ok := c.header["Authorization"]; ok {
		t.Errorf("without a key: Authorization %q", v)
	}
}

func TestOptions(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"provider/name":   func(o *Options) { o.ID = "gpt" },
		"http://":         func(o *Options) { o.BaseURL = "localhost:11434/v1" },
		"with a host":     func(o *Options) { o.BaseURL = "http://" },
		"a user":          func(o *Options) { o.BaseURL = "http://me:" + testKey + "@h/v1" },
		"fragment":        func(o *Options) { o.BaseURL = "http://h/v1#x" },
		"leave out":       func(o *Options) { o.BaseURL = "http://h/v1/chat/completions/" },
		"line break":      func(o *Options) { o.Key = testKey + "\n" },
		"header \"A\"":    func(o *Options) { o.Headers = map[string]string{"A": testKey + "\r\nB: c"} },
		"header \"A:\"":   func(o *Options) { o.Headers = map[string]string{"A:": "x"} },
		"neither":         func(o *Options) { o.MaxTokensField = "max" },
		"no JSON":         func(o *Options) { o.ResponseFormat = &ResponseFormat{Schema: "{"} },
		"\"stream\"":      func(o *Options) { o.Extra = map[string]any{"stream": false} },
		"\"metadata\"":    func(o *Options) { o.Trace, o.Extra = true, map[string]any{"metadata": nil} },
		"parameter \"f\"": func(o *Options) { o.Extra = map[string]any{"f": func() {}} },
	} {
		o := Options{ID: "openai/x", BaseURL: "http://h/v1", Key: testKey}
		change(&o)
		_, err := New(o)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), testKey) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	m, err := New(Options{ID: "openai/org/name"})
	if err != nil || m.o.Name != "org/name" || m.base.String() != OpenAI || m.ID() != "openai/org/name" {
		t.Errorf("defaults: %+v, %v", m, err)
	}
}

// Connections are used again, also after a stream.
func TestConnectionsAreKept(t *testing.T) {
	both(t, func(t *testing.T, stream func(*Options)) {
		c := newCapture(t)
		for range 20 {
			if _, err := on(t, c.URL, stream).Generate(context.Background(), question(), nil); err != nil {
				t.Fatal(err)
			}
		}
		if n := c.conns.Load(); n != 1 {
			t.Errorf("%d connections for 20 calls", n)
		}
	})
}

func TestWithSeedShares(t *testing.T) {
	c := newCapture(t)
	m := on(t, c.URL, func(o *Options) { o.Trace = true })
	for _, seed := range []uint64{0, 7} {
		if _, err := m.WithSeed(seed).Generate(context.Background(), question(), nil); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(c.body), fmt.Sprintf(`"harnessbench_seed":"%d"`, seed)) {
			t.Errorf("seed %d: sent %s", seed, c.body)
		}
	}
	if m.seed != "" || m.WithSeed(1).client != m.client {
		t.Error("the seed leaks, or the client is another")
	}
}

func benchmark(b *testing.B, stream bool) {
	srv := faultserver.New(nil, faultserver.Plan{})
	defer srv.Close()
	m := on(b, srv.URL, func(o *Options) { o.Stream = stream })
	req := question()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Generate(context.Background(), req, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGenerate(b *testing.B)       { benchmark(b, false) }
func BenchmarkGenerateStream(b *testing.B) { benchmark(b, true) }

// Hundreds of calls at a time to one host share as many connections, also later.
func TestHundredsAtATime(t *testing.T) {
	const at = 300
	full, gate := make(chan struct{}), make(chan struct{})
	var inside, conns atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if inside.Add(1)%at == 0 {
			full <- struct{}{} // all are here
		}
		<-gate
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, events(delta(`"content":"hi"`), finished, metered, done))
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	m := on(t, srv.URL, func(o *Options) { o.Stream = true })
	for range 3 {
		errs := make(chan error, at)
		for range at {
			go func() {
				_, err := m.Generate(context.Background(), question(), nil)
				errs <- err
			}()
		}
		<-full
		for range at {
			gate <- struct{}{}
		}
		for range at {
			if err := <-errs; err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := conns.Load(); n > 2*at { // a slow machine may lose some
		t.Errorf("%d connections for three rounds of %d calls", n, at)
	}
}
