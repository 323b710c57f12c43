package render

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/replayer"
)

// Text prints every case that did not come out as recorded, then the counts.
// Cases that did are printed only where they have something to say. In full it
// tells of so many that failed and as many that did not; of the other failures it
// prints a line each.
func Text(w io.Writer, cases []Case, full int, color bool) error {
	var b strings.Builder
	told := map[bool]int{} // by whether it failed
	for i := range cases {
		c := &cases[i]
		if c.Verdict == replayer.Exact && len(c.details) == 0 {
			continue
		}
		if told[c.failed()]++; told[c.failed()] <= full {
			c.text(&b, color)
			b.WriteByte('\n')
		} else if c.failed() {
			fmt.Fprintf(&b, "%s %s: %s, %s\n", c.Name, cli.SanitizeLine(c.Path), c.Code, cli.SanitizeLine(c.Reason))
		}
	}
	if n := told[false] - full; n > 0 {
		fmt.Fprintf(&b, "and %s that came out as recorded and of which --json says more\n", cli.Count(n, "session"))
	}
	fmt.Fprintf(&b, "%s\n", Counts(cases))
	_, err := io.WriteString(w, Neutral(b.String()))
	return err
}

// One prints one case whatever its verdict, without counts.
func One(w io.Writer, c *Case, color bool) error {
	var b strings.Builder
	c.text(&b, color)
	_, err := io.WriteString(w, Neutral(b.String()))
	return err
}

// ANSI colours, by what they stand for here.
const (
	red, green, yellow, bold = "31", "32", "33", "1"
)

// text writes a case. Values that came from a session are one line each.
func (c *Case) text(b *strings.Builder, color bool) {
	paint := func(style, s string) string {
		if !color || style == "" {
			return s
		}
		return "\x1b[" + style + "m" + s + "\x1b[0m"
	}
	styles := map[int]string{0: green, 1: red, 3: yellow}
	fmt.Fprintf(b, "%s %s\n", paint(styles[c.Verdict.Exit()], c.Name), cli.SanitizeLine(c.Path))
	if title := c.Title(); title != "" {
		fmt.Fprintf(b, "  %s\n", paint(bold, title))
	}
	if c.Reason != "" {
		fmt.Fprintf(b, "  %s\n", cli.SanitizeLine(c.Reason))
	}
	for _, d := range c.details {
		text := cli.SanitizeLine(d.text)
		switch {
		case d.name != "":
			style := map[string]string{"recorded": red, "now": green}[d.name]
			fmt.Fprintf(b, "  %-9s %s\n", d.name, paint(style, text))
		default:
			fmt.Fprintf(b, "    %s\n", paint(map[byte]string{'-': red, '+': green}[d.mark], text))
		}
	}
}

// commands finds what CI systems take for a command: GitHub's "::name::" at the
// beginning of a line, after any white space, and "##[name]" anywhere, with its
// kin "##vso[" and "##teamcity[".
var (
	lineCommands = regexp.MustCompile(`(?m)^([\s\p{Zs}\x{feff}]*):(:)`)
	markCommands = regexp.MustCompile(`#(#[A-Za-z]*\[)`)
)

// Neutral makes a text safe for the log of a CI system: what would be a command
// is written so that it is none.
func Neutral(s string) string {
	s = lineCommands.ReplaceAllString(s, `${1}\x3a${2}`)
	return markCommands.ReplaceAllString(s, `\x23${1}`)
}

// NeutralJSON does the same to JSON, where only strings hold such text and an
// escape says the same.
func NeutralJSON(b []byte) []byte { return markCommands.ReplaceAll(b, []byte(`\u0023${1}`)) }
