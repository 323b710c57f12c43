package report

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Names of the files that [WriteFiles] writes.
const (
	JSONFile     = "report.json"
	MarkdownFile = "report.md"
)

// WriteJSON writes the summary as indented JSON with a newline at the end. The
// order of members is that of the struct.
func (s *Summary) WriteJSON(w io.Writer) error {
	b, err := json.Marshal(s, jsontext.WithIndent("  "), json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("report %s: %w", s.RunID, err)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// WriteFiles writes report.json and report.md into a run folder, each under a
// temporary name first, so that a reader never sees half a report.
func WriteFiles(dir string, s *Summary) error {
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{{JSONFile, s.WriteJSON}, {MarkdownFile, s.WriteMarkdown}} {
		if err := WriteFile(dir, f.name, f.write); err != nil {
			return err
		}
	}
	return nil
}

// WriteFile writes one report into a run folder, under a temporary name first.
func WriteFile(dir, name string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	if err := replaceFile(filepath.Join(dir, name), b.Bytes()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// replaceFile writes a file beside its place and renames it there.
func replaceFile(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(data); err == nil {
		err = f.Chmod(0o644)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// ReadJSON reads a report.json. Unknown members are ignored (a newer minor
// version wrote them); another schema is an error.
func ReadJSON(r io.Reader, name string) (*Summary, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxReport+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(b) > maxReport {
		return nil, fmt.Errorf("%s: larger than %d MiB; this is no report", name, maxReport>>20)
	}
	var s Summary
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("%s: not a report: %w", name, err)
	}
	if s.Schema != Schema {
		return nil, fmt.Errorf("%s: schema is %q; this version reads %q", name, s.Schema, Schema)
	}
	s.complete()
	return &s, nil
}

// complete gives every guard the member that a whole report has.
func (s *Summary) complete() {
	for _, sec := range []*Section{&s.Main, s.Harms} {
		if sec == nil {
			continue
		}
		for i := range sec.Guards {
			if sec.Guards[i].Fired == nil {
				sec.Guards[i].Fired = &Fired{}
			}
		}
	}
}

// maxReport bounds what ReadJSON reads.
const maxReport = 64 << 20
