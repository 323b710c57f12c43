package importer

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// Arm is the arm of imported trials: the harness that recorded them, whatever
// it was.
const Arm = "recorded"

// MaxFile bounds the files that are read, in bytes.
const MaxFile = 1 << 30

// Format is one kind of file that can be imported.
type Format struct {
	Name    string // as on the command line
	Summary string // one line
	// defaults fills in what the file's name tells of model and domain.
	defaults func(base string, o *Options)
	// read streams the file and hands over its sessions in order.
	read func(src io.Reader, o *Options, emit func(*Session) error) error
}

// Formats lists the importers, sorted by name.
var Formats = []Format{tauBench}

// Lookup returns the importer of a name; ok is false when there is none.
func Lookup(name string) (f Format, ok bool) {
	i := slices.IndexFunc(Formats, func(f Format) bool { return f.Name == name })
	if i < 0 {
		return Format{}, false
	}
	return Formats[i], true
}

// Names lists the names of the importers.
func Names() []string {
	var out []string
	for _, f := range Formats {
		out = append(out, f.Name)
	}
	return out
}

// Target takes one session: events go to Sink in order; Close ends it and
// returns the digest in its footer. After an error Close is called all the same.
type Target struct {
	Sink  event.Sink
	Close func() (model.Digest, error)
}

// Options say how a file is imported.
type Options struct {
	Model  string // provider/name; empty = what the file's name tells
	Domain string // first part of scenario ids; empty = what the file's name tells
	// Open begins a session; name is its file name without folder.
	Open func(name string, h *session.Header) (Target, error)
	// Done is called after each session; may be nil.
	Done func(s *Session)
}

// Import reads the file at path. An error about its content is an *[InputError]
// that names line and column; other errors are those of the file system and of
// Open and its targets.
func (f Format) Import(path string, o Options) (*Result, error) {
	src, size, err := open(path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	f.defaults(base(path), &o)
	if err := o.check(); err != nil {
		return nil, err
	}
	r := newResult(f.Name, o)
	hash := newHashReader(io.LimitReader(src, MaxFile+1))
	err = f.read(hash, &o, func(s *Session) error { return r.take(s, &o) })
	if err == nil && hash.n > MaxFile {
		err = fmt.Errorf("has more than %d MiB", MaxFile>>20)
	}
	var target *targetError
	switch {
	case errors.As(err, &target):
		return nil, target.error
	case err != nil:
		return nil, locate(src, path, size, err)
	}
	if len(r.trials) == 0 {
		return nil, &InputError{Path: path, Line: 1, Column: 1, Err: errors.New("holds no session")}
	}
	r.Digest = hash.sum()
	return r, nil
}

// open opens a regular file that is not too large.
func open(path string) (*os.File, int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, 0, fmt.Errorf("%s: is no regular file", path)
	case info.Size() > MaxFile:
		return nil, 0, fmt.Errorf("%s: has %d bytes; at most %d MiB are read: split it", path, info.Size(), MaxFile>>20)
	}
	src, err := os.Open(path)
	return src, info.Size(), err
}

// check refuses names that could not stand in ids and file names.
func (o *Options) check() error {
	provider, name, ok := strings.Cut(o.Model, "/")
	if !ok || !plain(provider) || !plain(strings.ReplaceAll(name, "/", "_")) {
		return fmt.Errorf("model %q: write provider/name with letters, digits, '.', '-', '_' and ':'", o.Model)
	}
	if !plain(o.Domain) || strings.Contains(o.Domain, ":") {
		return fmt.Errorf("domain %q: use letters, digits, '.', '-' and '_', a letter or digit first", o.Domain)
	}
	return nil
}

// plain reports whether a name is harmless in ids and file names.
func plain(s string) bool {
	if s == "" || len(s) > 80 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9':
		case i > 0 && strings.IndexByte(".-_:", c) >= 0:
		default:
			return false
		}
	}
	return true
}
