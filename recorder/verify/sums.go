package verify

import (
	"fmt"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// sums computes again what lines say of the lines before them.
type sums struct {
	wire     bool
	inputs   *session.Inputs
	talk     *talk
	usage    model.Usage
	attempts int
	requests int // request lines: the attempts of recorded traffic
	calls    int // results of calls that were run
	turns    map[string]int
	open     map[string]bool // calls without result; true = not run, for a problem
	version  int
	lanes    bool // there is another lane than main: whose calls a state counts is its loop's affair
}

func newSums() *sums {
	return &sums{inputs: session.NewInputs(), talk: newTalk(), turns: map[string]int{}, open: map[string]bool{}}
}

// line checks one line. An error names the field.
func (s *sums) line(l *session.Line) error {
	if err := s.inputs.Add(l); err != nil {
		return err
	}
	if err := s.talk.line(l); err != nil {
		return err
	}
	s.lanes = s.lanes || l.Lane != event.MainLane
	switch l.Type {
	case session.TypeHeader:
		return s.header(l)
	case session.TypeRequest:
		s.requests++
		if l.Turn < s.turns[l.Lane] {
			return wrong(l, "turn", "is %d after turn %d of its lane", l.Turn, s.turns[l.Lane])
		}
		s.turns[l.Lane] = l.Turn
	case session.TypeAttempt:
		a, err := l.Attempt()
		if err != nil {
			return err
		}
		s.attempts++
		if a.Err != nil {
			s.usage = s.usage.Add(a.Err.Usage)
		} else {
			s.usage = s.usage.Add(a.Resp.Usage)
		}
	case session.TypeResponse:
		r, err := l.Response()
		if err != nil {
			return err
		}
		s.attempts++
		s.usage = s.usage.Add(r.Resp.Usage)
		if s.wire { // its calls are run elsewhere
			s.calls += len(r.Resp.Calls())
		}
	case session.TypeToolRequest, session.TypeToolResult:
		return s.call(l)
	case session.TypeState:
		return s.state(l)
	case session.TypeFooter:
		return s.footer(l)
	default:
		return decoded(l)
	}
	return nil
}

func (s *sums) header(l *session.Line) error {
	h, err := l.Header()
	if err != nil {
		return err
	}
	s.wire = h.IsWire()
	if err := h.Check(); err != nil && !h.ConfigDigest.IsZero() {
		return wrong(l, "config_digest", "%v", err)
	}
	for i, f := range h.Tree {
		if f.Content != nil && (int64(len(f.Content)) != f.Size || model.Sum(f.Content) != f.Digest) {
			return wrong(l, fmt.Sprintf("tree/%d", i), "the content does not fit size and digest beside it")
		}
	}
	if got := treeDigest(h.Tree); !h.TreeDigest.IsZero() && got != h.TreeDigest {
		return wrong(l, "tree_digest", "is %s, that of tree is %s", h.TreeDigest, got)
	}
	return nil
}

// call pairs requests of tools with their results.
func (s *sums) call(l *session.Line) error {
	if l.Type == session.TypeToolRequest {
		r, err := l.ToolRequest()
		if err != nil {
			return err
		}
		if _, twice := s.open[r.ID]; twice {
			return wrong(l, "id", "call %.80q was asked before and has no result yet", r.ID)
		}
		s.open[r.ID] = r.Problem != ""
		return nil
	}
	r, err := l.ToolResult()
	if err != nil {
		return err
	}
	problem, asked := s.open[r.ID]
	if !asked {
		return wrong(l, "id", "no call %.80q waits for a result", r.ID)
	}
	delete(s.open, r.ID)
	notRun := r.Outcome == event.Cancelled && (r.Text == event.NotRun || r.Text == event.NotBeside) || r.Outcome == event.PermissionDenied && r.Text == event.InLimbo ||
		r.Outcome == event.ApprovalRequired && r.Text == event.Lapsed
	if !problem && !notRun {
		s.calls++
	}
	return nil
}

func (s *sums) state(l *session.Line) error {
	st, err := l.State()
	if err != nil {
		return err
	}
	before := s.version
	s.version = st.Version
	switch {
	case !st.Inputs.Of(s.inputs.Digest()):
		return wrong(l, "inputs", "is %s; the inputs of the lines before give %s: an answer, result or time was changed", st.Inputs, s.inputs.Digest().Short())
	case s.lanes:
	case st.Version != before && st.Version != before+1:
		return wrong(l, "v", "is %d after %d", st.Version, before)
	case st.Calls != s.calls:
		return wrong(l, "calls", "is %d; the lines have %d", st.Calls, s.calls)
	case st.Usage != s.usage:
		return wrong(l, "usage", "is not the sum of the calls before: %s", said(st.Usage, s.usage))
	case len(s.open) > 0:
		return wrong(l, "calls", "%d calls have no result", len(s.open))
	}
	return nil
}

func (s *sums) footer(l *session.Line) error {
	f, err := l.Footer()
	if err != nil {
		return err
	}
	turns := 0
	for _, n := range s.turns {
		turns += n
	}
	attempts := s.attempts
	if s.wire {
		attempts = s.requests
	}
	switch {
	case f.Inputs != s.inputs.Digest():
		return wrong(l, "inputs", "is %s; the inputs of the lines before give %s: an answer, result or time was changed", f.Inputs, s.inputs.Digest())
	case s.lanes && !s.wire:
	case f.Turns != turns:
		return wrong(l, "turns", "is %d; the lines have %d", f.Turns, turns)
	case f.Calls != s.calls:
		return wrong(l, "calls", "is %d; the lines have %d", f.Calls, s.calls)
	case f.Attempts != attempts:
		return wrong(l, "attempts", "is %d; the lines have %d", f.Attempts, attempts)
	case f.Usage != s.usage && !s.wire:
		return wrong(l, "usage", "is not the sum of the calls before: %s", said(f.Usage, s.usage))
	case len(s.open) > 0:
		return wrong(l, "calls", "%d calls have no result", len(s.open))
	}
	return nil
}

func said(says, sum model.Usage) string {
	return fmt.Sprintf("%d tokens are said, the calls have %d", says.Total(), sum.Total())
}

// decoded decodes lines of which nothing else is checked.
func decoded(l *session.Line) (err error) {
	switch l.Type {
	case session.TypeGuard:
		_, err = l.Guard()
	case session.TypeApproval:
		_, err = l.Approval()
	case session.TypeAcceptance:
		_, err = l.Acceptance()
	case session.TypeNote:
		_, err = l.Note()
	case session.TypeWire:
		_, err = l.Wire()
	}
	return err
}

// wrong makes the error of a field that does not fit the lines before.
func wrong(l *session.Line, field, format string, a ...any) error {
	return &session.DecodeError{Line: l.No, Type: l.Type, Field: field, What: fmt.Sprintf(format, a...)}
}
