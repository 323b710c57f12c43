package loop

import (
	"strings"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/internal/mutant"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/prompt"
	"github.com/harnessbench/harnessbench/loop/tool"
)

// mayStart asks the exit conditions of a turn's start: deadline, turn limit,
// tool-call limit, token and cost budget. An accepted end on the last turn never
// gets here.
func (r *run) mayStart() bool {
	if r.ctx.Err() != nil {
		r.fail(event.CancelledRun, "cancelled")
	}
	if r.over() {
		return false
	}
	r.checkpoint(event.NextTurn, 0, "")
	if r.over() {
		r.checked = false // what was checked a turn ago is not behind this end
	}
	return !r.over()
}

// checkpoint consults the guards before a turn, a model call or a tool call and
// returns what the call may take, 0 = unbounded.
func (r *run) checkpoint(next event.Next, index int, effect event.Effect) guard.Result {
	c := &event.Checkpoint{Head: r.head(), Next: next, Index: index, Effect: effect,
		Turns: r.turn, Calls: r.calls, Usage: r.usage, Cost: r.cost}
	r.emit(c)
	return r.consult(c)
}

// assemble (stage 1) opens the turn. The conversation is append-only: what the
// turns before left is the request.
func (r *run) assemble() {
	r.turn++
	r.resp, r.late, r.ids, r.batch, r.ops = nil, nil, nil, r.batch[:0], r.ops[:0]
	r.feedback, r.accepted, r.checked, r.goOn = nil, false, false, false
}

// request makes the question as it stands now.
func (r *run) request(params model.Params, attempt int) *model.Request {
	parts, chains := r.script.View()
	digest := r.cfg.params
	if params != r.cfg.s.Params {
		digest = params.Digest()
	}
	return &model.Request{
		Params: params, ParamsDigest: digest, Parts: parts, Chains: chains, Count: r.script.Len(),
		Lane: r.lane, Turn: r.turn, Attempt: attempt,
		Occurrence: r.asked.next(chains[len(chains)-1], digest),
	}
}

// parse (stage 3) looks at the items, never only at the stop signal. Calls get
// ids of the loop's own, whatever the model called them; each is resolved,
// validated and made canonical.
func (r *run) parse() {
	if r.resp == nil || r.err != nil {
		return
	}
	items := make([]model.Item, len(r.resp.Items))
	copy(items, r.resp.Items)
	for i := range items {
		if items[i].Type == model.CallItem {
			items[i].Call.ID = r.callID(len(r.ids))
			r.ids = append(r.ids, items[i].Call.ID)
			r.ops = append(r.ops, r.prepare(items[i].Call, r.resp.Finish))
			r.batch = append(r.batch, event.ToolRequest{Call: items[i].Call})
		}
	}
	if text := model.TextOf(items); strings.TrimSpace(text) != "" {
		r.answer = text
	}
	part := model.NewMessagePart(model.Message{Role: model.Assistant, Items: items})
	ev := &event.Response{Head: r.head(), Resp: r.resp, Part: part, Took: r.resp.Elapsed}
	ev.Cost = r.charge(r.resp.Model, r.resp.Usage)
	r.emit(ev)
	r.cacheSaid(r.resp.Cache, r.resp.CacheFailed, r.resp.Model)
	if r.late != nil {
		r.emit(r.late)
	}
	r.append(part, prompt.Talk, prompt.Loose)
	r.anomalies()
	r.repaired()
	for i := range r.batch {
		op := &r.ops[i]
		r.batch[i] = event.ToolRequest{Head: r.head(), Index: i, Call: r.batch[i].Call, Version: op.Version,
			Args: op.Args, Digest: op.Digest, Effect: op.Effect, Resources: op.Resources,
			Problem: op.Problem, Detail: op.Detail}
	}
}

// anomalies records contradictions between stop signal and items. The items
// count.
func (r *run) anomalies() {
	switch {
	case len(r.ids) > 0 && r.resp.Finish != model.FinishCalls:
		r.emit(&event.Anomaly{Head: r.head(), What: "finish " + string(r.resp.Finish) + " with tool calls; the calls are handled"})
	case len(r.ids) == 0 && r.resp.Finish == model.FinishCalls:
		r.emit(&event.Anomaly{Head: r.head(), What: "finish tool_calls without a tool call"})
	}
}

// authorise (stage 4) decides on the canonical operation. An operation whose
// outcome is unknown may not be issued again as it is. Every call of the batch
// has its request recorded before the first one runs.
func (r *run) authorise() {
	if r.err != nil {
		return
	}
	for i := range r.batch {
		req := &r.batch[i]
		if _, unknown := r.limbo[req.Digest]; unknown && req.Problem == event.NoProblem {
			req.Problem, req.Detail = event.ProblemDenied, event.InLimbo
		}
		r.narrow(req)
		held := r.permit(req)
		r.emit(req)
		r.tell(held)
	}
}

// execute (stage 5) runs the batch: at once where it may, else serially. Once a
// stop is due the remaining calls are cancelled: each still gets its result.
func (r *run) execute() {
	if r.parallel() {
		return
	}
	var took []time.Duration
	shadow := r.guards.Mode("parallel_tools") == guard.Shadow
	for i := range r.batch {
		if r.err != nil {
			return
		}
		o, ran := r.perform(i)
		if r.result(i, o); ran && shadow {
			took = append(took, o.Took)
		}
	}
	if shadow {
		r.shadowed(took)
	}
}

