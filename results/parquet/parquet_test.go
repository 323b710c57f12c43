package parquet

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pq "github.com/parquet-go/parquet-go"

	"github.com/harnessbench/harnessbench/results"
)

func ptr[T any](v T) *T { return &v }

// trials makes n rows that look like a run's: few distinct names, many counts.
func trials(n int) []results.Trial {
	rows := make([]results.Trial, n)
	for i := range rows {
		t := &rows[i]
		*t = results.Trial{
			RunID: "starter-0123456789ab", Suite: "starter", Scenario: fmt.Sprintf("scenario-%02d", i/1300%12),
			ScenarioDigest: strings.Repeat("ab", 32), Tags: []string{"retry", "trap"},
			Model: "sim/weak", Simulated: true, Arm: fmt.Sprintf("without-%d", i/5%13), Repetition: i, Seed: uint64(i%1300+1) * 0x9e3779b97f4a7c15,
			Outcome: "completed", Verdict: results.Pass, Score: ptr(1.0),
			Turns: 3 + i%17, ModelCalls: 4 + i%17, ToolCalls: i % 23,
			InputUncached: ptr(int64(1000 + i*7%5000)), CacheRead: ptr(int64(0)), CacheWrite: ptr(int64(0)), Output: ptr(int64(100 + i%700)),
			CostUSD: ptr(float64(i%9999) / 1e6), SpentUSD: ptr(float64(i%9999) / 1e6), Reasoning: ptr(int64(0)), ModelUS: ptr(int64(i) * 1000 % 7_777_777), ToolUS: ptr(int64(i % 50000)), WaitUS: ptr(int64(0)),
			Session: fmt.Sprintf("scenario-%02d.sim_weak.without-%d.%d.session.jsonl", i/1300%12, i/5%13, i), SessionDigest: digest(i),
			Guards: guardCounts(i, i/5%13),
		}
	}
	return rows
}

// digest is as random as a real one.
func digest(i int) string {
	sum := sha256.Sum256(fmt.Append(nil, i))
	return hex.EncodeToString(sum[:])
}

// guardCounts is what a trial of the starter suite has: eleven guards, one of
// them in shadow, hardly any fired.
func guardCounts(i, arm int) []results.GuardCount {
	names := []string{"acceptance", "empty_response", "limits", "result_ceiling", "retry", "run_deadline", "spill", "stuck", "tool_deadline", "truncated_empty", "unknown_tool"}
	out := make([]results.GuardCount, len(names))
	for g, name := range names {
		out[g] = results.GuardCount{Guard: name, Mode: results.Enforce}
		if arm == g {
			out[g].Mode = results.Shadow
		}
		if i%29 == g {
			out[g].Fired, out[g].FirstTurn = 1+i%3, first(1)
		}
	}
	return out
}

func first(fired int) *int {
	if fired == 0 {
		return nil
	}
	return ptr(2)
}

// realTrial has everything that a simulated one lacks.
func realTrial() results.Trial {
	t := trials(1)[0]
	t.Simulated, t.Model = false, "openai/gpt-x"
	t.StartedAt = ptr(time.Date(2026, 1, 2, 3, 4, 5, 678_000, time.UTC))
	t.EndedAt = ptr(t.StartedAt.Add(90 * time.Second))
	t.HarnessUS, t.SpentUSD, t.Reasoning = ptr(int64(5)), ptr(0.25), ptr(int64(9))
	t.Errored, t.Verdict, t.Score = true, results.Ungraded, nil
	t.ErrorClass, t.ErrorText = ptr("quota"), ptr("429: out of credit")
	t.Seed = 1<<64 - 1
	t.Tags, t.Guards = []string{}, []results.GuardCount{}
	return t
}

func TestTrialsRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), TrialsFile)
	want := append(trials(3000), realTrial())
	if err := WriteTrials(path, want[0].RunID, want); err != nil {
		t.Fatal(err)
	}
	got, id, err := ReadTrials(path)
	if err != nil {
		t.Fatal(err)
	}
	if id != want[0].RunID {
		t.Errorf("run id %q, want %q", id, want[0].RunID)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("rows differ after a round trip (-want +got):\n%s", d)
	}
}

func TestVerdictsAndEventsRoundTrip(t *testing.T) {
	dir := t.TempDir()
	verdicts := []results.Verdict{
		{RunID: "r", Scenario: "s", Model: "m", Arm: "a", Grader: "g", Type: "equals", Version: 1, Primary: true, Verdict: results.Pass, Score: ptr(0.5), Reason: "equal"},
		{RunID: "r", Scenario: "s", Model: "m", Arm: "a", Index: 1, Grader: "h", Type: "regex", Version: 2, Gate: true, Verdict: results.Ungraded, Reason: "timeout", Evidence: "x\ny"},
	}
	if err := WriteVerdicts(filepath.Join(dir, VerdictsFile), "r", verdicts); err != nil {
		t.Fatal(err)
	}
	gotV, _, err := ReadVerdicts(filepath.Join(dir, VerdictsFile))
	if d := cmp.Diff(verdicts, gotV); err != nil || d != "" {
		t.Errorf("verdicts: %v\n%s", err, d)
	}
	events := []results.GuardEvent{{RunID: "r", Scenario: "s", Model: "m", Arm: "a", Lane: "main", Turn: 3, AtUS: 17, Guard: "stuck", Version: 1, Mode: results.Shadow, Act: "nudge", Evidence: "3 equal rounds"}}
	if err := WriteGuardEvents(filepath.Join(dir, GuardEventsFile), "r", events); err != nil {
		t.Fatal(err)
	}
	gotE, _, err := ReadGuardEvents(filepath.Join(dir, GuardEventsFile))
	if d := cmp.Diff(events, gotE); err != nil || d != "" {
		t.Errorf("events: %v\n%s", err, d)
	}
}

func TestEmptyTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), VerdictsFile)
	if err := WriteVerdicts(path, "r", nil); err != nil {
		t.Fatal(err)
	}
	rows, id, err := ReadVerdicts(path)
	if err != nil || len(rows) != 0 || id != "r" {
		t.Errorf("got %d rows, run %q, error %v; want none of run r", len(rows), id, err)
	}
}

func TestEqualRowsEqualBytes(t *testing.T) {
	var first bytes.Buffer
	for i := range 20 { // many times: an order of a map would show
		var w bytes.Buffer
		must(t, encode(&w, "starter-0123456789ab", append(trials(2000), realTrial())))
		if i == 0 {
			first = w
		} else if !bytes.Equal(first.Bytes(), w.Bytes()) {
			t.Fatal("two writes of equal rows differ")
		}
	}
}

// TestSchema pins what readers in other languages see.
func TestSchema(t *testing.T) {
	for table, schema := range map[string]*pq.Schema{
		"trials": pq.SchemaOf(new(results.Trial)), "turns": pq.SchemaOf(new(results.Turn)), "model_calls": pq.SchemaOf(new(results.ModelCall)),
		"tool_calls": pq.SchemaOf(new(results.ToolCall)), "verdicts": pq.SchemaOf(new(results.Verdict)), "guard_events": pq.SchemaOf(new(results.GuardEvent)),
	} {
		golden(t, filepath.Join("testdata", table+".schema"), schema.String()+"\n")
	}
}

func TestLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	if err := WriteTrials(filepath.Join(dir, TrialsFile), "another", trials(1)); err == nil || !strings.Contains(err.Error(), "not \"another\"") {
		t.Errorf("rows of another run: error %v", err)
	}
	if err := WriteTrials(filepath.Join(dir, "absent", TrialsFile), trials(1)[0].RunID, trials(1)); err == nil {
		t.Error("a folder that is not there: no error")
	}
	if err := WriteTrials(filepath.Join(dir, TrialsFile), trials(1)[0].RunID, trials(1)); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("folder holds %v, %v; want the one table", entries, err)
	}
}

func TestForeignFiles(t *testing.T) {
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole")
	if err := WriteTrials(whole, trials(1)[0].RunID, trials(500)); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	var foreign, verdicts, thin bytes.Buffer
	type point struct{ X, Y int }
	type thinTrial struct {
		RunID string `parquet:"run_id"`
	}
	must(t, pq.Write(&foreign, []point{{1, 2}}))
	must(t, encode(&verdicts, "r", []results.Verdict{}))
	must(t, pq.Write(&thin, []thinTrial{{"r"}}, options("trials", "r")...))
	for _, c := range []struct {
		name, want string
		data       []byte
	}{
		{"empty", "not a Parquet file", nil},
		{"text", "not a Parquet file", []byte("scenario,model\n")},
		{"cut", "not a Parquet file", good[:len(good)/2]},
		{"foreign", "no table of harnessbench", foreign.Bytes()},
		{"other table", `is the table "verdicts/1"; want "trials/1"`, verdicts.Bytes()},
		{"thin", "column [suite] is missing", thin.Bytes()},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(dir, "f")
			must(t, os.WriteFile(path, c.data, 0o644))
			_, _, err := ReadTrials(path)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v; want the path and %q", err, c.want)
			}
		})
	}
}

// FuzzReadTrials flips bytes of a good file: an error or rows, never a crash.
func FuzzReadTrials(f *testing.F) {
	var b bytes.Buffer
	if err := encode(&b, "r", trials(20)); err != nil {
		f.Fatal(err)
	}
	f.Add(uint16(0), byte(0))
	f.Add(uint16(200), byte(0xff))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, at uint16, x byte) {
		data := bytes.Clone(b.Bytes())
		data[int(at)%len(data)] ^= x
		path := filepath.Join(dir, fmt.Sprintf("%d.parquet", os.Getpid()))
		must(t, os.WriteFile(path, data, 0o644))
		_, _, _ = ReadTrials(path)
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// encode writes rows to w as one table.
func encode[T Row](w io.Writer, runID string, rows []T) error {
	e := newEncoder[T](w, runID)
	return errors.Join(e.write(rows), e.close())
}
