package page

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"

	"github.com/harnessbench/harnessbench/results/report"
)

// File is the page's name in a run folder.
const File = "report.html"

// Bounds of a page. What is over them is left out, and the page says so.
const (
	MaxFlips      = 12       // flips shown with both transcripts
	MaxTranscript = 64 << 10 // bytes of one transcript
	maxRows       = 400      // of any table
	maxCells      = 40_000   // of all heat maps
	maxSpread     = 60       // scenarios of a heat map that are not folded
	maxColumns    = 40       // arms of a heat map
	maxPoints     = 200      // of the cost figure
	maxName       = 80       // characters of a name
	maxText       = 600      // characters of a sentence
)

// Extra is what the page shows and the summary does not hold.
type Extra struct {
	// Guards says of each guard by name what it does, in one line. A guard that is
	// not in it is named alone.
	Guards map[string]string
	// Flips are those that [Choose] picked, with their transcripts. Nil where the
	// sessions are not at hand: the page lists the flips alone.
	Flips []FlipTranscript
}

// FlipTranscript is one flip with what happened in both arms.
type FlipTranscript struct {
	FlipRef
	A, B Transcript
}

// Transcript is a session as text. Lines may hold anything: the page escapes
// them and makes control characters visible.
type Transcript struct {
	Lines []string
	Cut   bool   // it was longer than MaxTranscript
	Note  string // why there is none, or what must be said of it; empty = nothing
}

//go:embed page.css
var style string

//go:embed page.gohtml
var pageText string

//go:embed parts.gohtml
var partsText string

var layout = template.Must(template.Must(template.New("page").Funcs(template.FuncMap{"parts": parts}).Parse(partsText)).Parse(pageText))

// Write writes the page of a summary. Equal input gives equal bytes.
func Write(w io.Writer, s *report.Summary, x Extra) error {
	v := newView(s, x)
	sum := sha256.Sum256([]byte(style))
	v.Style = template.CSS(style)
	v.Policy = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	var raw bytes.Buffer
	if err := layout.Execute(&raw, v); err != nil {
		return fmt.Errorf("report.html of %s: %w", s.RunID, err)
	}
	return squeeze(w, &raw)
}

// squeeze drops the indentation and the empty lines that templates leave between
// elements. Preformatted text is marked by <pre and kept.
func squeeze(w io.Writer, raw *bytes.Buffer) error {
	out := bufio.NewWriter(w)
	kept := false
	for line := range bytes.Lines(raw.Bytes()) {
		if kept || bytes.Contains(line, []byte("<pre")) || bytes.Contains(line, []byte("<style")) {
			out.Write(line)
			kept = !bytes.Contains(line, []byte("</pre>")) && !bytes.Contains(line, []byte("</style>"))
			continue
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			out.Write(line)
			out.WriteByte('\n')
		}
	}
	return out.Flush()
}
