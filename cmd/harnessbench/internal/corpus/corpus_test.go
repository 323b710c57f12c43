package corpus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
)

var update = flag.Bool("update", false, "add what the corpus does not have yet; nothing in it is ever changed")

const (
	dir     = "../../../../testdata/corpus"
	maxSize = 1_500_000 // bytes of the whole corpus, which every clone carries
)

func load(t testing.TB) []Entry {
	t.Helper()
	entries, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// TestCorpus replays every file of the corpus: the verdict, and the place of a
// divergence, are what they were when the file was added.
func TestCorpus(t *testing.T) {
	if *update {
		add(t)
	}
	entries := load(t)
	if len(entries) < 60 {
		t.Fatalf("the corpus has %d entries; some are missing", len(entries))
	}
	seen := map[replayer.Verdict]int{}
	for _, e := range entries {
		t.Run(e.File, func(t *testing.T) {
			path := filepath.Join(dir, filepath.FromSlash(e.File))
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != e.SHA256 {
				t.Fatal("the file was changed: files of the corpus stay as they are; add another one instead")
			}
			rep, err := replayer.File(context.Background(), path, replayer.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := judged(e, rep)
			// Words may be put better later; that a reason is given may not go.
			if got.Reason != "" && e.Reason != "" {
				got.Reason = e.Reason
			}
			if got != e {
				t.Errorf("%s\n got %+v\nwant %+v\nreason %s %+v", e.About, got, e, rep.Reason, rep.Divergence)
			}
		})
		seen[e.Verdict]++
	}
	for _, v := range []replayer.Verdict{replayer.Exact, replayer.Normalised, replayer.Diverged, replayer.Exhausted, replayer.Unused,
		replayer.OldBehaviour, replayer.Noop, replayer.Corrupt, replayer.TooNew} {
		if seen[v] == 0 {
			t.Errorf("no file of the corpus has the verdict %s", v)
		}
	}
}

// TestCorpusIsWhole: every file is listed, every recipe has its file, and
// together they are small.
func TestCorpusIsWhole(t *testing.T) {
	listed := map[string]bool{"README.md": true, "expected.json": true, ".gitattributes": true}
	for _, e := range load(t) {
		if listed[e.File] {
			t.Errorf("%s is listed twice", e.File)
		}
		listed[e.File] = true
	}
	var missing []string
	for _, r := range recipes() {
		if !listed[r.file] {
			missing = append(missing, r.file)
		}
	}
	if len(missing) > 0 {
		t.Errorf("not in the corpus yet: %s; run: go test ./cmd/harnessbench/internal/corpus -update", strings.Join(missing, ", "))
	}
	var size int64
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if rel = filepath.ToSlash(rel); !listed[rel] && !strings.HasPrefix(rel, "good/blobs/") {
			t.Errorf("%s is not listed in expected.json", rel)
		}
		info, err := d.Info()
		size += info.Size()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if size > maxSize {
		t.Errorf("the corpus has %d bytes, more than %d", size, maxSize)
	}
	t.Logf("%d files, %d bytes", len(listed), size)
}

// covers lists what the recordings have to show, found in their lines.
func TestCorpusCovers(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range load(t) {
		if e.Verdict != replayer.Exact && e.Verdict != replayer.Noop || !strings.HasPrefix(e.File, "good/") {
			continue
		}
		s, err := session.Open(filepath.Join(dir, e.File))
		if err != nil {
			t.Fatal(err)
		}
		for {
			l, err := s.Next()
			if err != nil {
				break
			}
			seen["line "+string(l.Type)] = true
			note(t, seen, l)
		}
		s.Close()
	}
	var missing []string
	for _, want := range wanted() {
		if !seen[want] {
			missing = append(missing, want)
		}
	}
	if len(missing) > 0 {
		t.Errorf("no recording of the corpus shows: %s", strings.Join(missing, "; "))
	}
}

// add makes what is missing. An entry that stands is not touched, nor looked at.
func add(t *testing.T) {
	t.Helper()
	entries := load(t)
	have := map[string]bool{}
	for _, e := range entries {
		have[e.File] = true
	}
	for _, r := range recipes() {
		if have[r.file] {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(r.file))
		if _, err := os.Lstat(path); err == nil {
			t.Fatalf("%s is there and not listed: take it away or list it by hand", path)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		r.make(t, path)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		rep, err := replayer.File(context.Background(), path, replayer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if rep.Verdict != r.want {
			t.Errorf("%s: %s (%s) %+v, the recipe wants %s; it is not added", r.file, rep.Verdict, rep.Reason, rep.Divergence, r.want)
			os.Remove(path)
			continue
		}
		sum := sha256.Sum256(b)
		entries = append(entries, judged(Entry{File: r.file, SHA256: hex.EncodeToString(sum[:]), About: r.about}, rep))
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.File, b.File) })
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(struct {
		Schema string  `json:"schema"`
		Files  []Entry `json:"files"`
	}{Schema, entries}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "expected.json"), out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
