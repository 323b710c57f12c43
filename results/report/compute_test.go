package report

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/results/stats"
)

// row is a real model's trial that passed or failed.
func row(scenario, arm string, rep int, pass bool) results.Trial {
	t := results.Trial{
		RunID: "r", Suite: "s", Scenario: scenario, ScenarioDigest: "00", Model: "m/x", Arm: arm, Repetition: rep,
		Outcome: "completed", Verdict: results.Fail, Session: "f", SessionDigest: "00",
		InputUncached: ptr(int64(10)), CacheRead: ptr(int64(0)), CacheWrite: ptr(int64(0)), Output: ptr(int64(5)), CostUSD: ptr(0.1), SpentUSD: ptr(0.1),
	}
	if pass {
		t.Verdict = results.Pass
	}
	return t
}

// fired adds a firing (or the silence) of a guard.
func fired(t results.Trial, guard, mode string, n int) results.Trial {
	c := results.GuardCount{Guard: guard, Mode: mode, Fired: n}
	if n > 0 {
		c.FirstTurn = ptr(2)
	}
	t.Guards = append(t.Guards, c)
	return t
}

func errored(t results.Trial, class string) results.Trial {
	t.Errored, t.ErrorClass, t.ErrorText, t.Verdict, t.Score = true, ptr(class), ptr("no luck"), results.Ungraded, nil
	return t
}

var oneGuard = Meta{RunID: "r", Suite: "s", Repetitions: 2, Arms: []string{"b", "a"}, Comparisons: []Comparison{{Guard: "g", Base: "a", Arm: "b"}}}

// TestExposure: a trial is exposed by its own first firing, in either mode.
func TestExposure(t *testing.T) {
	rows := []results.Trial{
		// Fired in both: a fails, b passes.
		fired(row("one", "a", 0, false), "g", results.Shadow, 1), fired(row("one", "b", 0, true), "g", results.Enforce, 2),
		// Fired in a alone; its partner passes without being exposed.
		fired(row("one", "a", 1, false), "g", results.Shadow, 3), fired(row("one", "b", 1, true), "g", results.Enforce, 0),
		// Never fired; here b loses.
		fired(row("two", "a", 0, true), "g", results.Shadow, 0), fired(row("two", "b", 0, false), "g", results.Enforce, 0),
		fired(row("two", "a", 1, true), "g", results.Shadow, 0), fired(row("two", "b", 1, true), "g", results.Enforce, 0),
	}
	x := compute(t, oneGuard, rows).Main.Guards[0]
	if f := x.Fired; f.ExposedA != 2 || f.ExposedB != 1 || f.Paired != 1 || f.Scenarios != 1 || *f.Estimate.Value != 1 {
		t.Errorf("where it fired: %+v, value %v; want 2 exposed in a, 1 in b, +1", *f, *f.Estimate.Value)
	}
	// Scenario one +1, scenario two -0.5.
	if *x.OverAll.Value != 0.25 || x.Paired != 4 || !x.Measured {
		t.Errorf("over all %v of %d pairs, measured %v; want 0.25 of 4", *x.OverAll.Value, x.Paired, x.Measured)
	}
	if x.A.Shadow != 2 || x.A.Enforced != 0 || x.A.Firings != 4 || x.B.Enforced != 1 || x.B.Firings != 2 {
		t.Errorf("fired counts: a %+v, b %+v", x.A, x.B)
	}
}

func TestNotMeasured(t *testing.T) {
	rows := []results.Trial{
		fired(row("one", "a", 0, true), "g", results.Shadow, 0), fired(row("one", "b", 0, true), "g", results.Enforce, 0),
	}
	s := compute(t, oneGuard, rows)
	if x := s.Main.Guards[0]; x.Measured || x.Fired.Estimate.Value != nil {
		t.Errorf("%+v", x)
	}
	if out := text(t, s, TextOptions{}); !strings.Contains(out, "not measured") {
		t.Errorf("the text does not say so:\n%s", out)
	}
	// Fired in one arm only: something is known, but no comparison.
	rows[1].Guards[0].Fired, rows[1].Guards[0].FirstTurn = 1, ptr(1)
	s = compute(t, oneGuard, rows)
	if x := s.Main.Guards[0]; !x.Measured || x.Fired.Estimate.Value != nil || !slices.Contains(x.Notes, NoteOneArm) {
		t.Errorf("%+v", x)
	}
	if out := text(t, s, TextOptions{}); !strings.Contains(out, "one arm only") {
		t.Errorf("the text does not say so:\n%s", out)
	}
}

