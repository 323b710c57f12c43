package render

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/harnessbench/harnessbench/recorder/wire/tape"
	"github.com/harnessbench/harnessbench/replayer"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
	}
}

// hostile is what a session may hold to reach more than the screen.
const hostile = "::error::owned\r\n##[add-mask]x ##vso[task.x] ]]> <b>&\"' | `c` [l](javascript:x) \x1b[31m\x00\ufffe\u202e\xff %0A::set-env name=A::B"

func samples() []Case {
	three := 3
	diverged := &replayer.Report{Path: "sessions/b/two.session.jsonl", Verdict: replayer.Diverged, Code: replayer.CodeSystemPrompt, Turns: 1,
		Reason: "turn 1, assemble, line 3: part /body/content/0/text (part 3 of the request)",
		Divergence: &replayer.Divergence{Code: replayer.CodeSystemPrompt, Turn: 1, Stage: "assemble", Line: 3, Type: "part", Part: &three, Pointer: "/body/content/0/text",
			Recorded: "cut", Actual: "cut", Diff: "  You are careful.\n- Today is 2026-03-01.\n+ Today is 2026-03-02.\n",
			Hint: "the two differ in nothing but a date or time", Show: "harnessbench show sessions/b/two.session.jsonl --turn 1"}}
	guard := &replayer.Report{Path: "sessions/a/one.session.jsonl", Verdict: replayer.Diverged, Code: replayer.CodeGuardMissing, Turns: 2,
		Reason: "turn 3, decide, line 22: guard",
		Divergence: &replayer.Divergence{Code: replayer.CodeGuardMissing, Turn: 3, Stage: "decide", Line: 22, Type: "guard", ActualType: "state",
			Recorded: "the guard stuck (enforce) fires: nudge, 3 equal rounds", Actual: "the end of the turn", After: "turn 3: grep {}: success",
			Show: "harnessbench show sessions/a/one.session.jsonl --turn 3"}}
	return []Case{
		Session(guard),
		Session(&replayer.Report{Path: "sessions/a/three.session.jsonl", Verdict: replayer.Exact, Turns: 4}),
		Session(&replayer.Report{Path: "sessions/a/shadow.session.jsonl", Verdict: replayer.Exact, Turns: 4, Shadow: []string{"turn 3: stuck would nudge (3 equal rounds)"}}),
		Session(&replayer.Report{Path: "sessions/a/same.session.jsonl", Verdict: replayer.Normalised, Code: replayer.CodeNormalised, Turns: 4, Reason: "2 lines are equal in meaning, not in bytes"}),
		Session(diverged),
		Session(&replayer.Report{Path: "sessions/b/bad.session.jsonl", Verdict: replayer.Corrupt, Code: replayer.CodeCorrupt, Reason: "line 1, byte 0: no JSON"}),
		Traffic(&tape.Report{Path: "recordings/agent.session.jsonl", Verdict: replayer.Unused, Code: replayer.CodeUnused, Reason: "1 of 2 recorded model requests never came",
			Exchanges: 2, Served: 1, Unused: 1, Lanes: []tape.LaneReport{{Lane: "main", Recorded: 2, Served: 1, Unused: 1}},
			Missing: []tape.Unasked{{Lane: "main", Turn: 2, What: "message x"}}, Warnings: []string{"a warning"}, Normalised: map[string]int{"tmp": 1}}),
	}
}

// hostileCase has hostile text wherever a session or a file name can bring it.
func hostileCase() Case {
	return Session(&replayer.Report{Path: "a/" + hostile + ".session.jsonl", Verdict: replayer.Diverged, Code: replayer.CodeMessage, Reason: hostile,
		Divergence: &replayer.Divergence{Code: replayer.CodeMessage, Turn: 1, Stage: "decide", Line: 2, Recorded: hostile, Actual: hostile,
			Diff: "  " + hostile + "\n::error::x\n- " + hostile + "\n+ " + hostile, Hint: hostile, After: hostile, Show: hostile},
		Shadow: []string{hostile}})
}

func TestText(t *testing.T) {
	var plain, colored, one bytes.Buffer
	if err := errors.Join(Text(&plain, samples(), detailed, false), Text(&colored, samples(), detailed, true)); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.txt", plain.Bytes())
	if got := regexp.MustCompile(`\x1b\[\d+m`).ReplaceAll(colored.Bytes(), nil); !bytes.Equal(got, plain.Bytes()) || colored.Len() == plain.Len() {
		t.Errorf("colours change more than the colour:\n%s", colored.String())
	}
	c := samples()[6]
	if err := One(&one, &c, false); err != nil || !strings.HasPrefix(one.String(), "UNUSED(1) recordings/agent") || !strings.Contains(plain.String(), one.String()) {
		t.Errorf("%v %s", err, one.String())
	}
}

