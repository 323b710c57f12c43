package canon

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
)

const tools = `"model":"m","tools":[{"type":"function","name":"f"}],"instructions":"Be brief."`

// turns are a conversation that goes on by previous_response_id.
var turns = []struct{ add, contentType, answer string }{
	{`"input":"hi"`, "application/json",
		`{"id":"resp_1","output":[{"type":"reasoning","id":"rs_1","summary":[]},{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{}","status":"completed"}]}`},
	{`"previous_response_id":"resp_1","input":[{"type":"function_call_output","call_id":"call_1","output":"in /home/u/x"}]`, "text/event-stream; charset=utf-8",
		"event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_2\",\"output\":[]}}\n\n" +
			"data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"x\"}]}}\r\n\r\n" +
			"data: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_2\",\"output\":[]}}\n\ndata: [DONE]\n\n"},
	{`"previous_response_id":"resp_2","input":[{"type":"item_reference","id":"rs_1"},{"role":"user","content":"more"}]`, "application/json",
		`{"id":"resp_3","output":[]}`},
	{`"previous_response_id":"resp_3","input":[{"role":"user","content":"and more"}]`, "application/json", `{"id":"resp_4","output":[]}`},
}

// whole is the same conversation by a client that sends all of it every time.
const whole = `"input":["user0",
	{"type":"reasoning","id":"a","summary":[]},{"type":"function_call","id":"b","call_id":"c","name":"f","arguments":"{}","status":"completed"},
	{"type":"function_call_output","call_id":"c","output":"in /home/u/x"},
	{"type":"message","id":"d","role":"assistant","content":"x"},
	{"type":"item_reference","id":"a"},{"role":"user","content":"more"},{"role":"user","content":"and more"}]`

func TestPreviousResponses(t *testing.T) {
	norm, err := Normalisers([]string{"home"}, Env{Home: "/home/u"})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{}, {Normalisers: norm}} {
		var l Lineage
		o.Parent = l.Parent
		var before, last *Request
		for i, turn := range turns {
			last = parse(t, dialect.Responses, `{`+tools+`,`+turn.add+`}`, o)
			consistent(t, last)
			if before != nil && !slices.Equal(last.Chains[:len(before.Chains)], before.Chains) {
				t.Fatalf("turn %d does not begin with turn %d:\n%s", i, i-1, cmp.Diff(render(before), render(last)))
			}
			l.Add(last, turn.contentType, []byte(turn.answer))
			before = last
		}
		sent := strings.Replace(whole, `"user0"`, `{"role":"user","content":"hi"}`, 1)
		all := parse(t, dialect.Responses, `{`+tools+`,`+sent+`}`, o)
		if !equal(all, last) {
			t.Errorf("(-all at once +by parents)\n%s", cmp.Diff(render(all), render(last)))
		}
		if want := []string{"/tools/0", "/instructions", "", "", "", "", "", "", "", "/input/0"}; !slices.Equal(last.Pointers, want) {
			t.Errorf("pointers %q", last.Pointers)
		}
		if struck := last.Applied["home"]; struck != len(o.Normalisers) || (last.Raw == model.Sum(append(slices.Clone(last.Chains[len(last.Parts)][:]), last.ParamsDigest[:]...))) != (struck == 0) {
			t.Errorf("home struck %d times, raw %s", struck, last.Raw)
		}
		if last.Previous != "resp_3" || strings.Contains(string(last.Params), "resp_") {
			t.Errorf("previous %q in %s", last.Previous, last.Params)
		}
		if _, err := Parse(dialect.Responses, []byte(`{"previous_response_id":"resp_9"}`), o); err == nil || !strings.Contains(err.Error(), "/previous_response_id") {
			t.Errorf("an unknown parent: %v", err)
		}
	}
}

// Another branch from the same parent, as after an edit, shares what came before.
func TestTwoChildren(t *testing.T) {
	var l Lineage
	o := Options{Parent: l.Parent}
	first := parse(t, dialect.Responses, `{"input":"hi"}`, o)
	l.Add(first, "application/json", []byte(`{"id":"r","output":[{"type":"message","role":"assistant","id":"m","content":[]}]}`))
	a := parse(t, dialect.Responses, `{"previous_response_id":"r","input":"a"}`, o)
	b := parse(t, dialect.Responses, `{"previous_response_id":"r","input":"b"}`, o)
	if a.Chains[2] != b.Chains[2] || a.Chain() == b.Chain() || a.Root != first.Root {
		t.Error(render(a), render(b))
	}
	l.Add(parse(t, dialect.Chat, `{"messages":[]}`, o), "application/json", []byte(`{"id":"chat","output":[]}`))
	l.Add(first, "application/json", []byte(`{"error":{"message":"no"}}`))
	if _, ok := l.Parent("chat"); ok || len(l.heirs) != 1 {
		t.Errorf("%d are remembered", len(l.heirs))
	}
}

func TestOutputErrors(t *testing.T) {
	for _, c := range [][3]string{
		{"chat", "application/json", `{"id":"x"}`},
		{"responses", "application/json", `{"output":[]}`},
		{"responses", "application/json", `{"id":"x","output":[1]}`},
		{"responses", "application/json", `{`},
		{"responses", "text/event-stream", `{"id":"x","output":[]}`},
		{"responses", "text/event-stream", "data: {\"type\":\"response.created\",\"response\":{\"id\":\"x\"}}\n\n"},
		{"responses", "text/event-stream", "data: {\n\n"},
	} {
		if id, parts, err := Output(dialect.API(c[0]), c[1], []byte(c[2])); err == nil {
			t.Errorf("%s gave %q, %v", c, id, parts)
		}
	}
}

func FuzzOutput(f *testing.F) {
	for _, turn := range turns {
		f.Add(turn.contentType == "application/json", []byte(turn.answer))
	}
	f.Fuzz(func(t *testing.T, plain bool, body []byte) {
		contentType := "text/event-stream"
		if plain {
			contentType = "application/json"
		}
		id, parts, err := Output(dialect.Responses, contentType, body)
		if err == nil && id == "" {
			t.Fatal("no id, no error")
		}
		for _, p := range parts {
			if _, err := decode(p.JSON); err != nil || p.JSON[0] != '{' {
				t.Fatalf("%s: %v", p.JSON, err)
			}
		}
	})
}
