package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/results"
)

// TestImportReal imports the published trajectories of tau-bench, reports them,
// and shows and verifies each session.
func TestImportReal(t *testing.T) {
	src := filepath.Join("..", "..", "..", "shared", "data", "tau-bench", "gpt-4o-airline.json")
	if _, err := os.Stat(src); err != nil {
		t.Skipf("the published trajectories are not beside the checkout: %v", err)
	}
	dir := filepath.Join(t.TempDir(), "tau")
	exec := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if code := run(context.Background(), &out, &errs, args); code != 0 {
			t.Fatalf("%v: exit %d: %s", args, code, errs.String())
		}
		return out.String()
	}
	got := exec("import", "-q", "tau-bench", src, "-o", dir)
	for name, want := range map[string]string{"sessions": "200", "tool calls": "1,164", "passes": "84", "error results": "73", "ended turn_limit": "5"} {
		found := false
		for _, line := range strings.Split(got, "\n") {
			rest, ok := strings.CutPrefix(strings.TrimSpace(line), name)
			found = found || ok && len(strings.Fields(rest)) > 0 && strings.Fields(rest)[0] == want
		}
		if !found {
			t.Errorf("the summary has no %s %s:\n%s", name, want, got)
		}
	}
	if report := exec("report", dir); !strings.Contains(report, "84/200") || !strings.Contains(report, "0.42") {
		t.Errorf("report:\n%s", report)
	}
	c, err := results.ReadJournalFile(filepath.Join(dir, results.JournalFile))
	if err != nil || len(c.Entries) != 200 {
		t.Fatal(len(c.Entries), err)
	}
	for i := range c.Entries {
		tr := &c.Entries[i].Trial
		shown := exec("show", filepath.Join(dir, "sessions", tr.Session))
		if !strings.Contains(shown, "\nverdict   "+tr.Verdict+"\n") || !strings.Contains(shown, "\ntokens    unknown\n") {
			t.Errorf("%v is shown without its verdict or with tokens:\n%s", tr.Key(), shown[max(0, len(shown)-500):])
		}
	}
}
