package importer

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/harnessbench/harnessbench/loop/model"
)

// InputError says what is wrong with a file and where.
type InputError struct {
	Path         string
	Line, Column int // from 1; columns count bytes
	Err          error
}

func (e *InputError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %v", e.Path, e.Line, e.Column, e.Err)
}

// Unwrap returns what is wrong, without the place.
func (e *InputError) Unwrap() error { return e.Err }

// atOffset is an error at a byte of the input; locate turns it into line and
// column.
type atOffset struct {
	offset int64
	err    error
}

func (e *atOffset) Error() string { return e.err.Error() }
func (e *atOffset) Unwrap() error { return e.err }

// locate gives an error about the content its place. Reading once more up to
// there costs less than counting lines all the way in the files that are right.
func locate(src *os.File, path string, size int64, err error) error {
	var at *atOffset
	if !errors.As(err, &at) {
		return fmt.Errorf("%s: %w", path, err)
	}
	e := &InputError{Path: path, Line: 1, Column: 1, Err: at.err}
	if _, serr := src.Seek(0, io.SeekStart); serr != nil {
		return e
	}
	br := bufio.NewReaderSize(src, 64<<10)
	for range min(at.offset, size) {
		c, rerr := br.ReadByte()
		if rerr != nil {
			break
		}
		if e.Column++; c == '\n' {
			e.Line, e.Column = e.Line+1, 1
		}
	}
	return e
}

// hashReader digests what passes.
type hashReader struct {
	src io.Reader
	h   hash.Hash
	n   int64
}

func newHashReader(src io.Reader) *hashReader { return &hashReader{src: src, h: sha256.New()} }

func (r *hashReader) Read(b []byte) (int, error) {
	n, err := r.src.Read(b)
	r.h.Write(b[:n])
	r.n += int64(n)
	return n, err
}

func (r *hashReader) sum() model.Digest { return model.Digest(r.h.Sum(nil)) }

// base is a file's name without folder and extension.
func base(path string) string {
	name := filepath.Base(path)
	return strings.TrimSuffix(name, filepath.Ext(name))
}
