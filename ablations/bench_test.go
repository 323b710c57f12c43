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
