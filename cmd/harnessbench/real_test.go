//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/modeltest/faultserver"
	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/results/parquet"
)

// theKey is the key that the tests use; it must be found in nothing that a run
// leaves.
const theKey = "sk-proj-THISisTHEkeyOFtheTESTS0123456789"

// fetcher answers like a model that fetches n pages, writes the last one down and
// says so.
func fetcher(n int) faultserver.Answer {
	return func(a *faultserver.Ask) (*model.Response, error) {
		said := 0
		for _, m := range a.Messages {
			if bytes.Contains(m, []byte(`"role":"assistant"`)) {
				said++
			}
		}
		resp := &model.Response{Finish: model.FinishCalls, Usage: model.Usage{InputUncached: int64(100 * (said + 1)), CacheRead: 50, Output: 10}}
		call := func(name, args string) {
			resp.Items = []model.Item{{Type: model.CallItem, Call: model.ToolCall{Name: name, Args: args}}}
		}
		switch {
		case said < n:
			call("fetch", "{}")
		case said == n:
			call("write_file", fmt.Sprintf(`{"path":"/workspace/last.txt","content":"page %d"}`, n))
		default:
			resp.Finish, resp.Items = model.FinishStop, []model.Item{{Type: model.Text, Text: "done"}}
		}
		return resp, nil
	}
}

// fetching writes a suite, its scenario of n pages and a models file for an
// endpoint into dir.
func fetching(t *testing.T, dir, url string, n int, suite, provider string) (suiteFile, modelsFile string) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "schema: harnessbench/scenario/v1\nid: pages\nsummary: fetch pages\nlimits: {turns: %d, tool_calls: 100, context_window: 100000}\n", n+10)
	b.WriteString("tools:\n- write_file\n- name: fetch\n  kind: mock\n  description: Fetches the next page.\n  takes: 5ms\n  responses:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - {text: page %d}\n", i+1)
	}
	fmt.Fprintf(&b, "graders:\n- {type: file_equals, path: last.txt, want: page %d}\n", n)
	for name, text := range map[string]string{
		"pages/scenario.yaml":  b.String(),
		"pages/instruction.md": "Fetch all pages and write the last one down.",
		"suite.yaml":           "schema: harnessbench/suite/v1\nname: fetching\nscenarios: [./pages]\nmodels: [acme/large]\n" + suite,
		"models.yaml": "schema: harnessbench/models/v1\ndate: 2026-01-01\nsource: made up\nproviders:\n- {id: acme, base_url: \"" + url + "/v1\", key_env: ACME_KEY" + provider + "}\n" +
			"models:\n- {id: acme/large, context_window: 90000, params: {max_tokens: 300, seed: true}, prices: {input: 1, cache_read: 0.1, cache_write: 1, output: 4}}\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "suite.yaml"), filepath.Join(dir, "models.yaml")
}

// try runs a command line and returns what it printed.
func try(t *testing.T, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(context.Background(), &out, &errs, args); code != want {
		t.Fatalf("%q: exit %d, want %d\n%s%s", args, code, want, out.String(), errs.String())
	}
	return out.String(), errs.String()
}

const twoArms = `arms:
- {name: default, guards: {retry: {base: 1ms, cap: 5ms}}}
- {name: none, profile: none}
`

