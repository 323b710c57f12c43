package loop

import (
	"fmt"
	"strings"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/prompt"
)

// compaction is one compaction under way.
type compaction struct {
	*run
	name   string // of the guard
	mode   guard.Mode
	book   *prompt.Book
	how    guard.Compaction
	window int64  // tokens that a request may have
	target int64  // tokens that are to be left
	most   int64  // tokens that the question for a summary may have, and its answer
	failed string // why there is no summary
}

// compact (before a turn's first request) makes room where the conversation
// fills the window. A run that was cancelled meanwhile is not looked for: the
// record has to show where it ended.
func (r *run) compact() {
	r.makeRoom()
	r.giveUp()
}

func (r *run) makeRoom() {
	m, window := &r.room, int64(r.cfg.s.Window)
	book := m.book
	if m.mode == guard.Shadow {
		book = m.asIf
	}
	if m.mode == guard.Off || book == nil || r.over() {
		return
	}
	if tokens := m.est.Tokens(book.Bytes()); !m.how.Due(tokens, window) || tokens < m.floor {
		return
	}
	c := &compaction{run: r, name: "compaction", mode: m.mode, book: book, how: m.how,
		window: window, target: m.how.Target(window), most: window}
	c.do()
	m.floor = m.how.Again(c.tokens(), window)
}

// overflowed answers a refusal of the request's size: compact, and ask again. It
// reports whether that was done. id is the model that refused.
func (r *run) overflowed(id string, e *model.Error, attempt, used int) bool {
	c := r.refusal(e, used)
	if c == nil || c.mode != guard.Enforce {
		return false
	}
	r.charge(id, e.Usage)
	r.emit(&event.Attempt{Head: r.head(), N: attempt, Err: e, Took: e.Elapsed, Again: true})
	r.cacheSaid("", e.CacheFailed, id)
	c.do()
	return true
}

// wouldAsk records, after a refusal that ends the session or turns to another
// model, that context_overflow in shadow would have asked again, and reports
// whether it would. The account stays that of the conversation as it is.
func (r *run) wouldAsk(e *model.Error, used int) bool {
	c := r.refusal(e, used)
	if c == nil || c.mode != guard.Shadow {
		return false
	}
	asIf := *c.book
	c.book = &asIf
	c.do()
	return true
}

// refusal is the compaction that answers a refusal; nil where it is none, the
// turn has used its retries, or there is nothing to take away.
func (r *run) refusal(e *model.Error, used int) *compaction {
	policy, mode := r.guards.ContextOverflow()
	if e.Kind != model.ErrContextOverflow || mode == guard.Off || r.room.book == nil || !policy.Again(used) {
		return nil
	}
	how := r.room.how
	how.Summary = how.Summary && r.guards.Mode("compaction") == guard.Enforce // else nobody wants one
	window := r.refused()
	c := &compaction{run: r, name: "context_overflow", mode: mode, book: r.room.book, how: how,
		window: window, target: how.Target(window), most: window * 9 / 10}
	if plan := c.plan(false); plan.Empty() {
		return nil
	}
	return c
}

// refused is the window that a refusal shows: the configured one, or what was
// asked where that is less or none is known.
func (r *run) refused() int64 {
	asked := r.room.est.Tokens(r.room.size)
	if w := int64(r.cfg.s.Window); w > 0 {
		return min(w, asked)
	}
	return asked
}

// do compacts, or in shadow keeps the account as if it had, and records what came
// of it.
func (c *compaction) do() {
	before := c.tokens()
	plan := c.plan(false)
	var note *model.Part
	if plan.Rounds > 0 && c.how.Summary && c.mode == guard.Enforce {
		if note = c.summarise(&plan); note == nil {
			plan = c.plan(true)
		}
	}
	if c.mode == guard.Enforce && c.over() {
		c.fired("none", before, &prompt.Plan{}, "; the session ends before its summary")
		return
	}
	told := note != nil || c.how.Summary && c.mode != guard.Enforce
	if plan.Rounds > 0 && note == nil {
		note = prompt.Note(c.book.Stands(&plan), "")
	}
	if c.mode == guard.Enforce {
		c.rewrite(&plan, note, told)
	} else {
		c.book.Apply(&plan, nil, nil, told)
	}
	act, what := "compact", ""
	if plan.Empty() {
		act = "cannot"
	}
	switch {
	case c.failed != "":
		what = fmt.Sprintf(", %d rounds removed; no summary: %s", plan.Rounds, c.failed)
	case plan.Rounds > 0 && told:
		what = fmt.Sprintf(", %d rounds summarised", plan.Rounds)
	case plan.Rounds > 0:
		what = fmt.Sprintf(", %d rounds removed", plan.Rounds)
	}
	c.fired(act, before, &plan, what)
}

func (c *compaction) tokens() int64 { return c.room.est.Tokens(c.book.Bytes()) }

func (c *compaction) fired(act string, before int64, p *prompt.Plan, what string) {
	c.emit(c.policyFired(c.name, c.mode, act, fmt.Sprintf("%d to %d tokens of %d, target %d: %d results shortened, %d documents dropped%s",
		before, c.tokens(), c.window, c.target, p.Shrunk, p.Documents, what)))
}

