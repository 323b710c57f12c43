package workspace_test

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/harnessbench/harnessbench/loop/workspace"
)

func TestDevices(t *testing.T) {
	d, tree := newDir(t)
	if err := syscall.Mknod(filepath.Join(tree, "null"), syscall.S_IFCHR|0o666, 1<<8|3); err != nil {
		t.Skipf("making a device needs root: %v", err)
	}
	const want = "/workspace/null: is a device; only plain files can be used"
	_, _, err := d.ReadFile("null", 0, -1)
	if !errors.Is(err, workspace.ErrSpecial) || err.Error() != want {
		t.Errorf("ReadFile: %v", err)
	}
	if _, err := d.WriteFile("null", []byte("x")); !errors.Is(err, workspace.ErrSpecial) || err.Error() != want {
		t.Errorf("WriteFile: %v", err)
	}
	if l, err := d.List(""); err != nil || len(l) != 0 {
		t.Errorf("List: %v, %v", l, err)
	}
}
