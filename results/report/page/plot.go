package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// decades lists marks of a logarithmic axis: 1, 2 and 5 times powers of ten
// around lo and hi, thinned to the powers where there are too many.
func decades(lo, hi float64) (out []float64) {
	from, to := math.Floor(math.Log10(lo)), math.Ceil(math.Log10(hi))
	every := max(1, math.Ceil((to-from)/8))
	for e := from; e <= to; e += every {
		for _, f := range []float64{1, 2, 5} {
			if f > 1 && to-from > 3 {
				break
			}
			if v := f * math.Pow(10, e); v >= lo/2.2 && v <= hi*2.2 {
				out = append(out, v)
			}
		}
	}
	if len(out) == 0 {
		out = []float64{lo, hi}
	}
	return out
}

// axes draws the grid, the marks and the names of both axes.
func axes(b *svg, xs, ys scale, marks []float64) {
	for _, v := range ticks(0, 1, 0.2) {
		y := coord(ys.at(v))
		b.add(`<line class="grid" x1="%s" x2="%s" y1="%s" y2="%s"/><text x="%s" y="%s" dy="4" text-anchor="end">%.1f</text>`,
			coord(plotL), coord(plotR), y, y, coord(plotL-8), y, v)
	}
	for _, v := range marks {
		x := coord(xs.at(v))
		b.add(`<line class="grid" x1="%s" x2="%s" y1="%s" y2="%s"/><text x="%s" y="%s" text-anchor="middle">%s</text>`,
			x, x, coord(plotT), coord(plotB), x, coord(plotB+18), axisUSD(v))
	}
	b.add(`<text class="name" x="%s" y="%s" text-anchor="middle">cost of a trial, USD</text>`, coord((plotL+plotR)/2), coord(plotB+42))
	b.add(`<text class="name" transform="translate(15 %s) rotate(-90)" text-anchor="middle">pass rate</text>`, coord((plotT+plotB)/2))
}

// axisUSD prints a round amount without zeros at its end.
func axisUSD(v float64) string {
	if v == 0 {
		return "$0"
	}
	digits := max(0, 1-int(math.Floor(math.Log10(v))))
	s := fmt.Sprintf("%.*f", min(digits, 12), v)
	for digits > 0 && s[len(s)-1] == '0' {
		s = s[:len(s)-1]
	}
	return "$" + trimDot(s)
}

func trimDot(s string) string {
	if n := len(s); n > 0 && s[n-1] == '.' {
		return s[:n-1]
	}
	return s
}

// shape draws the mark of a model: models differ in shape, not in colour alone.
func shape(b *svg, model int, x, y, r float64) {
	switch model {
	case 0:
		b.add(`<circle cx="%s" cy="%s" r="%s"/>`, coord(x), coord(y), coord(r))
	case 1:
		b.add(`<rect x="%s" y="%s" width="%s" height="%s"/>`, coord(x-r+0.5), coord(y-r+0.5), coord(2*r-1), coord(2*r-1))
	case 2:
		b.add(`<path d="M%s %sL%s %sL%s %sZ"/>`, coord(x), coord(y-r-0.5), coord(x+r+0.5), coord(y+r-0.5), coord(x-r-0.5), coord(y+r-0.5))
	case 3:
		b.add(`<path d="M%s %sL%s %sL%s %sL%s %sZ"/>`, coord(x), coord(y-r-1), coord(x+r+1), coord(y), coord(x), coord(y+r+1), coord(x-r-1), coord(y))
	default:
		b.add(`<path d="M%s %sL%s %sL%s %sZ"/>`, coord(x-r-0.5), coord(y-r+0.5), coord(x+r+0.5), coord(y-r+0.5), coord(x), coord(y+r+0.5))
	}
}

