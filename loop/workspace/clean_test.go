package workspace_test

import (
	"errors"
	"path"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/loop/workspace"
)

func TestClean(t *testing.T) {
	long := strings.Repeat("n/", 2047) + "nn" // MaxPath bytes
	for _, c := range []struct{ in, want string }{
		{"x", "x"},
		{"/workspace/x", "x"},
		{"/workspace", ""},
		{"/workspace/", ""},
		{"//workspace//x", "x"},
		{"/./workspace/x", "x"},
		{".", ""},
		{"./", ""},
		{"./a/../b", "b"},
		{"./exports/../payments/x", "payments/x"},
		{"a/b/../../c/", "c"},
		{"a/..", ""},
		{"a//b///c", "a/b/c"},
		{"...", "..."},
		{"..a", "..a"},
		{"a b/ c", "a b/ c"},
		{"workspace/x", "workspace/x"},
		{"ünï", "ünï"},
		{".harness/spill/x", ".harness/spill/x"},
		{".harness.tmpx", ".harness.tmpx"},
		{"a/.harness.tmp", "a/.harness.tmp"},
		{long, long},
		{"/workspace/" + long, long},
	} {
		got, err := workspace.Clean(c.in)
		if err != nil || got != c.want {
			t.Errorf("Clean(%.40q) = %.40q, %v; want %.40q", c.in, got, err, c.want)
		}
	}
}

func TestCleanRefuses(t *testing.T) {
	for _, c := range []struct {
		in     string
		reason error
		text   string
	}{
		{"", workspace.ErrBadPath, "a path must not be empty"},
		{"..", workspace.ErrEscape, "..: leads outside of /workspace"},
		{"../workspace/x", workspace.ErrEscape, "../workspace/x: leads outside of /workspace"},
		{"a/../../x", workspace.ErrEscape, "a/../../x: leads outside of /workspace"},
		{"a/../../workspace/x", workspace.ErrEscape, "a/../../workspace/x: leads outside of /workspace"},
		{"/workspace/../x", workspace.ErrEscape, "/workspace/../x: leads outside of /workspace"},
		{"/", workspace.ErrEscape, "/: lies outside of /workspace"},
		{"/etc/passwd", workspace.ErrEscape, "/etc/passwd: lies outside of /workspace"},
		{"/workspacex", workspace.ErrEscape, "/workspacex: lies outside of /workspace"},
		{"/etc/../workspace/x", workspace.ErrEscape, "/etc/../workspace/x: lies outside of /workspace"},
		{"a\x00b", workspace.ErrBadPath, "a?b: holds a control character"},
		{"a\nb", workspace.ErrBadPath, "a?b: holds a control character"},
		{"\x1b[2J", workspace.ErrBadPath, "?[2J: holds a control character"},
		{`..\x`, workspace.ErrBadPath, `..\x: holds a backslash; folders are separated by /`},
		{"a\xff", workspace.ErrBadPath, "a?: is not valid UTF-8"},
		{".harness.tmp", workspace.ErrBadPath, "/workspace/.harness.tmp: is a reserved name"},
		{"/workspace/./.harness.tmp/x", workspace.ErrBadPath, "/workspace/.harness.tmp/x: is a reserved name"},
		{strings.Repeat("n", 256), workspace.ErrBadPath, strings.Repeat("n", 200) + "...: has a name longer than 255 bytes"},
		{strings.Repeat("n/", 2050), workspace.ErrBadPath, "/workspace/" + strings.Repeat("n/", 94) + "n...: is longer than 4096 bytes"},
		{strings.Repeat("n/", 3000), workspace.ErrBadPath, strings.Repeat("n/", 100) + "...: is longer than 4096 bytes"},
	} {
		got, err := workspace.Clean(c.in)
		if !errors.Is(err, c.reason) || err.Error() != c.text || got != "" {
			t.Errorf("Clean(%.40q) = %q, %v; want %q", c.in, got, err, c.text)
		}
	}
}

func TestInHarness(t *testing.T) {
	for in, want := range map[string]bool{
		".harness": true, ".harness/x": true, ".harnessx": false, "a/.harness": false, "": false, ".har": false,
	} {
		if got := workspace.InHarness(in); got != want {
			t.Errorf("InHarness(%q) = %v", in, got)
		}
	}
}

// FuzzClean: a clean path is below the root, is what the lexical cleaning of the
// standard library says, and cleaning it again, also from its absolute form,
// changes nothing.
func FuzzClean(f *testing.F) {
	for _, s := range []string{"a", "/workspace/a/../b", "./a//b/", "..", "a/../../b", "/workspace", ".harness.tmp", "a\\b", "\x00", "ü/☃"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		rel, err := workspace.Clean(in)
		if err != nil {
			if rel != "" || err.Error() == "" {
				t.Fatalf("Clean(%q) = %q, %v", in, rel, err)
			}
			if strings.ContainsAny(err.Error(), "\x00\x1b\n") {
				t.Fatalf("Clean(%q): unsafe text %q", in, err)
			}
			return
		}
		abs := in
		if !strings.HasPrefix(in, "/") {
			abs = workspace.Root + "/" + in
		}
		if want := path.Clean(abs); workspace.Abs(rel) != want {
			t.Fatalf("Clean(%q) = %q, want %q", in, workspace.Abs(rel), want)
		}
		for _, again := range []string{rel, workspace.Abs(rel)} {
			if again == "" {
				continue
			}
			if got, err := workspace.Clean(again); got != rel || err != nil {
				t.Fatalf("Clean(%q) = %q, %v; want %q", again, got, err, rel)
			}
		}
	})
}

func BenchmarkClean(b *testing.B) {
	for b.Loop() {
		if _, err := workspace.Clean("/workspace/notes/a.txt"); err != nil {
			b.Fatal(err)
		}
	}
}