// plan plans with a summary of what is taken away, where one is wanted, or
// without.
func (c *compaction) plan(trim bool) prompt.Plan {
	rules := prompt.Rules{Target: c.room.est.Bytes(c.target), Keep: c.how.Keep}
	if c.how.Summary && !trim {
		rules.Summary = c.longest()
	}
	return c.book.Plan(rules)
}

// longest is how many bytes a summary's message may have.
func (c *compaction) longest() int64 { return prompt.MaxSummary(c.room.est.Bytes(c.window)) }

// rewrite puts what is left in the conversation's place.
func (c *compaction) rewrite(plan *prompt.Plan, note *model.Part, told bool) {
	parts, _ := c.script.View()
	a := c.book.Apply(plan, parts, note, told)
	for _, p := range a.Fresh {
		c.emit(&event.Part{Head: c.head(), Part: p, Why: "compacted"})
	}
	if !plan.Empty() {
		c.script.Rewrite(a.Keep, a.Tail)
		c.room.size, c.room.taken = c.book.Bytes(), true
	}
}

// summarise asks the model for a summary of the rounds that the plan leaves out,
// once: a model call of the turn like any other, but that whatever goes wrong
// leaves the conversation to be trimmed. It returns nil then, and c.failed says
// why.
func (c *compaction) summarise(plan *prompt.Plan) *model.Part {
	ask := prompt.Instruction(c.longest())
	if c.room.est.Tokens(c.book.BytesTo(plan.Upto)+int64(ask.Size)+c.longest()) > c.most {
		c.failed = "the question would be refused too"
		return nil
	}
	allowed := c.checkpoint(event.NextModel, 0, "")
	if c.over() {
		return nil
	}
	if !c.room.told {
		c.emit(&event.Part{Head: c.head(), Part: ask, Why: "summarise"})
		c.room.told = true
	}
	req := c.question(plan.Upto, ask)
	req.Timeout = allowed.Budget
	c.emit(c.asking(req))
	if c.err != nil {
		return nil
	}
	c.attempts++
	start := c.deps.Clock.Now()
	ctx, cancel := c.deps.Clock.WithTimeout(c.ctx, allowed.Budget)
	defer cancel()
	resp, err := c.deps.Model.Generate(ctx, req, nil)
	resp, merr := c.heard(req, start, resp, c.asModelError(ctx, err))
	return c.summary(plan, resp, merr)
}

// question is the conversation up to part n, and what is asked of it.
func (c *compaction) question(n int, ask *model.Part) *model.Request {
	parts, chains := c.script.View()
	parts = append(parts[:n:n], ask.Lean())
	chains = append(chains[:n+1:n+1], model.Chain(chains[n], ask))
	if c.room.again++; c.room.turn != c.turn {
		c.room.turn, c.room.again = c.turn, 0
	}
	return &model.Request{Params: c.cfg.s.Params, ParamsDigest: c.cfg.params, Parts: parts, Chains: chains, Count: len(parts),
		Purpose: model.ForSummary, Lane: c.lane, Turn: c.turn, Attempt: c.room.again, Occurrence: c.asked.next(chains[len(chains)-1], c.cfg.params)}
}

// summary records the answer and makes the message of it.
func (c *compaction) summary(plan *prompt.Plan, resp *model.Response, merr *model.Error) *model.Part {
	switch {
	case c.err != nil:
		return nil
	case merr != nil:
		c.failed = errName(merr)
		c.charge(c.cfg.s.Params.Model, merr.Usage)
		c.emit(&event.Attempt{Head: c.head(), N: c.room.again, Err: merr, Took: merr.Elapsed})
		c.cacheSaid("", merr.CacheFailed, c.cfg.s.Params.Model)
		if merr.Kind == model.ErrCancelled {
			c.fail(event.CancelledRun, "cancelled")
		}
		return nil
	}
	text := strings.TrimSpace(model.TextOf(resp.Items))
	note := prompt.Note(c.book.Stands(plan), text)
	switch {
	case len(resp.Calls()) > 0:
		c.failed = "it calls a tool"
	case text == "":
		c.failed = "it is blank"
	case resp.Finish == model.FinishLength:
		c.failed = "it was cut"
	case int64(note.Size) > c.longest():
		c.failed = fmt.Sprintf("it is too long: %d bytes of at most %d", note.Size, c.longest())
	}
	cost := c.charge(resp.Model, resp.Usage)
	if c.failed != "" {
		c.emit(&event.Attempt{Head: c.head(), N: c.room.again, Resp: resp, Took: resp.Elapsed})
		c.cacheSaid(resp.Cache, resp.CacheFailed, resp.Model)
		return nil
	}
	part := model.NewMessagePart(model.Message{Role: model.Assistant, Items: resp.Items})
	c.emit(&event.Response{Head: c.head(), Resp: resp, Part: part, Took: resp.Elapsed, Cost: cost})
	c.cacheSaid(resp.Cache, resp.CacheFailed, resp.Model)
	return note
}
