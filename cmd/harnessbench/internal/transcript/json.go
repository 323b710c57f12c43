package transcript

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// ShowJSON prints the lines of a session, one JSON object a line:
//
//	{"line":9,"type":"tool.request","lane":"main","turn":1,"fields":{...}}
//
// lane and turn are always said; fields are those of the line's type as the
// format's specification names them. The last object is of type "end" and says
// whether the session is complete. Of the options Turn and Live count. Characters
// that a terminal could take for commands are escaped.
func ShowJSON(w io.Writer, r *session.Reader, o Options) error {
	out := bufio.NewWriter(w)
	err := showJSON(out, r, o)
	var none *NoTurnError
	if errors.As(err, &none) {
		return err
	}
	if ferr := out.Flush(); err == nil {
		err = ferr
	}
	return err
}

func showJSON(w *bufio.Writer, r *session.Reader, o Options) error {
	turns, turn := 0, o.Turn
	var buf []byte
	for {
		l, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = check(l)
		}
		if err != nil {
			return err
		}
		turns = max(turns, l.Turn)
		if turn > 0 && l.Turn != turn {
			continue
		}
		buf = appendLine(buf[:0], l)
		if _, err := w.Write(escape(buf)); err != nil {
			return err
		}
		if o.Live {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
	if turn > turns {
		return &NoTurnError{turn, turns}
	}
	torn := "null"
	if t := r.Torn(); t != nil {
		torn = fmt.Sprintf(`{"line":%d,"offset":%d,"bytes":%d}`, t.Line, t.Offset, t.Bytes)
	}
	_, err := fmt.Fprintf(w, "{\"type\":\"end\",\"complete\":%t,\"torn\":%s,\"turns\":%d}\n", r.Complete(), torn, turns)
	return err
}

func appendLine(b []byte, l *session.Line) []byte {
	b = append(b, `{"line":`...)
	b = strconv.AppendInt(b, int64(l.No), 10)
	b = append(b, `,"type":`...)
	b = model.AppendString(b, string(l.Type))
	b = append(b, `,"lane":`...)
	b = model.AppendString(b, l.Lane)
	b = append(b, `,"turn":`...)
	b = strconv.AppendInt(b, int64(l.Turn), 10)
	b = append(b, `,"fields":{`...)
	first := true
	l.Keys(func(key string, value []byte) {
		if key == "lane" || key == "turn" {
			return
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(b, '"')
		b = append(b, key...)
		b = append(b, '"', ':')
		b = append(b, value...)
	})
	return append(b, "}}\n"...)
}

// check decodes a line of a known type, so that one that does not hold what its
// type asks for is an error here too.
func check(l *session.Line) (err error) {
	switch l.Type {
	case session.TypeHeader:
		_, err = l.Header()
	case session.TypePart:
		_, err = l.Part()
	case session.TypeRequest:
		_, err = l.Request()
	case session.TypeAttempt:
		_, err = l.Attempt()
	case session.TypeResponse:
		_, err = l.Response()
	case session.TypeToolRequest:
		_, err = l.ToolRequest()
	case session.TypeToolResult:
		_, err = l.ToolResult()
	case session.TypeGuard:
		_, err = l.Guard()
	case session.TypeApproval:
		_, err = l.Approval()
	case session.TypeAcceptance:
		_, err = l.Acceptance()
	case session.TypeState:
		_, err = l.State()
	case session.TypeNote:
		_, err = l.Note()
	case session.TypeWire:
		_, err = l.Wire()
	case session.TypeFooter:
		_, err = l.Footer()
	}
	return err
}

// escape writes what a terminal could take for commands as JSON escapes. In
// sound JSON such characters stand only within strings.
func escape(line []byte) []byte {
	body := line[:len(line)-1]
	if text := string(body); cli.SanitizeLine(text) == text {
		return line
	}
	out := make([]byte, 0, len(line)+64)
	for len(body) > 0 {
		r, n := utf8.DecodeRune(body)
		switch text := string(body[:n]); {
		case r < utf8.RuneSelf && r != 0x7f || cli.SanitizeLine(text) == text:
			out = append(out, text...)
		case r < 0x10000:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
		body = body[n:]
	}
	return append(out, '\n')
}
