package tape

import (
	"strings"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/wire/canon"
	"github.com/harnessbench/harnessbench/replayer"
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
		d.Diff = replayer.TextDiff(a, b)
	}
	if recorded != "" && actual != "" {
		d.Hint = replayer.Hint(a, b)
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
