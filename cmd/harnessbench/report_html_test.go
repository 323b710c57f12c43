package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/ablations"
	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/results/report"
	"github.com/harnessbench/harnessbench/results/report/page"
)

// TestTranscriptsOfThePage: a session that is not what it was is said, and stops nothing.
func TestTranscriptsOfThePage(t *testing.T) {
	dir := t.TempDir()
	sessions := filepath.Join(dir, ablations.SessionsDir)
	if err := os.MkdirAll(filepath.Join(sessions, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	good, err := filepath.Glob(filepath.Join("..", "..", "testdata", "corpus", "good", "*.session.jsonl"))
	if err != nil || len(good) == 0 {
		t.Fatalf("no sessions: %v", err)
	}
	b, err := os.ReadFile(good[0])
	if err != nil {
		t.Fatal(err)
	}
	put := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(sessions, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("good", b)
	put("damaged", []byte(strings.Replace(string(b), `"t":`, `"T":`, 2)))
	put("rubbish", []byte("\x00\x1b[2J no session"))
	put("torn", b[:len(b)*2/3])
	other := map[string]*results.Entry{"good": {Trial: results.Trial{Session: "good", SessionDigest: "00", Verdict: results.Pass}}}
	for name, want := range map[string]string{"good": "was changed since the run", "damaged": "damaged", "rubbish": "damaged", "missing": "not in the run folder any more",
		"folder": "no regular file", "../journal.jsonl": "leads out of the run folder", "/etc/passwd": "leads out of the run folder"} {
		if got := sessionText(dir, name, other); !strings.Contains(got.Note, want) {
			t.Errorf("%s: %q, want %q", name, got.Note, want)
		}
	}
	for _, name := range []string{"good", "torn"} {
		if got := sessionText(dir, name, nil); got.Note != "" || len(got.Lines) < 10 {
			t.Errorf("%s: %q, %d lines", name, got.Note, len(got.Lines))
		}
	}
	sum := &report.Summary{Main: report.Section{Guards: []report.Contrast{{Guard: "stuck", Measured: true, Fired: &report.Fired{},
		Flips: report.Flips{Hurt: 1, Shown: []report.Flip{{SessionA: "missing", SessionB: "good"}}}}}}}
	var out strings.Builder
	if err := printHTML(&out, dir, sum); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"not in the run folder any more", "equal rounds and cycles", "turn 1"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestTranscriptIsCut: a long session takes no more room than others.
func TestTranscriptIsCut(t *testing.T) {
	u := &upTo{left: page.MaxTranscript}
	var err error
	for err == nil {
		_, err = u.Write(make([]byte, 1000))
	}
	if err != errFull || u.Len() != page.MaxTranscript {
		t.Errorf("%d bytes, %v", u.Len(), err)
	}
	if n, err := u.Write([]byte("x")); n != 0 || err != errFull {
		t.Errorf("%d, %v after the end", n, err)
	}
}

func TestSessionOfALine(t *testing.T) {
	if name, ok := sessionOf([]byte(`{"trial":{"session":"a.session.jsonl","session_digest":"00"}}`)); name != "a.session.jsonl" || !ok {
		t.Errorf("%q, %t", name, ok)
	}
	if _, ok := sessionOf([]byte(`{"torn`)); ok {
		t.Error("a torn line has a session")
	}
}