// A divergence is one screen, however long the values.
func TestOneScreen(t *testing.T) {
	long := strings.Repeat(strings.Repeat("x", 300)+"\n", 200)
	for _, c := range [][2]string{{long, "y" + long}, {long, ""}, {"a", strings.Repeat("b", 10_000)}} {
		var b strings.Builder
		cs := Session(&replayer.Report{Verdict: replayer.Diverged, Code: replayer.CodeMessage, Divergence: &replayer.Divergence{
			Recorded: "r", Actual: "a", Diff: replayer.TextDiff(c[0], c[1]), Hint: "h", After: "a", Show: "s"}})
		cs.text(&b, false)
		if n := strings.Count(b.String(), "\n"); n > 24 {
			t.Errorf("%d lines", n)
		}
	}
}

// What is many is bounded.
func TestMany(t *testing.T) {
	var cases []Case
	for i := range 5000 {
		c := samples()[0]
		c.Path = fmt.Sprintf("s/%04d.session.jsonl", i)
		cases = append(cases, c)
	}
	var b strings.Builder
	if err := Text(&b, cases, detailed, false); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "recorded  "); n != detailed {
		t.Errorf("%d cases in full", n)
	}
	if n := strings.Count(b.String(), "\nDIVERGED@3.decide s/"); n != 4999 {
		t.Errorf("%d cases", n)
	}
}

func TestJUnit(t *testing.T) {
	var b bytes.Buffer
	if err := JUnit(&b, samples()); err != nil {
		t.Fatal(err)
	}
	golden(t, "junit.xml", b.Bytes())
	wellFormed(t, b.Bytes())
	b.Reset()
	if err := JUnit(&b, []Case{hostileCase()}); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, b.Bytes())
	golden(t, "hostile.xml", b.Bytes())
}

