package replayer_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
	"github.com/harnessbench/harnessbench/scenarios"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// trialOf finds the embedded scenario of a session.
func trialOf(_ string, h *session.Header) (*trial.Spec, error) {
	sc, err := builtin.Get(h.Scenario)
	if err != nil {
		return nil, err
	}
	return &trial.Spec{Scenario: sc, Model: h.Model, Seed: 1}, nil
}

// Tools that are executed again on the recorded tree observe what was recorded.
func TestToolsAgain(t *testing.T) {
	alone := 0
	for _, path := range recordAll(t, t.TempDir()) {
		for _, o := range []replayer.Options{{Again: true, Trial: trialOf}, {Again: true}} {
			rep, err := replayer.File(context.Background(), path, o)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case rep.Verdict == replayer.Exact && o.Trial == nil:
				alone++
			case rep.Verdict == replayer.Noop && o.Trial == nil && strings.Contains(rep.Reason, "stands in the scenario"):
			case rep.Verdict != replayer.Exact || o.Trial == nil:
				t.Errorf("%s: %s %s %+v", filepath.Base(path), rep.Verdict, rep.Reason, rep.Divergence)
			}
		}
	}
	if alone == 0 {
		t.Error("no session was replayed with its built-in tools alone")
	}
}

const lookupScenario = `-- scenario.yaml --
schema: harnessbench/scenario/v1
id: lookup
summary: look something up and write it down
tools:
- write_file
- name: lookup
  kind: mock
  description: Says what it is.
  effect: read
  responses: [{text: "the code is 41%s"}]
faults: [{tool: lookup, kind: flaky, p: 0.5}]
graders: [{type: file_equals, path: code.txt, want: "41"}]
-- instruction.md --
Write the code into code.txt.
-- oracle.yaml --
facts:
  code: {in: tool, from: lookup, match: 'code is (\d+)'}
  written: {in: tool, from: write_file, match: 'wrote \d+ bytes'}
rules:
- {id: answer, need: [written], do: {say: done}}
- {id: write, need: [code], do: {tool: write_file, args: {path: code.txt, content: "${code}"}}}
- {id: look, do: {tool: lookup, args: {}}}
`

func lookup(t *testing.T, more string) *scenarios.Scenario {
	t.Helper()
	sc, err := scenarios.LoadTxtar("lookup.txtar", fmt.Appendf(nil, lookupScenario, more))
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// A tool that observes something else diverges where it does; a rung for what it
// says lets the conversation go on as it was. A scenario that is another is not
// judged by.
func TestToolsObserveOtherwise(t *testing.T) {
	spec := trial.Spec{Scenario: lookup(t, ""), Model: "sim/oracle", Arm: "default", Guards: guard.MustProfile(guard.ProfileDefault), Seed: 1}
	whole, _ := finished(t, spec)
	again := func(s trial.Spec, rules ...string) *replayer.Report {
		return replayBytes(t, whole, replayer.Options{Again: true, Tolerant: rungs(t, rules...),
			Trial: func(string, *session.Header) (*trial.Spec, error) { return &s, nil }})
	}
	if rep := again(spec); rep.Verdict != replayer.Exact {
		t.Errorf("the same trial: %s %s", rep.Verdict, rep.Reason)
	}
	other := spec
	other.Scenario = lookup(t, ".")
	if rep := again(other); rep.Verdict != replayer.Noop || !strings.Contains(rep.Reason, "another than the one recorded") {
		t.Errorf("another scenario: %s %s", rep.Verdict, rep.Reason)
	}
	unlucky := spec // in another suite's luck the tool fails where it did not
	for unlucky.Seed = 2; again(unlucky).Verdict == replayer.Exact; unlucky.Seed++ {
		if unlucky.Seed == 50 {
			t.Fatal("the tool never fails")
		}
	}
	rep := again(unlucky)
	if d := rep.Divergence; rep.Verdict != replayer.Diverged || d.Turn != 1 || d.Stage != "execute" || d.Pointer != "/outcome" {
		t.Errorf("%s %+v", rep.Verdict, rep.Divergence)
	}
	if rep := again(unlucky, "ignore=tool.result/outcome"); rep.Verdict != replayer.Diverged || rep.Divergence.Pointer != "/text" {
		t.Errorf("%s %+v", rep.Verdict, rep.Divergence)
	}
	rep = again(unlucky, "ignore=tool.result/text", "ignore=/outcome", "ignore=tool.result/exit")
	if rep.Verdict != replayer.Normalised || rep.Tolerated[0].Count == 0 || rep.Tolerated[1].Count == 0 || rep.Tolerated[2].Count != 0 {
		t.Errorf("%s %s %+v %+v", rep.Verdict, rep.Reason, rep.Tolerated, rep.Divergence)
	}
}

func rungs(t *testing.T, rules ...string) []replayer.Rung {
	t.Helper()
	var out []replayer.Rung
	for _, rule := range rules {
		g, err := replayer.ParseRung(rule)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, g)
	}
	return out
}

func TestParseRung(t *testing.T) {
	for rule, say := range map[string]string{
		"args-json": "", "ignore=/text": "", "ignore=tool.result/text": "", "ignore=part/body/content/0/text": "",
		"ignore=header/config/guards/stuck/v": "",
		"":                                    "there are ignore=", "similar": "there are ignore=", "ignore=": "RFC 6901", "ignore=text": "RFC 6901",
		"ignore=/": "RFC 6901", "ignore=tool/text": "no lines of type", "ignore=/h": "no such line", "ignore=part/text": "no such line",
	} {
		_, err := replayer.ParseRung(rule)
		if (err == nil) != (say == "") || err != nil && !strings.Contains(err.Error(), say) {
			t.Errorf("%q: %v", rule, err)
		}
	}
}

