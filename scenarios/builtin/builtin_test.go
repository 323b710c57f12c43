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
	if len(all) < 60 {
		t.Errorf("%d scenarios", len(all))
	}
	type counts struct{ stresses, controls, hurts int }
	have := map[string]counts{}
	harms := 0
	for _, s := range all {
		if s.Oracle == nil || len(s.Acceptance) == 0 || s.Limits.ContextWindow == 0 && s.ID != "window-unknown" {
			t.Errorf("%s: oracle, acceptance or window is missing", s.ID)
		}
		if s.Tagged(scenarios.TagHarms) {
			harms++
		}
		if s.Tagged("control") != (len(s.Controls) > 0) {
			t.Errorf("%s: the tag control stands without the key controls, or the key without the tag", s.ID)
		}
		add := func(g string, by counts) {
			c := have[g]
			have[g] = counts{c.stresses + by.stresses, c.controls + by.controls, c.hurts + by.hurts}
		}
		for _, g := range s.Stresses {
			if !s.Tagged(scenarios.TagHarms) {
				add(g, counts{stresses: 1})
			}
		}
		for _, g := range s.Controls {
			add(g, counts{controls: 1})
		}
		for i := range s.Hurts {
			add(s.Hurts[i].Guard, counts{hurts: 1})
		}
		if got, err := Get("builtin/" + s.ID); err != nil || got != s {
			t.Errorf("Get(%s): %v", s.ID, err)
		}
	}
	if harms < 2 {
		t.Errorf("%d scenarios are tagged harms", harms)
	}
	for g, least := range map[string]counts{
		"stuck": {6, 2, 2}, "acceptance": {6, 1, 1}, "truncated_empty": {6, 1, 1}, "empty_response": {3, 1, 1}, "unknown_tool": {3, 1, 1},
		"spill": {6, 1, 1}, "retry": {6, 1, 1}, "tool_deadline": {6, 1, 1}, "result_ceiling": {2, 1, 1}, "run_deadline": {1, 1, 1}, "limits": {1, 1, 1},
	} {
		if c := have[g]; c.stresses < least.stresses || c.controls < least.controls || c.hurts < least.hurts {
			t.Errorf("%s: %+v, want at least %+v", g, c, least)
		}
	}
	if _, err := Get("nothing"); err == nil || !strings.Contains(err.Error(), "such as abab-loop") {
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

// A wrong id is answered with a few names that it may mean, not with all of them.
func TestUnknown(t *testing.T) {
	for id, want := range map[string]string{
		"retry-trp":      `no embedded scenario "retry-trp"; there are retry-trap`,
		"builtin/a-poll": `no embedded scenario "a-poll"; there are patient-poll`,
	} {
		if _, err := Get(id); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := Get("x"); err == nil || len(err.Error()) > 100 {
		t.Error(err)
	}
}
