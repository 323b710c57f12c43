package transcript

import (
	"bufio"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
)

// style is how a piece of text looks where colours are allowed: the parameters
// of an SGR sequence.
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	cyan   style = "36"
)

// limits of the width that lines are wrapped to
const (
	minWidth     = 40
	maxWidth     = 120 // longer lines are hard to read
	defaultWidth = 80
)

// printer writes lines of text. Whatever it is given is made safe for a terminal
// before styles are added.
type printer struct {
	w     *bufio.Writer
	width int
	color bool
	mute  bool // nothing is printed
	blank bool // the last line was empty
}

func newPrinter(w io.Writer, width int, color bool) *printer {
	if width <= 0 {
		width = defaultWidth
	}
	return &printer{w: bufio.NewWriter(w), width: min(max(width, minWidth), maxWidth), color: color, blank: true}
}

// paint adds a style to text that is safe.
func (p *printer) paint(s style, text string) string {
	if !p.color || s == plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// line prints one line as it is: its text is safe and painted.
func (p *printer) line(text string) {
	if p.mute {
		return
	}
	p.w.WriteString(strings.TrimRight(text, " "))
	p.w.WriteByte('\n')
	p.blank = text == ""
}

// gap prints an empty line unless the last one was.
func (p *printer) gap() {
	if !p.blank {
		p.line("")
	}
}

// rule prints a title, a line across and what stands at its right end.
func (p *printer) rule(title string, s style, right string) {
	title = cond.Truncate(title, p.width-4, "…")
	n := p.width - textWidth(title) - 1
	tail := ""
	if right != "" && n > textWidth(right)+3 {
		n -= textWidth(right) + 1
		tail = " " + right
	}
	p.line(p.paint(s, title) + " " + p.paint(dim, strings.Repeat("─", max(n, 1))+tail))
}

// block is text under an indent, wrapped and cut.
type block struct {
	first, rest string // what stands before the first line and the others; safe
	style       style
	lines       int // printed at most; 0 = all
}

// text prints a block and says what was cut off.
func (p *printer) text(b block, text string) {
	if p.mute {
		return
	}
	text = strings.TrimRight(text, "\n")
	lead, left := b.first, b.lines
	for {
		raw, after, more := strings.Cut(text, "\n")
		piece := false // raw is only the beginning of its line
		if b.lines > 0 {
			// A line of a mebibyte is not worked on as a whole to show a piece.
			if most := (left + 1) * p.width * 4; len(raw) > most {
				raw = cutRunes(raw, most)
				after, more, piece = text[len(raw):], true, true
			}
		}
		rows := wrap(strings.ReplaceAll(cli.Sanitize(raw), "\t", "    "), p.width-leadWidth(b.rest))
		for i, row := range rows {
			if b.lines > 0 && left == 0 {
				p.cut(b, strings.Join(rows[i:], ""), after, more && !piece)
				return
			}
			p.line(lead + p.paint(b.style, row))
			lead, left = b.rest, left-1
		}
		if !more {
			return
		}
		text = after
	}
}

// cut says how much is left out: the rest of a line, and what follows it, after
// a line break or not.
func (p *printer) cut(b block, rest, after string, breaks bool) {
	lines := strings.Count(after, "\n")
	if breaks {
		lines++
	}
	what := size(int64(len(rest) + len(after)))
	if lines > 0 {
		if rest != "" {
			lines++
		}
		what = count(lines, "more line") + ", " + what
	} else {
		what += " more"
	}
	p.text(block{first: b.rest, rest: b.rest, style: dim}, "… "+what+" (--full shows all)")
}

// cutRunes is the beginning of s of at most n bytes, at a rune's border.
func cutRunes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// cond measures text the same in every locale.
var cond = &runewidth.Condition{StrictEmojiNeutral: true}

func textWidth(s string) int { return cond.StringWidth(s) }

// leadWidth is the width of what stands before a line, which may be painted.
func leadWidth(s string) int {
	for {
		from := strings.IndexByte(s, 0x1b)
		if from < 0 {
			return textWidth(s)
		}
		to := strings.IndexByte(s[from:], 'm')
		s = s[:from] + s[from+to+1:]
	}
}

// wrap breaks a line without newlines into rows of at most width columns, at
// spaces where there are some. An empty line is one empty row.
func wrap(s string, width int) []string {
	width = max(width, 10)
	if len(s) <= width {
		return []string{s}
	}
	var rows []string
	start, used, space := 0, 0, -1 // of the row: first byte, columns, last space
	for i, r := range s {
		w := cond.RuneWidth(r)
		if used+w > width {
			end, next := i, i
			if space > start && strings.TrimSpace(s[start:space]) != "" {
				end, next = space, space+1
			} else if r == ' ' {
				next = i + 1
			}
			rows = append(rows, s[start:end])
			start, space = next, -1
			used = 0
			if next <= i {
				used = textWidth(s[next:i])
			}
			if next == i+1 {
				continue
			}
		}
		if r == ' ' {
			space = i
		}
		used += w
	}
	return append(rows, s[start:])
}
