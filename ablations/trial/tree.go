package trial

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/scenarios"
)

// watched is the workspace of a trial. The scenario's tree is laid on disk when
// something first asks for it: many trials only wait and call mock tools, and
// making and removing a folder is the dearest part of beginning one. It also
// remembers the first failure of the machine below it. Such a failure says
// nothing of the agent: the trial is not finished then, and can be resumed. It
// is safe for concurrent use.
type watched struct {
	temp  string // where the tree is laid
	files []scenarios.File
	masks masks
	shown []scenarios.File // files as they are told of

	once sync.Once
	laid atomic.Bool // whether lay has been tried
	dir  string      // host folder of the tree; empty when none was made
	tree *workspace.Dir
	err  error // why there is no tree

	mu    sync.Mutex
	first error
}

var _ workspace.Workspace = (*watched)(nil)

// harnessSuffix makes the name of the harness's own folder from the tree's.
const harnessSuffix = ".harness"

// get returns the tree, laid if it was not. That it cannot be laid is the
// machine's failure.
func (w *watched) get() (*workspace.Dir, error) {
	w.once.Do(func() {
		if w.err = w.lay(); w.err != nil {
			w.err = fmt.Errorf("%w: lay the workspace: %w", workspace.ErrHost, w.err)
		}
		w.laid.Store(true)
	})
	return w.tree, w.see(w.err)
}

// lay makes the scenario's tree in a folder which is new and nobody else's, so
// files are written plainly; the loader has checked their names. The harness's
// own folder, beside it, is made when something is spilled.
func (w *watched) lay() (err error) {
	if w.dir, err = os.MkdirTemp(w.temp, "trial-"); err != nil {
		return err
	}
	for _, f := range w.files {
		name := filepath.FromSlash(f.Path)
		if !filepath.IsLocal(name) {
			return fmt.Errorf("file %q is not inside the workspace", f.Path)
		}
		full := filepath.Join(w.dir, name)
		if filepath.Dir(name) != "." {
			if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
				return err
			}
		}
		if err := os.WriteFile(full, f.Data, 0o644); err != nil {
			return err
		}
	}
	w.tree, err = workspace.NewDir(w.dir, w.dir+harnessSuffix)
	return err
}

// remove takes the tree away, when nobody uses it any more.
func (w *watched) remove() error {
	if w.dir == "" {
		return nil
	}
	return errors.Join(os.RemoveAll(w.dir), os.RemoveAll(w.dir+harnessSuffix))
}

// entriesOf is the graded tree as the scenario gives it, sorted by path as files are.
func entriesOf(files []scenarios.File) []workspace.Entry {
	entries := make([]workspace.Entry, 0, len(files))
	for _, f := range files {
		entries = append(entries, workspace.Entry{Path: f.Path, Size: int64(len(f.Data)), Mode: workspace.ModeFile, Digest: model.Sum(f.Data)})
	}
	return entries
}

// failed returns the first failure of the machine; nil when there was none.
func (w *watched) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.first
}

func (w *watched) see(err error) error {
	if err != nil && workspace.IsHost(err) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.first == nil {
			w.first = withCause(err)
		}
	}
	return err
}

// withCause says for the operator what a workspace's error keeps from the agent:
// the machine's own words, such as "no space left on device".
func withCause(err error) error {
	var e *workspace.Error
	if errors.As(err, &e) && e.Err != nil {
		return fmt.Errorf("%w: %w", err, e.Err)
	}
	return err
}

// Stat implements workspace.Workspace.
func (w *watched) Stat(path string) (workspace.Info, error) {
	t, err := w.get()
	if err != nil {
		return workspace.Info{}, err
	}
	i, err := t.Stat(path)
	return i, w.see(err)
}

// ReadFile implements workspace.Workspace.
func (w *watched) ReadFile(path string, offset, limit int64) ([]byte, int64, error) {
	t, err := w.get()
	if err != nil {
		return nil, 0, err
	}
	b, n, err := t.ReadFile(path, offset, limit)
	return b, n, w.see(err)
}

// List implements workspace.Workspace.
func (w *watched) List(path string) ([]workspace.Info, error) {
	t, err := w.get()
	if err != nil {
		return nil, err
	}
	l, err := t.List(path)
	return l, w.see(err)
}

// Walk implements workspace.Workspace.
func (w *watched) Walk(path string, fn func(workspace.Info) error) error {
	t, err := w.get()
	if err != nil {
		return err
	}
	return w.see(t.Walk(path, fn))
}

// WriteFile implements workspace.Workspace.
func (w *watched) WriteFile(path string, data []byte) (event.Delta, error) {
	t, err := w.get()
	if err != nil {
		return event.Delta{}, err
	}
	d, err := t.WriteFile(path, data)
	if err == nil {
		w.masks.delta(&d)
	}
	return d, w.see(err)
}

// Remove implements workspace.Workspace.
func (w *watched) Remove(path string) (event.Delta, error) {
	t, err := w.get()
	if err != nil {
		return event.Delta{}, err
	}
	d, err := t.Remove(path)
	if err == nil {
		w.masks.delta(&d)
	}
	return d, w.see(err)
}

// Spill implements workspace.Workspace.
func (w *watched) Spill(path string, data []byte) error {
	t, err := w.get()
	if err != nil {
		return err
	}
	return w.see(t.Spill(path, data))
}

// Apply implements workspace.Workspace. No changes leave an unlaid tree unlaid.
func (w *watched) Apply(deltas []event.Delta) error {
	if len(deltas) == 0 {
		return nil
	}
	t, err := w.get()
	if err != nil {
		return err
	}
	if err := t.Apply(deltas); err != nil {
		return w.see(err)
	}
	for _, d := range deltas {
		w.masks.delta(&d)
	}
	return nil
}

// Manifest implements workspace.Workspace: of the tree as it is told of. One that
// nothing has asked for is as the scenario gives it.
func (w *watched) Manifest() ([]workspace.Entry, error) {
	if !w.laid.Load() {
		if w.shown == nil {
			return entriesOf(w.files), nil
		}
		return entriesOf(w.shown), nil
	}
	t, err := w.get()
	if err != nil {
		return nil, err
	}
	m, err := t.Manifest()
	for i := range m {
		if d, hot := w.masks.of(m[i].Path); hot {
			m[i].Digest = d
		}
	}
	return m, w.see(err)
}
