package mutate

import (
	"context"
	"testing"
)

// In sessions whose conversation was compacted every class of change is caught
// too: of the question for a summary, its purpose, what requests keep and add, and
// what was made of it.
func TestCompacted(t *testing.T) {
	paths := record(t, "trail-walk", "ledger-no-summary", "window-is-smaller")
	seen := map[string]bool{}
	res, err := Corpus(context.Background(), paths, Options{Sample: 1, Seed: 1, Jobs: 2, Tried: func(tr *Tried) { seen[tr.Change.Field] = true }})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Missed)+len(res.FalseAlarms)+len(res.Unexplained)+len(res.Unjudged) > 0 {
		t.Errorf("missed %+v\nfalse alarms %+v\nunexplained %v\nunjudged %v", res.Missed, res.FalseAlarms, res.Unexplained, res.Unjudged)
	}
	for _, want := range []string{"request /purpose", "request /keep", "request /add/*", "part /why"} {
		if !seen[want] {
			t.Errorf("%s was not changed", want)
		}
	}
}
