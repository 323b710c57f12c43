package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
)

// WriteFile implements Workspace. A file that is replaced keeps its mode. The
// content is never seen half written: it is written under a name that no path can
// have and moved into place when it is complete, which also means that nothing is
// ever written through a link. The delta's content is data itself: the caller must not change it
// afterwards.
func (d *Dir) WriteFile(path string, data []byte) (event.Delta, error) {
	if err := checkTarget(path); err != nil {
		return event.Delta{}, err
	}
	if len(data) > MaxFile {
		return event.Delta{}, tooLarge(path)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	before, mode, err := d.put(path, data, 0, nil)
	if err != nil {
		return event.Delta{}, err
	}
	dl := writeDelta(path, data, mode)
	dl.Before = before
	return dl, nil
}

// Remove implements Workspace. Folders that it leaves empty go too.
func (d *Dir) Remove(path string) (event.Delta, error) {
	if err := checkTarget(path); err != nil {
		return event.Delta{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	before, err := d.remove(path, nil)
	if err != nil {
		return event.Delta{}, err
	}
	return event.Delta{Op: OpDelete, Path: path, Before: before}, nil
}

// Spill implements Workspace.
func (d *Dir) Spill(path string, data []byte) error {
	if err := checkSpill(path, data); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := os.MkdirAll(d.space, 0o755); err != nil {
		return fail(HarnessDir, err, "cannot be created")
	}
	_, _, err := d.put(path, data, ModeFile, nil)
	return err
}

// put writes a file. mode 0 keeps what is there, else ModeFile. check, which may
// be nil, sees the digest of what is there before anything changes.
func (d *Dir) put(name string, data []byte, mode uint32, check func(model.Digest) error) (before model.Digest, used uint32, err error) {
	a, err := d.open(name)
	if err != nil {
		return before, 0, err
	}
	defer a.close()
	missing, err := a.parents()
	if err != nil {
		return before, 0, err
	}
	var now uint32
	if !missing {
		before, now, err = a.target()
		if err != nil {
			return before, 0, err
		}
	}
	if mode == 0 {
		mode = max(now, ModeFile)
	}
	if check != nil {
		if err := check(before); err != nil {
			return before, 0, err
		}
	}
	if missing {
		if err := a.root.MkdirAll(filepath.FromSlash(path.Dir(a.rel)), 0o755); err != nil {
			return before, 0, fail(name, err, "cannot be written: its folder cannot be created")
		}
	}
	if err := a.replace(data, mode, now != 0); err != nil {
		if missing {
			a.prune()
		}
		return before, 0, fail(name, err, "cannot be written")
	}
	if !hasExecBit {
		d.exec[name] = mode == ModeExec
	}
	return before, mode, nil
}

// parents looks at the folders above a: it refuses links and files among them,
// and says whether one is missing.
func (a at) parents() (missing bool, err error) {
	off := len(a.path) - len(a.rel) // of rel in path
	for i := 0; i < len(a.rel); i++ {
		if a.rel[i] != '/' {
			continue
		}
		fi, err := a.root.Lstat(filepath.FromSlash(a.rel[:i]))
		at := a.path[:off+i]
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return true, nil
		case err != nil:
			return false, fail(at, err, "cannot be opened")
		case fi.Mode()&fs.ModeSymlink != 0:
			return false, fail(at, ErrSpecial, "is a link; nothing is written through links")
		case !fi.IsDir():
			return false, notDir(at)
		}
	}
	return false, nil
}

// target looks at what a write would replace: nothing (mode 0), or a plain file.
func (a at) target() (before model.Digest, mode uint32, err error) {
	fi, err := a.root.Lstat(filepath.FromSlash(a.rel))
	if errors.Is(err, fs.ErrNotExist) {
		return before, 0, nil
	}
	if err != nil {
		return before, 0, fail(a.path, err, "cannot be opened")
	}
	if fi.IsDir() && !a.populated() {
		// For the agent it does not exist, so it must not be in the way.
		if err := a.root.RemoveAll(filepath.FromSlash(a.rel)); err != nil {
			return before, 0, isDir(a.path)
		}
		return before, 0, nil
	}
	if err := plain(a.path, fi, nil); err != nil {
		return before, 0, err
	}
	before, _, err = a.sum()
	return before, a.d.modeLocked(a.path, fi), err
}

// replace writes the file under a reserved name at its root and moves it into
// place. What is there goes first, once the new content is complete: moving over
// an existing file makes ext4 write it out at once, a thousand microseconds for
// a promise (the old content after a crash of the machine) that nobody needs
// here, where a crashed trial's tree comes back from its session.
func (a at) replace(data []byte, mode uint32, over bool) error {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	f, err := a.root.OpenFile(tempName, flags, fs.FileMode(mode))
	if errors.Is(err, fs.ErrExist) { // left by a crash
		if err := a.root.RemoveAll(tempName); err != nil {
			return err
		}
		f, err = a.root.OpenFile(tempName, flags, fs.FileMode(mode))
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && mode == ModeExec && hasExecBit {
		err = f.Chmod(fs.FileMode(mode)) // the umask may have taken the bit that counts
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil && over {
		err = a.root.Remove(filepath.FromSlash(a.rel))
	}
	if err == nil {
		err = a.root.Rename(tempName, filepath.FromSlash(a.rel))
	}
	if err != nil {
		_ = a.root.Remove(tempName) // the first error is the one that counts
	}
	return err
}

// remove deletes a plain file. check is as in put.
func (d *Dir) remove(name string, check func(model.Digest) error) (model.Digest, error) {
	a, err := d.open(name)
	if err != nil {
		return model.Digest{}, err
	}
	defer a.close()
	missing, err := a.parents()
	if err != nil {
		return model.Digest{}, err
	}
	fi, err := a.root.Lstat(filepath.FromSlash(a.rel))
	switch {
	case missing || errors.Is(err, fs.ErrNotExist):
		return model.Digest{}, notFound(name)
	case err != nil:
		return model.Digest{}, fail(name, err, "cannot be opened")
	case fi.IsDir() && !a.populated():
		return model.Digest{}, notFound(name)
	}
	if err := plain(name, fi, nil); err != nil {
		return model.Digest{}, err
	}
	before, _, err := a.sum()
	if err != nil {
		return before, err
	}
	if check != nil {
		if err := check(before); err != nil {
			return before, err
		}
	}
	if err := a.root.Remove(filepath.FromSlash(a.rel)); err != nil {
		return before, fail(name, err, "cannot be deleted")
	}
	delete(d.exec, name)
	a.prune()
	return before, nil
}

// prune removes the empty folders above a.
func (a at) prune() {
	for dir := path.Dir(a.rel); dir != "."; dir = path.Dir(dir) {
		if a.root.Remove(filepath.FromSlash(dir)) != nil {
			return // not empty: the usual end
		}
	}
}
