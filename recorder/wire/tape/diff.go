package tape

import (
	"fmt"
	"strings"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/wire/canon"
)

// maxValue is how many bytes of a value a divergence quotes.
const maxValue = 400

// parts fills in where two parts differ; at makes of a place in the part its
// pointer in the request as sent.
func (d *Divergence) parts(at func(place string) string, recorded, actual *model.Part) {
	place, a, b := canon.Diff(recorded, actual)
	d.values(at(place), a, b)
}

// params fills in where two sets of params differ.
func (d *Divergence) params(recorded, actual []byte) {
	pointer, a, b, _ := canon.DiffJSON(recorded, actual)
	d.values(pointer, a, b)
}

// values says what stands at the pointer on both sides: JSON, "" = nothing. Texts
// are shown as they are, long ones as a diff of their lines too.
func (d *Divergence) values(pointer, recorded, actual string) {
	a, b := say(recorded), say(actual)
	d.Pointer, d.Recorded, d.Actual = pointer, shorten(a, maxValue), shorten(b, maxValue)
	if recorded != "" && actual != "" && (len(a) > maxValue || len(b) > maxValue || strings.Contains(a+b, "\n")) {
		d.Diff = lineDiff(a, b)
	}
}

// say is a value for people.
func say(value string) string {
	if value == "" {
		return "nothing"
	}
	if s, ok := canon.Text(value); ok {
		return s
	}
	return value
}

// shorten cuts a text at whole UTF-8 sequences, with a mark.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// lineDiff shows the first lines in which two texts differ, one line of context
// before them.
func lineDiff(recorded, actual string) string {
	a, b := strings.Split(recorded, "\n"), strings.Split(actual, "\n")
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	ea, eb := len(a), len(b)
	for ea > i && eb > i && a[ea-1] == b[eb-1] {
		ea, eb = ea-1, eb-1
	}
	var out strings.Builder
	if i > 0 {
		fmt.Fprintf(&out, "  %s\n", around(a[i-1], a[i-1]))
	}
	const most = 8
	line := func(list []string, k int) string {
		if k < len(list) {
			return list[k]
		}
		return ""
	}
	for k := i; k < min(ea, i+most); k++ {
		fmt.Fprintf(&out, "- %s\n", around(a[k], line(b, k)))
	}
	for k := i; k < min(eb, i+most); k++ {
		fmt.Fprintf(&out, "+ %s\n", around(b[k], line(a, k)))
	}
	if ea-i > most || eb-i > most {
		fmt.Fprintf(&out, "  (%d lines recorded, %d now)\n", ea-i, eb-i)
	}
	return out.String()
}

// around cuts a long line to the place where it differs from the other.
func around(line, other string) string {
	const width = 160
	if len(line) <= width {
		return line
	}
	i := 0
	for i < len(line) && i < len(other) && line[i] == other[i] {
		i++
	}
	start := max(0, min(i-width/4, len(line)-width))
	out := strings.ToValidUTF8(line[start:min(len(line), start+width)], "")
	if start > 0 {
		out = "…" + out
	}
	if start+width < len(line) {
		out += "…"
	}
	return out
}
