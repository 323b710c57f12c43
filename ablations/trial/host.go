package trial

import (
	"context"
	"sync"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/workspace"
)

// watched is a workspace that remembers the first failure of the machine below
// it. Such a failure says nothing of the agent: the trial is not finished then,
// and can be resumed.
type watched struct {
	workspace.Workspace
	mu    sync.Mutex
	first error
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
			w.first = err
		}
	}
	return err
}

// Stat implements workspace.Workspace.
func (w *watched) Stat(path string) (workspace.Info, error) {
	i, err := w.Workspace.Stat(path)
	return i, w.see(err)
}

// ReadFile implements workspace.Workspace.
func (w *watched) ReadFile(path string, offset, limit int64) ([]byte, int64, error) {
	b, n, err := w.Workspace.ReadFile(path, offset, limit)
	return b, n, w.see(err)
}

// List implements workspace.Workspace.
func (w *watched) List(path string) ([]workspace.Info, error) {
	l, err := w.Workspace.List(path)
	return l, w.see(err)
}

// Walk implements workspace.Workspace.
func (w *watched) Walk(path string, fn func(workspace.Info) error) error {
	return w.see(w.Workspace.Walk(path, fn))
}

// WriteFile implements workspace.Workspace.
func (w *watched) WriteFile(path string, data []byte) (event.Delta, error) {
	d, err := w.Workspace.WriteFile(path, data)
	return d, w.see(err)
}

// Remove implements workspace.Workspace.
func (w *watched) Remove(path string) (event.Delta, error) {
	d, err := w.Workspace.Remove(path)
	return d, w.see(err)
}

// Spill implements workspace.Workspace.
func (w *watched) Spill(path string, data []byte) error {
	return w.see(w.Workspace.Spill(path, data))
}

// Apply implements workspace.Workspace.
func (w *watched) Apply(deltas []event.Delta) error { return w.see(w.Workspace.Apply(deltas)) }

// Manifest implements workspace.Workspace.
func (w *watched) Manifest() ([]workspace.Entry, error) {
	m, err := w.Workspace.Manifest()
	return m, w.see(err)
}

// gate lets nothing more be recorded once the operator has cancelled or the
// machine has failed: the session then stays unfinished, and a resumed run takes
// it up where it was. A model answer that has come is recorded all the same,
// since it was paid for.
type gate struct {
	ctx context.Context
	ws  *watched
}

// Emit implements event.Sink.
func (g gate) Emit(ev event.Event) error {
	if err := g.ws.failed(); err != nil {
		return err
	}
	switch ev := ev.(type) {
	case *event.Response:
		return nil
	case *event.Attempt:
		if ev.Err == nil || ev.Err.Kind != model.ErrCancelled {
			return nil
		}
	}
	return context.Cause(g.ctx)
}
