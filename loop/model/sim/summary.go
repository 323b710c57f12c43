package sim

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/harnessbench/harnessbench/loop/model"
)

// The lines of a summary as these models write it. They read it back from any
// user's message that stands for earlier rounds, and from nothing else.
const (
	knownLine = "Known so far:"
	doneLine  = "Done so far:"
)

// noteHead begins a user's message that stands for earlier rounds. Package prompt
// writes it; its tests hold the two together.
const noteHead = "[Earlier rounds of this conversation were "

// summary is what a model answers that is asked to summarise what it sees: the
// values of the facts of tool results, but for those that the profile loses, and
// how often each step was done. What it leaves out is gone with the messages.
func (m *Model) summary(s *state) string {
	if m.script == nil || m.profile.Mute || m.profile.Spam {
		return "Nothing to report so far."
	}
	var b strings.Builder
	b.WriteString(knownLine + "\n")
	for _, i := range m.script.byRole[model.ToolRole] {
		f, v := &m.script.facts[i], &s.facts[i]
		if v.times == 0 || draw(m.profile.Name, m.seed, "lose", f.name, s.notes) < m.profile.Rates.Lose {
			continue
		}
		fmt.Fprintf(&b, "- %s: %s", f.name, strconv.Quote(v.value))
		if v.times > 1 {
			fmt.Fprintf(&b, " %d times", v.times)
		}
		b.WriteByte('\n')
	}
	b.WriteString(doneLine + "\n")
	for i := range s.rules {
		r := &s.rules[i]
		if r.count == 0 && r.heeded == 0 {
			continue
		}
		fmt.Fprintf(&b, "- %s: %d", m.script.rules[i].id, r.count)
		if r.trap == open && r.heeded > 0 {
			b.WriteString(" corrected")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// recall takes what a message that stands for earlier rounds says.
func (m *Model) recall(s *state, text string) {
	s.notes++
	part := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		item, ok := strings.CutPrefix(line, "- ")
		switch {
		case line == knownLine, line == doneLine:
			part = line
		case !ok:
		case part == knownLine:
			m.recallFact(s, item)
		case part == doneLine:
			m.recallStep(s, item)
		}
	}
}

func (m *Model) recallFact(s *state, item string) {
	name, rest, _ := strings.Cut(item, ": ")
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return
	}
	value, err := strconv.Unquote(quoted)
	if err != nil {
		return
	}
	times := 1
	if n, ok := strings.CutPrefix(rest[len(quoted):], " "); ok {
		if times, err = strconv.Atoi(strings.TrimSuffix(n, " times")); err != nil || times < 1 || times > maxTimes {
			return
		}
	}
	for i := range m.script.facts {
		if m.script.facts[i].name == name {
			s.facts[i] = factValue{value, max(s.facts[i].times, times)}
		}
	}
}

func (m *Model) recallStep(s *state, item string) {
	id, rest, _ := strings.Cut(item, ": ")
	count, mark, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 || n > maxTimes {
		return
	}
	for i := range m.script.rules {
		if m.script.rules[i].id != id {
			continue
		}
		r := &s.rules[i]
		r.count = max(r.count, n)
		if mark == "corrected" && m.script.rules[i].trap != "" {
			r.trap, r.heeded = open, max(r.heeded, 1)
		}
	}
}

// attribute says what an assistant's message was: what this model would have done
// there. Where earlier rounds are missing, that cannot be told from what is seen
// before it, so it is told from what the message does.
func (m *Model) attribute(s *state, msg *model.Message) choice {
	c := m.choose(s)
	if s.notes == 0 || m.did(s, c, msg) {
		return c
	}
	alike, found := 0, choice{}
	for i := range m.script.rules {
		for _, closed := range []bool{false, true} {
			o := choice{rule: i, closed: closed}
			if closed && m.script.rules[i].trap == "" {
				continue
			}
			if m.did(s, o, msg) {
				return o
			}
		}
		if sameTools(&m.script.rules[i].do, msg) {
			alike, found = alike+1, choice{rule: i}
		}
	}
	if alike == 1 {
		return found // its arguments hold facts that are not seen any more
	}
	return c
}

// did reports whether a choice gives just this message.
func (m *Model) did(s *state, c choice, msg *model.Message) bool {
	var items []model.Item
	if c.rule < 0 {
		items = m.guessItems(s)
	} else {
		items = m.items(s, c)
	}
	if len(items) != len(msg.Items) {
		return false
	}
	for i := range items {
		a, b := &items[i], &msg.Items[i]
		if a.Type != b.Type || a.Call.Name != b.Call.Name || a.Call.Args != b.Call.Args || !strings.HasPrefix(b.Text, a.Text) {
			return false
		}
	}
	return true
}

// sameTools reports whether a message calls the tools of an action, in order.
func sameTools(a *action, msg *model.Message) bool {
	n := 0
	for i := range msg.Items {
		if msg.Items[i].Type != model.CallItem {
			continue
		}
		if n == len(a.calls) || a.calls[n].tool != msg.Items[i].Call.Name {
			return false
		}
		n++
	}
	return n > 0 && n == len(a.calls)
}
