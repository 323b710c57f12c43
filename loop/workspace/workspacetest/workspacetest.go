// Package workspacetest is the conformance suite of workspaces.
//
//  1. A backend's test gives [Run] a function that opens an empty workspace.
//  2. Every rule of workspace.Workspace is a subtest; what the backends share is
//     tested here and nowhere else.
//  3. [Steps] makes random histories, for the property that recorded deltas carry
//     one workspace's tree over to another.
package workspacetest

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/workspace"
)

// Run tests a backend. open returns an empty workspace, a new one each time.
func Run(t *testing.T, open func(t *testing.T) workspace.Workspace) {
	for _, c := range []struct {
		name string
		test func(*testing.T, workspace.Workspace)
	}{
		{"empty", testEmpty},
		{"write and read", testWrite},
		{"read windows", testWindows},
		{"list", testList},
		{"walk order", testWalk},
		{"remove", testRemove},
		{"files are no folders", testConflicts},
		{"paths", testPaths},
		{"harness space", testHarness},
		{"apply", testApply},
		{"apply refuses", testApplyRefuses},
		{"modes", testModes},
		{"big", testBig},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

func write(t *testing.T, ws workspace.Workspace, path, content string) event.Delta {
	t.Helper()
	d, err := ws.WriteFile(path, []byte(content))
	if err != nil {
		t.Fatalf("WriteFile(%q): %v", path, err)
	}
	return d
}

func read(t *testing.T, ws workspace.Workspace, path string) string {
	t.Helper()
	data, size, err := ws.ReadFile(path, 0, -1)
	if err != nil {
		t.Fatalf("ReadFile(%q): %v", path, err)
	}
	if size != int64(len(data)) {
		t.Fatalf("ReadFile(%q): size %d, %d bytes", path, size, len(data))
	}
	return string(data)
}

func manifest(t *testing.T, ws workspace.Workspace) []workspace.Entry {
	t.Helper()
	m, err := ws.Manifest()
	if err != nil {
		t.Fatalf("Manifest: %v", err)
	}
	return m
}

// wantErr checks reason and exact text.
func wantErr(t *testing.T, err, reason error, text string) {
	t.Helper()
	if !errors.Is(err, reason) {
		t.Errorf("error %v does not wrap %v", err, reason)
	}
	if err == nil || err.Error() != text {
		t.Errorf("error %q, want %q", fmt.Sprint(err), text)
	}
}

func testEmpty(t *testing.T, ws workspace.Workspace) {
	if m := manifest(t, ws); len(m) != 0 {
		t.Errorf("manifest %v", m)
	}
	in, err := ws.Stat("")
	if err != nil || !in.Dir {
		t.Errorf("Stat of the root: %+v, %v", in, err)
	}
	if l, err := ws.List(""); err != nil || len(l) != 0 {
		t.Errorf("List of the root: %v, %v", l, err)
	}
	_, err = ws.Stat("a/b")
	wantErr(t, err, fs.ErrNotExist, "/workspace/a/b: no such file or folder")
	_, err = ws.List("a")
	wantErr(t, err, fs.ErrNotExist, "/workspace/a: no such file or folder")
	_, _, err = ws.ReadFile("a", 0, -1)
	wantErr(t, err, fs.ErrNotExist, "/workspace/a: no such file or folder")
	_, _, err = ws.ReadFile("", 0, -1)
	wantErr(t, err, workspace.ErrIsDir, "/workspace: is a folder, not a file")
}

func testWrite(t *testing.T, ws workspace.Workspace) {
	d := write(t, ws, "a/b/c.txt", "one")
	want := event.Delta{
		Op: workspace.OpWrite, Path: "a/b/c.txt", After: model.Sum([]byte("one")),
		Size: 3, Mode: workspace.ModeFile, Content: []byte("one"),
	}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Errorf("first delta (-want +got):\n%s", diff)
	}
	d = write(t, ws, "a/b/c.txt", "")
	if d.Before != model.Sum([]byte("one")) || d.After != model.Sum(nil) || d.Size != 0 || d.Content == nil {
		t.Errorf("delta of emptying: %+v", d)
	}
	if got := read(t, ws, "a/b/c.txt"); got != "" {
		t.Errorf("content %q", got)
	}
	write(t, ws, "ünï/☃.txt", "snow")
	if got := read(t, ws, "ünï/☃.txt"); got != "snow" {
		t.Errorf("content %q", got)
	}
	in, err := ws.Stat("ünï")
	if err != nil || in != (workspace.Info{Path: "ünï", Dir: true, Mode: workspace.ModeExec}) {
		t.Errorf("Stat of a folder: %+v, %v", in, err)
	}
	in, err = ws.Stat("ünï/☃.txt")
	if err != nil || in != (workspace.Info{Path: "ünï/☃.txt", Size: 4, Mode: workspace.ModeFile}) {
		t.Errorf("Stat of a file: %+v, %v", in, err)
	}
}

func testWindows(t *testing.T, ws workspace.Workspace) {
	write(t, ws, "f", "0123456789")
	for _, c := range []struct {
		offset, limit int64
		want          string
	}{{0, -1, "0123456789"}, {0, 0, ""}, {3, 4, "3456"}, {8, 100, "89"}, {10, -1, ""}, {99, 5, ""}} {
		data, size, err := ws.ReadFile("f", c.offset, c.limit)
		if err != nil || string(data) != c.want || size != 10 {
			t.Errorf("ReadFile(f, %d, %d) = %q, %d, %v", c.offset, c.limit, data, size, err)
		}
	}
	_, _, err := ws.ReadFile("f", -1, 5)
	wantErr(t, err, workspace.ErrBadPath, "/workspace/f: cannot be read from a negative offset")
	data, _, _ := ws.ReadFile("f", 0, -1)
	data[0] = 'X'
	if got := read(t, ws, "f"); got != "0123456789" {
		t.Errorf("a reader could change the file: %q", got)
	}
}

func testList(t *testing.T, ws workspace.Workspace) {
	for _, p := range []string{"a/x", "a/y/z", "a-b", "a.txt", "b"} {
		write(t, ws, p, p)
	}
	var got []string
	l, err := ws.List("")
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range l {
		got = append(got, fmt.Sprint(in.Path, " ", in.Dir, " ", in.Size))
	}
	want := []string{"a true 0", "a-b false 3", "a.txt false 5", "b false 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("root (-want +got):\n%s", diff)
	}
	l, err = ws.List("a")
	if err != nil || len(l) != 2 || l[0].Path != "a/x" || l[1].Path != "a/y" || !l[1].Dir {
		t.Errorf("List(a) = %+v, %v", l, err)
	}
	_, err = ws.List("b")
	wantErr(t, err, workspace.ErrNotDir, "/workspace/b: is a file, not a folder")
}

func testWalk(t *testing.T, ws workspace.Workspace) {
	paths := []string{"a-b", "a.txt", "a/x", "a/y/z", "a0", "b"}
	for i := len(paths) - 1; i >= 0; i-- {
		write(t, ws, paths[i], paths[i])
	}
	walk := func(from string) (got []string) {
		if err := ws.Walk(from, func(in workspace.Info) error {
			got = append(got, in.Path)
			return nil
		}); err != nil {
			t.Errorf("Walk(%q): %v", from, err)
		}
		return got
	}
	if diff := cmp.Diff(paths, walk("")); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a/x", "a/y/z"}, walk("a")); diff != "" {
		t.Errorf("folder (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a0"}, walk("a0")); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
	stop, n := errors.New("stop"), 0
	err := ws.Walk("", func(workspace.Info) error { n++; return stop })
	if err != stop || n != 1 {
		t.Errorf("Walk did not stop: %v after %d", err, n)
	}
	err = ws.Walk("none", func(workspace.Info) error { return nil })
	wantErr(t, err, fs.ErrNotExist, "/workspace/none: no such file or folder")
	var order []string
	for _, e := range manifest(t, ws) {
		order = append(order, e.Path)
	}
	if diff := cmp.Diff(paths, order); diff != "" {
		t.Errorf("manifest order (-want +got):\n%s", diff)
	}
}

