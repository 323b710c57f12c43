package check

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// mem is a subject in memory.
type mem struct {
	answer string
	files  map[string]string
	broken map[string]error
}

func (m mem) Answer() string { return m.answer }

func (m mem) ReadFile(path string, limit int64) ([]byte, error) {
	if err := m.broken[path]; err != nil {
		return nil, err
	}
	s, ok := m.files[path]
	if !ok {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	return []byte(s[:min(int64(len(s)), limit)]), nil
}

func (m mem) Walk(fn func(string, int64) error) error {
	for _, p := range slices.Sorted(maps.Keys(m.files)) {
		if err := fn(p, int64(len(m.files[p]))); err != nil {
			return err
		}
	}
	return nil
}

func mustSpec(t testing.TB, yaml string) *Spec {
	t.Helper()
	g, err := decodeYAML(t, "- "+yaml)
	if err != nil {
		t.Fatalf("%s: %v", yaml, err)
	}
	return &g[0]
}

func TestEval(t *testing.T) {
	sub := mem{
		answer: "  The total is 1,234.50 dollars.\n",
		files: map[string]string{
			"answer.txt": "00900\n", "crlf.txt": "00900\r\n", "two.txt": "00900\n\n", "report.md": "# Title\nSum: 42\nSum: 42.0\n",
			"many.txt": "guess: 1\nguess: 2\n", "bin": "\x00\xff\x1b[31m", "a/b.txt": "x", "n.txt": " 3.14159\n", "big": strings.Repeat("a", MaxFile+1),
			"v.json": `{"total": 25.0, "id": 9007199254740993, "a/b": {"~": [1, "2", null, true]}, "e": 1e2}`, "bad.json": "{\n \"a\": nope}",
			"dup.json": `{"a":1,"a":1}`, "deep.json": strings.Repeat("[", 1000) + strings.Repeat("]", 1000),
		},
		broken: map[string]error{"dir": fs.ErrInvalid, "io": errors.New("disk on fire")},
	}
	tests := []struct {
		spec string
		ok   bool
		want string // within the reason
	}{
		{"equals: The total is 1,234.50 dollars.", true, ""},
		{"{type: equals, want: 'The total is 1,234.50 dollars.', trim: none}", false, "not what the task asks for"},
		{"{type: equals, want: 'the TOTAL is 1,234.50 dollars.', ignore_case: true}", true, ""},
		{"equals: the total", false, "not what the task asks for"},
		{"contains: 1,234", true, ""},
		{"contains: dolars", false, `does not contain "dolars"`},
		{"regex: '^The .*\\.$'", true, ""},
		{"regex: '^total'", false, "does not match the pattern ^total"},
		{"file_exists: a/b.txt", true, ""},
		{"file_exists: a", false, "a does not exist. Create it."},
		{"file_exists: dir", false, "not a regular file"},
		{"files_exist: [answer.txt, x.md, y.md]", false, "These files do not exist: x.md, y.md. Create them."},
		{"files_exist: [answer.txt, x.md]", false, "The file x.md does not exist. Create it."},
		{"file_equals: {path: answer.txt, want: 00900}", true, ""},
		{"file_equals: {path: crlf.txt, want: 00900}", true, ""},
		{"file_equals: {path: two.txt, want: 00900}", false, "The content of two.txt"},
		{"file_equals: {path: two.txt, want: 00900, trim: space}", true, ""},
		{"file_equals: {path: answer.txt, want: 00900, trim: none}", false, "The content"},
		{"file_equals: {path: answer.txt, want: 900}", false, "The content"},
		{"file_equals: {path: none.txt, want: 900}", false, "The file none.txt does not exist. Create it."},
		{"file_equals: {path: a/b.txt, sha256: 2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881}", true, ""},
		{"file_equals: {path: n.txt, sha256: 2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881}", false, "The content"},
		{"file_equals: {path: big, want: a}", false, "larger than 8 MiB"},
		{"file_contains: {path: report.md, want: 'Sum: 42'}", true, ""},
		{"file_contains: {path: report.md, want: 'sum: 42', ignore_case: true}", true, ""},
		{"file_contains: {path: report.md, want: '## End'}", false, `report.md does not contain "## End".`},
		{"file_matches: {path: report.md, pattern: '(?m)^Sum: \\d+$'}", true, ""},
		{"file_matches: {path: report.md, pattern: '^Sum'}", false, "match the pattern ^Sum"},
		{"file_matches: {path: bin, pattern: '^a'}", false, "match"},
		{"json_equals: {path: v.json, pointer: /total, want: 25}", true, ""},
		{"json_equals: {path: v.json, pointer: /total, want: '25'}", false, "the value at /total is wrong"},
		{"json_equals: {path: v.json, pointer: /id, want: 9007199254740993}", true, ""},
		{"json_equals: {path: v.json, pointer: /id, want: 9007199254740992}", false, "/id is wrong"},
		{"json_equals: {path: v.json, pointer: /a~1b, want: {'~': [1, '2', null, true]}}", true, ""},
		{"json_equals: {path: v.json, pointer: /a~1b/~0/1, want: 2}", false, "/a~1b/~0/1 is wrong"},
		{"json_equals: {path: v.json, pointer: /a~1b/~0/7, want: 2}", false, "there is no value at /a~1b/~0/7"},
		{"json_equals: {path: v.json, pointer: /a~1b/~0/01, want: 2}", false, "there is no value"},
		{"json_equals: {path: v.json, want: {total: 25, id: 9007199254740993, a/b: {'~': [1, '2', null, true]}, e: 100}}", true, ""},
		{"json_equals: {path: v.json, want: {total: 25}}", false, "the value at /a~1b should not be there"},
		{"json_equals: {path: v.json, pointer: /a~1b, want: {'~': [1, '2', null, true, 5]}}", false, "there is no value at /a~1b/~0/4"},
		{"json_equals: {path: bad.json, want: 1}", false, "not valid JSON: line 2, column 8"},
		{"json_equals: {path: dup.json, want: {a: 1}}", false, "duplicate"},
		{"json_equals: {path: deep.json, want: 1}", false, "nesting deeper"},
		{"json_equals: {want: 1}", false, "The final answer is not valid JSON"},
		{"number_within: {path: n.txt, want: 3.14, tolerance: 0.002}", true, ""},
		{"number_within: {path: n.txt, want: 3.14, tolerance: 0.001}", false, "The number in n.txt is not right."},
		{"number_within: {path: n.txt, want: 3, relative: 0.05}", true, ""},
		{"number_within: {path: n.txt, want: 3.14159}", true, ""},
		{"number_within: {pattern: '([0-9.,]+) dollars', want: 1234.5}", true, ""},
		{"number_within: {want: 1234.5}", false, "write the number alone"},
		{"number_within: {path: report.md, pattern: 'Sum: (\\S+)', want: 42}", true, ""},
		{"number_within: {path: many.txt, pattern: 'guess: (\\d)', want: 2}", false, "several different numbers"},
		{"number_within: {path: many.txt, pattern: 'guesses: (\\d)', want: 2}", false, "no number that matches"},
		{"number_within: {path: v.json, pointer: /e, want: 100}", true, ""},
		{"number_within: {path: v.json, pointer: /a~1b, want: 100}", false, "no number at /a~1b"},
		{"all: [{contains: total}, {file_exists: x}]", false, "The file x does not exist"},
		{"any: [{contains: total}, {file_exists: x}]", true, ""},
		{"any: [{file_exists: y}, {file_exists: x}]", false, "The file y does not exist"},
		{"{file_exists: x, hint: Write the report to x.}", false, "Write the report to x."},
	}
	for _, tt := range tests {
		t.Run(tt.spec, func(t *testing.T) {
			r, err := Eval(mustSpec(t, tt.spec), sub)
			if err != nil {
				t.Fatal(err)
			}
			if r.OK != tt.ok || !strings.Contains(r.Reason, tt.want) || r.OK != (r.Reason == "") {
				t.Errorf("got %+v, want ok=%v and %q in the reason", r, tt.ok, tt.want)
			}
			if again, _ := Eval(mustSpec(t, tt.spec), sub); again != r {
				t.Error("not deterministic")
			}
		})
	}
	if _, err := Eval(mustSpec(t, "file_equals: {path: io, want: x}"), sub); err == nil || !strings.Contains(err.Error(), "disk on fire") {
		t.Errorf("a reader's trouble is the checker's own error, got %v", err)
	}
	if _, err := Eval(mustSpec(t, "trajectory: {calls: 1}"), sub); err == nil {
		t.Error("a trajectory is no predicate")
	}
}

func TestTreeEquals(t *testing.T) {
	spec := mustSpec(t, `tree_equals: {files: {a: "1", d/b: "2", c: {sha256: 2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881}}, ignore: ["**/*.log", tmp/**]}`)
	tests := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"equal", map[string]string{"a": "1", "d/b": "2", "c": "x", "x/y.log": "", "tmp/q/r": ""}, ""},
		{"missing", map[string]string{"a": "1", "c": "x"}, "missing: d/b"},
		{"different", map[string]string{"a": "1\n", "d/b": "2", "c": "y"}, "not what the task asks for: a, c"},
		{"extra", map[string]string{"a": "1", "d/b": "2", "c": "x", "d/z": ""}, "not to be there: d/z"},
		{"all", map[string]string{"a": "2", "d/b": "2", "e": "x"}, "(missing: c; not what the task asks for: a; not to be there: e)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Eval(spec, mem{files: tt.files})
			if err != nil || r.OK != (tt.want == "") || !strings.Contains(r.Reason, tt.want) {
				t.Errorf("got %+v %v, want %q", r, err, tt.want)
			}
		})
	}
}

