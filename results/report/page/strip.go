package page

import (
	"html/template"
	"math"
	"strconv"

	"github.com/harnessbench/harnessbench/results/report"
)

// A strip is one row of a forest plot: a figure of the width of its cell, so
// that names and numbers stay in a table, where they can be read, copied and
// scaled. Positions are percentages; heights are pixels.

// axis is the scale that the strips of one table share.
type axis struct {
	scale
	step   float64
	ref    float64 // where nothing happened: 0 of differences
	format string
}

// newAxis makes the axis around all estimates of a table.
func newAxis(format string, es ...report.Estimate) axis {
	var vs []float64
	for _, e := range es {
		for _, v := range []*float64{e.Value, e.Lo, e.Hi} {
			if v = finite(v); v != nil {
				vs = append(vs, min(max(*v, -1e6), 1e6))
			}
		}
	}
	lo, hi, step := around(vs, 4)
	return axis{scale: scale{lo: lo, hi: hi, from: 8, to: 92}, step: step, format: format}
}

// rates is the axis of pass rates.
func rates() axis {
	return axis{scale: scale{lo: 0, hi: 1, from: 8, to: 92}, step: 0.25, ref: -1, format: "%.2f"}
}

func (a axis) pos(v float64) string { return coord(a.at(v)) + "%" }

// head is the figure above the strips: the marks of the axis.
func (a axis) head() template.HTML {
	var b svg
	b.add(`<svg class="strip" width="100%%" height="20" aria-hidden="true">`)
	for _, v := range ticks(a.lo, a.hi, a.step) {
		b.add(`<text x="%s" y="13" text-anchor="middle">`, a.pos(v))
		b.text(a.label(v))
		b.add(`</text>`)
	}
	b.add(`</svg>`)
	return b.html()
}

func (a axis) label(v float64) string {
	digits := max(0, -int(math.Floor(math.Log10(a.step)+1e-9)))
	if a.step == 0.25 {
		digits = 2
	}
	s := strconv.FormatFloat(v, 'f', min(digits, 6), 64)
	if a.format[1] == '+' && v > 0 {
		s = "+" + s
	}
	return minus(s)
}

// mark is one estimate of a strip.
type mark struct {
	e      report.Estimate
	class  string // of the style: up, down, flat
	hollow bool
}

// strip draws estimates below each other. what names the figure to those who do
// not see it; the numbers stand in the cells beside.
func (a axis) strip(what string, marks ...mark) template.HTML {
	var b svg
	height := 6 + 16*len(marks)
	b.add(`<svg class="strip" width="100%%" height="%d" role="img"><title>`, height)
	b.text(what)
	b.add(`</title>`)
	for _, v := range ticks(a.lo, a.hi, a.step) {
		class := "grid"
		if v == a.ref {
			class = "zero"
		}
		b.add(`<line class="%s" x1="%s" x2="%s" y1="0" y2="%d"/>`, class, a.pos(v), a.pos(v), height)
	}
	for i, m := range marks {
		a.draw(&b, m, 11+16*i)
	}
	b.add(`</svg>`)
	return b.html()
}

func (a axis) draw(b *svg, m mark, y int) {
	v := finite(m.e.Value)
	if v == nil {
		return
	}
	if lo, hi := finite(m.e.Lo), finite(m.e.Hi); lo != nil && hi != nil {
		b.add(`<line class="bar %s" x1="%s" x2="%s" y1="%d" y2="%d"/>`, m.class, a.pos(*lo), a.pos(*hi), y, y)
		for _, end := range []float64{*lo, *hi} {
			b.add(`<line class="bar %s" x1="%s" x2="%s" y1="%d" y2="%d"/>`, m.class, a.pos(end), a.pos(end), y-4, y+4)
		}
	}
	class, r := "dot "+m.class, 5.5
	if m.hollow {
		class, r = "ring "+m.class, 4
	}
	b.add(`<circle class="%s" cx="%s" cy="%d" r="%s"/>`, class, a.pos(*v), y, coord(r))
}
