package sim

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/fault"
)

// Options bind a profile to one trial.
type Options struct {
	Script *Script // nil = a fixed plain answer
	Seed   uint64  // of the repetition; differs between scenarios and repetitions
	Window int     // context window in tokens; 0 = the profile's
	Faults []Fault // injected by the scenario
}

// Model is a simulated model. It is safe for concurrent use.
type Model struct {
	profile Profile
	script  *Script
	seed    uint64
	window  int
	faults  []Fault
	cache   cache
}

var _ model.Model = (*Model)(nil)

// New returns the simulated model of one trial.
func New(p Profile, o Options) *Model {
	m := &Model{profile: p, script: o.Script, seed: o.Seed, window: o.Window, faults: slices.Clone(o.Faults)}
	if m.window == 0 {
		m.window = p.Window
	}
	if m.profile.MaxTokens <= 0 {
		m.profile.MaxTokens = 4096
	}
	return m
}

// ID implements model.Model.
func (m *Model) ID() string { return m.profile.Name }

// Generate implements model.Model. Errors are *model.Error values: those that
// the scenario or the profile's rates inject, and a context overflow when the
// canonical parts have more than 4 bytes for each token of the window.
func (m *Model) Generate(ctx context.Context, req *model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	extra, err := m.strike(req)
	if err != nil {
		return nil, err
	}
	s := m.fold(req)
	if in := tokens(s.bytes); m.window > 0 && in > int64(m.window) {
		return nil, &model.Error{
			Kind: model.ErrContextOverflow, Status: 400, Elapsed: fault.ErrorTook,
			Message: overflowText(in, m.window),
		}
	}
	if down := m.down(s, req); down != nil {
		return nil, down
	}
	r := m.answer(s, req)
	r.Model = m.profile.Name
	r.Usage.CacheRead = tokens(s.prefix)
	r.Usage.InputUncached = tokens(s.bytes) - r.Usage.CacheRead
	r.Elapsed = m.profile.Base + time.Duration(r.Usage.Output)*m.profile.PerToken + extra
	if onDelta != nil {
		for i := range r.Items {
			if r.Items[i].Type == model.Text {
				onDelta(model.Delta{Index: i, Type: model.Text, Text: r.Items[i].Text})
			}
		}
	}
	return r, nil
}

// tokens estimates the tokens of n bytes, rounded up.
func tokens(n int64) int64 { return (n + 3) / 4 }

// answer renders what the model does in state s.
func (m *Model) answer(s *state, req *model.Request) *model.Response {
	switch {
	case req.Purpose == model.ForSummary:
		return m.reply([]model.Item{textItem(m.summary(s))}, 0)
	case req.Purpose != "":
		return m.reply([]model.Item{textItem(m.lastWords(s))}, 0)
	case m.profile.Mute:
		return m.reply([]model.Item{textItem("Done.")}, 0)
	case m.script == nil:
		return m.reply([]model.Item{textItem("This model has no script for the task and stops here.")}, 0)
	}
	c := m.choose(s)
	if c.rule < 0 {
		return m.reply(m.guessItems(s), 0)
	}
	r := &m.script.rules[c.rule]
	if c.closed && r.trap == TrapBlank && len(r.habit) == 0 {
		return &model.Response{Finish: model.FinishStop}
	}
	think := 0
	if r.think > 0 {
		think = r.think / 8
		if m.draw("think", r, 0) < m.profile.Rates.Think {
			think = r.think
		}
	}
	items := m.items(s, c)
	limit := req.Params.MaxTokens
	if limit == 0 {
		limit = m.profile.MaxTokens
	}
	resp := m.reply(items, think)
	if think > 0 && resp.Usage.Output > int64(limit) {
		// The thought used up what the answer needed.
		return &model.Response{
			Finish: model.FinishLength,
			Usage:  model.Usage{Output: int64(limit), Reasoning: int64(min(think, limit))},
		}
	}
	return resp
}

func (m *Model) reply(items []model.Item, think int) *model.Response {
	r := &model.Response{Items: items, Finish: model.FinishStop}
	var n int64
	var buf [512]byte
	for i := range items {
		n += int64(len(model.AppendItem(buf[:0], &items[i], false)))
		if items[i].Type == model.CallItem {
			r.Finish = model.FinishCalls
		}
	}
	r.Usage.Output = tokens(n) + int64(think)
	r.Usage.Reasoning = int64(think)
	return r
}

