package loop_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/harnessbench/harnessbench/loop/clock"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
)

// onRealClock runs a trial on a real clock in a bubble of its own time.
func onRealClock(t *testing.T, build func(t *testing.T) *trial, reason event.Reason, check func(t *testing.T, tr *trial, end *event.End)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tr := build(t)
		tr.deps.Clock = clock.NewReal()
		began := time.Now()
		end := tr.wantEnd(t, reason)
		if passed := time.Since(began); end.At > passed {
			t.Errorf("the trial's clock says %s, %s passed", end.At, passed)
		}
		check(t, tr, end)
	})
}

// hang waits for the end of its context.
func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestRealClockCutsAHangingModel(t *testing.T) {
	build := func(give func(context.Context) error) func(t *testing.T) *trial {
		return func(t *testing.T) *trial {
			m := &scripted{answer: func(_ int, ctx context.Context, _ *model.Request) (*model.Response, error) { return nil, give(ctx) }}
			return newTrial(t, m, nil, guard.ProfileDefault, "run_deadline.total=1m", "final_synthesis=off")
		}
	}
	once := func(t *testing.T, tr *trial, end *event.End) {
		if len(tr.model.asked) != 1 || end.At != time.Minute {
			t.Errorf("asked %d times, ended at %s", len(tr.model.asked), end.At)
		}
		if a := eventsOf[*event.Attempt](tr.sink); len(a) != 1 || a[0].Err.Kind != model.ErrDeadline || a[0].Took != time.Minute {
			t.Errorf("%+v", a)
		}
	}
	onRealClock(t, build(hang), event.Deadline, once)
	// One that takes its time to notice: the rest counts for nobody.
	onRealClock(t, build(func(ctx context.Context) error {
		_ = hang(ctx)
		time.Sleep(3 * time.Second)
		return ctx.Err()
	}), event.Deadline, once)
}

func TestRealClockCutsAHangingTool(t *testing.T) {
	for _, tt := range []struct {
		effect event.Effect
		want   event.Outcome
	}{{event.Read, event.Timeout}, {event.Write, event.UnknownOutcome}} {
		onRealClock(t, func(t *testing.T) *trial {
			stuck := newTool("wait", tt.effect, func(ctx context.Context, _ *tool.Op) tool.Result {
				_ = hang(ctx)
				return tool.Result{Outcome: event.Timeout, Text: "my context ended"}
			})
			return newTrial(t, answers(calls("wait"), say("done")), []tool.Tool{stuck}, guard.ProfileDefault, "tool_deadline.per_call=5s")
		}, event.Completed, func(t *testing.T, tr *trial, end *event.End) {
			r := eventsOf[*event.ToolResult](tr.sink)[0]
			if r.Outcome != tt.want || r.Took != 5*time.Second || end.At != 5*time.Second {
				t.Errorf("%s after %s, ended at %s", r.Outcome, r.Took, end.At)
			}
			wantLines(t, tr.sink.only("guard"), "guard tool_deadline enforce timeout")
		})
	}
}

// Declared times do not move a real clock; waits do, exactly.
func TestRealClockWaits(t *testing.T) {
	onRealClock(t, func(t *testing.T) *trial {
		limited := &model.Error{Kind: model.ErrRateLimit, Status: 429, RetryAfter: 7 * time.Second, Elapsed: time.Hour}
		return newTrial(t, answers(limited, say("done")), nil, guard.ProfileDefault)
	}, event.Completed, func(t *testing.T, _ *trial, end *event.End) {
		if end.At != 7*time.Second {
			t.Errorf("ended at %s", end.At)
		}
	})
}

func TestCancelDuringAWait(t *testing.T) {
	onRealClock(t, func(t *testing.T) *trial {
		ctx, cancel := context.WithCancel(t.Context())
		tr := newTrial(t, answers(&model.Error{Kind: model.ErrRateLimit, Status: 429, RetryAfter: time.Minute}), nil, guard.ProfileDefault)
		tr.ctx = ctx
		go func() {
			time.Sleep(time.Second)
			cancel()
		}()
		return tr
	}, event.CancelledRun, func(t *testing.T, tr *trial, _ *event.End) {
		if len(tr.model.asked) != 1 {
			t.Errorf("asked %d times", len(tr.model.asked))
		}
	})
}