// wellFormed reads a report strictly and checks that its counts are true and that
// each character is one of XML 1.0.
func wellFormed(t *testing.T, b []byte) {
	t.Helper()
	for _, r := range string(b) {
		if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == 0xfffe || r == 0xffff || r == 0x202e {
			t.Errorf("%U stands in the report", r)
		}
	}
	if !utf8.Valid(b) {
		t.Error("no UTF-8")
	}
	var doc struct {
		Tests, Failures, Errors int `xml:",attr"`
		Suites                  []struct {
			Name  string `xml:"name,attr"`
			Tests int    `xml:"tests,attr"`
			Cases []struct {
				Class   string    `xml:"classname,attr"`
				Failure *struct{} `xml:"failure"`
				Error   *struct{} `xml:"error"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(b, &doc); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	dec := xml.NewDecoder(bytes.NewReader(b))
	for {
		if _, err := dec.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for _, s := range doc.Suites {
		if seen[s.Name] || s.Tests != len(s.Cases) {
			t.Errorf("suite %s comes twice, or its %d tests are %d", s.Name, s.Tests, len(s.Cases))
		}
		seen[s.Name] = true
	}
}

func TestGitHub(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	env := map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": dir, "GITHUB_STEP_SUMMARY": filepath.Join(dir, "summary.md")}
	g := OnGitHub(func(k string) string { return env[k] })
	if g == nil || OnGitHub(func(string) string { return "" }) != nil || OnGitHub(func(string) string { return "1" }) != nil {
		t.Fatal("who we are is not seen")
	}
	var b bytes.Buffer
	if err := errors.Join(g.Annotate(&b, samples()), g.Summarise(samples())); err != nil {
		t.Fatal(err)
	}
	summary, err := os.ReadFile(env["GITHUB_STEP_SUMMARY"])
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(wd)
	golden(t, "annotations.txt", b.Bytes())
	golden(t, "summary.md", summary)
}

// detailed is how many cases the tests want in full.
const detailed = 20

var wd, _ = os.Getwd()

// File names are relative to the checkout; outside of it there is none, and a
// compressed file has no lines.
func TestGitHubPaths(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "work", "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(dir, "work", "sub"))
	for path, want := range map[string]string{
		"a.session.jsonl":        "file=sub/a.session.jsonl,line=22,",
		"../b,1:%.session.jsonl": "file=b%2C1%3A%25.session.jsonl,line=22,",
		"a.session.jsonl.zst":    "file=sub/a.session.jsonl.zst,title",
		"../../out.jsonl":        "::error title",
	} {
		c := samples()[0]
		c.Path = path
		var b strings.Builder
		if err := (&GitHub{Workspace: filepath.Join(dir, "work")}).Annotate(&b, []Case{c}); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%s: %v %s", path, err, b.String())
		}
	}
}

// At most ten annotations, and a summary below the limit also when the step has
// one already.
func TestGitHubLimits(t *testing.T) {
	file := filepath.Join(t.TempDir(), "summary.md")
	before := bytes.Repeat([]byte("x"), 100_000)
	if err := os.WriteFile(file, before, 0o644); err != nil {
		t.Fatal(err)
	}
	cases := make([]Case, 20_000)
	for i := range cases {
		cases[i] = samples()[0]
	}
	g := &GitHub{Summary: file}
	var b strings.Builder
	if err := errors.Join(g.Annotate(&b, cases), g.Summarise(cases)); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "::error "); n != maxAnnotations || strings.Count(b.String(), "\n") != n {
		t.Errorf("%d annotations", n)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) > maxSummary || len(got) < maxSummary-1000 || !bytes.HasPrefix(got, before) || !regexp.MustCompile(`\n\d+ sessions more; [^\n]*\n$`).Match(got) {
		t.Errorf("%d bytes, ending in %q", len(got), got[max(0, len(got)-100):])
	}
	rows := bytes.Count(got, []byte("\n| DIVERGED"))
	if m := regexp.MustCompile(`\n(\d+) sessions more`).FindSubmatch(got); m == nil || fmt.Sprint(len(cases)-rows) != string(m[1]) {
		t.Errorf("%d rows of %d and %s left", rows, len(cases), m)
	}
	if Markdown(cases, 10) != "" {
		t.Error("10 bytes are exceeded")
	}
	if err := (&GitHub{Summary: t.TempDir()}).Summarise(cases); err == nil {
		t.Error("a folder was written")
	}
}

// Nothing hostile is a workflow command, in any output.
func TestHostile(t *testing.T) {
	c := hostileCase()
	var text, notes, bare bytes.Buffer
	g := &GitHub{}
	if err := errors.Join(Text(&text, []Case{c}, detailed, false), g.Annotate(&notes, []Case{c}), One(&bare, &c, false)); err != nil {
		t.Fatal(err)
	}
	md := Markdown([]Case{c}, maxSummary)
	for name, out := range map[string]string{"text": text.String(), "one": bare.String(), "markdown": md, "annotation": strings.TrimPrefix(notes.String(), "::error ")} {
		noCommand(t, name, out)
	}
	if n := strings.Count(notes.String(), "\n"); n != 1 {
		t.Errorf("%d lines:\n%s", n, notes.String())
	}
	if rows := strings.Count(md, "\n| "); rows != 2 {
		t.Errorf("%d rows: %s", rows, md)
	}
	row, _, _ := strings.Cut(md[strings.LastIndex(md, "\n| ")+1:], "\n")
	if strings.Count(row, "|") != 7 || strings.ContainsAny(row, "<>`[]*_") {
		t.Errorf("%s", row)
	}
	if got := NeutralJSON([]byte(`{"a":"##[error]x ##vso[y] ## z"}`)); string(got) != `{"a":"\u0023#[error]x \u0023#vso[y] ## z"}` {
		t.Errorf("%s", got)
	}
}

// noCommand finds commands as the runners do.
func noCommand(t *testing.T, name, out string) {
	t.Helper()
	for line := range strings.Lines(out) {
		if strings.HasPrefix(strings.TrimSpace(line), "::") || regexp.MustCompile(`##[a-zA-Z]*\[`).MatchString(line) {
			t.Errorf("%s: %q is a command", name, line)
		}
		if strings.ContainsAny(strings.TrimSuffix(line, "\n"), "\r\x1b\x00\u202e") || !utf8.ValidString(line) {
			t.Errorf("%s: %q", name, line)
		}
	}
}

func FuzzOutputs(f *testing.F) {
	f.Add(hostile, "a")
	f.Add("\n::error::\n", "##[group]")
	f.Add(strings.Repeat("&", 400), "\xf0\x9f")
	f.Fuzz(func(t *testing.T, a, b string) {
		c := Session(&replayer.Report{Path: b, Verdict: replayer.Diverged, Code: replayer.CodeMessage, Reason: a,
			Divergence: &replayer.Divergence{Recorded: a, Actual: b, Diff: replayer.TextDiff(a, b), Hint: replayer.Hint(a, b), Show: a}})
		var text, junit, notes bytes.Buffer
		if err := errors.Join(Text(&text, []Case{c}, detailed, false), JUnit(&junit, []Case{c}), (&GitHub{Workspace: "/"}).Annotate(&notes, []Case{c})); err != nil {
			t.Fatal(err)
		}
		noCommand(t, "text", text.String())
		noCommand(t, "annotation", strings.TrimPrefix(notes.String(), "::error "))
		if strings.Count(notes.String(), "\n") != 1 {
			t.Errorf("%q", notes.String())
		}
		noCommand(t, "markdown", Markdown([]Case{c}, 4000))
		wellFormed(t, junit.Bytes())
	})
}