// perform gives call i its one terminal outcome, and reports whether it was run.
func (r *run) perform(i int) (o outcome, ran bool) {
	if r.ctx.Err() != nil {
		r.fail(event.CancelledRun, "cancelled")
	}
	op, o := r.admit(i)
	if op == nil {
		return o, false
	}
	return r.timed(&r.batch[i], op), true
}

// admit decides whether call i may run and counts it; op is nil and the outcome
// stands where it may not.
func (r *run) admit(i int) (op *tool.Op, o outcome) {
	req := &r.batch[i]
	if r.over() {
		return nil, outcome{Result: tool.Result{Outcome: event.Cancelled, Text: event.NotRun}}
	}
	if req.Problem != event.NoProblem {
		return nil, outcome{Result: tool.Result{Outcome: event.Outcome(req.Problem), Text: req.Detail}}
	}
	if _, unknown := r.limbo[req.Digest]; unknown { // since an earlier call of this very batch
		return nil, outcome{Result: tool.Result{Outcome: event.PermissionDenied, Text: event.InLimbo}}
	}
	if r.lapsed(req) {
		return nil, outcome{Result: tool.Result{Outcome: event.ApprovalRequired, Text: event.Lapsed}}
	}
	allowed := r.checkpoint(event.NextTool, i, req.Effect)
	if r.over() {
		return nil, outcome{Result: tool.Result{Outcome: event.Cancelled, Text: event.NotRun}}
	}
	nth := r.nth[req.Call.Name]
	r.nth[req.Call.Name] = nth + 1
	r.calls++
	return &tool.Op{ID: req.Call.ID, Lane: r.lane, Turn: r.turn, Index: i, Nth: nth,
		Name: req.Call.Name, Args: req.Args, Deadline: allowed.Budget}, o
}

// commit (stage 6) closes the batch: one result per request stands in the
// transcript, in call order.
func (r *run) commit() {
	if r.err != nil || r.resp == nil {
		return
	}
	r.version++
	if len(r.batch) > 0 {
		round := &event.Round{Head: r.head(), N: len(r.batch)}
		r.emit(round)
		r.consult(round)
	}
}

// evaluate (stage 7) takes an answer without executable calls as a candidate,
// not as success.
func (r *run) evaluate() {
	if r.over() || r.resp == nil || len(r.batch) > 0 {
		return
	}
	if r.userSpeaks() {
		return
	}
	if r.unsealed(); r.over() {
		return
	}
	c := &event.Candidate{Head: r.head(), Answer: model.TextOf(r.resp.Items), Empty: guard.Blank(r.resp)}
	if r.deps.Check != nil && r.guards.Checks() {
		fail, err := r.deps.Check(r.ctx, c.Answer)
		if err != nil {
			r.fail(event.InternalError, "acceptance check: "+r.masked(err.Error(), nil))
			return
		}
		c.Checked, c.Fail = true, r.masked(fail, nil)
		r.checked = r.cfg.s.Guards.Mode("acceptance") == guard.Enforce
	}
	r.emit(c)
	r.consult(c)
	r.room.rejected = c.Fail != "" && r.checked // in shadow nobody is told
	r.accepted = !r.over() && !r.goOn
}

// decide (stage 8) closes the turn and reports whether it was the last:
// cancelled, guards' stops, accepted end, in this order.
func (r *run) decide() bool {
	if r.err != nil {
		return true
	}
	if r.ctx.Err() != nil {
		r.stop = &guard.Stop{Reason: event.CancelledRun, Evidence: "cancelled"}
	}
	last := r.stop != nil || r.accepted || r.endTurn()
	if !last && len(r.feedback) > 0 && !mutant.Is("loop_dropped_feedback") {
		r.say(model.NewTextPart(model.User, strings.Join(r.feedback, "\n\n")), "feedback")
	}
	r.emit(&event.State{Head: r.head(), Version: r.version, Calls: r.calls, Usage: r.usage, Cost: r.cost})
	return last || r.err != nil
}

// finish ends the session with a reason and evidence.
func (r *run) finish() (*event.End, error) {
	r.synthesise()
	end := &event.End{Head: r.head(), Reason: event.Completed, Unchecked: !r.checked, Answer: r.answer,
		Turns: r.turn, Calls: r.calls, Attempts: r.attempts, Usage: r.usage, Cost: r.cost}
	if r.stop != nil {
		end.Reason, end.Evidence, end.Backstop = r.stop.Reason, r.stop.Evidence, r.stop.Backstop
	}
	if !r.cfg.Intact() {
		end.Reason, end.Evidence = event.InternalError, "the frozen configuration was changed"
	}
	if r.accepted && r.resp != nil {
		end.Answer = model.TextOf(r.resp.Items)
	}
	r.emit(end)
	if r.err != nil { // not recorded: whoever looks at the end alone must not take it for one
		end.Reason, end.Evidence = event.InternalError, r.err.Error()
	}
	return end, r.err
}
