package provider

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/ablations/models"
	"github.com/harnessbench/harnessbench/loop/model"
)

// endpoint answers each request with one word and keeps what it was sent.
type endpoint struct {
	*httptest.Server
	mu           sync.Mutex
	bodies       []string
	headers      []http.Header
	flying, peak int
}

func newEndpoint(t *testing.T) *endpoint {
	e := &endpoint{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e.mu.Lock()
		e.bodies, e.headers = append(e.bodies, string(body)), append(e.headers, r.Header)
		e.flying++
		e.peak = max(e.peak, e.flying)
		e.mu.Unlock()
		time.Sleep(2 * time.Millisecond)
		e.mu.Lock()
		e.flying--
		e.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}}`)
	}))
	t.Cleanup(e.Close)
	return e
}

const file = `schema: harnessbench/models/v1
providers:
  - {id: a, base_url: BASE/v1, key_env: A_KEY, headers: {X-Team: "team ${TEAM}"}, limits: {concurrency: 2}}
  - {id: b, base_url: BASE/v1, any_model: true}
models:
  - id: a/one
    name: one-large
    params: {reasoning_effort: low, response_format: {type: json_object}, extra: {n_probs: 1.50, a: {b: [1]}}}
    trace: true
  - {id: a/two}
`

func open(t *testing.T, url string, env map[string]string) *Provider {
	t.Helper()
	f, err := models.Parse("m.yaml", []byte(strings.ReplaceAll(file, "BASE", url)))
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(f, func(k string) string { return env[k] })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func ask(id string) *model.Request {
	tr := model.NewTranscript()
	tr.Append(model.NewTextPart(model.User, "yes?"))
	parts, chains := tr.View()
	return &model.Request{Params: model.Params{Model: id, MaxTokens: 50}, Parts: parts, Chains: chains, Turn: 1, Lane: "main"}
}

// What the file says is what the endpoint gets, and the trials of an account
// share its limits.
func TestModel(t *testing.T) {
	e := newEndpoint(t)
	p := open(t, e.URL, map[string]string{"A_KEY": "key-a\n", "TEAM": "blue"})
	var wg sync.WaitGroup
	for i := range 12 {
		id := []string{"a/one", "a/two"}[i%2]
		m, err := p.Model(id, uint64(i)<<60)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			resp, err := m.Generate(t.Context(), ask(id), nil)
			if err != nil || model.TextOf(resp.Items) != "yes" || resp.Model != id || m.ID() != id {
				t.Errorf("%+v, %v", resp, err)
			}
		})
	}
	wg.Wait()
	if e.peak > 2 {
		t.Errorf("%d requests at a time", e.peak)
	}
	for i, body := range e.bodies {
		if h := e.headers[i]; h.Get("Authorization") != "Bearer key-a" || h.Get("X-Team") != "team blue" {
			t.Errorf("headers %v", h)
		}
		one := strings.Contains(body, `"model":"one-large"`)
		for _, part := range []string{`"n_probs":1.50`, `"a":{"b":[1]}`, `"reasoning_effort":"low"`, `"json_object"`, `"harnessbench_seed":`} {
			if strings.Contains(body, part) != one {
				t.Errorf("%s in %s: want %v", part, body, one)
			}
		}
	}
	accounts := p.Accounts()
	if len(accounts) != 1 || accounts[0].Provider != "a" || accounts[0].Answered != 12 {
		t.Errorf("%+v", accounts)
	}
	if err := p.Check("b/any"); err != nil {
		t.Error(err)
	}
	if m, _ := p.Model("b/any", 0); m != nil {
		if _, err := m.Generate(t.Context(), ask("b/any"), nil); err != nil || e.headers[len(e.headers)-1].Get("Authorization") != "" {
			t.Errorf("without a key: %v", err)
		}
	}
}

func TestMissing(t *testing.T) {
	p := open(t, "http://127.0.0.1:1", map[string]string{"A_KEY": " "})
	var missing *MissingError
	if err := p.Check("b/x", "a/two"); !errors.As(err, &missing) || !slices.Equal(missing.Env, []string{"A_KEY", "TEAM"}) {
		t.Errorf("%v", err)
	}
	if err := p.Check("a/three"); err == nil || errors.As(err, &missing) {
		t.Errorf("%v", err)
	}
	if _, err := New(nil, nil); err == nil {
		t.Error("no file")
	}
}

func TestSecrets(t *testing.T) {
	p := open(t, "http://127.0.0.1:1", map[string]string{"A_KEY": "key-a", "TEAM": "blue", "OTHER": "x"})
	if got := p.Secrets(); !slices.Equal(got, []string{"blue", "key-a"}) {
		t.Errorf("%v", got)
	}
	if got := open(t, "http://127.0.0.1:1", nil).Secrets(); len(got) != 0 {
		t.Errorf("%q", got)
	}
}
