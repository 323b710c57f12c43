package workspace

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
)

// Dir is a workspace on disk, confined by os.Root, which follows no link out of
// the tree. What os.Root lets through is refused here: hard links (another name
// of the file may lie outside), FIFOs (opening one blocks), devices and sockets.
// Links inside of the tree can be read, never written through.
//
// A Dir holds no open file between two calls, so ten thousand waiting trials
// need none. It is safe for concurrent use; writes take turns.
type Dir struct {
	tree  string // host folder of the graded tree
	space string // host folder of HarnessDir; made when it is first needed

	mu   sync.Mutex      // held by writers
	exec map[string]bool // executable files, where the platform has no such bit
}

var _ Workspace = (*Dir)(nil)

// NewDir returns a workspace over treeDir, which must exist, with the harness's
// own space in harnessDir, which is created when it is first written to and must
// not lie inside of the tree.
func NewDir(treeDir, harnessDir string) (*Dir, error) {
	tree, err := filepath.Abs(treeDir)
	if err != nil {
		return nil, fmt.Errorf("workspace folder: %w", err)
	}
	space, err := filepath.Abs(harnessDir)
	if err != nil {
		return nil, fmt.Errorf("harness folder: %w", err)
	}
	if rel, err := filepath.Rel(tree, space); err == nil && filepath.IsLocal(rel) {
		return nil, fmt.Errorf("harness folder %s lies inside of the workspace %s; give it a folder of its own", space, tree)
	}
	fi, err := os.Stat(tree)
	if err != nil {
		return nil, fmt.Errorf("workspace folder: %w", err)
	}
	if !fi.IsDir() {
		return nil, fmt.Errorf("workspace %s is not a folder", tree)
	}
	return &Dir{tree: tree, space: space, exec: map[string]bool{}}, nil
}

// at is a path and the open root that it lies in.
type at struct {
	root *os.Root
	path string // as in Workspace
	rel  string // below root; "." for the root itself
	d    *Dir
}

// open opens the root that path lies in. It never creates one.
func (d *Dir) open(path string) (at, error) {
	if err := checkClean(path); err != nil {
		return at{}, err
	}
	host, rel := d.tree, path
	if InHarness(path) {
		host, rel = d.space, strings.TrimPrefix(path[len(HarnessDir):], "/")
	}
	if rel == "" {
		rel = "."
	}
	root, err := os.OpenRoot(host)
	if err != nil {
		if InHarness(path) && errors.Is(err, fs.ErrNotExist) {
			return at{}, notFound(path)
		}
		return at{}, fail("", errors.Join(ErrHost, err), "the workspace cannot be opened")
	}
	return at{root: root, path: path, rel: rel, d: d}, nil
}

func (a at) close() { _ = a.root.Close() } // a folder handle: nothing is lost

// stat describes the path, links inside of the tree followed.
func (a at) stat() (fs.FileInfo, error) {
	fi, err := a.root.Stat(filepath.FromSlash(a.rel))
	if err != nil {
		return nil, a.explain(err)
	}
	return fi, nil
}

// explain says in the agent's words why a path could not be reached. It looks at
// one component after the other; only failures pay for it.
func (a at) explain(cause error) error {
	prefix := strings.TrimSuffix(strings.TrimSuffix(a.path, a.rel), "/")
	names := strings.Split(a.rel, "/")
	for i := range names {
		rel := strings.Join(names[:i+1], "/")
		path := strings.TrimPrefix(prefix+"/"+rel, "/")
		fi, err := a.root.Lstat(filepath.FromSlash(rel))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return notFound(a.path)
		case err != nil:
			return fail(a.path, err, "cannot be opened")
		case fi.Mode()&fs.ModeSymlink != 0:
			if fi, err = a.root.Stat(filepath.FromSlash(rel)); err != nil {
				return fail(path, ErrSpecial, "is a link that leads outside of "+Root+" or nowhere")
			}
		}
		if i < len(names)-1 && !fi.IsDir() {
			return notDir(path)
		}
	}
	return fail(a.path, cause, "cannot be opened")
}

// plain refuses what is not a plain file with one name. f may be nil before the
// file is open.
func plain(path string, fi fs.FileInfo, f *os.File) error {
	what := ""
	switch m := fi.Mode(); {
	case m.IsDir():
		return isDir(path)
	case m&fs.ModeSymlink != 0:
		what = "is a link"
	case m&fs.ModeNamedPipe != 0:
		what = "is a FIFO"
	case m&fs.ModeSocket != 0:
		what = "is a socket"
	case m&(fs.ModeDevice|fs.ModeCharDevice) != 0:
		what = "is a device"
	case !m.IsRegular():
		what = "is not a plain file"
	case links(f, fi) > 1:
		what = "is a hard link, whose other name may lie outside of " + Root
	default:
		return nil
	}
	return fail(path, ErrSpecial, what+"; only plain files can be used")
}

