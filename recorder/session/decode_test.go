package session_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/internal/sample"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// decode runs the decoder of the line's type; types without one give nil.
func decode(l *session.Line) (any, error) {
	switch l.Type {
	case session.TypeHeader:
		return l.Header()
	case session.TypePart:
		return l.Part()
	case session.TypeRequest:
		return l.Request()
	case session.TypeAttempt:
		return l.Attempt()
	case session.TypeResponse:
		return l.Response()
	case session.TypeToolRequest:
		return l.ToolRequest()
	case session.TypeToolResult:
		return l.ToolResult()
	case session.TypeGuard:
		return l.Guard()
	case session.TypeAcceptance:
		return l.Acceptance()
	case session.TypeState:
		return l.State()
	case session.TypeNote:
		return l.Note()
	case session.TypeFooter:
		return l.Footer()
	}
	return nil, nil
}

func find(t *testing.T, ls []*session.Line, typ session.Type, n int) *session.Line {
	t.Helper()
	for _, l := range ls {
		if l.Type == typ {
			if n == 0 {
				return l
			}
			n--
		}
	}
	t.Fatalf("no %s line number %d", typ, n)
	return nil
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestDecoders(t *testing.T) {
	ls, _, err := read(record(t, sample.Play))
	if err != nil {
		t.Fatal(err)
	}
	h := sample.Header()
	h.Canon, h.ConfigDigest = model.CanonVersion, model.Sum(h.Config)
	exit := 3
	u := model.Usage{InputUncached: 1200, CacheRead: 800, Output: 60, Reasoning: 10}
	short := func(s string) session.ShortDigest { return session.Short(model.SumString(s)) }
	params := `{"max_tokens":512,"model":"sim/weak"}`
	for name, c := range map[string]struct{ got, want any }{
		"header": {must(ls[0].Header()), &h},
		"request": {must(find(t, ls, session.TypeRequest, 0).Request()), &session.Request{Turn: 1, Params: []byte(params), ParamsDigest: short(params),
			Chain: must(find(t, ls, session.TypeRequest, 1).Request()).Chain}},
		"attempt": {must(find(t, ls, session.TypeAttempt, 0).Attempt()), &session.Attempt{Err: &model.Error{Kind: "rate_limit", Status: 429, RetryAfter: 2 * time.Second,
			Message: `slow "down"`, Usage: model.Usage{InputUncached: 3}, Elapsed: 20 * time.Millisecond}, Elapsed: 20 * time.Millisecond, Wait: 2 * time.Second, Again: true}},
		"dropped": {must(find(t, ls, session.TypeAttempt, 1).Attempt()), &session.Attempt{N: 1, Resp: &model.Response{Finish: "length", Model: "sim/other",
			Usage: model.Usage{Output: 512}, Elapsed: time.Second, Cache: model.CacheKnown, CacheFailed: "it could not be written"}, Elapsed: time.Second, Again: true}},
		"response": {must(find(t, ls, session.TypeResponse, 1).Response()), &session.Response{Resp: model.Response{Items: []model.Item{{Type: "text", Text: "sub"},
			{Type: "tool_call", Call: model.ToolCall{Name: "read_file", Args: "{}"}}}, Finish: "tool_calls", Usage: u, Elapsed: 900 * time.Millisecond}}},
		"tool.request": {must(find(t, ls, session.TypeToolRequest, 0).ToolRequest()), &session.ToolRequest{ID: "call_main1_0", Tool: "read_file", Version: 2, Effect: event.Read,
			Args: `{"path":"/workspace/notes.md"}`, HasArgs: true}},
		"tool.result": {must(find(t, ls, session.TypeToolResult, 2).ToolResult()), &session.ToolResult{Index: 2, ID: "call_main1_2", Outcome: event.ToolError, Text: "exit", Bytes: 4, Exit: &exit}},
		"guard":       {must(find(t, ls, session.TypeGuard, 1).Guard()), &session.Guard{Name: "stuck", Version: 1, Mode: "shadow", Act: "nudge", Failed: "disk full"}},
		"acceptance":  {must(find(t, ls, session.TypeAcceptance, 0).Acceptance()), &session.Acceptance{Checked: true, Fail: "report.md is missing"}},
		"note":        {must(find(t, ls, session.TypeNote, 0).Note()), &session.Note{What: "finish stop with tool calls"}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if err := must(ls[0].Header()).Check(); err != nil {
		t.Error(err)
	}
	contents, err := must(ls[0].Header()).TreeContents(nil)
	if err != nil || string(contents[0]) != "\xff\x00\x01" || len(contents[1]) != 0 {
		t.Errorf("%q, %v", contents, err)
	}
	last := must(find(t, ls, session.TypeRequest, 6).Request())
	if !last.Explicit || last.Keep != 2 || len(last.Add) == 0 || last.Purpose != model.ForFinalSynthesis || last.Turn != 3 {
		t.Errorf("%+v", last)
	}
	f := must(ls[len(ls)-1].Footer())
	if f.Cost.Known || f.Reason != event.TurnLimit || f.TreeDigest != model.SumString("final") || f.AnswerDigest != model.SumString("best answer") || f.Lines != len(ls) {
		t.Errorf("%+v", f)
	}
	if s := must(find(t, ls, session.TypeState, 0).State()); !s.Cost.Known || s.Cost.Pico != 12 || s.At != 3926*time.Millisecond || s.Calls != 4 {
		t.Errorf("%+v", s)
	}
}

// TestDelta plays the recorded changes back as events: they are the events that
// were recorded.
func TestDelta(t *testing.T) {
	ls, _, err := read(record(t, sample.Play))
	if err != nil {
		t.Fatal(err)
	}
	h := must(ls[0].Header())
	trail := session.NewTrail(h, nil)
	r := must(find(t, ls, session.TypeToolResult, 1).ToolResult())
	content := string(h.Tree[2].Content)
	want := []event.Delta{sample.Write("copy", content), sample.Write("other", "short"), sample.Write("raw", "\xff\xfe"), sample.Write("nil", ""),
		{Op: "write", Path: "notes.md", Before: model.SumString(content), After: model.SumString("x"), Size: 1, Mode: 0o755, Content: []byte("x")},
		{Op: "delete", Path: "bin.dat", Before: model.SumString("\xff\x00\x01")}}
	for i := range r.Delta {
		got, err := trail.Event(&r.Delta[i], "{}")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Errorf("delta %d (-want +got):\n%s", i, diff)
		}
	}
	bad := session.Delta{Op: session.OpWrite, Path: "p", Size: 3, Arg: "none"}
	if _, err := trail.Event(&bad, `{}`); err == nil || !strings.Contains(err.Error(), `no argument "none"`) {
		t.Error(err)
	}
	h.Tree[0].Content = nil
	if _, err := h.TreeContents(nil); !errors.Is(err, session.ErrNoBlobs) {
		t.Error(err)
	}
	unknown := session.Delta{Op: session.OpDelete, Path: "never.seen", Before: session.Short(model.SumString("?"))}
	if d, err := trail.Event(&unknown, ""); err != nil || d.Before == model.SumString("?") || d.Before.IsZero() {
		t.Error(d, err)
	}
}

// TestDecodersRefuse puts a value of the wrong kind into each field in turn: the
// decoder names line and field.
func TestDecodersRefuse(t *testing.T) {
	ls, _, err := read(record(t, sample.Play))
	if err != nil {
		t.Fatal(err)
	}
	wrong := map[string]string{"string": "1", "integer": `"1"`, "count": "-1", "us": "1.5", "boolean": `"true"`, "hex32": `"xy"`, "hex64": `"xy"`, "object": "[]", "array": "{}"}
	tried := map[string]bool{}
	for _, l := range ls {
		for _, f := range session.Fields {
			bad, ok := wrong[f.JSON]
			if f.Line != l.Type || !ok || f.Name == "v" && l.Type == session.TypeHeader || f.Name == "lines" || f.Name == "digest" && l.Type == session.TypeFooter {
				continue
			}
			pointer := "/" + strings.ReplaceAll(strings.ReplaceAll(f.Name, "[].", "/0/"), ".", "/")
			payload, err := l.With(pointer, []byte(bad))
			if err != nil {
				continue // the line does not have it
			}
			tried[string(f.Line)+" "+f.Name] = true
			var in []byte
			if l.Type == session.TypeHeader {
				in = sealHeader(t, string(payload))
			} else {
				in = seal(t, string(l.Type), string(payload))
			}
			got, _, err := read(in)
			if err != nil {
				t.Fatalf("%s %s: %v", l.Type, pointer, err)
			}
			line := got[len(got)-1]
			_, err = decode(line)
			var d *session.DecodeError
			if !errors.As(err, &d) || d.Line != line.No || d.Type != l.Type || d.Field != strings.ReplaceAll(f.Name, "[].", ".") && d.Field != strings.ReplaceAll(f.Name, "[]", "") {
				t.Errorf("%s %s = %s: %v", l.Type, f.Name, bad, err)
			}
		}
	}
	if len(tried) < 75 {
		t.Errorf("only %d fields were tried", len(tried))
	}
}

func sealHeader(t *testing.T, payload string) []byte {
	t.Helper()
	var b strings.Builder
	w := session.NewWriter(&b)
	if err := errors.Join(w.Line(session.TypeHeader, []byte(payload)), w.Flush()); err != nil {
		t.Fatal(err)
	}
	return []byte(b.String())
}

func TestDecodersRefuseValues(t *testing.T) {
	for _, c := range []struct{ typ, payload, field string }{
		{"tool.result", `,"id":"x","outcome":"success","delta":[{"op":"link","path":"p"}]`, "delta.op"},
		{"tool.result", `,"delta":[{"path":"p","mode":4096}]`, "delta.mode"},
		{"tool.result", `,"delta":[{"path":"p"}]`, "delta"},
		{"tool.result", `,"delta":[{"path":"p","b64":"a"}]`, "delta.b64"},
		{"tool.result", `,"took_us":9223372036854775807`, "took_us"},
		{"tool.result", `,"took_us":-9223372036854775808`, "took_us"},
		{"tool.result", `,"text":null`, "text"},
		{"response", `,"items":[{"text":"x"}]`, "items.type"},
		{"response", `,"items":[3]`, "items"},
		{"response", `,"usage":[-1]`, "usage"},
		{"response", `,"usage":[0,1.0]`, "usage"},
		{"attempt", `,"n":2147483648`, "n"},
		{"attempt", `,"error":{"kind":1}`, "error.kind"},
		{"request", `,"params":null`, "params"},
		{"request", `,"add":["00"]`, "add"},
		{"state", `,"cost_pico":"x"`, "cost_pico"},
	} {
		ls, _, err := read(seal(t, c.typ, c.payload))
		if err != nil {
			t.Fatal(err)
		}
		_, err = decode(ls[1])
		var d *session.DecodeError
		if !errors.As(err, &d) || d.Field != c.field {
			t.Errorf("%s %s: %v", c.typ, c.payload, err)
		}
	}
	ls, _, _ := read(seal(t, "note", ``))
	if _, err := ls[1].Guard(); err == nil {
		t.Error("a note decodes as a guard")
	}
	ls, _, _ = read(sealHeader(t, strings.Replace(minimalHeader, "canon/1", "canon/9", 1)))
	if _, err := ls[0].Header(); err == nil || !strings.Contains(err.Error(), "canon/9") {
		t.Error(err)
	}
}

// TestParts takes parts through their canonical JSON and back.
func TestParts(t *testing.T) {
	for i, p := range []*model.Part{
		model.NewToolPart(model.ToolSpec{Name: "n", Version: 3, Description: "d \"q\"", Schema: `{"maximum":1e3}`}),
		model.NewTextPart(model.System, "s\u2028"),
		model.NewTextPart(model.User, ""),
		model.NewResultPart("call_1", "r\x00\x1f"),
		model.NewMessagePart(model.Message{Role: model.Assistant}),
		model.NewMessagePart(model.Message{Role: model.Assistant, Items: []model.Item{{Type: model.Reasoning, Text: "hm"}, {Type: model.Plan, Text: "p"},
			{Type: model.CallItem, Call: model.ToolCall{ID: "i", Name: "n", Args: "{bad"}}, {Type: model.ProviderCall, Evidence: `{"a":1.0}`}, {Type: "later", Text: "x"}}}),
	} {
		got, err := (&session.Part{Kind: p.Kind, Role: p.Role, Body: p.JSON}).ModelPart()
		if err != nil || !reflect.DeepEqual(got, p) && cmp.Diff(got, p, cmp.Comparer(func(a, b []model.Item) bool { return fmt.Sprint(a) == fmt.Sprint(b) })) != "" {
			t.Errorf("part %d: %v\n got %+v\nwant %+v", i, err, got, p)
		}
	}
	for _, c := range []session.Part{
		{Kind: "image", Body: []byte(`{}`)},
		{Kind: model.KindMessage, Role: model.User, Body: []byte(`{"role":"user","content":[]}`)},           // not sorted
		{Kind: model.KindMessage, Role: model.Assistant, Body: []byte(`{"content":[],"role":"user"}`)},      // another role
		{Kind: model.KindMessage, Role: model.System, Body: []byte(`{"content":[],"role":"system"}`)},       // another kind
		{Kind: model.KindMessage, Role: model.User, Body: []byte(`{"content":[],"role":"user","x":1}`)},     // a field canon/1 has not
		{Kind: model.KindMessage, Role: model.User, Body: []byte(`{"content":[{"text":1}],"role":"user"}`)}, // no text
		{Kind: model.KindTool, Body: []byte(`{"description":"","name":"","version":1}`)},
		{Kind: model.KindTool, Body: []byte(`[]`)},
	} {
		if p, err := c.ModelPart(); err == nil {
			t.Errorf("%s is a part: %+v", c.Body, p)
		}
	}
}
