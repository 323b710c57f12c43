package session_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/recorder/internal/sample"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// same emits a line as it is.
func same(l *session.Line, emit func(session.Type, []byte) error) error {
	return emit(l.Type, l.Payload())
}

func TestEditIsIdentity(t *testing.T) {
	b := record(t, sample.Play)
	var out bytes.Buffer
	if err := session.Edit(&out, bytes.NewReader(b), same); err != nil || !bytes.Equal(out.Bytes(), b) {
		t.Fatalf("a copy differs (%v)", err)
	}
	out.Reset()
	if err := session.Edit(&out, bytes.NewReader(b[:len(b)-3]), same); err != nil {
		t.Fatal(err)
	}
	if ls, r, err := read(out.Bytes()); err != nil || r.Complete() || r.Torn() != nil || len(ls) != bytes.Count(b, []byte("\n"))-1 {
		t.Fatalf("%d lines, %v", len(ls), err)
	}
	if err := session.Edit(&out, strings.NewReader("{}\n"), same); err == nil {
		t.Fatal("damage is edited")
	}
}

// TestEditEveryField changes each field of each line in turn and seals again:
// the chain is sound, and either the line or a digest of what is served tells.
func TestEditEveryField(t *testing.T) {
	b := record(t, sample.Play)
	ls, _, err := read(b)
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for _, target := range ls {
		target.Keys(func(key string, old []byte) {
			if target.Type == session.TypeFooter && (key == "lines" || key == "digest") || key == "v" && target.Type == session.TypeHeader {
				return // the writer's own, and the version
			}
			value := other(old)
			var out bytes.Buffer
			err := session.Edit(&out, bytes.NewReader(b), func(l *session.Line, emit func(session.Type, []byte) error) error {
				if l.No != target.No {
					return same(l, emit)
				}
				payload, err := l.With("/"+key, value)
				if err != nil {
					return err
				}
				return emit(l.Type, payload)
			})
			if err != nil {
				t.Fatalf("line %d, %s = %s: %v", target.No, key, value, err)
			}
			got, _, err := read(out.Bytes())
			if err != nil || len(got) != len(ls) {
				t.Fatalf("line %d, %s = %s: %v", target.No, key, value, err)
			}
			if bytes.Equal(got[target.No-1].Payload(), target.Payload()) {
				t.Fatalf("line %d, %s: nothing changed", target.No, key)
			}
			before, after := inputsOf(t, ls), inputsOf(t, got)
			if session.IsInput(target.Type, key) != (before != after) {
				t.Errorf("line %d (%s), %s: input %v, inputs digest changed %v", target.No, target.Type, key, session.IsInput(target.Type, key), before != after)
			}
			changed++
		})
	}
	if changed < 150 {
		t.Errorf("only %d fields were changed", changed)
	}
}

func inputsOf(t *testing.T, ls []*session.Line) string {
	t.Helper()
	in := session.NewInputs()
	for _, l := range ls {
		if err := in.Add(l); err != nil {
			t.Fatal(err)
		}
	}
	return in.Digest().String()
}

// other returns another value of the same kind.
func other(v []byte) []byte {
	switch v[0] {
	case '"':
		return []byte(`"` + "z" + string(v[1:]))
	case '{':
		return []byte(`{"zz":1}`)
	case '[':
		if string(v) == "[]" {
			return []byte(`["x"]`)
		}
		return []byte(`[]`)
	case 't':
		return []byte("false")
	case 'n':
		return []byte("0")
	default:
		if string(v) == "0" {
			return []byte("1")
		}
		return append(bytes.Clone(v), '0')
	}
}

