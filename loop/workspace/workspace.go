// Package workspace is the tree that an agent works on.
//
//  1. Whatever the backend, the agent sees it at /workspace: [Clean] turns any
//     spelling into a canonical path or refuses it.
//  2. A [Workspace] reads, writes and lists below that root and nowhere else;
//     every change comes back as an [event.Delta].
//  3. Below /workspace/.harness lies the harness's own space (spilled results).
//     It is readable, is no part of the graded tree, and listings and searches
//     of the root skip it.
//  4. [Manifest] and [TreeDigest] say what the tree is; [Workspace].Apply plays
//     recorded deltas back.
//
// Two backends pass one conformance suite: [Dir] over os.Root, for live trials,
// and [Mem], for replay.
package workspace

import (
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
)

// Root is where the agent sees the tree.
const Root = "/workspace"

// HarnessDir is the harness's own space below Root; its content is not graded.
const HarnessDir = ".harness"

// Entry is one file of a tree. Folders exist through their files.
type Entry struct {
	Path   string // relative to Root, slashes
	Size   int64
	Mode   uint32 // permission bits
	Digest model.Digest
}

// Info describes a path.
type Info struct {
	Path string // relative, slashes; "" = the root
	Dir  bool
	Size int64
	Mode uint32
}

// Workspace is a tree of regular files. Paths are relative, with slashes, as
// Clean gives them. Links, hard links to outside, FIFOs, devices and sockets are
// refused with an error that says so. Errors wrap fs.ErrNotExist where nothing
// is there and say the path as the agent knows it.
type Workspace interface {
	// Stat describes a file or folder.
	Stat(path string) (Info, error)
	// ReadFile returns at most limit bytes from offset, and the whole size.
	ReadFile(path string, offset, limit int64) (data []byte, size int64, err error)
	// List returns the entries of a folder, sorted by name. The root's listing
	// leaves out HarnessDir.
	List(path string) ([]Info, error)
	// Walk visits the files below path in sorted order, HarnessDir left out
	// unless path lies in it. It stops at fn's error.
	Walk(path string, fn func(Info) error) error
	// WriteFile creates or replaces a file, parents included.
	WriteFile(path string, data []byte) (event.Delta, error)
	// Remove deletes a file.
	Remove(path string) (event.Delta, error)
	// Spill writes a harness file (below HarnessDir); it is no delta.
	Spill(path string, data []byte) error
	// Apply plays changes back.
	Apply(deltas []event.Delta) error
	// Manifest lists the graded tree, sorted by path.
	Manifest() ([]Entry, error)
}
