package check

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var update = flag.Bool("update", false, "write the golden files")

// sameSpec compares specs up to where they were written.
var sameSpec = cmp.Options{
	cmpopts.IgnoreFields(Spec{}, "Pos"),
	cmpopts.IgnoreUnexported(Spec{}, Match{}),
}

func decodeYAML(t testing.TB, src string) (Graders, error) {
	t.Helper()
	var doc struct {
		Graders Graders `yaml:"graders"`
	}
	err := yaml.UnmarshalWithOptions([]byte("graders:\n"+src), &doc, yaml.Strict())
	return doc.Graders, err
}

// Both spellings of an entry are one spec.
func TestSpellings(t *testing.T) {
	tests := []struct{ name, short, long, canonical string }{
		{"files_exist", "- files_exist: [a.md, b/c.md]", "- {type: files_exist, paths: [a.md, b/c.md]}",
			`{"paths":["a.md","b/c.md"],"type":"files_exist"}`},
		{"one file", "- file_exists: report.md", "- {type: file_exists, path: report.md}",
			`{"path":"report.md","type":"file_exists"}`},
		{"a text that looks like a number", "- file_equals: {path: a, want: 00900}", `- {type: file_equals, path: a, want: "00900"}`,
			`{"path":"a","type":"file_equals","want":"00900"}`},
		{"a default named", "- equals: {want: yes, trim: space}", "- {equals: yes}", `{"type":"equals","want":"yes"}`},
		{"trim as a boolean", "- file_equals: {path: a, want: x, trim: false}", "- {type: file_equals, path: a, want: x, trim: none}",
			`{"path":"a","trim":"none","type":"file_equals","want":"x"}`},
		{"attributes beside", "- {regex: '^x$', id: r, gate: true}", "- {type: regex, gate: true, pattern: '^x$', id: r}",
			`{"gate":true,"id":"r","pattern":"^x$","type":"regex"}`},
		{"number lexemes are kept", "- json_equals: {want: {b: 1.50, a: 9007199254740993, c: [0x10, 1.0e+3]}}",
			"- type: json_equals\n  want:\n    a: 9007199254740993\n    b: 1.50\n    c:\n    - 16\n    - 1.0e+3\n",
			`{"type":"json_equals","want":{"a":9007199254740993,"b":1.50,"c":[16,1.0e+3]}}`},
		{"number", "- number_within: {want: .5, relative: 0.01}", "- {type: number_within, want: 0.5, relative: 0.01}",
			`{"relative":0.01,"type":"number_within","want":0.5}`},
		{"group", "- any:\n  - contains: x\n  - file_exists: y", "- {type: any, of: [{type: contains, want: x}, {type: file_exists, path: y}]}",
			`{"of":[{"type":"contains","want":"x"},{"path":"y","type":"file_exists"}],"type":"any"}`},
		{"tree", "- tree_equals: {files: {b: '1', a: {sha256: " + strings.Repeat("0a", 32) + "}}, ignore: ['**/*.log']}",
			"- {type: tree_equals, trim: none, ignore: '**/*.log', files: {a: {sha256: " + strings.Repeat("0a", 32) + "}, b: 1}}",
			`{"files":{"a":{"sha256":"` + strings.Repeat("0a", 32) + `"},"b":"1"},"ignore":["**/*.log"],"type":"tree_equals"}`},
		{"trajectory", "- trajectory: {use: [grep], calls: 3, counts: [{tool: grep, max: 2}], forbid: [{tool: '*', args: {path: ^x}}]}",
			"- {type: trajectory, use: [{tool: grep}], calls: {min: 3, max: 3}, counts: [{tool: grep, max: 2}], forbid: [{tool: '*', args: {path: '^x'}}]}",
			`{"calls":{"max":3,"min":3},"counts":[{"max":2,"tool":"grep"}],"forbid":[{"args":{"path":"^x"},"tool":"*"}],"type":"trajectory","use":[{"tool":"grep"}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			short, err := decodeYAML(t, tt.short)
			if err != nil {
				t.Fatalf("short: %v", err)
			}
			long, err := decodeYAML(t, tt.long)
			if err != nil {
				t.Fatalf("long: %v", err)
			}
			if d := cmp.Diff(short, long, sameSpec); d != "" {
				t.Errorf("the spellings differ:\n%s", d)
			}
			got := string(short[0].AppendJSON(nil))
			if got != tt.canonical {
				t.Errorf("canonical JSON\n got %s\nwant %s", got, tt.canonical)
			}
			if short[0].Digest() != long[0].Digest() {
				t.Error("the digests differ")
			}
			var back Graders
			if err := json.Unmarshal(short.AppendJSON(nil), &back); err != nil {
				t.Fatalf("decode the canonical JSON: %v", err)
			}
			if d := cmp.Diff(short, back, sameSpec); d != "" {
				t.Errorf("JSON does not give the specs back:\n%s", d)
			}
		})
	}
}

// Every wrong spec gives one error at its place; the golden file holds them.
func TestErrors(t *testing.T) {
	src, err := os.ReadFile("testdata/wrong.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, c := range strings.Split(strings.TrimSpace(string(src)), "\n---\n") {
		var doc struct {
			Acceptance Acceptance `yaml:"acceptance"`
			Graders    Graders    `yaml:"graders"`
		}
		err := yaml.UnmarshalWithOptions([]byte(c), &doc, yaml.Strict())
		if err == nil {
			t.Errorf("accepted:\n%s", c)
			continue
		}
		out.WriteString(c + "\n=> " + describe(t, err) + "\n---\n")
	}
	golden(t, "testdata/wrong.golden", out.String())
}

// describe says an error of the YAML library without its excerpt.
func describe(t *testing.T, err error) string {
	t.Helper()
	var e yaml.Error
	if !errors.As(err, &e) {
		t.Errorf("no place in %q (%T)", err, err)
		return err.Error()
	}
	p := e.GetToken().Position
	return (&Error{Pos: Pos{p.Line, p.Column}, Msg: e.GetMessage()}).Error()
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (run with -update to accept):\n%s", path, d)
	}
}

func TestJSONErrors(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"no JSON", `[{"type":"equals"`, "too early"},
		{"duplicate", `[{"type":"equals","want":"a","want":"b"}]`, "duplicate"},
		{"unknown", `[{"type":"equals","want":"a","x":1}]`, `no parameter "x"`},
		{"deep", strings.Repeat("[", 100_000), "nesting deeper"},
		{"nested groups", strings.Repeat(`[{"type":"all","of":`, 8) + `[]` + strings.Repeat(`}]`, 8), "is empty"},
		{"too nested", strings.Repeat(`[{"type":"all","of":`, 12) + `[{"type":"equals","want":"x"}]` + strings.Repeat(`}]`, 12), "nest deeper"},
		{"bad UTF-8", "[{\"type\":\"equals\",\"want\":\"\xff\"}]", "UTF-8"},
		{"trailing", `[] []`, "follows"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var g Graders
			err := g.UnmarshalJSON([]byte(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want ...%s...", err, tt.want)
			}
		})
	}
}

func TestValidateBuiltSpec(t *testing.T) {
	good := Spec{Kind: FileMatches, Path: "a", Pattern: "x+"}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for _, bad := range []Spec{
		{}, {Kind: "no"}, {Kind: FileMatches, Path: "a", Pattern: "("}, {Kind: FileExists, Path: "../a"}, {Kind: NumberWithin, Want: "x"},
		{Kind: JSONEquals, Want: "{"}, {Kind: All},
	} {
		if err := bad.Validate(); err == nil {
			t.Errorf("accepted: %+v", bad)
		}
	}
}

func TestNames(t *testing.T) {
	got := Names([]Spec{{Kind: Equals}, {Kind: Equals}, {Kind: Regex, ID: "mine"}, {Kind: Regex}, {Kind: Equals}})
	want := []string{"equals", "equals-2", "mine", "regex-2", "equals-3"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func FuzzSpecJSON(f *testing.F) {
	f.Add([]byte(`[{"type":"file_equals","path":"a","want":"b"}]`))
	f.Add([]byte(`[{"trajectory":{"order":["a",{"tool":"*","args":{"/x":"y"}}],"exact":true}}]`))
	f.Add([]byte(`[{"weighted":[{"equals":"x","weight":2},{"number_within":{"want":-0.0,"relative":1e-3}}],"pass_at":0.5}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var g, back Graders
		if g.UnmarshalJSON(data) != nil {
			return
		}
		js := g.AppendJSON(nil)
		if err := back.UnmarshalJSON(js); err != nil {
			t.Fatalf("%s: %v", js, err)
		}
		if d := cmp.Diff(g, back, sameSpec, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("%s:\n%s", js, d)
		}
		if again := back.AppendJSON(nil); string(again) != string(js) {
			t.Fatalf("not canonical:\n%s\n%s", js, again)
		}
	})
}

func FuzzSpecYAML(f *testing.F) {
	src, err := os.ReadFile("testdata/wrong.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range strings.Split(string(src), "\n---\n") {
		f.Add(c)
	}
	f.Add("graders:\n- json_equals: {want: {a: [1, 2.5, x, null, true]}}\n- {file_exists: x, gate: true}")
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 4096 {
			return
		}
		var doc struct {
			Graders Graders `yaml:"graders"`
		}
		if yaml.Unmarshal([]byte(src), &doc) != nil {
			return
		}
		var back Graders
		js := doc.Graders.AppendJSON(nil)
		if err := back.UnmarshalJSON(js); err != nil {
			t.Fatalf("%s: %v", js, err)
		}
		if d := cmp.Diff(doc.Graders, back, sameSpec, cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
	})
}

// The reference names every kind and every parameter.
func TestReference(t *testing.T) {
	doc, err := os.ReadFile("../../docs/graders.md")
	if err != nil {
		t.Fatal(err)
	}
	words := append([]string{}, attributes...)
	for _, k := range Kinds() {
		words = append(append(append(words, string(k)), kinds[k].need...), kinds[k].may...)
	}
	for _, w := range words {
		if !strings.Contains(string(doc), "`"+w+"`") && !strings.Contains(string(doc), "`"+w+":") {
			t.Errorf("docs/graders.md says nothing of `%s`", w)
		}
	}
}
