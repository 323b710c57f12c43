package report

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// table is what is to be laid out: columns, and rows in blocks. In text a
// block's name stands on a line of its own, so that wide names cost no width;
// in Markdown it is the first column.
type table struct {
	block  string // what the blocks are: the head of Markdown's first column
	heads  []string
	left   int // the first so many columns are set left, the others right
	blocks []block
	ends   bool     // the last column is set left too
	spare  []string // heads of columns that go, in this order, where text has no room
	pair   bool     // the first two columns are names of arms, not the first alone
}

type block struct {
	name string
	rows [][]string
}

func (p *printer) table(title string, t table) {
	p.title(2, title)
	if p.markdown {
		p.markdownTable(t)
		return
	}
	p.textTable(t)
}

func (t table) aligns(extra int) []tw.Align {
	out := make([]tw.Align, extra+len(t.heads))
	for i := range out {
		out[i] = tw.AlignRight
		if i < extra+t.left || t.ends && i == len(out)-1 {
			out[i] = tw.AlignLeft
		}
	}
	return out
}

// lay runs tablewriter over heads and rows; each row is one line.
func lay(r tw.Renderer, pad tw.Padding, aligns []tw.Align, heads []string, rows [][]string) []string {
	var b bytes.Buffer
	cell := tw.CellConfig{
		Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: tw.Off},
		Alignment:  tw.CellAlignment{Global: tw.AlignRight, PerColumn: aligns},
		Padding:    tw.CellPadding{Global: pad},
	}
	w := tablewriter.NewTable(&b,
		tablewriter.WithRenderer(r),
		tablewriter.WithConfig(tablewriter.Config{Header: cell, Row: cell}),
		tablewriter.WithTrimSpace(tw.Off),
		tablewriter.WithEastAsian(tw.Off), // the width must not depend on the locale
	)
	w.Header(heads)
	for _, row := range rows {
		// The only errors are those of the writer and of rows of odd types.
		_ = w.Append(row)
	}
	if err := w.Render(); err != nil {
		return []string{"(table cannot be laid out: " + err.Error() + ")"}
	}
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// without leaves out the column of that head.
func (t table) without(head string) table {
	at := slices.Index(t.heads, head)
	if at < 0 {
		return t
	}
	out := t
	out.heads = slices.Delete(slices.Clone(t.heads), at, at+1)
	out.blocks = nil
	for _, b := range t.blocks {
		rows := make([][]string, len(b.rows))
		for i, r := range b.rows {
			rows[i] = slices.Delete(slices.Clone(r), at, at+1)
		}
		out.blocks = append(out.blocks, block{b.name, rows})
	}
	return out
}

// textTable lays a table out in the width of a terminal: without its spare columns where
// it must, and where names alone are too wide, with each on a line of its own.
func (p *printer) textTable(t table) {
	fit, lines := t.fit()
	var names []string
	if widest(lines) > width-4 {
		fit, names = t.unnamed()
		fit, lines = fit.fit()
	}
	if lines == nil {
		p.para("  (nothing was run)")
		return
	}
	fmt.Fprintf(p.out, "    %s\n", p.paint.dim(lines[0]))
	at := 1
	for _, b := range fit.blocks {
		fmt.Fprintf(p.out, "  %s\n", p.paint.bold(b.name))
		for range b.rows {
			if at <= len(names) && names[at-1] != "" {
				fmt.Fprintf(p.out, "    %s\n", names[at-1])
			}
			if at < len(lines) {
				fmt.Fprintf(p.out, "    %s\n", lines[at])
			}
			at++
		}
	}
}

// fit lays a table out, without those of its spare columns for which there is no room.
func (t table) fit() (table, []string) {
	lines := layText(t)
	for _, head := range t.spare {
		if widest(lines) <= width-4 {
			break
		}
		t = t.without(head)
		lines = layText(t)
	}
	return t, lines
}

// unnamed takes names out of the rows.
func (t table) unnamed() (out table, names []string) {
	out = t
	out.blocks = nil
	for _, b := range t.blocks {
		rows := make([][]string, len(b.rows))
		for i, r := range b.rows {
			rows[i] = slices.Clone(r)
			name := r[0]
			rows[i][0] = ""
			if t.pair {
				name, rows[i][1] = name+"\n      against "+r[1], ""
			}
			names = append(names, name)
		}
		out.blocks = append(out.blocks, block{b.name, rows})
	}
	return out, names
}

// ansi is what painter puts around a text.
var ansi = regexp.MustCompile("\x1b\\[[0-9]+m")

// widest is the number of columns of the longest line, colours not counted.
func widest(lines []string) int {
	n := 0
	for _, l := range lines {
		n = max(n, len([]rune(ansi.ReplaceAllString(l, ""))))
	}
	return n
}

// layText lays a table out without its blocks' names; nil when it has no rows.
func layText(t table) []string {
	var rows [][]string
	for _, b := range t.blocks {
		rows = append(rows, b.rows...)
	}
	if len(rows) == 0 {
		return nil
	}
	plain := renderer.NewBlueprint(tw.Rendition{
		Borders: tw.BorderNone,
		Symbols: tw.NewSymbols(tw.StyleNone),
		Settings: tw.Settings{
			Separators: tw.Separators{ShowHeader: tw.Off, ShowFooter: tw.Off, BetweenRows: tw.Off, BetweenColumns: tw.Off},
			Lines:      tw.LinesNone,
		},
	})
	return lay(plain, tw.Padding{Right: "  ", Overwrite: true}, t.aligns(0), t.heads, rows)
}

func (p *printer) markdownTable(t table) {
	heads := append([]string{t.block}, t.heads...)
	var rows [][]string
	for _, b := range t.blocks {
		for _, r := range b.rows {
			rows = append(rows, append([]string{b.name}, r...))
		}
	}
	if len(rows) == 0 {
		p.para("(nothing was run)")
		return
	}
	for _, line := range lay(renderer.NewMarkdown(), tw.PaddingDefault, t.aligns(1), heads, rows) {
		if !p.write(line + "\n") {
			break
		}
	}
	p.write("\n")
}

// words splits text at spaces, and a word that no line could hold anywhere.
func words(text string) []string {
	const most = width - 20
	var out []string
	for _, word := range strings.Fields(text) {
		r := []rune(word)
		for ; len(r) > most; r = r[most:] {
			out = append(out, string(r[:most]))
		}
		out = append(out, string(r))
	}
	return out
}

// wrap writes text in lines of at most width columns.
func wrap(out *bytes.Buffer, first, next, text string) {
	line, used := first, len(first)
	empty := true
	for _, word := range words(text) {
		n := len([]rune(word))
		if !empty && used+1+n > width {
			fmt.Fprintln(out, strings.TrimRight(line, " "))
			line, used, empty = next, len(next), true
		}
		if !empty {
			line, used = line+" ", used+1
		}
		line, used, empty = line+word, used+n, false
	}
	fmt.Fprintln(out, strings.TrimRight(line, " "))
}
