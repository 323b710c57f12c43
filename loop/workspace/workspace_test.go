package workspace_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/loop/workspace/workspacetest"
)

// newDir opens an empty workspace on disk and returns its host folder too.
func newDir(t testing.TB) (*workspace.Dir, string) {
	t.Helper()
	host := t.TempDir()
	tree := filepath.Join(host, "tree")
	if err := os.Mkdir(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	d, err := workspace.NewDir(tree, filepath.Join(host, "space"))
	if err != nil {
		t.Fatal(err)
	}
	return d, tree
}

func newMem(t testing.TB) *workspace.Mem {
	t.Helper()
	m, err := workspace.NewMem(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestConformance(t *testing.T) {
	t.Run("Dir", func(t *testing.T) {
		workspacetest.Run(t, func(t *testing.T) workspace.Workspace { d, _ := newDir(t); return d })
	})
	t.Run("Mem", func(t *testing.T) {
		workspacetest.Run(t, func(t *testing.T) workspace.Workspace { return newMem(t) })
	})
}

// TestDeltasCarryTheTree: what one backend did, the deltas do to the other, and
// the same history is the same on both.
func TestDeltasCarryTheTree(t *testing.T) {
	for seed := range uint64(40) {
		dir, _ := newDir(t)
		deltas := workspacetest.Steps(dir, seed, 60)
		if len(deltas) == 0 {
			t.Fatalf("seed %d: nothing happened", seed)
		}
		want, err := dir.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		mem := newMem(t)
		if err := mem.Apply(deltas); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		got, _ := mem.Manifest()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d (-dir +mem):\n%s", seed, diff)
		}
		twin := newMem(t)
		if diff := cmp.Diff(deltas, workspacetest.Steps(twin, seed, 60)); diff != "" {
			t.Fatalf("seed %d: the same history differs (-dir +mem):\n%s", seed, diff)
		}
		if workspace.TreeDigest(want) != workspace.TreeDigest(got) {
			t.Fatalf("seed %d: digests differ", seed)
		}
	}
}

func TestMemFetch(t *testing.T) {
	good, bad := []byte("good"), []byte("bad")
	asked := 0
	m, err := workspace.NewMem([]workspace.Entry{
		{Path: "good", Size: 4, Mode: 0o644, Digest: model.Sum(good)},
		{Path: "bad", Size: 4, Mode: 0o644, Digest: model.Sum([]byte("evil"))},
		{Path: "none", Size: 9, Mode: 0o600, Digest: model.Sum([]byte("elsewhere"))},
	}, func(d model.Digest) ([]byte, error) {
		asked++
		switch d {
		case model.Sum(good):
			return good, nil
		case model.Sum([]byte("evil")):
			return bad, nil
		}
		return nil, errors.New("no blob")
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if data, _, err := m.ReadFile("good", 1, 2); err != nil || string(data) != "oo" {
			t.Errorf("ReadFile(good) = %q, %v", data, err)
		}
	}
	if asked != 1 {
		t.Errorf("fetched %d times, want once", asked)
	}
	for path, want := range map[string]string{
		"bad":  "/workspace/bad: its content does not have the recorded size and digest",
		"none": "/workspace/none: its content is not part of the record: no blob",
	} {
		if _, _, err := m.ReadFile(path, 0, -1); err == nil || err.Error() != want {
			t.Errorf("ReadFile(%s): %v, want %s", path, err, want)
		}
	}
	lazy := event.Delta{Op: workspace.OpWrite, Path: "late", After: model.Sum(good), Size: 4, Mode: 0o644}
	if err := m.Apply([]event.Delta{lazy}); err != nil {
		t.Fatal(err)
	}
	if data, _, err := m.ReadFile("late", 0, -1); err != nil || string(data) != "good" {
		t.Errorf("a late content: %q, %v", data, err)
	}
}

func TestNewMemRefuses(t *testing.T) {
	for name, entries := range map[string][]workspace.Entry{
		"twice":        {{Path: "a"}, {Path: "a"}},
		"below a file": {{Path: "a"}, {Path: "a-b"}, {Path: "a/b"}},
		"escape":       {{Path: "../a"}},
		"spelling":     {{Path: "./a"}},
		"harness":      {{Path: ".harness/a"}},
		"root":         {{Path: ""}},
		"size":         {{Path: "a", Size: -1}},
	} {
		if _, err := workspace.NewMem(entries, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestNewDirRefuses(t *testing.T) {
	host := t.TempDir()
	if err := os.WriteFile(filepath.Join(host, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string][2]string{
		"missing":      {filepath.Join(host, "none"), filepath.Join(host, "space")},
		"file":         {filepath.Join(host, "file"), filepath.Join(host, "space")},
		"space inside": {host, filepath.Join(host, "space")},
		"same":         {host, host},
	} {
		if _, err := workspace.NewDir(c[0], c[1]); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestTreeDigestForm pins the exact bytes that are hashed.
func TestTreeDigestForm(t *testing.T) {
	entries := []workspace.Entry{
		{Path: "b/c", Size: 3, Mode: 0o755, Digest: model.Sum([]byte("abc"))},
		{Path: "a", Size: 0, Mode: 0o644, Digest: model.Sum(nil)},
	}
	form := "a\x00644\x000\x00e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n" +
		"b/c\x00755\x003\x00ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n"
	if got, want := workspace.TreeDigest(entries), model.Digest(sha256.Sum256([]byte(form))); got != want {
		t.Errorf("TreeDigest = %v, want %v", got, want)
	}
	if entries[0].Path != "b/c" {
		t.Error("the entries were sorted in place")
	}
	if got, want := workspace.TreeDigest(nil), model.Sum(nil); got != want {
		t.Errorf("TreeDigest of nothing = %v, want %v", got, want)
	}
}

func TestStaleTempFileIsInTheWayOfNothing(t *testing.T) {
	d, tree := newDir(t)
	if err := os.WriteFile(filepath.Join(tree, ".harness.tmp"), []byte("stale"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(tree, ".harness", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := d.WriteFile("a", []byte("new")); err != nil {
		t.Fatal(err)
	}
	m, err := d.Manifest()
	if err != nil || len(m) != 1 || m[0].Path != "a" {
		t.Errorf("manifest %v, %v", m, err)
	}
	left, _ := os.ReadDir(tree)
	if len(left) != 2 { // a and the folder .harness
		t.Errorf("left in the tree: %v", left)
	}
}

func TestEmptyFoldersDoNotExist(t *testing.T) {
	d, tree := newDir(t)
	if err := os.MkdirAll(filepath.Join(tree, "empty", "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	if l, err := d.List(""); err != nil || len(l) != 0 {
		t.Errorf("List = %v, %v", l, err)
	}
	if _, err := d.Stat("empty"); err == nil {
		t.Error("an empty folder has a Stat")
	}
	if _, err := d.WriteFile("empty", []byte("now a file")); err != nil {
		t.Errorf("WriteFile over an empty folder: %v", err)
	}
}

// TestNoHostPath: whatever goes wrong, the agent learns nothing of the host.
func TestNoHostPath(t *testing.T) {
	d, tree := newDir(t)
	if err := os.RemoveAll(tree); err != nil {
		t.Fatal(err)
	}
	_, err1 := d.Stat("a")
	_, err2 := d.WriteFile("a", nil)
	_, err3 := d.Manifest()
	for _, err := range []error{err1, err2, err3} {
		if err == nil || strings.Contains(err.Error(), filepath.Dir(tree)) {
			t.Errorf("error %v", err)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	dir, _ := newDir(t)
	for name, ws := range map[string]workspace.Workspace{"Dir": dir, "Mem": newMem(t)} {
		done := make(chan error)
		for i := range 8 {
			go func() {
				path := fmt.Sprintf("d%d/f", i%4)
				_, err := ws.WriteFile(path, bytes.Repeat([]byte{'a'}, 100))
				if err == nil {
					_, _, err = ws.ReadFile(path, 0, -1)
				}
				if err == nil {
					err = ws.Walk("", func(workspace.Info) error { return nil })
				}
				done <- err
			}()
		}
		for range 8 {
			if err := <-done; err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func BenchmarkDirWrite(b *testing.B) {
	d, _ := newDir(b)
	data := bytes.Repeat([]byte("0123456789abcdef"), 64)
	for b.Loop() {
		if _, err := d.WriteFile("notes/a.txt", data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDirRead(b *testing.B) {
	d, _ := newDir(b)
	if _, err := d.WriteFile("notes/a.txt", bytes.Repeat([]byte("0123456789abcdef"), 64)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, _, err := d.ReadFile("notes/a.txt", 0, -1); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMemApply(b *testing.B) {
	m := newMem(b)
	data := bytes.Repeat([]byte("0123456789abcdef"), 64)
	d := event.Delta{Op: workspace.OpWrite, Path: "a", After: model.Sum(data), Size: 1024, Mode: 0o644, Content: data}
	for b.Loop() {
		if err := m.Apply([]event.Delta{d}); err != nil {
			b.Fatal(err)
		}
		d.Before = d.After
	}
}
