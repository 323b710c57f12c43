package session

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"

	"github.com/harnessbench/harnessbench/loop/model"
)

// bufferSoft is the size at which buffered lines are handed on, and above which
// a buffer is not kept.
const bufferSoft = 64 << 10

// Writer seals payloads into lines: it numbers them, chains them, and buffers
// them until Flush. It is not safe for concurrent use. After an error every
// further call returns it.
type Writer struct {
	w     io.Writer
	buf   []byte
	seq   int64
	chain model.Digest
	hash  hash.Hash
	sync  func() error // makes flushed lines durable; nil = not asked for
	done  bool         // the footer was written
	err   error
}

// NewWriter returns a Writer of a new session on w.
func NewWriter(w io.Writer) *Writer {
	return &Writer{w: w, chain: ChainStart, hash: sha256.New()}
}

// Line seals one line. payload is empty or `,"key":value` once or more, without
// white space outside strings, as recorder.Encoder makes it; Line trusts it. To
// the footer's payload it appends the number of lines and the chain's digest.
// The first line must be the header and nothing follows the footer.
func (w *Writer) Line(t Type, payload []byte) error {
	if w.err != nil {
		return w.err
	}
	switch {
	case w.done:
		return w.fail(errors.New("session writer: a line after the footer"))
	case (w.seq == 0) != (t == TypeHeader):
		return w.fail(fmt.Errorf("session writer: line %d cannot be of type %q: the header is the first line and only that", w.seq+1, t))
	case !validType(string(t)):
		return w.fail(fmt.Errorf("session writer: %q is no line type", t))
	}
	w.seq++
	start := len(w.buf)
	b := append(w.buf, `{"seq":`...)
	b = strconv.AppendInt(b, w.seq, 10)
	b = append(b, `,"t":"`...)
	b = append(b, t...)
	b = append(b, '"')
	b = append(b, payload...)
	if t == TypeFooter {
		b = appendFooterTail(b, w.seq, w.chain)
		w.done = true
	}
	w.hash.Reset()
	w.hash.Write(w.chain[:])
	w.hash.Write(b[start:])
	w.hash.Sum(w.chain[:0])
	b = append(b, `,"h":"`...)
	b = w.chain.AppendShort(b)
	b = append(b, '"', '}')
	if n := len(b) - start; n > MaxLine {
		w.buf = b[:start]
		return w.fail(fmt.Errorf("session writer: line %d (%s) has %d bytes, more than %d", w.seq, t, n, MaxLine))
	}
	w.buf = append(b, '\n')
	if len(w.buf) >= bufferSoft {
		return w.Flush()
	}
	return nil
}

// appendFooterTail appends the two fields that only a writer knows.
func appendFooterTail(b []byte, lines int64, chain model.Digest) []byte {
	b = append(b, footerLines...)
	b = strconv.AppendInt(b, lines, 10)
	b = append(b, footerDigest...)
	b = hex.AppendEncode(b, chain[:])
	return append(b, '"')
}

const (
	footerLines  = `,"lines":`
	footerDigest = `,"digest":"`
)

// Flush hands all buffered lines to the underlying writer in one Write.
func (w *Writer) Flush() error {
	if w.err != nil || len(w.buf) == 0 {
		return w.err
	}
	_, err := w.w.Write(w.buf)
	if cap(w.buf) > 2*bufferSoft {
		w.buf = nil
	}
	w.buf = w.buf[:0]
	if err != nil {
		return w.fail(fmt.Errorf("session writer: %w", err))
	}
	return nil
}

// Turn ends a turn: it flushes and, where the file's policy asks for it, makes
// the lines durable. Live trials call it too before a call that costs money or
// has an effect outside.
func (w *Writer) Turn() error {
	if err := w.Flush(); err != nil || w.sync == nil {
		return err
	}
	if err := w.sync(); err != nil {
		return w.fail(fmt.Errorf("session writer: %w", err))
	}
	return nil
}

// Release gives back buffers that stand empty, for a trial that is about to wait.
func (w *Writer) Release() {
	if len(w.buf) == 0 {
		w.buf = nil
	}
}

// Lines returns how many lines were sealed.
func (w *Writer) Lines() int64 { return w.seq }

// Digest returns the full chain digest over all sealed lines.
func (w *Writer) Digest() model.Digest { return w.chain }

// Done reports whether the footer was sealed.
func (w *Writer) Done() bool { return w.done }

func (w *Writer) fail(err error) error {
	w.err = err
	return err
}

// validType reports whether s can be the type of a line: lower-case letters,
// digits, dots and underscores, at most 64, a letter first.
func validType(s string) bool {
	if s == "" || len(s) > 64 || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	for i := 1; i < len(s); i++ {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '_' {
			return false
		}
	}
	return true
}