func TestWith(t *testing.T) {
	ls, _, err := read(seal(t, "note", `,"what":"w","a":{"b":[1,{"c/d":2,"~":3}]}`, "note", ``))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ pointer, value, want string }{
		{"/what", `"x"`, `,"what":"x","a":{"b":[1,{"c/d":2,"~":3}]}`},
		{"/what", ``, `,"a":{"b":[1,{"c/d":2,"~":3}]}`},
		{"/new", `null`, `,"what":"w","a":{"b":[1,{"c/d":2,"~":3}]},"new":null`},
		{"/a/b/0", `[]`, `,"what":"w","a":{"b":[[],{"c/d":2,"~":3}]}`},
		{"/a/b/0", ``, `,"what":"w","a":{"b":[{"c/d":2,"~":3}]}`},
		{"/a/b/1/c~1d", `5`, `,"what":"w","a":{"b":[1,{"c/d":5,"~":3}]}`},
		{"/a/b/1/~0", ``, `,"what":"w","a":{"b":[1,{"c/d":2}]}`},
		{"what", `1`, ""}, {"/a/x/y", `1`, ""}, {"/a/b/7", `1`, ""}, {"/a/b/x", `1`, ""}, {"/gone", ``, ""}, {"/what", `NaN`, ""}, {"/what/deep", `1`, ""}, {"/what", `1,"what":2`, ""},
	} {
		var value []byte
		if c.value != "" {
			value = []byte(c.value)
		}
		got, err := ls[1].With(c.pointer, value)
		if (err != nil) != (c.want == "") || string(got) != c.want {
			t.Errorf("%s = %s: got %s, %v; want %s", c.pointer, c.value, got, err, c.want)
		}
	}
	if got, err := ls[2].With("/a", []byte("1")); err != nil || string(got) != `,"a":1` {
		t.Errorf("%s, %v", got, err)
	}
}

func TestWriterRefuses(t *testing.T) {
	for name, pairs := range map[string][]string{
		"no header":  {"note", ""},
		"two":        {"header", "", "header", ""},
		"bad type":   {"header", "", "No Type", ""},
		"after":      {"header", "", "footer", "", "note", ""},
		"empty type": {"header", "", "", ""},
		"long line":  {"header", "", "note", `,"x":"` + strings.Repeat("x", session.MaxLine) + `"`},
	} {
		w := session.NewWriter(&bytes.Buffer{})
		var err error
		for i := 0; i < len(pairs); i += 2 {
			err = w.Line(session.Type(pairs[i]), []byte(pairs[i+1]))
		}
		if err == nil || w.Flush() == nil {
			t.Errorf("%s passes", name)
		}
	}
	full := errors.New("disk full")
	w := session.NewWriter(failing{full})
	if err := errors.Join(w.Line("header", nil), w.Turn()); !errors.Is(err, full) {
		t.Error(err)
	}
	if err := w.Line("note", nil); !errors.Is(err, full) {
		t.Error("the error does not stay")
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestConversationRefuses breaks the requests of sealed sessions.
func TestConversationRefuses(t *testing.T) {
	b := record(t, sample.Play)
	for _, c := range []struct {
		line           int // of the change
		pointer, value string
		where          int // of the error
	}{
		{5, "/body/content/0/text", `"other"`, 5}, // digest does not fit
		{5, "/body", `{"role":"user"}`, 5},        // not canonical
		{6, "/chain", `"00000000000000000000000000000000"`, 6},
		{11, "/items/0/text", `"other"`, 38}, // shows in the next request
		{12, "/id", `"other"`, 38},
		{16, "/id", `"other"`, 18}, // the rewrite has no result
		{13, "/i", `9`, 13},
	} {
		var out bytes.Buffer
		err := session.Edit(&out, bytes.NewReader(b), func(l *session.Line, emit func(session.Type, []byte) error) error {
			if l.No != c.line {
				return same(l, emit)
			}
			p, err := l.With(c.pointer, []byte(c.value))
			if err != nil {
				return err
			}
			return emit(l.Type, p)
		})
		if err != nil {
			t.Fatal(c, err)
		}
		ls, _, err := read(out.Bytes())
		if err != nil {
			t.Fatal(c, err)
		}
		talk := session.NewConversation()
		for _, l := range ls {
			if _, err = talk.Add(l); err != nil {
				break
			}
		}
		var d *session.DecodeError
		if !errors.As(err, &d) || d.Line != c.where {
			t.Errorf("line %d, %s: %v", c.line, c.pointer, err)
		}
	}
}
