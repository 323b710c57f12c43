package results

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func ptr[T any](v T) *T { return &v }

func trial(scenario, arm string, rep int) Trial {
	return Trial{
		RunID: "r", Suite: "s", Scenario: scenario, ScenarioDigest: "00", Tags: []string{}, Model: "sim/weak", Simulated: true, Arm: arm, Repetition: rep,
		Outcome: "completed", Verdict: Pass, Score: ptr(1.0), Turns: 3, ModelCalls: 3, ToolCalls: 2, Session: "x", SessionDigest: "00",
		Guards: []GuardCount{{Guard: "stuck", Mode: Enforce}},
	}
}

func verdict(t Trial, index int) Verdict {
	return Verdict{RunID: t.RunID, Scenario: t.Scenario, Model: t.Model, Arm: t.Arm, Repetition: t.Repetition, Index: index, Grader: "g", Type: "equals", Version: 1, Primary: true, Verdict: Pass, Score: ptr(1.0), Reason: "equal"}
}

func entry(scenario, arm string, rep int) Entry {
	t := trial(scenario, arm, rep)
	return Entry{Trial: t, Verdicts: []Verdict{verdict(t, 1), verdict(t, 0)}, Events: []GuardEvent{
		{RunID: t.RunID, Scenario: scenario, Model: t.Model, Arm: arm, Repetition: rep, Lane: "main", Turn: 3, Guard: "stuck", Version: 1, Mode: Enforce, Act: "nudge"},
	}}
}

func TestCanonicalOrder(t *testing.T) {
	want := []Trial{trial("a", "x", 0), trial("a", "x", 1), trial("a", "x", 10), trial("a", "y", 0), trial("b", "x", 0)}
	got := append([]Trial(nil), want...)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
	SortTrials(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestNormalize(t *testing.T) {
	zone := time.FixedZone("east", 3600)
	tr := trial("a", "x", 0)
	tr.Tags, tr.Guards = []string{"b", "a"}, []GuardCount{{Guard: "stuck", Mode: Shadow}, {Guard: "spill", Mode: Enforce}, {Guard: "stuck", Mode: Enforce}}
	tr.StartedAt = ptr(time.Date(2026, 1, 2, 4, 0, 0, 1999, zone))
	tr.Normalize()
	if tr.Tags[0] != "a" || tr.Guards[0].Guard != "spill" || tr.Guards[1].Mode != Enforce {
		t.Errorf("tags %v, guards %v are not sorted", tr.Tags, tr.Guards)
	}
	if got := tr.StartedAt.Format(time.RFC3339Nano); got != "2026-01-02T03:00:00.000001Z" {
		t.Errorf("started at %s", got)
	}
	empty := Trial{}
	empty.Normalize()
	if empty.Tags == nil || empty.Guards == nil {
		t.Error("nil lists stay nil")
	}
}

func TestExposed(t *testing.T) {
	tr := trial("a", "x", 0)
	tr.Guards = []GuardCount{{Guard: "stuck", Mode: Shadow, Fired: 2, FirstTurn: ptr(3)}, {Guard: "spill", Mode: Enforce}}
	if !tr.Exposed("stuck") || tr.Exposed("spill") || tr.Exposed("retry") {
		t.Error("exposed by stuck alone, in shadow")
	}
	if tr.Fired("stuck", Shadow) != 2 || tr.Fired("stuck", Enforce) != 0 {
		t.Error("counts by mode")
	}
}

func TestValidate(t *testing.T) {
	ok := trial("a", "x", 0)
	if err := ok.Validate(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Trial){
		"run_id is \"\"":                func(t *Trial) { t.RunID = "" },
		"scenario is \"\\xff\"":         func(t *Trial) { t.Scenario = "\xff" },
		"repetition cannot be negative": func(t *Trial) { t.Repetition = -1 },
		"outcome is empty":              func(t *Trial) { t.Outcome = "" },
		"verdict is \"yes\"":            func(t *Trial) { t.Verdict = "yes" },
		"errored trial is ungraded":     func(t *Trial) { t.Errored, t.ErrorClass = true, ptr("quota") },
		"error_class is null":           func(t *Trial) { t.Errored, t.Verdict, t.Score = true, Ungraded, nil },
		"error_class is \"weather\"": func(t *Trial) {
			t.Errored, t.Verdict, t.Score, t.ErrorClass = true, Ungraded, nil, ptr("weather")
		},
		"want 0 to 1":                    func(t *Trial) { t.Score = ptr(1.5) },
		"the verdict is ungraded":        func(t *Trial) { t.Verdict = Ungraded },
		"must have null started_at":      func(t *Trial) { t.StartedAt = &time.Time{} },
		"tool_calls is -1":               func(t *Trial) { t.ToolCalls = -1 },
		"output is -5":                   func(t *Trial) { t.Output = ptr(int64(-5)) },
		"cost_usd is -1":                 func(t *Trial) { t.CostUSD = ptr(-1.0) },
		"mode \"off\"":                   func(t *Trial) { t.Guards[0].Mode = "off" },
		"first_turn is null":             func(t *Trial) { t.Guards[0].Fired = 1 },
		"\"stuck\" is counted twice":     func(t *Trial) { t.Guards = append(t.Guards, t.Guards[0]) },
		"a guard count has no guard":     func(t *Trial) { t.Guards[0].Guard = "" },
		"holds no comma and no colon":    func(t *Trial) { t.Guards[0].Guard = "a:b" },
		"tag \"a,b\"":                    func(t *Trial) { t.Tags = []string{"a,b"} },
		"fired -1 times":                 func(t *Trial) { t.Guards[0].Fired = -1 },
		"started_at, ended_at and harne": func(t *Trial) { t.HarnessUS = ptr(int64(1)) },
	} {
		bad := trial("a", "x", 0)
		change(&bad)
		if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	v := verdict(ok, 0)
	if err := v.Validate(); err != nil {
		t.Error(err)
	}
	v.Verdict = ""
	if err := v.Validate(); err == nil {
		t.Error("a verdict without verdict is valid")
	}
}

func TestRunID(t *testing.T) {
	a, b := RunID("starter", []byte("lock")), RunID("starter", []byte("lock"))
	if a != b || !strings.HasPrefix(a, "starter-") || a == RunID("starter", []byte("other")) {
		t.Errorf("run ids %q, %q", a, b)
	}
}

// TestEncodeIgnoresOrder: equal entries, equal bytes.
func TestEncodeIgnoresOrder(t *testing.T) {
	a, b := entry("a", "x", 0), entry("a", "x", 0)
	b.Verdicts[0], b.Verdicts[1] = b.Verdicts[1], b.Verdicts[0]
	b.Trial.Tags = nil
	la, err := a.Encode()
	if err != nil {
		t.Fatal(err)
	}
	lb, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(la, lb) {
		t.Errorf("lines differ:\n%s%s", la, lb)
	}
}

// TestEncodeForeignBytes: evidence quotes files, which may hold anything.
func TestEncodeForeignBytes(t *testing.T) {
	e := entry("a", "x", 0)
	e.Verdicts[0].Evidence, e.Events[0].Evidence = "a\xffb\x00", "\xc3"
	line, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	c, err := ReadJournal(bytes.NewReader(line), "j")
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Entries[0].Verdicts[1].Evidence; got != "a\uFFFDb\x00" {
		t.Errorf("evidence %q", got)
	}
}
