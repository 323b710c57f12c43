package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/results"
)

// TestArmJSON pins the members of arms[] that tools rely on, and their kinds.
func TestArmJSON(t *testing.T) {
	rows := []results.Trial{row("one", "a", 0, true), row("one", "a", 1, false), row("two", "a", 0, true), row("two", "a", 1, true)}
	got := armJSON(t, compute(t, Meta{RunID: "r", Suite: "s", Repetitions: 2}, rows), 0)
	want := `{"model":"m/x","arm":"a","scenarios":2,"trials":4,"graded":4,"errored":0,"passed":3,"rate":0.75,` +
		`"ci":[0,1],"ci_method":"Student t over scenarios","ci_naive":[0.300641842582402,0.9544127391902995],"se_clustered":0.25,"se_naive":0.21650635094610965,` +
		`"pass_hat":{"1":0.75,"2":0.5},"pass_at":{"1":0.75,"2":1},"tokens":60,"cost_usd":0.4,"cost_of_pass":0.13333333333333333,"cost_of_pass_ci":[0.025467642038226837,null],"cost_of_pass_state":"known","icc":0,"frontier":true,"frontier_share":1,"beaten_by":"",` +
		`"by_scenario":[{"scenario":"one","trials":2,"graded":2,"passed":1,"cost_usd":0.2},{"scenario":"two","trials":2,"graded":2,"passed":2,"cost_usd":0.2}]`
	if !strings.HasPrefix(got, want) {
		t.Errorf("arms[0] is\n%s\nwant it to begin with\n%s", got, want)
	}
}

func armJSON(t *testing.T, s *Summary, i int) string {
	t.Helper()
	var b, arm bytes.Buffer
	must(t, s.WriteJSON(&b))
	var top struct {
		Arms []json.RawMessage `json:"arms"`
	}
	must(t, json.Unmarshal(b.Bytes(), &top))
	must(t, json.Compact(&arm, top.Arms[i]))
	return arm.String()
}

// TestUnknownIsNull: a suite whose model has no price, or of which nobody knows
// the tokens and times, shows no 0 where it should say unknown.
func TestUnknownIsNull(t *testing.T) {
	var rows []results.Trial
	for rep := range 2 {
		for _, arm := range []string{"a", "b"} {
			r := fired(row("one", arm, rep, rep == 0), "g", results.Enforce, 1)
			r.InputUncached, r.CacheRead, r.CacheWrite, r.Output = nil, nil, nil, nil
			r.CostUSD, r.SpentUSD, r.ModelUS, r.ToolUS, r.WaitUS = nil, nil, nil, nil, nil
			rows = append(rows, r)
		}
	}
	s := compute(t, oneGuard, rows)
	for i := range s.Main.Arms {
		got := armJSON(t, s, i)
		for _, member := range []string{"tokens", "cost_usd", "cost_of_pass", "spent_usd", "cost_per_trial_usd", "input_uncached", "cache_read", "cache_write", "output", "total", "model_us", "tool_us", "wait_us", "model_share"} {
			if !strings.Contains(got, fmt.Sprintf("%q:null", member)) {
				t.Errorf("%s is not null in %s", member, got)
			}
		}
		if a := s.Main.Arms[i]; a.CostOfPassState != Unknown {
			t.Errorf("cost of a pass is %s", a.CostOfPassState)
		}
	}
	if d := s.Main.Guards[0].CostDiff; d.Value != nil || d.Lo != nil {
		t.Errorf("cost difference %+v", d)
	}
	if out := text(t, s, TextOptions{All: true}); strings.Contains(out, "$0") || strings.Count(out, "?") < 2*6 {
		t.Errorf("the text hides what is unknown:\n%s", out)
	}
	// One trial of many is enough: the sum is unknown too.
	rows = []results.Trial{row("one", "a", 0, true), row("one", "a", 1, true)}
	rows[1].CostUSD = nil
	if a := compute(t, Meta{RunID: "r"}, rows).Main.Arms[0]; a.CostUSD != nil || a.SpentUSD == nil {
		t.Errorf("as-if %v, spent %v; want unknown and known", a.CostUSD, a.SpentUSD)
	}
}

// TestProviderDown: nothing is graded, so nothing is known; it is no rate of 0
// and no infinite price.
func TestProviderDown(t *testing.T) {
	var rows []results.Trial
	for rep := range 3 {
		rows = append(rows, errored(row("one", "a", rep, false), results.ErrorProvider), errored(row("one", "b", rep, false), results.ErrorAuth))
	}
	s := compute(t, oneGuard, rows)
	a := s.Main.Arms[1]
	if a.Arm != "a" || a.Graded != 0 || a.Errored != 3 || a.Ungraded != 3 || a.Rate != nil || a.CI != nil || a.CostOfPass != nil || a.CostOfPassState != Nothing || a.Errors[results.ErrorProvider] != 3 {
		t.Errorf("%+v", a)
	}
	out := text(t, s, TextOptions{})
	for _, want := range []string{"6 trials, 6 errored", "provider: 3 trials", "auth: 3 trials", "0/0"} {
		if !strings.Contains(out, want) {
			t.Errorf("text lacks %q:\n%s", want, out)
		}
	}
}

