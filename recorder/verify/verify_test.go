package verify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/recorder/verify"
	"github.com/harnessbench/harnessbench/scenarios"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// wireFile is recorded traffic with one of everything.
const wireFile = "../wire/tape/testdata/various.session.jsonl"

// big is a file of the tree that stands in a blob.
var big = []byte(strings.Repeat("large file\n", 1000))

// played records a trial in which a model call fails and a call is no call, with a
// file of the tree in a blob.
func played(t testing.TB) string {
	t.Helper()
	sc, err := builtin.Get("flaky-endpoint")
	if err != nil {
		t.Fatal(err)
	}
	own := *sc
	own.Files = append(slices.Clone(own.Files), scenarios.File{Path: "zz.txt", Data: big})
	path := filepath.Join(t.TempDir(), "x"+session.Suffix)
	spec := trial.Spec{Scenario: &own, Model: "sim/weak", Arm: "default", Guards: guard.MustProfile(guard.ProfileDefault), Seed: 1}
	if _, err := trial.Run(context.Background(), spec, trial.Options{Session: path, Sync: session.SyncNever}); err != nil {
		t.Fatal(err)
	}
	return path
}

func file(t testing.TB, path string, o verify.Options) *verify.Report {
	t.Helper()
	rep, err := verify.File(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// edited writes a copy of a session, with its blobs, in which lines were
// changed and sealed again.
func edited(t testing.TB, path string, change func(l *session.Line) []byte) string {
	t.Helper()
	dir := t.TempDir()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = session.Edit(&out, bytes.NewReader(raw), func(l *session.Line, emit func(session.Type, []byte) error) error {
		return emit(l.Type, change(l))
	})
	if err != nil {
		t.Fatal(err)
	}
	if blobs, err := os.ReadDir(filepath.Join(filepath.Dir(path), session.BlobDir)); err == nil {
		if err := os.CopyFS(filepath.Join(dir, session.BlobDir), os.DirFS(filepath.Join(filepath.Dir(path), session.BlobDir))); err != nil {
			t.Fatal(err, len(blobs))
		}
	}
	name := filepath.Join(dir, "x"+session.Suffix)
	if err := os.WriteFile(name, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestSound(t *testing.T) {
	for _, path := range []string{played(t), wireFile} {
		rep := file(t, path, verify.Options{})
		if rep.Verdict != verify.OK || rep.Verdict.Exit() != 0 || rep.Lines == 0 || rep.Wire != (path == wireFile) {
			t.Errorf("%+v", rep)
		}
		if st, err := os.Stat(path); err != nil || st.Size() != rep.Bytes {
			t.Errorf("%d bytes read of %d", rep.Bytes, st.Size())
		}
	}
	if rep := file(t, played(t), verify.Options{}); rep.Blobs == 0 {
		t.Error("no content beside the file was read")
	}
}

// free are the derived fields that only a replay can judge, since they do not
// follow from the lines before.
var free = map[string]string{
	"part why": "what a part is for", "part role": "a part may be of any role that its body says", "request purpose": "why it was asked",
	"attempt n": "", "attempt wait_us": "", "attempt again": "", "tool.request i": "", "tool.request tool": "", "tool.request v": "", "tool.request effect": "",
	"tool.request args": "", "tool.request resources": "", "tool.request detail": "", "tool.request problem": "", "tool.result i": "",
	"guard g": "", "guard v": "", "guard mode": "", "guard act": "", "guard evidence": "", "guard on": "", "guard failed": "",
	"acceptance checked": "", "acceptance fail": "", "acceptance empty": "", "state cost_pico": "", "state at_us": "", "note what": "",
	"footer reason": "", "footer evidence": "", "footer backstop": "", "footer unchecked": "", "footer cost_pico": "", "footer answer_digest": "",
	"footer tree_digest": "", "footer at_us": "", "wire n": "", "wire api": "", "wire method": "", "wire path": "", "wire hint": "", "wire root": "", "wire raw": "",
	"wire streamed": "", "wire ask": "", "wire ask_digest": "", "header labels": "an annotation",
}

// Every input that is changed and sealed again is found, by the digest over
// inputs at least, and so is every derived field that follows from other lines;
// the line named is never one before the change.
func TestEveryFieldThatFollows(t *testing.T) {
	for _, path := range []string{played(t), wireFile} {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		r := session.NewReader(bytes.NewReader(raw))
		tried := 0
		for {
			l, err := r.Next()
			if err != nil {
				break
			}
			l = l.Clone()
			l.Keys(func(key string, v []byte) {
				name := string(l.Type) + " " + key
				if _, ok := free[name]; ok || key == "lines" || key == "digest" && l.Type == session.TypeFooter || key == "lane" || key == "turn" || key == "v" || key == "canon" {
					return
				}
				other := otherValue(v)
				if other == nil {
					return
				}
				tried++
				changed := edited(t, path, func(m *session.Line) []byte {
					if m.No != l.No {
						return m.Payload()
					}
					p, err := m.With("/"+key, other)
					if err != nil {
						t.Fatal(err)
					}
					return p
				})
				if rep := file(t, changed, verify.Options{}); rep.Verdict != verify.Corrupt || rep.Line < l.No || rep.Reason == "" {
					t.Errorf("line %d, %s = %s: %s, line %d, %s", l.No, name, other, rep.Verdict, rep.Line, rep.Reason)
				}
			})
		}
		if tried < 30 {
			t.Errorf("only %d fields were changed", tried)
		}
	}
}

// otherValue gives another value of the same kind; nil where none is simple.
func otherValue(v []byte) []byte {
	switch {
	case len(v) > 2 && v[0] == '"' && v[1] != '\\':
		out := bytes.Clone(v)
		if out[1]++; v[1] == '9' || v[1] == 'f' || v[1] >= 0x7e {
			out[1] = '0'
		}
		return out
	case v[0] >= '0' && v[0] <= '9':
		return append([]byte("1"), v...)
	case string(v) == "true":
		return []byte("false")
	}
	return nil
}

func TestDamage(t *testing.T) {
	path := played(t)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(raw, []byte("\n"))
	lines = lines[:len(lines)-1]
	without := func(i int) []byte { return bytes.Join(append(append([][]byte{}, lines[:i]...), lines[i+1:]...), nil) }
	for name, c := range map[string]struct {
		raw     []byte
		verdict verify.Verdict
		line    int
		reason  string
	}{
		"a byte":     {bytes.Replace(raw, []byte("You complete"), []byte("you complete"), 1), verify.Corrupt, 1 + bytes.Count(raw[:bytes.Index(raw, []byte("You complete"))], []byte("\n")), "chain is broken"},
		"a line":     {without(5), verify.Corrupt, 6, "sequence number"},
		"no footer":  {without(len(lines) - 1), verify.Torn, 0, "no footer"},
		"torn":       {raw[:len(raw)-9], verify.Torn, len(lines), "torn"},
		"empty":      {nil, verify.Corrupt, 1, "empty"},
		"text":       {[]byte("hello\n"), verify.Corrupt, 1, "no JSON object"},
		"newer":      {bytes.Replace(raw, []byte("session/1"), []byte("session/7"), 1), verify.TooNew, 1, "session/7"},
		"after it":   {append(bytes.Clone(raw), "{}\n"...), verify.Corrupt, len(lines) + 1, "after the footer"},
		"two in one": {append(bytes.Clone(raw), raw...), verify.Corrupt, len(lines) + 1, "after the footer"},
	} {
		p := filepath.Join(filepath.Dir(path), "y"+session.Suffix)
		if err := os.WriteFile(p, c.raw, 0o600); err != nil {
			t.Fatal(err)
		}
		rep := file(t, p, verify.Options{})
		if rep.Verdict != c.verdict || rep.Line != c.line || !strings.Contains(rep.Reason, c.reason) || rep.Verdict.Exit() != 3 {
			t.Errorf("%s: %s, line %d, %s", name, rep.Verdict, rep.Line, rep.Reason)
		}
	}
	// Of many files one that is gone does not end the command.
	if rep := file(t, filepath.Join(t.TempDir(), "none"), verify.Options{}); rep.Verdict != verify.Corrupt || rep.Reason == "" {
		t.Errorf("a file that is not there: %s %s", rep.Verdict, rep.Reason)
	}
}

func TestBlobs(t *testing.T) {
	for name, harm := range map[string]func(string) error{
		"another content": func(p string) error { return os.WriteFile(p, bytes.Repeat([]byte("larger fil\n"), 1000), 0o600) },
		"another size":    func(p string) error { return os.WriteFile(p, []byte("x"), 0o600) },
		"not there":       os.Remove,
		"a folder":        func(p string) error { return cmpErr(os.Remove(p), os.Mkdir(p, 0o700)) },
	} {
		path := played(t)
		sum := model.Sum(big)
		if err := harm(filepath.Join(filepath.Dir(path), session.BlobDir, sum.String())); err != nil {
			t.Fatal(name, err)
		}
		rep := file(t, path, verify.Options{})
		if rep.Verdict != verify.Corrupt || rep.Line != 1 || !strings.Contains(rep.Reason, sum.String()) || strings.Contains(rep.Reason, filepath.Dir(path)) {
			t.Errorf("%s: %s, line %d, %s", name, rep.Verdict, rep.Line, rep.Reason)
		}
	}
}

func cmpErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// A secret is found wherever a text stands, named by place and kind, and never
// said.
func TestLeaks(t *testing.T) {
	key := "sk-" + strings.Repeat("Ab1", 16)
	secret := `pass"word/` + "\u00e4-x1"
	quoted, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	escaped := `"\u0073\u006b` + key[2:] + `"`
	for name, c := range map[string]struct {
		pointer string
		value   string
		kind    string
	}{
		"a key":           {"/labels/arm", `"` + key + `"`, "shape"},
		"an escaped key":  {"/labels/arm", escaped, "shape"},
		"a declared one":  {"/labels/b", string(quoted), "declared"},
		"within a text":   {"/labels/b", `"x ` + string(quoted[1:len(quoted)-1]) + ` y"`, "declared"},
		"as a label name": {"/labels/" + strings.ReplaceAll(key, "/", "~1"), `"x"`, "shape"},
	} {
		path := edited(t, played(t), func(l *session.Line) []byte {
			if l.Type != session.TypeHeader {
				return l.Payload()
			}
			p, err := l.With(c.pointer, []byte(c.value))
			if err != nil {
				t.Fatal(err)
			}
			return p
		})
		rep := file(t, path, verify.Options{Secrets: []verify.Secret{{Name: "PASS", Value: secret}}})
		if rep.Verdict != verify.Leak || rep.Verdict.Exit() != 1 || len(rep.Leaks) == 0 {
			t.Errorf("%s: %+v", name, rep)
			continue
		}
		f := rep.Leaks[0]
		if f.Line != 1 || f.Kind != c.kind || (f.Name == "PASS") != (c.kind == "declared") || !strings.HasPrefix(f.Pointer, "/labels") {
			t.Errorf("%s: %+v", name, f)
		}
		out, err := json.Marshal(rep)
		if err != nil || bytes.Contains(out, []byte(key[3:])) || bytes.Contains(out, []byte("word/")) {
			t.Errorf("%s: the secret is told: %s", name, out)
		}
		if plain := file(t, path, verify.Options{}); (plain.Verdict == verify.Leak) != (c.kind == "shape") {
			t.Errorf("%s: without the declared secret %s", name, plain.Verdict)
		}
	}
}

func TestLeakInBlob(t *testing.T) {
	path := played(t)
	content := []byte(strings.Repeat(" ", 1<<20-5) + "sk-" + strings.Repeat("Ab1", 16) + " tail") // on the border of two pieces
	d := model.Sum(content)
	if err := session.BlobsBeside(path).Put(d, content); err != nil {
		t.Fatal(err)
	}
	pointer := ""
	changed := edited(t, path, func(l *session.Line) []byte {
		if l.Type != session.TypeHeader {
			return l.Payload()
		}
		h, err := l.Header()
		if err != nil {
			t.Fatal(err)
		}
		pointer = fmt.Sprintf("/tree/%d/digest", len(h.Tree)-1)
		p, err := l.With(pointer, fmt.Appendf(nil, "%q", d))
		if err == nil {
			return mustWith(t, p, "size", fmt.Sprint(len(content)))
		}
		t.Fatal(err)
		return nil
	})
	rep := file(t, changed, verify.Options{})
	if len(rep.Leaks) != 1 || rep.Leaks[0].Blob != d.String() || rep.Leaks[0].Pointer != pointer || rep.Leaks[0].Kind != "shape" {
		t.Errorf("%s %s, %+v", rep.Verdict, rep.Reason, rep.Leaks)
	}
}

// mustWith changes the size of the last file of a header's payload.
func mustWith(t *testing.T, payload []byte, key, value string) []byte {
	t.Helper()
	old := []byte(fmt.Sprintf(`%q:11000,`, key))
	if !bytes.Contains(payload, old) {
		t.Fatalf("no %s in %s", old, payload)
	}
	return bytes.Replace(payload, old, []byte(fmt.Sprintf("%q:%s,", key, value)), 1)
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := verify.File(ctx, wireFile, verify.Options{}); err == nil {
		t.Error("a cancelled verification gave a report")
	}
}

// FuzzVerify: no input makes it panic, and what the reader calls broken is never
// OK.
func FuzzVerify(f *testing.F) {
	raw, err := os.ReadFile(wireFile)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte("{}\n"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(dir, "f"+session.Suffix)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		rep, err := verify.File(context.Background(), path, verify.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := session.Verify(session.NewReader(bytes.NewReader(b))); err != nil && rep.Verdict.Exit() != 3 && !bytes.HasPrefix(b, []byte("\x28\xb5\x2f\xfd")) {
			t.Errorf("%s, and the reader says %v", rep.Verdict, err)
		}
	})
}
