package loop_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/clock"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
)

type nowhere struct{}

func (nowhere) Emit(event.Event) error { return nil }

// pager asks for another page each turn, of two readers in turn, so that nothing
// repeats and no guard fires. It starts the timer at turn from and stops the session after window
// more turns.
type pager struct {
	b      *testing.B
	from   int
	window int
	cancel context.CancelFunc
	answer model.Response
	item   [1]model.Item
}

var readers = [2]string{"read_page", "read_back"}

func (p *pager) ID() string { return "fake/pager" }

func (p *pager) Generate(_ context.Context, req *model.Request, _ func(model.Delta)) (*model.Response, error) {
	switch req.Turn {
	case p.from:
		p.b.StartTimer()
	case p.from + p.window:
		p.b.StopTimer()
		p.cancel()
	}
	p.item[0] = model.Item{Type: model.CallItem, Call: model.ToolCall{Name: readers[req.Turn%2], Args: fmt.Sprintf(`{"page":%d}`, req.Turn)}}
	p.answer = model.Response{Items: p.item[:], Finish: model.FinishCalls, Usage: model.Usage{InputUncached: 100, Output: 20}, Elapsed: time.Millisecond}
	return &p.answer, nil
}

// BenchmarkTurn is the cost of one turn (one call, 1 KiB result, no recorder)
// around turn 10 and around turn 1,000, under the default profile and with every
// guard on. The two must be about equal: ns/turn is the figure, ns/op is that of
// the whole window.
func BenchmarkTurn(b *testing.B) {
	most := []string{"limits.turns=100000", "limits.calls=100000"}
	b.Run("default", func(b *testing.B) { benchTurns(b, guards(b, guard.ProfileDefault, most...)) })
	b.Run("full", func(b *testing.B) { benchTurns(b, guards(b, guard.ProfileFull, most...)) })
}

func benchTurns(b *testing.B, gs guard.Settings) {
	const window = 100
	page := make([]byte, 1024)
	for i := range page {
		page[i] = "abcdefghijklmnopqrstuvwxyz \n"[i%28]
	}
	read := func(_ context.Context, op *tool.Op) tool.Result {
		return tool.Result{Outcome: event.Success, Text: fmt.Sprint(op.Nth, string(page)), Took: time.Millisecond}
	}
	set, err := tool.NewSet(newTool(readers[0], event.Read, read), newTool(readers[1], event.Read, read))
	if err != nil {
		b.Fatal(err)
	}
	cfg, err := loop.Freeze(loop.Settings{Scenario: "bench", Task: "Read it.", System: "Be brief.", Models: []string{"fake/pager"},
		Params: model.Params{Model: "fake/pager"}, Tools: set.Specs(), Guards: gs, Limits: guard.Backstop{Turns: 100_000, Wall: time.Hour}})
	if err != nil {
		b.Fatal(err)
	}
	for _, from := range []int{10, 1000} {
		b.Run(fmt.Sprintf("at=%d", from), func(b *testing.B) {
			b.ReportAllocs()
			b.StopTimer()
			for range b.N {
				ctx, cancel := context.WithCancel(context.Background())
				m := &pager{b: b, from: from, window: window, cancel: cancel}
				l, err := loop.New(cfg, loop.Deps{Model: m, Tools: set, Run: set, Clock: clock.NewVirtual(), Sink: nowhere{}})
				if err != nil {
					b.Fatal(err)
				}
				if end, err := l.Run(ctx); err != nil || end.Reason != event.CancelledRun || end.Turns != from+window {
					b.Fatalf("%+v %v", end, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*window), "ns/turn")
		})
	}
}