func TestAcceptanceFirstFailure(t *testing.T) {
	a := Acceptance{*mustSpec(t, "file_exists: a"), *mustSpec(t, "file_exists: b"), *mustSpec(t, "file_exists: c")}
	r, err := a.Check(mem{files: map[string]string{"a": ""}})
	if err != nil || r.OK || r.Reason != "The file b does not exist. Create it." {
		t.Errorf("got %+v %v", r, err)
	}
	if r, err := a.Check(mem{files: map[string]string{"a": "", "b": "", "c": ""}}); err != nil || !r.OK {
		t.Errorf("got %+v %v", r, err)
	}
	if _, err := a.Check(mem{broken: map[string]error{"a": errors.New("x")}}); err == nil {
		t.Error("own trouble was swallowed")
	}
}

func TestDecimal(t *testing.T) {
	equal := [][2]string{{"25", "25.0"}, {"25", "2.5e1"}, {"25", "250E-1"}, {"0", "-0.00e9"}, {"1e400", "10e399"}, {"-3", "-3.0"}, {"0.001", "1e-3"}}
	for _, p := range equal {
		if !parseDecimal(p[0]).equal(parseDecimal(p[1])) {
			t.Errorf("%s and %s are equal", p[0], p[1])
		}
	}
	unequal := [][2]string{{"25", "-25"}, {"9007199254740993", "9007199254740992"}, {"1", "10"}, {"1e400", "1e401"}, {"1e999999999999", "1e999999999998"}, {"0", "1"}}
	for _, p := range unequal {
		if parseDecimal(p[0]).equal(parseDecimal(p[1])) {
			t.Errorf("%s and %s are not equal", p[0], p[1])
		}
	}
	for _, s := range []string{"", "-", "01", "1.", ".5", "1e", "+1", "0x1", "1 ", "NaN"} {
		if parseDecimal(s).ok {
			t.Errorf("%q is no JSON number", s)
		}
	}
	if _, ok := parseDecimal("1e999999").rat(); ok {
		t.Error("1e999999 would take a million digits")
	}
}

