package dialect

import (
	"bytes"
	"compress/gzip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop/model"
)

func callOf(id, name, args string) model.Item {
	return model.Item{Type: model.CallItem, Call: model.ToolCall{ID: id, Name: name, Args: args}}
}

func textOf(typ model.ItemType, text string) model.Item { return model.Item{Type: typ, Text: text} }

// unknown is the usage that nobody told.
var unknown = model.Usage{Unknown: true}

// What endpoints send that their API does not say.
var deviations = []struct {
	name string
	api  API
	body string
	want model.Response
}{
	{"no ids on calls", Chat, `{"model":"m","choices":[{"message":{"tool_calls":[{"id":"","function":{"name":"a","arguments":"{}"}},{"function":{"name":"b","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":35,"completion_tokens":12,"total_tokens":109}}`,
		model.Response{Model: "m", Finish: "tool_calls", Items: []model.Item{callOf("", "a", "{}"), callOf("", "b", "{}")}, Usage: model.Usage{InputUncached: 35, Output: 74, Reasoning: 62}}},
	{"arguments as an object", Chat, `{"choices":[{"message":{"content":null,"tool_calls":[{"id":"1","function":{"name":"a","arguments":{"x": 1e2}}}]}}]}`,
		model.Response{Items: []model.Item{callOf("1", "a", `{"x": 1e2}`)}, Usage: unknown}},
	{"tool_calls null", Chat, `{"choices":[{"message":{"content":"hi","tool_calls":null},"finish_reason":"stop"}],"usage":null}`,
		model.Response{Finish: "stop", Items: []model.Item{textOf(model.Text, "hi")}, Usage: unknown}},
	{"finish stop with calls", Chat, `{"choices":[{"message":{"content":"","tool_calls":[{"id":"1","function":{"name":"a"}}]},"finish_reason":"stop"}]}`,
		model.Response{Finish: "stop", Items: []model.Item{callOf("1", "a", "")}, Usage: unknown}},
	{"no UTF-8", Chat, "{\"choices\":[{\"message\":{\"content\":\"a\xffb\"},\"finish_reason\":\"stop\"}]}",
		model.Response{Finish: "stop", Items: []model.Item{textOf(model.Text, "a\uFFFDb")}, Usage: unknown}},
	{"function_call", Chat, `{"choices":[{"message":{"function_call":{"name":"a","arguments":"{}"}},"finish_reason":"function_call"}]}`,
		model.Response{Finish: "function_call", Items: []model.Item{callOf("", "a", "{}")}, Usage: unknown}},
	{"content in parts", Chat, `{"choices":[{"message":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"hi"}]},"finish_reason":"stop"}]}`,
		model.Response{Finish: "stop", Items: []model.Item{textOf(model.Reasoning, "hm"), textOf(model.Text, "hi")}, Usage: unknown}},
	{"refusal", Chat, `{"choices":[{"message":{"content":null,"refusal":"no"},"finish_reason":"stop"}]}`,
		model.Response{Finish: "stop", Items: []model.Item{textOf(model.Text, "no")}, Usage: unknown}},
	{"all calls index 0", Chat, "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"x\",\"function\":{\"name\":\"a\",\"arguments\":\"{}\"}}]}}]}\n\n" +
		"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"y\",\"function\":{\"name\":\"a\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n",
		model.Response{Finish: "tool_calls", Items: []model.Item{callOf("x", "a", "{}"), callOf("y", "a", "{}")}, Usage: unknown}},
	{"no index, pieces by turns", Chat, "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"x\",\"function\":{\"name\":\"a\",\"arguments\":\"{\"}},{\"id\":\"y\",\"function\":{\"name\":\"b\"}}]}}]}\r\n\r\n" +
		"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":\"[]\"}}]}}]}\r\n\r\ndata: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"x\",\"function\":{\"arguments\":\"}\"}}]},\"finish_reason\":\"stop\"}]}\r\n\r\n",
		model.Response{Finish: "stop", Items: []model.Item{callOf("x", "a", "{}"), callOf("y", "b", "[]")}, Usage: unknown}},
	{"usage in each chunk, empty choices", Chat, ": ping\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":{\"prompt_tokens\":0,\"completion_tokens\":0}}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":1,\"prompt_cache_hit_tokens\":2}}\n\ndata: [DONE]",
		model.Response{Finish: "stop", Items: []model.Item{textOf(model.Text, "ab")}, Usage: model.Usage{InputUncached: 3, CacheRead: 2, Output: 1}}},
	{"no finish, but [DONE]", Chat, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n",
		model.Response{Items: []model.Item{textOf(model.Text, "a")}, Usage: unknown}},
	{"encrypted reasoning and a search", Responses, `{"status":"completed","model":"m","output":[{"type":"reasoning","id":"r","summary":[],"encrypted_content":"x"},{"type":"web_search_call","status":"completed","id":"w"},{"type":"message","content":[{"type":"output_text","text":"a"},{"type":"refusal","refusal":"b"}]}],"usage":{"input_tokens":5,"input_tokens_details":{"cached_tokens":4},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":8}}`,
		model.Response{Model: "m", Finish: "stop", Items: []model.Item{{Type: model.ProviderCall, Evidence: `{"id":"w","status":"completed","type":"web_search_call"}`}, textOf(model.Text, "a"), textOf(model.Text, "b")}, Usage: model.Usage{InputUncached: 1, CacheRead: 4, Output: 3, Reasoning: 2}}},
	{"calls of other kinds", Responses, `{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"custom_tool_call","call_id":"c","name":"apply_patch","input":"*** Begin"},{"type":"local_shell_call","call_id":"d","action":{"command":["ls"]}}]}`,
		model.Response{Finish: "length", Items: []model.Item{callOf("c", "apply_patch", "*** Begin"), callOf("d", "local_shell", `{"command":["ls"]}`)}, Usage: unknown}},
	{"items only as they ended", Responses, "data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"{}\"}}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"status\":\"completed\",\"output\":[]}}\n\n",
		model.Response{Finish: "tool_calls", Items: []model.Item{callOf("c", "f", "{}")}, Usage: unknown}},
	{"signed and redacted thinking, a search", Messages, `{"model":"c","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"x"},{"type":"server_tool_use","id":"s","name":"web_search","input":{"q":1}},{"type":"tool_use","id":"t","name":"f","input":{ "a": 1.0 }}],"stop_reason":"refusal","usage":{"input_tokens":1,"cache_read_input_tokens":2,"cache_creation_input_tokens":3,"output_tokens":4}}`,
		model.Response{Model: "c", Finish: "refusal", Items: []model.Item{textOf(model.Reasoning, "hm"), {Type: model.ProviderCall, Evidence: `{"id":"s","input":{"q":1},"name":"web_search","type":"server_tool_use"}`}, callOf("t", "f", `{ "a": 1.0 }`)}, Usage: model.Usage{InputUncached: 1, CacheRead: 2, CacheWrite: 3, Output: 4}}},
	{"a block that is none", Messages, "data: {\"type\":\"content_block_start\",\"index\":0}\n\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"text\":\"a\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
		model.Response{Usage: unknown}},
	{"items that are none", Responses, `{"status":"completed","output":[null,"x",[],{}]}`,
		model.Response{Finish: "stop", Items: []model.Item{{Type: model.ProviderCall, Evidence: "{}"}}, Usage: unknown}},
	{"streamed input of a provider's tool", Messages, "data: {\"type\":\"message_start\",\"message\":{\"model\":\"c\",\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"server_tool_use\",\"id\":\"s\",\"input\":{}}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"q\\\": 1}\"}}\n\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{\"whole\":1}}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":9}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
		model.Response{Model: "c", Finish: "tool_calls", Items: []model.Item{{Type: model.ProviderCall, Evidence: `{"id":"s","input":{"q":1},"type":"server_tool_use"}`}, callOf("t", "f", `{"whole":1}`)}, Usage: model.Usage{InputUncached: 3, Output: 9}}},
}