// Each rung tolerates its own kind of difference and no other.
func TestTolerant(t *testing.T) {
	good := recorded(t, "retry-trap", guard.ProfileDefault)
	set := func(typ session.Type, pointer, value string) []byte {
		return edited(t, good, func(l *session.Line) [][]byte {
			if l.Type == typ {
				p, err := l.With(pointer, []byte(value))
				if err != nil {
					t.Fatal(err)
				}
				return [][]byte{p}
			}
			return [][]byte{l.Payload()}
		})
	}
	args := func(change func(string) string) []byte {
		var call string // arguments as the model wrote them
		return edited(t, good, func(l *session.Line) [][]byte {
			p := l.Payload()
			switch l.Type {
			case session.TypeResponse:
				r, err := l.Response()
				if err != nil {
					t.Fatal(err)
				}
				for _, it := range r.Resp.Items {
					call = it.Call.Args
				}
			case session.TypeToolRequest:
				var err error
				if p, err = l.With("/args", fmt.Appendf(nil, "%q", change(call))); err != nil {
					t.Fatal(err)
				}
			}
			return [][]byte{p}
		})
	}
	spaced := func(s string) string { return strings.ReplaceAll(s, `":`, `" : `) }
	other := func(s string) string { return strings.Replace(s, `":`, `":[],"x":`, 1) }
	cases := map[string]struct {
		data   []byte
		rules  []string
		want   replayer.Verdict
		counts []int
	}{
		"a field":                {set(session.TypeState, "/calls", "77"), []string{"ignore=state/calls"}, replayer.Normalised, []int{5}},
		"of any line":            {set(session.TypeState, "/calls", "77"), []string{"ignore=/calls"}, replayer.Normalised, []int{5}},
		"of another line":        {set(session.TypeState, "/calls", "77"), []string{"ignore=footer/calls"}, replayer.Diverged, []int{0}},
		"another field":          {set(session.TypeState, "/calls", "77"), []string{"ignore=state/v"}, replayer.Diverged, []int{0}},
		"two, one is needed":     {set(session.TypeGuard, "/evidence", `"x"`), []string{"args-json", "ignore=guard/evidence"}, replayer.Normalised, []int{0, 1}},
		"arguments":              {args(spaced), []string{"args-json"}, replayer.Normalised, []int{4}},
		"other arguments":        {args(other), []string{"args-json"}, replayer.Diverged, []int{0}},
		"not needed":             {good, []string{"args-json", "ignore=/text"}, replayer.Exact, []int{0, 0}},
		"a part, without others": {set(session.TypePart, "/digest", `"00000000000000000000000000000000"`), []string{"ignore=part/body"}, replayer.Diverged, []int{0}},
	}
	for name, c := range cases {
		rep := replayBytes(t, c.data, replayer.Options{Tolerant: rungs(t, c.rules...)})
		var counts []int
		for _, n := range rep.Tolerated {
			counts = append(counts, n.Count)
		}
		if rep.Verdict != c.want || fmt.Sprint(counts) != fmt.Sprint(c.counts) {
			t.Errorf("%s: %s %s %v %+v", name, rep.Verdict, rep.Reason, counts, rep.Divergence)
		}
	}
}

// What follows from a tolerated difference is tolerated with it; the parts after
// it are still compared.
func TestTolerantPrompt(t *testing.T) {
	good := recorded(t, "retry-trap", guard.ProfileDefault)
	prompt := func(s *trial.Spec) {
		s.Prompt = strings.Replace(trial.SystemPrompt, "Look before you act", "Think before you act", 1)
	}
	rules := []string{"ignore=part/body/content/0/text"}
	rep := replayBytes(t, good, replayer.Options{Current: current(t, "retry-trap", prompt), Tolerant: rungs(t, rules...)})
	if rep.Verdict != replayer.Normalised || rep.Tolerated[0].Count != 1 {
		t.Errorf("%s %s %+v", rep.Verdict, rep.Reason, rep.Divergence)
	}
	rep = replayBytes(t, good, replayer.Options{Current: current(t, "retry-trap", func(s *trial.Spec) {
		prompt(s)
		var err error
		if s.Guards, err = s.Guards.WithParam("stuck", "nudge", "5"); err != nil {
			t.Fatal(err)
		}
	}), Tolerant: rungs(t, rules...)})
	if rep.Verdict != replayer.Diverged || rep.Divergence.Turn != 3 {
		t.Errorf("%s %s %+v", rep.Verdict, rep.Reason, rep.Divergence)
	}
}

// A session that is replayed with its tools again leaves the tree it left.
func TestAgainLeavesTheTree(t *testing.T) {
	path := record(t, t.TempDir(), "needle-log", "sim/oracle", guard.ProfileDefault)
	was, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(was, []byte(`"delta"`)) {
		t.Skip("the scenario changes no file any more")
	}
	rep, err := replayer.File(context.Background(), path, replayer.Options{Again: true, Trial: trialOf})
	if err != nil || rep.Verdict != replayer.Exact {
		t.Errorf("%v %+v", err, rep)
	}
}
