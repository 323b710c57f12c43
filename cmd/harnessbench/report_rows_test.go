package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/ablations"
	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/results/parquet"
	"github.com/harnessbench/harnessbench/results/report"
)

// bigRun is a finished run of 1,000 scenarios x 2 models x 10 arms x 50 repetitions with a
// leave-one-out family, as far as a report reads it.
var bigRun = report.Meta{RunID: "big-0123456789ab", Suite: "big", Seed: 1, Repetitions: 50, Models: []string{"sim/strong", "sim/weak"}}

var bigGuards = []string{"acceptance", "dedupe", "limits", "retry", "seals", "spill", "stuck", "tool_deadline"}

func init() {
	bigRun.Arms = []string{"default", "none"}
	bigRun.Comparisons = []report.Comparison{{Base: "none", Arm: "default"}, {Base: "none", Arm: "default", BaseModel: "sim/strong", ArmModel: "sim/weak"}}
	for _, g := range bigGuards {
		bigRun.Arms = append(bigRun.Arms, "without-"+g)
		bigRun.Comparisons = append(bigRun.Comparisons, report.Comparison{Guard: g, Base: "without-" + g, Arm: "default"})
	}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// mix is a hash of small numbers.
func mix(n ...int) uint32 {
	h := uint32(2166136261)
	for _, v := range n {
		for range 3 {
			h = (h ^ uint32(v&0xff)) * 16777619
			v >>= 8
		}
		h ^= h >> 13
	}
	return h
}

func bigTrial(scenario, model, arm, rep int) results.Trial {
	num := func(n int64) *int64 { return &n }
	cost, score := float64(1+mix(scenario, model, arm)%1000)/1e5, 0.0
	t := results.Trial{RunID: bigRun.RunID, Suite: "big", Scenario: fmt.Sprintf("scenario-%04d", scenario), ScenarioDigest: strings.Repeat("ab", 32),
		Tags: []string{}, Model: bigRun.Models[model], Simulated: true, Arm: bigRun.Arms[arm], Repetition: rep, Seed: uint64(rep), Outcome: "completed",
		Verdict: results.Fail, Score: &score, Turns: 6, ModelCalls: 6, ToolCalls: 5, InputUncached: num(4000), CacheRead: num(0), CacheWrite: num(0), Output: num(400), Reasoning: num(0),
		CostUSD: &cost, SpentUSD: &cost, SpentTokens: num(4400), ModelUS: num(9_000_000), ToolUS: num(100_000), WaitUS: num(0), SessionDigest: strings.Repeat("cd", 32)}
	t.Session = fmt.Sprintf("%s/%s/%s/%03d.session.jsonl", t.Scenario, t.Model, t.Arm, rep)
	luck, falls := mix(scenario, model, rep)%100, int(mix(scenario, rep)%40)
	pass := luck < 50+uint32(model)*20
	for i, g := range bigGuards {
		c := results.GuardCount{Guard: g, Mode: results.Enforce}
		if arm == 1 || arm == i+2 {
			c.Mode = results.Shadow
		}
		if falls == i {
			one := 1
			c.Fired, c.FirstTurn = 1+int(luck%3), &one
			pass = pass && c.Mode == results.Enforce
		}
		t.Guards = append(t.Guards, c)
	}
	if pass {
		one := 1.0
		t.Verdict, t.Score = results.Pass, &one
	}
	return t
}

// writeBig writes what a report reads of a finished run: the journal's lines are counted,
// and are of the length that entries have.
func writeBig(t testing.TB, dir string, scenarios int) (n int) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Join(dir, ablations.ParquetDir), 0o755))
	f, err := os.Create(filepath.Join(dir, results.JournalFile))
	must(t, err)
	journal := bufio.NewWriterSize(f, 1<<20)
	line := append(bytes.Repeat([]byte{'x'}, 2500), '\n')
	w, err := parquet.Create[results.Trial](filepath.Join(dir, ablations.ParquetDir, parquet.TrialsFile), bigRun.RunID)
	must(t, err)
	for scenario := range scenarios {
		for model := range bigRun.Models {
			for arm := range bigRun.Arms {
				for rep := range bigRun.Repetitions {
					must(t, w.Write(bigTrial(scenario, model, arm, rep)))
					_, err := journal.Write(line)
					must(t, err)
					n++
				}
			}
		}
	}
	must(t, journal.Flush())
	must(t, f.Close())
	must(t, w.Close())
	return n
}

