package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	page := "before\n<!-- generated: x -->\nold\n<!-- end: x -->\nafter\n"
	if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Check(path, "x", "new", false); err == nil || !strings.Contains(err.Error(), "-update") {
		t.Errorf("a page that differs: error %v", err)
	}
	if err := Check(path, "y", "new", true); err == nil || !strings.Contains(err.Error(), "no part marked") {
		t.Errorf("no such part: error %v", err)
	}
	for range 2 { // writing twice changes nothing
		if err := Check(path, "x", "new", true); err != nil {
			t.Fatal(err)
		}
	}
	if err := Check(path, "x", "new\n", false); err != nil {
		t.Error(err)
	}
	got, _ := os.ReadFile(path)
	if want := "before\n<!-- generated: x -->\n\nnew\n\n<!-- end: x -->\nafter\n"; string(got) != want {
		t.Errorf("page is %q, want %q", got, want)
	}
	if err := Check(path+"x", "x", "", false); err == nil {
		t.Error("no page: no error")
	}
}
