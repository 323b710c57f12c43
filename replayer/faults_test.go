package replayer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
	"github.com/harnessbench/harnessbench/scenarios"
)

const faultyScenario = `-- scenario.yaml --
schema: harnessbench/scenario/v1
id: faulty
summary: read a file and write it down, on an endpoint and a disk that fail
tools: [read_file, write_file]
faults:
- {model: true, at_turn: 1, at_attempt: 1, kind: rate_limit, retry_after: 7s}
- {model: true, at_turn: 2, kind: slow, takes: 20s}
- {tool: read_file, at_call: 1, kind: hang}
- {tool: read_file, at_call: 2, kind: truncate, bytes: 3}
- {tool: write_file, at_call: 1, kind: error, text: disk failure}
- {tool: write_file, at_call: 2, kind: slow, takes: 40s}
graders: [{type: file_equals, path: b.txt, want: abc}]
-- instruction.md --
Copy a.txt to b.txt.
-- workspace/a.txt --
abcdef
-- oracle.yaml --
facts:
  a: {in: tool, from: read_file, match: '(abc)'}
  written: {in: tool, from: write_file, match: 'wrote \d+ bytes'}
rules:
- {id: answer, need: [written], do: {say: done}}
- {id: write, need: [a], max: 2, do: {tool: write_file, args: {path: b.txt, content: "${a}"}}}
- {id: look, max: 3, do: {tool: read_file, args: {path: a.txt}}}
`

// copies is a model of a made-up provider that takes a second, reads twice and
// writes twice.
type copies struct{ asked *[]string }

func (copies) ID() string { return "fake/copies" }

func (c copies) Generate(ctx context.Context, req *model.Request, _ func(model.Delta)) (*model.Response, error) {
	*c.asked = append(*c.asked, fmt.Sprintf("%d.%d", req.Turn, req.Attempt+1))
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	call := func(name, args string) (*model.Response, error) {
		return &model.Response{Finish: model.FinishCalls, Items: []model.Item{{Type: model.CallItem, Call: model.ToolCall{Name: name, Args: args}}}}, nil
	}
	switch {
	case req.Turn <= 2:
		return call("read_file", `{"path":"a.txt"}`)
	case req.Turn <= 4:
		return call("write_file", `{"path":"b.txt","content":"abc"}`)
	}
	return &model.Response{Finish: model.FinishStop, Items: []model.Item{{Type: model.Text, Text: "done"}}}, nil
}

// A scenario's faults strike a real model and built-in tools as they do simulated
// ones: in front of the provider's model, which is not asked, and in real time.
// The session replays, also with its tools executed again.
func TestFaultsOfTheScenario(t *testing.T) {
	sc, err := scenarios.LoadTxtar("faulty.txtar", []byte(faultyScenario))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"sim/oracle", "fake/copies"} {
		synctest.Test(t, func(t *testing.T) {
			var asked []string
			spec := trial.Spec{Scenario: sc, Model: id, Arm: "default", Guards: guard.MustProfile(guard.ProfileDefault), Seed: 1}
			began := time.Now()
			whole, lines := recordedBy(t, spec, trial.Options{Wall: time.Now,
				Provider: func(string, uint64) (model.Model, error) { return copies{&asked}, nil }})
			took := time.Since(began).Truncate(time.Second)
			// Six answers of a second (without the one that failed: five), 7 s for
			// Retry-After, 20 s for the slow answer, 120 s until the hang was cut, 40 s
			// for the slow write.
			if want := (5 + 7 + 20 + 120 + 40) * time.Second; id == "fake/copies" && took != want || id == "sim/oracle" && took != 0 {
				t.Errorf("%s: real time %v, want %v", id, took, want)
			}
			if got := strings.Join(asked, " "); id == "fake/copies" && got != "1.2 2.1 3.1 4.1 5.1" {
				t.Errorf("the provider's model was asked %s", got)
			}
			for _, want := range []string{`"status":429`, `"timed out after 2m0s: no result"`, `"text":"abc"`, `"text":"disk failure"`, `"faulty":["read_file","write_file"]`} {
				if !strings.Contains(string(whole), want) {
					t.Errorf("%s: the session does not say %s\n%s", id, want, whole)
				}
			}
			find := func(string, *session.Header) (*trial.Spec, error) { return &spec, nil }
			for name, o := range map[string]replayer.Options{"served": {}, "again": {Again: true, Trial: find}} {
				if rep := replayBytes(t, whole, o); rep.Verdict != replayer.Exact {
					t.Errorf("%s, %s: %s %s %+v", id, name, rep.Verdict, rep.Reason, rep.Divergence)
				}
			}
			if rep := replayBytes(t, whole, replayer.Options{Again: true}); rep.Verdict != replayer.Noop || !strings.Contains(rep.Reason, "read_file") {
				t.Errorf("again, without the scenario: %s %s", rep.Verdict, rep.Reason)
			}
			if id != "sim/oracle" {
				return
			}
			for n := 1; n < len(lines)-1; n++ { // a served prefix shifts no fault
				if got, _, _ := resumeFrom(t, spec, []byte(joined(lines[:n]))); string(got) != string(whole) {
					t.Errorf("cut after line %d: the session differs", n)
				}
			}
		})
	}
}

func joined(lines [][]byte) string {
	var b strings.Builder
	for _, l := range lines {
		b.Write(l)
	}
	return b.String()
}
