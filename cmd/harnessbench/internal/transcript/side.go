package transcript

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// side reads one of the two sessions, a turn at a time. The lines of a turn need
// not stand together: those of other lanes may stand between them.
type side struct {
	r      *session.Reader
	header *session.Line
	open   map[string]*group // the turn of each lane that is being read
	ready  []*group          // after the last line
	begun  int
	ended  bool
	end    Ending
}

func newSide(r *session.Reader) *side { return &side{r: r, open: map[string]*group{}} }

// read returns the next turn that is complete, nil at the end.
func (s *side) read() (*group, error) {
	for !s.ended {
		l, err := s.r.Next()
		if errors.Is(err, io.EOF) {
			s.finish()
			break
		}
		if err == nil {
			err = check(l)
		}
		if err != nil {
			return nil, err
		}
		s.end.Turns = max(s.end.Turns, l.Turn)
		switch l.Type {
		case session.TypeHeader:
			s.header = l.Clone()
			continue
		case session.TypeFooter:
			f, err := l.Footer()
			if err != nil {
				return nil, err
			}
			s.end.Reason = string(f.Reason)
		}
		if g := s.take(l); g != nil {
			return g, nil
		}
	}
	if len(s.ready) == 0 {
		return nil, nil
	}
	g := s.ready[0]
	s.ready = s.ready[1:]
	return g, nil
}

// take adds a line to its turn and returns the turn before it in its lane when
// that is over.
func (s *side) take(l *session.Line) (over *group) {
	g := s.open[l.Lane]
	if g == nil || g.turn != l.Turn {
		over = g
		g = &group{id: s.begun, lane: l.Lane, turn: l.Turn}
		s.begun++
		s.open[l.Lane] = g
	}
	g.entries = append(g.entries, newEntry(l))
	return over
}

// finish makes the last turn of each lane ready.
func (s *side) finish() {
	s.ended = true
	for _, g := range s.open {
		s.ready = append(s.ready, g)
	}
	slices.SortFunc(s.ready, func(a, b *group) int { return cmp.Compare(a.id, b.id) })
}

func sumOf(b []byte) model.Digest { return model.Sum(b) }
