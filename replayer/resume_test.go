package replayer_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
	"github.com/harnessbench/harnessbench/scenarios"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// asking counts the calls that really reach a model.
type asking struct {
	model.Model
	n *int
}

func (a asking) Generate(ctx context.Context, req *model.Request, f func(model.Delta)) (*model.Response, error) {
	*a.n++
	return a.Model.Generate(ctx, req, f)
}

// resumeFrom runs a trial from a recording that was cut off, and returns its
// session, the live calls and the served ones.
func resumeFrom(t *testing.T, spec trial.Spec, cut []byte) (got []byte, live, served int) {
	t.Helper()
	dir := t.TempDir()
	old := filepath.Join(dir, "old"+session.Suffix)
	if err := os.WriteFile(old, cut, 0o644); err != nil {
		t.Fatal(err)
	}
	rec, err := replayer.Resume(old)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	path := filepath.Join(dir, "new"+session.Suffix)
	_, err = trial.Run(context.Background(), spec, trial.Options{Session: path, Sync: session.SyncNever, Drive: rec.Drive,
		Model: func(m model.Model) model.Model { return asking{m, &live} }})
	if err != nil {
		t.Fatal(err)
	}
	if got, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return got, live, rec.ServedCalls()
}

// finished runs a trial and returns its session, whole and line by line; after the
// last newline comes an empty line.
func finished(t *testing.T, spec trial.Spec) (whole []byte, lines [][]byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x"+session.Suffix)
	if _, err := trial.Run(context.Background(), spec, trial.Options{Session: path, Sync: session.SyncNever}); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return whole, bytes.SplitAfter(whole, []byte("\n"))
}

// A trial that was cut off after any of its lines, or in the middle of one, and
// is resumed gives the session of a trial that never was, and asks the model only
// for what was not recorded.
func TestResumeAfterEveryLine(t *testing.T) {
	for _, id := range []string{"needle-log", "flaky-endpoint", "truncated-empty", "hang-tool", "slow-build"} {
		sc, err := builtin.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		spec := trial.Spec{Scenario: sc, Model: "sim/weak", Arm: "default", Guards: guard.MustProfile(guard.ProfileDefault), Seed: 1}
		whole, lines := finished(t, spec)
		lines = lines[:len(lines)-1]
		calls := 0
		for _, l := range lines {
			if bytes.Contains(l, []byte(`"t":"response"`)) || bytes.Contains(l, []byte(`"t":"attempt"`)) {
				calls++
			}
		}
		for n := 1; n <= len(lines); n++ {
			cut := bytes.Join(lines[:n], nil)
			if n%3 == 0 {
				cut = cut[:len(cut)-7] // a torn line
			}
			got, live, served := resumeFrom(t, spec, cut)
			if !bytes.Equal(got, whole) {
				t.Errorf("%s: cut after line %d: the session differs", id, n)
			}
			if live+served != calls {
				t.Errorf("%s: cut after line %d: %d live calls and %d served ones, %d in all", id, n, live, served, calls)
			}
			if n == len(lines) && n%3 != 0 && live != 0 {
				t.Errorf("%s: a finished recording asked the model %d times", id, live)
			}
		}
	}
}

const payScenario = `-- scenario.yaml --
schema: harnessbench/scenario/v1
id: pay
summary: pay once
tools:
- name: pay
  kind: mock
  description: Pays the bill.
  effect: external
  responses: [{text: paid}]
graders: [{type: contains, want: done}]
-- instruction.md --
Pay the bill.
-- oracle.yaml --
facts:
  paid: {in: tool, from: pay, match: '(paid|unknown)'}
rules:
- {id: answer, need: [paid], do: {say: "done: ${paid}"}}
- {id: pay, do: {tool: pay, args: {}}}
`

// An effect outside that was in flight when the run was interrupted is not done
// again: its outcome is unknown. The session that comes out replays.
func TestResumeDoesNotPayTwice(t *testing.T) {
	sc, err := scenarios.LoadTxtar("pay.txtar", []byte(payScenario))
	if err != nil {
		t.Fatal(err)
	}
	spec := trial.Spec{Scenario: sc, Model: "sim/oracle", Arm: "default", Guards: guard.MustProfile(guard.ProfileDefault), Seed: 1}
	whole, lines := finished(t, spec)
	for n, l := range lines {
		if !bytes.Contains(l, []byte(`"t":"tool.request"`)) {
			continue
		}
		got, _, _ := resumeFrom(t, spec, bytes.Join(lines[:n+1], nil))
		if !strings.Contains(string(got), `"outcome":"unknown_outcome"`) || strings.Contains(string(got), `"outcome":"success"`) {
			t.Errorf("the payment in flight was made again:\n%s", got)
		}
		if rep := replayBytes(t, got, replayer.Options{}); rep.Verdict != replayer.Exact {
			t.Errorf("%s %s", rep.Verdict, rep.Reason)
		}
		before, _, _ := resumeFrom(t, spec, bytes.Join(lines[:n], nil))
		if !bytes.Equal(before, whole) {
			t.Error("cut before the call was requested: it should be made")
		}
		return
	}
	t.Fatal("the session has no tool.request")
}
