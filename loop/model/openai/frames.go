package openai

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// frames reads server-sent events and gives the library one plain line of data
// for each. It knows what the library does not: line ends CR, LF and CRLF, a byte
// order mark, comments without number, data of several lines, an error event, and
// an error object beside others or on a bare line.
type frames struct {
	c    *call
	body *watched
	r    *bufio.Reader

	line   []byte // the present line
	skipLF bool   // the line before ended in CR; an LF right after belongs to it
	begun  bool
	data   []byte // of the event so far
	lines  int    // of data in it
	event  string

	out  []byte // for the library
	room []byte // out's memory
	err  error  // after out
}

func newFrames(c *call, body *watched) *frames {
	return &frames{c: c, body: body, r: bufio.NewReaderSize(body, 16<<10)}
}

// Read implements io.Reader.
func (f *frames) Read(p []byte) (int, error) {
	for len(f.out) == 0 {
		if f.err != nil {
			return 0, f.err
		}
		f.out = f.room[:0]
		f.err = f.next()
		f.room = f.out[:0]
	}
	n := copy(p, f.out)
	f.out = f.out[n:]
	return n, nil
}

// Close implements io.Closer.
func (f *frames) Close() error { return f.body.Close() }

// next reads a line and does what it says.
func (f *frames) next() error {
	line, err := f.readLine()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return f.end(line)
		}
		return err
	}
	if len(line) == 0 {
		return f.dispatch()
	}
	return f.field(line)
}

// end is the end of the body: what is left counts when it is whole.
func (f *frames) end(line []byte) error {
	if len(line) > 0 {
		if err := f.field(line); err != nil {
			return err
		}
	}
	if f.lines > 0 && (f.isDone() || jsontext.Value(f.data).IsValid(lenient)) {
		if err := f.dispatch(); err != nil {
			return err
		}
	}
	return io.EOF
}

// readLine returns the next line without its end, and io.EOF with an unended
// last one.
func (f *frames) readLine() ([]byte, error) {
	f.line = f.line[:0]
	for {
		if _, err := f.r.Peek(1); err != nil {
			return f.line, err
		}
		b, _ := f.r.Peek(f.r.Buffered())
		if f.skipLF {
			f.skipLF = false
			if b[0] == '\n' {
				_, _ = f.r.Discard(1)
				continue
			}
		}
		if !f.begun {
			f.begun = true
			if head, _ := f.r.Peek(3); bytes.Equal(head, []byte("\xef\xbb\xbf")) {
				_, _ = f.r.Discard(3)
				continue
			}
			b, _ = f.r.Peek(f.r.Buffered())
		}
		at := bytes.IndexByte(b, '\n')
		if at < 0 {
			at = len(b)
		}
		if cr := bytes.IndexByte(b[:at], '\r'); cr >= 0 {
			at = cr
		}
		f.line = append(f.line, b[:at]...)
		if at == len(b) {
			_, _ = f.r.Discard(at)
			continue
		}
		f.skipLF = b[at] == '\r'
		_, _ = f.r.Discard(at + 1)
		return f.line, nil
	}
}

// field takes one line of an event.
func (f *frames) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch {
	case line[0] == '{': // no field at all: a server that failed in the middle
		value = line
	case string(name) == "event":
		f.event = string(value)
		return nil
	case string(name) != "data": // comments, ids, retry
		return nil
	}
	if f.lines > 0 {
		// Events that no blank line parts, as some servers write them.
		if f.isDone() || jsontext.Value(f.data).IsValid(lenient) {
			if err := f.dispatch(); err != nil || f.err != nil {
				return err
			}
		} else {
			f.data = append(f.data, '\n')
		}
	}
	f.data = append(f.data, value...)
	f.lines++
	return nil
}

func (f *frames) isDone() bool { return string(bytes.TrimSpace(f.data)) == "[DONE]" }

// dispatch ends an event and renders it.
func (f *frames) dispatch() error {
	data, event := bytes.TrimSpace(f.data), f.event
	f.data, f.lines, f.event = f.data[:0], 0, ""
	if len(data) == 0 {
		return nil
	}
	if string(data) == "[DONE]" {
		f.c.done = true
		f.out = append(f.out, "data: [DONE]\n\n"...)
		f.body.drain()
		return io.EOF
	}
	if event == "error" {
		return &inBand{readFault(data)}
	}
	out, err := f.c.project(data, asDelta)
	if err != nil {
		return err
	}
	f.out = append(append(append(f.out, "data: "...), out...), "\n\n"...)
	return nil
}
