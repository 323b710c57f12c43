package trial

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/scenarios"
)

func start() []scenarios.File {
	return []scenarios.File{{Path: "a.txt", Data: []byte("a\n")}, {Path: "sub/b.txt", Data: []byte("bb\n")}}
}

func hostEntries(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// A tree that nothing asks for is never made, and says the same of itself as one
// on disk.
func TestTreeIsLaidOnFirstUse(t *testing.T) {
	temp := t.TempDir()
	w := &watched{temp: temp, files: start()}
	unlaid, err := w.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Apply(nil); err != nil {
		t.Fatal(err)
	}
	if n := hostEntries(t, temp); n != 0 {
		t.Fatalf("%d folders made before anything asked for the tree", n)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, _, err := w.ReadFile("sub/b.txt", 0, 10); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := hostEntries(t, temp); n != 1 {
		t.Fatalf("%d folders made by eight readers, want 1", n)
	}
	laid, err := w.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := workspace.TreeDigest(unlaid), workspace.TreeDigest(laid); got != want {
		t.Errorf("tree digest before it is laid %s, after %s", got, want)
	}
	if _, err := w.WriteFile("c.txt", []byte("c")); err != nil {
		t.Fatal(err)
	}
	if after, err := w.Manifest(); err != nil || len(after) != 3 {
		t.Errorf("after a write: %d files, %v; want 3", len(after), err)
	}
	if err := w.remove(); err != nil || hostEntries(t, temp) != 0 {
		t.Errorf("remove: %v, %d folders left", err, hostEntries(t, temp))
	}
}

// A tree that cannot be laid is the machine's failure: every use says so, and the
// trial is not finished.
func TestTreeThatCannotBeLaid(t *testing.T) {
	w := &watched{temp: filepath.Join(t.TempDir(), "gone"), files: start()}
	for range 2 {
		if _, err := w.Stat("a.txt"); !errors.Is(err, workspace.ErrHost) || !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("Stat: %v; want the machine's failure and its reason", err)
		}
	}
	if _, err := w.Manifest(); !errors.Is(err, workspace.ErrHost) {
		t.Errorf("Manifest: %v; want the machine's failure", err)
	}
	if !errors.Is(w.failed(), workspace.ErrHost) {
		t.Errorf("failed: %v", w.failed())
	}
	if err := w.remove(); err != nil {
		t.Error(err)
	}
}

// The agent hears the workspace's words alone, the operator also the machine's.
func TestFailureOfTheMachineHasItsCause(t *testing.T) {
	full := &workspace.Error{Path: "/workspace/a.txt", What: "cannot be written", Err: syscall.ENOSPC}
	w := &watched{}
	if err := w.see(full); err.Error() != "/workspace/a.txt: cannot be written" {
		t.Errorf("the agent hears %q", err)
	}
	if err := w.failed(); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "cannot be written: "+syscall.ENOSPC.Error()) {
		t.Errorf("the operator hears %q", err)
	}
}
