package replayer

import (
	"errors"
	"fmt"
	"io"

	"github.com/harnessbench/harnessbench/recorder/session"
)

// tape hands out the lines of a session, one line ahead. Lines of types that
// this version does not know are skipped: they are kept in the file and say
// nothing to a replay.
type tape struct {
	rd     *session.Reader
	queued []*session.Line // read ahead while the configuration was rebuilt
	ahead  *session.Line
	err    error // io.EOF at the end; else why the file cannot be read
}

// errEnd says that the recording has no more lines.
var errEnd = errors.New("the recording ends here")

// peek returns the next line without taking it.
func (t *tape) peek() (*session.Line, error) {
	if t.ahead != nil {
		return t.ahead, nil
	}
	if len(t.queued) > 0 {
		t.ahead, t.queued = t.queued[0], t.queued[1:]
		return t.ahead, nil
	}
	for t.err == nil {
		l, err := t.rd.Next()
		if err != nil {
			t.err = err
			break
		}
		if known[l.Type] {
			t.ahead = l
			return l, nil
		}
	}
	if errors.Is(t.err, io.EOF) {
		return nil, errEnd
	}
	return nil, t.err
}

// take removes the line that peek returned.
func (t *tape) take() { t.ahead = nil }

// opening reads the header and the parts before the first other line, and queues
// them again.
func (t *tape) opening() (*session.Header, []*session.Line, error) {
	first, err := t.rd.Next()
	if err != nil {
		t.err = err
		return nil, nil, err
	}
	h, err := first.Header()
	if err != nil {
		return nil, nil, err
	}
	t.queued = append(t.queued, first.Clone())
	var parts []*session.Line
	size := 0
	for {
		l, err := t.peekFile()
		if err != nil {
			return h, parts, err
		}
		if size += len(l.Raw); len(parts) > maxOpening || size > maxOpeningBytes {
			return h, nil, &session.CorruptError{Line: l.No, Offset: l.Offset,
				What: fmt.Sprintf("more than %d parts, or %d MiB of them, stand before the first request", maxOpening, maxOpeningBytes>>20)}
		}
		c := l.Clone()
		t.queued = append(t.queued, c)
		if c.Type != session.TypePart {
			return h, parts, nil
		}
		parts = append(parts, c)
	}
}

// Bounds of what stands before the first request and is read ahead.
const (
	maxOpening      = 4096
	maxOpeningBytes = 64 << 20
)

// peekFile reads the next known line from the file itself.
func (t *tape) peekFile() (*session.Line, error) {
	for {
		l, err := t.rd.Next()
		if err != nil {
			t.err = err
			if errors.Is(err, io.EOF) {
				return nil, errEnd
			}
			return nil, err
		}
		if known[l.Type] {
			return l, nil
		}
	}
}

var known = map[session.Type]bool{
	session.TypeHeader: true, session.TypePart: true, session.TypeRequest: true, session.TypeAttempt: true,
	session.TypeResponse: true, session.TypeToolRequest: true, session.TypeToolResult: true,
	session.TypeGuard: true, session.TypeApproval: true, session.TypeAcceptance: true, session.TypeState: true,
	session.TypeNote: true, session.TypeFooter: true,
}
