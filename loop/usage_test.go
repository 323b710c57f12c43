package loop

import (
	"testing"

	"github.com/harnessbench/harnessbench/loop/clock"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
)

// Counts that the provider does not vouch for are not recorded, and reach neither
// answers nor errors of the loop.
func TestUnknownUsageHasNoCounts(t *testing.T) {
	r := &run{Loop: &Loop{deps: Deps{Clock: clock.NewVirtual()}}, guards: guard.NewSet(guard.Settings{}, guard.Backstop{}, guard.Env{})}
	odd := model.Usage{InputUncached: 7, Unknown: true}
	resp, _ := r.heard(&model.Request{}, 0, &model.Response{Usage: odd}, nil)
	_, merr := r.heard(&model.Request{}, 0, nil, &model.Error{Kind: model.ErrServer, Usage: odd})
	if want := (model.Usage{Unknown: true}); resp.Usage != want || merr.Usage != want {
		t.Errorf("answer %+v, error %+v", resp.Usage, merr.Usage)
	}
	if u := (model.Usage{Output: 3}); asRecorded(u) != u {
		t.Error("known usage is changed")
	}
}

// What a provider does not tell has no price, though the model has one.
func TestUnknownUsageHasNoPrice(t *testing.T) {
	c := Config{s: Settings{Prices: map[string]Prices{"p/m": {Output: 5}}}}
	if pico, known := c.cost("p/m", model.Usage{Output: 2}); pico != 10 || !known {
		t.Errorf("%d %v", pico, known)
	}
	if _, known := c.cost("p/m", model.Usage{Output: 2, Unknown: true}); known {
		t.Error("an unknown usage has a price")
	}
}
