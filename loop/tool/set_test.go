package tool_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
)

// spec makes a spec for tests.
func spec(name, schema string) tool.Spec {
	return tool.Spec{
		ToolSpec: model.ToolSpec{Name: name, Version: 3, Description: "d", Schema: schema},
		Effect:   event.Read,
	}
}

const flat = `{"additionalProperties":false,"properties":{"kind":{"enum":["a","b"],"type":"string"},"limit":{"maximum":2000,"minimum":1,"type":"integer"},"on":{"type":"boolean"},"path":{"maxLength":40,"minLength":1,"type":"string"},"x":{"type":"number"}},"required":["path"],"type":"object"}`

// nested is beyond the fast path.
const nested = `{"properties":{"list":{"items":{"type":"integer"},"maxItems":2,"type":"array"},"name":{"pattern":"^[a-z]+$","type":"string"}},"type":"object"}`

func newSet(t testing.TB, tools ...tool.Tool) *tool.Set {
	t.Helper()
	s, err := tool.NewSet(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPrepare(t *testing.T) {
	canonical := func(args string) (string, []string, error) {
		switch {
		case strings.Contains(args, "denied"):
			return args, nil, &tool.DeniedError{Err: errors.New("/etc: lies outside")}
		case strings.Contains(args, "broken"):
			return args, nil, errors.New("no path")
		}
		return strings.ReplaceAll(args, "./", ""), []string{"r"}, nil
	}
	s := newSet(t, tool.Recorded(spec("flat", flat), canonical), tool.Recorded(spec("nested", nested), nil), tool.Recorded(spec("any", `{}`), nil))
	for _, c := range []struct {
		name, args string
		want       string // canonical arguments
		problem    event.Problem
		detail     string
	}{
		{"flat", `{"path":"a"}`, `{"path":"a"}`, "", ""},
		{"flat", ` { "x" : 1.50, "path" : "./a\u0062" } `, `{"path":"ab","x":1.50}`, "", ""},
		{"flat", `{"path":"a","limit":1.0}`, `{"limit":1.0,"path":"a"}`, "", ""},
		{"flat", `{"path":"a","kind":"b","on":true,"limit":2000}`, `{"kind":"b","limit":2000,"on":true,"path":"a"}`, "", ""},
		{"any", ``, `{}`, "", ""},
		{"any", " \n", `{}`, "", ""},
		{"any", `{"b":{"d":1,"c":[ 2 ]},"a":null}`, `{"a":null,"b":{"c":[2],"d":1}}`, "", ""},
		{"nested", `{"list":[1,2],"name":"ok"}`, `{"list":[1,2],"name":"ok"}`, "", ""},

		{"flat", `{}`, `{}`, event.ProblemArguments, `invalid arguments: missing "path"`},
		{"flat", `{"path":1}`, `{"path":1}`, event.ProblemArguments, `invalid arguments: /path: want string, got number`},
		{"flat", `{"path":"a","pth":1,"b/~":2}`, `{"b/~":2,"path":"a","pth":1}`, event.ProblemArguments, `invalid arguments: unknown "b/~", "pth"`},
		{"flat", `{"path":"a","kind":"c"}`, `{"kind":"c","path":"a"}`, event.ProblemArguments, `invalid arguments: /kind: want one of "a", "b"`},
		{"flat", `{"path":"a","limit":0}`, `{"limit":0,"path":"a"}`, event.ProblemArguments, `invalid arguments: /limit: want at least 1`},
		{"flat", `{"path":"a","limit":1.5}`, `{"limit":1.5,"path":"a"}`, event.ProblemArguments, `invalid arguments: /limit: want integer, got number`},
		{"flat", `{"path":"","limit":0,"kind":"z","on":1,"x":""}`, `{"kind":"z","limit":0,"on":1,"path":"","x":""}`, event.ProblemArguments,
			`invalid arguments: /kind: want one of "a", "b"; /limit: want at least 1; /on: want boolean, got number; and 2 more`},
		{"nested", `{"list":[1,2,3],"name":"No"}`, `{"list":[1,2,3],"name":"No"}`, event.ProblemArguments, `invalid arguments: /list: want at most 2 items, got 3; /name: want text that matches ^[a-z]+$`},
		{"nested", `{"list":[1,"x"]}`, `{"list":[1,"x"]}`, event.ProblemArguments, `invalid arguments: /list/1: want integer, got string`},
		{"any", `[1]`, `[1]`, event.ProblemArguments, `invalid arguments: want a JSON object`},
		{"any", `"x"`, `"x"`, event.ProblemArguments, `invalid arguments: want a JSON object`},
		{"any", `{"a":1,}`, `{"a":1,}`, event.ProblemArguments, `invalid arguments: not valid JSON at byte 7`},
		{"any", `{"a":1`, `{"a":1`, event.ProblemArguments, `invalid arguments: not valid JSON: it breaks off`},
		{"any", `{"a":1,"a":2}`, `{"a":1,"a":2}`, event.ProblemArguments, `invalid arguments: not valid JSON: a key appears twice (byte 7)`},
		{"any", "{\"a\":\"\xff\xfe\"}", "{\"a\":\"\uFFFD\uFFFD\"}", "", ""},
		{"any", "{\xff}", "{\uFFFD}", event.ProblemArguments, `invalid arguments: not valid JSON at byte 1`},
		{"any", `{"a":NaN}`, `{"a":NaN}`, event.ProblemArguments, `invalid arguments: not valid JSON at byte 5`},
		{"any", `{} x`, `{} x`, event.ProblemArguments, `invalid arguments: not valid JSON at byte 3`},
		{"any", `{"a":1e999999999}`, `{"a":1e999999999}`, event.ProblemArguments, `invalid arguments: a number is too long or too large (byte 5)`},
		{"flat", `{"path":"denied"}`, `{"path":"denied"}`, event.ProblemDenied, `permission denied: /etc: lies outside`},
		{"flat", `{"path":"broken"}`, `{"path":"broken"}`, event.ProblemArguments, `invalid arguments: no path`},
		{"falt", `{"b":1,"a":2}`, `{"a":2,"b":1}`, event.ProblemUnknown, `unknown tool "falt"`},
		{"falt", `{"b":`, `{"b":`, event.ProblemUnknown, `unknown tool "falt"`},
		{"a\x1b\n" + strings.Repeat("x", 100), `{}`, `{}`, event.ProblemUnknown, `unknown tool "a\x1b\n` + strings.Repeat("x", 77) + `"...`},
	} {
		call := model.ToolCall{ID: "c1", Name: c.name, Args: c.args}
		p := s.Prepare(call)
		if p.Args != c.want || p.Problem != c.problem || p.Detail != c.detail {
			t.Errorf("Prepare(%s, %q):\n got %q %q %q\nwant %q %q %q", c.name, c.args, p.Args, p.Problem, p.Detail, c.want, c.problem, c.detail)
		}
		if want := model.Sum([]byte(c.name + "\x00" + c.want)); p.Digest != want {
			t.Errorf("Prepare(%s, %q): digest %v, want %v", c.name, c.args, p.Digest, want)
		}
		if known := c.problem != event.ProblemUnknown; known != (p.Tool != nil) || known != (p.Version == 3) || known != (p.Effect == event.Read) || known != (p.Spec.Name == c.name) {
			t.Errorf("Prepare(%s, %q): tool %v, version %d, effect %q", c.name, c.args, p.Tool, p.Version, p.Effect)
		}
		if diff := cmp.Diff(p, s.Prepare(call), cmp.Comparer(func(a, b tool.Tool) bool { return (a == nil) == (b == nil) })); diff != "" {
			t.Errorf("Prepare(%s, %q) differs the second time:\n%s", c.name, c.args, diff)
		}
	}
}

// TestPrepareAsRecorded: a call with broken text is prepared like its recording.
func TestPrepareAsRecorded(t *testing.T) {
	s := newSet(t, tool.Recorded(spec("any", `{}`), nil))
	for _, c := range []model.ToolCall{
		{Name: "any", Args: "{\"a\":\"x\xe2\x98\xffy\"}"},
		{Name: "a\xffny", Args: "\xc3"},
	} {
		var back [2]string
		for i, text := range []string{c.Name, c.Args} {
			b, err := jsontext.AppendUnquote(nil, model.AppendString(nil, text))
			if err != nil {
				t.Fatal(err)
			}
			back[i] = string(b)
		}
		live, replayed := s.Prepare(c), s.Prepare(model.ToolCall{Name: back[0], Args: back[1]})
		if live.Args != replayed.Args || live.Digest != replayed.Digest || live.Detail != replayed.Detail {
			t.Errorf("%q: live %q %q, replayed %q %q", c.Args, live.Args, live.Detail, replayed.Args, replayed.Detail)
		}
	}
}

func TestPrepareBounds(t *testing.T) {
	s := newSet(t, tool.Recorded(spec("any", `{}`), nil))
	deep := func(n int) string { return `{"a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}` }
	for name, c := range map[string]struct{ args, detail string }{
		"64 levels":     {deep(64), ""},
		"65 levels":     {deep(65), "invalid arguments: nested deeper than 64 levels (byte 68)"},
		"100000 levels": {strings.Repeat("[", 100_000), "invalid arguments: nested deeper than 64 levels (byte 64)"},
		"4 MiB":         {`{"a":"` + strings.Repeat("x", tool.MaxArgs-8) + `"}`, ""},
		"over 4 MiB":    {`{"a":"` + strings.Repeat("x", tool.MaxArgs-7) + `"}`, "invalid arguments: 4194305 bytes are too many; at most 4194304"},
		"digits":        {`{"a":` + strings.Repeat("1", 65) + `}`, "invalid arguments: a number is too long or too large (byte 5)"},
		"64 digits":     {`{"a":` + strings.Repeat("1", 64) + `}`, ""},
	} {
		if p := s.Prepare(model.ToolCall{Name: "any", Args: c.args}); p.Detail != c.detail {
			t.Errorf("%s: %.200q, want %q", name, p.Detail, c.detail)
		}
	}
}

func TestNewSetRefuses(t *testing.T) {
	with := func(change func(*tool.Spec)) tool.Tool {
		s := spec("a", `{}`)
		change(&s)
		return tool.Recorded(s, nil)
	}
	schema := func(s string) tool.Tool { return with(func(sp *tool.Spec) { sp.Schema = s }) }
	for name, c := range map[string]struct {
		tool tool.Tool
		want string
	}{
		"no name":      {with(func(s *tool.Spec) { s.Name = "" }), `tool name "": want 1 to 64 letters, digits, _ or -`},
		"bad name":     {with(func(s *tool.Spec) { s.Name = "a b" }), `tool name "a b": want`},
		"version":      {with(func(s *tool.Spec) { s.Version = 0 }), `tool "a": version 0: versions start at 1`},
		"effect":       {with(func(s *tool.Spec) { s.Effect = "rm" }), `tool "a": effect "rm": want read, write or external`},
		"no schema":    {schema(""), `tool "a": schema: not valid JSON: it breaks off`},
		"white space":  {schema(`{"type": "object"}`), `tool "a": schema: is not canonical JSON`},
		"no schema 2":  {schema(`{"type":"objekt"}`), `tool "a": schema: is no JSON Schema: /type: `},
		"file":         {schema(`{"$ref":"file:///etc/passwd"}`), `tool "a": schema: refers to "file:///etc/passwd"; a tool's schema must be complete in itself`},
		"relative":     {schema(`{"$ref":"other.json"}`), `tool "a": schema: refers to "harnessbench:///other.json"`},
		"http":         {schema(`{"$ref":"http://example.org/x"}`), `tool "a": schema: refers to "http://example.org/x"`},
		"bad pattern":  {schema(`{"pattern":"("}`), `tool "a": schema: `},
		"long pattern": {schema(`{"pattern":"` + strings.Repeat("x", 1025) + `"}`), `tool "a": schema: `},
		"multiplies":   {schema(multiplying()), `tool "a": schema: is too complex`},
		"too large":    {schema(`{"description":"` + strings.Repeat("x", 300_000) + `"}`), `tool "a": schema: 300018 bytes are too many`},
	} {
		_, err := tool.NewSet(c.tool)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "/loop/tool") {
			t.Errorf("%s: names a host path: %v", name, err)
		}
	}
	_, err := tool.NewSet(tool.Recorded(spec("a", `{}`), nil), tool.Recorded(spec("a", `{}`), nil))
	if err == nil || err.Error() != `tool "a" is given twice; names must be unique` {
		t.Errorf("twice: %v", err)
	}
}

// multiplying is a small schema that doubles itself forty times.
func multiplying() string {
	var b strings.Builder
	b.WriteString(`{"$defs":{`)
	for i := range 40 {
		fmt.Fprintf(&b, `"d%02d":{"allOf":[{"$ref":"#/$defs/d%02d"},{"$ref":"#/$defs/d%02d"}]},`, i, i+1, i+1)
	}
	b.WriteString(`"d40":{}},"$ref":"#/$defs/d00"}`)
	return b.String()
}

// TestRecursiveSchemas: what refers to itself works, and costs no more than it
// may.
func TestRecursiveSchemas(t *testing.T) {
	nest := func(n int) string { return strings.Repeat(`{"a":`, n) + `{}` + strings.Repeat(`}`, n) }
	list := `{"additionalProperties":false,"properties":{"a":{"$ref":"#"}},"type":"object"}`
	bomb := `{"properties":{"a":{"anyOf":[{"$ref":"#"},{"allOf":[{"$ref":"#"},{"required":["z"]}]},{"allOf":[{"$ref":"#"},{"required":["y"]}]}]}},"type":"object"}`
	s := newSet(t, tool.Recorded(spec("list", list), nil), tool.Recorded(spec("bomb", bomb), nil))
	for _, c := range []struct {
		name  string
		depth int
		want  string
	}{
		{"list", 63, ""},
		{"bomb", 5, ""},
		{"bomb", 63, "invalid arguments: nested deeper than 12 levels"},
	} {
		if p := s.Prepare(model.ToolCall{Name: c.name, Args: nest(c.depth)}); p.Detail != c.want {
			t.Errorf("%s at depth %d: %q, want %q", c.name, c.depth, p.Detail, c.want)
		}
	}
	if p := s.Prepare(model.ToolCall{Name: "list", Args: `{"a":{"a":{"b":1}}}`}); p.Detail != `invalid arguments: /a/a: unknown "b"` {
		t.Errorf("detail %q", p.Detail)
	}
}

// TestDetailIsDeterministic: the validator walks maps, the text must not show it.
func TestDetailIsDeterministic(t *testing.T) {
	s := newSet(t, tool.Recorded(spec("flat", flat), nil))
	call := model.ToolCall{Name: "flat", Args: `{"z":1,"y":2,"w":3,"kind":7,"limit":"x","on":0,"x":[]}`}
	first := s.Prepare(call).Detail
	for range 200 {
		if got := s.Prepare(call).Detail; got != first {
			t.Fatalf("%q, then %q", first, got)
		}
	}
}

func TestSetAccess(t *testing.T) {
	s := newSet(t, tool.Recorded(spec("b", `{}`), nil), tool.Recorded(spec("a", `{}`), nil))
	if diff := cmp.Diff([]string{"b", "a"}, s.Names()); diff != "" || s.Len() != 2 {
		t.Error(diff)
	}
	specs := s.Specs()
	specs[0].Name = "changed"
	if s.Specs()[0].Name != "b" {
		t.Error("Specs shares its slice")
	}
	if _, ok := s.Get("a"); !ok {
		t.Error("no tool a")
	}
	if _, ok := s.Get("c"); ok {
		t.Error("there is a tool c")
	}
	r := s.Run(context.Background(), &tool.Op{Name: "a"})
	if r.Outcome != event.ToolError || r.Text != `nothing is recorded for this call of "a"` {
		t.Errorf("Run of a recorded tool: %+v", r)
	}
	r = s.Run(context.Background(), &tool.Op{Name: "c"})
	if r.Outcome != event.UnknownTool || r.Text != `unknown tool "c"` {
		t.Errorf("Run of no tool: %+v", r)
	}
}

func TestConcurrentCompile(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s, err := tool.NewSet(tool.Recorded(spec("t", fmt.Sprintf(`{"title":"%d","type":"object"}`, i%2)), nil))
			if err != nil {
				t.Error(err)
				return
			}
			if p := s.Prepare(model.ToolCall{Name: "t", Args: `{"a":[]}`}); p.Problem != "" {
				t.Error(p.Detail)
			}
		})
	}
	wg.Wait()
}

func BenchmarkPrepare(b *testing.B) {
	s := newSet(b, tool.Recorded(spec("flat", flat), nil), tool.Recorded(spec("nested", nested), nil))
	for name, call := range map[string]model.ToolCall{
		"canonical": {Name: "flat", Args: `{"limit":20,"path":"/workspace/notes/a.txt"}`},
		"spelled":   {Name: "flat", Args: `{"path": "/workspace/notes/a.txt", "limit": 20}`},
		"escaped":   {Name: "flat", Args: `{"path":"\u002fworkspace/a.txt"}`},
		"nested":    {Name: "nested", Args: `{"list":[1,2],"name":"abc"}`},
		"wrong":     {Name: "flat", Args: `{"limit":"20","path":"a"}`},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Prepare(call)
			}
		})
	}
}
