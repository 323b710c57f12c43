package tape

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/replayer"
)

// ReportSchema names the shape of a [Report] as JSON.
const ReportSchema = "harnessbench/wire-replay/v1"

// Report is the result of a replay of recorded traffic.
type Report struct {
	Schema     string           `json:"schema"`
	Path       string           `json:"path"`
	Verdict    replayer.Verdict `json:"verdict"`
	Reason     string           `json:"reason,omitempty"` // one line; empty when EXACT
	Exchanges  int              `json:"exchanges"`        // recorded, without auxiliary calls
	Served     int              `json:"served"`
	Unused     int              `json:"unused"`    // recorded and never asked for
	Auxiliary  int              `json:"auxiliary"` // auxiliary calls served from the recording
	Lanes      []LaneReport     `json:"lanes"`
	Missing    []Unasked        `json:"missing,omitempty"`    // the first that were never asked for, when UNUSED
	Normalised map[string]int   `json:"normalised,omitempty"` // how often each declared normaliser struck in requests that were equal only so
	Divergence *Divergence      `json:"divergence,omitempty"`
	Warnings   []string         `json:"warnings,omitempty"`
}

// LaneReport counts one lane.
type LaneReport struct {
	Lane     string `json:"lane"`
	Recorded int    `json:"recorded"`
	Served   int    `json:"served"`
	Unused   int    `json:"unused"`
}

// Unasked is a recorded request that the client never made.
type Unasked struct {
	Lane string `json:"lane"`
	Turn int    `json:"turn"`
	What string `json:"what"` // excerpt of the request's last part
}

// Divergence is the first request that the recording does not have.
type Divergence struct {
	Lane     string `json:"lane"`           // of the recorded request it is compared with; "" where the request cannot be read
	Turn     int    `json:"turn"`           // of the lane, from 1
	Part     *int   `json:"part"`           // index of the first unequal part; null where it is none
	Pointer  string `json:"pointer"`        // RFC 6901, into the request as sent
	Recorded string `json:"recorded"`       // cut
	Actual   string `json:"actual"`         // cut
	Diff     string `json:"diff,omitempty"` // of long texts: the first differing lines, - recorded, + actual
	Note     string `json:"note,omitempty"` // what else is known
	Show     string `json:"show"`           // the command that shows more
}

// maxMissing is how many requests that were never made a report lists.
const maxMissing = 10

// WriteText prints the report for people. Control characters of what was recorded
// are left out.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", r.name(), plain(r.Path))
	if r.Reason != "" {
		fmt.Fprintf(&b, "  %s\n", plain(r.Reason))
	}
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %-9s %s\n", name, plain(value))
		}
	}
	if d := r.Divergence; d != nil {
		if d.Diff == "" {
			row("recorded", d.Recorded)
			row("now", d.Actual)
		}
		for line := range strings.Lines(d.Diff) {
			fmt.Fprintf(&b, "    %s\n", plain(strings.TrimRight(line, "\n")))
		}
		row("note", d.Note)
		row("more", d.Show)
		row("next", "record again if this is meant, with --normalise if it changes at every run")
	}
	for _, m := range r.Missing {
		row("unused", fmt.Sprintf("lane %s, turn %d: %s", m.Lane, m.Turn, m.What))
	}
	if n := r.Unused - len(r.Missing); n > 0 && len(r.Missing) > 0 {
		row("unused", fmt.Sprintf("%d more", n))
	}
	for _, name := range sortedNames(r.Normalised) {
		row("equal by", name+", "+count(r.Normalised[name], "time"))
	}
	for _, s := range r.Warnings {
		row("warning", s)
	}
	row("served", fmt.Sprintf("%d of %s in %s, and %s", r.Served, count(r.Exchanges, "recorded model request"), count(len(r.Lanes), "lane"), count(r.Auxiliary, "auxiliary call")))
	_, err := io.WriteString(w, b.String())
	return err
}

// name is the verdict as it is printed: UNUSED says how many.
func (r *Report) name() string {
	if r.Verdict == replayer.Unused {
		return fmt.Sprintf("%s(%d)", r.Verdict, r.Unused)
	}
	return string(r.Verdict)
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func sortedNames(m map[string]int) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// plain makes a text of a recording one line that no terminal obeys.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f:
			return -1
		}
		return r
	}, s)
}
