package ablations

import (
	"testing"

	"github.com/harnessbench/harnessbench/loop/model"
)

// Equal requests are one question only at the same place: what an arm asks after
// a refusal, another one may ask first, and a fault strikes one of the two.
func TestAnswersAreSharedAtOnePlace(t *testing.T) {
	base := model.NewRequest(model.Params{Model: "sim/weak"}, nil, []model.Message{*model.NewTextPart(model.User, "Do it.").Message})
	base.Lane, base.Turn = "main", 3
	same := *base
	if keyOf(base) != keyOf(&same) {
		t.Error("equal requests have two keys")
	}
	for name, change := range map[string]func(*model.Request){
		"attempt":    func(r *model.Request) { r.Attempt = 1 },
		"turn":       func(r *model.Request) { r.Turn = 4 },
		"occurrence": func(r *model.Request) { r.Occurrence = 1 },
		"purpose":    func(r *model.Request) { r.Purpose = model.ForSummary },
		"lane":       func(r *model.Request) { r.Lane = "sub" },
	} {
		other := *base
		change(&other)
		if keyOf(base) == keyOf(&other) {
			t.Errorf("another %s has the same key", name)
		}
	}
}
