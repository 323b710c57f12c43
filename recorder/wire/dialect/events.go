package dialect

import "bytes"

// Event is one server-sent event.
type Event struct {
	Name string // of its event field; "" = message
	ID   string // the last event id as it stood
	Data []byte // its data lines, joined with LF; may share memory with the body
	// body[Start:End] is what the event takes in the stream: from the end of the
	// event before it (comments and blocks without data go with what follows)
	// through its blank line.
	Start, End int
}

// Events splits a body into its server-sent events as the WHATWG specification
// of event streams says (HTML, section 9.2.6): lines end with CRLF, LF or CR, a
// byte order mark at the start is dropped, lines that begin with a colon are
// comments, one space after a field's colon is dropped, an event without data is
// none, and an event that no blank line ends is discarded. Events lie end to end
// from 0; body from the last End on is what was discarded.
func Events(body []byte) []Event {
	var (
		out      []Event
		name, id string
		data     []byte
		lines    int // of data
		start    int
	)
	at := 0
	if bytes.HasPrefix(body, []byte("\xef\xbb\xbf")) {
		at = 3
	}
	for {
		line, next, whole := cutLine(body, at)
		if !whole {
			return out
		}
		at = next
		if len(line) == 0 {
			if lines > 0 {
				out = append(out, Event{Name: name, ID: id, Data: data, Start: start, End: at})
				start = at
			}
			name, data, lines = "", nil, 0
			continue
		}
		switch field, value := cutField(line); field {
		case "event":
			name = string(value)
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				id = string(value)
			}
		case "data":
			switch lines {
			case 0:
				data = value[:len(value):len(value)] // an append must not write into the body
			default:
				data = append(append(data, '\n'), value...)
			}
			lines++
		}
	}
}

// cutLine returns the line that begins at i and the index after its end; whole is
// false where nothing ends it.
func cutLine(b []byte, i int) (line []byte, next int, whole bool) {
	n := bytes.IndexAny(b[i:], "\r\n")
	if n < 0 {
		return nil, len(b), false
	}
	next = i + n + 1
	if b[i+n] == '\r' && next < len(b) && b[next] == '\n' {
		next++
	}
	return b[i : i+n], next, true
}

func cutField(line []byte) (name string, value []byte) {
	field, value, ok := bytes.Cut(line, []byte(":"))
	if !ok {
		return string(line), line[len(line):]
	}
	return string(field), bytes.TrimPrefix(value, []byte(" "))
}