func TestGuardNotWatched(t *testing.T) {
	rows := []results.Trial{row("one", "a", 0, false), fired(row("one", "b", 0, true), "g", results.Enforce, 1)}
	if x := compute(t, oneGuard, rows).Main.Guards[0]; !slices.Contains(x.Notes, NoteNoShadow) {
		t.Errorf("notes %q lack %q", x.Notes, NoteNoShadow)
	}
}

// TestErrored: not in the denominator, in the cost, and bounds both ways.
func TestErrored(t *testing.T) {
	rows := []results.Trial{
		row("one", "a", 0, true), row("one", "b", 0, true),
		row("one", "a", 1, true), errored(row("one", "b", 1, false), results.ErrorProvider),
		row("two", "a", 0, false), row("two", "b", 0, true),
		row("two", "a", 1, false), row("two", "b", 1, true),
	}
	s := compute(t, oneGuard, rows)
	b := s.Main.Arms[0]
	if b.Arm != "b" || b.Trials != 4 || b.Graded != 3 || b.Errored != 1 || b.Passed != 3 || *b.Rate != 1 || *b.RateMin != 0.75 || *b.RateMax != 1 {
		t.Errorf("%+v, rate %v in %v..%v", b, *b.Rate, *b.RateMin, *b.RateMax)
	}
	if *b.CostUSD != 0.4 || math.Abs(*b.CostOfPass-0.4/3) > 1e-9 {
		t.Errorf("cost %v, per pass %v; errored spend counts", *b.CostUSD, *b.CostOfPass)
	}
	x := s.Main.Guards[0]
	if x.Paired != 3 || *x.OverAll.Value != 0.5 || *x.DiffMin != 0.25 || *x.DiffMax != 0.5 {
		t.Errorf("%d pairs, over all %v in %v..%v", x.Paired, *x.OverAll.Value, *x.DiffMin, *x.DiffMax)
	}
	if !slices.Contains(x.OverAll.Warnings, string(stats.UnequalArms)) {
		t.Errorf("warnings %q", x.OverAll.Warnings)
	}
	if want := []ErrorCount{{results.ErrorProvider, 1, "no luck"}}; !slices.Equal(s.Errors, want) || s.Errored != 1 || s.Graded != 7 {
		t.Errorf("errors %v, %d errored, %d graded", s.Errors, s.Errored, s.Graded)
	}
	out := text(t, s, TextOptions{})
	for _, want := range []string{"8 trials, 1 errored", "provider: 1 trial, for example: no luck", "the pass rate is between 0.75 and 1.00", "between +0.25 and +0.50"} {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("text lacks %q:\n%s", want, out)
		}
	}
}

// TestHarmsAreNotPooled: what happens in harms scenarios moves no number of
// the others.
func TestHarmsAreNotPooled(t *testing.T) {
	var plain, harms []results.Trial
	for rep := range 2 {
		plain = append(plain, row("one", "a", rep, true), row("one", "b", rep, rep == 0))
		h1, h2 := row("harm", "a", rep, true), row("harm", "b", rep, false)
		h1.Harms, h2.Harms = true, true
		harms = append(harms, h1, h2)
	}
	alone := compute(t, oneGuard, plain)
	both := compute(t, oneGuard, append(plain, harms...))
	if d := cmp.Diff(alone.Main, both.Main); d != "" {
		t.Errorf("harms scenarios moved the main section:\n%s", d)
	}
	if alone.Harms != nil || both.Harms == nil || *both.Harms.Guards[0].OverAll.Value != -1 {
		t.Errorf("harms section: %+v", both.Harms)
	}
}