// staircase draws the frontier: for each cost, the best that it buys. It returns
// the room that its lines take.
func staircase(b *svg, points []*point) (lines []box) {
	var on []*point
	for _, p := range points {
		if p.frontier {
			on = append(on, p)
		}
	}
	if len(on) == 0 {
		return nil
	}
	slices.SortStableFunc(on, func(a, b *point) int { return cmp.Compare(a.x, b.x) })
	x, y := on[0].x, plotB
	b.add(`<path class="front" d="M%s %s`, coord(x), coord(y))
	to := func(nx, ny float64) {
		lines = append(lines, box{min(x, nx) - 1, min(y, ny) - 1, max(x, nx) + 1, max(y, ny) + 1})
		x, y = nx, ny
	}
	for _, p := range on {
		b.add(`H%s`, coord(p.x))
		to(p.x, y)
		if p.y < y {
			b.add(`V%s`, coord(p.y))
			to(x, p.y)
		}
	}
	b.add(`H%s"/>`, coord(plotR))
	to(plotR, y)
	return lines
}

// box is the room of a label or of a mark.
type box struct{ x0, y0, x1, y1 float64 }

func (a box) hits(o box) bool { return a.x0 < o.x1 && o.x0 < a.x1 && a.y0 < o.y1 && o.y0 < a.y1 }

// charWidth is what a character of a label takes at most on average, in units of
// the figure, at the size that the style gives labels.
const charWidth, lineHeight = 7.4, 15.0

// labels names points where there is room: those on the frontier first, by name
// and number, the others by number alone where the name does not fit. A label that
// fits nowhere is left out: the table below has every arm under its number.
func labels(b *svg, points []*point, lines []box) {
	var taken []box
	for _, p := range points {
		taken = append(taken, box{p.x - 8, p.y - 8, p.x + 8, p.y + 8})
	}
	taken = append(taken, lines...)
	order := slices.Clone(points)
	slices.SortStableFunc(order, func(a, b *point) int {
		if a.frontier != b.frontier {
			return map[bool]int{true: -1, false: 1}[a.frontier]
		}
		return 0
	})
	for _, p := range order {
		num, equal := fmt.Sprint(p.numbers[0]), ""
		if n := len(p.numbers); n > 1 {
			equal = fmt.Sprintf(" and %d equal", n-1)
		}
		texts := []string{num + ". " + p.name + equal, num + equal, num}
		if p.name == "" {
			texts = texts[1:]
		}
		for _, text := range texts {
			if at, anchor, ok := fit(p, text, taken); ok {
				taken = append(taken, at)
				x := map[string]float64{"start": at.x0, "end": at.x1, "middle": (at.x0 + at.x1) / 2}[anchor]
				b.add(`<text class="label%s" x="%s" y="%s" text-anchor="%s">`, map[bool]string{true: " on", false: ""}[p.frontier], coord(x), coord(at.y1-4), anchor)
				b.text(text)
				b.add(`</text>`)
				break
			}
		}
	}
}

// fit looks for room around a point.
func fit(p *point, text string, taken []box) (box, string, bool) {
	w := 0.0
	for _, r := range text {
		if w += charWidth; r > 0x2e7f { // wide scripts
			w += charWidth
		}
	}
	for _, c := range []struct {
		dx, dy float64
		anchor string
	}{{10, -lineHeight / 2, "start"}, {-10 - w, -lineHeight / 2, "end"}, {-w / 2, -10 - lineHeight, "middle"}, {-w / 2, 9, "middle"},
		{8, -lineHeight - 5, "start"}, {8, 5, "start"}, {-8 - w, -lineHeight - 5, "end"}, {-8 - w, 5, "end"}} {
		at := box{p.x + c.dx, p.y + c.dy, p.x + c.dx + w, p.y + c.dy + lineHeight}
		if at.x0 < plotL+2 || at.x1 > plotR || at.y0 < 2 || at.y1 > plotB-1 {
			continue
		}
		if !slices.ContainsFunc(taken, at.hits) {
			return at, c.anchor, true
		}
	}
	return box{}, "", false
}
