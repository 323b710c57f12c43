package workspace

import (
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
)

// The operations of an event.Delta.
const (
	OpWrite  = "write"
	OpDelete = "delete"
)

// checkTarget refuses paths that no tool may change: the root, the harness's
// space, and whatever is not in the form that Clean gives.
func checkTarget(path string) error {
	if path == "" {
		return isDir("")
	}
	if err := checkClean(path); err != nil {
		return err
	}
	if InHarness(path) {
		return readOnly(path)
	}
	return nil
}

// checkClean refuses what is not in canonical form. The backends get clean paths
// from tools; recordings and tests may give anything.
func checkClean(path string) error {
	if path == "" {
		return nil
	}
	rel, err := Clean(path)
	if err != nil {
		return err
	}
	if rel != path {
		return &Error{Path: show(path), What: "is not a canonical path", Err: ErrBadPath}
	}
	return nil
}

// checkDelta refuses a recorded change that contradicts itself. lazy says
// whether a write may come without its content.
func checkDelta(d *event.Delta, lazy bool) error {
	if err := checkTarget(d.Path); err != nil {
		return err
	}
	switch d.Op {
	case OpDelete:
		if !d.After.IsZero() || d.Content != nil || d.Size != 0 {
			return fail(d.Path, ErrMismatch, "a deletion must have no content")
		}
		return nil
	case OpWrite:
	default:
		return fail(d.Path, ErrMismatch, "unknown change \""+show(d.Op)+"\"; want write or delete")
	}
	if d.Size < 0 || d.Size > MaxFile {
		return tooLarge(d.Path)
	}
	if d.Content == nil && d.Size > 0 {
		if !lazy {
			return fail(d.Path, ErrMismatch, "the recorded change has no content")
		}
		return nil
	}
	if int64(len(d.Content)) != d.Size || model.Sum(d.Content) != d.After {
		return fail(d.Path, ErrMismatch, "the recorded content does not have the recorded size and digest")
	}
	return nil
}

// checkBefore compares the tree with what a recorded change found.
func checkBefore(d *event.Delta, now model.Digest) error {
	if d.Before != now {
		return fail(d.Path, ErrMismatch, "the tree differs from the one that the recorded change was made on")
	}
	return nil
}

// writeDelta describes a write; Before is the caller's to fill in.
func writeDelta(path string, data []byte, mode uint32) event.Delta {
	if data == nil {
		data = []byte{}
	}
	return event.Delta{
		Op:      OpWrite,
		Path:    path,
		After:   model.Sum(data),
		Size:    int64(len(data)),
		Mode:    mode,
		Content: data,
	}
}

// checkSpill refuses spill files outside of the harness's space.
func checkSpill(path string, data []byte) error {
	if err := checkClean(path); err != nil {
		return err
	}
	if !InHarness(path) || path == HarnessDir {
		return fail(path, ErrEscape, "a spill file must lie below "+Abs(HarnessDir))
	}
	if len(data) > MaxFile {
		return tooLarge(path)
	}
	return nil
}

// checkWindow refuses a read that begins before the file does.
func checkWindow(path string, offset int64) error {
	if offset < 0 {
		return fail(path, ErrBadPath, "cannot be read from a negative offset")
	}
	return nil
}
