package loop_test

import (
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
)

// A hit is a firing; in shadow what would have been one. What went wrong with the
// cache is a note beside an answer, an error and a dropped answer, and changes
// nothing.
func TestResponseCache(t *testing.T) {
	known := func(use model.CacheUse) func(*model.Response) {
		return func(r *model.Response) { r.Cache, r.CacheFailed = use, "" }
	}
	for _, tt := range []struct {
		mode  string
		use   model.CacheUse
		fired []string
	}{
		{"enforce", model.CacheHit, []string{"guard response_cache enforce hit"}},
		{"shadow", model.CacheKnown, []string{"guard response_cache shadow hit"}},
		{"enforce", model.CacheUnused, nil},
		{"off", model.CacheKnown, nil},
	} {
		tr := newTrial(t, answers(with(say("done"), known(tt.use))), nil, guard.ProfileDefault, "response_cache="+tt.mode)
		tr.wantEnd(t, event.Completed)
		wantLines(t, tr.sink.only("guard"), tt.fired...)
		if len(eventsOf[*event.Anomaly](tr.sink)) != 0 {
			t.Errorf("%s: a note", tt.mode)
		}
	}
	failing := with(say("done"), func(r *model.Response) { r.CacheFailed = "gone" })
	m := answers(&model.Error{Kind: model.ErrServer, Status: 503, CacheFailed: "gone"}, with(truncated(), func(r *model.Response) { r.CacheFailed = "gone" }), failing)
	tr := newTrial(t, m, nil, guard.ProfileDefault, "response_cache=enforce")
	end := tr.wantEnd(t, event.Completed)
	notes := eventsOf[*event.Anomaly](tr.sink)
	if len(notes) != 3 || notes[0].What != "response cache: gone" || end.Answer != "done" || len(tr.sink.only("guard response_cache")) != 0 {
		t.Errorf("%d notes, %v", len(notes), tr.sink.log)
	}
}

// A hit takes no time on the trial's clock, whatever it says.
func TestAHitTakesNoTime(t *testing.T) {
	m := answers(with(say("done"), func(r *model.Response) { r.Cache, r.Usage, r.Elapsed = model.CacheHit, model.Usage{}, time.Hour }))
	end := newTrial(t, m, nil, guard.ProfileDefault, "response_cache=enforce").wantEnd(t, event.Completed)
	if end.At != 0 || end.Usage != (model.Usage{}) || !end.Cost.Known || end.Cost.Pico != 0 {
		t.Errorf("%+v", end)
	}
}
