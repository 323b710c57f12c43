package session_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/internal/sample"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// TestCreate writes the same session in every way; read back it is the same.
func TestCreate(t *testing.T) {
	want := record(t, sample.Play)
	for name, c := range map[string]struct {
		suffix string
		opts   session.FileOptions
	}{
		"plain":  {session.Suffix, session.FileOptions{}},
		"turns":  {session.Suffix, session.FileOptions{Sync: session.SyncTurns}},
		"never":  {session.Suffix, session.FileOptions{Sync: session.SyncNever}},
		"reopen": {session.Suffix, session.FileOptions{Reopen: true, Sync: session.SyncTurns}},
		"zstd":   {session.Suffix + session.ZstdSuffix, session.FileOptions{Sync: session.SyncTurns}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s"+c.suffix)
			f, err := session.Create(path, c.opts)
			if err != nil {
				t.Fatal(err)
			}
			recordTo(t, f.Writer, sample.Play, nil)
			if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("the file has its name before it is complete: %v", err)
			}
			if _, err := os.Stat(f.Partial()); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(f.Close(), f.Close()); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(f.Partial()); !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("the partial file is still there: %v", err)
			}
			s, err := session.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			var got bytes.Buffer
			if err := session.Edit(&got, rawReader{s.Reader, t}.bytes(), func(l *session.Line, emit func(session.Type, []byte) error) error {
				return emit(l.Type, l.Payload())
			}); err != nil || !bytes.Equal(got.Bytes(), want) {
				t.Fatalf("read back it is another session (%v)", err)
			}
			if _, err := session.Create(path, c.opts); !errors.Is(err, fs.ErrExist) {
				t.Fatalf("a finished session is overwritten: %v", err)
			}
			c.opts.Overwrite = true
			if _, err := session.Create(path, c.opts); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// rawReader gives back the bytes of the lines that a Reader reads.
type rawReader struct {
	r *session.Reader
	t *testing.T
}

func (r rawReader) bytes() io.Reader {
	var buf bytes.Buffer
	got, err := readAll(r.r)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, l := range got {
		buf.Write(append(l.Raw, '\n'))
	}
	return &buf
}

func TestUnfinished(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s"+session.Suffix)
	f, err := session.Create(path, session.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Line(session.TypeHeader, []byte(minimalHeader)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); !errors.Is(err, session.ErrUnfinished) || !strings.Contains(err.Error(), path) {
		t.Fatal(err)
	}
	s, err := session.Open(f.Partial())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got, err := readAll(s.Reader); err != nil || len(got) != 1 || s.Complete() {
		t.Fatal(len(got), err)
	}
	// The next try replaces it, also where a link stands in its place.
	other := filepath.Join(t.TempDir(), "other")
	os.WriteFile(other, []byte("keep"), 0o644)
	os.Remove(f.Partial())
	if os.Symlink(other, f.Partial()) == nil {
		f, _ = session.Create(path, session.FileOptions{})
		recordTo(t, f.Writer, sample.Play, nil)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if b, _ := os.ReadFile(other); string(b) != "keep" {
			t.Fatal("writing followed a link")
		}
	}
	for _, bad := range []string{"s.jsonl", "s.zst", "s"} {
		if _, err := session.Create(bad, session.FileOptions{}); err == nil {
			t.Errorf("%s is a name for a session", bad)
		}
	}
	if _, err := session.Create("s"+session.Suffix+session.ZstdSuffix, session.FileOptions{Reopen: true}); err == nil {
		t.Error("a compressed file is reopened")
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := session.Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := session.Open(dir); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Error(err)
	}
	pack := func(name string, size int, opts ...zstd.EOption) string {
		path := filepath.Join(dir, name)
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		w, err := zstd.NewWriter(f, opts...)
		if err != nil {
			t.Fatal(err)
		}
		note := seal(t)
		w.Write(note)
		line := bytes.Repeat([]byte{'x'}, 1<<20)
		for range size {
			if _, err := w.Write(line); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return path
	}
	bomb := pack("bomb", 80)
	wide := pack("wide", 20, zstd.WithWindowSize(64<<20))
	cut := pack("cut", 1)
	b, _ := os.ReadFile(cut)
	os.WriteFile(cut, b[:len(b)-5], 0o644)
	mangled := filepath.Join(dir, "mangled")
	b = bytes.Clone(b)
	b[len(b)/2] ^= 0xff
	os.WriteFile(mangled, b, 0o644)
	for path, want := range map[string]string{bomb: "refused", wide: "window size exceeded", mangled: "compressed data is broken"} {
		s, err := session.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = readAll(s.Reader)
		s.Close()
		var c *session.CorruptError
		if !errors.As(err, &c) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v; want %s", filepath.Base(path), err, want)
		}
	}
	s, err := session.Open(cut)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got, err := readAll(s.Reader); err != nil && len(got) != 1 {
		t.Errorf("cut: %d lines, %v", len(got), err)
	}
}

// TestBomb has short lines, so that only the ratio can stop it.
func TestBomb(t *testing.T) {
	path := filepath.Join(t.TempDir(), "b")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, _ := zstd.NewWriter(f)
	sw := session.NewWriter(w)
	if err := sw.Line(session.TypeHeader, []byte(minimalHeader)); err != nil {
		t.Fatal(err)
	}
	payload := append(append([]byte(`,"what":"`), bytes.Repeat([]byte{'x'}, 4<<20)...), '"')
	for range 40 {
		if err := sw.Line(session.TypeNote, payload); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(sw.Flush(), w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, err := session.Verify(s.Reader)
	if !errors.Is(err, session.ErrBomb) || got < 10 || got > 30 {
		t.Fatalf("%d lines, %v", got, err)
	}
}

func TestBlobs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s"+session.Suffix)
	blobs := session.BlobsBeside(path)
	big := strings.Repeat("big ", session.InlineDelta/4) + "!"
	h := sample.Header()
	f, err := session.Create(path, session.FileOptions{Sync: session.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	recordTo(t, f.Writer, func(s event.Sink) error {
		talk := sample.New(s, event.MainLane)
		talk.Turn = 1
		talk.Ask()
		talk.Answer("x", sample.Call{Name: "w", Args: `{"content":"` + strings.Repeat("y", 40) + `"}`, Delta: []event.Delta{
			sample.Write("big", big), sample.Write("big2", big), sample.Write("arg", strings.Repeat("y", 40)), sample.Write("bin.dat", "\xff")}})
		talk.End(event.Completed, "")
		return talk.Err
	}, blobs)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(blobs.Path()); err != nil || len(files) != 1 || files[0].Name() != model.SumString(big).String() {
		t.Fatal(files, err)
	}
	s, err := session.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, err := readAll(s.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var result *session.ToolResult
	for _, l := range got {
		if l.Type == session.TypeToolResult {
			if result, err = l.ToolResult(); err != nil {
				t.Fatal(err)
			}
		}
	}
	trail := session.NewTrail(&h, s.Blobs())
	for i, want := range []string{big, big, strings.Repeat("y", 40), "\xff"} {
		d, err := trail.Event(&result.Delta[i], `{"content":"`+strings.Repeat("y", 40)+`"}`)
		if err != nil || string(d.Content) != want || d.After != model.SumString(want) {
			t.Fatalf("delta %d: %.40q, %v", i, d.Content, err)
		}
	}
	lazy := session.NewTrail(&h, nil)
	if d, err := lazy.Event(&result.Delta[0], ""); err != nil || d.Content != nil || d.Size != int64(len(big)) || d.After != model.SumString(big) {
		t.Fatalf("not loaded: %+v, %v", d, err)
	}
	fetch := h.Fetcher(s.Blobs())
	for want, d := range map[string]model.Digest{big: model.SumString(big), "\xff\x00\x01": h.Tree[0].Digest} {
		if b, err := fetch(d); err != nil || string(b) != want {
			t.Fatalf("fetched %.40q, %v", b, err)
		}
	}
	if result.Delta[2].Arg != "content" || result.Delta[0].Blob != model.SumString(big) {
		t.Fatalf("%+v", result.Delta[2])
	}
	tamper(t, blobs, big)
}

// tamper changes the blob in several ways; Get refuses each.
func tamper(t *testing.T, blobs *session.Dir, big string) {
	t.Helper()
	d := model.SumString(big)
	name := filepath.Join(blobs.Path(), d.String())
	get := func(want string) {
		t.Helper()
		if _, err := blobs.Get(d, int64(len(big))); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), blobs.Path()) {
			t.Fatalf("got %v; want %s", err, want)
		}
	}
	if b, err := blobs.Get(d, int64(len(big))); err != nil || string(b) != big {
		t.Fatal(err)
	}
	os.WriteFile(name, []byte("X"+big[1:]), 0o644)
	get("was changed")
	os.WriteFile(name, []byte(big[1:]), 0o644)
	get("no regular file of")
	os.Remove(name)
	get("blob " + d.String())
	if runtime.GOOS != "windows" {
		os.WriteFile(name+"x", []byte(big), 0o644)
		os.Symlink(name+"x", name)
		get("no regular file of")
	}
	if err := blobs.Put(d, []byte(big)); err != nil {
		t.Fatal(err)
	}
	if b, err := blobs.Get(d, int64(len(big))); err != nil || string(b) != big {
		t.Fatalf("Put did not mend it: %v", err)
	}
}
