//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tmpfs mounts a small file system at dir, and returns a function that changes
// its options.
func tmpfs(t *testing.T, dir, options string) func(options string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting a tmpfs needs root")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if b, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("mounting a tmpfs is not allowed here: %v %s", err, b)
	}
	t.Cleanup(func() {
		if b, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v %s", err, b)
		}
	})
	return func(options string) {
		t.Helper()
		if b, err := exec.Command("mount", "-o", "remount,"+options, dir).CombinedOutput(); err != nil {
			t.Fatalf("remount: %v %s", err, b)
		}
	}
}

// TestFullDisk lets a run meet a full disk and then a read-only folder: it says
// so, loses nothing, and ends like any other once there is room.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	bin, suite := program(t, dir), longSuite(t, dir)
	small := filepath.Join(dir, "small")
	remount := tmpfs(t, small, "size=256k")
	ref := filepath.Join(dir, "reference")
	if b, err := exec.Command(bin, "run", "-q", suite, "-o", ref).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	out := filepath.Join(small, "run")
	attempt := func(args ...string) (int, string) {
		cmd := exec.Command(bin, append([]string{"run", "-q"}, args...)...)
		b, _ := cmd.CombinedOutput() // the exit code says it
		return cmd.ProcessState.ExitCode(), string(b)
	}
	code, said := attempt(suite, "-o", out)
	if code != 4 || !strings.Contains(said, "no space left") || !strings.Contains(said, "harnessbench run --resume "+out) {
		t.Fatalf("full disk: exit %d\n%s", code, said)
	}
	remount("ro")
	code, said = attempt("--resume", out)
	if code != 4 || !strings.Contains(said, "read-only") {
		t.Fatalf("read-only folder: exit %d\n%s", code, said)
	}
	remount("rw,size=256k")
	if code, said = attempt("--resume", out); code != 4 {
		t.Fatalf("still full: exit %d\n%s", code, said)
	}
	remount("rw,size=64m")
	if code, said = attempt("--resume", out); code != 0 {
		t.Fatalf("room again: exit %d\n%s", code, said)
	}
	sameRun(t, contents(t, ref), contents(t, out))
}