func TestMoney(t *testing.T) {
	free := row("one", "a", 0, false)
	free.CostUSD = nil
	rows := []results.Trial{free, row("one", "b", 0, false)}
	s := compute(t, Meta{RunID: "r", Suite: "s"}, rows)
	a, b := s.Main.Arms[0], s.Main.Arms[1]
	if a.CostUSD != nil || a.CostOfPass != nil || a.CostOfPassState != Unknown {
		t.Errorf("unknown price: cost %v, of a pass %v %s", a.CostUSD, a.CostOfPass, a.CostOfPassState)
	}
	if b.CostOfPass != nil || b.CostOfPassState != Infinite {
		t.Errorf("nothing passed: %v %s", b.CostOfPass, b.CostOfPassState)
	}
	if s.Repetitions != 1 {
		t.Errorf("repetitions %d, want 1 from the rows", s.Repetitions)
	}
}

func TestPromptCacheIsSaid(t *testing.T) {
	rows := []results.Trial{row("one", "a", 0, true), row("one", "b", 0, true)}
	rows[1].CacheRead = ptr(int64(100))
	s := compute(t, oneGuard, rows)
	if !slices.Contains(s.Main.Guards[0].Notes, NoteCache) || !strings.Contains(text(t, s, TextOptions{}), "confounded by prompt caching") {
		t.Error("prompt caching is not said beside the cost")
	}
}

