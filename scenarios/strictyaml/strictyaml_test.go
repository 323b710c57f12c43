package strictyaml

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

type inner struct {
	Pos  Pos
	Name string `yaml:"name,required"`
	Size int    `yaml:"size"`
}

type outer struct {
	Title  string            `yaml:"title"`
	On     bool              `yaml:"on"`
	Count  uint64            `yaml:"count"`
	Ratio  float64           `yaml:"ratio"`
	Words  []string          `yaml:"words"`
	Inner  inner             `yaml:"inner"`
	Many   []inner           `yaml:"many"`
	Ptr    *inner            `yaml:"ptr"`
	Labels map[string]string `yaml:"labels"`
	Raw    *Node             `yaml:"raw"`
	Skip   string            `yaml:"-"`
}

func TestDecode(t *testing.T) {
	var got outer
	err := Unmarshal("f.yaml", []byte(`
title: "00900"
on: true
count: 18446744073709551615
ratio: 3
words: [a, 'b', "c"]
inner: {name: x, size: -2}
many:
- name: y
- {name: z, size: 4}
ptr: {name: p}
labels: {k: v}
`), &got)
	if err != nil {
		t.Fatal(err)
	}
	want := outer{
		Title: "00900", On: true, Count: 1<<64 - 1, Ratio: 3, Words: []string{"a", "b", "c"},
		Inner: inner{Pos{"f.yaml", 7, 8}, "x", -2},
		Many:  []inner{{Pos{"f.yaml", 9, 3}, "y", 0}, {Pos{"f.yaml", 10, 3}, "z", 4}},
		Ptr:   &inner{Pos: Pos{"f.yaml", 11, 6}, Name: "p"}, Labels: map[string]string{"k": "v"},
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(outer{}, "Raw")); d != "" {
		t.Error(d)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"unknown key near", "titel: x", `f.yaml:1:1: unknown key "titel"; did you mean "title"?`},
		{"unknown key far", "zebra: x", `f.yaml:1:1: unknown key "zebra"; known keys here: count,`},
		{"unknown nested", "inner:\n  name: a\n  colour: b", `f.yaml:3:3: unknown key "colour"`},
		{"number for text", "title: 900", `f.yaml:1:8: this must be a text, not a number; put it in quotes`},
		{"text for number", "inner: {name: a, size: big}", `f.yaml:1:24: this must be a whole number, not a string`},
		{"float for int", "inner: {name: a, size: 1.5}", `f.yaml:1:24: this must be a whole number`},
		{"negative unsigned", "count: -1", `f.yaml:1:8: -1 is no whole number in range`},
		{"text for bool", `on: "true"`, `f.yaml:1:5: this must be true or false`},
		{"scalar for list", "words: a", `f.yaml:1:8: this must be a list, not a string; put it in [ ]`},
		{"list for mapping", "inner: [a]", `f.yaml:1:8: this must be a mapping, not a list`},
		{"null entry", "words: [a, ~]", `f.yaml:1:12: an empty list entry`},
		{"missing", "inner: {size: 1}", `f.yaml:1:8: the key "name" is missing; add it`},
		{"duplicate", "title: a\ntitle: b", `f.yaml:2:1: mapping key "title" already defined at [1:1]; remove one of the two`},
		{"duplicate in flow", "labels: {a: x, a: y}", `f.yaml:1:16:`},
		{"anchor", "title: &a x", `f.yaml:1:8: anchors and aliases are not allowed`},
		{"alias", "title: *a", `f.yaml:1:8: anchors and aliases`},
		{"merge", "inner:\n  <<: {name: a}", `merge keys are not allowed`},
		{"tag", "title: !!str 3", `f.yaml:1:8: tags are not allowed`},
		{"documents", "title: a\n---\ntitle: b", `f.yaml: the file has 2 YAML documents`},
		{"infinity", "ratio: .inf", `f.yaml:1:8: infinities and NaN`},
		{"control", "title: \"a\x1b[31m\"", `f.yaml:1:10: control character 0x1b`},
		{"utf8", "title: \"a\xff\"", `f.yaml:1:10: byte 0xff is not valid UTF-8`},
		{"deep flow", "raw: " + strings.Repeat("[", 100_000), `f.yaml:1:70: nested deeper than 64; flatten it`},
		{"deep dashes", strings.Repeat("- ", 100_000) + "a", `f.yaml:1:129: nested deeper than 64`},
		{"deep lines", deepLines(100), `nested deeper than 64`},
		{"large", strings.Repeat("#", MaxBytes+1), `f.yaml: the file has 1048577 bytes, the limit is 1048576`},
		{"unclosed", `title: "a`, `f.yaml:1:8: `},
		{"complex key", "? [a]\n: b", "f.yaml:2:1: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			var o outer
			err := Unmarshal("f.yaml", []byte(c.in), &o)
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %s\nwant %s", err, c.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a line: %q", err)
			}
			var e *Error
			if !errors.As(err, &e) || e.What == "" || e.Fix == "" {
				t.Errorf("an error without what or fix: %#v", err)
			}
		})
	}
}

func deepLines(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func TestAppendJSON(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"{b: 1.50, a: [true, ~, 'x\"y']}", `{"a":[true,null,"x\"y"],"b":1.50}`},
		{"a: |\n  one\n  two\n", `{"a":"one\ntwo\n"}`},
		{"12345678901234567890", `12345678901234567890`},
		{"1: x", `{"1":"x"}`},
	} {
		n, err := Parse("f", []byte(c.in))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := n.AppendJSON(nil); err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v; want %s", c.in, got, err, c.want)
		}
	}
	for _, bad := range []string{"0x1F", "1_000", "+1", "a: [.5]"} {
		n, err := Parse("f", []byte(bad))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := n.AppendJSON(nil); err == nil {
			t.Errorf("%s became %s", bad, got)
		}
	}
}

func TestEmpty(t *testing.T) {
	for _, in := range []string{"", "# nothing\n", "---\n"} {
		n, err := Parse("f", []byte(in))
		if err != nil || n.Kind != Null {
			t.Errorf("%q: %v, %v", in, n, err)
		}
	}
}

// FuzzParse: any text gives a tree whose JSON is stable when read again, or one
// error.
func FuzzParse(f *testing.F) {
	seeds, _ := filepath.Glob("../builtin/*.txtar")
	for _, s := range seeds {
		if b, err := os.ReadFile(s); err == nil {
			f.Add(string(b))
		}
	}
	for _, s := range []string{"a: [b, {c: d}]", "? x\n: y", "a: !!int 3", "- - - a", "{a: b, a: c}", "a: 'x", "\t- a", "a: |2\n   x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		n, err := Parse("f", []byte(in))
		if err != nil {
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("not an *Error: %v", err)
			}
			return
		}
		j, err := n.AppendJSON(nil)
		if err != nil {
			return
		}
		again, err := Parse("f", j)
		if err != nil {
			return // JSON escapes that YAML does not know
		}
		if k, err := again.AppendJSON(nil); err == nil && string(k) != string(j) {
			t.Fatalf("%s became %s", j, k)
		}
	})
}