// file opens the path for reading and makes sure, before and after, that it is a
// plain file. It never blocks.
func (a at) file() (*os.File, fs.FileInfo, error) {
	fi, err := a.stat()
	if err != nil {
		return nil, nil, err
	}
	if err := plain(a.path, fi, nil); err != nil {
		return nil, nil, err
	}
	f, err := a.root.OpenFile(filepath.FromSlash(a.rel), os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, a.explain(err)
	}
	if fi, err = f.Stat(); err == nil {
		err = plain(a.path, fi, f)
	} else {
		err = a.explain(err)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, fi, nil
}

// sum returns the digest and size of the content of a plain file.
func (a at) sum() (model.Digest, int64, error) {
	f, _, err := a.file()
	if err != nil {
		return model.Digest{}, 0, err
	}
	defer f.Close()
	h := sha256.New()
	buf := buffers.Get().(*[16 << 10]byte)
	defer buffers.Put(buf)
	size := int64(0)
	for {
		n, err := f.Read(buf[:])
		h.Write(buf[:n])
		size += int64(n)
		if err == io.EOF {
			break
		}
		if err != nil {
			return model.Digest{}, 0, fail(a.path, err, "cannot be read")
		}
	}
	var d model.Digest
	h.Sum(d[:0])
	return d, size, nil
}

var buffers = sync.Pool{New: func() any { return new([16 << 10]byte) }}

// mode returns a file's normalised mode.
func (d *Dir) mode(path string, fi fs.FileInfo) uint32 {
	if hasExecBit {
		return NormMode(uint32(fi.Mode().Perm()))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.modeLocked(path, fi)
}

func (d *Dir) modeLocked(path string, fi fs.FileInfo) uint32 {
	if hasExecBit {
		return NormMode(uint32(fi.Mode().Perm()))
	}
	if d.exec[path] {
		return ModeExec
	}
	return ModeFile
}

// Stat implements Workspace.
func (d *Dir) Stat(path string) (Info, error) {
	if path == HarnessDir {
		return Info{Path: path, Dir: true, Mode: ModeExec}, nil
	}
	a, err := d.open(path)
	if err != nil {
		return Info{}, err
	}
	defer a.close()
	fi, err := a.stat()
	if err != nil {
		return Info{}, err
	}
	if fi.IsDir() {
		if path != "" && !a.populated() {
			return Info{}, notFound(path)
		}
		return Info{Path: path, Dir: true, Mode: ModeExec}, nil
	}
	if err := plain(path, fi, nil); err != nil {
		return Info{}, err
	}
	return Info{Path: path, Size: fi.Size(), Mode: d.mode(path, fi)}, nil
}

// ReadFile implements Workspace. A window of more than MaxFile bytes is refused.
func (d *Dir) ReadFile(path string, offset, limit int64) ([]byte, int64, error) {
	if path == HarnessDir {
		return nil, 0, isDir(path)
	}
	a, err := d.open(path)
	if err != nil {
		return nil, 0, err
	}
	defer a.close()
	f, fi, err := a.file()
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	size := fi.Size()
	if err := checkWindow(path, offset); err != nil {
		return nil, size, err
	}
	n := max(size-offset, 0)
	if limit >= 0 {
		n = min(n, limit)
	}
	if n > MaxFile {
		return nil, size, tooLarge(path)
	}
	data := make([]byte, n)
	got, err := f.ReadAt(data, offset)
	if err != nil && err != io.EOF { // EOF: it shrank between the two calls
		return nil, size, fail(path, err, "cannot be read")
	}
	return data[:got], size, nil
}

// List implements Workspace. What is no plain file is left out, and so are
// folders without any.
func (d *Dir) List(path string) ([]Info, error) {
	a, err := d.open(path)
	if err != nil {
		if path == HarnessDir && errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	defer a.close()
	names, err := a.names()
	if err != nil {
		return nil, err
	}
	var out []Info
	for _, n := range names {
		if checkText(n.name) != nil {
			continue // no call could name it
		}
		child := a.child(n.name)
		if n.dir {
			if child.populated() {
				out = append(out, Info{Path: child.path, Dir: true, Mode: ModeExec})
			}
			continue
		}
		fi, err := a.root.Lstat(filepath.FromSlash(child.rel))
		if err != nil || plain(child.path, fi, nil) != nil {
			continue
		}
		out = append(out, Info{Path: child.path, Size: fi.Size(), Mode: d.mode(child.path, fi)})
	}
	slices.SortFunc(out, func(a, b Info) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// Apply implements Workspace. Each delta must fit the tree that it finds, and a
// write must bring its content; the first that does not is reported, with those
// before it done.
func (d *Dir) Apply(deltas []event.Delta) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range deltas {
		dl := &deltas[i]
		if err := checkDelta(dl, false); err != nil {
			return err
		}
		check := func(now model.Digest) error { return checkBefore(dl, now) }
		var err error
		if dl.Op == OpDelete {
			_, err = d.remove(dl.Path, check)
		} else {
			_, _, err = d.put(dl.Path, dl.Content, NormMode(dl.Mode), check)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
