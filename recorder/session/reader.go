package session

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"
	"strings"

	"github.com/harnessbench/harnessbench/loop/model"
)

// Reader streams the lines of a session. It holds one line at a time and never
// more than twice of what the stream has really delivered.
type Reader struct {
	src   io.Reader
	buf   []byte
	r, w  int // unread bytes are buf[r:w]
	off   int64
	eof   bool
	scan  scanner
	hash  hash.Hash
	chain model.Digest
	want  []byte // h that the line must have
	line  Line
	turns map[string]int
	main  int
	torn  *Torn
	done  bool // the footer was read
	err   error
}

// NewReader returns a Reader of the uncompressed session on src; [Open] also
// reads compressed files.
func NewReader(src io.Reader) *Reader {
	return &Reader{src: src, buf: make([]byte, 64<<10), hash: sha256.New(), chain: ChainStart}
}

// Next returns the next line, valid until the next call. At the end it returns
// io.EOF: then [Reader.Torn] tells whether a torn line was left out and
// [Reader.Complete] whether there was a footer. Other errors are a
// *[CorruptError], one that is [ErrTooNew], or what the source returned; they
// are final.
func (r *Reader) Next() (*Line, error) {
	if r.err != nil {
		return nil, r.err
	}
	l, err := r.next()
	if err != nil {
		r.err = err
		return nil, err
	}
	return l, nil
}

func (r *Reader) next() (*Line, error) {
	raw, err := r.readLine()
	if err != nil {
		return nil, err
	}
	l := &r.line
	l.No, l.Offset = l.No+1, r.off
	r.off += int64(len(raw)) + 1
	if r.done {
		return nil, r.corrupt(0, "there is a line after the footer")
	}
	if err := r.check(raw); err != nil {
		return nil, err
	}
	if err := r.place(); err != nil {
		return nil, err
	}
	return l, nil
}

// check verifies one line: JSON, frame, version, number, chain.
func (r *Reader) check(raw []byte) error {
	l := &r.line
	if err := r.scan.scan(raw); err != nil {
		// A changed byte often breaks the JSON too: either way it is damage.
		return r.syntax(err)
	}
	if l.No == 1 {
		if err := r.version(raw); err != nil {
			return err
		}
	}
	if err := l.parse(raw, r.scan.top); err != nil {
		return r.syntax(err)
	}
	if l.Seq != int64(l.No) {
		return r.corrupt(len(`{"seq":`), "sequence number is %d, not %d: lines are missing, doubled or out of order", l.Seq, l.No)
	}
	if (l.No == 1) != (l.Type == TypeHeader) {
		return r.corrupt(0, "type is %q: the first line is the header and only that", l.Type)
	}
	cut := len(raw) - tailLen
	if cut < 0 || string(raw[cut:cut+6]) != `,"h":"` {
		return r.corrupt(0, `line does not end with "h" and 32 hex digits`)
	}
	before := r.chain
	r.hash.Reset()
	r.hash.Write(r.chain[:])
	r.hash.Write(raw[:cut])
	r.hash.Sum(r.chain[:0])
	r.want = r.chain.AppendShort(r.want[:0])
	if got := raw[cut+6 : len(raw)-2]; !bytes.Equal(got, r.want) {
		return r.corrupt(cut, "chain is broken: \"h\" is %.40q and should be %q: this line, or a line before it, was changed", got, r.want)
	}
	if l.Type == TypeFooter {
		return r.footer(before)
	}
	return nil
}

// version refuses what is no session, or a newer one, before anything else of
// the header is looked at.
func (r *Reader) version(raw []byte) error {
	v := ""
	for _, f := range r.scan.top {
		if string(raw[f.ks:f.ke]) == "v" {
			v, _ = unquote(raw[f.vs:f.ve])
		}
	}
	if v == Version {
		return nil
	}
	if n, ok := strings.CutPrefix(v, versionStem); ok {
		if major, err := strconv.Atoi(n); err == nil && major > 1 && n[0] != '+' {
			return &TooNewError{Version: v}
		}
	}
	return r.corrupt(0, "is no header of a session: \"v\" is %.80q, not %q", v, Version)
}

// footer checks the two fields that the writer added.
func (r *Reader) footer(before model.Digest) error {
	l := &r.line
	r.done = true
	n := len(l.fields)
	lines, digest := l.fields[n-3], l.fields[n-2]
	if got, ok := parseInt(l.Raw[lines.vs:lines.ve]); !ok || got != l.Seq {
		return r.corrupt(lines.vs, "footer counts %.20s lines, there are %d", l.Raw[lines.vs:lines.ve], l.Seq)
	}
	if got, _ := unquote(l.Raw[digest.vs:digest.ve]); got != before.String() {
		return r.corrupt(digest.vs, "footer's digest is not that of the lines before it")
	}
	return nil
}

