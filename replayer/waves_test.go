package replayer_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
	"github.com/harnessbench/harnessbench/scenarios"
)

// mixed is a scenario of tools that read, write beside others, and pay, fail now
// and then, and hang.
const mixed = `Tools of all sorts.
-- scenario.yaml --
schema: harnessbench/scenario/v1
id: mixed
summary: tools of all sorts
limits: {turns: 6, tool_calls: 40, wall: 3m}
tools:
- read_file
- name: look
  kind: mock
  description: Looks.
  schema: {type: object, properties: {n: {type: integer}}}
  takes: 1s
  responses:
  - {when: {n: '^1$'}, text: one, takes: 300ms}
  - {when: {n: '^2$'}, text: two, takes: 2700ms}
  - {when: {n: '^3$'}, error: gone, takes: 900ms}
  - {when: {n: '^4$'}, text: late, takes: 40s}
  - {text: "n ${n}"}
- name: note
  kind: mock
  description: Notes.
  effect: write
  parallel: true
  paths: [path]
  schema: {type: object, properties: {path: {type: string}, n: {type: integer}}, required: [path]}
  takes: 1500ms
  responses:
  - {when: {n: '^4$'}, text: noted, takes: 40s, files: [{path: "late.txt", content: "late"}]}
  - {text: noted, files: [{path: "${n}.txt", content: "n ${n}"}]}
- name: pay
  kind: mock
  description: Pays.
  effect: external
  parallel: true
  schema: {type: object, properties: {n: {type: integer}}}
  takes: 1100ms
  responses: [{text: paid}]
faults:
- {tool: look, kind: flaky, p: 0.2}
- {tool: pay, kind: flaky, p: 0.3}
graders: [{type: contains, want: done}]
-- instruction.md --
Do things.
-- oracle.yaml --
rules: [{id: a, do: {say: done}}]
`

// drawn is a model whose answer depends on the turn and a seed alone.
type drawn struct {
	model.Model
	seed uint64
}

func (d drawn) Generate(_ context.Context, req *model.Request, _ func(model.Delta)) (*model.Response, error) {
	rnd := rand.New(rand.NewPCG(d.seed, uint64(req.Turn)*64+uint64(len(req.Purpose))))
	r := &model.Response{Finish: model.FinishCalls, Usage: model.Usage{InputUncached: 10, Output: 3}, Elapsed: time.Second}
	for range rnd.IntN(7) {
		n := rnd.IntN(6)
		call := model.ToolCall{Name: "look", Args: fmt.Sprintf(`{"n":%d}`, n)}
		switch rnd.IntN(8) {
		case 0:
			call = model.ToolCall{Name: "note", Args: fmt.Sprintf(`{"path":"%d.txt","n":%d}`, n, n)}
		case 1:
			call.Name = "pay"
		case 2:
			call = model.ToolCall{Name: "read_file", Args: `{"path":"/workspace/1.txt"}`}
		case 3:
			call.Name = "lok"
		case 4:
			call.Args = "{"
		}
		r.Items = append(r.Items, model.Item{Type: model.CallItem, Call: call})
	}
	if len(r.Items) == 0 || rnd.IntN(4) == 0 {
		r.Items = append(r.Items, model.Item{Type: model.Text, Text: "done"})
	}
	return r, nil
}

// Whatever runs at once, fails, is cut off or cancelled in it, a session replays
// exactly, and is resumed at any line as if it had never been cut off, but for
// calls with an effect outside that were in flight.
func TestRandomWaves(t *testing.T) {
	sc, err := scenarios.LoadTxtar("mixed", []byte(mixed))
	if err != nil {
		t.Fatal(err)
	}
	var fired, cut, asked int
	for seed := range uint64(24) {
		rnd := rand.New(rand.NewPCG(seed, 9))
		changes := []string{fmt.Sprintf("parallel_tools.most=%d", 1+rnd.IntN(5)), fmt.Sprintf("parallel_tools.cancel=%d", rnd.IntN(2)),
			"parallel_tools=" + []string{"enforce", "enforce", "enforce", "shadow"}[rnd.IntN(4)], "tool_deadline.per_call=" + []string{"1s", "2s", "30s"}[rnd.IntN(3)],
			fmt.Sprintf("limits.calls=%d", 3+rnd.IntN(40)), "no_progress=" + string([]guard.Mode{guard.Off, guard.Enforce}[rnd.IntN(2)]), "budget_notice=enforce"}
		spec := trial.Spec{Scenario: sc, Model: "sim/oracle", Arm: "default", Guards: guarded(t, changes...), Seed: seed}
		odd := func(m model.Model) model.Model { return drawn{m, seed} }
		whole, lines := recordedBy(t, spec, trial.Options{Model: odd})
		exact(t, &spec, whole)
		fired += bytes.Count(whole, []byte(`"act":"parallel"`))
		cut += bytes.Count(whole, []byte(`another call of the batch failed`))
		asked += bytes.Count(whole, []byte(`"act":"ask"`))
		for range 3 {
			n := 1 + rnd.IntN(len(lines)-1)
			got, _, _ := resumeWith(t, spec, bytes.Join(lines[:n], nil), odd)
			if !bytes.Equal(got, whole) && !bytes.Contains(got, []byte("interrupted during this call")) {
				t.Errorf("seed %d, %v: resumed at line %d: the session differs", seed, changes, n)
			}
			exact(t, &spec, got)
		}
		for n := 8; n < len(lines)-1; n += 3 { // driven on without tools: cancelled, in a wave too
			path := filepath.Join(t.TempDir(), "cut"+session.Suffix)
			if err := os.WriteFile(path, bytes.Join(lines[:n], nil), 0o644); err != nil {
				t.Fatal(err)
			}
			drive(t, path, replayer.DriveOptions{})
		}
		if t.Failed() {
			t.Fatalf("seed %d, %v\n%s", seed, changes, whole)
		}
	}
	if fired < 20 || cut < 8 || asked < 2 {
		t.Errorf("%d batches at once, %d calls cancelled, %d last answers: too few to prove anything", fired, cut, asked)
	}
}
