package trial

import (
	"context"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/redact"
	"github.com/harnessbench/harnessbench/loop/tool"
	"github.com/harnessbench/harnessbench/loop/tool/builtin"
	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/scenarios"
)

const (
	oldKey = "marble-Orchid-7702"
	newKey = "velvet-Cargo-2201"
)

// hidden lays a tree in which one file has a secret.
func hidden(t *testing.T) *watched {
	t.Helper()
	files := []scenarios.File{{Path: "a.txt", Data: []byte("plain\n")}, {Path: "app.env", Data: []byte("LEVEL=info\nKEY=" + oldKey + "\n")}}
	with := redact.New(oldKey, newKey)
	shown := maskFiles(files, with)
	w := &watched{temp: t.TempDir(), files: files, shown: shown.files, masks: masks{with: with}}
	w.masks.begin(shown)
	t.Cleanup(func() {
		if err := w.remove(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// What is told of a tree is the tree with its secrets overwritten, before it is laid
// and after, and through every change.
func TestTold(t *testing.T) {
	w := hidden(t)
	stars := func(s string) string {
		return strings.NewReplacer(oldKey, redact.Mask(oldKey), newKey, redact.Mask(newKey)).Replace(s)
	}
	content := map[string]string{"a.txt": "plain\n", "app.env": "LEVEL=info\nKEY=" + oldKey + "\n"}
	check := func(when string) {
		t.Helper()
		entries, err := w.Manifest()
		if err != nil || len(entries) != len(content) {
			t.Fatalf("%s: %d files, %v", when, len(entries), err)
		}
		for _, e := range entries {
			if want := stars(content[e.Path]); e.Digest != model.SumString(want) || e.Size != int64(len(want)) {
				t.Errorf("%s: %s: the manifest tells of other bytes", when, e.Path)
			}
			plain, _, err := w.ReadFile(e.Path, 0, 1000)
			if err != nil || string(plain) != content[e.Path] {
				t.Errorf("%s: %s is %q on disk, %v", when, e.Path, plain, err)
			}
			told, size, err := w.told().ReadFile(e.Path, 0, 1000)
			if err != nil || string(told) != stars(content[e.Path]) || size != e.Size {
				t.Errorf("%s: told of %s: %q, %v", when, e.Path, told, err)
			}
		}
	}
	unlaid, err := w.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Stat("a.txt"); err != nil {
		t.Fatal(err)
	}
	if laid, err := w.Manifest(); err != nil || workspace.TreeDigest(laid) != workspace.TreeDigest(unlaid) {
		t.Error("a tree that is laid is another", err)
	}
	check("at first")
	before := model.SumString(stars(content["app.env"]))
	for _, c := range []struct {
		path, text string
		redacted   bool
	}{
		{"app.env", "LEVEL=debug\nKEY=" + oldKey + "\n", true},
		{"app.env", "LEVEL=debug\nKEY=" + newKey + "\n", true},
		{"b.txt", "token " + newKey, true},
		{"app.env", "LEVEL=debug\n", false},
		{"a.txt", "", false},
	} {
		d, err := w.WriteFile(c.path, []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		content[c.path] = c.text
		if d.Redacted != c.redacted || string(d.Content) != stars(c.text) || d.After != model.SumString(stars(c.text)) || c.path == "app.env" && d.Before != before {
			t.Errorf("%+v", d)
		}
		if c.path == "app.env" {
			before = d.After
		}
		check("after " + c.text)
	}
	d, err := w.Remove("b.txt")
	if err != nil || d.Before != model.SumString(stars("token "+newKey)) || d.Redacted {
		t.Errorf("%+v %v", d, err)
	}
	delete(content, "b.txt")
	check("at last")
	if w.Masked() != nil {
		t.Error("no file has a secret any more, and reads are masked")
	}
}

// No slice of a file and no search brings a piece of a secret out, and what was
// kept back is told by kind.
func TestNoPieceOfASecret(t *testing.T) {
	w := hidden(t)
	run := func(name, args string) tool.Result {
		t.Helper()
		f, ok := builtin.New(name, w)
		if !ok {
			t.Fatal(name)
		}
		return f.Run(context.Background(), &tool.Op{Name: name, Args: args})
	}
	for _, c := range []struct{ tool, args, text, redacted string }{
		{"read_file", `{"path":"app.env"}`, "KEY=" + redact.Mask(oldKey), "declared 1"},
		{"grep", `{"path":"/workspace","pattern":"^KEY=m"}`, "no matches", "declared 1"},
		{"grep", `{"path":"/workspace","pattern":"LEVEL"}`, "LEVEL=info", ""},
		{"grep", `{"path":"/workspace","pattern":"KEY=."}`, "KEY=" + redact.Mask(oldKey), "declared 1"},
		{"read_file", `{"path":"a.txt"}`, "plain", ""},
	} {
		r := run(c.tool, c.args)
		if r.Outcome != event.Success || !strings.Contains(r.Text, c.text) || strings.Contains(r.Text, "marble") || r.Redacted != c.redacted {
			t.Errorf("%s %s: %q (%s), want %q (%s)", c.tool, c.args, r.Text, r.Redacted, c.text, c.redacted)
		}
	}
	for from := range int64(40) {
		b, _, err := w.told().ReadFile("app.env", from, 9)
		if err != nil || strings.ContainsAny(string(b), "mablOrchd7") && !strings.Contains("LEVEL=info\nKEY=", strings.Trim(string(b), "*\n")) {
			t.Errorf("from %d: %q %v", from, b, err)
		}
	}
}