// BenchmarkReportMillion reports on a run of 1,000,000 trials: all statistics, and the
// four forms of the report. It takes 3 GB below TMPDIR and says seconds, and what the process
// ever took of memory, to make the run too.
//
//	go test -run - -bench ReportMillion -benchtime 1x ./cmd/harnessbench
func BenchmarkReportMillion(b *testing.B) {
	dir := b.TempDir()
	n := writeBig(b, dir, 1000)
	for b.Loop() {
		sum, err := sumUpTable(dir, bigRun, nil)
		must(b, err)
		if sum.Trials != n {
			b.Fatalf("%d trials of %d", sum.Trials, n)
		}
		must(b, sum.WriteJSON(io.Discard))
		must(b, sum.WriteMarkdown(io.Discard))
		must(b, sum.WriteText(io.Discard, report.TextOptions{All: true}))
		must(b, printHTML(io.Discard, dir, sum))
	}
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "trials/s")
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys)/(1<<20), "MiB")
}

// TestReportReadsWhatIsCurrent: the table and the journal of a finished run give one
// report; a journal that was written after the table, or has other trials, is read itself.
func TestReportReadsWhatIsCurrent(t *testing.T) {
	dir := t.TempDir()
	journal, err := results.CreateJournal(filepath.Join(dir, results.JournalFile))
	must(t, err)
	var rows []results.Trial
	for scenario := range 3 {
		for arm := range bigRun.Arms {
			for rep := range 2 {
				row := bigTrial(scenario, arm%2, arm, rep)
				must(t, journal.Append(results.Entry{Trial: row}))
				rows = append(rows, row)
			}
		}
	}
	must(t, journal.Close())
	if _, err := sumUpTable(dir, bigRun, nil); err == nil {
		t.Error("there is no table")
	}
	asJSON := func(sum *report.Summary, err error) string {
		t.Helper()
		must(t, err)
		var b bytes.Buffer
		must(t, sum.WriteJSON(&b))
		return b.String()
	}
	want := asJSON(sumUp(dir, bigRun, nil))
	table := filepath.Join(dir, ablations.ParquetDir, parquet.TrialsFile)
	must(t, os.MkdirAll(filepath.Dir(table), 0o755))
	must(t, parquet.WriteTrials(table, bigRun.RunID, rows))
	if got := asJSON(sumUpTable(dir, bigRun, nil)); got != want {
		t.Error("the table gives another report than the journal")
	}
	for name, change := range map[string]func(){
		"fewer rows": func() { must(t, parquet.WriteTrials(table, bigRun.RunID, rows[1:])) },
		"another run": func() {
			other := slices.Clone(rows)
			for i := range other {
				other[i].RunID = "other-0123456789ab"
			}
			must(t, parquet.WriteTrials(table, other[0].RunID, other))
		},
		"damaged": func() { must(t, os.WriteFile(table, []byte("PAR1"), 0o644)) },
		"older": func() {
			must(t, parquet.WriteTrials(table, bigRun.RunID, rows))
			must(t, os.Chtimes(table, time.Unix(1, 0), time.Unix(1, 0)))
		},
	} {
		change()
		if _, err := sumUpTable(dir, bigRun, nil); err == nil {
			t.Errorf("%s: the table was taken for current", name)
		}
		if got := asJSON(sumUp(dir, bigRun, nil)); got != want {
			t.Errorf("%s: the journal was not read", name)
		}
	}
}
