package scenarios

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/harnessbench/harnessbench/graders/check"
	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

var update = flag.Bool("update", false, "rewrite golden files")

const minimal = `-- scenario.yaml --
schema: harnessbench/scenario/v1
id: small
summary: a small one
graders:
- {type: file_equals, path: answer.txt, want: "00900"}
-- instruction.md --

Write 00900 to /workspace/answer.txt.
`

func TestLoadWhole(t *testing.T) {
	s, err := Load("testdata/whole.txtar")
	if err != nil {
		t.Fatal(err)
	}
	want := &Scenario{
		ID: "whole", Summary: "every key once", Tags: []string{"files", "mocks"},
		Stresses: []string{"stuck"}, Controls: []string{"spill"},
		Instruction: "Do everything once.",
		Files: []File{
			{"a/notes.txt", []byte("first\n")},
			{"big.log", []byte("0001 A 2026-01-01T00:00:00Z\nneedle\n0003 A 2026-01-01T00:02:00Z\n")},
		},
		Limits: Limits{Turns: 16, ToolCalls: 64, Tokens: 200000, CostMicroUSD: 1250000, Wall: 10 * time.Minute, ContextWindow: 16000, MaxTokens: 1024},
		Tools: []Tool{{Name: "read_file"}, {Name: "book", Mock: &Mock{
			Version: 2, Description: "Books a room.", Effect: EffectWrite, Parallel: true, Takes: 50 * time.Millisecond,
			Schema: `{"properties":{"room":{"type":"string"}},"type":"object"}`,
			Responses: []Response{
				{AtCall: []Range{{2, 2}, {4, 6}, {9, 0}}, When: map[string]string{"room": "^A"}, Text: "booked", Takes: time.Second, Files: []File{{"book.txt", []byte("A\n")}}},
				{Text: "full", Error: true},
			},
		}}},
		Faults: []Fault{
			{Tool: "book", Kind: "truncate", AtCall: []int{3}, Bytes: 24 << 10},
			{Model: true, Kind: "rate_limit", AtTurn: []int{2}, AtAttempt: []int{1, 2}, Status: 429, RetryAfter: 2 * time.Second},
		},
		Permissions: Permissions{Read: []string{"**"}, Write: []string{"out/**"}, Deny: []string{"secret/**"}, Network: "none"},
		User:        []Utterance{{"(?i)which room", "Room A."}},
		Seals:       []string{"tests/**"},
		GraderFiles: []File{{"want.txt", []byte("x\n")}},
		Lint:        Lint{"pass", "fail", "pass"},
		Oracle:      []byte("rules: []\n"), OracleName: "testdata/whole.txtar/oracle.yaml", Source: "testdata/whole.txtar",
	}
	opts := cmp.Options{cmpopts.IgnoreFields(Scenario{}, "Digest", "Acceptance", "Graders"), cmpopts.IgnoreUnexported(Scenario{}), cmpopts.IgnoreTypes(strictyaml.Pos{})}
	if d := cmp.Diff(want, s, opts); d != "" {
		t.Error(d)
	}
	if len(s.Acceptance) != 1 || s.Acceptance[0].Kind != check.FilesExist || len(s.Graders) != 2 {
		t.Errorf("checks: %v %v", s.Acceptance, s.Graders)
	}
	if !s.Tagged("mocks") || s.Tagged(TagHarms) {
		t.Error("tags")
	}
	golden(t, "whole.digest", s.Digest+"\n")
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	p := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(p, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(p)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s: got %s want %s", p, got, want)
	}
}

func TestDefaults(t *testing.T) {
	s, err := LoadTxtar("small", []byte(minimal))
	if err != nil {
		t.Fatal(err)
	}
	if s.Limits != (Limits{Turns: 50, ToolCalls: 200, Wall: 30 * time.Minute}) || s.Lint != (Lint{"pass", "fail", "fail"}) || s.Permissions.Network != "none" {
		t.Errorf("%+v", s)
	}
	if s.Oracle != nil || s.Instruction != "Write 00900 to /workspace/answer.txt." {
		t.Errorf("%+v", s)
	}
}

