//go:build unix

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

// billing counts what the provider behind the faults answered. After stormAfter
// requests it has a storm: for stormFor it refuses all.
type billing struct {
	h http.Handler

	mu     sync.Mutex
	seen   int
	storm  time.Time // when it began
	tokens int64     // of answers that went out whole
	spoilt int       // answers that a fault broke
}

const (
	stormAfter = 500
	stormFor   = 1500 * time.Millisecond

	// without those whose own faults strike before the provider is asked
	stormScenarios = "builtin/abab-loop, builtin/big-answer, builtin/blank-answer, builtin/chat-answer, builtin/hang-tool, " +
		"builtin/needle-log, builtin/patient-poll, builtin/retry-trap, builtin/slow-build, builtin/truncated-empty, builtin/wrong-tool"
)

// refuses reports whether there is a storm.
func (b *billing) refuses() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen++; b.seen == stormAfter {
		b.storm = time.Now()
	}
	return b.seen >= stormAfter && time.Since(b.storm) < stormFor
}

// ServeHTTP implements http.Handler.
func (b *billing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if b.refuses() {
		w.Header().Set("Retry-After-Ms", "50")
		http.Error(w, "too many requests", http.StatusTooManyRequests)
		return
	}
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
	if breaks && rec.Code == http.StatusOK {
		b.spoilt++
	} else if !breaks {
		b.tokens += said.Usage.In + said.Usage.Out
	}
	b.mu.Unlock()
	for k, v := range rec.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes()) // a client that left notices itself
}

// At a fifth of faulty answers, a rate limit and a storm of 429s, a
// suite of 506 trials ends with every trial graded or honestly errored, every
// attempt in its tables with what it used. How much of the limits is used is
// logged here, and tested on virtual time by package limit: 80 % and more.
func TestStorm(t *testing.T) {
	if testing.Short() {
		t.Skip("a run against a rate limit takes its time; left out with -short")
	}
	const perSecond = 200
	bill := &billing{h: impatient(simulated(t))}
	rates := faultserver.Mixed(0.2)
	// An HTTP date has whole seconds, each of which would hold the account back.
	rates[faultserver.RateLimit] += rates[faultserver.RateLimitDate]
	delete(rates, faultserver.RateLimitDate)
	server := faultserver.Wrap(bill, faultserver.Plan{Rates: rates, Seed: 5, RetryAfter: 20 * time.Millisecond, PerSecond: perSecond, Burst: 30})
	defer server.Close()
	dir := t.TempDir()
	suite, file, out := filepath.Join(dir, "suite.yaml"), filepath.Join(dir, "models.yaml"), filepath.Join(dir, "run")
	for path, text := range map[string]string{
		suite: "schema: harnessbench/suite/v1\nname: storm\nscenarios: [" + stormScenarios + "]\nmodels: [openai/sim/weak]\narms: [{name: default}, {name: patient, guards: {stuck: off}}]\n" +
			"repetitions: 23\ncoupling: independent\nerrors: {allow: 0.02}\n",
		file: fmt.Sprintf("schema: harnessbench/models/v1\nproviders:\n- {id: openai, base_url: \"%s/v1\", key_env: OPENAI_API_KEY, limits: {concurrency: 64, rpm: %d}}\nmodels:\n- {id: openai/sim/weak, trace: true}\n", server.URL, 57*perSecond),
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("OPENAI_API_KEY", theKey)
	began := time.Now()
	_, said := try(t, 0, "run", "-q", suite, "--models", file, "--fsync", "never", "-o", out)
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
	if len(rows) != 506 || graded+errored != len(rows) || errored > 10 {
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
	var requests, refused int
	var paused float64
	if _, err := fmt.Sscanf(said, "caution: the price of openai/sim/weak is unknown, and so is every cost on it\nprovider openai: %d requests, %d refused with 429; all were held back for %f s", &requests, &refused, &paused); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	allowed := perSecond * wall.Seconds() // the storm and every Retry-After included
	t.Logf("%d requests in %.1f s, %.1f s of them held back: %d served, %d refused by the limit, %v injected; %.0f %% of what the limits allow", c.Requests,
		wall.Seconds(), paused, c.Served, c.Limited, c.Injected, 100*float64(c.Requests-c.Limited)/allowed)
	if c.Harmful() < c.Requests/8 {
		t.Errorf("%d of %d requests met a fault: that is no storm", c.Harmful(), c.Requests)
	}
}
