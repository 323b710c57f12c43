package trial

import (
	"sync"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/redact"
	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/scenarios"
)

// A file with secrets stands in the agent's tree as it is, so that what runs there
// finds what it needs. Whoever tells of the tree tells of it masked:
//
//  1. the session's header, changes, and digests: what is recorded is a tree of its
//     own, in which the secrets are overwritten;
//  2. tools that read, checks and graders: so a replay, which has only that tree,
//     comes to the same. Whole files are masked, so no slice and no search brings a
//     piece of a secret out;
//  3. tools that change a file read it as it is.
//
// Lengths stay, and so do sizes and offsets.

// masks knows the files of a tree that have secrets.
type masks struct {
	with *redact.Redactor
	mu   sync.Mutex
	hot  map[string]model.Digest // of the masked content, by path
}

// maskedFiles are the files of a scenario with their secrets overwritten.
type maskedFiles struct {
	files []scenarios.File // the very same data where there are none
	hot   map[string]model.Digest
}

// A suite runs the same scenario thousands of times.
var maskedTrees = memo[*maskedFiles]{m: map[string]*maskedFiles{}}

func maskFiles(files []scenarios.File, with *redact.Redactor) *maskedFiles {
	out := &maskedFiles{files: files}
	for i, f := range files {
		masked := with.Bytes(f.Data)
		if len(f.Data) == 0 || &masked[0] == &f.Data[0] {
			continue
		}
		if out.hot == nil {
			out.hot = map[string]model.Digest{}
			out.files = append([]scenarios.File(nil), files...)
		}
		out.files[i].Data, out.hot[f.Path] = masked, model.Sum(masked)
	}
	return out
}

// masked are the scenario's files as they are told of.
func (s *Spec) masked() *maskedFiles {
	m, _ := maskedTrees.get(secretKey(s.Scenario, s.Secrets), func() (*maskedFiles, error) {
		return maskFiles(s.Scenario.Files, s.Redactor()), nil
	})
	return m
}

// begin starts at the scenario's files.
func (m *masks) begin(files *maskedFiles) {
	for path, d := range files.hot {
		m.note(path, d)
	}
}

func (m *masks) note(path string, d model.Digest) {
	if m.hot == nil {
		m.hot = map[string]model.Digest{}
	}
	m.hot[path] = d
}

// of is the digest of a file's masked content; false where it has no secret.
func (m *masks) of(path string) (model.Digest, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, ok := m.hot[path]
	return d, ok
}

// delta makes of a change what is told of it.
func (m *masks) delta(d *event.Delta) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if before, ok := m.hot[d.Path]; ok {
		d.Before = before
		delete(m.hot, d.Path)
	}
	if d.Op != session.OpWrite || len(d.Content) == 0 {
		return
	}
	if masked := m.with.Bytes(d.Content); &masked[0] != &d.Content[0] {
		d.Content, d.After, d.Redacted = masked, model.Sum(masked), true
		m.note(d.Path, d.After)
	}
}

// Masking is a tree that is nothing but what is told of it, as a recording's is:
// what is written to it is written with its secrets overwritten.
func Masking(ws workspace.Workspace, secrets *redact.Redactor) workspace.Workspace {
	return &masking{ws, secrets}
}

type masking struct {
	workspace.Workspace
	secrets *redact.Redactor
}

// WriteFile implements workspace.Workspace.
func (m *masking) WriteFile(path string, data []byte) (event.Delta, error) {
	masked := m.secrets.Bytes(data)
	d, err := m.Workspace.WriteFile(path, masked)
	d.Redacted = err == nil && len(data) > 0 && &masked[0] != &data[0]
	return d, err
}

// maskedView shows a tree with its secrets overwritten.
type maskedView struct {
	*watched
	met bool
}

var _ workspace.MaskedView = (*maskedView)(nil)

// Masked implements workspace.Masker.
func (w *watched) Masked() workspace.MaskedView {
	w.masks.mu.Lock()
	defer w.masks.mu.Unlock()
	if len(w.masks.hot) == 0 {
		return nil
	}
	return &maskedView{watched: w}
}

// told is the tree as it is told of.
func (w *watched) told() workspace.Workspace { return &maskedView{watched: w} }

// ReadFile implements workspace.Workspace. A file with secrets is read whole.
func (v *maskedView) ReadFile(path string, offset, limit int64) ([]byte, int64, error) {
	if _, hot := v.masks.of(path); !hot {
		return v.watched.ReadFile(path, offset, limit)
	}
	v.met = true
	_, size, err := v.watched.ReadFile(path, 0, 0)
	if err != nil {
		return nil, 0, err
	}
	data, size, err := v.watched.ReadFile(path, 0, size)
	if err != nil {
		return nil, size, err
	}
	data = v.masks.with.Bytes(data)
	from := min(max(offset, 0), int64(len(data)))
	return data[from:min(from+max(limit, 0), int64(len(data)))], size, nil
}

// Met implements workspace.MaskedView.
func (v *maskedView) Met() bool { return v.met }

// Kinds implements workspace.MaskedView.
func (v *maskedView) Kinds(text string) string {
	var f redact.Found
	v.masks.with.Note(text, &f)
	return f.String()
}
