package builtin

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/scenarios"
)

var update = flag.Bool("update", false, "rewrite golden files")

// A changed digest is a changed scenario: results before and after are not
// comparable.
func TestDigests(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, s := range all {
		fmt.Fprintf(&b, "%s %s\n", s.Digest, s.ID)
	}
	const golden = "testdata/digests.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != b.String() {
		t.Errorf("digests changed (rewrite with -update):\n%s", b.String())
	}
}

func TestSet(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 24 {
		t.Errorf("%d scenarios", len(all))
	}
	stressed := map[string]int{}
	harms, controls := 0, 0
	for _, s := range all {
		if s.Oracle == nil || len(s.Acceptance) == 0 || s.Limits.ContextWindow == 0 && s.ID != "window-unknown" {
			t.Errorf("%s: oracle, acceptance or window is missing", s.ID)
		}
		if s.Tagged(scenarios.TagHarms) {
			harms++
		} else {
			for _, g := range s.Stresses {
				stressed[g]++
			}
		}
		controls += len(s.Controls)
		if got, err := Get("builtin/" + s.ID); err != nil || got != s {
			t.Errorf("Get(%s): %v", s.ID, err)
		}
	}
	if harms < 1 || controls < 9 {
		t.Errorf("%d harms, %d controls", harms, controls)
	}
	for _, g := range []string{"stuck", "spill", "acceptance", "retry", "truncated_empty", "tool_deadline", "empty_response", "unknown_tool"} {
		if stressed[g] == 0 {
			t.Errorf("nothing stresses %s", g)
		}
	}
	if _, err := Get("nothing"); err == nil || !strings.Contains(err.Error(), "there are: abab-loop, ") {
		t.Error(err)
	}
}

// The needle must lie beyond everything that a cut result shows.
func TestNeedle(t *testing.T) {
	s, err := Get("needle-log")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(s.Tools, func(t scenarios.Tool) bool { return t.Name == "export_orders" })
	text := s.Tools[i].Mock.Responses[0].Text
	at := strings.Index(text, "REFUNDED_TWICE")
	if n := strings.Count(text, "\n"); n != 1200 || at < 24<<10 || strings.Count(text, "REFUNDED_TWICE") != 1 {
		t.Errorf("%d lines, needle at byte %d", n, at)
	}
	if strings.Contains(text, "402913") {
		t.Error("the guess is in the log")
	}
	b, err := Get("big-answer")
	if err != nil {
		t.Fatal(err)
	}
	i = slices.IndexFunc(b.Tools, func(t scenarios.Tool) bool { return t.Name == "catalog_dump" })
	text = b.Tools[i].Mock.Responses[0].Text
	if len(text) < 195_000 || len(text)/4 < b.Limits.ContextWindow || strings.Index(text, "revision=3718") > 2000 {
		t.Errorf("%d bytes", len(text))
	}
}
