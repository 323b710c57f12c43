//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/modeltest/faultserver"
)

// A session on a real model is forked offline without endpoint, key and models
// file; live it asks only for what its parent does not know, with the models file
// that its run kept, and leaves the key nowhere.
func TestForkRealModel(t *testing.T) {
	dir := t.TempDir()
	asked := 0
	answer := fetcher(3)
	server := faultserver.New(func(a *faultserver.Ask) (r *model.Response, err error) { asked++; return answer(a) }, faultserver.Plan{})
	defer server.Close()
	t.Setenv("CI", "")
	t.Setenv("ACME_KEY", theKey)
	suite, file := fetching(t, dir, server.URL, 3, "arms:\n- {name: default, profile: default}\n", "")
	out := filepath.Join(dir, "run")
	try(t, 0, "run", "-q", suite, "--models", file, "-o", out)
	parent := filepath.Join(out, "sessions", "pages.acme_large.default.0.session.jsonl")
	whole := asked
	fork := func(want int, name string, args ...string) (string, string) {
		return try(t, want, append([]string{"fork", parent, "--json", "-o", filepath.Join(dir, name+".session.jsonl")}, args...)...)
	}
	has := func(text string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("no %q in\n%s", w, text)
			}
		}
	}

	change := []string{"--set", "guard.result_ceiling.bytes=256", "--set", "params.max_tokens=200"}
	got, _ := fork(0, "live", append(change, "--live")...)
	has(got, `"shared_prefix_turns": 0`, `"calls_live": 5`, `"reason": "completed"`)
	if asked != whole+5 {
		t.Errorf("%d calls, want 5", asked-whole)
	}
	got, _ = fork(0, "short", "--live", "--set", "limits.turns=2", "--set", "guard.final_synthesis.mode=off")
	has(got, `"shared_prefix_turns": 2`, `"calls_live": 0`, `"reason": "turn_limit"`)
	got, _ = fork(0, "same", "--live")
	has(got, `"calls_live": 0`, `"verdict": "EXACT"`)
	if asked != whole+5 {
		t.Errorf("a fork that changes nothing asked %d times", asked-whole-5)
	}
	_, errs := try(t, 2, "fork", parent, "--live", "--set", "limits.turns=2", "-o", filepath.Join(dir, "ci.session.jsonl"), "--models", filepath.Join(dir, "nope.yaml"))
	has(errs, "nope.yaml")
	t.Setenv("CI", "true")
	_, errs = fork(2, "ci", "--live")
	has(errs, "CI is set", "--offline")
	t.Setenv("ACME_KEY", "")
	got, _ = fork(0, "offline", append(change, "--offline")...)
	has(got, `"shared_prefix_turns": 0`, `"calls_live": 0`, `"reason": "cancelled"`)
	t.Setenv("CI", "")
	_, errs = fork(3, "keyless", "--live")
	has(errs, "ACME_KEY")
	try(t, 0, "replay", filepath.Join(dir, "live.session.jsonl"), filepath.Join(dir, "short.session.jsonl"), filepath.Join(dir, "offline.session.jsonl"))
	noKey(t, dir, got+errs)
}
