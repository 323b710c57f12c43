package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/harnessbench/harnessbench/ablations"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/transcript"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/results/report"
	"github.com/harnessbench/harnessbench/results/report/page"
)

// transcriptWidth is what half of a wide page has room for.
const transcriptWidth = 72

// writeHTML writes report.html into a run folder.
func writeHTML(dir string, sum *report.Summary) error {
	return report.WriteFile(dir, page.File, func(w io.Writer) error { return printHTML(w, dir, sum) })
}

// printHTML writes the page of a run folder's summary. A session that is not
// there, or not what it was, is said on the page and stops nothing.
func printHTML(w io.Writer, dir string, sum *report.Summary) error {
	x := page.Extra{Guards: map[string]string{}}
	for i := range guard.Table {
		x.Guards[guard.Table[i].Name] = guard.Table[i].Summary
	}
	refs := page.Choose(sum)
	known := journalEntries(dir, refs)
	for _, ref := range refs {
		x.Flips = append(x.Flips, page.FlipTranscript{FlipRef: ref,
			A: sessionText(dir, ref.Flip.SessionA, known), B: sessionText(dir, ref.Flip.SessionB, known)})
	}
	return page.Write(w, sum, x)
}

// sessionText is the transcript of one session of a run folder.
func sessionText(dir, name string, known map[string]*results.Entry) (t page.Transcript) {
	path := filepath.Join(dir, ablations.SessionsDir, name)
	if !filepath.IsLocal(name) {
		t.Note = "The session's name leads out of the run folder: it is not shown."
		return t
	}
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		t.Note = "The session file is not in the run folder any more."
		return t
	case err != nil || !st.Mode().IsRegular():
		t.Note = "The session file cannot be read: it is no regular file."
		return t
	}
	s, err := session.Open(path)
	if err != nil {
		t.Note = "The session file cannot be read: it is damaged at its beginning."
		return t
	}
	defer s.Close()
	out := &upTo{left: page.MaxTranscript}
	entry := known[name]
	err = transcript.Show(out, s.Reader, transcript.Options{Name: name, Width: transcriptWidth,
		Verdict: func(model.Digest) *results.Entry { return entry }})
	t.Cut = errors.Is(err, errFull)
	t.Lines = strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	switch {
	case t.Cut:
	case err != nil:
		t.Note = "The session is damaged; it is shown as far as it is sound."
	case entry != nil && s.Complete() && entry.Trial.SessionDigest != s.Digest().String():
		t.Note = "The session file was changed since the run: it is not the recording that was judged."
	}
	return t
}

// errFull ends a transcript that is longer than the page takes.
var errFull = errors.New("the transcript is full")

// upTo keeps the first bytes of what is written to it, and refuses the rest.
type upTo struct {
	bytes.Buffer
	left int
}

func (u *upTo) Write(p []byte) (int, error) {
	if len(p) > u.left {
		n, _ := u.Buffer.Write(p[:u.left])
		u.left = 0
		return n, errFull
	}
	u.left -= len(p)
	return u.Buffer.Write(p)
}

// journalEntries finds what the journal says of the sessions of some flips, in one
// reading, without decoding the lines of others. What is not found is absent: the
// transcripts are shown without it.
func journalEntries(dir string, refs []page.FlipRef) map[string]*results.Entry {
	out := map[string]*results.Entry{}
	wanted := map[string]bool{}
	for _, ref := range refs {
		wanted[ref.Flip.SessionA], wanted[ref.Flip.SessionB] = true, true
	}
	f, err := os.Open(filepath.Join(dir, results.JournalFile))
	if err != nil || len(wanted) == 0 {
		return out
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 256<<10), results.MaxJournalLine)
	for lines.Scan() && len(out) < len(wanted) {
		line := lines.Bytes()
		if name, ok := sessionOf(line); !ok || !wanted[name] {
			continue
		}
		c, err := results.ReadJournal(bytes.NewReader(append(bytes.Clone(line), '\n')), results.JournalFile)
		if err == nil && len(c.Entries) == 1 {
			out[c.Entries[0].Trial.Session] = &c.Entries[0]
		}
	}
	return out
}

// sessionOf reads the name of the session from a journal line as the journal
// writes it, without decoding the line.
func sessionOf(line []byte) (string, bool) {
	_, rest, ok := bytes.Cut(line, []byte(`"session":"`))
	if !ok {
		return "", false
	}
	name, _, ok := bytes.Cut(rest, []byte(`"`))
	return string(name), ok
}