func TestRefuses(t *testing.T) {
	good := []results.Trial{row("one", "a", 0, true), row("one", "b", 0, true)}
	change := func(f func(*results.Trial)) []results.Trial {
		rows := slices.Clone(good)
		f(&rows[1])
		return rows
	}
	for _, c := range []struct {
		want     string
		meta     Meta
		rows     []results.Trial
		verdicts []results.Verdict
	}{
		{"appears twice", oneGuard, append(slices.Clone(good), good[0]), nil},
		{"verdict is", oneGuard, change(func(t *results.Trial) { t.Verdict = "" }), nil},
		{"simulated in some rows", oneGuard, change(func(t *results.Trial) { t.Simulated = true }), nil},
		{"tagged harms in some rows", oneGuard, change(func(t *results.Trial) { t.Harms = true }), nil},
		{"belongs to no trial", oneGuard, good, []results.Verdict{{Grader: "g", Scenario: "zzz"}}},
		{`names the arm "c"; the arms are b, a`, Meta{Arms: []string{"b", "a"}, Comparisons: []Comparison{{Base: "a", Arm: "c"}}}, good, nil},
	} {
		if _, err := Compute(c.meta, c.rows, c.verdicts); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

func TestNothingWasRun(t *testing.T) {
	s := compute(t, oneGuard, nil)
	if out := text(t, s, TextOptions{All: true}); !strings.Contains(out, "(nothing was run)") {
		t.Error(out)
	}
	var b bytes.Buffer
	must(t, s.WriteMarkdown(&b))
	must(t, s.WriteJSON(&b))
	if strings.Contains(b.String(), "null,\n      \"arms\"") {
		t.Error("lists must be empty, not null")
	}
}

// TestHostileNames: no control sequence reaches the terminal, no markup the
// page, and no table loses its columns.
func TestHostileNames(t *testing.T) {
	evil := "\x1b[31mred\x07\u202e<script>alert(1)</script>|pipe|`code`\n# head"
	rows := []results.Trial{row("one", evil, 0, true), errored(row("two", evil, 0, true), results.ErrorGrader)}
	for i := range rows {
		rows[i].Model, rows[i].Outcome = evil, evil
	}
	rows[1].ErrorText = &evil
	s := compute(t, Meta{RunID: evil, Suite: evil, Notes: []string{evil}, Comparisons: []Comparison{{Guard: evil, Base: evil, Arm: evil}}}, rows)
	out := text(t, s, TextOptions{All: true})
	var md bytes.Buffer
	must(t, s.WriteMarkdown(&md))
	for name, page := range map[string]string{"text": out, "markdown": md.String()} {
		if strings.ContainsAny(page, "\x1b\x07\u202e") {
			t.Errorf("%s: control characters:\n%q", name, page)
		}
	}
	if strings.Contains(md.String(), "<script") || strings.Contains(md.String(), "\n# head") {
		t.Errorf("markdown: markup from a name:\n%s", md.String())
	}
	pipes := -1
	for _, line := range strings.Split(md.String(), "\n") {
		if !strings.HasPrefix(line, "|") {
			pipes = -1
			continue
		}
		n := strings.Count(line, "|") - strings.Count(line, `\|`)
		if pipes >= 0 && n != pipes {
			t.Errorf("markdown: a row of %d columns under a head of %d: %s", n-1, pipes-1, line)
		}
		pipes = n
	}
}

func TestColor(t *testing.T) {
	s := compute(t, fixtureMeta(), fixture())
	plain, colour := text(t, s, TextOptions{}), text(t, s, TextOptions{Color: true})
	if strings.Contains(plain, "\x1b") {
		t.Error("colour without being asked")
	}
	if !strings.Contains(colour, "\x1b[32m+1.00 [") || !strings.Contains(colour, "\x1b[31m-1.00 [") {
		t.Error("effects are not coloured")
	}
	for _, code := range []string{"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m"} {
		colour = strings.ReplaceAll(colour, code, "")
	}
	if colour != plain {
		t.Error("colour changes the layout")
	}
}

func TestReadJSON(t *testing.T) {
	s := compute(t, fixtureMeta(), fixture())
	var b bytes.Buffer
	must(t, s.WriteJSON(&b))
	again, err := ReadJSON(bytes.NewReader(b.Bytes()), "report.json")
	must(t, err)
	var c bytes.Buffer
	must(t, again.WriteJSON(&c))
	if !bytes.Equal(b.Bytes(), c.Bytes()) {
		t.Error("a report read and written again differs")
	}
	if text(t, again, TextOptions{All: true}) != text(t, s, TextOptions{All: true}) {
		t.Error("a report read again prints otherwise")
	}
	for data, want := range map[string]string{
		"":                        "not a report",
		"[]":                      "not a report",
		`{"schema":"x"}`:          `schema is "x"`,
		`{"schema":1}`:            "not a report",
		`{"schema":"a","schema":`: "not a report",
	} {
		if _, err := ReadJSON(strings.NewReader(data), "f.json"); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "f.json") {
			t.Errorf("%q: error %v, want %q", data, err, want)
		}
	}
}

// FuzzReadJSON: whatever is read can be printed.
func FuzzReadJSON(f *testing.F) {
	f.Add([]byte(`{"schema":"harnessbench/report/v1","main":{"guards":[{"guard":"g"}],"arms":[{}]}}`))
	f.Add([]byte(`{"schema":"harnessbench/report/v1","harms":{"guards":[{"over_all":{"lo":1}}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ReadJSON(bytes.NewReader(data), "f")
		if err != nil {
			return
		}
		_ = text(t, s, TextOptions{All: true, Color: true})
		var b bytes.Buffer
		must(t, s.WriteMarkdown(&b))
	})
}

func TestFormats(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{usd(ptr(0.00194), "?"), "0.00194"}, {usd(ptr(0.0), "?"), "0"}, {usd(ptr(12.345), "?"), "12.3"}, {usd(ptr(1234.5), "?"), "1234"}, {usd(nil, "?"), "?"}, {usd(ptr(1e-15), "?"), "0.000000000"},
		{perTrial(ptr(int64(44000)), 10), "4.40k"}, {perTrial(ptr(int64(999)), 1), "999"}, {perTrial(ptr(int64(4_560_000)), 1), "4.56M"}, {perTrial(nil, 1), "?"},
		{thousands(1234567), "1,234,567"}, {thousands(-1234), "-1,234"}, {thousands(999), "999"},
		{letter(0), "a"}, {letter(25), "z"}, {letter(26), "aa"}, {letter(27), "ab"},
		{plural(1, "arm"), "1 arm"}, {plural(1560, "trial"), "1,560 trials"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
