package session

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/klauspost/compress/zstd"
)

// Sync says when a session file is forced to the disk.
type Sync int

// The policies.
const (
	SyncFooter Sync = iota // once, before the file gets its name
	SyncTurns              // at every turn too: for live models
	SyncNever              // leaves it to the system: for tests
)

// FileOptions say how a session file is written. The zero value is right for
// simulated models.
type FileOptions struct {
	Sync      Sync
	Overwrite bool // replace a finished session of that name; else it is an error
	// Reopen opens the file for each flush and closes it again, so that a trial
	// that waits holds no file. It cannot be had with compression.
	Reopen bool
	// Private keeps the file from other users of the machine: mode 0600, not 0644.
	Private bool
}

// File writes a session to disk. While it is written its name ends with
// [PartialSuffix]; Close gives it its own.
type File struct {
	*Writer
	path    string
	opts    FileOptions
	f       *os.File
	zw      *zstd.Encoder
	created bool
	closed  bool
}

// Create begins the session file at path, which ends with [Suffix], or with
// [Suffix]+[ZstdSuffix] to be compressed. A partial file that an interrupted run
// left is replaced. Nothing is on disk before the first flush.
func Create(path string, opts FileOptions) (*File, error) {
	packed := strings.HasSuffix(path, ZstdSuffix)
	if !strings.HasSuffix(strings.TrimSuffix(path, ZstdSuffix), Suffix) {
		return nil, fmt.Errorf("session file %s: its name must end with %s or %s", path, Suffix, Suffix+ZstdSuffix)
	}
	if packed && opts.Reopen {
		return nil, fmt.Errorf("session file %s: a compressed session cannot be reopened for each flush", path)
	}
	if _, err := os.Lstat(path); err == nil && !opts.Overwrite {
		return nil, fmt.Errorf("session file %s: %w", path, fs.ErrExist)
	}
	f := &File{path: path, opts: opts}
	f.Writer = NewWriter(fileSink{f})
	if opts.Sync == SyncTurns {
		f.sync = f.syncTurn
	}
	return f, nil
}

// Path returns the name that the finished file gets.
func (f *File) Path() string { return f.path }

// Partial returns the name of the file while it is written.
func (f *File) Partial() string { return f.path + PartialSuffix }

// fileSink hides File's Write from its users, who must go through the Writer.
type fileSink struct{ f *File }

func (s fileSink) Write(b []byte) (int, error) {
	f := s.f
	if err := f.open(); err != nil {
		return 0, err
	}
	if f.zw != nil {
		return f.zw.Write(b)
	}
	n, err := f.f.Write(b)
	if f.opts.Reopen {
		err = errors.Join(err, f.shut())
	}
	return n, err
}

func (f *File) open() error {
	if f.f != nil {
		return nil
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if f.created {
		flags = os.O_WRONLY | os.O_APPEND
	} else if err := removePartial(f.Partial()); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if f.opts.Private {
		mode = 0o600
	}
	file, err := os.OpenFile(f.Partial(), flags, mode)
	if err != nil {
		return err
	}
	f.f, f.created = file, true
	if strings.HasSuffix(f.path, ZstdSuffix) {
		f.zw, err = zstd.NewWriter(file, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(zstdWindow))
	}
	return err
}

// removePartial takes away what stands in the place of a new partial file, so
// that writing never follows a link.
func removePartial(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (f *File) shut() error {
	if f.f == nil {
		return nil
	}
	err := f.f.Close()
	f.f = nil
	return err
}

// syncTurn forces to disk what was flushed.
func (f *File) syncTurn() error {
	if err := f.open(); err != nil {
		return err
	}
	var err error
	if f.zw != nil {
		err = f.zw.Flush()
	}
	err = errors.Join(err, f.f.Sync())
	if f.opts.Reopen {
		err = errors.Join(err, f.shut())
	}
	return err
}

// ErrUnfinished is what Close returns when no footer was written; the partial
// file stays and can be read up to its end.
var ErrUnfinished = errors.New("session has no footer: it stays a partial file")

// Close finishes the file: it flushes, syncs and gives it its name. Without a
// footer, or after an error, the partial file stays and an error is returned.
func (f *File) Close() error {
	if f.closed {
		return nil
	}
	f.closed = true
	err := f.Flush()
	if err == nil && f.Done() {
		err = f.open()
	}
	if f.zw != nil {
		err = errors.Join(err, f.zw.Close())
	}
	if err == nil && f.Done() && f.opts.Sync != SyncNever {
		err = f.f.Sync()
	}
	err = errors.Join(err, f.shut())
	if err == nil && !f.Done() {
		err = ErrUnfinished
	}
	if err == nil {
		err = os.Rename(f.Partial(), f.path)
	}
	if err == nil && f.opts.Sync != SyncNever {
		syncDir(filepath.Dir(f.path))
	}
	if err != nil {
		return fmt.Errorf("session file %s: %w", f.path, err)
	}
	return nil
}

// syncDir makes the new name durable where the system can do that; elsewhere
// (Windows) there is nothing to do.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		d.Close()
	}
}

