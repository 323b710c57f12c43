package dialect

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop/model"
)

// said is a conversation as the loop makes it; each API says it in its own way.
func said(reasoning bool) []*model.Part {
	answer := []model.Item{{Type: model.Reasoning, Text: "Look first."}, {Type: model.Text, Text: "I look."},
		{Type: model.CallItem, Call: model.ToolCall{ID: "call_1", Name: "read_file", Args: `{"path":"a.txt"}`}},
		{Type: model.CallItem, Call: model.ToolCall{ID: "call_2", Name: "grep", Args: `{"pattern":"x"}`}}}
	if !reasoning {
		answer = answer[1:]
	}
	return []*model.Part{
		model.NewToolPart(model.ToolSpec{Name: "read_file", Version: 1, Description: "Reads.", Schema: "{\"properties\":{\"max\":{\"maximum\":1e3,\"type\":\"number\"},\"path\":{\"description\":\"a <b>\u2028\",\"type\":\"string\"}},\"type\":\"object\"}"}),
		model.NewToolPart(model.ToolSpec{Name: "grep", Version: 2, Description: "Searches.", Schema: `{"type":"object"}`}),
		model.NewTextPart(model.System, "Be brief."),
		model.NewTextPart(model.User, "Say \"hi\" & <bye>\u2028\x7f\U0001F600"),
		model.NewMessagePart(model.Message{Role: model.Assistant, Items: answer}),
		model.NewResultPart("call_1", "one\ntwo"),
		model.NewResultPart("call_2", ""),
		model.NewTextPart(model.User, "Go on."),
		model.NewTextPart(model.Assistant, "hi"),
	}
}

const (
	schemaSent = `{"type":"object", "properties":{"path":{"type":"string","description":"a \u003cb\u003e\u2028"},"max":{"type":"number","maximum":1e3}}}`
	taskSent   = `"Say \"hi\" \u0026 \u003cbye\u003e\u2028\u007f\ud83d\ude00"`
	metaSent   = `"metadata":{"harnessbench_seed":"18446744073709551615","harnessbench_lane":"main","harnessbench_turn":"3","harnessbench_attempt":"1","harnessbench_occurrence":"2","harnessbench_purpose":"summary","harnessbench_tools":"1:2","mine":"x"}`
)

var sameSaid = map[API]string{
	Chat: `{"model":"sim/weak","max_tokens":5,"max_completion_tokens":100,"temperature":0.5,"top_p":1,"seed":7,"stream":true,"stream_options":{"include_usage":true},` + metaSent + `,
		"tool_choice":"auto","tools":[{"type":"function","function":{"name":"read_file","description":"Reads.","parameters":` + schemaSent + `}},
		{"type":"function","function":{"name":"grep","description":"Searches.","parameters":{"type":"object"}}}],
		"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":` + taskSent + `},
		{"role":"assistant","content":"I look.","reasoning_content":"Look first.","tool_calls":[{"id":"call_1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a.txt\"}"}},
		{"id":"call_2","type":"function","function":{"name":"grep","arguments":{ "pattern" : "x" }}}]},
		{"role":"tool","tool_call_id":"call_1","content":"one\ntwo"},{"role":"tool","tool_call_id":"call_2","content":""},
		{"role":"user","content":[{"type":"text","text":"Go on."}]},{"role":"assistant","content":"hi","tool_calls":null}]}`,
	Responses: `{"model":"sim/weak","max_output_tokens":100,"temperature":0.5,"top_p":1,"stream":true,` + metaSent + `,
		"instructions":"Be brief.","tools":[{"type":"function","name":"read_file","description":"Reads.","parameters":` + schemaSent + `,"strict":false},
		{"type":"function","name":"grep","description":"Searches.","parameters":{"type":"object"}}],
		"input":[{"role":"user","content":` + taskSent + `},
		{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Look first."}],"encrypted_content":"x=="},
		{"type":"message","role":"assistant","id":"m","content":[{"type":"output_text","text":"I look.","annotations":[]}]},
		{"type":"function_call","call_id":"call_1","name":"read_file","arguments":"{\"path\":\"a.txt\"}"},
		{"type":"function_call","call_id":"call_2","name":"grep","arguments":"{\"pattern\":\"x\"}"},
		{"type":"function_call_output","call_id":"call_1","output":"one\ntwo"},{"type":"function_call_output","call_id":"call_2","output":""},
		{"type":"message","role":"user","content":[{"type":"input_text","text":"Go on."}]},{"role":"assistant","content":"hi"}]}`,
	Messages: `{"model":"sim/weak","max_tokens":100,"temperature":0.5,"top_p":1,"stream":true,` + metaSent + `,
		"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],
		"tools":[{"name":"read_file","description":"Reads.","input_schema":` + schemaSent + `},{"type":"custom","name":"grep","description":"Searches.","input_schema":{"type":"object"}}],
		"messages":[{"role":"user","content":` + taskSent + `},
		{"role":"assistant","content":[{"type":"thinking","thinking":"Look first.","signature":"c2ln"},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"I look."},
		{"type":"tool_use","id":"call_1","name":"read_file","input":{"path":"a.txt"}},{"type":"tool_use","id":"call_2","name":"grep","input":{ "pattern":"x"}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":[{"type":"text","text":"one\ntwo"}]},{"type":"tool_result","tool_use_id":"call_2","is_error":true},{"type":"text","text":"Go on."}]},
		{"role":"assistant","content":"hi"}]}`,
}