// TestCut: what was cut is counted where it is missing, also for a model of
// which nothing was run, and is never taken for a result.
func TestCut(t *testing.T) {
	meta := oneGuard
	meta.Models = []string{"m/x", "m/y"}
	const why = "cost budget of 5 USD"
	meta.Cut = []CutBlock{
		{Scenario: "two", Model: "m/x", Repetition: 1, Trials: 2, Reason: why}, {Scenario: "three", Model: "m/x", Repetition: 0, Trials: 2, Reason: why},
		{Scenario: "one", Model: "m/y", Repetition: 0, Trials: 2, Reason: why}, {Scenario: "harm", Harms: true, Model: "m/x", Trials: 2, Reason: why},
	}
	rows := []results.Trial{row("one", "a", 0, true), row("one", "b", 0, true), row("two", "a", 0, true), row("two", "b", 0, false)}
	s := compute(t, meta, rows)
	if s.CutTrials != 8 || len(s.Cut) != 2 || s.Cut[0] != (CutCount{"m/x", why, 3, 3, 6}) || s.Cut[1] != (CutCount{"m/y", why, 1, 1, 2}) {
		t.Errorf("%d trials cut: %+v", s.CutTrials, s.Cut)
	}
	if len(s.Main.Arms) != 4 {
		t.Fatalf("%d arms, want two of each model", len(s.Main.Arms))
	}
	x, y := s.Main.Arms[0], s.Main.Arms[2]
	if x.Cut != 2 || x.Trials != 2 || x.Errored != 0 || *x.Rate != 0.5 {
		t.Errorf("m/x: %+v", x)
	}
	if y.Model != "m/y" || y.Cut != 1 || y.Trials != 0 || y.Rate != nil || y.CostUSD != nil || y.Tokens != nil || y.SpentUSD != nil || y.CostOfPassState != Nothing {
		t.Errorf("m/y, of which nothing was run: %+v", y)
	}
	if s.Harms == nil || s.Harms.Arms[0].Cut != 1 || s.Harms.Arms[0].CostUSD != nil {
		t.Errorf("harms: %+v", s.Harms)
	}
	out := strings.Join(strings.Fields(text(t, s, TextOptions{})), " ")
	for _, want := range []string{"4 trials, 8 cut", "m/x: 3 blocks (6 trials) of 3 scenarios: " + why, "2 trials cut before they ran"} {
		if !strings.Contains(out, want) {
			t.Errorf("text lacks %q:\n%s", want, out)
		}
	}
	meta.Cut = append(meta.Cut[1:], meta.Cut[0])
	if again := compute(t, meta, rows); again.Cut[0] != s.Cut[0] || *again.Main.Arms[0].Rate != *x.Rate {
		t.Error("the order of cut blocks matters")
	}
}

// TestMarkdownFitsAComment: however many arms, what was found comes first, every
// fold is closed, and the page says that it was cut.
func TestMarkdownFitsAComment(t *testing.T) {
	var small, big bytes.Buffer
	must(t, compute(t, fixtureMeta(), fixture()).WriteMarkdown(&small))
	if strings.Contains(small.String(), "was cut to fit") {
		t.Errorf("the starter suite does not fit: %d bytes", small.Len())
	}
	meta, rows := fixtureMeta(), fixture()
	for i := range 180 {
		name := fmt.Sprintf("another-arm-%03d", i)
		meta.Arms = append(meta.Arms, name)
		for _, r := range fixture()[:12] {
			r.Arm = name
			rows = append(rows, r)
		}
	}
	s := compute(t, meta, rows)
	must(t, s.WriteMarkdown(&big))
	page := big.String()
	if len(page) > MaxMarkdown || !strings.Contains(page, "was cut to fit") {
		t.Errorf("page of %d bytes; want at most %d, and that it says so", len(page), MaxMarkdown)
	}
	for name, p := range map[string]string{"small": small.String(), "big": page} {
		if open, closed := strings.Count(p, "<details>"), strings.Count(p, "</details>"); open != closed || open == 0 {
			t.Errorf("%s: %d folds are opened, %d closed", name, open, closed)
		}
		if whole, fold := strings.Index(p, "## The harness as a whole"), strings.Index(p, "<details>"); whole < 0 || whole > fold {
			t.Errorf("%s: what was found does not come first", name)
		}
	}
}
