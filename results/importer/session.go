package importer

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
)

// Session is one recorded conversation in the words of no particular tool.
type Session struct {
	Scenario       string       // id
	ScenarioDigest model.Digest // of the task's description; zero = unknown
	Repetition     int          // from 0
	Source         string       // of the scenario, for the lock
	Config         []byte       // canonical JSON object for the session's header
	Opening        []Message    // before the first turn
	Turns          []Turn
	Reason         event.Reason
	Evidence       string
	Backstop       bool // the scenario's own limit ended it
	Verdict        Verdict
	Errored        string // what failed in the recording harness; "" = nothing
}

// Message is a message that a person, a script or the harness wrote.
type Message struct {
	Role model.Role // system or user
	Text string
}

// Turn is one answer of the model and what followed it.
type Turn struct {
	Text  string
	Calls []Call
	After []Message // before the next answer
}

// Call is a tool call with its result. Models and their caches give an id again
// in a later answer; within one answer it is unique.
type Call struct {
	ID       string
	Name     string
	Args     string // as the model wrote them
	Answered bool
	Failed   bool // the result is an error
	Result   string
}

// Verdict is what the other tool's grader said.
type Verdict struct {
	Grader string
	Pass   bool
	Score  float64 // 0 to 1
	Reason string
}

// Calls counts the tool calls.
func (s *Session) Calls() (calls, failed int) {
	for i := range s.Turns {
		for j := range s.Turns[i].Calls {
			calls++
			if s.Turns[i].Calls[j].Failed {
				failed++
			}
		}
	}
	return calls, failed
}

// Answer returns the last text of the model.
func (s *Session) Answer() string {
	for _, t := range slices.Backward(s.Turns) {
		if t.Text != "" {
			return t.Text
		}
	}
	return ""
}

// builder assembles a session message by message and refuses what is no
// conversation. The calls of the last turn are open until they are answered.
type builder struct{ s *Session }

// said takes a message by the user or the system.
func (b *builder) said(m Message) error {
	if err := b.settled(); err != nil {
		return err
	}
	if n := len(b.s.Turns); n > 0 {
		b.s.Turns[n-1].After = append(b.s.Turns[n-1].After, m)
	} else {
		b.s.Opening = append(b.s.Opening, m)
	}
	return nil
}

// answered takes an answer of the model.
func (b *builder) answered(t Turn) error {
	if err := b.settled(); err != nil {
		return err
	}
	if !slices.ContainsFunc(b.s.Opening, func(m Message) bool { return m.Role == model.User }) {
		return fmt.Errorf("the model answers before a user has said anything")
	}
	for i := range t.Calls {
		c := &t.Calls[i]
		if err := printable("the tool's name", c.Name); err != nil {
			return fmt.Errorf("call %d: %w", i, err)
		}
		if err := printable("the call's id", c.ID); err != nil {
			return fmt.Errorf("call %d: %w", i, err)
		}
		if slices.ContainsFunc(t.Calls[:i], func(o Call) bool { return o.ID == c.ID }) {
			return fmt.Errorf("call %d: id %q stands twice in one answer", i, clip(c.ID))
		}
	}
	b.s.Turns = append(b.s.Turns, t)
	return nil
}

// result takes the result of a call of the last answer.
func (b *builder) result(id, name, text string, failed bool) error {
	if n := len(b.s.Turns); n > 0 {
		calls := b.s.Turns[n-1].Calls
		for i := range calls {
			c := &calls[i]
			switch {
			case c.ID != id:
			case c.Answered:
				return fmt.Errorf("call %q has a second result", clip(id))
			case name != "" && name != c.Name:
				return fmt.Errorf("the result of call %q names the tool %q; the call is of %q", clip(id), clip(name), c.Name)
			case len(b.s.Turns[n-1].After) > 0:
				return fmt.Errorf("the result of call %q comes after the next message", clip(id))
			default:
				c.Answered, c.Result, c.Failed = true, text, failed
				return nil
			}
		}
	}
	return fmt.Errorf("a tool result answers call %q, which the answer before it does not hold", clip(id))
}

// settled reports whether every call so far has its result.
func (b *builder) settled() error {
	if n := len(b.s.Turns); n > 0 {
		for _, c := range b.s.Turns[n-1].Calls {
			if !c.Answered {
				return fmt.Errorf("call %q of %s has no result before the next message", clip(c.ID), c.Name)
			}
		}
	}
	return nil
}

// printable refuses names that are empty, huge, or hold what is no visible
// character.
func printable(what, s string) error {
	switch {
	case s == "":
		return fmt.Errorf("%s is empty", what)
	case len(s) > 256:
		return fmt.Errorf("%s has %d bytes; at most 256", what, len(s))
	case strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }):
		return fmt.Errorf("%s %q holds characters that are not visible", what, s)
	}
	return nil
}

// clip shortens what an error quotes.
func clip(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "..."
	}
	return s
}
