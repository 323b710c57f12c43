package workspace

import (
	"errors"
	"io/fs"
	"syscall"
)

// Reasons for which a path is refused, to be asked for with errors.Is. Nothing
// there is fs.ErrNotExist.
var (
	ErrIsDir    = errors.New("is a folder")
	ErrNotDir   = errors.New("is not a folder")
	ErrSpecial  = errors.New("is not a plain file") // link, hard link, FIFO, device, socket
	ErrReadOnly = errors.New("is read-only")        // below HarnessDir
	ErrTooLarge = errors.New("is too large")
	ErrMismatch = errors.New("is not what the record says") // Apply, or a fetched content
	ErrHost     = errors.New("the machine failed")          // see IsHost
)

// IsHost reports whether an error is the machine's trouble and not the agent's: no
// space, no file descriptors, a broken or read-only disk, a tree that is gone.
// What an agent did with such an answer would measure the machine.
func IsHost(err error) bool {
	for _, e := range []error{ErrHost, syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE, syscall.EIO, syscall.EROFS, syscall.ENOMEM} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// MaxFile is the largest file that a workspace reads whole or writes, in bytes.
const MaxFile = 32 << 20

// MaxFiles bounds how many files a tree may hold.
const MaxFiles = 200_000

// Error is a refused or failed operation on a path. Its text is the same on
// every platform: it never holds a host path or the wording of an operating
// system.
type Error struct {
	Path string // as the agent knows it; empty when there is none
	What string // what is wrong with it
	Err  error  // the reason, for errors.Is
}

func (e *Error) Error() string {
	if e.Path == "" {
		return e.What
	}
	return e.Path + ": " + e.What
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// fail makes an Error for a clean path.
func fail(rel string, reason error, what string) error {
	return &Error{Path: Abs(rel), What: what, Err: reason}
}

func notFound(rel string) error { return fail(rel, fs.ErrNotExist, "no such file or folder") }
func isDir(rel string) error    { return fail(rel, ErrIsDir, "is a folder, not a file") }
func notDir(rel string) error   { return fail(rel, ErrNotDir, "is a file, not a folder") }
func readOnly(rel string) error {
	return fail(rel, ErrReadOnly, "cannot be changed: "+Abs(HarnessDir)+" is the harness's own folder")
}
func tooLarge(rel string) error { return fail(rel, ErrTooLarge, "is larger than 32 MiB") }