// place resolves lane and turn.
func (r *Reader) place() error {
	l := &r.line
	own, err := l.place()
	if err != nil {
		return r.syntax(err)
	}
	if l.Lane == "main" {
		if own {
			r.main = l.Turn
		}
		l.Turn = r.main
		return nil
	}
	if own {
		if _, known := r.turns[l.Lane]; !known && len(r.turns) >= MaxLanes {
			return r.corrupt(0, "more than %d lanes", MaxLanes)
		}
		if r.turns == nil {
			r.turns = map[string]int{}
		}
		r.turns[l.Lane] = l.Turn
	}
	l.Turn = r.turns[l.Lane]
	return nil
}

// readLine returns the next line without LF.
func (r *Reader) readLine() ([]byte, error) {
	from := r.r
	for {
		if i := indexLF(r.buf[from:r.w]); i >= 0 {
			line := r.buf[r.r : from+i]
			if len(line) > MaxLine {
				return nil, r.tooLong()
			}
			r.r = from + i + 1
			return line, nil
		}
		if r.w-r.r > MaxLine {
			return nil, r.tooLong()
		}
		if r.eof {
			return nil, r.atEOF()
		}
		from = r.fill()
		if r.err != nil {
			return nil, r.err
		}
	}
}

// fill reads more and returns where the new bytes begin. The buffer doubles
// only when it is full of what was really read.
func (r *Reader) fill() int {
	if r.r > 0 {
		copy(r.buf, r.buf[r.r:r.w])
		r.r, r.w = 0, r.w-r.r
	}
	if r.w == len(r.buf) {
		b := make([]byte, min(2*len(r.buf), MaxLine+(64<<10)))
		copy(b, r.buf)
		r.buf = b
	}
	from := r.w
	for range 100 {
		n, err := r.src.Read(r.buf[r.w:])
		r.w += n
		if errors.Is(err, io.EOF) {
			r.eof = true
			return from
		}
		var broken *unpackError
		if errors.As(err, &broken) {
			r.err = &CorruptError{Line: r.line.No + 1, Offset: r.off, What: err.Error(), Err: err}
			return from
		}
		if err != nil {
			r.err = fmt.Errorf("session reader: after line %d: %w", r.line.No, err)
			return from
		}
		if n > 0 {
			return from
		}
	}
	r.err = io.ErrNoProgress
	return from
}

func (r *Reader) atEOF() error {
	rest := int64(r.w - r.r)
	switch {
	case r.line.No == 0 && rest == 0:
		return &CorruptError{Line: 1, What: "file is empty"}
	case r.line.No == 0:
		return &CorruptError{Line: 1, Offset: rest, What: "file ends inside its header: nothing can be recovered"}
	case rest > 0 && r.done:
		return &CorruptError{Line: r.line.No + 1, Offset: r.off, What: "there are bytes after the footer"}
	case rest > 0:
		r.torn = &Torn{Line: r.line.No + 1, Offset: r.off, Bytes: rest}
	}
	return io.EOF
}

func (r *Reader) tooLong() error {
	return &CorruptError{Line: r.line.No + 1, Offset: r.off, What: fmt.Sprintf("line is longer than %d MiB", MaxLine>>20)}
}

// Torn returns what is known of a torn last line, nil when there is none. It is
// known once Next returned io.EOF.
func (r *Reader) Torn() *Torn { return r.torn }

// Complete reports whether the footer was read.
func (r *Reader) Complete() bool { return r.done }

// Digest returns the full chain digest after the last line returned.
func (r *Reader) Digest() model.Digest { return r.chain }

func (r *Reader) corrupt(at int, format string, a ...any) error {
	return &CorruptError{Line: r.line.No, Offset: r.line.Offset + int64(at), What: fmt.Sprintf(format, a...)}
}

func (r *Reader) syntax(err error) error {
	var s *syntaxError
	if errors.As(err, &s) {
		return r.corrupt(s.at, "%s", s.what)
	}
	return r.corrupt(0, "%v", err)
}

// Verify reads a whole session and returns how many lines it has. A torn tail
// and a missing footer are errors here.
func Verify(r *Reader) (lines int, err error) {
	for {
		l, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return lines, err
		}
		lines = l.No
	}
	switch {
	case r.torn != nil:
		return lines, &CorruptError{Line: r.torn.Line, Offset: r.torn.Offset, What: "last line is torn"}
	case !r.done:
		return lines, &CorruptError{Line: lines, Offset: r.off, What: "there is no footer: the session was not finished"}
	}
	return lines, nil
}

func indexLF(b []byte) int { return bytes.IndexByte(b, '\n') }
