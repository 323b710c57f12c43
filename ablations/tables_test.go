package ablations_test

import (
	"bytes"
	"cmp"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/ablations"
	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/results/parquet"
)

const traps = `schema: harnessbench/suite/v1
name: traps
scenarios: [builtin/big-answer, builtin/flaky-endpoint, builtin/truncated-empty, builtin/hang-tool]
models: [sim/weak, sim/strong]
arms: [{name: default}, {name: none, profile: none}]
repetitions: 3
`

// rows are the six tables of a run folder.
type rows struct {
	trials   []results.Trial
	turns    []results.Turn
	models   []results.ModelCall
	tools    []results.ToolCall
	events   []results.GuardEvent
	verdicts []results.Verdict
}

func tables(t *testing.T, dir, runID string) rows {
	t.Helper()
	must(t, ablations.WriteTables(dir, runID))
	folder := filepath.Join(dir, ablations.ParquetDir)
	return rows{
		read[results.Trial](t, folder, parquet.TrialsFile, runID), read[results.Turn](t, folder, parquet.TurnsFile, runID),
		read[results.ModelCall](t, folder, parquet.ModelCallsFile, runID), read[results.ToolCall](t, folder, parquet.ToolCallsFile, runID),
		read[results.GuardEvent](t, folder, parquet.GuardEventsFile, runID), read[results.Verdict](t, folder, parquet.VerdictsFile, runID),
	}
}

