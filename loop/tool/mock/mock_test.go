package mock_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
	"github.com/harnessbench/harnessbench/loop/tool/mock"
	"github.com/harnessbench/harnessbench/loop/workspace"
)

func newTool(t testing.TB, spec mock.Spec) *mock.Tool {
	t.Helper()
	if spec.Name == "" {
		spec.Name = "lookup"
	}
	if spec.Effect == "" {
		spec.Effect = event.Read
	}
	m, err := mock.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// run makes call number nth, from 0.
func run(m tool.Tool, nth int, args string) tool.Result {
	return m.Run(context.Background(), &tool.Op{Name: m.Spec().Name, Nth: nth, Args: args})
}

// texts gives the texts of the first n calls.
func texts(m tool.Tool, n int, args string) (out []string) {
	for i := range n {
		out = append(out, run(m, i, args).Text)
	}
	return out
}

func say(all ...string) (out []mock.Response) {
	for _, s := range all {
		out = append(out, mock.Response{Text: s})
	}
	return out
}

func TestSpecIsPublic(t *testing.T) {
	m := newTool(t, mock.Spec{Description: "d", Schema: ` {"type": "object"} `, Parallel: true, Responses: say("x")})
	want := tool.Spec{ToolSpec: model.ToolSpec{Name: "lookup", Version: 1, Description: "d", Schema: `{"type":"object"}`}, Effect: event.Read, Parallel: true}
	if diff := cmp.Diff(want, m.Spec()); diff != "" {
		t.Error(diff)
	}
	if _, err := tool.NewSet(m, newTool(t, mock.Spec{Name: "other", Responses: say("x")})); err != nil {
		t.Error(err)
	}
}

func TestSequence(t *testing.T) {
	m := newTool(t, mock.Spec{Takes: time.Second, Responses: []mock.Response{{Text: "pending"}, {Text: "running", Takes: time.Minute}, {Text: "done"}}})
	if diff := cmp.Diff([]string{"pending", "running", "done", "done", "done"}, texts(m, 5, `{}`)); diff != "" {
		t.Error(diff)
	}
	if a, b := run(m, 0, `{}`), run(m, 1, `{}`); a.Took != time.Second || b.Took != time.Minute || a.Outcome != event.Success {
		t.Errorf("%+v, %+v", a, b)
	}
	m = newTool(t, mock.Spec{Cycle: true, Responses: say("a", "b")})
	if diff := cmp.Diff([]string{"a", "b", "a", "b", "a"}, texts(m, 5, `{}`)); diff != "" {
		t.Error(diff)
	}
}

func TestChoice(t *testing.T) {
	m := newTool(t, mock.Spec{Responses: []mock.Response{
		{When: map[string]string{"id": "^7$"}, Text: "seven"},
		{When: map[string]string{"id": "^7$"}, Text: "seven again"},
		{When: map[string]string{"id": "^8$", "deep": `"x":1`}, Text: "eight"},
		{When: map[string]string{mock.AnyArgs: `"id":9`}, Text: "nine"},
		{When: map[string]string{"id": "^7$"}, AtCall: []mock.Range{{First: 3, Last: 4}, {First: 6}}, Text: "late seven"},
		{Text: "other", Error: true},
	}})
	for _, c := range []struct {
		args string
		want []string
	}{
		{`{"id":"7"}`, []string{"seven", "seven again", "late seven", "late seven", "seven again", "late seven", "late seven"}},
		{`{"deep":{"x":1},"id":"8"}`, []string{"eight", "eight"}},
		{`{"id":"8"}`, []string{"other", "other"}},
		{`{"id":9}`, []string{"nine", "nine"}},
		{`{}`, []string{"other", "other"}},
	} {
		if diff := cmp.Diff(c.want, texts(m, len(c.want), c.args)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.args, diff)
		}
	}
	if r := run(m, 0, `{}`); r.Outcome != event.ToolError {
		t.Errorf("an error response: %+v", r)
	}
	m = newTool(t, mock.Spec{Responses: []mock.Response{{When: map[string]string{"id": "x"}, Text: "x"}}})
	if r := run(m, 0, `{"id":"y"}`); r.Outcome != event.ToolError || r.Text != "lookup: no answer for these arguments" {
		t.Errorf("no response: %+v", r)
	}
}

