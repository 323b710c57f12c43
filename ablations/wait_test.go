package ablations_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/ablations"
	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/scenarios"
)

// slowModel takes a second of real time for every answer.
type slowModel struct {
	model.Model
	waiting *atomic.Int64
}

func (m slowModel) Generate(ctx context.Context, req *model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	m.waiting.Add(1)
	defer m.waiting.Add(-1)
	t := time.NewTimer(time.Second)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return m.Model.Generate(ctx, req, onDelta)
}

// waiters is a plan of n trials, each of which asks its model calls times.
func waiters(b testing.TB, n, calls int) *design.Plan {
	var text strings.Builder
	text.WriteString("-- scenario.yaml --\nschema: harnessbench/scenario/v1\nid: wait\nsummary: one call a turn\n" +
		"limits: {turns: " + strconv.Itoa(calls) + ", tool_calls: 1000}\ntools:\n- {name: fetch, kind: mock, description: Fetches., cycle: true, responses: [")
	for i := range 8 {
		text.WriteString("{text: page " + strconv.Itoa(i) + "}, ")
	}
	text.WriteString("]}\ngraders: [{type: contains, want: x}]\n-- instruction.md --\nFetch.\n-- oracle.yaml --\nrules: [{id: f, do: {tool: fetch, args: {}}}]\n")
	sc, err := scenarios.LoadTxtar("wait.txtar", []byte(strings.Replace(text.String(), ", ]}", "]}", 1)))
	if err != nil {
		b.Fatal(err)
	}
	suite, err := design.ParseSuite("wait.yaml", []byte("schema: harnessbench/suite/v1\nname: wait\nscenarios: [builtin/*]\nmodels: [sim/oracle]\n"+
		"arms: [{name: default}]\nrepetitions: "+strconv.Itoa(n)+"\ncoupling: independent\nconcurrency: "+strconv.Itoa(n)+"\n"))
	if err != nil {
		b.Fatal(err)
	}
	plan, err := design.NewPlan(suite, []*scenarios.Scenario{sc})
	if err != nil {
		b.Fatal(err)
	}
	return plan
}

// BenchmarkWaiting runs 10,000 trials at a time on models that take a second a
// call, and reports the wall time against the ideal (as many seconds as calls),
// and what a waiting trial holds when its conversation is longest.
func BenchmarkWaiting(b *testing.B) {
	for _, calls := range []int{20, 25, 40} {
		b.Run(strconv.Itoa(calls)+"calls", func(b *testing.B) { wait(b, 10_000, calls) })
	}
}

func wait(b *testing.B, trials, calls int) {
	plan := waiters(b, trials, calls)
	var waiting atomic.Int64
	dir, n := b.TempDir(), 0
	var most, files int64
	var rss float64
	base := resident()
	for b.Loop() {
		n++
		out := filepath.Join(dir, strconv.Itoa(n))
		if err := os.Mkdir(out, 0o755); err != nil {
			b.Fatal(err)
		}
		stop := make(chan struct{})
		go func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(500 * time.Millisecond):
				}
				if w := waiting.Load(); w > most {
					most = w
				}
				rss = max(rss, resident()-base)
				files = max(files, openFiles())
			}
		}()
		_, err := ablations.Run(context.Background(), plan, ablations.RunOptions{Dir: out, Sync: session.SyncNever, Live: true,
			Wrap: func(_ *design.Trial, m model.Model) model.Model { return slowModel{m, &waiting} }})
		close(stop)
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(n)/float64(calls), "wall/ideal")
	b.ReportMetric(float64(most), "waiting")
	b.ReportMetric(rss/1024/float64(trials), "KiB/trial")
	b.ReportMetric(float64(files), "open-files")
}

// resident is the process's resident memory in bytes; where the system does not
// say, what the runtime holds.
func resident() float64 {
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		if f := strings.Fields(string(b)); len(f) > 1 {
			if pages, err := strconv.ParseFloat(f[1], 64); err == nil {
				return pages * float64(os.Getpagesize())
			}
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.Sys)
}

func openFiles() int64 {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return int64(len(entries))
}
