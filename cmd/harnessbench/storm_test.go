package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop/model/modeltest/faultserver"
	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/results/parquet"
)

// billing counts what the provider behind the faults answered.
type billing struct {
	h http.Handler

	mu            sync.Mutex
	tokens, spoil int64 // of answers that went out whole, and of those that a fault broke
	answers       int
	spoilt        int
	first, last   time.Time
}

// ServeHTTP implements http.Handler.
func (b *billing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := httptest.NewRecorder()
	b.h.ServeHTTP(rec, r)
	var said struct {
		Usage struct {
			In  int64 `json:"prompt_tokens"`
			Out int64 `json:"completion_tokens"`
		}
	}
	if rec.Code == http.StatusOK {
		_ = json.Unmarshal(rec.Body.Bytes(), &said) // what has no usage bills nothing
	}
	_, breaks := w.(*httptest.ResponseRecorder) // what the fault server takes to be spoilt
	b.mu.Lock()
	n := said.Usage.In + said.Usage.Out
	if breaks {
		b.spoil += n
		b.spoilt++
	} else {
		b.tokens += n
	}
	b.answers++
	b.last = time.Now()
	if b.first.IsZero() {
		b.first = b.last
	}
	b.mu.Unlock()
	for k, v := range rec.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes()) // a client that left notices itself
}

// At a fifth of faulty answers, a rate limit and a storm of 429s at the start, a
// suite of 520 trials ends with every trial graded or honestly errored, every
// attempt in its tables with what it used, and what the limits allow is used.
func TestStorm(t *testing.T) {
	if testing.Short() {
		t.Skip("a run against a rate limit takes its time; left out with -short")
	}
	const perSecond = 150
	bill := &billing{h: impatient(simulated(t))}
	script := make([]faultserver.Fault, 60)
	for i := range script {
		script[i] = faultserver.RateLimit
	}
	rates := faultserver.Mixed(0.2)
	// An HTTP date has whole seconds, each of which would hold the account back.
	rates[faultserver.RateLimit] += rates[faultserver.RateLimitDate]
	delete(rates, faultserver.RateLimitDate)
	server := faultserver.Wrap(bill, faultserver.Plan{Script: script, Rates: rates, Seed: 5, RetryAfter: 50 * time.Millisecond, PerSecond: perSecond, Burst: 30})
	defer server.Close()
	dir := t.TempDir()
	suite, file, out := filepath.Join(dir, "suite.yaml"), filepath.Join(dir, "models.yaml"), filepath.Join(dir, "run")
	for path, text := range map[string]string{
		suite: "schema: harnessbench/suite/v1\nname: storm\nscenarios: [builtin/*]\nmodels: [openai/sim/weak]\narms: [{name: default}, {name: patient, guards: {stuck: off}}]\n" +
			"repetitions: 20\ncoupling: independent\nerrors: {allow: 0.02}\n",
		file: fmt.Sprintf("schema: harnessbench/models/v1\nproviders:\n- {id: openai, base_url: \"%s/v1\", key_env: OPENAI_API_KEY, limits: {concurrency: 64, rpm: %d}}\nmodels:\n- {id: openai/sim/weak, trace: true}\n", server.URL, 60*perSecond),
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("OPENAI_API_KEY", theKey)
	began := time.Now()
	try(t, 0, "run", "-q", suite, "--models", file, "--fsync", "never", "-o", out)
	wall := time.Since(began)
	c := server.Counts()
	rows, _, err := parquet.Read[results.Trial](filepath.Join(out, "parquet", parquet.TrialsFile))
	if err != nil {
		t.Fatal(err)
	}
	calls, _, err := parquet.Read[results.ModelCall](filepath.Join(out, "parquet", parquet.ModelCallsFile))
	if err != nil {
		t.Fatal(err)
	}
	attempts, graded, errored := 0, 0, 0
	for i := range rows {
		attempts += rows[i].ModelCalls
		if rows[i].Graded() {
			graded++
		} else if rows[i].Errored {
			errored++
		}
	}
	if len(rows) != 520 || graded+errored != len(rows) || errored > 10 {
		t.Errorf("%d trials, %d graded, %d errored", len(rows), graded, errored)
	}
	if attempts != c.Requests || len(calls) != c.Requests {
		t.Errorf("%d attempts in the rows, %d in the table, %d requests", attempts, len(calls), c.Requests)
	}
	var tokens int64
	var unknown []string
	for i := range calls {
		if k := &calls[i]; k.InputUncached == nil {
			unknown = append(unknown, *k.ErrorKind)
		} else {
			tokens += *k.InputUncached + *k.CacheRead + *k.CacheWrite + *k.Output
		}
	}
	if tokens != bill.tokens || len(unknown) != bill.spoilt {
		slices.Sort(unknown)
		t.Errorf("%d tokens and %d calls of unknown usage (%v) in the table; %d tokens were billed, and %d answers broke", tokens, len(unknown), slices.Compact(unknown), bill.tokens, bill.spoilt)
	}
	rate := float64(c.Requests-c.Limited) / wall.Seconds()
	t.Logf("%d requests in %.1f s: %d served, %d refused by the limit, %v injected; %.0f requests/s of %d allowed", c.Requests, wall.Seconds(), c.Served, c.Limited, c.Injected, rate, perSecond)
	if rate < 0.8*perSecond {
		t.Errorf("%.0f requests a second reached the provider; its limit is %d", rate, perSecond)
	}
	if c.Harmful() < c.Requests/8 {
		t.Errorf("%d of %d requests met a fault: that is no storm", c.Harmful(), c.Requests)
	}
}