// A run on real models from its plan to its report; all that comes after it works
// without endpoint, key and models file.
func TestRunRealModels(t *testing.T) {
	dir := t.TempDir()
	server := faultserver.New(fetcher(3), faultserver.Plan{})
	defer server.Close()
	suite, file := fetching(t, dir, server.URL, 3, twoArms+"repetitions: 2\ncoupling: independent\nbudgets: {usd: 5}\n", "")
	whole, one, two := filepath.Join(dir, "whole"), filepath.Join(dir, "one"), filepath.Join(dir, "two")

	t.Setenv("ACME_KEY", "")
	if out, _ := try(t, 0, "plan", suite, "--models", file, "--json"); !strings.Contains(out, `"budget": "usd"`) || strings.Contains(out, `"cost_usd": null,
      "spent_usd": null,
      "trial_seconds": 0`) {
		t.Errorf("the plan knows no cost:\n%s", out)
	}
	if _, errs := try(t, 3, "run", suite, "--models", file, "-o", whole); !strings.Contains(errs, "the environment variable ACME_KEY is not set") {
		t.Errorf("a missing key: %s", errs)
	}
	if _, err := os.Stat(whole); err == nil {
		t.Error("a run that has no key leaves a folder")
	}
	if _, errs := try(t, 2, "run", suite); !strings.Contains(errs, `no provider "acme"`) || !strings.Contains(errs, "--models") {
		t.Errorf("no models file: %s", errs)
	}

	t.Setenv("ACME_KEY", theKey)
	t.Setenv("HARNESSBENCH_MODELS", file)
	try(t, 0, "run", "-q", suite, "-o", whole)
	try(t, 0, "run", "-q", suite, "-o", one, "--shard", "1/2")
	try(t, 0, "run", "-q", suite, "-o", two, "--shard", "2/2")
	if n := server.Counts().Requests; n != 2*4*5 {
		t.Errorf("%d requests for two runs of four trials of five calls", n)
	}
	t.Setenv("HARNESSBENCH_MODELS", "")
	t.Setenv("ACME_KEY", "")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	server.Close()
	merged := filepath.Join(dir, "merged")
	try(t, 0, "merge", one, two, "-o", merged)
	for _, run := range []string{whole, merged} {
		if out, _ := try(t, 0, "replay", "-q", run); !strings.Contains(out, "EXACT 4") {
			t.Errorf("%s: %s", run, out)
		}
		try(t, 0, "replay", "-q", "--config=current", "--suite", suite, run)
		try(t, 0, "grade", "-q", run)
		if out, _ := try(t, 0, "report", run); strings.Contains(strings.ToLower(out), "simulated") {
			t.Errorf("the report says that the models are simulated:\n%s", out)
		}
		rows, _, err := parquet.Read[results.Trial](filepath.Join(run, "parquet", parquet.TrialsFile))
		if err != nil || len(rows) != 4 {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		for i := range rows {
			if r := &rows[i]; r.Simulated || r.Verdict != results.Pass || r.CostUSD == nil || r.StartedAt == nil {
				t.Errorf("%+v", r)
			}
		}
	}
	// With its key back, a finished run is taken up and has nothing to do.
	t.Setenv("ACME_KEY", theKey)
	try(t, 0, "run", "-q", "--resume", whole)
}

// The default provider needs no models file.
func TestRunDefaultProvider(t *testing.T) {
	dir := t.TempDir()
	server := faultserver.New(fetcher(2), faultserver.Plan{})
	defer server.Close()
	suite, _ := fetching(t, dir, server.URL, 2, twoArms, "")
	b, err := os.ReadFile(suite)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(suite, bytes.Replace(b, []byte("acme/large"), []byte("openai/any-name"), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HARNESSBENCH_MODELS", "")
	t.Setenv("OPENAI_BASE_URL", "")
	t.Setenv("OPENAI_API_KEY", "")
	out := filepath.Join(dir, "run")
	if _, errs := try(t, 3, "run", suite, "-o", out); !strings.Contains(errs, "OPENAI_API_KEY") {
		t.Errorf("a missing key: %s", errs)
	}
	t.Setenv("OPENAI_BASE_URL", server.URL+"/v1")
	t.Setenv("OPENAI_API_KEY", theKey)
	if _, errs := try(t, 0, "run", suite, "-o", out); !strings.Contains(errs, "the price of openai/any-name is unknown") {
		t.Errorf("nothing is said of the price: %s", errs)
	}
	noKey(t, out, "")
}

// A resumed run uses the models that it began with, wherever they are now.
func TestResumeRefusesOtherModels(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("ACME_KEY", theKey)
	server := faultserver.New(fetcher(2), faultserver.Plan{})
	suite, file := fetching(t, dir, server.URL, 2, twoArms, "")
	out := filepath.Join(dir, "run")
	try(t, 0, "run", "-q", suite, "--models", file, "-o", out)
	server.Close()
	moved := faultserver.New(fetcher(2), faultserver.Plan{})
	defer moved.Close()
	if err := os.Remove(filepath.Join(out, results.JournalFile)); err != nil {
		t.Fatal(err)
	}
	sessions, err := filepath.Glob(filepath.Join(out, "sessions", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sessions {
		if err := os.Remove(s); err != nil {
			t.Fatal(err)
		}
	}
	edit := func(old, new string) string {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(b, []byte(old)) {
			t.Fatalf("no %q in the models file", old)
		}
		path := filepath.Join(dir, "other.yaml")
		if err := os.WriteFile(path, bytes.ReplaceAll(b, []byte(old), []byte(new)), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if _, errs := try(t, 2, "run", "--resume", out, "--models", edit("max_tokens: 300", "max_tokens: 200")); !strings.Contains(errs, "other.yaml: the models file says something else of acme/large than when the run began") {
		t.Errorf("changed params: %s", errs)
	}
	// The endpoint has moved: that is no other model.
	try(t, 0, "run", "-q", "--resume", out, "--models", edit(server.URL, moved.URL))
	if moved.Counts().Requests == 0 {
		t.Error("the endpoint that was named was not asked")
	}
	b, err := os.ReadFile(filepath.Join(out, machineFile))
	if err != nil || !bytes.Contains(b, []byte(moved.URL)) {
		t.Errorf("run.json does not say where the models are now: %v", err)
	}
}

// An endpoint that throws the key back in its errors does not get it into
// anything that a run leaves or says.
func TestKeysAreNowhere(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("ACME_KEY", theKey)
	inner := faultserver.New(fetcher(3), faultserver.Plan{})
	defer inner.Close()
	var n, sent atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		auth := r.Header.Get("Authorization")
		if auth == "Bearer "+theKey {
			sent.Add(1)
		}
		status := map[int64]int{0: 500, 1: 429, 2: 401, 3: 200}[n.Add(1)%7]
		if status == 200 { // a call and an answer that hold the key
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant","content":"my key is %s","tool_calls":[{"id":"1","type":"function","function":{"name":"write_file","arguments":"{\"path\":\"key.txt\",\"content\":\"%s\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":5,"completion_tokens":5}}`, theKey, theKey)
			return
		}
		if status == 0 || status == 401 && n.Load() < 12 {
			inner.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"message":"the header %s of key %s is not good","type":"x"}}`, auth, theKey)
	}))
	defer server.Close()
	suite, file := fetching(t, dir, server.URL, 3, twoArms+"repetitions: 8\nerrors: {allow: 1}\n", "")
	out := filepath.Join(dir, "run")
	stdout, stderr := try(t, 0, "run", suite, "--models", file, "-o", out)
	if sent.Load() < 20 {
		t.Fatalf("the key was sent %d times", sent.Load())
	}
	noKey(t, out, stdout+stderr)
	for _, args := range [][]string{{"report", out}, {"replay", out}, {"show", firstSession(t, out)}, {"report", "--json", out}} {
		var text bytes.Buffer
		run(context.Background(), &text, &text, args)
		noKey(t, out, text.String())
	}
	rows, _, err := parquet.Read[results.Trial](filepath.Join(out, "parquet", parquet.TrialsFile))
	if err != nil {
		t.Fatal(err)
	}
	errored := 0
	for i := range rows {
		if rows[i].ErrorText != nil {
			errored++
			noKey(t, "", *rows[i].ErrorText)
		}
	}
	if errored == 0 {
		t.Error("no trial errored: nothing could have leaked there")
	}
}

func firstSession(t *testing.T, dir string) string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "sessions", "*.session.jsonl"))
	if err != nil || len(list) == 0 {
		t.Fatalf("no session in %s", dir)
	}
	return list[0]
}

