package parquet

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	pq "github.com/parquet-go/parquet-go"

	"github.com/harnessbench/harnessbench/results"
)

func turn(rep, index int) results.Turn {
	return results.Turn{RunID: "r", Scenario: "s", Model: "m", Arm: "a", Repetition: rep, Index: index, Lane: "main", Turn: index + 1, ModelCalls: 2, Output: ptr(int64(7)), CostUSD: ptr(0.5)}
}

// TestSessionTablesRoundTrip: known and unknown values come back as they were.
func TestSessionTablesRoundTrip(t *testing.T) {
	dir := t.TempDir()
	roundTrip(t, dir, TurnsFile, []results.Turn{turn(0, 0), {RunID: "r", Scenario: "s", Model: "m", Arm: "a"}})
	roundTrip(t, dir, ModelCallsFile, []results.ModelCall{
		{RunID: "r", Scenario: "s", Model: "m", Arm: "a", Purpose: "turn", Called: "m", ErrorKind: ptr("rate_limit"), ErrorStatus: ptr(429), RetryAfterUS: ptr(int64(2e6)), ElapsedUS: ptr(int64(0)), WaitUS: ptr(int64(3))},
		{RunID: "r", Scenario: "s", Model: "m", Arm: "a", Index: 1, Purpose: "final_synthesis", Stood: true, Finish: ptr("stop"), InputUncached: ptr(int64(0)), CostUSD: ptr(0.0)},
	})
	roundTrip(t, dir, ToolCallsFile, []results.ToolCall{
		{RunID: "r", Scenario: "s", Model: "m", Arm: "a", CallID: "call_1", Tool: "grep", Version: ptr(1), Effect: ptr("read"), Outcome: "success", Exit: ptr(0), Changes: 2, ArgsBytes: 2, ArgsDigest: "00", TookUS: ptr(int64(1)), WantUS: ptr(int64(2))},
		{RunID: "r", Scenario: "s", Model: "m", Arm: "a", Index: 1, Tool: "gerp", Outcome: "unknown_or_disabled_tool"},
	})
}

func roundTrip[T Row](t *testing.T, dir, name string, want []T) {
	t.Helper()
	path := filepath.Join(dir, name)
	must(t, Write(path, "r", want))
	got, id, err := Read[T](path)
	if d := cmp.Diff(want, got); err != nil || d != "" || id != "r" {
		t.Errorf("%s of run %q: %v\n%s", name, id, err, d)
	}
}

// TestStream: many small writes give the bytes of one large one, over several
// row groups.
func TestStream(t *testing.T) {
	dir := t.TempDir()
	rows := make([]results.Turn, rowGroup+1000)
	for i := range rows {
		rows[i] = turn(i/100, i%100)
	}
	whole, pieces := filepath.Join(dir, "whole"), filepath.Join(dir, "pieces")
	must(t, Write(whole, "r", rows))
	w, err := Create[results.Turn](pieces, "r")
	must(t, err)
	for i := 0; i < len(rows); i += 64 {
		must(t, w.Write(rows[i:min(i+64, len(rows))]...))
	}
	must(t, w.Close())
	a, err := os.ReadFile(whole)
	must(t, err)
	b, err := os.ReadFile(pieces)
	must(t, err)
	if !bytes.Equal(a, b) {
		t.Error("the number of rows per write shows in the file")
	}
	n, batches := 0, 0
	if _, err := Scan(pieces, func(batch []results.Turn) error { n += len(batch); batches++; return nil }); err != nil || n != len(rows) || batches < 2 {
		t.Errorf("%d rows in %d batches, %v", n, batches, err)
	}
}

// TestWriterLeavesRowsAsTheyWere: trials are changed while they are written.
func TestWriterLeavesRowsAsTheyWere(t *testing.T) {
	rows := trials(600)
	must(t, WriteTrials(filepath.Join(t.TempDir(), TrialsFile), rows[0].RunID, rows))
	if d := cmp.Diff(trials(600), rows); d != "" {
		t.Error(d)
	}
}

