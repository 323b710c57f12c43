package render

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/results/report"
)

// sampleRun has a gate of each verdict, an error and a cut.
func sampleRun(text string) *Run {
	v := 0.5
	return &Run{Summary: &report.Summary{Schema: report.Schema, RunID: "nightly-0123456789ab", Suite: "nightly", Trials: 40, Graded: 38, Errored: 2, CutTrials: 4, Repetitions: 5,
		Models: []report.Model{{Model: "sim/weak", Simulated: true}, {Model: "openai/x"}},
		Gates: []report.GateResult{
			{Gate: "pass rate of default must be at least 0.4", Source: "gates[0]", Model: "sim/weak", Value: &v, Verdict: report.GatePass, Reason: "pass rate of default on sim/weak (simulated) is 0.5; it must be at least 0.4"},
			{Gate: "pass rate of default must be at least 0.4", Source: "gates[0]", Model: "openai/x", Value: &v, Verdict: report.GateFail, Reason: "pass rate of default on openai/x is 0.3; it must be at least 0.4" + text},
			{Gate: "cost of default must be at most 1" + text, Source: "gates[1]", Model: "openai/x", Verdict: report.GateNotJudged, Reason: "there is no cost of default on openai/x: a price or a count of tokens is unknown; it must be at most 1"},
		},
		Errors: []report.ErrorCount{{Class: "provider", Trials: 2, Example: "503 from the provider" + text}},
		Cut:    []report.CutCount{{Model: "openai/x", Reason: "cost budget of 5 USD", Blocks: 2, Scenarios: 1, Trials: 4}},
		Main:   report.Section{Scenarios: []string{}, Arms: []report.Arm{}},
	}, Place: func(source string) (string, int) { return "suites/a.yaml", map[string]int{"gates[0]": 12}[source] }}
}

// A run as JUnit: what is allowed is told and not held against it.
func TestJUnitRun(t *testing.T) {
	for name, change := range map[string]func(*Run){
		"run-junit.xml":        func(*Run) {},
		"run-junit-strict.xml": func(r *Run) { r.Strict, r.Trouble = true, true },
		"run-junit-none.xml":   func(r *Run) { r.Gates, r.Errors, r.Cut = nil, nil, nil },
	} {
		r := sampleRun("")
		change(r)
		var b bytes.Buffer
		if err := JUnitRun(&b, r); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
		wellFormed(t, b.Bytes())
	}
	var b bytes.Buffer
	if err := JUnitRun(&b, sampleRun(hostile)); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, b.Bytes())
}

func TestGitHubRun(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	g := &GitHub{Workspace: dir, Summary: filepath.Join(dir, "summary.md")}
	var b bytes.Buffer
	r := sampleRun("")
	err := errors.Join(g.AnnotateRun(&b, r), g.SummariseRun(r))
	r.Strict = true
	if err = errors.Join(err, g.AnnotateRun(&b, r)); err != nil {
		t.Fatal(err)
	}
	summary, err := os.ReadFile(g.Summary)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(wd)
	golden(t, "run-annotations.txt", b.Bytes())
	// the report below it is tested where it is made
	head, _, ok := strings.Cut(string(summary), "\n# nightly\n")
	golden(t, "run-summary.md", []byte(head))
	if !ok {
		t.Errorf("no report:\n%s", summary)
	}
}

// Annotations and summary stay within GitHub's limits, and nothing in them is a
// command or a cell of its own.
func TestGitHubRunLimits(t *testing.T) {
	r := sampleRun(hostile)
	failed, open := r.Gates[1], r.Gates[2]
	r.Gates = nil
	for range 30 {
		r.Gates = append(r.Gates, open, failed)
	}
	var b bytes.Buffer
	if err := (&GitHub{}).AnnotateRun(&b, r); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		noCommand(t, "annotation", strings.TrimPrefix(strings.TrimPrefix(line, "::error "), "::warning "))
	}
	if e, w := strings.Count(b.String(), "::error title"), strings.Count(b.String(), "::warning title"); e != maxAnnotations || w != maxAnnotations || strings.Count(b.String(), "\n") != e+w {
		t.Errorf("%d errors and %d warnings", e, w)
	}
	whole := MarkdownRun(r, maxSummary)
	for _, room := range []int{len(whole), len(whole) - 1, 4000, 400, 90, 10, 0} {
		md := MarkdownRun(r, room)
		if len(md) > room || room == len(whole) != (md == whole) || room >= 400 && room < len(whole) && !strings.HasSuffix(md, "report.md of the run folder has all.\n") {
			t.Errorf("%d bytes of %d:\n%s", len(md), room, md)
		}
	}
	for line := range strings.Lines(whole) {
		if strings.HasPrefix(line, "| **fail**") && (strings.Count(line, "|") != 4 || strings.ContainsAny(line, "<>`[]_")) {
			t.Errorf("%s", line)
		}
	}
}