// Every API's way to say a conversation gives the very parts that the loop makes
// of it.
func TestDecodeGivesTheLoopsParts(t *testing.T) {
	for api, body := range sameSaid {
		t.Run(string(api), func(t *testing.T) {
			c, err := Decode(api, []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			want := said(true)
			if len(c.Parts) != len(want) {
				t.Errorf("%d parts, want %d", len(c.Parts), len(want))
			}
			for i := range min(len(want), len(c.Parts)) {
				if got := c.Parts[i]; got.Digest != want[i].Digest || got.Kind != want[i].Kind || got.Role != want[i].Role {
					t.Errorf("part %d:\ngot  %s\nwant %s", i, got.JSON, want[i].JSON)
				}
			}
			if c.Model != "sim/weak" || !c.Stream || c.StreamUsage != (api == Chat) || c.Params.MaxTokens != 100 || *c.Params.Temperature != 0.5 || *c.Params.TopP != 1 || c.Params.Model != "" {
				t.Errorf("%+v", c)
			}
			if api == Chat && *c.Params.Seed != 7 {
				t.Errorf("seed %d", *c.Params.Seed)
			}
			meta := Meta{Known: true, Seed: 1<<64 - 1, Lane: "main", Turn: 3, Attempt: 1, Occurrence: 2, Purpose: model.ForSummary}
			if diff := cmp.Diff(meta, c.Meta); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeDefaults(t *testing.T) {
	c, err := Decode(Chat, []byte(`{"model":"m","messages":[{"role":"user","content":"a"},{"role":"assistant","content":null},{"role":"user","content":"b"}],"seed":-1}`))
	if err != nil {
		t.Fatal(err)
	}
	if c.Meta != (Meta{Seed: 1<<64 - 1, Turn: 2}) || c.Stream {
		t.Errorf("%+v", c.Meta)
	}
	if got := string(c.Parts[1].JSON); got != `{"content":[],"role":"assistant"}` {
		t.Error(got)
	}
	c, err = Decode(Responses, []byte(`{"model":"m","input":"hi","previous_response_id":"resp_1","metadata":null}`))
	if err != nil || c.Previous != "resp_1" || c.Meta != (Meta{Seed: 1, Turn: 1}) || string(c.Parts[0].JSON) != string(model.NewTextPart(model.User, "hi").JSON) {
		t.Errorf("%+v, %v", c, err)
	}
}

// What is no text, and tools that are no functions, are kept and not refused.
func TestDecodeOddThings(t *testing.T) {
	for name, tt := range map[string]struct {
		api  API
		body string
		want []string
	}{
		"image": {Chat, `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:x"}}]}]}`,
			[]string{`{"content":[{"text":"see","type":"text"},{"text":"[image_url sha256:76d07b468d9aa3cc1a06867e79f47564]","type":"text"}],"role":"user"}`}},
		"legacy function": {Chat, `{"model":"m","functions":[{"name":"f","parameters":{}}],"messages":[{"role":"assistant","function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"r"}]}`,
			[]string{`{"description":"","name":"f","schema":{},"version":1}`, `{"content":[{"args":"{}","id":"f","name":"f","type":"tool_call"}],"role":"assistant"}`, `{"call_id":"f","content":[{"text":"r","type":"text"}],"role":"tool"}`}},
		"custom tool": {Chat, `{"model":"m","tools":[{"type":"custom","custom":{"name":"sh","description":"d","format":{"type":"text"}}}],"messages":[{"role":"assistant","tool_calls":[{"id":"1","type":"custom","custom":{"name":"sh","input":"ls"}}]}]}`,
			[]string{`{"description":"d","name":"sh","schema":{},"version":1}`, `{"content":[{"args":"ls","id":"1","name":"sh","type":"tool_call"}],"role":"assistant"}`}},
		"tools without a function": {Responses, `{"model":"m","tools":[{"type":"web_search"},{"type":"custom","name":"apply_patch","format":{"type":"grammar"}},{"type":"local_shell"}],"input":[]}`,
			[]string{`{"description":"","name":"web_search","schema":{},"version":1}`, `{"description":"","name":"apply_patch","schema":{},"version":1}`, `{"description":"","name":"local_shell","schema":{},"version":1}`}},
		"local shell": {Responses, `{"model":"m","input":[{"type":"local_shell_call","call_id":"c","action":{"type":"exec","command":["ls"]}},{"type":"local_shell_call_output","call_id":"c","output":{"a":1}},{"type":"custom_tool_call","call_id":"d","name":"apply_patch","input":"*** Begin"},{"type":"custom_tool_call_output","call_id":"d","output":[{"type":"input_text","text":"ok"}]}]}`,
			[]string{`{"content":[{"args":"{\"command\":[\"ls\"],\"type\":\"exec\"}","id":"c","name":"local_shell","type":"tool_call"}],"role":"assistant"}`, `{"call_id":"c","content":[{"text":"{\"a\":1}","type":"text"}],"role":"tool"}`,
				`{"content":[{"args":"*** Begin","id":"d","name":"apply_patch","type":"tool_call"}],"role":"assistant"}`, `{"call_id":"d","content":[{"text":"ok","type":"text"}],"role":"tool"}`}},
		"run by the provider": {Responses, `{"model":"m","input":[{"type":"web_search_call","id":"w","status":"completed"}]}`,
			[]string{`{"content":[{"evidence":{"id":"w","status":"completed","type":"web_search_call"},"type":"provider_call"}],"role":"assistant"}`}},
		"malformed arguments": {Messages, `{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"INVALID_JSON":"{\"a\":"}},{"type":"server_tool_use","id":"s","name":"web_search","input":{}}]}]}`,
			[]string{`{"content":[{"args":"{\"a\":","id":"t","name":"f","type":"tool_call"},{"evidence":{"id":"s","input":{},"name":"web_search","type":"server_tool_use"},"type":"provider_call"}],"role":"assistant"}`}},
		"half a surrogate pair": {Chat, `{"model":"m","messages":[{"role":"user","content":"a\ud83d"}]}`, []string{"{\"content\":[{\"text\":\"a\ufffd\",\"type\":\"text\"}],\"role\":\"user\"}"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Decode(tt.api, []byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range c.Parts {
				got = append(got, string(p.JSON))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(freeform[name], c.Freeform); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// freeform are the tools of TestDecodeOddThings that take any text.
var freeform = map[string][]string{"custom tool": {"sh"}, "tools without a function": {"apply_patch"}}

var badRequests = []struct {
	api           API
	body          string
	pointer, what string
}{
	{Chat, ``, "", "breaks off"},
	{Chat, `{"model":"m"`, "", "breaks off"},
	{Chat, `{"model":"m"} x`, "", "not valid JSON at byte 14"},
	{Chat, `{"model":"m"}{}`, "", "more than one JSON value"},
	{Chat, `[]`, "", "want an object"},
	{Chat, `{"model":"m","model":"n","messages":[]}`, "/model", "appears twice"},
	{Chat, `{"model":"m","messages":[{"role":"user","content":"a","content":"b"}]}`, "/messages/0/content", "appears twice"},
	{Chat, `{"messages":[]}`, "/model", "is missing"},
	{Chat, `{"model":"m"}`, "/messages", "is missing; want an array"},
	{Chat, `{"model":"m","messages":{}}`, "/messages", "is an object; want an array"},
	{Chat, `{"model":"m","messages":[null]}`, "/messages/0", "is null; want an object"},
	{Chat, `{"model":"m","messages":[{}]}`, "/messages/0/role", "is missing"},
	{Chat, `{"model":"m","messages":[{"role":"bot"}]}`, "/messages/0/role", "is no role"},
	{Chat, `{"model":"m","messages":[{"role":"user","content":1}]}`, "/messages/0/content", "is a number"},
	{Chat, `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":1}]}]}`, "/messages/0/content/0/text", "want a string"},
	{Chat, `{"model":"m","messages":[{"role":"assistant","tool_calls":[{}]}]}`, "/messages/0/tool_calls/0/function", "is missing"},
	{Chat, `{"model":"m","messages":[],"n":2}`, "/n", "more answers than one"},
	{Chat, `{"model":"m","messages":[],"max_tokens":-1}`, "/max_tokens", "out of range"},
	{Chat, `{"model":"m","messages":[],"max_tokens":1.5}`, "/max_tokens", "whole number"},
	{Chat, `{"model":"m","messages":[],"temperature":"hot"}`, "/temperature", "want a number"},
	{Chat, `{"model":"m","messages":[],"temperature":1e999}`, "/temperature", "too large"},
	{Chat, `{"model":"m","messages":[],"stream":"yes"}`, "/stream", "want a boolean"},
	{Chat, `{"model":"m","messages":[],"tools":[{"type":"function","function":{}}]}`, "/tools/0/function/name", "is missing"},
	{Chat, `{"model":"m","messages":[],"tools":[{"type":"function","function":{"name":"f","parameters":"x"}}]}`, "/tools/0/function/parameters", "want an object"},
	{Chat, `{"model":"m","messages":[],"metadata":{"harnessbench_seed":"-1"}}`, "/metadata/harnessbench_seed", "64 bits"},
	{Chat, `{"model":"m","messages":[],"metadata":{"harnessbench_turn":1}}`, "/metadata/harnessbench_turn", "want a string"},
	{Chat, `{"model":"m","messages":[],"metadata":{"harnessbench_tools":"1"}}`, "/metadata/harnessbench_tools", "pairs"},
	{Responses, `{"model":"m"}`, "/input", "is missing"},
	{Responses, `{"model":"m","input":[{"type":"message"}]}`, "/input/0/role", "is missing"},
	{Responses, `{"model":"m","input":"x","conversation":"c"}`, "/conversation", "not kept"},
	{Responses, `{"model":"m","input":"x","background":true}`, "/background", "background"},
	{Messages, `{"model":"m","messages":[{"role":"tool"}]}`, "/messages/0/role", "is no role"},
	{Messages, `{"model":"m","messages":[{"role":"user","content":[{"type":"tool_result"}]}]}`, "/messages/0/content/0/tool_use_id", "is missing"},
	{"x", `{"model":"m"}`, "", "unknown"},
}

func TestDecodeRefuses(t *testing.T) {
	for _, tt := range badRequests {
		_, err := Decode(tt.api, []byte(tt.body))
		var bad *BadRequest
		if !errors.As(err, &bad) || bad.Pointer != tt.pointer || !strings.Contains(bad.What, tt.what) {
			t.Errorf("%s: %v; want %q at %q", tt.body, err, tt.what, tt.pointer)
		}
	}
	deep := `{"model":"m","messages":[],"x":` + strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth) + `}`
	many := `{"model":"m","messages":[],"x":[` + strings.Repeat("0,", MaxValues) + `0]}`
	for _, body := range []string{deep, many} {
		if _, err := Decode(Chat, []byte(body)); err == nil {
			t.Errorf("%.60s is taken", body)
		}
	}
}

func FuzzDecode(f *testing.F) {
	apis := []API{Chat, Responses, Messages}
	for i, api := range apis {
		f.Add(byte(i), []byte(sameSaid[api]))
	}
	for _, tt := range badRequests {
		f.Add(byte(len(tt.body)), []byte(tt.body))
	}
	f.Fuzz(func(t *testing.T, which byte, body []byte) {
		api := apis[int(which)%len(apis)]
		c, err := Decode(api, body)
		if err != nil {
			return
		}
		again, err := Decode(api, body)
		if err != nil || len(again.Parts) != len(c.Parts) {
			t.Fatalf("the same body again: %v", err)
		}
		for i, p := range c.Parts {
			if p.Digest != again.Parts[i].Digest {
				t.Fatalf("part %d differs from itself", i)
			}
			if _, bad := parseJSON(p.JSON, false); bad != nil && !strings.Contains(bad.What, "nested") {
				t.Fatalf("part %d is no JSON: %s: %v", i, p.JSON, bad)
			}
		}
	})
}
