package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxDepth bounds how deep a walk goes.
const maxDepth = 256

// name is one entry of a folder.
type name struct {
	name string
	dir  bool
}

// child returns the path of an entry of the folder a.
func (a at) child(name string) at {
	if a.rel == "." {
		a.rel = name
	} else {
		a.rel += "/" + name
	}
	if a.path == "" {
		a.path = name
	} else {
		a.path += "/" + name
	}
	return a
}

// names returns the entries of the folder a, in the order in which a walk by
// full path meets them: a folder stands where its name with a slash does. What
// belongs to the harness is left out.
func (a at) names() ([]name, error) {
	f, err := a.root.OpenFile(filepath.FromSlash(a.rel), os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, a.explain(err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, a.explain(err)
	}
	if !fi.IsDir() {
		return nil, notDir(a.path)
	}
	entries, err := f.ReadDir(MaxFiles + 1)
	if err != nil && err != io.EOF {
		return nil, fail(a.path, err, "cannot be listed")
	}
	if len(entries) > MaxFiles {
		return nil, fail(a.path, ErrTooLarge, "holds too many files")
	}
	out := make([]name, 0, len(entries))
	for _, e := range entries {
		if a.rel == "." && (e.Name() == HarnessDir || e.Name() == tempName) {
			continue
		}
		out = append(out, name{name: e.Name(), dir: e.IsDir()})
	}
	slices.SortFunc(out, func(a, b name) int { return strings.Compare(a.key(), b.key()) })
	return out, nil
}

func (n name) key() string {
	if n.dir {
		return n.name + "/"
	}
	return n.name
}

// errFound ends a search.
var errFound = errors.New("found")

// populated reports whether there is a plain file below the folder a. Folders
// without one do not exist for the agent: a recording knows none either.
func (a at) populated() bool {
	err := a.walk(walker{file: func(at, fs.FileInfo) error { return errFound }}, 0)
	return err == errFound
}

// walker says what a walk does with a plain file, and with everything else;
// odd may be nil.
type walker struct {
	file func(at, fs.FileInfo) error
	odd  func(at, error) error
}

// walk visits what lies below the folder a, in order of the paths' bytes.
func (a at) walk(w walker, depth int) error {
	if depth > maxDepth {
		return fail(a.path, ErrTooLarge, "holds folders that nest too deep")
	}
	names, err := a.names()
	if err != nil {
		return err
	}
	for _, n := range names {
		child := a.child(n.name)
		bad := checkText(n.name)
		if n.dir && bad == nil {
			if err := child.walk(w, depth+1); err != nil {
				return err
			}
			continue
		}
		fi, err := a.root.Lstat(filepath.FromSlash(child.rel))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it went while we looked
		}
		if err == nil {
			err = plain(child.path, fi, nil)
		}
		if bad != nil {
			err = bad
		}
		switch {
		case err == nil:
			err = w.file(child, fi)
		case w.odd != nil:
			err = w.odd(child, err)
		default:
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Walk implements Workspace. fn must not change the tree. What is no plain file
// is left out.
func (d *Dir) Walk(path string, fn func(Info) error) error {
	a, err := d.open(path)
	if err != nil {
		if path == HarnessDir && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	defer a.close()
	fi, err := a.stat()
	if err != nil {
		return err
	}
	if !fi.IsDir() {
		if err := plain(path, fi, nil); err != nil {
			return err
		}
		return fn(Info{Path: path, Size: fi.Size(), Mode: d.mode(path, fi)})
	}
	if path != "" && path != HarnessDir && !a.populated() {
		return notFound(path)
	}
	seen := 0
	return a.walk(walker{file: func(f at, fi fs.FileInfo) error {
		if seen++; seen > MaxFiles {
			return fail(path, ErrTooLarge, "holds too many files")
		}
		return fn(Info{Path: f.path, Size: fi.Size(), Mode: d.mode(f.path, fi)})
	}}, 0)
}

// Manifest implements Workspace. Unlike a listing it refuses a tree with
// something in it that is no plain file: a digest that left it out would call
// two different trees equal.
func (d *Dir) Manifest() ([]Entry, error) {
	a, err := d.open("")
	if err != nil {
		return nil, err
	}
	defer a.close()
	out := []Entry{}
	err = a.walk(walker{
		file: func(f at, fi fs.FileInfo) error {
			if len(out) >= MaxFiles {
				return fail("", ErrTooLarge, "holds too many files")
			}
			sum, size, err := f.sum()
			if err != nil {
				return err
			}
			out = append(out, Entry{Path: f.path, Size: size, Mode: d.mode(f.path, fi), Digest: sum})
			return nil
		},
		odd: func(_ at, err error) error { return err },
	}, 0)
	if err != nil {
		return nil, err
	}
	return out, nil
}