func testRemove(t *testing.T, ws workspace.Workspace) {
	write(t, ws, "a/b/c", "x")
	write(t, ws, "a/d", "y")
	d, err := ws.Remove("a/b/c")
	want := event.Delta{Op: workspace.OpDelete, Path: "a/b/c", Before: model.Sum([]byte("x"))}
	if err != nil || cmp.Diff(want, d) != "" {
		t.Errorf("Remove = %+v, %v", d, err)
	}
	_, err = ws.Stat("a/b")
	wantErr(t, err, fs.ErrNotExist, "/workspace/a/b: no such file or folder")
	_, err = ws.Remove("a/b/c")
	wantErr(t, err, fs.ErrNotExist, "/workspace/a/b/c: no such file or folder")
	_, err = ws.Remove("a")
	wantErr(t, err, workspace.ErrIsDir, "/workspace/a: is a folder, not a file")
	_, err = ws.Remove("")
	wantErr(t, err, workspace.ErrIsDir, "/workspace: is a folder, not a file")
	write(t, ws, "a/b", "a file where a folder was")
	if got := len(manifest(t, ws)); got != 2 {
		t.Errorf("%d files left", got)
	}
}

func testConflicts(t *testing.T, ws workspace.Workspace) {
	write(t, ws, "f", "x")
	write(t, ws, "d/x", "y")
	_, err := ws.WriteFile("f/x", nil)
	wantErr(t, err, workspace.ErrNotDir, "/workspace/f: is a file, not a folder")
	_, err = ws.WriteFile("d", nil)
	wantErr(t, err, workspace.ErrIsDir, "/workspace/d: is a folder, not a file")
	_, _, err = ws.ReadFile("f/x/y", 0, -1)
	wantErr(t, err, workspace.ErrNotDir, "/workspace/f: is a file, not a folder")
	_, err = ws.Stat("f/x")
	wantErr(t, err, workspace.ErrNotDir, "/workspace/f: is a file, not a folder")
	_, _, err = ws.ReadFile("d", 0, -1)
	wantErr(t, err, workspace.ErrIsDir, "/workspace/d: is a folder, not a file")
}

