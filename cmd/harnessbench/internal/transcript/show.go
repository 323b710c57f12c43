package transcript

import (
	"errors"
	"fmt"
	"io"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/results"
)

// Options say what is shown of a session and how.
type Options struct {
	Name  string // of the session, for the first line
	Width int    // columns; 0 = 80
	Color bool
	Full  bool // nothing is cut
	Turn  int  // this turn only, uncut; 0 = all
	Live  bool // what is known is printed at once: the session is being written
	// Verdict finds what the run's graders said of the session with this digest
	// over all of its lines; nil or a nil result = nothing is known.
	Verdict func(digest model.Digest) *results.Entry
}

// NoTurnError says that a session does not have the turn that was asked for.
type NoTurnError struct{ Turn, Have int }

func (e *NoTurnError) Error() string {
	return fmt.Sprintf("there is no turn %d: the session has %d", e.Turn, e.Have)
}

// How many lines of what is long are shown without --full.
const (
	promptLines = 6
	taskLines   = 24
	sayLines    = 40
	argLines    = 4
	resultLines = 8
	shownLines  = 3
)

// What is remembered at most, whatever a session holds.
const (
	maxTools = 500    // names of tools before the first turn
	maxCalls = 10_000 // calls of a turn
	maxFired = 100    // guards with a count at the end
)

// show prints one session.
type show struct {
	*printer
	o       Options
	known   facts
	turns   int
	tools   []string
	lane    string
	turn    int             // whose rule was printed
	calls   map[string]call // of the current batch by id
	order   []string        // of the items of the last answer
	args    []model.ToolCall
	failed  string // last reason that acceptance gave
	fired   []firing
	tries   int // attempts that did not stand
	clock   string
	wire    bool // recorded traffic
	foreign bool // recorded calls of another loop
	fresh   int  // parts since the last request
}

// call is a requested call that has no result yet.
type call struct {
	tool, args, problem string
}

// Show prints the session as far as it can be read. An error that names a line
// says what is broken; everything before it was printed.
func Show(w io.Writer, r *session.Reader, o Options) error {
	s := &show{printer: newPrinter(w, o.Width, o.Color), o: o, calls: map[string]call{}}
	err := s.run(r)
	var none *NoTurnError
	if errors.As(err, &none) {
		return err // nothing but the first block is in the buffer: it is dropped
	}
	if ferr := s.w.Flush(); err == nil {
		err = ferr
	}
	return err
}

func (s *show) run(r *session.Reader) error {
	for {
		l, err := r.Next()
		if errors.Is(err, io.EOF) {
			return s.finish(r)
		}
		if err == nil {
			err = s.take(l)
		}
		if err == nil && s.o.Live {
			err = s.w.Flush()
		}
		if err != nil {
			s.mute = false
			s.gap()
			return err
		}
	}
}

// take prints one line of the session.
func (s *show) take(l *session.Line) error {
	if l.Turn > s.turns {
		s.turns = l.Turn
	}
	s.mute = s.o.Turn > 0 && l.Turn != s.o.Turn && l.Type != session.TypeHeader
	if aux := l.Type == session.TypeWire && !has(l, "api"); l.Turn > 0 && !aux && (l.Turn != s.turn || l.Lane != s.lane) && l.Type != session.TypeFooter {
		s.begin(l)
	}
	switch l.Type {
	case session.TypeHeader:
		return s.header(l)
	case session.TypePart:
		return s.part(l)
	case session.TypeAttempt:
		return s.attempt(l)
	case session.TypeResponse:
		return s.response(l)
	case session.TypeToolRequest:
		return s.request(l)
	case session.TypeToolResult:
		return s.result(l)
	case session.TypeGuard:
		return s.guard(l)
	case session.TypeApproval:
		return s.approval(l)
	case session.TypeAcceptance:
		return s.acceptance(l)
	case session.TypeState:
		return s.state(l)
	case session.TypeNote:
		return s.note(l)
	case session.TypeWire:
		return s.exchange(l)
	case session.TypeFooter:
		return s.footer(l)
	case session.TypeRequest:
		return s.asked(l)
	}
	s.text(block{first: "  · ", rest: "    ", style: dim}, fmt.Sprintf("line %d is of type %s, which this version does not show", l.No, l.Type))
	return nil
}

// begin starts a turn.
func (s *show) begin(l *session.Line) {
	s.turn, s.lane = l.Turn, l.Lane
	s.order, s.args = nil, nil
	clear(s.calls)
	s.gap()
	title := fmt.Sprintf("turn %d", l.Turn)
	if l.Lane != event.MainLane {
		title += ", lane " + clip(safeLine(l.Lane), 40)
	}
	s.rule(title, bold, s.clock)
}

// lines is how many lines of a text are shown.
func (s *show) lines(n int) int {
	if s.o.Full || s.o.Turn > 0 {
		return 0
	}
	return n
}

// finish says what is missing at the end.
func (s *show) finish(r *session.Reader) error {
	s.mute = false
	torn, complete := r.Torn(), r.Complete()
	if complete && torn == nil {
		if s.o.Turn == 0 {
			s.verdict(r.Digest())
		}
	} else {
		s.gap()
		s.rule("unfinished", red, "")
		s.pending()
		s.text(block{first: "  ", rest: "  "}, "The session has no end: the run was interrupted, or is still going on. It is shown as far as it goes.")
		if torn != nil {
			s.text(block{first: "  ", rest: "  "}, fmt.Sprintf("Line %d is torn: it breaks off after %s. The %s before it are sound.", torn.Line, size(torn.Bytes), count(torn.Line-1, "line")))
		}
	}
	if s.o.Turn > s.turns {
		return &NoTurnError{s.o.Turn, s.turns}
	}
	return nil
}