func TestDeviations(t *testing.T) {
	for _, tt := range deviations {
		t.Run(tt.name, func(t *testing.T) {
			got, merr := Parse(tt.api, 200, nil, []byte(tt.body))
			if merr != nil {
				t.Fatal(merr)
			}
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestParseUnpacks(t *testing.T) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(`{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`))
	_ = w.Close()
	header := func(key string) string {
		if key == "Content-Encoding" {
			return "gzip"
		}
		return ""
	}
	r, merr := Parse(Chat, 200, header, b.Bytes())
	if merr != nil || r.Items[0].Text != "hi" {
		t.Fatal(r, merr)
	}
	if _, merr = Parse(Chat, 200, header, b.Bytes()[:b.Len()-6]); merr == nil || merr.Kind != model.ErrBrokenStream {
		t.Error(merr)
	}
	if _, merr = Parse(Chat, 200, header, []byte("plain")); merr == nil || merr.Kind != model.ErrProtocol {
		t.Error(merr)
	}
}

func TestModelList(t *testing.T) {
	for anthropic, want := range map[bool]string{
		false: `{"object":"list","data":[{"id":"sim/weak","object":"model","created":1700000000,"owned_by":"harnessbench"}]}`,
		true:  `{"data":[{"type":"model","id":"sim/weak","display_name":"sim/weak","created_at":"2023-11-14T22:13:20Z"}],"has_more":false,"first_id":"sim/weak","last_id":"sim/weak"}`,
	} {
		if got := string(ModelList(anthropic, []string{"sim/weak"}).Body); got != want {
			t.Error(got)
		}
	}
	if got := string(ModelList(true, nil).Body); got != `{"data":[],"has_more":false,"first_id":null,"last_id":null}` {
		t.Error(got)
	}
}

func TestCountTokens(t *testing.T) {
	r, err := CountTokens(Messages, []byte(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`))
	if err != nil || string(r.Body) != `{"input_tokens":14}` { // {"content":[{"text":"hi","type":"text"}],"role":"user"}
		t.Errorf("%v %s", err, r.Body)
	}
	r, err = CountTokens(Responses, []byte(`{"model":"m","input":"hi"}`))
	if err != nil || string(r.Body) != `{"object":"response.input_tokens","input_tokens":14}` {
		t.Errorf("%v %s", err, r.Body)
	}
	if _, err = CountTokens(Messages, []byte(`{}`)); err == nil {
		t.Error("counts nothing")
	}
}