func testPaths(t *testing.T, ws workspace.Workspace) {
	for _, bad := range []string{"/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a/", "a\x00b", `a\b`, "/workspace/a", ".harness.tmp", strings.Repeat("n", 256)} {
		for name, try := range map[string]func() error{
			"Stat":      func() error { _, err := ws.Stat(bad); return err },
			"ReadFile":  func() error { _, _, err := ws.ReadFile(bad, 0, -1); return err },
			"List":      func() error { _, err := ws.List(bad); return err },
			"Walk":      func() error { return ws.Walk(bad, func(workspace.Info) error { return nil }) },
			"WriteFile": func() error { _, err := ws.WriteFile(bad, nil); return err },
			"Remove":    func() error { _, err := ws.Remove(bad); return err },
			"Spill":     func() error { return ws.Spill(bad, nil) },
			"Apply": func() error {
				return ws.Apply([]event.Delta{{Op: workspace.OpWrite, Path: bad, After: model.Sum(nil), Content: []byte{}}})
			},
		} {
			if err := try(); !errors.Is(err, workspace.ErrBadPath) && !errors.Is(err, workspace.ErrEscape) {
				t.Errorf("%s(%q): %v", name, bad, err)
			}
		}
	}
}

func testHarness(t *testing.T, ws workspace.Workspace) {
	const path = ".harness/spill/main-1-0-grep.txt"
	if in, err := ws.Stat(".harness"); err != nil || !in.Dir {
		t.Errorf("Stat of the empty space: %+v, %v", in, err)
	}
	if l, err := ws.List(".harness"); err != nil || len(l) != 0 {
		t.Errorf("List of the empty space: %v, %v", l, err)
	}
	_, _, err := ws.ReadFile(path, 0, -1)
	wantErr(t, err, fs.ErrNotExist, "/workspace/"+path+": no such file or folder")
	write(t, ws, "a", "x")
	before := manifest(t, ws)
	if err := ws.Spill(path, []byte("much")); err != nil {
		t.Fatalf("Spill: %v", err)
	}
	if err := ws.Spill(path, []byte("more")); err != nil {
		t.Fatalf("second Spill: %v", err)
	}
	if got := read(t, ws, path); got != "more" {
		t.Errorf("content %q", got)
	}
	if diff := cmp.Diff(before, manifest(t, ws)); diff != "" {
		t.Errorf("a spill changed the manifest:\n%s", diff)
	}
	if l, err := ws.List(""); err != nil || len(l) != 1 {
		t.Errorf("List of the root: %v, %v", l, err)
	}
	if l, err := ws.List(".harness"); err != nil || len(l) != 1 || l[0].Path != ".harness/spill" {
		t.Errorf("List of the space: %v, %v", l, err)
	}
	for from, want := range map[string]int{"": 1, ".harness": 1, ".harness/spill": 1, path: 1} {
		n := 0
		if err := ws.Walk(from, func(workspace.Info) error { n++; return nil }); err != nil || n != want {
			t.Errorf("Walk(%q): %d files, %v", from, n, err)
		}
	}
	readOnly := ": cannot be changed: /workspace/.harness is the harness's own folder"
	_, err = ws.WriteFile(path, nil)
	wantErr(t, err, workspace.ErrReadOnly, "/workspace/"+path+readOnly)
	_, err = ws.WriteFile(".harness", nil)
	wantErr(t, err, workspace.ErrReadOnly, "/workspace/.harness"+readOnly)
	_, err = ws.Remove(path)
	wantErr(t, err, workspace.ErrReadOnly, "/workspace/"+path+readOnly)
	for _, bad := range []string{"a", "", ".harness", ".harnessx/a"} {
		if err := ws.Spill(bad, nil); !errors.Is(err, workspace.ErrEscape) {
			t.Errorf("Spill(%q): %v", bad, err)
		}
	}
}