func TestWriterEnds(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, TurnsFile)
	w, err := Create[results.Turn](path, "r")
	must(t, err)
	must(t, w.Write(turn(0, 0)))
	if _, err := os.Stat(path); err == nil {
		t.Error("a file that is not finished has its name")
	}
	must(t, w.Abort())
	must(t, w.Abort())
	if err := w.Write(turn(0, 1)); err == nil {
		t.Error("write after abort: no error")
	}
	if err := w.Close(); err == nil {
		t.Error("close after abort: no error")
	}
	if w, err = Create[results.Turn](path, "r"); err != nil {
		t.Fatal(err)
	}
	must(t, w.Write(turn(0, 0)))
	must(t, w.Close())
	must(t, w.Abort())
	if err := w.Close(); err == nil {
		t.Error("closed twice: no error")
	}
	other := turn(0, 1)
	other.RunID = "q"
	if w, err = Create[results.Turn](path, "r"); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(turn(0, 0), other); err == nil || !strings.Contains(err.Error(), `row 1 is of run "q"`) {
		t.Errorf("a row of another run: error %v", err)
	}
	if err := w.Close(); err == nil {
		t.Error("close after an error: no error")
	}
	rows, _, err := Read[results.Turn](path)
	if entries, _ := os.ReadDir(dir); err != nil || len(rows) != 1 || len(entries) != 1 {
		t.Errorf("%d rows, %d files, %v; want what was finished and nothing else", len(rows), len(entries), err)
	}
}

// TestMetadata: table, version and run, and nothing that could differ between
// two runs.
func TestMetadata(t *testing.T) {
	path := filepath.Join(t.TempDir(), TurnsFile)
	must(t, Write(path, "r", []results.Turn{turn(0, 0)}))
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	st, err := f.Stat()
	must(t, err)
	pf, err := pq.OpenFile(f, st.Size())
	must(t, err)
	meta := pf.Metadata()
	got := map[string]string{}
	for _, kv := range meta.KeyValueMetadata {
		got[kv.Key] = kv.Value
	}
	want := map[string]string{"harnessbench.schema": "turns/1", "harnessbench.run_id": "r"}
	if d := cmp.Diff(want, got); d != "" || meta.CreatedBy != "harnessbench version 1" && !strings.HasPrefix(meta.CreatedBy, "harnessbench version 1(") {
		t.Errorf("created by %q\n%s", meta.CreatedBy, d)
	}
}

// TestReadDataset: a folder of runs reads as one table.
func TestReadDataset(t *testing.T) {
	root := t.TempDir()
	for _, run := range []string{"two", "one"} {
		dir := filepath.Join(root, run, "parquet")
		must(t, os.MkdirAll(dir, 0o755))
		r := turn(0, 0)
		r.RunID = run
		must(t, Write(filepath.Join(dir, TurnsFile), run, []results.Turn{r}))
		must(t, WriteTrials(filepath.Join(dir, TrialsFile), "starter-0123456789ab", trials(3)))
	}
	turns, err := ReadDataset[results.Turn](root)
	if err != nil || len(turns) != 2 || turns[0].RunID != "one" || turns[1].RunID != "two" {
		t.Errorf("%+v, %v", turns, err)
	}
	all, err := ReadDataset[results.Trial](root)
	if err != nil || len(all) != 6 || len(all[0].Guards) != 11 {
		t.Errorf("%d trials, %v", len(all), err)
	}
	if _, err := ReadDataset[results.ToolCall](root); err == nil || !strings.Contains(err.Error(), "no tool_calls.parquet below") {
		t.Errorf("no such table: error %v", err)
	}
	if _, err := ReadDataset[results.Turn](filepath.Join(root, "absent")); err == nil {
		t.Error("no such folder: no error")
	}
}
