//go:build unix

package workspace_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop/workspace"
)

// hostile puts everything into a tree that is no plain file.
func hostile(t *testing.T) *workspace.Dir {
	t.Helper()
	d, tree := newDir(t)
	outside := filepath.Join(filepath.Dir(tree), "outside")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(outside, 0o755))
	must(os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o644))
	must(os.MkdirAll(filepath.Join(tree, "dir"), 0o755))
	must(os.WriteFile(filepath.Join(tree, "dir", "file"), []byte("inside"), 0o644))
	must(os.Symlink("dir/file", filepath.Join(tree, "inlink")))
	must(os.Symlink("dir", filepath.Join(tree, "indir")))
	must(os.Symlink("../outside/secret", filepath.Join(tree, "outlink")))
	must(os.Symlink(outside, filepath.Join(tree, "outdir")))
	must(os.Symlink("nowhere", filepath.Join(tree, "dangling")))
	must(os.Symlink("loop", filepath.Join(tree, "loop")))
	must(os.Link(filepath.Join(outside, "secret"), filepath.Join(tree, "hard")))
	must(syscall.Mkfifo(filepath.Join(tree, "fifo"), 0o644))
	must(os.Symlink("fifo", filepath.Join(tree, "fifolink")))
	l, err := net.Listen("unix", filepath.Join(tree, "sock"))
	must(err)
	t.Cleanup(func() { _ = l.Close() })
	return d
}

// soon fails a test that blocks, as the opening of a FIFO would.
func soon(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s blocks", what)
	}
}

func TestHostileReads(t *testing.T) {
	d := hostile(t)
	const only = "; only plain files can be used"
	for path, want := range map[string]string{
		"outlink":       "/workspace/outlink: is a link that leads outside of /workspace or nowhere",
		"outdir/secret": "/workspace/outdir: is a link that leads outside of /workspace or nowhere",
		"dangling":      "/workspace/dangling: is a link that leads outside of /workspace or nowhere",
		"loop":          "/workspace/loop: is a link that leads outside of /workspace or nowhere",
		"hard":          "/workspace/hard: is a hard link, whose other name may lie outside of /workspace" + only,
		"fifo":          "/workspace/fifo: is a FIFO" + only,
		"fifolink":      "/workspace/fifolink: is a FIFO" + only,
		"sock":          "/workspace/sock: is a socket" + only,
		"indir":         "/workspace/indir: is a folder, not a file",
	} {
		soon(t, "ReadFile of "+path, func() {
			data, _, err := d.ReadFile(path, 0, -1)
			if err == nil || err.Error() != want {
				t.Errorf("ReadFile(%s) = %q, %v; want %s", path, data, err, want)
			}
			if path != "indir" && !errors.Is(err, workspace.ErrSpecial) {
				t.Errorf("ReadFile(%s): %v is not ErrSpecial", path, err)
			}
		})
		soon(t, "Stat of "+path, func() {
			if in, err := d.Stat(path); path != "indir" && err == nil {
				t.Errorf("Stat(%s) = %+v", path, in)
			}
		})
	}
	for _, path := range []string{"inlink", "indir/file", "dir/file"} {
		if data, _, err := d.ReadFile(path, 0, -1); err != nil || string(data) != "inside" {
			t.Errorf("ReadFile(%s) = %q, %v", path, data, err)
		}
	}
}

func TestHostileWrites(t *testing.T) {
	d := hostile(t)
	for _, path := range []string{"outlink", "outdir/new", "outdir/secret", "inlink", "indir/new", "dangling", "loop", "hard", "fifo", "fifolink", "sock"} {
		soon(t, "WriteFile of "+path, func() {
			if _, err := d.WriteFile(path, []byte("x")); !errors.Is(err, workspace.ErrSpecial) {
				t.Errorf("WriteFile(%s): %v", path, err)
			}
		})
		soon(t, "Remove of "+path, func() {
			if _, err := d.Remove(path); err == nil {
				t.Errorf("Remove(%s): no error", path)
			}
		})
	}
	if data, _, err := d.ReadFile("dir/file", 0, -1); err != nil || string(data) != "inside" {
		t.Errorf("the target of a link changed: %q, %v", data, err)
	}
}

func TestHostileListings(t *testing.T) {
	d := hostile(t)
	l, err := d.List("")
	if err != nil || len(l) != 1 || l[0].Path != "dir" {
		t.Errorf("List = %+v, %v", l, err)
	}
	n := 0
	if err := d.Walk("", func(in workspace.Info) error { n++; return nil }); err != nil || n != 1 {
		t.Errorf("Walk: %d files, %v", n, err)
	}
	soon(t, "Manifest", func() {
		if m, err := d.Manifest(); !errors.Is(err, workspace.ErrSpecial) {
			t.Errorf("Manifest = %v, %v", m, err)
		}
	})
}

// TestSpaceIsConfined: the harness's own space is a root of its own.
func TestSpaceIsConfined(t *testing.T) {
	d, tree := newDir(t)
	space := filepath.Join(filepath.Dir(tree), "space")
	if err := d.Spill(".harness/a", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../tree", filepath.Join(space, "out")); err != nil {
		t.Fatal(err)
	}
	if err := d.Spill(".harness/out/a", nil); !errors.Is(err, workspace.ErrSpecial) {
		t.Errorf("Spill through a link: %v", err)
	}
	if _, _, err := d.ReadFile(".harness/out/a", 0, -1); err == nil || err.Error() != "/workspace/.harness/out: is a link that leads outside of /workspace or nowhere" {
		t.Errorf("ReadFile through a link: %v", err)
	}
}

func TestUmaskChangesNothing(t *testing.T) {
	first := ""
	for _, mask := range []int{0, 0o022, 0o077, 0o177} {
		d, _ := newDir(t)
		old := syscall.Umask(mask)
		dl, err := d.WriteFile("a", []byte("x"))
		syscall.Umask(old)
		if err != nil {
			t.Fatal(err)
		}
		if dl.Mode != workspace.ModeFile {
			t.Errorf("umask %o: mode %o", mask, dl.Mode)
		}
		m, err := d.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		sum := workspace.TreeDigest(m).String()
		if first == "" {
			first = sum
		}
		if sum != first {
			t.Errorf("umask %o: the tree's digest differs", mask)
		}
	}
}
