package recorder_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/recorder/internal/sample"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// readerPy is the reader in another language that was written from the
// specification alone.
const readerPy = "../testdata/session-reader/reader.py"

func python(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 on this machine: the reader in another language is not tested")
	}
	return path
}

func TestOtherLanguage(t *testing.T) {
	py := python(t)
	src, err := os.ReadFile(readerPy)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(src, []byte("\n")); n > 100 {
		t.Errorf("the reader has %d lines; 100 must do", n)
	}
	checkInputTable(t, string(src))
	dir := t.TempDir()
	run := func(name string, b []byte) (string, error) {
		path := filepath.Join(dir, name+session.Suffix)
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(py, readerPy, path).CombinedOutput()
		return string(out), err
	}
	good := record(t, sample.Play)
	traffic, err := os.ReadFile("wire/tape/testdata/various.session.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"sample": good, "traffic": traffic, "many": record(t, func(s event.Sink) error { return sample.Many(s, 30, 5000) })} {
		out, err := run(name, b)
		want := fmt.Sprintf("ok: %d lines, ", bytes.Count(b, []byte("\n")))
		r := session.NewReader(bytes.NewReader(b))
		if _, verr := session.Verify(r); verr != nil {
			t.Fatal(verr)
		}
		if err != nil || !strings.HasPrefix(out, want) || !strings.Contains(out, "chain "+r.Digest().Short()) {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
	}
	for _, c := range []struct {
		line           int
		pointer, value string
		where          int
		what           string
	}{
		{5, "/body/content/0/text", `"other"`, 5, "part digest"},
		{11, "/items/0/text", `"other"`, 24, "inputs digest"},
		{16, "/text", `"other"`, 24, "inputs digest"},
		{13, "/id", `"other"`, 38, "request chain"},
		{24, "/inputs", `"00000000000000000000000000000000"`, 24, "inputs digest"},
	} {
		out, err := run("bad", change(t, good, c.line, c.pointer, c.value))
		if err == nil || !strings.Contains(out, fmt.Sprintf("line %d:", c.where)) || !strings.Contains(out, c.what) {
			t.Errorf("line %d, %s: %v: %s", c.line, c.pointer, err, out)
		}
	}
	flipped := bytes.Clone(good)
	flipped[bytes.Index(good, []byte("slow"))] = 'S'
	if out, err := run("flipped", flipped); err == nil || !strings.Contains(out, "line 7:") || !strings.Contains(out, "chain is broken") {
		t.Errorf("a changed byte: %v: %s", err, out)
	}
	if out, err := run("torn", good[:len(good)-9]); err == nil || !strings.Contains(out, "torn") {
		t.Errorf("a torn line: %v: %s", err, out)
	}
}

// change sets one field and seals again.
func change(t *testing.T, b []byte, line int, pointer, value string) []byte {
	t.Helper()
	var out bytes.Buffer
	err := session.Edit(&out, bytes.NewReader(b), func(l *session.Line, emit func(session.Type, []byte) error) error {
		if l.No != line {
			return emit(l.Type, l.Payload())
		}
		p, err := l.With(pointer, []byte(value))
		return errors.Join(err, emit(l.Type, p))
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// checkInputTable compares the reader's list of input fields with the table.
func checkInputTable(t *testing.T, src string) {
	t.Helper()
	want := map[string]string{}
	for _, f := range session.Fields {
		if f.Origin == session.Input && !strings.ContainsAny(f.Name, ".[") {
			want[string(f.Line)] = strings.TrimSpace(want[string(f.Line)] + " " + f.Name)
		}
	}
	got := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^    "([a-z.]+)": "([a-z_0-9 ]+)"\.split\(\),$`).FindAllStringSubmatch(src, -1) {
		got[m[1]] = m[2]
	}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s: the reader takes %q for input, the table %q", k, got[k], v)
		}
	}
	if len(got) != len(want) {
		t.Errorf("the reader knows input fields of %d line types, the table of %d", len(got), len(want))
	}
}
