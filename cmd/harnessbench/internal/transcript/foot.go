package transcript

import (
	"fmt"
	"strings"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/results"
)

// footer prints the last block.
func (s *show) footer(l *session.Line) error {
	f, err := l.Footer()
	if err != nil {
		return err
	}
	if s.mute = s.o.Turn > 0; s.mute {
		return nil
	}
	s.gap()
	s.rule("end", bold, "")
	look := green
	if f.Reason != event.Completed {
		look = yellow
	}
	reason := clip(safeLine(string(f.Reason)), 26)
	outcome := s.paint(look, reason)
	var remarks []string
	if f.Evidence != "" {
		remarks = append(remarks, f.Evidence)
	}
	if f.Backstop {
		remarks = append(remarks, "the scenario's own limit")
	}
	if f.Unchecked {
		remarks = append(remarks, "unchecked")
	}
	first := s.paint(dim, fmt.Sprintf("%-10s", "outcome")) + outcome
	if len(remarks) == 0 {
		s.line(first)
	} else {
		s.hang(block{first: first + ", ", rest: "          "}, textWidth(reason)+2, safeLine(strings.Join(remarks, "; ")))
	}
	calls := fmt.Sprintf("%s, %s, %s", count(f.Turns, "turn"), count(f.Attempts, "model call"), count(f.Calls, "tool call"))
	if s.tries > 0 {
		calls += fmt.Sprintf(" (%d of the model calls did not stand)", s.tries)
	}
	s.fact("work", calls)
	switch u := tokens(f.Usage); {
	case s.known.unknown("usage"):
		s.fact("tokens", "unknown")
	case u == "":
		s.fact("tokens", "none")
	default:
		s.fact("tokens", u)
	}
	if !s.wire {
		s.fact("cost", money(f.Cost))
	}
	if !s.known.unknown("times") {
		s.fact("clock", took(f.At))
	}
	if len(s.fired) > 0 {
		var parts []string
		for _, x := range s.fired {
			text := fmt.Sprintf("%s %d×", x.guard, x.n)
			if x.mode != results.Enforce {
				text += " in " + x.mode
			}
			parts = append(parts, text)
		}
		s.fact("fired", strings.Join(parts, ", "))
	}
	return nil
}

// verdict prints what the run's journal knows of the session.
func (s *show) verdict(digest model.Digest) {
	if s.o.Verdict == nil {
		return
	}
	e := s.o.Verdict(digest)
	if e == nil {
		return
	}
	if e.Trial.SessionDigest != digest.String() {
		s.fact("verdict", "the run's journal is about another recording of this name")
		return
	}
	text := e.Trial.Verdict
	if e.Trial.Score != nil && *e.Trial.Score != 0 && *e.Trial.Score != 1 {
		text += fmt.Sprintf(", score %.3g", *e.Trial.Score)
	}
	s.line(s.paint(dim, fmt.Sprintf("%-10s", "verdict")) + s.paint(lookOf(e.Trial.Verdict), clip(safeLine(text), 28)))
	if e.Trial.ErrorText != nil {
		s.fact("", "errored: "+*e.Trial.ErrorText)
	}
	for i := range e.Verdicts {
		v := &e.Verdicts[i]
		mark := "?"
		switch v.Verdict {
		case results.Pass:
			mark = "✓"
		case results.Fail:
			mark = "✗"
		}
		text := v.Grader
		if v.Reason != "" {
			text += ": " + v.Reason
		}
		s.text(block{first: "          " + s.paint(lookOf(v.Verdict), mark) + " ", rest: "            "}, safeLine(text))
	}
}

func lookOf(verdict string) style {
	switch verdict {
	case results.Pass:
		return green
	case results.Fail:
		return red
	}
	return yellow
}
