//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/modeltest/faultserver"
)

// A broken-off session on a real model is gone on with where it ends: only what is
// missing is asked, with the models file that the run kept, and the key is left
// nowhere. Without the key nothing is asked or written.
func TestRecordMissingRealModel(t *testing.T) {
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
	path := filepath.Join(out, "sessions", "pages.acme_large.default.0.session.jsonl")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := whole[:bytes.LastIndex(whole, []byte(`{"seq":`))]
	for range 3 { // the last answer, its state and the footer
		cut = cut[:bytes.LastIndex(cut, []byte(`{"seq":`))]
	}
	if err := os.WriteFile(path, cut, 0o644); err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(out, "sessions", "pages.acme_large.default.0.new.session.jsonl")

	t.Setenv("ACME_KEY", "")
	before := asked
	_, errs := try(t, 3, "replay", "-q", "--record-missing", path)
	if _, err := os.Stat(again); !strings.Contains(errs, "ACME_KEY") || err == nil || asked != before {
		t.Errorf("without a key: %s %v, %d asked", errs, err, asked-before)
	}
	t.Setenv("ACME_KEY", theKey)
	got, errs := try(t, 1, "replay", "-q", "--record-missing", path)
	if !strings.Contains(got, "recorded "+again) || asked != before+1 {
		t.Errorf("%s%s: %d asked, want 1", got, errs, asked-before)
	}
	try(t, 0, "replay", "-q", again)
	if _, errs = try(t, 2, "replay", "-q", "--models", file, path); !strings.Contains(errs, "add --record-missing") {
		t.Error(errs)
	}
	noKey(t, dir, got+errs)
}
