package cache

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/redact"
)

// Bounds of a file store.
const (
	MaxEntries = 1 << 20 // that a store reads; a folder with more is refused

	suffix = ".json"
)

// Files is a store in a folder: a file for each key, readable by its owner alone.
// Several programs may use one folder at a time. An entry is written beside its
// place and moved there whole, never changed, and checked by its digest when it is
// read. Answers in which something looks like a key are not stored.
type Files struct {
	dir   string
	known map[Key]struct{} // when it was opened
	hide  *redact.Redactor
}

// Open opens the store in a folder, which is made if it is not there. It reads what
// is in it now.
func Open(dir string) (*Files, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("response cache: %w", err)
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("response cache: %w", err)
	}
	defer func() { _ = d.Close() }() // read only
	var keys []Key
	for {
		names, err := d.Readdirnames(1024)
		for _, name := range names {
			if k, err := ParseKey(strings.TrimSuffix(name, suffix)); err == nil && strings.HasSuffix(name, suffix) {
				keys = append(keys, k)
			}
		}
		switch {
		case len(keys) > MaxEntries:
			return nil, fmt.Errorf("response cache: %s has more than %d entries; begin a new one", dir, MaxEntries)
		case errors.Is(err, io.EOF):
			return OpenAt(dir, keys), nil
		case err != nil:
			return nil, fmt.Errorf("response cache: %w", err)
		}
	}
}

// OpenAt opens the store as it stood when it had these keys: a run that is taken up
// again reads what it read before.
func OpenAt(dir string, keys []Key) *Files {
	f := &Files{dir: dir, known: make(map[Key]struct{}, len(keys)), hide: redact.New()}
	for _, k := range keys {
		f.known[k] = struct{}{}
	}
	return f
}

// Keys are those of the answers that the store reads, sorted.
func (f *Files) Keys() []Key {
	out := make([]Key, 0, len(f.known))
	for k := range f.known {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b Key) int { return bytes.Compare(a[:], b[:]) })
	return out
}

// Get implements Store. An entry that was there when the store was opened and is
// gone counts as none.
func (f *Files) Get(k Key) (*model.Response, error) {
	if _, ok := f.known[k]; !ok {
		return nil, nil
	}
	path := f.path(k)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("the entry is no regular file")
	case info.Size() > MaxEntry:
		return nil, fmt.Errorf("the entry has more than %d bytes", MaxEntry)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // read only
	data, err := io.ReadAll(io.LimitReader(file, MaxEntry+1))
	if err != nil {
		return nil, err
	}
	return decode(k, data)
}

// Put implements Store.
func (f *Files) Put(k Key, r *model.Response) error {
	path := f.path(k)
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	data, err := encode(k, r)
	if err != nil {
		return err
	}
	if len(data) > MaxEntry || !bytes.Equal(f.hide.Bytes(data), data) {
		return nil
	}
	file, err := os.CreateTemp(f.dir, ".new-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return unjoin(err)
	}
	return nil
}

// unjoin takes the first of joined errors, so that its path can be left out.
func unjoin(err error) error {
	if j, ok := err.(interface{ Unwrap() []error }); ok && len(j.Unwrap()) > 0 {
		return j.Unwrap()[0]
	}
	return err
}

func (f *Files) path(k Key) string { return filepath.Join(f.dir, k.String()+suffix) }
