package render

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/results/report"
)

// Run is a run of a suite as CI systems are told of it.
type Run struct {
	*report.Summary
	Strict  bool // gates that could not be judged are held against it
	Trouble bool // errored and cut trials are: more than the suite allows
	// Place says where the suite has a gate, by its source; line 0 = unknown.
	Place func(source string) (file string, line int)
}

// test is a test of the JUnit report.
type test struct {
	class, name string
	element     string // failure, error, skipped, system-out; "" = nothing to say
	kind, text  string // of the element
}

// tests are the gates, one a model, then what went wrong with trials: one a class
// of errors and one a cut. A run without either is one test, so that a report is
// never empty.
func (r *Run) tests() (out []test) {
	for i := range r.Gates {
		g := &r.Gates[i]
		t := test{class: r.Suite + ".gates", name: r.gateName(g), kind: g.Verdict, text: g.Reason}
		switch {
		case g.Verdict == report.GateFail:
			t.element = "failure"
		case g.Verdict == report.GateNotJudged && r.Strict:
			t.element = "error"
		case g.Verdict == report.GateNotJudged:
			t.element = "skipped"
		}
		out = append(out, t)
	}
	element := "system-out"
	if r.Trouble {
		element = "error"
	}
	for _, e := range r.Errors {
		out = append(out, test{r.Suite + ".trials", "errored: " + e.Class, element, e.Class, fmt.Sprintf("%s of %d errored; the first: %s", cli.Count(e.Trials, "trial"), r.Trials, e.Example)})
	}
	for _, c := range r.Cut {
		out = append(out, test{r.Suite + ".trials", "cut: " + c.Model, element, "cut", fmt.Sprintf("%s of %s not run: %s", cli.Count(c.Trials, "trial"), c.Model, c.Reason)})
	}
	if len(out) == 0 {
		out = append(out, test{class: r.Suite + ".trials", name: "all were run"})
	}
	return out
}

// gateName is the gate and what it was judged on.
func (r *Run) gateName(g *report.GateResult) string {
	s := g.Gate
	if g.Source != "" {
		s = g.Source + ": " + s
	}
	if g.Model != "" {
		s += ", on " + r.label(g.Model)
	}
	return s
}

// label says of a simulated model that it is.
func (r *Run) label(model string) string {
	if slices.ContainsFunc(r.Models, func(m report.Model) bool { return m.Model == model && m.Simulated }) {
		model += " (simulated)"
	}
	return model
}

// JUnitRun writes a run as a JUnit report: one suite, a test per gate and model, and one
// per class of errors. Like [JUnit] it holds no time and no host.
func JUnitRun(w io.Writer, r *Run) error {
	tests := r.tests()
	n := map[string]int{}
	for _, t := range tests {
		n[t.element]++
	}
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n")
	fmt.Fprintf(&b, `<testsuites name="harnessbench run" tests="%d" failures="%d" errors="%d" time="0">`+"\n", len(tests), n["failure"], n["error"])
	fmt.Fprintf(&b, `  <testsuite name="%s" tests="%d" failures="%d" errors="%d" skipped="%d" time="0">`+"\n", attr(r.Suite), len(tests), n["failure"], n["error"], n["skipped"])
	for _, t := range tests {
		fmt.Fprintf(&b, `    <testcase classname="%s" name="%s" time="0"`, attr(t.class), attr(t.name))
		switch t.element {
		case "":
			b.WriteString("/>\n")
			continue
		case "skipped":
			fmt.Fprintf(&b, ">\n      <skipped message=\"%s\"/>\n", attr(t.text))
		case "system-out":
			fmt.Fprintf(&b, ">\n      <system-out>%s</system-out>\n", content(t.text))
		default:
			fmt.Fprintf(&b, ">\n      <%s type=\"%s\" message=\"%s\">%s</%s>\n", t.element, attr(t.kind), attr(t.text), content(t.text), t.element)
		}
		b.WriteString("    </testcase>\n")
	}
	b.WriteString("  </testsuite>\n</testsuites>\n")
	_, err := w.Write(b.Bytes())
	return err
}

// AnnotateRun writes the first failed gates (of errors and of warnings the runner
// shows so many each) as workflow commands: errors at the
// gate's line in the suite. Gates that could not be judged are errors where that
// is held against the run, else warnings.
func (g *GitHub) AnnotateRun(w io.Writer, r *Run) error {
	var b strings.Builder
	n := map[string]int{}
	for _, x := range r.Gates {
		command, title := "error", "gate failed"
		if x.Verdict == report.GateNotJudged {
			title = "gate not judged"
			if !r.Strict {
				command = "warning"
			}
		}
		if x.Verdict == report.GatePass {
			continue
		}
		if n[command]++; n[command] > maxAnnotations {
			continue
		}
		var props []string
		if r.Place != nil {
			if path, line := r.Place(x.Source); line > 0 {
				if file, ok := g.relative(path); ok {
					props = append(props, "file="+property(file), fmt.Sprintf("line=%d", line))
				}
			}
		}
		props = append(props, "title="+property(title))
		fmt.Fprintf(&b, "::%s %s::%s\n", command, strings.Join(props, ","), message([]string{x.Reason}))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// SummariseRun appends the gates and the report to the summary of the step.
func (g *GitHub) SummariseRun(r *Run) error {
	return g.append(func(room int) string { return MarkdownRun(r, room) })
}

// MarkdownRun is a table of the gates that do not hold, then the report, in at most this many
// bytes: what does not fit is left out from the end, by whole lines, and that is said; ""
// where not even the heading fits.
func MarkdownRun(r *Run, room int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### harnessbench run: %s\n\n", cell(r.Suite))
	if len(r.Gates) > 0 {
		fmt.Fprintf(&b, "%s\n\n", GateCounts(r.Gates))
	}
	head := "| verdict | gate | what was found |\n|---|---|---|\n"
	for i := range r.Gates {
		x := &r.Gates[i]
		if x.Verdict == report.GatePass {
			continue
		}
		fmt.Fprintf(&b, "%s| **%s** | %s | %s |\n", head, x.Verdict, cell(x.Source), cell(x.Reason))
		head = ""
	}
	b.WriteString("\n")
	if err := r.WriteMarkdown(&b); err != nil {
		panic(err) // a strings.Builder takes everything
	}
	const tail = "\nCut here: a step's summary holds no more. report.md of the run folder has all.\n"
	text := b.String()
	if len(text) <= room {
		return text
	}
	if room -= len(tail); room < 0 {
		return ""
	}
	end := strings.LastIndexByte(text[:room], '\n') + 1
	if end == 0 {
		return ""
	}
	return text[:end] + tail
}

// GateCounts says how many gates came out how.
func GateCounts(gates []report.GateResult) string {
	n := map[string]int{}
	for _, g := range gates {
		n[g.Verdict]++
	}
	s := fmt.Sprintf("%s: %d passed, %d failed", cli.Count(len(gates), "gate"), n[report.GatePass], n[report.GateFail])
	if n[report.GateNotJudged] > 0 {
		s += fmt.Sprintf(", %d not judged", n[report.GateNotJudged])
	}
	return s
}