func TestTemplate(t *testing.T) {
	for text, want := range map[string]string{
		"id=${id}, n=${n}, o=${o}, none=${none}": `id=a"b, n=1.50, o={"x":1}, none=`,
		"cost: $5, $$, $${id}, ${id":             `cost: $5, $, ${id}, ${id`,
		"${}${a b}$":                             `${}${a b}$`,
		"${id}${id}":                             `a"ba"b`,
		"plain":                                  "plain",
		"":                                       "",
	} {
		m := newTool(t, mock.Spec{Responses: say(text)})
		if got := run(m, 0, `{"id":"a\"b","n":1.50,"o":{"x":1}}`).Text; got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
	m := newTool(t, mock.Spec{Responses: say(strings.Repeat("${s}", 100))})
	got := run(m, 0, `{"s":"`+strings.Repeat("é", 100_000)+`"}`).Text
	if len(got) > mock.MaxText || len(got) < mock.MaxText-1 || !utf8.ValidString(got) {
		t.Errorf("%d bytes", len(got))
	}
}

func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		fault mock.Fault
		want  tool.Result
	}{
		"error":        {mock.Fault{Kind: mock.FaultError}, tool.Result{Outcome: event.ToolError, Text: "lookup: internal error", Took: time.Second}},
		"error text":   {mock.Fault{Kind: mock.FaultError, Text: "E42", Takes: time.Minute}, tool.Result{Outcome: event.ToolError, Text: "E42", Took: time.Minute}},
		"hang":         {mock.Fault{Kind: mock.FaultHang}, tool.Result{Outcome: event.ToolError, Text: "lookup: no answer", Took: mock.Hang}},
		"truncate":     {mock.Fault{Kind: mock.FaultTruncate}, tool.Result{Outcome: event.Success, Text: "ab", Took: time.Second}},
		"truncate 3":   {mock.Fault{Kind: mock.FaultTruncate, Bytes: 3}, tool.Result{Outcome: event.Success, Text: "ab", Took: time.Second}},
		"truncate 4":   {mock.Fault{Kind: mock.FaultTruncate, Bytes: 4}, tool.Result{Outcome: event.Success, Text: "abé", Took: time.Second}},
		"malformed":    {mock.Fault{Kind: mock.FaultMalformed}, tool.Result{Outcome: event.Success, Text: "ab\uFFFD\uFFFD\uFFFD", Took: time.Second}},
		"malformed as": {mock.Fault{Kind: mock.FaultMalformed, Text: "{"}, tool.Result{Outcome: event.Success, Text: "{", Took: time.Second}},
		"slow":         {mock.Fault{Kind: mock.FaultSlow}, tool.Result{Outcome: event.Success, Text: "abéd", Took: 30 * time.Second}},
		"slow takes":   {mock.Fault{Kind: mock.FaultSlow, Takes: time.Hour}, tool.Result{Outcome: event.Success, Text: "abéd", Took: time.Hour}},
		"flaky":        {mock.Fault{Kind: mock.FaultFlaky, P: 1}, tool.Result{Outcome: event.ToolError, Text: "lookup: temporarily unavailable, try again", Took: time.Second}},
	} {
		c.fault.AtCall = []int{2, 4}
		m := newTool(t, mock.Spec{Takes: time.Second, Responses: say("abéd"), Faults: []mock.Fault{c.fault}})
		well := tool.Result{Outcome: event.Success, Text: "abéd", Took: time.Second}
		for nth, want := range []tool.Result{well, c.want, well, c.want, well} {
			want.Declared = true
			if diff := cmp.Diff(want, run(m, nth, `{}`)); diff != "" {
				t.Errorf("%s, call %d (-want +got):\n%s", name, nth+1, diff)
			}
		}
	}
	always := newTool(t, mock.Spec{Responses: say("x"), Faults: []mock.Fault{{Kind: mock.FaultError, Text: "down"}}})
	if diff := cmp.Diff([]string{"down", "down", "down"}, texts(always, 3, `{}`)); diff != "" {
		t.Error(diff)
	}
}

