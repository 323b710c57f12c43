package report

import (
	"regexp"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/results"
)

// TestNamesOfADesign: arms whose names differ at their ends alone stay apart, and the
// tables within the terminal.
func TestNamesOfADesign(t *testing.T) {
	meta, rows := fixtureMeta(), fixture()
	long := func(arm string) string { return strings.Repeat("factor-enforce.", 4) + arm }
	meta.Arms = nil
	for _, arm := range fixtureArms {
		meta.Arms = append(meta.Arms, long(arm))
	}
	for i := range rows {
		rows[i].Arm = long(rows[i].Arm)
	}
	for i, c := range meta.Comparisons {
		meta.Comparisons[i].Base, meta.Comparisons[i].Arm = long(c.Base), long(c.Arm)
	}
	got := text(t, compute(t, meta, rows), TextOptions{All: true})
	for i, line := range strings.Split(got, "\n") {
		if n := len([]rune(line)); n > width {
			t.Errorf("line %d has %d columns: %s", i+1, n, line)
		}
	}
	_, arms, _ := strings.Cut(got, "\nEvery arm\n")
	arms, _, _ = strings.Cut(arms, "\n\n")
	for _, head := range []string{"tokens/trial", "USD/trial", "frontier"} {
		if !strings.Contains(arms, head) {
			t.Errorf("names cost the column %s:\n%s", head, arms)
		}
	}
	seen := map[string]int{}
	for _, name := range regexp.MustCompile(`(?m)^ +(factor\S+)$`).FindAllStringSubmatch(arms, -1) {
		seen[name[1]]++
	}
	if len(seen) != len(fixtureArms) {
		t.Errorf("%d names of %d arms: %v", len(seen), len(fixtureArms), seen)
	}
}

// TestEveryNoteHasItsRow: the legend explains what a row points to, and nothing else.
func TestEveryNoteHasItsRow(t *testing.T) {
	meta, rows := fixtureMeta(), fixture()
	for i := range rows { // guards that never fired: there would be much to say
		for j := range rows[i].Guards {
			rows[i].Guards[j].Fired, rows[i].Guards[j].FirstTurn = 0, nil
		}
		if i%2 == 0 && rows[i].Scenario != "slow-convergence" {
			rows[i].Verdict, rows[i].Score = results.Fail, ptr(0.0)
		}
	}
	got := text(t, compute(t, meta, rows), TextOptions{All: true})
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z]+)  \S`).FindAllStringSubmatch(got, -1) {
		if !regexp.MustCompile(`(?m)[^-]  ([a-z] )*` + m[1] + `( [a-z])*$`).MatchString(got) {
			t.Errorf("no row points to note %s:\n%s", m[1], got)
		}
	}
}

// TestGateInWhole: a gate's line ends in its bound, however long the names before it.
func TestGateInWhole(t *testing.T) {
	s := gatedSummary()
	s.Gates = judgeGates(s, []Gate{{Guard: "spill", A: "without-spill", B: "full", Metric: "difference", Min: ptr(-0.0625)}})
	if len(s.Gates) != 1 || len(s.Gates[0].Reason) < maxCell-20 {
		t.Fatalf("%+v", s.Gates)
	}
	s.Gates[0].Reason = strings.Replace(s.Gates[0].Reason, "full", strings.Repeat("full", 20), 1)
	got := strings.Join(strings.Fields(text(t, s, TextOptions{})), " ")
	if !strings.Contains(got, "it must be at least -0.0625") {
		t.Errorf("the bound is cut:\n%s", got)
	}
}

// TestTunedGuard: where a guard is compared in two ways, or enforced in both arms, rows
// and sentences say which arms; what is written for programs keeps the guard's name.
func TestTunedGuard(t *testing.T) {
	meta, rows := fixtureMeta(), fixture()
	meta.Comparisons = append(meta.Comparisons, Comparison{Guard: "stuck", Base: "default", Arm: "without-spill"})
	s := compute(t, meta, rows)
	got := text(t, s, TextOptions{})
	for _, want := range []string{"stuck: without-spill - default ", "stuck: default - without-stuck ", "\n    retry  "} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for _, c := range s.Main.Guards {
		if strings.Contains(c.Guard, ":") {
			t.Errorf("the summary itself has %q", c.Guard)
		}
	}
}