// The same scenario has one digest, whatever it is read from and in whatever
// order; every byte and name counts, people's notes do not.
func TestDigest(t *testing.T) {
	data, err := os.ReadFile("testdata/whole.txtar")
	if err != nil {
		t.Fatal(err)
	}
	a := txtar.Parse(data)
	dir, mem := t.TempDir(), fstest.MapFS{}
	for _, f := range a.Files {
		p := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
		mem[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	one := load(t)(LoadTxtar("a", data))
	for _, other := range []*Scenario{load(t)(Load(dir)), load(t)(LoadFS(mem, "b"))} {
		opts := cmp.Options{cmpopts.IgnoreFields(Scenario{}, "Source", "OracleName", "Acceptance", "Graders"), cmpopts.IgnoreUnexported(Scenario{}), cmpopts.IgnoreTypes(strictyaml.Pos{})}
		if d := cmp.Diff(one, other, opts); d != "" {
			t.Error(d)
		}
	}
	a.Files = append(a.Files[3:], a.Files[:3]...)
	a.Files = append(a.Files, txtar.File{Name: "README.md", Data: []byte("for people\n")})
	if s := load(t)(LoadTxtar("c", txtar.Format(a))); s.Digest != one.Digest {
		t.Error("order or README.md changed the digest")
	}
	for i := range a.Files[:len(a.Files)-1] {
		if a.Files[i].Name == "scenario.yaml" || strings.HasPrefix(a.Files[i].Name, "oracle") {
			continue
		}
		b := &txtar.Archive{Files: append([]txtar.File(nil), a.Files...)}
		b.Files[i].Data = append([]byte("x"), b.Files[i].Data...)
		if s := load(t)(LoadTxtar("d", txtar.Format(b))); s.Digest == one.Digest {
			t.Errorf("a change of %s kept the digest", b.Files[i].Name)
		}
	}
}

func load(t *testing.T) func(*Scenario, error) *Scenario {
	return func(s *Scenario, err error) *Scenario {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// The archive's form is that of the txtar package.
func TestTxtar(t *testing.T) {
	seeds, _ := filepath.Glob("builtin/*.txtar")
	for _, p := range append(seeds, "testdata/whole.txtar") {
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		var want []File
		for _, f := range txtar.Parse(data).Files {
			want = append(want, File{f.Name, f.Data})
		}
		if d := cmp.Diff(want, parseTxtar(data)); d != "" {
			t.Errorf("%s: %s", p, d)
		}
	}
	got := parseTxtar([]byte("c\n-- a b --\r\nx\n--  --\n-- c --\ny"))
	if d := cmp.Diff([]File{{"a b", []byte("x\n--  --\n")}, {"c", []byte("y\n")}}, got); d != "" {
		t.Error(d)
	}
}

// with replaces or adds lines of the minimal description.
func with(lines string) string {
	return strings.Replace(minimal, "graders:\n", lines+"\ngraders:\n", 1)
}

const mockHead = "tools:\n- name: m\n  kind: mock\n  description: d\n  responses: [{text: x}]\n"

func TestErrors(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", `s: no file in the archive`},
		{"no description", "-- instruction.md --\nx\n", `s: scenario.yaml is missing`},
		{"no instruction", strings.Split(minimal, "-- instruction.md --")[0], `s: instruction.md is missing or empty; write the task in it`},
		{"unknown file", minimal + "-- notes.txt --\nx\n", `s: notes.txt is no part of a scenario; move it below workspace/`},
		{"leaves", minimal + "-- workspace/../../etc/passwd --\nx\n", `the name leaves the folder`},
		{"absolute", minimal + "-- /etc/passwd --\nx\n", `/etc/passwd: the name is absolute`},
		{"backslash", minimal + "-- workspace\\a --\nx\n", `the name holds one of`},
		{"escape", minimal + "-- workspace/a\x1b[31m --\nx\n", `workspace/a?[31m: the name holds a control character`},
		{"harness", minimal + "-- workspace/.harness/x --\nx\n", `belongs to the harness`},
		{"twice", minimal + "-- workspace/a --\nx\n-- workspace/a --\ny\n", `workspace/a is there twice`},
		{"file and folder", minimal + "-- workspace/a --\nx\n-- workspace/a/b --\ny\n", `workspace/a is a file and a folder`},
		{"schema", strings.Replace(minimal, "/v1", "/v9", 1), `s/scenario.yaml:1:9: schema "harnessbench/scenario/v9" is not known; this version reads harnessbench/scenario/v1`},
		{"id", strings.Replace(minimal, "id: small", "id: Small One", 1), `s/scenario.yaml:2:5: "Small One" is no id`},
		{"unknown key", with("limit: {turns: 3}"), `s/scenario.yaml:4:1: unknown key "limit"; did you mean "limits"?`},
		{"nested key", with("limits: {turn: 3}"), `s/scenario.yaml:4:10: unknown key "turn"; did you mean "turns"?`},
		{"duplicate", with("id: again"), `s/scenario.yaml:4:1: mapping key "id" already defined`},
		{"wrong type", with("limits: {turns: many}"), `s/scenario.yaml:4:17: this must be a whole number`},
		{"turns", with("limits: {turns: -1}"), `limits: turns must be 0 (unset) to 100000`},
		{"duration", with("limits: {wall: 10}"), `s/scenario.yaml:4:16: "10" is no duration; write it like 50ms`},
		{"no graders", strings.Split(minimal, "graders:")[0] + "-- instruction.md --\nx\n", `nothing would judge this scenario`},
		{"bad grader", strings.Replace(minimal, "path: answer.txt", "pfad: answer.txt", 1), `s/scenario.yaml:5:23: `},
		{"bad acceptance", with("acceptance: [{file_exist: a}]"), `s/scenario.yaml:4:`},
		{"guard both", with("stresses: [stuck]\ncontrols: [stuck]"), `guard "stuck" cannot be stressed and controlled`},
		{"tag", with("tags: [a, a]"), `tags: "a" is there twice`},
		{"tool twice", with("tools: [grep, grep]"), `s/scenario.yaml:4:15: tool "grep" is there twice`},
		{"tool name", with("tools: [../grep]"), `"../grep" is no name of a tool`},
		{"mock kind", with("tools: [{name: a, kind: shell, description: d, responses: [{text: x}]}]"), `kind "shell" is not known`},
		{"mock empty", with("tools: [{name: a, kind: mock, description: d, responses: []}]"), `a mock has 1 to 256 responses`},
		{"mock both", with("tools: [{name: a, kind: mock, description: d, responses: [{text: x, error: y}]}]"), `a response is an error or a result`},
		{"mock writes", with("tools: [{name: a, kind: mock, description: d, responses: [{files: [{path: a}]}]}]"), `a tool that only reads cannot write files; declare effect: write`},
		{"mock path", with("tools: [{name: a, kind: mock, effect: write, description: d, responses: [{files: [{path: ../a}]}]}]"), `path ../a: the name leaves the folder`},
		{"mock pattern", with("tools: [{name: a, kind: mock, description: d, responses: [{when: {x: '('}}]}]"), `s/scenario.yaml:4:`},
		{"fault of nobody", with("faults: [{kind: hang}]"), `a fault strikes either a tool or the model`},
		{"fault tool", with("faults: [{tool: a, kind: hang}]"), `the scenario has no tool "a"`},
		{"fault kind", with(mockHead + "faults: [{tool: m, kind: explode}]"), `fault kind "explode" is not known here; use one of error, flaky, hang`},
		{"fault call zero", with(mockHead + "faults: [{tool: m, kind: hang, at_call: 0}]"), `"0" is no number from 1; count from 1`},
		{"fault mixed", with("faults: [{model: true, kind: hang, at_call: 1}]"), `at_call belongs to tools`},
		{"fault size", with(mockHead + "faults: [{tool: m, kind: truncate, bytes: 4K}]"), `"4K" is no size; write it like 512, 24KiB or 2MiB`},
		{"response calls", with("tools: [{name: a, kind: mock, description: d, responses: [{at_call: 5-3, text: x}]}]"), `"5-3" names no calls`},
		{"fault p", with(mockHead + "faults: [{tool: m, kind: flaky, p: 2}]"), `p is the probability of flaky`},
		{"marker without a name", "-- --\nx", `no file in the archive`},
		{"cache", with("cache: hot"), `cache: "hot" is not known; use warm or other`},
		{"hurts nothing", with("hurts: [{guard: fallback, fallback: [sim/weak]}]"), `hurts: fallback is set as it always is`},
		{"lint", with("lint: {spam: maybe}"), `lint: "maybe" is no verdict`},
		{"network", with("permissions: {network: lan}"), `network "lan" is not known`},
		{"generate lines", with("generate: [{path: a, lines: 0, line: x}]"), `lines must be 1 to 100000`},
		{"generate field", with("generate: [{path: a, lines: 1, line: '{rand:9}'}]"), `{rand:9}: not known`},
		{"generate brace", with("generate: [{path: a, lines: 1, line: '{n'}]"), `line has a { without }`},
		{"generate big", with("generate: [{path: a, lines: 100000, line: '{hex:64}{hex:64}'}]"), `the text has more than 8388608 bytes`},
		{"generate path", with("generate: [{path: ../a, lines: 1, line: x}]"), `the name leaves the folder`},
		{"generate over", with("generate: [{path: a, lines: 1, line: x, insert: [{at: 2, text: y}]}]"), `at: 2 is not among the 1 lines`},
		{"generate there", with("generate: [{path: a, lines: 1, line: x}]") + "-- workspace/a --\nx\n", `a is there already`},
		{"deep", with("limits: " + strings.Repeat("[", 5000)), `s/scenario.yaml:4:73: nested deeper than 64`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := LoadTxtar("s", []byte(c.in))
			if err == nil {
				t.Fatalf("no error: %+v", s)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %s\nwant %s", err, c.want)
			}
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("not one clean line: %q", err)
			}
		})
	}
}

// The models for fallback of a bad setting, and how the response cache stands.
func TestRecoveryKeys(t *testing.T) {
	s, err := LoadTxtar("x.txtar", []byte("-- scenario.yaml --\nschema: "+Schema+"\nid: x\nsummary: s\ncache: other\n"+
		"hurts:\n- {guard: fallback, mode: enforce, set: {after: 1}, fallback: [sim/weak, sim/noop]}\n- {guard: fallback, mode: enforce}\n"+
		"graders: [{type: contains, want: x}]\n-- instruction.md --\nDo it.\n"))
	if err != nil {
		t.Fatal(err)
	}
	if s.Cache != CacheOther || !slices.Equal(s.Hurts[0].Fallbacks(), []string{"sim/weak", "sim/noop"}) || !slices.Equal(s.Hurts[1].Fallbacks(), FallbackModels) {
		t.Errorf("%q, %+v", s.Cache, s.Hurts)
	}
}

func TestFolderErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := Load(filepath.Join(dir, "none")); err == nil || !strings.Contains(err.Error(), "no scenario there") {
		t.Error(err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "scenario.yaml is missing") {
		t.Error(err)
	}
	if _, err := Load("load_test.go"); err == nil || !strings.Contains(err.Error(), "this is no scenario") {
		t.Error(err)
	}
	for _, f := range txtar.Parse([]byte(minimal)).Files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "workspace"), 0o755); err != nil {
		t.Fatal(err)
	}
	load(t)(Load(dir))
	link := filepath.Join(dir, "workspace", "l")
	if err := os.Symlink("/etc/passwd", link); err != nil {
		t.Skip("links cannot be made here: ", err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "workspace/l: not a regular file (a link)") {
		t.Error(err)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Link("load_test.go", link); err == nil {
		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "workspace/l: a hard link") {
			t.Error(err)
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "workspace", "big"), make([]byte, MaxFileBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "workspace/big: larger than 8388608 bytes") {
		t.Error(err)
	}
}

// FuzzLoad: an archive gives a scenario that keeps its promises, or one error.
func FuzzLoad(f *testing.F) {
	seeds, _ := filepath.Glob("builtin/*.txtar")
	for _, s := range append(seeds, "testdata/whole.txtar") {
		if b, err := os.ReadFile(s); err == nil {
			f.Add(b)
		}
	}
	f.Add([]byte(minimal))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := LoadTxtar("f", data)
		if err != nil {
			if s != nil || strings.Contains(err.Error(), "\x1b") {
				t.Fatalf("%v %q", s, err)
			}
			return
		}
		if s.Instruction == "" || len(s.Graders) == 0 || s.Limits.Turns < 1 || s.Limits.Wall <= 0 || len(s.Digest) != 64 {
			t.Fatalf("%+v", s)
		}
		for i, x := range s.Files {
			if checkName(dirWorkspace+x.Path) != nil || i > 0 && s.Files[i-1].Path >= x.Path {
				t.Fatalf("file %q", x.Path)
			}
		}
	})
}