// TestFlaky: failures follow the seed, not the order of calls, at the given rate.
func TestFlaky(t *testing.T) {
	shared := newTool(t, mock.Spec{Responses: say("ok"), Faults: []mock.Fault{{Kind: mock.FaultFlaky, P: 0.3, Text: "no"}}})
	history := func(seed uint64) string {
		m, b := shared.With(seed, nil), strings.Builder{}
		for nth := 999; nth >= 0; nth-- {
			b.WriteString(run(m, nth, `{}`).Text[:1])
		}
		return b.String()
	}
	one := history(1)
	if one != history(1) {
		t.Error("the same seed differs")
	}
	if one == history(2) {
		t.Error("two seeds agree")
	}
	if got := float64(strings.Count(one, "n")) / 1000; math.Abs(got-0.3) > 0.05 {
		t.Errorf("rate %v, want 0.3", got)
	}
}

func TestFiles(t *testing.T) {
	ws, err := workspace.NewMem(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := newTool(t, mock.Spec{Effect: event.Write, Paths: []string{"to"}, Responses: []mock.Response{{
		Text:  "exported to ${to}",
		Files: []mock.File{{Path: "${to}", Content: "${what}\n"}, {Path: "/workspace/log", Content: "$$"}},
	}}}).With(1, ws)
	args, resources, err := m.Canonical(`{"to":"./out/../a.txt","what":"x"}`)
	if err != nil || args != `{"to":"/workspace/a.txt","what":"x"}` || len(resources) != 1 || resources[0] != "/workspace/a.txt" {
		t.Fatalf("%s, %v, %v", args, resources, err)
	}
	r := run(m, 0, args)
	want := []event.Delta{
		{Op: "write", Path: "a.txt", After: model.Sum([]byte("x\n")), Size: 2, Mode: 0o644, Content: []byte("x\n")},
		{Op: "write", Path: "log", After: model.Sum([]byte("$")), Size: 1, Mode: 0o644, Content: []byte("$")},
	}
	if diff := cmp.Diff(want, r.Delta); diff != "" || r.Text != "exported to /workspace/a.txt" {
		t.Errorf("%q (-want +got):\n%s", r.Text, diff)
	}
	if _, _, err := m.Canonical(`{"to":"/etc/passwd"}`); err == nil {
		t.Error("a path outside is no error")
	}
	if r := run(m, 0, `{"to":"../x","what":""}`); r.Outcome != event.ToolError || r.Text != "lookup: ../x: leads outside of /workspace" {
		t.Errorf("%+v", r)
	}
	if r := run(m.With(1, nil), 0, args); r.Outcome != event.ToolError || r.Text != "lookup: there is no workspace to write to" {
		t.Errorf("%+v", r)
	}
}

func TestNewRefuses(t *testing.T) {
	r := func(c mock.Response) mock.Spec { return mock.Spec{Responses: []mock.Response{c}} }
	f := func(f mock.Fault) mock.Spec { return mock.Spec{Responses: say("x"), Faults: []mock.Fault{f}} }
	for want, spec := range map[string]mock.Spec{
		`no responses; give at least one`:                      {},
		`schema: not valid JSON at byte 1`:                     {Schema: "{x", Responses: say("x")},
		`schema: is no JSON Schema: /type`:                     {Schema: `{"type":"x"}`, Responses: say("x")},
		`takes -1ns: want 0 to 24h0m0s`:                        {Takes: -1, Responses: say("x")},
		`response 1: when "id": error parsing regexp`:          r(mock.Response{When: map[string]string{"id": "("}}),
		`response 1: when "id": pattern longer`:                r(mock.Response{When: map[string]string{"id": strings.Repeat("x", 1001)}}),
		`response 1: calls 0-1: want 1 <= first <= last`:       r(mock.Response{AtCall: []mock.Range{{First: 0, Last: 1}}}),
		`response 1: calls 3-2: want`:                          r(mock.Response{AtCall: []mock.Range{{First: 3, Last: 2}}}),
		`response 1: it writes files, so the tool's effect`:    r(mock.Response{Files: []mock.File{{Path: "a"}}}),
		`response 1: text of 8388609 bytes: at most 8388608`:   r(mock.Response{Text: strings.Repeat("x", mock.MaxText+1)}),
		`response 1: text is not valid UTF-8`:                  r(mock.Response{Text: "\xff"}),
		`response 1: takes 25h0m0s`:                            r(mock.Response{Takes: 25 * time.Hour}),
		`fault 1: kind "x": want error, hang, truncate`:        f(mock.Fault{Kind: "x"}),
		`fault 1: call 0: calls are counted from 1`:            f(mock.Fault{Kind: mock.FaultError, AtCall: []int{0}}),
		`fault 1: p = 1.5: want a probability`:                 f(mock.Fault{Kind: mock.FaultFlaky, P: 1.5}),
		`fault 1: p = NaN: want a probability`:                 f(mock.Fault{Kind: mock.FaultFlaky, P: math.NaN()}),
		`fault 1: p is for flaky, not for error`:               f(mock.Fault{Kind: mock.FaultError, P: 0.5}),
		`fault 1: bytes = 5: want a positive number, and only`: f(mock.Fault{Kind: mock.FaultError, Bytes: 5}),
		`fault 1: takes 25h0m0s`:                               f(mock.Fault{Kind: mock.FaultSlow, Takes: 25 * time.Hour}),
	} {
		spec.Name, spec.Effect = "lookup", event.Read
		if _, err := mock.New(spec); err == nil || !strings.HasPrefix(err.Error(), `mock tool "lookup": `+want) {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v; want %s", err, want)
			}
		}
	}
	for _, path := range []string{"../x", ".harness/x", "/workspace", ""} {
		spec := r(mock.Response{Files: []mock.File{{Path: path}}})
		spec.Name, spec.Effect = "w", event.Write
		if _, err := mock.New(spec); err == nil || !strings.HasPrefix(err.Error(), `mock tool "w": response 1: file`) {
			t.Errorf("file %q: %v", path, err)
		}
	}
	if _, err := mock.New(mock.Spec{Name: "a b", Effect: event.Read, Responses: say("x")}); err == nil {
		t.Error("a bad name is no error")
	}
	if _, err := mock.New(mock.Spec{Name: "a", Effect: "x", Responses: say("x")}); err == nil {
		t.Error("a bad effect is no error")
	}
}

