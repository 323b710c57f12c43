package replayer_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
	"github.com/harnessbench/harnessbench/scenarios"
)

// endless is a scenario whose simulated model calls one mock tool in every turn,
// until the turns run out. Its results have size bytes and repeat with a period
// that no guard takes for a loop.
func endless(tb testing.TB, turns, size int) trial.Spec {
	tb.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, `-- scenario.yaml --
schema: harnessbench/scenario/v1
id: endless
summary: one call a turn
limits: {turns: %d, tool_calls: %d}
tools:
- name: fetch
  kind: mock
  description: Fetches the next page.
  takes: 5ms
  cycle: true
  responses:
`, turns, turns)
	for i := range 8 {
		fmt.Fprintf(&b, "  - {text: %q}\n", strings.Repeat(fmt.Sprintf("%d page. ", i), size/8))
	}
	b.WriteString(`graders:
- {type: contains, want: x}
-- instruction.md --
Fetch all pages.
-- oracle.yaml --
rules:
- {id: fetch, do: {tool: fetch, args: {}}}
`)
	sc, err := scenarios.LoadTxtar("endless.txtar", []byte(b.String()))
	if err != nil {
		tb.Fatal(err)
	}
	set := guard.MustProfile(guard.ProfileFull)
	for param, value := range map[string]string{"turns": fmt.Sprint(turns), "calls": fmt.Sprint(turns)} {
		if set, err = set.WithParam("limits", param, value); err != nil {
			tb.Fatal(err)
		}
	}
	if set, err = set.WithParam("run_deadline", "total", "700h"); err != nil {
		tb.Fatal(err)
	}
	for _, g := range []string{"monotony", "goal_reminder"} { // would take it for a loop, and rightly
		if set, err = set.With(g, guard.Off); err != nil {
			tb.Fatal(err)
		}
	}
	sc.Limits.Wall = 700 * time.Hour
	return trial.Spec{Scenario: sc, Model: "sim/oracle", Arm: "full", Guards: set, Seed: 1}
}

// stopwatch notes the real time at each turn's end.
type stopwatch struct{ at []time.Time }

func (s *stopwatch) Emit(ev event.Event) error {
	if _, ok := ev.(*event.State); ok {
		s.at = append(s.at, time.Now())
	}
	return nil
}

var sizes = []struct {
	name  string
	bytes int
}{{"200B", 200}, {"1KiB", 1 << 10}, {"4KiB", 4 << 10}}

// BenchmarkTurn runs sessions of 1,020 turns, all guards on, recorded to a file,
// and reports the time of a turn around turn 10 and around turn 1,000.
func BenchmarkTurn(b *testing.B) {
	for _, size := range sizes {
		b.Run(size.name, func(b *testing.B) {
			spec := endless(b, 1020, size.bytes)
			dir := b.TempDir()
			var early, late time.Duration
			n := 0
			for b.Loop() {
				w := &stopwatch{}
				path := filepath.Join(dir, fmt.Sprintf("%d.session.jsonl", n))
				if _, err := trial.Run(context.Background(), spec, trial.Options{Session: path, Sync: session.SyncNever, Watch: w}); err != nil {
					b.Fatal(err)
				}
				early += w.at[19].Sub(w.at[1])
				late += w.at[1009].Sub(w.at[991])
				n++
				if err := os.Remove(path); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(early.Nanoseconds())/float64(18*n), "ns/turn@10")
			b.ReportMetric(float64(late.Nanoseconds())/float64(18*n), "ns/turn@1000")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(1020*n), "ns/turn")
		})
	}
}

// BenchmarkReplay replays a session of 1,000 turns strictly, with recorded
// tools.
func BenchmarkReplay(b *testing.B) {
	for _, size := range sizes {
		b.Run(size.name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "x.session.jsonl")
			if _, err := trial.Run(context.Background(), endless(b, 1000, size.bytes), trial.Options{Session: path, Sync: session.SyncNever}); err != nil {
				b.Fatal(err)
			}
			n := 0
			for b.Loop() {
				rep, err := replayer.File(context.Background(), path, replayer.Options{})
				if err != nil || rep.Verdict != replayer.Exact || rep.Turns != 1000 {
					b.Fatalf("%+v %v", rep, err)
				}
				n++
			}
			b.ReportMetric(float64(1000*n)/b.Elapsed().Seconds(), "turns/s")
		})
	}
}