func TestReadNumber(t *testing.T) {
	for in, want := range map[string]string{
		" 42\n": "42", "+7": "7", "-0.5": "-0.5", "1,234,567.89": "1234567.89", "007": "7", ".5": "0.5", "-.5": "-0.5", "000": "0", "1e3": "1e3",
		"1,23": "", "12,34": "", ",123": "", "1,": "", "4 2": "", "--1": "", "+-1": "", "x": "", "": "", "1.2.3": "", "٣": "",
	} {
		got, ok := readNumber(in)
		if ok != (want != "") || ok && got != want {
			t.Errorf("readNumber(%q) = %q, %v; want %q", in, got, ok, want)
		}
	}
}

func TestLookup(t *testing.T) {
	for _, tt := range []struct{ text, pointer, want string }{
		{`{"a":{"b":[1,"x"]}}`, "/a/b/1", "x"}, {`{"a":{"c":1,"b":[1,"x"]}}`, "/a", `{"b":[1,"x"],"c":1}`}, {`{"a/b":1.50}`, Pointer("a/b"), "1.50"},
	} {
		if got, ok := Lookup(tt.text, tt.pointer); !ok || got != tt.want {
			t.Errorf("%s at %s: %q, %v", tt.text, tt.pointer, got, ok)
		}
	}
	if _, ok := Lookup("not json", "/a"); ok {
		t.Error("found something in no JSON")
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain ünï": "plain ünï", "a\x1b[31mb\n\t\r": `a\x1b[31mb\n\t\r`, "\xff": `\xff`, "\u202e": `\u202e`, "\u0085": `\u0085`, "": "",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
	if got := Clean(strings.Repeat("a", MaxReason)); len(got) != MaxReason || strings.Contains(got, "...") {
		t.Errorf("a text that fits was cut to %d bytes", len(got))
	}
	if got := Clean(strings.Repeat("é", MaxReason)); len(got) > MaxReason || !strings.HasSuffix(got, "é...") {
		t.Errorf("cut badly: %q", got)
	}
}

func FuzzClean(f *testing.F) {
	f.Add(strings.Repeat("a", 499) + "\x00\x00")
	f.Add(strings.Repeat("a", 498) + "é\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		if len(got) > MaxReason || !utf8.ValidString(got) {
			t.Fatalf("%d bytes: %q", len(got), got)
		}
		if strings.IndexFunc(got, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) >= 0 {
			t.Fatalf("control character in %q", got)
		}
		if again := Clean(got); again != got {
			t.Fatalf("not idempotent: %q, %q", got, again)
		}
	})
}

// A JSON text is equal to itself and to its canonical form, and the canonical
// form is a fixed point.
func FuzzJSON(f *testing.F) {
	f.Add(`{"b":[1,2.50,{"a":null}],"a":"\u0041"}`)
	f.Add(`[1e-400,-0,"\ud83d\ude00"]`)
	f.Fuzz(func(t *testing.T, s string) {
		v, err := parseJSON([]byte(s))
		if err != nil {
			return
		}
		c := v.appendCanonical(nil)
		w, err := parseJSON(c)
		if err != nil {
			t.Fatalf("%s: %v", c, err)
		}
		if d := difference(v, w, ""); d != nil {
			t.Fatalf("%s differs from %s: %+v", s, c, d)
		}
		if d := cmp.Diff(string(c), string(w.appendCanonical(nil))); d != "" {
			t.Fatal(d)
		}
	})
}
