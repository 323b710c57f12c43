package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/internal/mutant"
	"github.com/harnessbench/harnessbench/loop/model"
)

// infer (stage 2) asks the model until an answer stands or a policy gives up.
// Every attempt is an event, with what it was billed and how long the policy
// waits.
func (r *run) infer() {
	r.compact()
	params := r.cfg.s.Params
	r.turned = r.turned[:0]
	var errs, dropped, shrunk int
	if mutant.Is("loop_retry_budget") {
		errs = r.attempts - (r.turn - 1) // those of the turns before are still counted
	}
	for attempt := 0; !r.over(); attempt++ {
		if r.ctx.Err() != nil {
			r.fail(event.CancelledRun, "cancelled")
			return
		}
		allowed := r.checkpoint(event.NextModel, 0, "")
		if r.over() {
			return
		}
		resp, merr := r.ask(params, attempt, allowed.Budget)
		switch {
		case r.err != nil:
			return
		case merr != nil && r.overflowed(params.Model, merr, attempt, shrunk):
			shrunk++
		case merr != nil:
			errs++
			if next := r.retry(params.Model, attempt, errs, merr, allowed.Budget); next != "" {
				params, errs = r.paramsFor(next, params), 0
			}
			if r.wouldAsk(merr, shrunk) {
				shrunk++
			}
		default:
			bigger, again, fired := r.truncatedEmpty(dropped, params, resp)
			if !again {
				r.resp, r.late = resp, fired
				return
			}
			r.charge(resp.Model, resp.Usage)
			r.emit(&event.Attempt{Head: r.head(), N: attempt, Resp: resp, Took: resp.Elapsed, Again: true})
			r.cacheSaid(resp.Cache, resp.CacheFailed, resp.Model)
			r.emit(fired)
			dropped++
			params.MaxTokens = bigger
		}
	}
}

// ask makes one model call and moves the clock by what it took.
func (r *run) ask(params model.Params, attempt int, budget time.Duration) (*model.Response, *model.Error) {
	req := r.pose(params, attempt, budget)
	if r.err != nil {
		return nil, nil
	}
	start := r.deps.Clock.Now()
	ctx, cancel := r.deps.Clock.WithTimeout(r.ctx, budget)
	defer cancel()
	resp, err := r.deps.Model.Generate(ctx, req, nil)
	return r.heard(req, start, resp, r.asModelError(ctx, err))
}

// pose makes the request and records that it is about to be asked.
func (r *run) pose(params model.Params, attempt int, budget time.Duration) *model.Request {
	req := r.request(params, attempt)
	req.Timeout = budget
	ev := r.asking(req)
	r.emit(ev)
	r.consult(ev)
	if r.err == nil {
		r.attempts++
	}
	return req
}

// heard moves the clock by what a call took and makes of its outcome what
// stands: an answer, or an error; an answer that came too late is one.
func (r *run) heard(req *model.Request, start time.Duration, resp *model.Response, merr *model.Error) (*model.Response, *model.Error) {
	if r.err != nil {
		return nil, nil
	}
	if merr == nil && resp == nil {
		merr = &model.Error{Kind: model.ErrProtocol, Message: "the model gave neither an answer nor an error"}
	}
	budget := req.Timeout
	took, want := r.lapse(resp, merr, start, budget)
	if budget > 0 && want > budget {
		late := &model.Error{Kind: model.ErrDeadline, Message: "no answer within " + budget.String()}
		switch { // it was billed all the same
		case merr != nil:
			late.Usage = merr.Usage
		case resp != nil:
			late.Usage = resp.Usage
		}
		merr = late
	}
	if merr != nil {
		e := *merr
		e.Elapsed, e.Usage = took, asRecorded(merr.Usage)
		r.maskError(&e)
		return nil, &e
	}
	out := *resp
	out.Elapsed, out.Items, out.Usage = took, validItems(resp.Items), asRecorded(resp.Usage)
	if out.Model == "" {
		out.Model = req.Params.Model
	}
	r.maskAnswer(&out)
	r.measured(req, out.Usage)
	return &out, nil
}

// validItems returns items whose texts are UTF-8, the given ones where they
// are: what is hashed must be what a recording can hold.
func validItems(items []model.Item) []model.Item {
	fix := func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
	var out []model.Item
	for i := range items {
		it := &items[i]
		if utf8.ValidString(it.Text) && utf8.ValidString(it.Call.Name) && utf8.ValidString(it.Call.Args) {
			continue
		}
		if out == nil {
			out = slices.Clone(items)
		}
		out[i].Text, out[i].Call.Name, out[i].Call.Args = fix(it.Text), fix(it.Call.Name), fix(it.Call.Args)
	}
	if out == nil {
		return items
	}
	return out
}

