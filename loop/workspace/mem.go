package workspace

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
)

// Mem is a workspace in memory, for replay: it starts from a recorded manifest
// and takes recorded deltas. It is safe for concurrent use.
//
// A file whose content nobody asks for is never fetched, so replaying a session
// over a large tree costs what the session touched.
type Mem struct {
	mu    sync.Mutex
	files memTree // the graded tree
	space memTree // below HarnessDir
	fetch func(model.Digest) ([]byte, error)
}

var _ Workspace = (*Mem)(nil)

// memTree is a list of files sorted by path: lookups are binary searches, a
// folder is a run of neighbours, and every listing comes out in order.
type memTree []memFile

type memFile struct {
	Entry
	data  []byte
	ready bool // data is the content
}

// NewMem returns a workspace that holds entries. Contents are asked of fetch
// when they are first needed, and are checked against size and digest; with a
// nil fetch only files of size 0 and files written later have one. It refuses
// entries that no tree can have: paths that are not clean, paths that appear
// twice or below a file, and paths below HarnessDir.
func NewMem(entries []Entry, fetch func(model.Digest) ([]byte, error)) (*Mem, error) {
	if len(entries) > MaxFiles {
		return nil, fail("", ErrTooLarge, fmt.Sprintf("more than %d files", MaxFiles))
	}
	m := &Mem{fetch: fetch, files: make(memTree, 0, len(entries))}
	for _, e := range entries {
		if err := checkTarget(e.Path); err != nil {
			return nil, err
		}
		if e.Size < 0 {
			return nil, fail(e.Path, ErrMismatch, "has a negative size")
		}
		e.Mode = NormMode(e.Mode)
		m.files = append(m.files, memFile{Entry: e})
	}
	slices.SortFunc(m.files, func(a, b memFile) int { return strings.Compare(a.Path, b.Path) })
	for i := range m.files {
		path := m.files[i].Path
		if i > 0 && m.files[i-1].Path == path {
			return nil, fail(path, ErrMismatch, "appears twice")
		}
		if err := m.files.parentsAreDirs(path); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// find returns the index of path, or where it would be.
func (t memTree) find(path string) (int, bool) {
	i := sort.Search(len(t), func(i int) bool { return t[i].Path >= path })
	return i, i < len(t) && t[i].Path == path
}

// below returns the files of the folder dir; "" is the root.
func (t memTree) below(dir string) memTree {
	if dir == "" {
		return t
	}
	lo, hi := dir+"/", dir+"0" // '0' follows '/'
	i, _ := t.find(lo)
	j, _ := t.find(hi)
	return t[i:j]
}

// parentsAreDirs refuses a path below a file.
func (t memTree) parentsAreDirs(path string) error {
	for i := 0; i < len(path); i++ {
		if path[i] != '/' {
			continue
		}
		if _, ok := t.find(path[:i]); ok {
			return notDir(path[:i])
		}
	}
	return nil
}

func (t memTree) info(i int) Info {
	return Info{Path: t[i].Path, Size: t[i].Size, Mode: t[i].Mode}
}

// put creates or replaces a file and returns the digest of what was there.
func (t *memTree) put(f memFile) (before model.Digest, err error) {
	i, ok := t.find(f.Path)
	if ok {
		before = (*t)[i].Digest
		(*t)[i] = f
		return before, nil
	}
	if len(t.below(f.Path)) > 0 {
		return before, isDir(f.Path)
	}
	if err := t.parentsAreDirs(f.Path); err != nil {
		return before, err
	}
	if len(*t) >= MaxFiles {
		return before, fail(f.Path, ErrTooLarge, "cannot be written: the tree is full")
	}
	*t = slices.Insert(*t, i, f)
	return before, nil
}

// tree returns the tree that a path belongs to.
func (m *Mem) tree(path string) *memTree {
	if InHarness(path) {
		return &m.space
	}
	return &m.files
}

// Stat implements Workspace.
func (m *Mem) Stat(path string) (Info, error) {
	if err := checkClean(path); err != nil {
		return Info{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stat(path)
}

func (m *Mem) stat(path string) (Info, error) {
	t := *m.tree(path)
	if i, ok := t.find(path); ok {
		return t.info(i), nil
	}
	if path == "" || path == HarnessDir || len(t.below(path)) > 0 {
		return Info{Path: path, Dir: true, Mode: ModeExec}, nil
	}
	if err := t.parentsAreDirs(path); err != nil {
		return Info{}, err
	}
	return Info{}, notFound(path)
}

// ReadFile implements Workspace.
func (m *Mem) ReadFile(path string, offset, limit int64) ([]byte, int64, error) {
	if err := checkClean(path); err != nil {
		return nil, 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	in, err := m.stat(path)
	if err != nil {
		return nil, 0, err
	}
	if in.Dir {
		return nil, 0, isDir(path)
	}
	if err := checkWindow(path, offset); err != nil {
		return nil, in.Size, err
	}
	t := *m.tree(path)
	i, _ := t.find(path)
	data, err := m.content(&t[i])
	if err != nil {
		return nil, in.Size, err
	}
	data = data[min(offset, int64(len(data))):]
	if limit >= 0 && int64(len(data)) > limit {
		data = data[:limit]
	}
	return slices.Clone(data), in.Size, nil
}

// content returns a file's bytes, fetched if need be.
func (m *Mem) content(f *memFile) ([]byte, error) {
	if f.ready || f.Size == 0 {
		return f.data, nil
	}
	if m.fetch == nil {
		return nil, fail(f.Path, ErrMismatch, "its content is not part of the record")
	}
	data, err := m.fetch(f.Digest)
	if err != nil {
		return nil, &Error{Path: Abs(f.Path), What: "its content is not part of the record: " + err.Error(), Err: err}
	}
	if int64(len(data)) != f.Size || model.Sum(data) != f.Digest {
		return nil, fail(f.Path, ErrMismatch, "its content does not have the recorded size and digest")
	}
	f.data, f.ready = data, true
	return data, nil
}

// List implements Workspace.
func (m *Mem) List(path string) ([]Info, error) {
	if err := checkClean(path); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	in, err := m.stat(path)
	if err != nil {
		return nil, err
	}
	if !in.Dir {
		return nil, notDir(path)
	}
	prefix := 0
	if path != "" {
		prefix = len(path) + 1
	}
	var out []Info
	t := m.tree(path).below(path)
	for i := 0; i < len(t); i++ {
		name, _, deeper := strings.Cut(t[i].Path[prefix:], "/")
		if !deeper {
			out = append(out, t.info(i))
			continue
		}
		dir := t[i].Path[:prefix+len(name)]
		out = append(out, Info{Path: dir, Dir: true, Mode: ModeExec})
		i += len(t[i:].below(dir)) - 1
	}
	// "a-b" sorts before "a/..." as a path but after "a" as a name.
	slices.SortFunc(out, func(a, b Info) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// Walk implements Workspace. fn sees the tree as it was when Walk began.
func (m *Mem) Walk(path string, fn func(Info) error) error {
	if err := checkClean(path); err != nil {
		return err
	}
	m.mu.Lock()
	in, err := m.stat(path)
	var infos []Info
	if err == nil && !in.Dir {
		infos = []Info{in}
	} else if err == nil {
		t := m.tree(path).below(path)
		infos = make([]Info, len(t))
		for i := range t {
			infos[i] = t.info(i)
		}
	}
	m.mu.Unlock()
	if err != nil {
		return err
	}
	for _, in := range infos {
		if err := fn(in); err != nil {
			return err
		}
	}
	return nil
}

// WriteFile implements Workspace. The delta's content is data itself: the caller
// must not change it afterwards.
func (m *Mem) WriteFile(path string, data []byte) (event.Delta, error) {
	if err := checkTarget(path); err != nil {
		return event.Delta{}, err
	}
	if len(data) > MaxFile {
		return event.Delta{}, tooLarge(path)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	mode := ModeFile
	if i, ok := m.files.find(path); ok {
		mode = m.files[i].Mode
	}
	d := writeDelta(path, data, mode)
	var err error
	d.Before, err = m.files.put(fileOf(&d))
	if err != nil {
		return event.Delta{}, err
	}
	return d, nil
}

// Remove implements Workspace.
func (m *Mem) Remove(path string) (event.Delta, error) {
	if err := checkTarget(path); err != nil {
		return event.Delta{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.remove(path)
}

func (m *Mem) remove(path string) (event.Delta, error) {
	in, err := m.stat(path)
	if err != nil {
		return event.Delta{}, err
	}
	if in.Dir {
		return event.Delta{}, isDir(path)
	}
	i, _ := m.files.find(path)
	d := event.Delta{Op: OpDelete, Path: path, Before: m.files[i].Digest}
	m.files = slices.Delete(m.files, i, i+1)
	return d, nil
}

// Spill implements Workspace.
func (m *Mem) Spill(path string, data []byte) error {
	if err := checkSpill(path, data); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err := m.space.put(memFile{
		Entry: Entry{Path: path, Size: int64(len(data)), Mode: ModeFile},
		data:  data,
		ready: true,
	})
	return err
}

// Apply implements Workspace. Each delta must fit the tree that it finds; the
// first that does not is reported, with those before it done. A write without
// content is taken: its bytes are fetched when they are needed.
func (m *Mem) Apply(deltas []event.Delta) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range deltas {
		if err := m.apply(&deltas[i]); err != nil {
			return err
		}
	}
	return nil
}

func (m *Mem) apply(d *event.Delta) error {
	if err := checkDelta(d, true); err != nil {
		return err
	}
	var now model.Digest
	if i, ok := m.files.find(d.Path); ok {
		now = m.files[i].Digest
	}
	if err := checkBefore(d, now); err != nil {
		return err
	}
	var err error
	if d.Op == OpDelete {
		_, err = m.remove(d.Path)
	} else {
		_, err = m.files.put(fileOf(d))
	}
	return err
}

// Manifest implements Workspace.
func (m *Mem) Manifest() ([]Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]Entry, len(m.files))
	for i := range m.files {
		out[i] = m.files[i].Entry
	}
	return out, nil
}

func fileOf(d *event.Delta) memFile {
	return memFile{
		Entry: Entry{Path: d.Path, Size: d.Size, Mode: NormMode(d.Mode), Digest: d.After},
		data:  d.Content,
		ready: d.Content != nil,
	}
}