func read[T parquet.Row](t *testing.T, folder, name, runID string) []T {
	t.Helper()
	got, id, err := parquet.Read[T](filepath.Join(folder, name))
	must(t, err)
	if id != runID {
		t.Errorf("%s is of run %q, not %q", name, id, runID)
	}
	return got
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestTablesAgree: what the sessions say adds up to what the journal says, row
// by row, and rows stand in canonical order.
func TestTablesAgree(t *testing.T) {
	dir, _, trials := execute(t, traps, nil)
	got := tables(t, dir, trials[0].RunID)
	if len(got.trials) != 48 || !slices.EqualFunc(got.trials, trials, func(a, b results.Trial) bool { return a.Key() == b.Key() && a.SessionDigest == b.SessionDigest }) {
		t.Fatalf("%d trials in the table, %d in the journal", len(got.trials), len(trials))
	}
	c, err := results.ReadJournalFile(filepath.Join(dir, results.JournalFile))
	must(t, err)
	if !slices.Equal(got.events, c.GuardEvents()) || len(got.verdicts) != len(c.Verdicts()) {
		t.Error("guard events or verdicts differ from the journal's")
	}
	for i := range got.trials {
		checkTrial(t, &got.trials[i], &got)
	}
	ordered(t, "turns", got.turns, (*results.Turn).Key, func(r *results.Turn) int { return r.Index })
	ordered(t, "model_calls", got.models, (*results.ModelCall).Key, func(r *results.ModelCall) int { return r.Index })
	ordered(t, "tool_calls", got.tools, (*results.ToolCall).Key, func(r *results.ToolCall) int { return r.Index })
}

func ordered[T any](t *testing.T, name string, list []T, key func(*T) results.TrialKey, index func(*T) int) {
	t.Helper()
	if len(list) == 0 {
		t.Errorf("%s is empty", name)
	}
	for i := 1; i < len(list); i++ {
		a, b := &list[i-1], &list[i]
		if c := cmp.Or(key(a).Compare(key(b)), cmp.Compare(index(a), index(b))); c >= 0 {
			t.Errorf("%s: row %d is not after the one before it", name, i)
		}
	}
}

// checkTrial adds up one trial's rows.
func checkTrial(t *testing.T, trial *results.Trial, all *rows) {
	t.Helper()
	var turns, calls, inTurns, tools, toolsInTurns, firings, firingsInTurns int
	var in, out, outTurns, elapsed, wait, took int64
	var usd, usdTurns float64
	for i := range all.turns {
		if r := &all.turns[i]; r.Key() == trial.Key() {
			turns++
			inTurns, toolsInTurns, firingsInTurns = inTurns+r.ModelCalls, toolsInTurns+r.ToolCalls, firingsInTurns+r.Firings
			outTurns, usdTurns = outTurns+*r.Output, usdTurns+*r.CostUSD
		}
	}
	for i := range all.models {
		if r := &all.models[i]; r.Key() == trial.Key() {
			calls++
			in, out = in+*r.InputUncached, out+*r.Output
			usd += *r.CostUSD
			elapsed, wait = elapsed+*r.ElapsedUS, wait+*r.WaitUS
		}
	}
	for i := range all.tools {
		if r := &all.tools[i]; r.Key() == trial.Key() {
			tools++
			took += *r.TookUS
		}
	}
	for i := range all.events {
		if all.events[i].Key() == trial.Key() {
			firings++
		}
	}
	if turns != trial.Turns || calls != trial.ModelCalls || inTurns != calls || tools != trial.ToolCalls || toolsInTurns != tools || firingsInTurns != firings {
		t.Errorf("%v: %d turns of %d, %d model calls (%d in turns) of %d, %d tool calls (%d in turns) of %d, %d firings (%d in turns)",
			trial.Key(), turns, trial.Turns, calls, inTurns, trial.ModelCalls, tools, toolsInTurns, trial.ToolCalls, firings, firingsInTurns)
	}
	if in != *trial.InputUncached || out != *trial.Output || outTurns != out || elapsed != *trial.ModelUS || wait != *trial.WaitUS || took != *trial.ToolUS {
		t.Errorf("%v: tokens or times of its calls do not add up to the trial's", trial.Key())
	}
	if math.Abs(usd-*trial.CostUSD) > 1e-9 || math.Abs(usdTurns-usd) > 1e-9 {
		t.Errorf("%v: calls cost %v, turns %v, the trial %v", trial.Key(), usd, usdTurns, *trial.CostUSD)
	}
}

// TestTablesTell: what each trap is about can be read from its rows.
func TestTablesTell(t *testing.T) {
	dir, _, trials := execute(t, traps, nil)
	got := tables(t, dir, trials[0].RunID)
	spilled, whole := 0, 0
	for _, r := range got.tools {
		if r.Scenario == "big-answer" && r.ResultBytes > 100_000 {
			if r.Arm == "none" && r.ShownBytes == r.ResultBytes {
				whole++
			}
			if r.Arm == "default" && r.ShownBytes < r.ResultBytes/10 {
				spilled++
			}
		}
		if r.ArgsBytes < 2 || len(r.ArgsDigest) != 32 || r.Tool == "" || r.Outcome == "" || r.CallID == "" || r.Effect == nil {
			t.Errorf("tool call %+v", r)
		}
	}
	if spilled == 0 || whole == 0 {
		t.Errorf("big results: %d spilled, %d shown whole", spilled, whole)
	}
	has := func(what string, ok func(*results.ModelCall) bool) {
		if !slices.ContainsFunc(got.models, func(r results.ModelCall) bool { return ok(&r) }) {
			t.Errorf("no model call %s", what)
		}
	}
	has("was told when to come back", func(r *results.ModelCall) bool {
		return r.Scenario == "flaky-endpoint" && !r.Stood && r.ErrorKind != nil && *r.ErrorKind == "rate_limit" && *r.ErrorStatus == 429 && *r.RetryAfterUS > 0 && *r.WaitUS >= *r.RetryAfterUS
	})
	has("stood at the third attempt", func(r *results.ModelCall) bool { return r.Scenario == "flaky-endpoint" && r.Stood && r.Attempt == 2 })
	has("was dropped for being empty", func(r *results.ModelCall) bool {
		return r.Scenario == "truncated-empty" && !r.Stood && r.ErrorKind == nil && r.Finish != nil && *r.Finish == "length" && *r.Output > 0
	})
	if !slices.ContainsFunc(got.tools, func(r results.ToolCall) bool { return r.Outcome == "timeout" && *r.WantUS > *r.TookUS }) {
		t.Error("no tool call was cut by its deadline")
	}
	for _, r := range got.models {
		if r.Purpose != "turn" || r.Called != r.Model || r.Stood && r.ErrorKind != nil || !r.Stood && r.ErrorKind == nil && *r.Finish != "length" {
			t.Errorf("model call %+v", r)
		}
	}
}

// TestTablesAgain: equal runs give equal bytes, and nothing else is left.
func TestTablesAgain(t *testing.T) {
	dir, _, trials := execute(t, traps, nil)
	other, _, _ := execute(t, traps, nil)
	tables(t, dir, trials[0].RunID)
	tables(t, other, trials[0].RunID)
	tables(t, other, trials[0].RunID)
	entries, err := os.ReadDir(filepath.Join(other, ablations.ParquetDir))
	must(t, err)
	if len(entries) != len(parquet.Files) {
		t.Errorf("%d files; want the six tables", len(entries))
	}
	for _, name := range parquet.Files {
		a, err := os.ReadFile(filepath.Join(dir, ablations.ParquetDir, name))
		must(t, err)
		b, err := os.ReadFile(filepath.Join(other, ablations.ParquetDir, name))
		must(t, err)
		if !bytes.Equal(a, b) {
			t.Errorf("%s differs between two runs", name)
		}
	}
}

// TestTablesUnknown: what the trial's row does not know, its calls do not know.
func TestTablesUnknown(t *testing.T) {
	dir, _, trials := execute(t, traps, nil)
	edit(t, dir, func(e *results.Entry) {
		tr := &e.Trial
		tr.InputUncached, tr.CacheRead, tr.CacheWrite, tr.Output, tr.Reasoning, tr.CostUSD, tr.SpentUSD, tr.SpentTokens = nil, nil, nil, nil, nil, nil, nil, nil
		tr.ModelUS, tr.ToolUS, tr.WaitUS = nil, nil, nil
	})
	got := tables(t, dir, trials[0].RunID)
	for _, r := range got.models {
		if r.InputUncached != nil || r.CacheRead != nil || r.CacheWrite != nil || r.Output != nil || r.Reasoning != nil || r.CostUSD != nil || r.ElapsedUS != nil || r.WaitUS != nil {
			t.Fatalf("model call %+v", r)
		}
	}
	for _, r := range got.turns {
		if r.InputUncached != nil || r.CacheRead != nil || r.CacheWrite != nil || r.Output != nil || r.Reasoning != nil || r.CostUSD != nil || r.AtUS != nil {
			t.Fatalf("turn %+v", r)
		}
	}
	for _, r := range got.tools {
		if r.TookUS != nil || r.WantUS != nil {
			t.Fatalf("tool call %+v", r)
		}
	}
}

// edit writes the journal again, changed.
func edit(t *testing.T, dir string, change func(*results.Entry)) {
	t.Helper()
	path := filepath.Join(dir, results.JournalFile)
	c, err := results.ReadJournalFile(path)
	must(t, err)
	var out bytes.Buffer
	for i := range c.Entries {
		change(&c.Entries[i])
		line, err := c.Entries[i].Encode()
		must(t, err)
		out.Write(line)
	}
	must(t, os.WriteFile(path, out.Bytes(), 0o644))
}

// TestTablesRefuse: an error names what is wrong, and the tables that were there
// stay as they were.
func TestTablesRefuse(t *testing.T) {
	dir, _, trials := execute(t, traps, nil)
	id := trials[0].RunID
	tables(t, dir, id)
	folder := filepath.Join(dir, ablations.ParquetDir)
	before, err := os.ReadFile(filepath.Join(folder, parquet.TurnsFile))
	must(t, err)
	journal, err := os.ReadFile(filepath.Join(dir, results.JournalFile))
	must(t, err)
	first := trials[0].Session
	sessions := filepath.Join(dir, ablations.SessionsDir)
	for _, c := range []struct {
		name, want string
		run        string
		damage     func()
	}{
		{"another run", "not \"another\"", "another", func() {}},
		{"a session that is another trial's", "was changed after the trial", id, func() {
			edit(t, dir, func(e *results.Entry) {
				if e.Trial.Session == first {
					e.Trial.Session = trials[1].Session
				}
			})
		}},
		{"a session outside", "outside the run's sessions folder", id, func() {
			edit(t, dir, func(e *results.Entry) { e.Trial.Session = "../journal.jsonl" })
		}},
		{"a broken journal", "journal.jsonl:1", id, func() {
			must(t, os.WriteFile(filepath.Join(dir, results.JournalFile), []byte("{\n"), 0o644))
		}},
		{"no session", "no such file", id, func() { must(t, os.Rename(filepath.Join(sessions, first), filepath.Join(sessions, "x"))) }},
	} {
		must(t, os.WriteFile(filepath.Join(dir, results.JournalFile), journal, 0o644))
		c.damage()
		if err := ablations.WriteTables(dir, c.run); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v; want %q", c.name, err, c.want)
		}
		after, err := os.ReadFile(filepath.Join(folder, parquet.TurnsFile))
		if err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s: the tables that were there changed", c.name)
		}
		if left, _ := filepath.Glob(filepath.Join(folder, ".*")); len(left) > 0 {
			t.Errorf("%s: left %v", c.name, left)
		}
	}
}

