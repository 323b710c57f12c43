package sim

import (
	"slices"
	"strings"
	"sync"

	"github.com/harnessbench/harnessbench/loop/model"
)

// state is what a model knows after some parts of its request. It is small, and
// never changed once it is in the cache.
type state struct {
	bytes  int64 // canonical bytes of the parts
	prefix int64 // of those before the last assistant message: what a prompt cache holds
	facts  []factValue
	rules  []ruleState
	guess  int // guesses done
	users  int // user messages seen; the first is the task
	notes  int // of those, messages that stand for earlier rounds
	last   []model.ToolCall
	names  []model.ToolCall // of the last assistant message, to tell whose result a result is
}

type factValue struct {
	value string
	times int
}

type trapState uint8

const (
	undrawn trapState = iota
	open
	closed
)

type ruleState struct {
	count  int // how often it was done
	habits int // how often its habit was done
	heeded int // corrections heeded
	trap   trapState
}

// choice is what a model decided to do.
type choice struct {
	rule   int // -1 = a guess
	closed bool
}

func (m *Model) fresh() *state {
	s := &state{}
	if m.script != nil {
		s.facts = make([]factValue, len(m.script.facts))
		s.rules = make([]ruleState, len(m.script.rules))
	}
	return s
}

func (s *state) clone() *state {
	c := *s
	c.facts, c.rules = slices.Clone(s.facts), slices.Clone(s.rules)
	return &c
}

// fold returns the state after all parts of req.
func (m *Model) fold(req *model.Request) *state {
	n := len(req.Parts)
	from, s := m.cache.find(req.Chains)
	if s == nil {
		from, s = 0, m.fresh()
	} else if from == n {
		return s
	} else {
		s = s.clone()
	}
	for _, p := range req.Parts[from:] {
		m.add(s, p)
	}
	m.cache.put(req.Chains[n], s)
	return s
}

// add folds one part.
func (m *Model) add(s *state, p *model.Part) {
	if p.Role == model.Assistant {
		s.prefix = s.bytes
	}
	s.bytes += int64(p.Size)
	if m.script == nil || p.Message == nil {
		return
	}
	if p.Role == model.Assistant {
		m.said(s, p.Message)
		return
	}
	text := model.TextOf(p.Message.Items)
	if p.Role == model.User {
		s.users++
		if s.users > 1 && strings.HasPrefix(text, noteHead) {
			m.recall(s, text)
			return
		}
	}
	if p.Role == model.ToolRole || s.users > 1 {
		m.correct(s, p.Role, text)
	}
	tool := ""
	if p.Role == model.ToolRole {
		for i := range s.names {
			if s.names[i].ID == p.Message.CallID {
				tool = s.names[i].Name
			}
		}
	}
	for _, i := range m.script.byRole[p.Role] {
		f := &m.script.facts[i]
		if f.tool != "" && f.tool != tool {
			continue
		}
		if loc := f.match.FindStringSubmatchIndex(text); loc != nil {
			v := text[loc[0]:loc[1]]
			if len(loc) > 2 && loc[2] >= 0 {
				v = text[loc[2]:loc[3]]
			}
			s.facts[i] = factValue{v, s.facts[i].times + 1}
		}
	}
}

// said counts what an assistant message did: what this model would have done
// there.
func (m *Model) said(s *state, msg *model.Message) {
	c := m.attribute(s, msg)
	var calls []model.ToolCall
	blank := true
	for i := range msg.Items {
		switch it := &msg.Items[i]; {
		case it.Type == model.CallItem:
			calls, blank = append(calls, it.Call), false
		case it.Text != "":
			blank = false
		}
	}
	s.names = calls
	if len(calls) > 0 {
		s.last = calls
	}
	m.enter(s, c)
	switch {
	case c.rule < 0:
		s.guess++
	case c.closed:
		s.rules[c.rule].habits++
		if m.script.rules[c.rule].trap == TrapWrong {
			s.rules[c.rule].count++
		}
	case !blank: // an answer that was cut and empty has done nothing
		s.rules[c.rule].count++
	}
}

// enter keeps the outcome of a draw that choose made.
func (m *Model) enter(s *state, c choice) {
	if c.rule < 0 || m.script.rules[c.rule].trap == "" {
		return
	}
	if c.closed {
		s.rules[c.rule].trap = closed
	} else {
		s.rules[c.rule].trap = open
	}
}

// correct lets a message open closed traps.
func (m *Model) correct(s *state, role model.Role, text string) {
	if role == model.User {
		// A blank answer may be left out of the conversation; the correction it
		// got is then the only sign of it.
		if c := m.choose(s); c.closed && m.script.rules[c.rule].trap == TrapBlank && s.rules[c.rule].trap == undrawn {
			if h := m.script.rules[c.rule].heed; h.role == role && h.match.MatchString(text) {
				m.enter(s, c)
			}
		}
	}
	for i := range s.rules {
		rs, r := &s.rules[i], &m.script.rules[i]
		if rs.trap != closed || r.heed.match == nil || r.heed.role != role || !r.heed.match.MatchString(text) {
			continue
		}
		rs.heeded++
		if draw(m.profile.Name, m.seed, "yield", r.id, rs.heeded) < traps[r.trap].yields(&m.profile.Rates) {
			rs.trap = open
		}
	}
}

// choose picks the first rule that applies. It changes nothing.
func (m *Model) choose(s *state) choice {
	if m.profile.Spam {
		return choice{rule: -1}
	}
next:
	for i := range m.script.rules {
		r, rs := &m.script.rules[i], &s.rules[i]
		if r.max > 0 && rs.count >= r.max {
			continue
		}
		for _, f := range r.need {
			if s.facts[f].times < m.script.facts[f].times {
				continue next
			}
		}
		for _, f := range r.not {
			if s.facts[f].times >= m.script.facts[f].times {
				continue next
			}
		}
		if r.chance != "" && m.draw("chance", r, 0) >= rateByName(r.chance)(&m.profile.Rates) {
			continue
		}
		c := choice{rule: i, closed: rs.trap == closed}
		if r.trap != "" && rs.trap == undrawn {
			c.closed = m.draw("trap", r, 0) < traps[r.trap].rate(&m.profile.Rates)
		}
		return c
	}
	return choice{rule: -1}
}

func (m *Model) draw(what string, r *rule, n int) float64 {
	return draw(m.profile.Name, m.seed, what, r.id, n)
}

// cache keeps the states of the latest prefixes.
type cache struct {
	mu     sync.Mutex
	states map[model.Digest]*state
	ring   [cacheSize]model.Digest
	next   int
}

// cacheSize bounds the prefixes kept: a lane needs one, forks and subagents some
// more.
const cacheSize = 32

// find returns the state of the longest known prefix and its number of parts.
func (c *cache) find(chains []model.Digest) (int, *state) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.states) == 0 {
		return 0, nil
	}
	for i := len(chains) - 1; i > 0; i-- {
		if s := c.states[chains[i]]; s != nil {
			return i, s
		}
	}
	return 0, nil
}

func (c *cache) put(d model.Digest, s *state) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.states == nil {
		c.states = make(map[model.Digest]*state, cacheSize)
	}
	if c.states[d] != nil {
		return
	}
	delete(c.states, c.ring[c.next])
	c.ring[c.next], c.states[d] = d, s
	c.next = (c.next + 1) % cacheSize
}
