package loop

import (
	"fmt"
	"strings"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/internal/mutant"
	"github.com/harnessbench/harnessbench/loop/model"
)

// synthesise asks once more when turns or time ran out: for the best answer, and
// without tools. The session keeps the reason it ended for; what changes is its
// answer, if one comes.
//
// The request keeps the tool specs among its parts, so that the conversation
// stays append-only; its purpose says that no tool may be called, and an adapter
// sends none. It may pass the deadline, by its own timeout at most.
func (r *run) synthesise() {
	mode := r.guards.Mode("final_synthesis")
	if mode == guard.Off || r.err != nil || r.ctx.Err() != nil || r.turn == 0 || !ranOut(r.stop) || mutant.Is("final_synthesis") {
		return
	}
	if short := r.shortOf(); short != "" {
		r.emit(r.policyFired("final_synthesis", mode, "skip", "skipped: "+short))
		return
	}
	r.emit(r.policyFired("final_synthesis", mode, "ask", string(r.stop.Reason)+": "+r.stop.Evidence))
	if mode != guard.Enforce {
		return
	}
	r.say(model.NewTextPart(model.User, "You have run out of "+scarce(r.stop.Reason)+": no tool can be called any more. "+
		"Give your best final answer now, in plain text, from what you have seen so far. Say what is missing."), "feedback")
	r.takeLast(r.lastCall(time.Duration(r.guards.Param("final_synthesis", "timeout"))))
}

// ranOut reports whether a session ended because turns or time ran out.
func ranOut(s *guard.Stop) bool {
	return s != nil && (s.Reason == event.TurnLimit || s.Reason == event.Deadline)
}

func scarce(reason event.Reason) string {
	if reason == event.Deadline {
		return "time"
	}
	return "turns"
}

// shortOf says which budget would not stand another call as large as the one
// before; "" = none. The whole conversation is asked again, so it takes no less.
func (r *run) shortOf() string {
	tokens, microUSD := r.guards.Budgets()
	used, next := r.usage.Total(), r.spent.usage.Total()
	if tokens > 0 && used+next >= tokens {
		return fmt.Sprintf("token budget, %d of %d used, and the call before took %d", used, tokens, next)
	}
	if pico := microUSD * 1_000_000; microUSD > 0 && r.cost.Pico+r.spent.pico >= pico {
		return fmt.Sprintf("cost budget, %d of %d micro-USD used, and the call before took %d", r.cost.Pico/1_000_000, microUSD, r.spent.pico/1_000_000)
	}
	return ""
}

// spent is what the last model call with any usage took.
type spent struct {
	usage model.Usage
	pico  int64
}

// lastCall makes the call. It is asked once: a failure is not retried.
func (r *run) lastCall(timeout time.Duration) *model.Response {
	req := r.request(r.cfg.s.Params, 0)
	req.Purpose, req.Timeout = model.ForFinalSynthesis, timeout
	r.emit(r.asking(req))
	if r.err != nil {
		return nil
	}
	r.attempts++
	start := r.deps.Clock.Now()
	ctx, cancel := r.deps.Clock.WithTimeout(r.ctx, timeout)
	defer cancel()
	resp, err := r.deps.Model.Generate(ctx, req, nil)
	resp, merr := r.heard(req, start, resp, r.asModelError(ctx, err))
	if merr != nil {
		r.charge(req.Params.Model, merr.Usage)
		r.emit(&event.Attempt{Head: r.head(), Err: merr, Took: merr.Elapsed})
		r.cacheSaid("", merr.CacheFailed, req.Params.Model)
	}
	return resp
}

// takeLast makes the answer's text that of the session; a blank one changes
// nothing. Calls that it asks for all the same are recorded and not run, and are
// no part of the conversation, in which each would need a result.
func (r *run) takeLast(resp *model.Response) {
	if r.err != nil || resp == nil {
		return
	}
	said, calls := make([]model.Item, 0, len(resp.Items)), 0
	for i := range resp.Items {
		if resp.Items[i].Type == model.CallItem {
			calls++
			continue
		}
		said = append(said, resp.Items[i])
	}
	part := model.NewMessagePart(model.Message{Role: model.Assistant, Items: said})
	ev := &event.Response{Head: r.head(), Resp: resp, Part: part, Took: resp.Elapsed}
	ev.Cost = r.charge(resp.Model, resp.Usage)
	r.emit(ev)
	r.cacheSaid(resp.Cache, resp.CacheFailed, resp.Model)
	if calls > 0 {
		r.emit(&event.Anomaly{Head: r.head(), What: fmt.Sprintf("%d tool calls in the final answer, for which no tools were offered; they are not run", calls)})
	}
	if text := model.TextOf(said); strings.TrimSpace(text) != "" {
		r.answer = text
	}
}