func TestParseRange(t *testing.T) {
	for in, want := range map[string]mock.Range{"3": {First: 3, Last: 3}, "3-5": {First: 3, Last: 5}, "3-": {First: 3}} {
		if got, err := mock.ParseRange(in); got != want || err != nil {
			t.Errorf("ParseRange(%q) = %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "x", "0", "5-3", "-3", "1-x", "1-2-3"} {
		if got, err := mock.ParseRange(in); err == nil {
			t.Errorf("ParseRange(%q) = %v", in, got)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	m := newTool(t, mock.Spec{Responses: say("x")})
	if r := m.Run(ctx, &tool.Op{Args: `{}`}); r.Outcome != event.Cancelled {
		t.Errorf("%+v", r)
	}
}

// FuzzTemplate: no template panics, none exceeds its bound, and one without a
// dollar sign is its own text.
func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"${a}", "$", "$$", "${", "${}", "a${a}b$$c${b}", "$${a}"} {
		f.Add(s, `{"a":"x","b":[1]}`)
	}
	f.Fuzz(func(t *testing.T, text, args string) {
		if !utf8.ValidString(text) {
			return
		}
		m := newTool(t, mock.Spec{Responses: say(text)})
		got := run(m, 0, args).Text
		if !strings.Contains(text, "$") && got != text || len(got) > mock.MaxText {
			t.Fatalf("%q gives %q", text, got)
		}
	})
}

func ExampleNew() {
	m, err := mock.New(mock.Spec{
		Name: "job_status", Effect: event.Read, Takes: 50 * time.Millisecond,
		Responses: []mock.Response{{Text: "job ${id}: queued"}, {Text: "job ${id}: done"}},
		Faults:    []mock.Fault{{Kind: mock.FaultError, AtCall: []int{2}, Text: "try again"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for nth := range 3 {
		r := m.Run(context.Background(), &tool.Op{Nth: nth, Args: `{"id":7}`})
		fmt.Println(r.Outcome, r.Text)
	}
	// Output:
	// success job 7: queued
	// tool_error try again
	// success job 7: done
}

func BenchmarkRun(b *testing.B) {
	m := newTool(b, mock.Spec{Responses: []mock.Response{{When: map[string]string{"id": "^x"}, Text: "x"}, {Text: "job ${id}: done"}}})
	op := &tool.Op{Args: `{"id":"7"}`}
	b.ReportAllocs()
	for b.Loop() {
		m.Run(context.Background(), op)
	}
}
