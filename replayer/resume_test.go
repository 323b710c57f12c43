package replayer_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
	"github.com/harnessbench/harnessbench/loop/workspace"
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
	return resumeWith(t, spec, cut, func(m model.Model) model.Model { return m })
}

func resumeWith(t *testing.T, spec trial.Spec, cut []byte, wrap func(model.Model) model.Model) (got []byte, live, served int) {
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
	got, _ = recordedBy(t, spec, trial.Options{Drive: rec.Drive,
		Model: func(m model.Model) model.Model { return asking{wrap(m), &live} }})
	return got, live, rec.ServedCalls()
}

// finished runs a trial and returns its session, whole and line by line; after the
// last newline comes an empty line.
func finished(t *testing.T, spec trial.Spec) (whole []byte, lines [][]byte) {
	t.Helper()
	return recordedBy(t, spec, trial.Options{})
}

func recordedBy(t *testing.T, spec trial.Spec, o trial.Options) (whole []byte, lines [][]byte) {
	t.Helper()
	o.Session, o.Sync = filepath.Join(t.TempDir(), "x"+session.Suffix), session.SyncNever
	if _, err := trial.Run(context.Background(), spec, o); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(o.Session)
	if err != nil {
		t.Fatal(err)
	}
	return whole, bytes.SplitAfter(whole, []byte("\n"))
}

// A trial that was cut off after any of its lines, or in the middle of one, and
// is resumed gives the session of a trial that never was, and asks the model only
// for what was not recorded.
func TestResumeAfterEveryLine(t *testing.T) {
	after := map[session.Type]bool{} // types of lines after which there was a cut, and in whose middle
	for _, id := range []string{"needle-log", "flaky-endpoint", "truncated-empty", "hang-tool", "slow-build", "big-answer", "blank-answer"} {
		sc, err := builtin.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		spec := trial.Spec{Scenario: sc, Model: "sim/weak", Arm: "default", Guards: guard.MustProfile(guard.ProfileDefault), Seed: 1}
		whole, lines := finished(t, spec)
		lines = lines[:len(lines)-1]
		calls := 0
		for rd := session.NewReader(bytes.NewReader(whole)); ; {
			l, err := rd.Next()
			if err != nil {
				break
			}
			after[l.Type] = true
			if l.Type == session.TypeResponse || l.Type == session.TypeAttempt {
				calls++
			}
		}
		for n := 1; n <= len(lines); n++ {
			end := bytes.Join(lines[:n], nil)
			torn := end[:len(end)-7]
			if n%2 == 0 {
				torn = end[:len(end)-len(lines[n-1])/2]
			}
			for name, cut := range map[string][]byte{"after": end, "in": torn} {
				got, live, served := resumeFrom(t, spec, cut)
				if !bytes.Equal(got, whole) {
					t.Errorf("%s: cut %s line %d: the session differs", id, name, n)
				}
				if live+served != calls {
					t.Errorf("%s: cut %s line %d: %d live calls and %d served ones, %d in all", id, name, n, live, served, calls)
				}
				if n == len(lines) && name == "after" && live != 0 {
					t.Errorf("%s: a finished recording asked the model %d times", id, live)
				}
			}
		}
	}
	for _, want := range []session.Type{session.TypeHeader, session.TypePart, session.TypeRequest, session.TypeAttempt, session.TypeResponse,
		session.TypeToolRequest, session.TypeToolResult, session.TypeGuard, session.TypeAcceptance, session.TypeState, session.TypeFooter} {
		if !after[want] {
			t.Errorf("no trial was cut at a %s line", want)
		}
	}
}

// What a provider contradicts itself in is an event of its own: a trial cut at it
// is resumed like any other.
func TestResumeAfterANote(t *testing.T) {
	sc, err := builtin.Get("retry-trap")
	if err != nil {
		t.Fatal(err)
	}
	spec := trial.Spec{Scenario: sc, Model: "sim/weak", Arm: "default", Guards: guard.MustProfile(guard.ProfileDefault), Seed: 1}
	odd := func(m model.Model) model.Model { return contradicting{m} }
	whole, lines := recordedBy(t, spec, trial.Options{Model: odd})
	if !bytes.Contains(whole, []byte(`"t":"note"`)) {
		t.Fatal("no note was recorded")
	}
	for n := 1; n < len(lines)-1; n++ {
		got, _, _ := resumeWith(t, spec, bytes.Join(lines[:n], nil), odd)
		if !bytes.Equal(got, whole) {
			t.Errorf("cut after line %d: the session differs", n)
		}
	}
}

// contradicting says stop beside its calls.
type contradicting struct{ model.Model }

