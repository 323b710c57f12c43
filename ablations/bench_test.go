package ablations_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/harnessbench/harnessbench/ablations"
	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/results/parquet"
)

// BenchmarkStarter runs the starter suite, one repetition, sessions not forced
// to disk, and reports trials a second.
func BenchmarkStarter(b *testing.B) {
	suite, list, err := design.OpenSuite(design.DefaultSuite)
	if err != nil {
		b.Fatal(err)
	}
	suite.Repetitions = 1
	plan, err := design.NewPlan(suite, list)
	if err != nil {
		b.Fatal(err)
	}
	dir, n := b.TempDir(), 0
	for b.Loop() {
		n++
		out := filepath.Join(dir, strconv.Itoa(n))
		if err := os.Mkdir(out, 0o755); err != nil {
			b.Fatal(err)
		}
		if _, err := ablations.Run(context.Background(), plan, ablations.RunOptions{Dir: out, Sync: session.SyncNever}); err != nil {
			b.Fatal(err)
		}
		if err := os.RemoveAll(out); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n*len(plan.Trials))/b.Elapsed().Seconds(), "trials/s")
}

// BenchmarkWriteRun writes the six tables of a run of the starter suite, as its
// trials gave them and twenty times over, and reports rows a second over all of
// them.
func BenchmarkWriteRun(b *testing.B) {
	suite, list, err := design.OpenSuite(design.DefaultSuite)
	if err != nil {
		b.Fatal(err)
	}
	suite.Repetitions = 1
	plan, err := design.NewPlan(suite, list)
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	if _, err := ablations.Run(context.Background(), plan, ablations.RunOptions{Dir: dir, Sync: session.SyncNever}); err != nil {
		b.Fatal(err)
	}
	index, err := results.IndexJournal(filepath.Join(dir, results.JournalFile))
	if err != nil {
		b.Fatal(err)
	}
	trials, err := index.Trials()
	if err != nil {
		b.Fatal(err)
	}
	id := trials[0].RunID
	if err := ablations.WriteTables(dir, id); err != nil {
		b.Fatal(err)
	}
	pq := filepath.Join(dir, ablations.ParquetDir)
	writers := []func(dir string) int{
		again[results.Trial](b, pq, "trials", id), again[results.Turn](b, pq, "turns", id),
		again[results.ModelCall](b, pq, "model_calls", id), again[results.ToolCall](b, pq, "tool_calls", id),
		again[results.GuardEvent](b, pq, "guard_events", id), again[results.Verdict](b, pq, "verdicts", id),
	}
	rows := 0
	for b.Loop() {
		for _, write := range writers {
			rows += write(dir)
		}
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}

// again reads a table and returns what writes it twenty times over.
func again[T parquet.Row](b *testing.B, dir, table, id string) func(dir string) int {
	rows, _, err := parquet.Read[T](filepath.Join(dir, table+".parquet"))
	if err != nil {
		b.Fatal(err)
	}
	return func(dir string) int {
		w, err := parquet.Create[T](filepath.Join(dir, table+".again.parquet"), id)
		if err != nil {
			b.Fatal(err)
		}
		for range 20 {
			if err := w.Write(rows...); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		return 20 * len(rows)
	}
}
