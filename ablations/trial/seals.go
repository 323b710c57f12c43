package trial

import (
	"crypto/sha256"
	"errors"
	"io/fs"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/workspace"
)

// Sealer lists the files of a workspace that globs name, with their digests; nil
// when nothing is sealed. Only plain files are files: one that was replaced by a
// folder or a link is gone. A glob that is none names nothing. Files with secrets
// are looked at as they are told of, as a replay has them: a seal does not tell a
// secret from its mask, or from another one.
func Sealer(globs []string, ws workspace.Workspace) func() ([]loop.Sealed, error) {
	if len(globs) == 0 {
		return nil
	}
	return func() ([]loop.Sealed, error) {
		if entries, ok := digested(ws); ok {
			return sealedOf(entries, globs), nil
		}
		var out []loop.Sealed
		err := ws.Walk("", func(i workspace.Info) error {
			if !named(globs, i.Path) {
				return nil
			}
			d, err := toldDigest(ws, i.Path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil // it went while we looked
			}
			out = append(out, loop.Sealed{Path: i.Path, Digest: d})
			return err
		})
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // an empty tree
		}
		return out, err
	}
}

// digested gives the entries of a workspace that knows the digests of its files
// without reading them: one in memory, or one that is not laid yet.
func digested(ws workspace.Workspace) ([]workspace.Entry, bool) {
	switch w := ws.(type) {
	case *workspace.Mem:
		entries, err := w.Manifest()
		return entries, err == nil
	case *watched:
		if !w.laid.Load() {
			entries, err := w.Manifest()
			return entries, err == nil
		}
	}
	return nil, false
}

func sealedOf(entries []workspace.Entry, globs []string) []loop.Sealed {
	var out []loop.Sealed
	for i := range entries {
		if named(globs, entries[i].Path) {
			out = append(out, loop.Sealed{Path: entries[i].Path, Digest: entries[i].Digest})
		}
	}
	return out
}

// named reports whether a glob names a path; ** crosses folders.
func named(globs []string, path string) bool {
	for _, g := range globs {
		if ok, _ := doublestar.Match(g, path); ok {
			return true
		}
	}
	return false
}

func toldDigest(ws workspace.Workspace, path string) (model.Digest, error) {
	if w, ok := ws.(*watched); ok {
		if d, hot := w.masks.of(path); hot {
			return d, nil
		}
	}
	return digestFile(ws, path)
}

// digestFile takes the SHA-256 of a file piece by piece: whatever its size, it
// is never in memory as a whole.
func digestFile(ws workspace.Workspace, path string) (d model.Digest, err error) {
	const piece = 256 << 10
	h := sha256.New()
	for at := int64(0); ; {
		data, size, err := ws.ReadFile(path, at, piece)
		if err != nil {
			return d, err
		}
		h.Write(data)
		if at += int64(len(data)); at >= size || len(data) == 0 {
			h.Sum(d[:0])
			return d, nil
		}
	}
}
