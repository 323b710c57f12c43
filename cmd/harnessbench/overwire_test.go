//go:build unix

package main

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/recorder/wire"
	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/results/parquet"
)

// simulated is the handler of serve --model sim/weak.
func simulated(t *testing.T) http.Handler {
	t.Helper()
	known, err := newCatalogue(nil)
	if err != nil {
		t.Fatal(err)
	}
	return wire.NewSim(wire.SimOptions{Profile: "sim/weak", Find: known.find, New: known.model})
}

// impatient lets an account wait a hundredth of a second where its provider asks
// for more: how long a client waits is no part of what is compared.
func impatient(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(hurried{w}, r) })
}

type hurried struct{ http.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (h hurried) WriteHeader(status int) {
	if status == http.StatusTooManyRequests {
		h.Header().Del("Retry-After")
		h.Header().Set("Retry-After-Ms", "10")
	}
	h.ResponseWriter.WriteHeader(status)
}

// Unwrap lets the handler flush.
func (h hurried) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// sameFacts is what a trial must have in common with itself over the wire. Times
// are not among it: over the wire they are real. The result of a call that the
// deadline cut says its time, and goes into the last request: what that takes is
// not among it either.
func sameFacts(r *results.Trial) string {
	n := func(v *int64) string {
		if v == nil {
			return "?"
		}
		return fmt.Sprint(*v)
	}
	if r.Outcome == "deadline" {
		r.InputUncached, r.CacheRead = nil, nil
	}
	return fmt.Sprintf("%s, %s (backstop %v, errored %v), %d turns, %d model calls, %d tool calls, usage %s %s %s %s %s",
		r.Verdict, r.Outcome, r.Backstop, r.Errored, r.Turns, r.ModelCalls, r.ToolCalls,
		n(r.InputUncached), n(r.CacheRead), n(r.CacheWrite), n(r.Output), n(r.Reasoning))
}

// factsOf reads the trials of a run; models lose what prefix is.
func factsOf(t *testing.T, dir, prefix string) map[string]string {
	t.Helper()
	rows, _, err := parquet.Read[results.Trial](filepath.Join(dir, "parquet", parquet.TrialsFile))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for i := range rows {
		r := &rows[i]
		out[fmt.Sprintf("%s %s %s %d", r.Scenario, strings.TrimPrefix(r.Model, prefix), r.Arm, r.Repetition)] = sameFacts(r)
	}
	return out
}

// The starter suite through the adapter, pointed at simulated models behind the
// endpoint, gives the verdicts, the ends and the usage that it gives in process,
// streamed and not.
func TestStarterOverTheWire(t *testing.T) {
	server := httptest.NewServer(impatient(simulated(t)))
	defer server.Close()
	t.Setenv("OPENAI_API_KEY", theKey)
	for _, tt := range []struct {
		coupling string
		stream   bool
	}{{"shared-prefix", false}, {"shared-prefix", true}, {"independent", true}} {
		t.Run(fmt.Sprintf("%s, stream %v", tt.coupling, tt.stream), func(t *testing.T) {
			dir := t.TempDir()
			local, out := filepath.Join(dir, "local"), filepath.Join(dir, "run")
			flags := []string{"--repetitions", "1", "--coupling", tt.coupling, "--fsync", "never", "-o"}
			try(t, 0, append([]string{"run", "-q", "builtin/starter"}, append(flags, local)...)...)
			want := factsOf(t, local, "")
			suite, file := starterOverWire(t, dir, server.URL, tt.stream)
			_, errs := try(t, 0, append([]string{"run", suite, "--models", file, "-j", "64"}, append(flags, out)...)...)
			got := factsOf(t, out, "openai/")
			for _, k := range slices.Sorted(maps.Keys(want)) {
				if got[k] != want[k] {
					t.Errorf("%s\n  in process    %s\n  over the wire %s", k, want[k], got[k])
				}
			}
			if len(got) != len(want) || len(want) != 336 {
				t.Errorf("%d trials over the wire, %d in process", len(got), len(want))
			}
			if text, _ := try(t, 0, "replay", "-q", out); !strings.Contains(text, fmt.Sprintf("EXACT %d", len(want))) {
				t.Errorf("replay: %s", text)
			}
			noKey(t, out, errs)
		})
	}
}

// starterOverWire writes the starter suite on openai/sim/..., and its models file.
func starterOverWire(t *testing.T, dir, url string, stream bool) (suite, file string) {
	t.Helper()
	starter, err := os.ReadFile("../../ablations/design/suites/starter.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(starter), "models: [sim/weak, sim/strong]", "models: [openai/sim/weak, openai/sim/strong]", 1)
	models := "schema: harnessbench/models/v1\nproviders:\n- {id: openai, base_url: \"" + url + "/v1\", key_env: OPENAI_API_KEY, limits: {concurrency: 64}}\nmodels:\n"
	for _, m := range []string{"sim/weak", "sim/strong"} {
		models += fmt.Sprintf("- {id: openai/%s, trace: true, stream: %v}\n", m, stream)
	}
	suite, file = filepath.Join(dir, "starter.yaml"), filepath.Join(dir, "models.yaml")
	for path, content := range map[string]string{suite: text, file: models} {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return suite, file
}
