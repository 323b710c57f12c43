package ablations_test

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/harnessbench/harnessbench/ablations"
	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/results"
)

// execute runs a suite given as YAML and returns its trials, in canonical order.
func execute(t *testing.T, yaml string, files map[string]string) (string, ablations.Progress, []results.Trial) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "suite.yaml")
	if err := os.WriteFile(path, []byte(yaml), 0o644); err != nil {
		t.Fatal(err)
	}
	suite, list, err := design.OpenSuite(path)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := design.NewPlan(suite, list)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "run")
	if err := os.Mkdir(out, 0o755); err != nil {
		t.Fatal(err)
	}
	done, err := ablations.Run(context.Background(), plan, ablations.RunOptions{Dir: out, Sync: session.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	c, err := results.ReadJournalFile(filepath.Join(out, results.JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	return out, done, c.Trials()
}

const small = `schema: harnessbench/suite/v1
name: small
scenarios: [builtin/retry-trap, builtin/chat-answer, builtin/flaky-endpoint, builtin/truncated-empty]
models: [sim/weak]
arms: [{name: default}, {name: none, profile: none}]
design: {kind: leave-one-out, base: default, guards: [stuck, acceptance]}
`

func sum(rows []results.Trial, get func(*results.Trial) int64) (n int64) {
	for i := range rows {
		n += get(&rows[i])
	}
	return n
}

func asIf(t *results.Trial) int64 {
	return *t.InputUncached + *t.CacheRead + *t.CacheWrite + *t.Output
}

// Under shared-prefix coupling arms of one repetition pay once for what they
// share; under independent coupling each pays for itself. Pass rates are the same
// in the long run.
func TestCouplings(t *testing.T) {
	const reps = "repetitions: 200\n"
	_, _, shared := execute(t, small+reps+"coupling: shared-prefix\n", nil)
	_, _, independent := execute(t, small+reps+"coupling: independent\n", nil)
	spent := func(t *results.Trial) int64 { return *t.SpentTokens }
	if got, want := sum(independent, spent), sum(independent, asIf); got != want {
		t.Errorf("independent: spent %d tokens, as if %d", got, want)
	}
	share := float64(sum(shared, spent)) / float64(sum(independent, spent))
	t.Logf("shared-prefix spends %.1f %% of the tokens of independent", 100*share)
	if share > 0.6 {
		t.Errorf("shared-prefix spends %.0f %% of the tokens of independent, more than 60 %%", 100*share)
	}
	rates := func(rows []results.Trial) map[string][2]float64 {
		out := map[string][2]float64{}
		for i := range rows {
			k := rows[i].Scenario + " " + rows[i].Arm
			v := out[k]
			v[1]++
			if rows[i].Verdict == results.Pass {
				v[0]++
			}
			out[k] = v
		}
		return out
	}
	a, b := rates(shared), rates(independent)
	for k := range a {
		n := a[k][1]
		p, q := a[k][0]/n, b[k][0]/n
		pooled := (p + q) / 2
		// Four standard errors of a difference of two proportions; 16 cells.
		if bound := 4*math.Sqrt(2*pooled*(1-pooled)/n) + 1e-9; math.Abs(p-q) > bound {
			t.Errorf("%s: pass rate %.3f shared, %.3f independent, more than %.3f apart", k, p, q, bound)
		}
	}
}

// Nothing the model sees and no id names the arm: arms that differ in name only
// have equal sessions, the label apart.
func TestNothingNamesTheArm(t *testing.T) {
	out, _, rows := execute(t, `schema: harnessbench/suite/v1
name: twins
scenarios: [builtin/*]
models: [sim/weak]
arms: [{name: default}, {name: a-very-telling-name}]
`, nil)
	for i := range rows {
		if rows[i].Arm != "default" {
			continue
		}
		name := rows[i].Session
		a := withoutLabels(t, filepath.Join(out, ablations.SessionsDir, name))
		b := withoutLabels(t, filepath.Join(out, ablations.SessionsDir, strings.Replace(name, ".default.", ".a-very-telling-name.", 1)))
		if !bytes.Equal(a, b) {
			t.Errorf("%s: the twin's session differs", name)
		}
		if bytes.Contains(b, []byte("telling")) {
			t.Errorf("%s: the arm's name is in the session", name)
		}
	}
}

func withoutLabels(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = session.Edit(&out, bytes.NewReader(b), func(l *session.Line, emit func(session.Type, []byte) error) error {
		p := l.Payload()
		if l.Type == session.TypeHeader {
			var err error
			if p, err = l.With("/labels", nil); err != nil {
				return err
			}
		}
		return emit(l.Type, p)
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A provider that answers no arm says nothing of the harness: errored, not
// failed. One that a guard gets through to is a provider like others.
func TestProviderDown(t *testing.T) {
	scenario := func(id, faults string) map[string]string {
		return map[string]string{
			id + "/scenario.yaml": "schema: harnessbench/scenario/v1\nid: " + id + "\nsummary: x\ntools: [write_file]\n" +
				"faults: [" + faults + "]\ngraders: [{type: contains, want: done}]\n",
			id + "/instruction.md": "Say done.",
			id + "/oracle.yaml":    "rules: [{id: a, do: {say: done}}]\n",
		}
	}
	suite := func(id string) string {
		return "schema: harnessbench/suite/v1\nname: down\nscenarios: [./" + id + "]\nmodels: [sim/oracle]\n" +
			"arms: [{name: default}, {name: none, profile: none}]\n"
	}
	_, _, rows := execute(t, suite("down"), scenario("down", "{model: true, kind: transport}"))
	for i := range rows {
		if r := &rows[i]; !r.Errored || *r.ErrorClass != results.ErrorProvider || r.Verdict != results.Ungraded || r.Outcome != "model_error" {
			t.Errorf("down: %s: errored %v, %s, %s", r.Arm, r.Errored, r.Verdict, r.Outcome)
		}
	}
	_, _, rows = execute(t, suite("hung"), scenario("hung", "{model: true, kind: hang}"))
	for i := range rows {
		if r := &rows[i]; !r.Errored || *r.ErrorClass != results.ErrorProvider || r.Outcome != "deadline" {
			t.Errorf("hung: %s: errored %v, %s, %s", r.Arm, r.Errored, r.Verdict, r.Outcome)
		}
	}
	_, _, rows = execute(t, suite("shaky"), scenario("shaky", "{model: true, kind: transport, at_attempt: [1]}"))
	for i := range rows {
		want := map[string]string{"default": results.Pass, "none": results.Fail}[rows[i].Arm]
		if r := &rows[i]; r.Errored || r.Verdict != want {
			t.Errorf("shaky: %s: errored %v, %s, want %s", r.Arm, r.Errored, r.Verdict, want)
		}
	}
	_, _, rows = execute(t, suite("locked"), scenario("locked", "{model: true, kind: auth, at_attempt: [1]}"))
	for i := range rows {
		if r := &rows[i]; !r.Errored || *r.ErrorClass != results.ErrorAuth {
			t.Errorf("locked: %s: errored %v %v", r.Arm, r.Errored, r.ErrorClass)
		}
	}
}

// An answer that comes too late was billed all the same: as if and spent agree.
func TestLateAnswerIsBilled(t *testing.T) {
	_, _, rows := execute(t, `schema: harnessbench/suite/v1
name: late
scenarios: [./late]
models: [sim/oracle]
arms: [{name: default}, {name: none, profile: none}]
`, map[string]string{
		"late/scenario.yaml": "schema: harnessbench/scenario/v1\nid: late\nsummary: x\ntools: [write_file]\nlimits: {wall: 10m}\n" +
			"faults: [{model: true, kind: slow, takes: 11m}]\ngraders: [{type: contains, want: done}]\n",
		"late/instruction.md": "Say done.",
		"late/oracle.yaml":    "rules: [{id: a, do: {say: done}}]\n",
	})
	for i := range rows {
		if r := &rows[i]; r.Outcome != "deadline" || asIf(r) == 0 || *r.SpentTokens != asIf(r) {
			t.Errorf("%s: %s, as if %d, spent %d", r.Arm, r.Outcome, asIf(r), *r.SpentTokens)
		}
	}
}

// A budget cuts whole blocks, is never overspent, and ends at the same place in
// every run.
func TestBudgetCutsBlocks(t *testing.T) {
	var first []results.Trial
	for n := range 2 {
		out, done, rows := execute(t, small+"repetitions: 4\nbudgets: {usd: 0.02}\n", nil)
		if done.Cut == 0 || done.Done == 0 || done.Cut+done.Done != done.Planned || done.Done%4 != 0 {
			t.Fatalf("%+v", done)
		}
		var spent float64
		blocks := map[string]int{}
		for i := range rows {
			spent += *rows[i].SpentUSD
			blocks[rows[i].Scenario+rows[i].Model+string(rune('0'+rows[i].Repetition))]++
		}
		if spent > 0.02 {
			t.Errorf("spent %g USD of a budget of 0.02", spent)
		}
		for b, n := range blocks {
			if n != 4 {
				t.Errorf("block %s has %d of 4 arms", b, n)
			}
		}
		cut, err := ablations.ReadCut(out)
		if err != nil || cut.Trials != done.Cut || len(cut.Blocks)*4 != done.Cut || cut.Reason != "budget of 0.02 USD" {
			t.Errorf("%+v %v", cut, err)
		}
		if n == 0 {
			first = rows
		} else if len(first) != len(rows) {
			t.Errorf("%d trials, then %d", len(first), len(rows))
		}
	}
	// Half of what one call could cost: nothing can be begun.
	_, done, rows := execute(t, small+"budgets: {tokens: 10}\n", nil)
	if len(rows) != 0 || done.Cut != done.Planned {
		t.Errorf("%+v, %d rows", done, len(rows))
	}
	// A trial's own budget is a limit of the trial.
	_, _, rows = execute(t, small+"budgets: {trial_usd: 0.0005}\n", nil)
	ended := 0
	for i := range rows {
		if rows[i].Outcome == "cost_budget" {
			ended++
		}
	}
	if ended == 0 {
		t.Error("no trial ended for its own budget")
	}
}

// A run whose journal is lost, and some of its recordings, comes out as it was:
// rows, and what was spent on them, in both couplings.
func TestResumeFromRecordings(t *testing.T) {
	for _, coupling := range []string{design.SharedPrefix, design.Independent} {
		dir := t.TempDir()
		suite, list, err := design.OpenSuite(design.DefaultSuite)
		if err != nil {
			t.Fatal(err)
		}
		suite.Repetitions, suite.Coupling = 1, coupling
		plan, err := design.NewPlan(suite, list)
		if err != nil {
			t.Fatal(err)
		}
		asked := func(o ablations.RunOptions) (int64, []string) {
			var n atomic.Int64
			o.Dir, o.Sync = dir, session.SyncNever
			o.Wrap = func(_ *design.Trial, m model.Model) model.Model { return counting{m, &n} }
			if _, err := ablations.Run(context.Background(), plan, o); err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(filepath.Join(dir, results.JournalFile))
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(string(b), "\n")
			slices.Sort(lines)
			return n.Load(), lines
		}
		calls, want := asked(ablations.RunOptions{})
		if err := os.Remove(filepath.Join(dir, results.JournalFile)); err != nil {
			t.Fatal(err)
		}
		lost := 0
		for i := range plan.Trials {
			if i%5 == 0 {
				lost++
				if err := os.Remove(filepath.Join(dir, ablations.SessionsDir, plan.Trials[i].SessionName())); err != nil {
					t.Fatal(err)
				}
			}
		}
		again, got := asked(ablations.RunOptions{Resume: true})
		if !slices.Equal(got, want) {
			t.Errorf("%s: the journal differs", coupling)
		}
		t.Logf("%s: %d calls, %d again after %d of %d recordings were lost", coupling, calls, again, lost, len(plan.Trials))
		if most := calls / 4; again > most {
			t.Errorf("%s: %d calls were made again, of %d in all", coupling, again, calls)
		}
	}
}

type counting struct {
	model.Model
	n *atomic.Int64
}

func (c counting) Generate(ctx context.Context, req *model.Request, f func(model.Delta)) (*model.Response, error) {
	c.n.Add(1)
	return c.Model.Generate(ctx, req, f)
}
