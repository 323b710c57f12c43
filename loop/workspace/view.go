package workspace

import "io/fs"

// Showing is a workspace whose listings and walks leave out what shows refuses, and
// which does not read it; of a folder it is asked whether something below it may be
// shown.
func Showing(ws Workspace, shows func(path string, dir bool) bool) Workspace {
	return &view{ws, shows}
}

type view struct {
	Workspace
	shows func(string, bool) bool
}

// List implements Workspace.
func (v *view) List(path string) ([]Info, error) {
	all, err := v.Workspace.List(path)
	out := all[:0:0]
	for _, i := range all {
		if v.shows(i.Path, i.Dir) {
			out = append(out, i)
		}
	}
	return out, err
}

// ReadFile implements Workspace. What a call names was judged by its path alone: it
// may be a file where only a folder with something to show was allowed.
func (v *view) ReadFile(path string, offset, limit int64) ([]byte, int64, error) {
	if !v.shows(path, false) {
		return nil, 0, &Error{Path: Abs(path), What: "may not be read", Err: fs.ErrPermission}
	}
	return v.Workspace.ReadFile(path, offset, limit)
}

// Walk implements Workspace.
func (v *view) Walk(path string, fn func(Info) error) error {
	return v.Workspace.Walk(path, func(i Info) error {
		if !v.shows(i.Path, i.Dir) {
			return nil
		}
		return fn(i)
	})
}

// Masked implements Masker where the workspace below does.
func (v *view) Masked() MaskedView {
	m, ok := v.Workspace.(Masker)
	if !ok {
		return nil
	}
	inner := m.Masked()
	if inner == nil {
		return nil
	}
	return &maskedView{view{inner, v.shows}, inner}
}

type maskedView struct {
	view
	inner MaskedView
}

// Masked is a view already.
func (v *maskedView) Masked() MaskedView { return nil }

// Met implements MaskedView.
func (v *maskedView) Met() bool { return v.inner.Met() }

// Kinds implements MaskedView.
func (v *maskedView) Kinds(text string) string { return v.inner.Kinds(text) }

// Masker is a workspace that can show its files with their secrets overwritten.
type Masker interface {
	// Masked is a view for one call; nil when no file has secrets.
	Masked() MaskedView
}

// MaskedView shows files with their secrets overwritten. It belongs to one call.
type MaskedView interface {
	Workspace
	// Met reports whether a file with secrets was read.
	Met() bool
	// Kinds says which secrets a text holds, by kind and count.
	Kinds(text string) string
}
