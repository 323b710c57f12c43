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
	"github.com/harnessbench/harnessbench/recorder/verify"
	"github.com/harnessbench/harnessbench/replayer"
	"github.com/harnessbench/harnessbench/scenarios"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// guarded is profile default with changes.
func guarded(t *testing.T, changes ...string) guard.Settings {
	t.Helper()
	set := guard.MustProfile(guard.ProfileDefault)
	for _, c := range changes {
		key, value, _ := strings.Cut(c, "=")
		var err error
		if name, param, ok := strings.Cut(key, "."); ok {
			set, err = set.WithParam(name, param, value)
		} else {
			set, err = set.With(key, guard.Mode(value))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return set
}

// exact replays a session with recorded tools and with tools that are executed
// again, and checks its sums.
func exact(t *testing.T, spec *trial.Spec, whole []byte) {
	t.Helper()
	find := func(string, *session.Header) (*trial.Spec, error) { return spec, nil }
	for _, o := range []replayer.Options{{}, {Again: true, Trial: find}} {
		if rep := replayBytes(t, whole, o); rep.Verdict != replayer.Exact {
			t.Errorf("%s, %s: executed again %v: %s %s", spec.Scenario.ID, spec.Model, o.Again, rep.Verdict, rep.Reason)
		}
	}
	path := filepath.Join(t.TempDir(), "x"+session.Suffix)
	if err := os.WriteFile(path, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	if rep, err := verify.File(context.Background(), path, verify.Options{}); err != nil || rep.Verdict != verify.OK {
		t.Errorf("%s, %s: %v %+v", spec.Scenario.ID, spec.Model, err, rep)
	}
}

// Sessions that end at a broken seal or with an answer asked for behind their
// turns, and batches that run at once, replay exactly, and are resumed at every
// line as if they had never been cut off.
func TestEndsAndWaves(t *testing.T) {
	for _, tt := range []struct {
		scenario, model string
		changes         []string
		has             string // in the session
	}{
		{"sealed-test", "sim/trap-seals", nil, `"reason":"seal_broken","evidence":"changed tests/vat_test.txt"`},
		{"skipped-test", "sim/trap-seals", nil, `"evidence":"created checks/skip.txt"`},
		{"sealed-test", "sim/trap-seals", []string{"seals=shadow"}, `"g":"seals","v":1,"mode":"shadow","act":"stop"`},
		{"contract-check", "sim/trap-acceptance", nil, `"g":"acceptance"`},
		{"last-page", "sim/oracle", nil, `"purpose":"final_synthesis"`},
		{"last-page", "sim/oracle", []string{"final_synthesis=shadow"}, `"mode":"shadow","act":"ask"`},
		{"last-page", "sim/oracle", []string{"limits.tokens=6000"}, `"act":"skip","evidence":"skipped: token budget`},
		{"slow-archive", "sim/oracle", nil, `"reason":"deadline"`},
		{"slow-archive", "sim/oracle", []string{"final_synthesis.timeout=100ms"}, `"error":{"kind":"deadline"`},
		{"nine-depots", "sim/oracle", nil, `9 calls, 8 at once, 1m35s instead of 6m15s`},
		{"nine-depots", "sim/oracle", []string{"tool_deadline.per_call=50s"}, `"outcome":"timeout"`},
		{"nine-depots", "sim/oracle", []string{"parallel_tools=shadow"}, `"mode":"shadow","act":"parallel"`},
		{"one-line-down", "sim/oracle", nil, `4 calls at once, 9s instead of 19.3s`},
		{"one-line-down", "sim/oracle", []string{"parallel_tools.cancel=1"}, `4 calls at once, 300ms instead of 1.2s, 3 cancelled`},
		{"one-line-down", "sim/oracle", []string{"parallel_tools.cancel=1", "parallel_tools.most=2"}, `not run: another call of the batch failed`},
	} {
		sc, err := builtin.Get(tt.scenario)
		if err != nil {
			t.Fatal(err)
		}
		spec := trial.Spec{Scenario: sc, Model: tt.model, Arm: "default", Guards: guarded(t, tt.changes...), Seed: 1}
		whole, lines := finished(t, spec)
		if !bytes.Contains(whole, []byte(tt.has)) {
			t.Errorf("%s %v: the session has no %s\n%s", tt.scenario, tt.changes, tt.has, lines[len(lines)-2])
		}
		exact(t, &spec, whole)
		for n := 1; n < len(lines); n++ {
			cut := bytes.Join(lines[:n], nil)
			if n%4 == 0 {
				cut = cut[:len(cut)-9] // in the middle of the line
			}
			if got, _, _ := resumeFrom(t, spec, cut); !bytes.Equal(got, whole) {
				t.Errorf("%s %v: resumed at line %d: the session differs", tt.scenario, tt.changes, n)
			}
		}
	}
}

// payments is a scenario whose calls have effects outside and may run at once.
const payments = `Three payments at once.
-- scenario.yaml --
schema: harnessbench/scenario/v1
id: payments
summary: three payments in one batch
tools:
- name: pay
  kind: mock
  description: Pays.
  effect: external
  parallel: true
  schema: {type: object, properties: {to: {type: string}}, required: [to]}
  takes: 2s
  responses:
  - {text: "paid ${to}"}
- name: rate
  kind: mock
  description: Says the rate.
  takes: 1s
  responses:
  - {text: "rate 7"}
graders: [{type: contains, want: paid}]
-- instruction.md --
Pay a, b and c.
-- oracle.yaml --
facts: {paid: {in: tool, from: pay, match: 'paid|unknown'}}
rules:
- {id: answer, need: [paid], do: {say: paid}}
- {id: pay, do: {calls: [{tool: rate}, {tool: pay, args: {to: a}}, {tool: pay, args: {to: b}}, {tool: pay, args: {to: c}}]}}
`

// Of the calls that ran when a trial was cut off any may have had its effect: none
// of those with an effect outside is made again. Those of a later wave were not
// begun.
func TestInFlightAtOnce(t *testing.T) {
	sc, err := scenarios.LoadTxtar("payments", []byte(payments))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		most   string
		keep   int // lines behind the last tool.request
		unsure int
	}{{"8", 0, 3}, {"8", 1, 3}, {"8", 2, 2}, {"8", 4, 0}, {"2", 0, 1}, {"2", 1, 1}, {"2", 2, 2}, {"1", 0, 0}, {"1", 1, 1}} {
		spec := trial.Spec{Scenario: sc, Model: "sim/oracle", Arm: "default", Guards: guarded(t, "parallel_tools.most="+tt.most), Seed: 1}
		whole, lines := finished(t, spec)
		exact(t, &spec, whole)
		last := 0
		for i := range lines {
			if bytes.Contains(lines[i], []byte(`"t":"tool.request"`)) {
				last = i + 1
			}
		}
		got, _, _ := resumeFrom(t, spec, bytes.Join(lines[:last+tt.keep], nil))
		if n := bytes.Count(got, []byte(`"outcome":"unknown_outcome"`)); n != tt.unsure {
			t.Errorf("at most %s, cut %d lines behind the requests: %d unknown outcomes, want %d\n%s", tt.most, tt.keep, n, tt.unsure, got)
		}
		exact(t, &spec, got)
	}
}

// scriptedModel plays answers on real time.
type scriptedModel struct{ answers []*model.Response }

func (m *scriptedModel) ID() string { return "real/model" }

func (m *scriptedModel) Generate(_ context.Context, req *model.Request, _ func(model.Delta)) (*model.Response, error) {
	return m.answers[min(req.Turn-1, len(m.answers)-1)], nil
}

// What ran at once in real time is replayed one after the other, exactly.
func TestRealWavesReplay(t *testing.T) {
	type calls = []model.ToolCall
	quotes := calls{}
	for _, c := range []string{"baltica", "norrland", "vistula", "nobody", "hanse"} {
		quotes = append(quotes, model.ToolCall{Name: "freight_quote", Args: `{"carrier":"` + c + `"}`})
	}
	realWaves(t, "one-line-down", quotes)
	realWaves(t, "sealed-fixtures", calls{{Name: "read_file", Args: `{"path":"fixtures/march.csv"}`}, {Name: "list_dir", Args: `{"path":"fixtures"}`},
		{Name: "grep", Args: `{"path":"/workspace","pattern":"refund"}`}, {Name: "read_file", Args: `{"path":"fixtures/none.csv"}`}, {Name: "read_file", Args: `{"path":"fixtures.lock"}`}})
}

func realWaves(t *testing.T, scenario string, calls []model.ToolCall) {
	t.Helper()
	sc, err := builtin.Get(scenario)
	if err != nil {
		t.Fatal(err)
	}
	batch := &model.Response{Finish: model.FinishCalls}
	for _, c := range calls {
		batch.Items = append(batch.Items, model.Item{Type: model.CallItem, Call: c})
	}
	done := &model.Response{Finish: model.FinishStop, Items: []model.Item{{Type: model.Text, Text: "done"}}}
	for _, changes := range [][]string{nil, {"parallel_tools.cancel=1"}, {"parallel_tools.most=2"}, {"parallel_tools=off"}} {
		spec := trial.Spec{Scenario: sc, Model: "real/model", Arm: "default", Guards: guarded(t, append(changes, "acceptance=off")...), Seed: 1}
		provider := func(string, uint64) (model.Model, error) {
			return &scriptedModel{[]*model.Response{batch, batch, done}}, nil
		}
		whole, lines := recordedBy(t, spec, trial.Options{Provider: provider})
		exact(t, &spec, whole)
		for n := 1; n < len(lines)-1; n += 2 { // cut off, and gone on with in real time
			path := filepath.Join(t.TempDir(), "cut"+session.Suffix)
			if err := os.WriteFile(path, bytes.Join(lines[:n], nil), 0o644); err != nil {
				t.Fatal(err)
			}
			rec, err := replayer.Resume(path)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := recordedBy(t, spec, trial.Options{Provider: provider, Drive: rec.Drive})
			rec.Close()
			exact(t, &spec, got)
		}
	}
}