// TestTablesOfLastAnswersAndWaves: the call for a last answer is a row of its last
// turn, with its purpose; calls that ran at once stand with their own times, and
// the trial with what passed.
func TestTablesOfLastAnswersAndWaves(t *testing.T) {
	dir, _, trials := execute(t, `schema: harnessbench/suite/v1
name: last
scenarios: [builtin/last-page, builtin/nine-depots]
models: [sim/oracle]
arms: [{name: default}, {name: none, profile: none}]
repetitions: 1
`, nil)
	got := tables(t, dir, trials[0].RunID)
	asked := map[string]int{}
	for _, r := range got.models {
		if r.Purpose == "final_synthesis" {
			asked[r.Scenario+" "+r.Arm]++
			if r.Turn != 10 || r.Attempt != 0 || !r.Stood || *r.Output == 0 {
				t.Errorf("%+v", r)
			}
		}
	}
	if len(asked) != 1 || asked["last-page default"] != 1 {
		t.Errorf("last answers: %v", asked)
	}
	for i := range got.trials {
		r := &got.trials[i]
		if r.Scenario != "nine-depots" {
			checkTrial(t, r, &got)
			continue
		}
		var sum int64
		for _, c := range got.tools {
			if c.Key() == r.Key() {
				sum += *c.TookUS
			}
		}
		if want := map[string]int64{"default": 95_001_000, "none": sum}[r.Arm]; *r.ToolUS != want || sum < 230_000_000 {
			t.Errorf("%s: %d us in tools, want %d; its calls took %d", r.Arm, *r.ToolUS, want, sum)
		}
	}
}