// noKey looks for the key, and for a part of it, in every file of a folder and in
// a text.
func noKey(t *testing.T, dir, text string) {
	t.Helper()
	part := theKey[8:30]
	if strings.Contains(text, part) {
		t.Errorf("the key is in what was printed")
	}
	if dir == "" {
		return
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(part)) {
			t.Errorf("the key is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A run on real models that is killed inside its trials is taken up there: what
// was answered is not asked again, and its sessions replay exactly.
func TestKilledRealRunResumes(t *testing.T) {
	dir := t.TempDir()
	bin := program(t, dir)
	var n atomic.Int64
	inner := faultserver.New(fetcher(12), faultserver.Plan{Rates: faultserver.Mixed(0.1), Seed: 3, RetryAfter: 5 * time.Millisecond})
	defer inner.Close()
	target, err := url.Parse(inner.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	var kill atomic.Pointer[os.Process]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c := n.Add(1); c == 40 || c == 90 {
			_ = kill.Load().Kill() // in the middle of four trials, each with a call on its way
		}
		proxy.ServeHTTP(w, r)
	}))
	defer server.Close()
	suite, file := fetching(t, dir, server.URL, 12, strings.Replace(twoArms, "{name: none, profile: none}", "{name: other, guards: {retry: {base: 2ms, cap: 5ms}}}", 1)+"repetitions: 4\nconcurrency: 4\ncoupling: independent\n", "")
	t.Setenv("ACME_KEY", theKey)
	out := filepath.Join(dir, "run")
	args, kills := []string{"run", "-q", suite, "--models", file, "-o", out}, 0
	for {
		cmd := exec.Command(bin, args...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill.Store(cmd.Process)
		err := cmd.Wait()
		if err == nil {
			break
		}
		if kills++; cmd.ProcessState.ExitCode() >= 0 || kills > 2 {
			t.Fatalf("%v\n%s", err, stderr.String())
		}
		args = []string{"run", "-q", "--resume", out}
	}
	c, err := results.ReadJournalFile(filepath.Join(out, results.JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for _, r := range c.Trials() {
		calls += r.ModelCalls
	}
	t.Logf("%d kills, %d requests, %d calls in the sessions", kills, n.Load(), calls)
	if kills != 2 || int(n.Load()) > calls+2*4 {
		t.Errorf("%d kills, %d requests for %d calls: more than what was on its way was asked again", kills, n.Load(), calls)
	}
	if text, _ := try(t, 0, "replay", "-q", out); !strings.Contains(text, "EXACT 8") {
		t.Errorf("replay: %s", text)
	}
	noKey(t, out, "")
}
