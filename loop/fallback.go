package loop

import (
	"fmt"
	"slices"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
)

// nextModel asks the policy whether another model of the list is asked in place of
// the one that failed. spent says that retry asks it no more. fired is what to
// record, nil = nothing; a firing in shadow comes once a turn, since what would
// have followed is not known.
func (r *run) nextModel(id string, failed int, spent bool, e *model.Error) (next string, fired *event.Guard) {
	policy, mode := r.guards.Fallback()
	if mode == guard.Off || len(r.cfg.s.Models) < 2 || mode == guard.Shadow && len(r.turned) > 0 {
		return "", nil
	}
	asked := append([]string{r.cfg.s.Models[0]}, r.turned...)
	next, ok := policy.Next(r.cfg.s.Models, asked, failed, spent, e)
	if !ok {
		return "", nil
	}
	r.turned = append(r.turned, next)
	calls := "attempts"
	if failed == 1 {
		calls = "attempt"
	}
	fired = r.policyFired("fallback", mode, "ask_next", fmt.Sprintf("%s: %s after %d %s; asking %s", id, errName(e), failed, calls, next))
	if mode == guard.Shadow {
		next = ""
	}
	return next, fired
}

// paramsFor is how a model is asked after a fallback: with its own params, or where
// it has none with those of the call before. The next turn asks the first model
// again.
func (r *run) paramsFor(id string, cur model.Params) model.Params {
	if own := r.cfg.own(id); own != nil {
		return *own
	}
	cur.Model = id
	return cur
}

// own are the params of a model for fallback; nil where it has none of its own.
func (c *Config) own(id string) *model.Params {
	i := slices.IndexFunc(c.s.Fallbacks, func(p model.Params) bool { return p.Model == id })
	if i < 0 || id == c.s.Params.Model {
		return nil
	}
	return &c.s.Fallbacks[i]
}

// maxTokensOf is max_tokens as configured for a model.
func (c *Config) maxTokensOf(id string) int {
	if own := c.own(id); own != nil {
		return own.MaxTokens
	}
	return c.s.Params.MaxTokens
}
