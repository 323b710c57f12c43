package builtin

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/tool"
	"github.com/harnessbench/harnessbench/loop/workspace"
)

// PageLines is the most lines that one call of read_file shows.
const PageLines = 2000

var readSpec = newSpec("read_file", event.Read,
	"Reads a text file. Shows at most 2,000 lines or 16 KiB at a time; when there is more, the last line in brackets says how to read on. "+
		"Lines longer than that are read on with start_byte.",
	`{"additionalProperties":false,"properties":{`+
		`"limit":{"description":"how many lines to show, at most 2000","maximum":2000,"minimum":1,"type":"integer"},`+
		`"offset":{"description":"first line to show, from 1","minimum":1,"type":"integer"},`+
		`"path":{"description":"file below /workspace","type":"string"},`+
		`"start_byte":{"description":"byte of the file to start at, from 0, instead of offset","minimum":0,"type":"integer"}`+
		`},"required":["path"],"type":"object"}`)

func readFile(_ context.Context, ws workspace.Workspace, args string) tool.Result {
	rel, err := relPath(args)
	if err != nil {
		return failed(err.Error())
	}
	data, err := readText(ws, rel)
	if err != nil {
		return failed(err.Error())
	}
	const most = workspace.MaxFile + 1
	line, _ := intArg(args, "offset", 1, 1, most)
	limit, _ := intArg(args, "limit", PageLines, 1, PageLines)
	start, byByte := intArg(args, "start_byte", 0, 0, most)
	if len(data) == 0 {
		return success("[empty file]")
	}
	p := pager{data: data, total: countLines(data)}
	switch {
	case byByte && start >= len(data):
		return failed(fmt.Sprintf("%s: start_byte %d is beyond the end; the file has %d bytes", workspace.Abs(rel), start, len(data)))
	case byByte:
		p.start = runeEnd(data, start)
		p.first = 1 + bytes.Count(data[:p.start], newline)
	case line > p.total:
		return failed(fmt.Sprintf("%s: offset %d is beyond the end; the file has %d lines", workspace.Abs(rel), line, p.total))
	default:
		p.first, p.start = line, lineStart(data, line)
	}
	return success(p.page(limit))
}

var newline = []byte{'\n'}

// readText reads a whole file and refuses what is no text.
func readText(ws workspace.Workspace, rel string) ([]byte, error) {
	data, size, err := ws.ReadFile(rel, 0, workspace.MaxFile)
	if err != nil {
		return nil, err
	}
	if size > int64(len(data)) {
		return nil, &workspace.Error{Path: workspace.Abs(rel), What: fmt.Sprintf("is too large to read: %d bytes", size), Err: workspace.ErrTooLarge}
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return nil, &workspace.Error{Path: workspace.Abs(rel), What: fmt.Sprintf("is a binary file (NUL at byte %d, %d bytes in all); only text can be used", i, size), Err: workspace.ErrSpecial}
	}
	return data, nil
}

// countLines counts lines; the last needs no newline.
func countLines(data []byte) int {
	n := bytes.Count(data, newline)
	if len(data) > 0 && data[len(data)-1] != '\n' {
		n++
	}
	return n
}

// lineStart returns where line n, from 1, begins.
func lineStart(data []byte, n int) int {
	at := 0
	for ; n > 1; n-- {
		at += bytes.IndexByte(data[at:], '\n') + 1
	}
	return at
}

// pager shows one page of a text that begins at byte start, in line first.
type pager struct {
	data         []byte
	total        int
	start, first int
}

// page returns at most limit lines and PageBytes bytes, never a part of a UTF-8
// sequence, and a last line in brackets unless all was shown.
func (p *pager) page(limit int) string {
	room := PageBytes
	window := p.data[p.start:min(len(p.data), p.start+room)]
	valid := utf8.Valid(trimRune(window))
	if !valid {
		room /= 3 // each bad byte is shown as three
	}
	end, lines := p.start, 0
	for lines < limit && end < len(p.data) {
		next := len(p.data)
		if i := bytes.IndexByte(p.data[end:min(len(p.data), p.start+room)], '\n'); i >= 0 {
			next = end + i + 1
		} else if next > p.start+room {
			break
		}
		end, lines = next, lines+1
	}
	cut := lines == 0
	if cut {
		end = p.start + len(trimRune(p.data[p.start:p.start+room]))
	}
	if p.start == 0 && end == len(p.data) && valid {
		return string(p.data)
	}
	text := strings.ToValidUTF8(string(p.data[p.start:end]), "\uFFFD")
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + p.remark(end, lines, cut, valid)
}

// remark says what was shown and how to read on.
func (p *pager) remark(end, lines int, cut, valid bool) string {
	var b strings.Builder
	if cut {
		fmt.Fprintf(&b, "[line %d of %d is too long for a page: bytes %d-%d of %d shown; read on with start_byte=%d",
			p.first, p.total, p.start, end-1, len(p.data), end)
	} else {
		last := p.first + lines - 1
		fmt.Fprintf(&b, "[lines %d-%d of %d", p.first, last, p.total)
		if p.start > 0 && p.data[p.start-1] != '\n' {
			fmt.Fprintf(&b, ", from byte %d", p.start)
		}
		if end < len(p.data) {
			fmt.Fprintf(&b, "; read on with offset=%d", last+1)
		} else {
			b.WriteString("; end of file")
		}
	}
	if !valid {
		b.WriteString("; bytes that are not UTF-8 are shown as \uFFFD")
	}
	b.WriteByte(']')
	return b.String()
}

// runeEnd returns at, or the end of the UTF-8 sequence that at lies inside of.
func runeEnd(data []byte, at int) int {
	for i := at - 1; i >= 0 && i > at-utf8.UTFMax; i-- {
		if utf8.RuneStart(data[i]) {
			if _, n := utf8.DecodeRune(data[i:]); i+n > at && i+n < len(data) {
				return i + n
			}
			break
		}
	}
	return at
}

// trimRune drops a UTF-8 sequence that is cut off at the end of b.
func trimRune(b []byte) []byte {
	for i := 1; i <= utf8.UTFMax && i <= len(b); i++ {
		c := b[len(b)-i]
		if !utf8.RuneStart(c) {
			continue
		}
		if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-i:]) {
			return b[:len(b)-i]
		}
		break
	}
	return b
}