func testApply(t *testing.T, ws workspace.Workspace) {
	deltas := []event.Delta{
		{Op: workspace.OpWrite, Path: "a/b", After: model.Sum([]byte("1")), Size: 1, Mode: 0o755, Content: []byte("1")},
		{Op: workspace.OpWrite, Path: "c", After: model.Sum(nil), Mode: 0o644},
		{Op: workspace.OpWrite, Path: "a/b", Before: model.Sum([]byte("1")), After: model.Sum([]byte("22")), Size: 2, Mode: 0o644, Content: []byte("22")},
		{Op: workspace.OpDelete, Path: "c", Before: model.Sum(nil)},
	}
	if err := ws.Apply(deltas); err != nil {
		t.Fatal(err)
	}
	want := []workspace.Entry{{Path: "a/b", Size: 2, Mode: workspace.ModeFile, Digest: model.Sum([]byte("22"))}}
	if diff := cmp.Diff(want, manifest(t, ws)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := ws.Apply(nil); err != nil {
		t.Errorf("Apply of nothing: %v", err)
	}
}

func testApplyRefuses(t *testing.T, ws workspace.Workspace) {
	write(t, ws, "a", "x")
	x, y := model.Sum([]byte("x")), model.Sum([]byte("y"))
	before := manifest(t, ws)
	for name, d := range map[string]event.Delta{
		"unknown change": {Op: "rename", Path: "a"},
		"wrong before":   {Op: workspace.OpWrite, Path: "a", Before: y, After: y, Size: 1, Content: []byte("y")},
		"no before":      {Op: workspace.OpWrite, Path: "a", After: y, Size: 1, Content: []byte("y")},
		"wrong after":    {Op: workspace.OpWrite, Path: "a", Before: x, After: x, Size: 1, Content: []byte("y")},
		"wrong size":     {Op: workspace.OpWrite, Path: "a", Before: x, After: y, Size: 2, Content: []byte("y")},
		"negative size":  {Op: workspace.OpWrite, Path: "a", Before: x, After: y, Size: -1},
		"full deletion":  {Op: workspace.OpDelete, Path: "a", Before: x, Content: []byte("x")},
		"wrong deletion": {Op: workspace.OpDelete, Path: "a", Before: y},
		"no file":        {Op: workspace.OpDelete, Path: "b"},
		"harness":        {Op: workspace.OpWrite, Path: ".harness/a", After: y, Size: 1, Content: []byte("y")},
	} {
		if err := ws.Apply([]event.Delta{d}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if diff := cmp.Diff(before, manifest(t, ws)); diff != "" {
		t.Errorf("a refused change changed something:\n%s", diff)
	}
}

func testModes(t *testing.T, ws workspace.Workspace) {
	for mode, want := range map[uint32]uint32{0: 0o644, 0o600: 0o644, 0o666: 0o644, 0o700: 0o755, 0o777: 0o755, 0o4755: 0o755, 0o011: 0o644} {
		path := fmt.Sprintf("m%o", mode)
		d := event.Delta{Op: workspace.OpWrite, Path: path, After: model.Sum([]byte("x")), Size: 1, Mode: mode, Content: []byte("x")}
		if err := ws.Apply([]event.Delta{d}); err != nil {
			t.Fatal(err)
		}
		in, err := ws.Stat(path)
		if err != nil || in.Mode != want {
			t.Errorf("mode %o became %o (%v), want %o", mode, in.Mode, err, want)
		}
		if d := write(t, ws, path, "again"); d.Mode != want {
			t.Errorf("a rewritten file of mode %o has %o, want %o", mode, d.Mode, want)
		}
	}
}

func testBig(t *testing.T, ws workspace.Workspace) {
	data := make([]byte, workspace.MaxFile+1)
	_, err := ws.WriteFile("big", data)
	wantErr(t, err, workspace.ErrTooLarge, "/workspace/big: is larger than 32 MiB")
	if err := ws.Spill(".harness/big", data); !errors.Is(err, workspace.ErrTooLarge) {
		t.Errorf("Spill: %v", err)
	}
	if _, err := ws.WriteFile("big", data[1:]); err != nil {
		t.Errorf("the largest file: %v", err)
	}
}

// Steps makes n random changes of ws, writes and removals over few names so that
// they meet, and returns the deltas of those that worked. Equal seeds make equal
// histories.
func Steps(ws workspace.Workspace, seed uint64, n int) []event.Delta {
	r := rand.New(rand.NewPCG(seed, 0))
	names := []string{"a", "b", "a-b", "c.txt", "d"}
	var out []event.Delta
	for range n {
		path := names[r.IntN(len(names))]
		for r.IntN(2) == 0 {
			path += "/" + names[r.IntN(len(names))]
		}
		var d event.Delta
		var err error
		if r.IntN(3) == 0 {
			d, err = ws.Remove(path)
		} else {
			d, err = ws.WriteFile(path, []byte(strings.Repeat("x", r.IntN(20))))
		}
		if err == nil {
			out = append(out, d)
		}
	}
	return out
}
