package page

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// svg builds one inline figure. Texts are escaped; everything else is made here.
// Colours come from classes of the page's style, so a figure follows it into the
// dark and onto paper.
type svg struct{ strings.Builder }

func (b *svg) add(format string, args ...any) { fmt.Fprintf(&b.Builder, format, args...) }

// text escapes what is shown.
func (b *svg) text(s string) { b.WriteString(template.HTMLEscapeString(s)) }

func (b *svg) html() template.HTML { return template.HTML(b.String()) }

// coord prints a coordinate: two digits are finer than any screen.
func coord(v float64) string { return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) }

// scale maps values onto a length.
type scale struct {
	lo, hi   float64
	from, to float64 // of the picture
	log      bool
}

func (s scale) at(v float64) float64 {
	lo, hi := s.lo, s.hi
	if s.log {
		v, lo, hi = math.Log(v), math.Log(lo), math.Log(hi)
	}
	return s.from + (s.to-s.from)*min(max((v-lo)/(hi-lo), 0), 1)
}

// nice returns a step of 1, 2 or 5 times a power of ten that cuts a span into at
// most n parts.
func nice(span float64, n int) float64 {
	if !(span > 0) || math.IsInf(span, 0) {
		return 1
	}
	step := math.Pow(10, math.Floor(math.Log10(span/float64(n))))
	for _, f := range []float64{1, 2, 5, 10} {
		if span/(step*f) <= float64(n)+1e-9 {
			return step * f
		}
	}
	return step * 10
}

// around returns the ends of an axis around values: whole steps, 0 among them.
func around(values []float64, n int) (lo, hi, step float64) {
	for _, v := range values {
		lo, hi = min(lo, v), max(hi, v)
	}
	if lo == hi {
		hi = lo + 1
	}
	step = nice(hi-lo, n)
	return math.Floor(lo/step+1e-9) * step, math.Ceil(hi/step-1e-9) * step, step
}

// ticks lists the marks of an axis.
func ticks(lo, hi, step float64) (out []float64) {
	for i := 0; i <= 100 && lo+float64(i)*step <= hi+step/1e6; i++ {
		v := lo + float64(i)*step
		if math.Abs(v) < step/1e6 {
			v = 0
		}
		out = append(out, v)
	}
	return out
}