func textItem(s string) model.Item { return model.Item{Type: model.Text, Text: s} }

// items renders a chosen rule: what it says, or what its closed trap makes of it.
func (m *Model) items(s *state, c choice) []model.Item {
	r, rs := &m.script.rules[c.rule], &s.rules[c.rule]
	if !c.closed {
		return m.render(s, &r.do, r.id, rs.count)
	}
	if len(r.habit) > 0 {
		return m.render(s, &r.habit[rs.habits%len(r.habit)], r.id, rs.habits)
	}
	switch r.trap {
	case TrapRepeat:
		if len(s.last) > 0 {
			return callItems(s.last)
		}
	case TrapEndEarly:
		return []model.Item{textItem(earlyText)}
	case TrapUnknownTool:
		return mapCalls(m.render(s, &r.do, r.id, rs.count), func(c *model.ToolCall) { c.Name = misspell(c.Name) })
	case TrapMalformed:
		return mapCalls(m.render(s, &r.do, r.id, rs.count), func(c *model.ToolCall) { c.Args = m.breakArgs(r, c.Args) })
	}
	return m.render(s, &r.do, r.id, rs.count)
}

const earlyText = "Here is my plan: I look at the material, take what is asked for from it, and write it down where you want it. " +
	"With that the task is complete."

func callItems(calls []model.ToolCall) []model.Item {
	out := make([]model.Item, len(calls))
	for i, c := range calls {
		c.ID = ""
		out[i] = model.Item{Type: model.CallItem, Call: c}
	}
	return out
}

func mapCalls(items []model.Item, f func(*model.ToolCall)) []model.Item {
	for i := range items {
		if items[i].Type == model.CallItem {
			f(&items[i].Call)
		}
	}
	return items
}

// misspell changes a tool's name as models do: another number, or words joined.
func misspell(name string) string {
	if strings.HasSuffix(name, "s") {
		return strings.TrimSuffix(name, "s")
	}
	return name + "s"
}

func (m *Model) render(s *state, a *action, id string, n int) []model.Item {
	items := make([]model.Item, 0, len(a.calls)+1)
	if say := a.say.render(s.facts); say != "" {
		if len(a.calls) == 0 && m.profile.Rates.Drift > 0 && draw(m.profile.Name, m.seed, "drift", id, n) < m.profile.Rates.Drift {
			say += " Let me know if anything else is needed."
		}
		items = append(items, textItem(say))
	}
	for i := range a.calls {
		c := &a.calls[i]
		items = append(items, model.Item{Type: model.CallItem, Call: model.ToolCall{Name: c.tool, Args: c.args.render(s.facts)}})
	}
	return items
}

func (m *Model) guessItems(s *state) []model.Item {
	if n := len(m.script.guess); n > 0 {
		return m.render(s, &m.script.guess[min(s.guess, n-1)], "guess", s.guess)
	}
	return []model.Item{textItem("I do not know how to go on.")}
}

// holdAll reports whether all of these facts hold.
func (m *Model) holdAll(s *state, facts []int) bool {
	for _, f := range facts {
		if s.facts[f].times < m.script.facts[f].times {
			return false
		}
	}
	return true
}

// lastWords is the answer where no tool may be called: the script's best, the
// first rule that only speaks and whose facts are there, or the last thing that a
// guess says.
func (m *Model) lastWords(s *state) string {
	if m.script == nil || m.profile.Mute {
		return "Done."
	}
	if best := &m.script.best; len(best.text) > 0 && !m.profile.Spam && m.holdAll(s, best.facts) {
		return best.render(s.facts)
	}
	for i := range m.script.rules {
		r := &m.script.rules[i]
		if len(r.do.calls) > 0 || m.profile.Spam {
			continue
		}
		if !m.holdAll(s, r.need) {
			continue
		}
		return r.do.say.render(s.facts)
	}
	for i := len(m.script.guess) - 1; i >= 0; i-- {
		if say := m.script.guess[i].say.render(s.facts); say != "" {
			return say
		}
	}
	return "I could not finish the task."
}
