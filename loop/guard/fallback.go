package guard

import (
	"slices"

	"github.com/harnessbench/harnessbench/loop/internal/mutant"
	"github.com/harnessbench/harnessbench/loop/model"
)

// Fallback is the policy for a model that keeps failing: the next one of a list is
// asked in its place, for the rest of the turn. The zero Fallback never does.
type Fallback struct {
	Models int // other models that one turn may turn to
	After  int // failed calls after which retry is not waited for; 0 = retry decides
}

func newFallback(v []int64) Fallback { return Fallback{int(v[0]), int(v[1])} }

// Next names the model of list that is asked next. asked are those that this turn
// has asked, the one that failed last; failed is how many of its calls did, e the
// error of the last one, and spent says that retry asks it no more. No model is
// asked again in one turn, so a list that names one twice ends all the same.
//
// Other models are no remedy where the caller gave up, the time ran out or what
// came was no answer of a model. A request that is too large is a case for
// context_overflow; where that is done with it, or off, another model may have a
// larger window.
func (f Fallback) Next(list, asked []string, failed int, spent bool, e *model.Error) (next string, ok bool) {
	switch e.Kind {
	case model.ErrCancelled, model.ErrDeadline, model.ErrProtocol:
		return "", false
	}
	if !spent && (f.After == 0 || failed < f.After) || len(asked) > f.Models {
		return "", false
	}
	for _, id := range list {
		if !slices.Contains(asked, id) {
			if mutant.Is("fallback") {
				id = list[0]
			}
			return id, true
		}
	}
	return "", false
}