func (c contradicting) Generate(ctx context.Context, req *model.Request, f func(model.Delta)) (*model.Response, error) {
	resp, err := c.Model.Generate(ctx, req, f)
	if err == nil {
		out := *resp
		out.Finish = model.FinishStop
		resp = &out
	}
	return resp, err
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

const payTwiceScenario = `-- scenario.yaml --
schema: harnessbench/scenario/v1
id: pay-twice
summary: pay two bills
tools:
- name: pay
  kind: mock
  description: Pays a bill.
  effect: external
  schema: {type: object, properties: {bill: {type: string}}}
  responses: [{text: paid}]
graders: [{type: contains, want: done}]
-- instruction.md --
Pay the bills.
-- oracle.yaml --
facts:
  paid: {in: tool, from: pay, match: '(paid|unknown)'}
rules:
- {id: answer, need: [paid], do: {say: "done"}}
- {id: pay, do: {tool: pay, args: {}}}
`

// payBoth asks for two payments in one answer.
type payBoth struct{ model.Model }

func (p payBoth) Generate(ctx context.Context, req *model.Request, f func(model.Delta)) (*model.Response, error) {
	if req.Turn > 1 {
		return p.Model.Generate(ctx, req, f)
	}
	call := func(bill string) model.Item {
		return model.Item{Type: model.CallItem, Call: model.ToolCall{Name: "pay", Args: `{"bill":"` + bill + `"}`}}
	}
	return &model.Response{Items: []model.Item{call("one"), call("two")}, Finish: model.FinishCalls}, nil
}

// Of a batch of effects outside each one is made at most once, wherever the run
// was cut off: what may have happened is unknown, what cannot have is done.
func TestResumeDoesNotPayEitherTwice(t *testing.T) {
	sc, err := scenarios.LoadTxtar("pay-twice.txtar", []byte(payTwiceScenario))
	if err != nil {
		t.Fatal(err)
	}
	spec := trial.Spec{Scenario: sc, Model: "sim/oracle", Arm: "default", Guards: guard.MustProfile(guard.ProfileDefault), Seed: 1}
	wrap := func(m model.Model) model.Model { return payBoth{m} }
	whole, lines := recordedBy(t, spec, trial.Options{Model: wrap})
	requests, results := 0, 0
	for n, l := range lines {
		switch {
		case bytes.Contains(l, []byte(`"t":"tool.request"`)):
			requests++
		case bytes.Contains(l, []byte(`"t":"tool.result"`)):
			results++
		}
		for _, cut := range [][]byte{bytes.Join(lines[:n+1], nil), append(bytes.Join(lines[:n+1], nil), lines[min(n+1, len(lines)-1)][:len(lines[min(n+1, len(lines)-1)])/2]...)} {
			got, _, _ := resumeWith(t, spec, cut, wrap)
			unknown := strings.Count(string(got), `"outcome":"unknown_outcome"`)
			paid := strings.Count(string(got), `"outcome":"success"`)
			// a call is in flight once the requests of its whole batch stand there and those
			// before it have results
			inFlight := 0
			if requests == 2 && requests > results {
				inFlight = 1
			}
			if unknown != inFlight || paid != 2-inFlight {
				t.Errorf("cut after line %d (%d requests, %d results): %d unknown, %d paid", n+1, requests, results, unknown, paid)
			}
			if inFlight == 0 && !bytes.Equal(got, whole) {
				t.Errorf("cut after line %d: nothing was in flight, and the session differs", n+1)
			}
			if rep := replayBytes(t, got, replayer.Options{}); rep.Verdict != replayer.Exact {
				t.Errorf("cut after line %d: %s %s", n+1, rep.Verdict, rep.Reason)
			}
		}
	}
	if requests != 2 || results != 2 {
		t.Errorf("%d requests, %d results", requests, results)
	}
}

// saysCancelled are tools one call of which says that it was cancelled, though
// nobody cancelled anything.
type saysCancelled struct{ *tool.Set }

func (s saysCancelled) Run(ctx context.Context, op *tool.Op) tool.Result {
	res := s.Set.Run(ctx, op)
	if op.Turn == 2 {
		res.Outcome = event.Cancelled
	}
	return res
}

// A result that says cancelled is no cancellation by the operator: a replay goes on
// as the session did, and ends with it.
func TestAToolSaysCancelled(t *testing.T) {
	sc, err := builtin.Get("retry-trap")
	if err != nil {
		t.Fatal(err)
	}
	spec := trial.Spec{Scenario: sc, Model: "sim/weak", Arm: "default", Guards: guard.MustProfile(guard.ProfileDefault), Seed: 1}
	for _, turns := range []int{sc.Limits.Turns, 2} {
		limited := *sc
		limited.Limits.Turns = turns
		spec.Scenario = &limited
		whole, _ := recordedBy(t, spec, trial.Options{Drive: func(d *loop.Deps, _ *session.Header, _ workspace.Workspace) error {
			d.Run = saysCancelled{d.Run.(*tool.Set)}
			return nil
		}})
		if !bytes.Contains(whole, []byte(`"outcome":"cancelled"`)) {
			t.Fatal("no result says cancelled")
		}
		if rep := replayBytes(t, whole, replayer.Options{}); rep.Verdict != replayer.Exact {
			t.Errorf("%d turns: %s %s %+v", turns, rep.Verdict, rep.Reason, rep.Divergence)
		}
	}
}

// A recording that was cut off as its next turn began is replayed to its last line:
// what fired there says that nobody had cancelled.
func TestCutAsATurnBegins(t *testing.T) {
	sc, err := builtin.Get("retry-trap")
	if err != nil {
		t.Fatal(err)
	}
	guards, err := guard.MustProfile(guard.ProfileDefault).WithParam("limits", "turns", "3")
	for _, name := range []string{"limits", "stuck"} { // what fires at the end of turn 3 says nothing to the model
		if err == nil {
			guards, err = guards.With(name, guard.Shadow)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	_, lines := finished(t, trial.Spec{Scenario: sc, Model: "sim/weak", Arm: "x", Guards: guards, Seed: 1})
	cut := false
	for n := range len(lines) - 1 {
		rep := replayBytes(t, bytes.Join(lines[:n], nil), replayer.Options{})
		if rep.Verdict != replayer.Exhausted && rep.Verdict != replayer.Corrupt {
			t.Errorf("cut after %d lines: %s %s %+v", n, rep.Verdict, rep.Reason, rep.Divergence)
		}
		cut = cut || n > 1 && bytes.Contains(lines[n-1], []byte(`"g":"limits"`)) && bytes.Contains(lines[n-2], []byte(`"t":"state"`))
	}
	if !cut {
		t.Error("no turn begins with a firing")
	}
}
