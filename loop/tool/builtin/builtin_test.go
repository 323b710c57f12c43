package builtin_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
	"github.com/harnessbench/harnessbench/loop/tool/builtin"
	"github.com/harnessbench/harnessbench/loop/workspace"
)

// fixture is a workspace with the tools over it.
type fixture struct {
	t   *testing.T
	ws  workspace.Workspace
	set *tool.Set
}

// each runs a test on both backends.
func each(t *testing.T, test func(fixture)) {
	t.Run("Mem", func(t *testing.T) {
		ws, err := workspace.NewMem(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		test(newFixture(t, ws))
	})
	t.Run("Dir", func(t *testing.T) {
		host := t.TempDir()
		if err := os.Mkdir(filepath.Join(host, "tree"), 0o755); err != nil {
			t.Fatal(err)
		}
		ws, err := workspace.NewDir(filepath.Join(host, "tree"), filepath.Join(host, "space"))
		if err != nil {
			t.Fatal(err)
		}
		test(newFixture(t, ws))
	})
}

func newFixture(t *testing.T, ws workspace.Workspace) fixture {
	set, err := tool.NewSet(builtin.Tools(ws)...)
	if err != nil {
		t.Fatal(err)
	}
	return fixture{t: t, ws: ws, set: set}
}

func (f fixture) write(path, content string) {
	f.t.Helper()
	if _, err := f.ws.WriteFile(path, []byte(content)); err != nil {
		f.t.Fatal(err)
	}
}

// call prepares and runs a call.
func (f fixture) call(name, args string) tool.Result {
	f.t.Helper()
	p := f.set.Prepare(model.ToolCall{Name: name, Args: args})
	if p.Problem != "" {
		return tool.Result{Outcome: event.Outcome(p.Problem), Text: p.Detail}
	}
	return f.set.Run(context.Background(), &tool.Op{Name: name, Args: p.Args})
}

// want runs a call and compares outcome and text.
func (f fixture) want(name, args string, outcome event.Outcome, text string) tool.Result {
	f.t.Helper()
	r := f.call(name, args)
	if r.Outcome != outcome || r.Text != text {
		f.t.Errorf("%s %.100s:\n got %s %q\nwant %s %q", name, args, r.Outcome, r.Text, outcome, text)
	}
	return r
}

func TestSpecs(t *testing.T) {
	want := []string{"read_file", "write_file", "edit_file", "list_dir", "grep"}
	if diff := cmp.Diff(want, builtin.Names()); diff != "" {
		t.Error(diff)
	}
	for _, name := range builtin.Names() {
		s, ok := builtin.Spec(name)
		effect := event.Read
		if name == "write_file" || name == "edit_file" {
			effect = event.Write
		}
		if !ok || s.Name != name || s.Version != 1 || s.Effect != effect || s.Description == "" || !strings.Contains(s.Schema, `"additionalProperties":false`) {
			t.Errorf("spec %+v", s)
		}
		if canon, err := tool.Canonical(s.Schema); canon != s.Schema || err != nil {
			t.Errorf("%s: the schema is not canonical: %v\n%s", name, err, canon)
		}
		if builtin.Canonical(name) == nil {
			t.Errorf("%s: no Canonical", name)
		}
		if _, ok := builtin.New(name, nil); !ok {
			t.Errorf("%s: no New", name)
		}
	}
	if _, ok := builtin.Spec("rm"); ok || builtin.Canonical("rm") != nil {
		t.Error("there is a tool rm")
	}
	if _, ok := builtin.New("rm", nil); ok {
		t.Error("there is a tool rm")
	}
}

func TestCanonical(t *testing.T) {
	for _, c := range []struct{ name, args, want, resource string }{
		{"read_file", `{"path":"./exports/../payments/x"}`, `{"path":"/workspace/payments/x"}`, "/workspace/payments/x"},
		{"read_file", `{"limit":3,"path":"/workspace/x"}`, `{"limit":3,"path":"/workspace/x"}`, "/workspace/x"},
		{"write_file", `{"content":"\"path\":","path":"é\""}`, `{"content":"\"path\":","path":"/workspace/é\""}`, `/workspace/é"`},
		{"list_dir", `{}`, `{"path":"/workspace"}`, "/workspace"},
		{"list_dir", `{"path":"."}`, `{"path":"/workspace"}`, "/workspace"},
		{"grep", `{"max_matches":5,"pattern":"x"}`, `{"max_matches":5,"path":"/workspace","pattern":"x"}`, "/workspace"},
		{"grep", `{"pattern":"x"}`, `{"path":"/workspace","pattern":"x"}`, "/workspace"},
		{"grep", `{"path":".harness/spill/","pattern":"x"}`, `{"path":"/workspace/.harness/spill","pattern":"x"}`, "/workspace/.harness/spill"},
	} {
		canonical := builtin.Canonical(c.name)
		got, resources, err := canonical(c.args)
		if err != nil || got != c.want || len(resources) != 1 || resources[0] != c.resource {
			t.Errorf("%s %s = %s, %v, %v", c.name, c.args, got, resources, err)
		}
		if again, r2, err := canonical(got); again != got || err != nil || r2[0] != c.resource {
			t.Errorf("%s %s is not idempotent: %s, %v", c.name, c.args, again, err)
		}
	}
}

func TestRefusedPaths(t *testing.T) {
	each(t, func(f fixture) {
		f.want("read_file", `{"path":"../../etc/passwd"}`, event.PermissionDenied, "permission denied: ../../etc/passwd: leads outside of /workspace")
		f.want("read_file", `{"path":"/etc/passwd"}`, event.PermissionDenied, "permission denied: /etc/passwd: lies outside of /workspace")
		f.want("grep", `{"path":"a/../..","pattern":"x"}`, event.PermissionDenied, "permission denied: a/../..: leads outside of /workspace")
		f.want("read_file", `{"path":""}`, event.ValidationFailed, "invalid arguments: a path must not be empty")
		f.want("write_file", `{"content":"","path":"a\u0000b"}`, event.ValidationFailed, "invalid arguments: a?b: holds a control character")
		f.want("write_file", `{"content":"","path":".harness/x"}`, event.PermissionDenied, "permission denied: /workspace/.harness/x: the harness's own folder cannot be changed")
		f.want("edit_file", `{"new":"","old":"x","path":"/workspace/.harness"}`, event.PermissionDenied, "permission denied: /workspace/.harness: the harness's own folder cannot be changed")
		f.want("write_file", `{"content":"","path":"/workspace"}`, event.ToolError, "/workspace: is a folder, not a file")
		f.want("read_file", `{"path":"none"}`, event.ToolError, "/workspace/none: no such file or folder")
		f.want("read_file", `{"path":"."}`, event.ToolError, "/workspace: is a folder, not a file")
		f.want("read_file", `{"path":"a","offset":0}`, event.ValidationFailed, "invalid arguments: /offset: want at least 1")
		f.want("read_file", `{"path":"a","all":true}`, event.ValidationFailed, `invalid arguments: unknown "all"`)
	})
}

// TestRunSurvivesAnyArgs: Run gets canonical arguments; other text must not make
// it panic.
func TestRunSurvivesAnyArgs(t *testing.T) {
	each(t, func(f fixture) {
		for _, name := range builtin.Names() {
			for _, args := range []string{"", "{", `{"path"`, `{"path":`, `{"path":5}`, `{"path":"a","offset":"x","limit":-9,"max_matches":1e99}`, `{"path":"/../x"}`, `[]`} {
				r := f.set.Run(context.Background(), &tool.Op{Name: name, Args: args})
				if r.Outcome == "" || r.Took != builtin.Took {
					t.Errorf("%s %q: %+v", name, args, r)
				}
			}
		}
	})
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	each(t, func(f fixture) {
		for _, name := range builtin.Names() {
			if r := f.set.Run(ctx, &tool.Op{Name: name, Args: `{"content":"","new":"b","old":"a","path":"a","pattern":"x"}`}); r.Outcome != event.Cancelled {
				t.Errorf("%s: %+v", name, r)
			}
		}
		if m, _ := f.ws.Manifest(); len(m) != 0 {
			t.Errorf("a cancelled call wrote %v", m)
		}
	})
}

func TestWriteFile(t *testing.T) {
	each(t, func(f fixture) {
		r := f.want("write_file", `{"content":"héllo\n","path":"a/b.txt"}`, event.Success, "wrote 7 bytes to /workspace/a/b.txt")
		want := []event.Delta{{Op: "write", Path: "a/b.txt", After: model.Sum([]byte("héllo\n")), Size: 7, Mode: 0o644, Content: []byte("héllo\n")}}
		if diff := cmp.Diff(want, r.Delta); diff != "" {
			t.Errorf("delta (-want +got):\n%s", diff)
		}
		f.want("write_file", `{"content":"","path":"a/b.txt"}`, event.Success, "wrote 0 bytes to /workspace/a/b.txt")
		f.want("write_file", `{"content":"","path":"a"}`, event.ToolError, "/workspace/a: is a folder, not a file")
		f.want("write_file", `{"content":"","path":"a/b.txt/c"}`, event.ToolError, "/workspace/a/b.txt: is a file, not a folder")
	})
}

func TestEditFile(t *testing.T) {
	each(t, func(f fixture) {
		f.write("f", "one\ntwo\nthree two\naaa\n")
		f.write("crlf", "a\r\nb\r\n")
		f.write("bin", "a\x00b")
		const path = "/workspace/f: "
		f.want("edit_file", `{"new":"x","old":"four","path":"f"}`, event.ToolError, path+"the old text does not occur; read the file again and copy the text exactly")
		f.want("edit_file", `{"new":"x","old":"one  two","path":"f"}`, event.ToolError, path+"the old text does not occur; it does with other white space: copy it exactly from read_file")
		f.want("edit_file", `{"new":"x","old":"ONE","path":"f"}`, event.ToolError, path+"the old text does not occur; it does in other case: copy it exactly from read_file")
		f.want("edit_file", `{"new":"x","old":"a\nb","path":"crlf"}`, event.ToolError, `/workspace/crlf: the old text does not occur; the lines of this file end in \r\n`)
		f.want("edit_file", `{"new":"x","old":"two","path":"f"}`, event.ToolError, path+"the old text occurs 2 times (line 2, 3); add the lines around it until it is unique")
		f.want("edit_file", `{"new":"x","old":"aa","path":"f"}`, event.ToolError, path+"the old text occurs 2 times (line 4, 4); add the lines around it until it is unique")
		f.want("edit_file", `{"new":"two","old":"two","path":"f"}`, event.ToolError, path+"old and new text are equal; nothing to change")
		f.want("edit_file", `{"new":"x","old":"","path":"f"}`, event.ValidationFailed, "invalid arguments: /old: want at least 1 characters, got 0")
		f.want("edit_file", `{"new":"x","old":"a","path":"none"}`, event.ToolError, "/workspace/none: no such file or folder")
		f.want("edit_file", `{"new":"x","old":"a","path":"bin"}`, event.ToolError, "/workspace/bin: is a binary file (NUL at byte 1, 3 bytes in all); only text can be used")
		r := f.want("edit_file", `{"new":"2$1\n","old":"\ntwo\n","path":"f"}`, event.Success, "replaced 1 match in /workspace/f (line 1)")
		if len(r.Delta) != 1 || string(r.Delta[0].Content) != "one2$1\nthree two\naaa\n" {
			t.Errorf("delta %+v", r.Delta)
		}
		f.want("edit_file", `{"new":"","old":"three ","path":"f"}`, event.Success, "replaced 1 match in /workspace/f (line 2)")
		f.write("many", strings.Repeat("x\n", 9))
		f.want("edit_file", `{"new":"y","old":"x","path":"many"}`, event.ToolError, "/workspace/many: the old text occurs 9 times (line 1, 2, 3, 4, 5, ...); add the lines around it until it is unique")
	})
}

func TestListDir(t *testing.T) {
	each(t, func(f fixture) {
		f.want("list_dir", `{}`, event.Success, "[empty folder]")
		f.write("b/c", "")
		f.write("a.txt", "12345")
		if err := f.ws.Spill(".harness/spill/x", []byte("x")); err != nil {
			t.Fatal(err)
		}
		f.want("list_dir", `{}`, event.Success, "a.txt (5 bytes)\nb/")
		f.want("list_dir", `{"path":"/workspace/b/"}`, event.Success, "c (0 bytes)")
		f.want("list_dir", `{"path":".harness/spill"}`, event.Success, "x (1 bytes)")
		f.want("list_dir", `{"path":"a.txt"}`, event.ToolError, "/workspace/a.txt: is a file, not a folder")
		f.want("list_dir", `{"path":"none"}`, event.ToolError, "/workspace/none: no such file or folder")
	})
}

func TestListDirIsBounded(t *testing.T) {
	ws, _ := workspace.NewMem(nil, nil)
	f := newFixture(t, ws)
	for i := range 1200 {
		f.write(fmt.Sprintf("d/%04d", i), "")
	}
	text := f.call("list_dir", `{"path":"d"}`).Text
	if !strings.HasSuffix(text, "0999 (0 bytes)\n[1000 of 1200 entries shown; search the others with grep]") {
		t.Errorf("... %q", text[len(text)-100:])
	}
	for i := range 200 {
		f.write(fmt.Sprintf("e/%04d%s", i, strings.Repeat("x", 200)), "")
	}
	text = f.call("list_dir", `{"path":"e"}`).Text
	if len(text) > builtin.PageBytes+100 || !strings.Contains(text, " of 200 entries shown") {
		t.Errorf("%d bytes, ... %q", len(text), text[len(text)-100:])
	}
}

func TestGrep(t *testing.T) {
	each(t, func(f fixture) {
		f.want("grep", `{"pattern":"x"}`, event.Success, "no matches")
		f.write("notes/a.txt", "alpha\nbeta 12\r\n\ngamma beta")
		f.write("notes-2", "beta\n")
		f.write("z", "nothing")
		f.write("bin", "beta\x00")
		if err := f.ws.Spill(".harness/spill/x.txt", []byte("l1\nbeta spilled\n")); err != nil {
			t.Fatal(err)
		}
		f.want("grep", `{"pattern":"beta"}`, event.Success, "/workspace/notes-2:1:beta\n/workspace/notes/a.txt:2:beta 12\n/workspace/notes/a.txt:4:gamma beta")
		f.want("grep", `{"pattern":"^beta( \\d+)?$","path":"notes"}`, event.Success, "/workspace/notes/a.txt:2:beta 12")
		f.want("grep", `{"pattern":"(?i)BETA","path":"./notes/a.txt","max_matches":1}`, event.Success,
			"/workspace/notes/a.txt:2:beta 12\n[first 1 matches shown; there are more: narrow pattern or path, or raise max_matches]")
		f.want("grep", `{"pattern":"^$","path":"notes"}`, event.Success, "/workspace/notes/a.txt:3:")
		f.want("grep", `{"pattern":"zeta"}`, event.Success, "no matches")
		f.want("grep", `{"pattern":"alpha\nbeta"}`, event.Success, "no matches")
		f.want("grep", `{"pattern":"spilled","path":".harness"}`, event.Success, "/workspace/.harness/spill/x.txt:2:beta spilled")
		f.want("grep", `{"pattern":"beta","path":"bin"}`, event.ToolError, "/workspace/bin: is a binary file (NUL at byte 4, 5 bytes in all); only text can be used")
		f.want("grep", `{"pattern":"x","path":"none"}`, event.ToolError, "/workspace/none: no such file or folder")
		f.want("grep", `{"pattern":"a(b"}`, event.ToolError, "invalid pattern: missing closing ): \"a(b\"")
		f.want("grep", `{"pattern":"(?=a)"}`, event.ToolError, "invalid pattern: invalid or unsupported Perl syntax: \"(?=\"")
		f.want("grep", `{"pattern":"((a{100}){100}){10}"}`, event.ToolError, "invalid pattern: invalid repeat count: \"{100}\"")
		f.want("grep", `{"pattern":"(a{30}){30}|(b{30}){30}"}`, event.ToolError, "invalid pattern: too large once its repetitions are written out")
		f.want("grep", `{"pattern":"`+strings.Repeat("x", 1001)+`"}`, event.ValidationFailed, "invalid arguments: /pattern: want at most 1000 characters, got 1001")
		f.want("grep", `{"pattern":""}`, event.ValidationFailed, "invalid arguments: /pattern: want at least 1 characters, got 0")
	})
}

func TestGrepIsBounded(t *testing.T) {
	ws, _ := workspace.NewMem(nil, nil)
	f := newFixture(t, ws)
	f.write("long", "x"+strings.Repeat("é", 400)+"\n")
	text := f.call("grep", `{"pattern":"x","path":"long"}`).Text
	if want := "/workspace/long:1:x" + strings.Repeat("é", 249) + "... [line cut, 801 bytes]"; text != want {
		t.Errorf("a long line: %q", text)
	}
	f.write("many", strings.Repeat(strings.Repeat("y", 490)+"\n", 400))
	text = f.call("grep", `{"pattern":"y"}`).Text
	if len(text) > builtin.PageBytes+200 || !strings.HasSuffix(text, "matches shown, which fill 16 KiB; there are more: narrow pattern or path]") {
		t.Errorf("%d bytes, ... %q", len(text), text[len(text)-100:])
	}
	text = f.call("grep", `{"pattern":"y","max_matches":500,"path":"many"}`).Text
	if len(text) > builtin.PageBytes+200 {
		t.Errorf("%d bytes", len(text))
	}
	f.write("big", strings.Repeat("filler filler\n", 5<<20/14))
	f.want("grep", `{"pattern":"needle"}`, event.Success, "no matches\n[1 larger than 4 MiB not searched; name a file to search it]")
	f.want("grep", `{"pattern":"needle","path":"big"}`, event.Success, "no matches")
	for i := range 12 {
		f.write(fmt.Sprintf("m/%02d", i), strings.Repeat("filler filler\n", 3<<20/14))
	}
	wide := `{"path":"m","pattern":"(a|b|c|d|e|f|g|h){40}x"}`
	if got := f.call("grep", wide).Text; !strings.HasPrefix(got, "no matches\n[stopped before /workspace/m/") {
		t.Errorf("an expensive search: %q", got)
	}
}

// TestBackendsAgree: the same calls give the same results on both.
func TestBackendsAgree(t *testing.T) {
	calls := [][2]string{
		{"write_file", `{"path":"a/b","content":"x\ny\n"}`}, {"list_dir", `{}`}, {"list_dir", `{"path":"a"}`}, {"read_file", `{"path":"a/b","offset":2}`},
		{"edit_file", `{"path":"a/b","old":"y","new":"z"}`}, {"grep", `{"pattern":"z"}`}, {"read_file", `{"path":"a"}`}, {"read_file", `{"path":"a/b/c"}`},
		{"write_file", `{"path":"a/b/c","content":""}`}, {"grep", `{"pattern":"z","path":"q"}`}, {"list_dir", `{"path":".harness"}`}, {"read_file", `{"path":".harness/x"}`},
	}
	var all [][]tool.Result
	each(t, func(f fixture) {
		var got []tool.Result
		for _, c := range calls {
			got = append(got, f.call(c[0], c[1]))
		}
		all = append(all, got)
	})
	if diff := cmp.Diff(all[0], all[1]); diff != "" {
		t.Errorf("(-Mem +Dir):\n%s", diff)
	}
}

// TestDenied: what Prepare turns into permission_denied is a DeniedError.
func TestDenied(t *testing.T) {
	var denied *tool.DeniedError
	_, _, err := builtin.Canonical("read_file")(`{"path":"/etc"}`)
	if !errors.As(err, &denied) || !errors.Is(err, workspace.ErrEscape) {
		t.Errorf("%v", err)
	}
}

func BenchmarkPrepareRead(b *testing.B) {
	ws, _ := workspace.NewMem(nil, nil)
	set, err := tool.NewSet(builtin.Tools(ws)...)
	if err != nil {
		b.Fatal(err)
	}
	call := model.ToolCall{Name: "read_file", Args: `{"limit":20,"path":"./notes/a.txt"}`}
	b.ReportAllocs()
	for b.Loop() {
		set.Prepare(call)
	}
}

func BenchmarkGrep(b *testing.B) {
	ws, _ := workspace.NewMem(nil, nil)
	if _, err := ws.WriteFile("log", []byte(strings.Repeat("2024-03-01 INFO request served id=4711\n", 30_000))); err != nil {
		b.Fatal(err)
	}
	t, _ := builtin.New("grep", ws)
	for name, pattern := range map[string]string{"literal": "REFUNDED", "class": `id=\\d+ REFUNDED`} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(30_000 * 39)
			op := &tool.Op{Name: "grep", Args: `{"path":"/workspace","pattern":"` + pattern + `"}`}
			for b.Loop() {
				if r := t.Run(context.Background(), op); r.Text != "no matches" {
					b.Fatal(r.Text)
				}
			}
		})
	}
}