// Session is an open session file.
type Session struct {
	*Reader
	path string
	f    *os.File
	zr   *zstd.Decoder
}

// Limits of compressed sessions.
const (
	zstdWindow = 1 << 20  // bytes, of the writer
	zstdMaxWin = 8 << 20  // bytes, accepted by the reader
	zstdFree   = 64 << 20 // bytes that any compressed file may unpack to
	zstdRatio  = 1000     // bytes unpacked a byte read, above zstdFree
)

// ErrNotRegular is what Open returns for a pipe, a folder, a device or the like.
var ErrNotRegular = errors.New("is no regular file")

// Unopened reports whether an error of Open says that there is no file to read:
// of many files that one cannot be judged, and the others can.
func Unopened(err error) bool {
	return errors.Is(err, ErrNotRegular) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP)
}

// Open opens a session file, compressed or not (told by its first bytes), also a
// partial one. Links are followed; what is no regular file is refused. Errors of
// its Reader do not name the file: wrap them.
func Open(path string) (*Session, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("session %s: %w", path, ErrNotRegular)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	var magic [4]byte
	n, err := io.ReadFull(f, magic[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		f.Close()
		return nil, fmt.Errorf("session %s: %w", path, err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		f.Close()
		return nil, fmt.Errorf("session %s: %w", path, err)
	}
	s := &Session{path: path, f: f}
	var src io.Reader = f
	if n == 4 && string(magic[:]) == "\x28\xb5\x2f\xfd" {
		if src, s.zr, err = unzstd(f); err != nil {
			f.Close()
			return nil, fmt.Errorf("session %s: %w", path, err)
		}
	}
	s.Reader = NewReader(src)
	return s, nil
}

// Path returns the file's path as given.
func (s *Session) Path() string { return s.path }

// Blobs returns the blob folder beside the file.
func (s *Session) Blobs() *Dir { return BlobsBeside(s.path) }

// Close closes the file.
func (s *Session) Close() error {
	if s.zr != nil {
		s.zr.Close()
	}
	return s.f.Close()
}

// ErrBomb says that a compressed session unpacks to far more than sessions do.
var ErrBomb = fmt.Errorf("compressed session unpacks to more than %d MiB and %d times its size: refused", zstdFree>>20, zstdRatio)

// unzstd returns a bounded reader of a compressed session. A frame that breaks
// off is not an error of its own: its lines are read as far as they go, and the
// last is torn.
func unzstd(src io.Reader) (io.Reader, *zstd.Decoder, error) {
	in := &countReader{r: src}
	zr, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(zstdMaxWin))
	if err != nil {
		return nil, nil, err
	}
	return &bombReader{in: in, out: zr}, zr, nil
}

type countReader struct {
	r   io.Reader
	n   int64
	err error
}

func (c *countReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}

type bombReader struct {
	in  *countReader
	out io.Reader
	n   int64
}

func (b *bombReader) Read(p []byte) (int, error) {
	n, err := b.out.Read(p)
	b.n += int64(n)
	if b.n > zstdFree && b.n/zstdRatio > b.in.n {
		return 0, &unpackError{ErrBomb}
	}
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return n, err
	case b.in.err != nil:
		return n, b.in.err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return n, io.EOF
	}
	return n, &unpackError{fmt.Errorf("compressed data is broken: %w", err)}
}

// unpackError is damage found while unpacking, in contrast to a failing disk.
type unpackError struct{ err error }

func (e *unpackError) Error() string { return e.err.Error() }
func (e *unpackError) Unwrap() error { return e.err }
