package loop

import (
	"fmt"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/internal/mutant"
	"github.com/harnessbench/harnessbench/loop/model"
)

// cacheSaid records what a response cache had to do with a model call: a firing for
// an answer that it knew, and what went wrong with it, which changed nothing.
func (r *run) cacheSaid(use model.CacheUse, failed, id string) {
	if use != model.CacheUnused {
		if mode := r.guards.Mode("response_cache"); mode != guard.Off && !mutant.Is("response_cache") {
			r.emit(r.policyFired("response_cache", mode, "hit", fmt.Sprintf("this request to %s was answered before", id)))
		}
	}
	if failed != "" {
		r.emit(&event.Anomaly{Head: r.head(), What: "response cache: " + failed})
	}
}

// lapse moves the clock by what a call took. An answer from a cache took no time of
// the trial.
func (r *run) lapse(resp *model.Response, merr *model.Error, start, budget time.Duration) (took, want time.Duration) {
	if merr == nil && resp.Cache == model.CacheHit {
		return r.deps.Clock.Declare(start, 0, budget)
	}
	return r.deps.Clock.Lapse(start, declaredBy(resp, merr), budget)
}
