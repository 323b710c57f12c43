package render

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/replayer"
)

// GitHub writes for GitHub Actions.
type GitHub struct {
	Workspace string // folder of the checkout, to which file names are relative; "" = unknown
	Summary   string // file for the summary of the step; "" = none
}

// OnGitHub reads where we run from the environment; nil when that is not GitHub
// Actions.
func OnGitHub(getenv func(string) string) *GitHub {
	if getenv("GITHUB_ACTIONS") != "true" {
		return nil
	}
	return &GitHub{getenv("GITHUB_WORKSPACE"), getenv("GITHUB_STEP_SUMMARY")}
}

// Limits of GitHub Actions.
const (
	maxAnnotations = 10      // errors of a step that are shown
	maxSummary     = 1 << 20 // bytes of a step's summary; a longer one is refused whole
)

// Annotate writes the first failed cases as workflow commands: errors at the file
// and line of the session. They may go to stdout or stderr, which the runner
// both reads.
func (g *GitHub) Annotate(w io.Writer, cases []Case) error {
	var b strings.Builder
	n := 0
	for i := range cases {
		if !cases[i].failed() {
			continue
		}
		if n++; n > maxAnnotations {
			break
		}
		g.annotation(&b, &cases[i])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (g *GitHub) annotation(b *strings.Builder, c *Case) {
	var props []string
	file, ok := g.relative(c.Path)
	if ok {
		props = append(props, "file="+property(file))
		// of a compressed file lines cannot be shown
		if c.Line > 0 && !strings.HasSuffix(file, ".zst") {
			props = append(props, fmt.Sprintf("line=%d", c.Line))
		}
	}
	title := c.Title()
	if title == "" {
		title = c.Name
	}
	props = append(props, "title="+property(title))
	lines := []string{c.Name + " " + filepath.ToSlash(c.Path), c.Reason}
	for _, d := range c.details {
		if d.name != "" {
			d.text = d.name + ": " + d.text
		}
		lines = append(lines, d.text)
	}
	fmt.Fprintf(b, "::error %s::%s\n", strings.Join(props, ","), message(lines))
}

// relative is a path as GitHub shows it: relative to the checkout, with slashes.
func (g *GitHub) relative(path string) (string, bool) {
	abs, err := filepath.Abs(path)
	if err != nil || g.Workspace == "" {
		return "", false
	}
	for _, real := range []func(string) (string, error){func(s string) (string, error) { return s, nil }, filepath.EvalSymlinks} {
		root, err := real(g.Workspace)
		if err != nil {
			continue
		}
		file, err := real(abs)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), true
		}
	}
	return "", false
}

// The escapes of workflow commands. After them a text holds no line end, so it
// cannot begin a command of its own, and a property can end neither itself nor
// the list.
var (
	escapeData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	escapeProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func property(s string) string { return escapeProperty.Replace(Neutral(cli.SanitizeLine(s))) }

// message joins lines to the data of a command.
func message(lines []string) string {
	var b strings.Builder
	for _, s := range lines {
		if s != "" {
			b.WriteString(cli.SanitizeLine(s) + "\n")
		}
	}
	return escapeData.Replace(strings.TrimSuffix(Neutral(b.String()), "\n"))
}

// Summarise appends the counts, and a table of all cases that did not come out
// as recorded, to the summary of the step. What does not fit below GitHub's limit
// is counted.
func (g *GitHub) Summarise(cases []Case) error {
	return g.append(func(room int) string { return Markdown(cases, room) })
}

// append appends to the summary of the step what text makes for the bytes that are left.
func (g *GitHub) append(text func(room int) string) error {
	if g.Summary == "" {
		return nil
	}
	f, err := os.OpenFile(g.Summary, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	room := maxSummary
	if info, err := f.Stat(); err == nil {
		room -= int(min(info.Size(), maxSummary))
	}
	_, err = f.WriteString(text(room))
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// Markdown is the counts and the table of cases that did not come out as
// recorded, in at most this many bytes; "" where not even the counts fit.
func Markdown(cases []Case, room int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### harnessbench replay\n\n%s\n\n", Counts(cases))
	if b.Len() > room {
		return ""
	}
	const head = "| verdict | code | session | where | recorded | now |\n|---|---|---|---|---|---|\n"
	const tail = 200 // for the last line
	rows, left := 0, 0
	for i := range cases {
		c := &cases[i]
		if c.Verdict == replayer.Exact {
			continue
		}
		row := c.row()
		if rows == 0 {
			row = head + row
		}
		if left > 0 || b.Len()+len(row)+tail > room {
			left++
			continue
		}
		b.WriteString(row)
		rows++
	}
	switch {
	case left > 0 && b.Len()+tail <= room:
		fmt.Fprintf(&b, "\n%s more; the log and --junit have all.\n", cli.Count(left, "session"))
	case rows > 0 && b.Len()+tail <= room:
		b.WriteString("\nWhat a code means: `harnessbench replay --explain CODE`.\n")
	}
	return b.String()
}

// maxCell is how many bytes of a value a cell of the table quotes.
const maxCell = 300

// row is a case as a row of a Markdown table.
func (c *Case) row() string {
	var recorded, now []string
	for _, d := range c.details {
		switch {
		case d.name == "recorded" || d.mark == '-':
			recorded = append(recorded, strings.TrimPrefix(d.text, "- "))
		case d.name == "now" || d.mark == '+':
			now = append(now, strings.TrimPrefix(d.text, "+ "))
		}
	}
	where := c.Reason
	if c.Hint != "" {
		where += "; " + c.Hint
	}
	cells := []string{cell(c.Name), cell(string(c.Code)), cell(filepath.ToSlash(c.Path)), cell(where), cell(strings.Join(recorded, "\n")), cell(strings.Join(now, "\n"))}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// cell makes a text a cell: no character of it means anything to Markdown or
// HTML, and it is one line.
func cell(s string) string {
	s = cli.SanitizeLine(s)
	if len(s) > maxCell {
		s = strings.ToValidUTF8(s[:maxCell], "") + "…"
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < 0x80 && strings.ContainsRune("\\`*_{}[]()<>#+-.!|~&@:/\"'$=^", r):
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
