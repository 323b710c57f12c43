package session

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/harnessbench/harnessbench/loop/model"
)

// Dir is a folder of blobs, one file a content, named by 64 hex digits. Several
// sessions and processes may share it: a file appears complete or not at all.
// The folder is made when the first content is stored.
type Dir struct {
	path    string
	private bool
}

// BlobsBeside returns the blob folder of the session file at path.
func BlobsBeside(path string) *Dir { return &Dir{path: filepath.Join(filepath.Dir(path), BlobDir)} }

// Private returns the same folder; what is stored through it is kept from other
// users of the machine.
func (b *Dir) Private() *Dir { return &Dir{b.path, true} }

// Path returns the folder.
func (b *Dir) Path() string { return b.path }

// Put implements [Blobs]. d must be the digest of content.
func (b *Dir) Put(d model.Digest, content []byte) error {
	name := filepath.Join(b.path, d.String())
	if b.has(name, d, int64(len(content))) {
		return nil
	}
	mode := fs.FileMode(0o755)
	if b.private {
		mode = 0o700
	}
	if err := os.MkdirAll(b.path, mode); err != nil {
		return fmt.Errorf("blob folder: %w", err)
	}
	f, err := os.CreateTemp(b.path, ".tmp-*")
	if err != nil {
		return fmt.Errorf("blob: %w", err)
	}
	_, err = f.Write(content)
	if err == nil && !b.private { // a temporary file has mode 0600
		err = f.Chmod(0o644)
	}
	if err == nil {
		// A session that is on disk must not name a content that is not.
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err == nil {
		syncDir(b.path)
		return nil
	}
	os.Remove(f.Name())
	if b.has(name, d, int64(len(content))) { // another session was faster
		return nil
	}
	return fmt.Errorf("blob: %w", err)
}

// has reports whether the blob is there, and whole.
func (b *Dir) has(name string, d model.Digest, size int64) bool {
	st, err := os.Lstat(name)
	if err != nil || !st.Mode().IsRegular() || st.Size() != size {
		return false
	}
	_, err = b.Get(d, size)
	return err == nil
}

// Get implements [Blobs]: it refuses links and what is no regular file, a size
// other than the recorded one, and a content whose digest is not its name.
func (b *Dir) Get(d model.Digest, size int64) ([]byte, error) {
	name := filepath.Join(b.path, d.String())
	st, err := os.Lstat(name)
	if err != nil {
		return nil, fmt.Errorf("blob %s: %w", d, noPath(err))
	}
	if size < 0 {
		size = st.Size()
	}
	if !st.Mode().IsRegular() || st.Size() != size {
		return nil, fmt.Errorf("blob %s: is no regular file of %d bytes", d, size)
	}
	if size > MaxBlob {
		return nil, fmt.Errorf("blob %s: has more than %d MiB", d, MaxBlob>>20)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("blob %s: %w", d, noPath(err))
	}
	defer f.Close()
	content := make([]byte, size)
	if _, err := io.ReadFull(f, content); err != nil {
		return nil, fmt.Errorf("blob %s: %w", d, noPath(err))
	}
	if model.Sum(content) != d {
		return nil, fmt.Errorf("blob %s: its content has another digest: the file was changed", d)
	}
	return content, nil
}

// noPath keeps a message free of the machine's paths.
func noPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