func declaredBy(resp *model.Response, e *model.Error) time.Duration {
	if e != nil {
		return e.Elapsed
	}
	return resp.Elapsed
}

// asModelError sorts what Generate returned: a model's error, the call's own
// deadline, a cancellation, or a failure of the driver, which ends everything.
func (r *run) asModelError(ctx context.Context, err error) *model.Error {
	if err == nil {
		return nil
	}
	var merr *model.Error
	switch {
	case errors.As(err, &merr):
		return merr
	case r.ctx.Err() != nil:
		return &model.Error{Kind: model.ErrCancelled, Message: "cancelled"}
	case ctx.Err() != nil:
		return &model.Error{Kind: model.ErrDeadline, Message: "the session's time ran out"}
	}
	r.err = fmt.Errorf("model call in turn %d: %w", r.turn, err)
	return nil
}

// retry records a failed attempt and asks the policies what to do about it: ask
// again after a wait, or another model, whose id it returns. errs is how many calls
// of this model have failed in this turn, this one included.
func (r *run) retry(id string, attempt, errs int, e *model.Error, budget time.Duration) (next string) {
	policy, mode := r.guards.Retry()
	wait, again := policy.Next(r.word("jitter", attempt), errs-1, e)
	if budget > 0 {
		// Nobody waits longer than the session lasts: the next checkpoint ends it.
		wait = min(wait, max(budget-e.Elapsed, 0))
	}
	act, evidence := "retry", fmt.Sprintf("%s, wait %s", errName(e), wait)
	if !again {
		act, evidence = "give_up", fmt.Sprintf("%s after %d attempts", errName(e), errs)
	}
	fired := again || mode == guard.Enforce && errs > 1 && guard.Retryable(e)
	if mode != guard.Enforce {
		wait, again = 0, false
	}
	next, turns := r.nextModel(id, errs, !again, e)
	if next != "" {
		fired, wait, again = fired && (act == "give_up" || mode == guard.Shadow), 0, true
	}
	// A call cut by the session's own time is no case for a policy: the guards
	// say so at the next checkpoint.
	expired := e.Kind == model.ErrDeadline
	r.charge(id, e.Usage)
	r.emit(&event.Attempt{Head: r.head(), N: attempt, Err: e, Took: e.Elapsed, Wait: wait, Again: again})
	r.cacheSaid("", e.CacheFailed, id)
	if fired && mode != guard.Off {
		r.emit(r.policyFired("retry", mode, act, evidence))
	}
	if turns != nil {
		r.emit(turns)
	}
	switch {
	case again:
		if err := r.deps.Clock.Sleep(r.ctx, wait); err != nil {
			r.fail(event.CancelledRun, "cancelled")
		}
	case expired:
	case e.Kind == model.ErrCancelled:
		r.fail(event.CancelledRun, "cancelled")
	case e.Kind == model.ErrProtocol:
		r.fail(event.ProtocolError, errName(e))
	default:
		r.fail(event.ModelError, errName(e))
	}
	return next
}

func errName(e *model.Error) string {
	s := string(e.Kind)
	if e.Status != 0 {
		s = fmt.Sprintf("%s (%d)", s, e.Status)
	}
	return s
}

// truncatedEmpty asks its policy whether an answer is dropped and asked again.
// fired is what to record after the answer's own event; nil = nothing.
func (r *run) truncatedEmpty(used int, params model.Params, resp *model.Response) (bigger int, again bool, fired *event.Guard) {
	policy, mode := r.guards.TruncatedEmpty()
	cur := params.MaxTokens
	if mode == guard.Off || !policy.Applies(resp) {
		return cur, false, nil
	}
	bigger, again = policy.Next(used, r.cfg.maxTokensOf(params.Model), cur, resp)
	if !again {
		return cur, false, nil
	}
	fired = r.policyFired("truncated_empty", mode, "ask_again", fmt.Sprintf("max_tokens %d to %d", cur, bigger))
	return bigger, mode == guard.Enforce, fired
}

// policyFired makes the event of a policy's firing.
func (r *run) policyFired(name string, mode guard.Mode, act, evidence string) *event.Guard {
	return &event.Guard{Head: r.head(), Name: name, Version: r.cfg.s.Guards.Version(name), Mode: string(mode), Act: act, Evidence: evidence}
}

// charge adds the usage of one model call to the session's and prices it.
func (r *run) charge(id string, u model.Usage) event.Cost {
	r.usage = r.usage.Add(u)
	if u == (model.Usage{}) {
		return event.Cost{Known: true}
	}
	pico, known := r.cfg.cost(id, u)
	r.cost.Pico += pico
	r.cost.Known = r.cost.Known && known
	r.spent = spent{u, pico}
	return event.Cost{Pico: pico, Known: known}
}
