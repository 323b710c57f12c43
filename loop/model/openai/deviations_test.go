package openai

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/modeltest"
)

// serveText serves one recorded body, and returns the URL.
func serveText(t testing.TB, status int, contentType, body string, header ...string) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func askOnce(m *Model) (*model.Response, error) {
	return m.Generate(context.Background(), modeltest.Conversations(m.ID())[1], func(model.Delta) {})
}

func text(s string) model.Item  { return model.Item{Type: model.Text, Text: s} }
func think(s string) model.Item { return model.Item{Type: model.Reasoning, Text: s} }
func called(name, args string) model.Item {
	return model.Item{Type: model.CallItem, Call: model.ToolCall{Name: name, Args: args}}
}

// whole makes an answer in one piece of a choice's members.
func whole(choice string) string {
	return `{"id":"x","object":"chat.completion","choices":[{"index":0,` + choice + `}],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}}`
}

var told = model.Usage{InputUncached: 10, Output: 2}

func TestDeviationsWhole(t *testing.T) {
	unknown := model.Usage{Unknown: true}
	for _, tt := range []struct {
		name, body string
		items      []model.Item
		finish     model.Finish
		usage      model.Usage
	}{
		{"plain", whole(`"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"`), []model.Item{text("hi")}, "stop", told},
		{"no ids on calls", whole(`"message":{"content":null,"tool_calls":[{"type":"function","function":{"name":"a","arguments":"{}"}},{"id":"","function":{"name":"a","arguments":"{}"}}]},"finish_reason":"tool_calls"`),
			[]model.Item{called("a", "{}"), called("a", "{}")}, "tool_calls", told},
		{"one id for all calls", whole(`"message":{"tool_calls":[{"id":"c","function":{"name":"a","arguments":"1"}},{"id":"c","function":{"name":"b","arguments":"2"}}]}`),
			[]model.Item{called("a", "1"), called("b", "2")}, "", told},
		{"ids that are numbers", whole(`"message":{"tool_calls":[{"id":7,"index":0,"function":{"name":"a","arguments":"{}"}}]}`), []model.Item{called("a", "{}")}, "", told},
		{"arguments as an object", whole(`"message":{"tool_calls":[{"id":"1","function":{"name":"a","arguments":{"p": 1.50, "q":"\u00e9"}}}]},"finish_reason":"tool_calls"`),
			[]model.Item{called("a", `{"p": 1.50, "q":"\u00e9"}`)}, "tool_calls", told},
		{"malformed arguments stay", whole(`"message":{"tool_calls":[{"id":"1","function":{"name":"a","arguments":"{\"p\": "}}]}`), []model.Item{called("a", `{"p": `)}, "", told},
		{"arguments null or missing", whole(`"message":{"tool_calls":[{"function":{"name":"a","arguments":null}},{"function":{"name":"b"}},{"function":null},7]}`),
			[]model.Item{called("a", ""), called("b", ""), called("", ""), called("", "")}, "", told},
		{"a call without its wrapper", whole(`"message":{"tool_calls":{"name":"a","arguments":{}}}`), []model.Item{called("a", "{}")}, "", told},
		{"function_call", whole(`"message":{"content":"","function_call":{"name":"a","arguments":"{}"}},"finish_reason":"function_call"`), []model.Item{called("a", "{}")}, "function_call", told},
		{"tool_calls null", whole(`"message":{"content":"hi","tool_calls":null,"function_call":null,"refusal":null},"finish_reason":"stop"`), []model.Item{text("hi")}, "stop", told},
		{"finish stop with calls", whole(`"message":{"content":"I look.","tool_calls":[{"id":"1","function":{"name":"a","arguments":"{}"}}]},"finish_reason":"stop"`),
			[]model.Item{text("I look."), called("a", "{}")}, "stop", told},
		{"usage missing", `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`, []model.Item{text("hi")}, "stop", unknown},
		{"usage null", `{"choices":[{"message":{"content":"hi"}}],"usage":null}`, []model.Item{text("hi")}, "", unknown},
		{"usage all zero", `{"choices":[{"message":{"content":"hi"}}],"usage":{"prompt_tokens":0,"completion_tokens":0}}`, []model.Item{text("hi")}, "", unknown},
		{"usage of a wrong type", `{"choices":[{"message":{"content":"hi"}}],"usage":[1]}`, []model.Item{text("hi")}, "", unknown},
		{"no UTF-8", whole("\"message\":{\"content\":\"a\xff\xfeb\",\"tool_calls\":[{\"function\":{\"name\":\"n\xff\",\"arguments\":{\"x\":\"\xff\"}}}]}"),
			[]model.Item{text("a\uFFFD\uFFFDb"), called("n\uFFFD", "{\"x\":\"\uFFFD\"}")}, "", told},
		{"half a surrogate", whole(`"message":{"content":"a\ud83d!"}`), []model.Item{text("a\uFFFD!")}, "", told},
		{"content in parts", whole(`"message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"},"c",{"type":"image_url"},null]}`), []model.Item{text("abc")}, "", told},
		{"thoughts in parts", whole(`"message":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"}]}`), []model.Item{think("hm"), text("a")}, "", told},
		{"reasoning_content", whole(`"message":{"content":"a","reasoning_content":"hm"}`), []model.Item{think("hm"), text("a")}, "", told},
		{"reasoning", whole(`"message":{"content":"a","reasoning":"hm","reasoning_details":[{"type":"x"}]}`), []model.Item{think("hm"), text("a")}, "", told},
		{"reasoning twice is one", whole(`"message":{"content":"a","reasoning":"hm","reasoning_content":"hm"}`), []model.Item{think("hm"), text("a")}, "", told},
		{"refusal", whole(`"message":{"content":null,"refusal":"I will not."},"finish_reason":"stop"`), []model.Item{text("I will not.")}, "stop", told},
		{"no message", whole(`"finish_reason":"length"`), []model.Item{}, "length", told},
		{"members of other types", `{"id":7,"created":1.5,"model":null,"system_fingerprint":{},"choices":[{"index":"0","logprobs":[],"content_filter_results":7,"message":{"content":"hi","annotations":{}},"finish_reason":"stop"}],"usage":{"prompt_tokens":10.0,"completion_tokens":"2","prompt_tokens_details":null,"completion_tokens_details":[]}}`,
			[]model.Item{text("hi")}, "stop", told},
		{"equal names: the last", `{"choices":[],"choices":[{"message":{"content":"hi"}}],"usage":{"prompt_tokens":10,"completion_tokens":2}}`, []model.Item{text("hi")}, "", told},
		{"white space around", "\n\n  " + whole(`"message":{"content":"hi"}`) + "\n", []model.Item{text("hi")}, "", told},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := askOnce(on(t, serveText(t, 200, "application/json; charset=utf-8", tt.body), nil))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&model.Response{Items: tt.items, Finish: tt.finish, Usage: tt.usage, Model: "openai/test"}, r); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// events makes a stream of payloads.
func events(payloads ...string) string {
	var b strings.Builder
	for _, p := range payloads {
		b.WriteString("data: " + p + "\n\n")
	}
	return b.String()
}

func delta(s string) string { return `{"choices":[{"index":0,"delta":{` + s + `}}]}` }

func calls(s string) string { return delta(`"tool_calls":[` + s + `]`) }

const (
	finished = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	metered  = `{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}}`
	done     = `[DONE]`
)

func TestDeviationsStreamed(t *testing.T) {
	hi := []model.Item{text("hi")}
	ab := []model.Item{called("a", `{"x":1}`), called("b", `{"y":2}`)}
	for _, tt := range []struct {
		name, body string
		items      []model.Item
		told       bool
	}{
		{"usage in the last chunk", events(delta(`"role":"assistant","content":""`), delta(`"content":"h"`), delta(`"content":"i"`), finished, metered, done), hi, true},
		{"usage with the finish", events(delta(`"content":"hi"`), `{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2}}`, done), hi, true},
		{"usage in each chunk", events(`{"choices":[{"delta":{"content":"hi"}}],"usage":{"prompt_tokens":10,"completion_tokens":1}}`, finished, metered, done), hi, true},
		{"usage only under x_groq", events(delta(`"content":"hi"`), `{"choices":[{"delta":{},"finish_reason":"stop"}],"x_groq":{"usage":{"prompt_tokens":10,"completion_tokens":2}}}`, done), hi, true},
		{"usage missing", events(delta(`"content":"hi"`), finished, done), hi, false},
		{"empty choices first", events(`{"choices":[],"prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false}}}]}`, `{"choices":null}`, `{}`, `null`, delta(`"content":"hi"`), finished, metered, done), hi, true},
		{"no [DONE]", events(delta(`"content":"hi"`), finished, metered), hi, true},
		{"no blank line at the end", strings.TrimRight(events(delta(`"content":"hi"`), finished, metered), "\n"), hi, true},
		{"no blank lines at all", strings.ReplaceAll(events(delta(`"content":"hi"`), finished, metered, done), "\n\n", "\n"), hi, true},
		{"no space after data", strings.ReplaceAll(events(delta(`"content":"hi"`), finished, metered, done), "data: ", "data:"), hi, true},
		{"CRLF", strings.ReplaceAll(events(delta(`"content":"hi"`), finished, metered, done), "\n", "\r\n"), hi, true},
		{"CR", strings.ReplaceAll(events(delta(`"content":"hi"`), finished, metered, done), "\n", "\r"), hi, true},
		{"byte order mark", "\xef\xbb\xbf" + events(delta(`"content":"hi"`), finished, metered, done), hi, true},
		{"data of several lines", "data: {\"choices\":\ndata: [{\"delta\":\ndata: {\"content\":\"hi\"}}]}\n\n" + events(finished, metered, done), hi, true},
		{"a thousand pings", strings.Repeat(": ping\n\n", 1000) + events(delta(`"content":"hi"`), finished, metered, done) + ": bye\n", hi, true},
		{"other fields", "event: message\nid: 1\nretry: 5\n" + events(delta(`"content":"hi"`), finished, metered, done), hi, true},
		{"after [DONE]", events(delta(`"content":"hi"`), finished, metered, done, delta(`"content":"no"`)), hi, true},
		{"finish missing", events(delta(`"content":"hi"`), metered, done), hi, true},
		{"no UTF-8", events(delta("\"content\":\"\xff\""), finished, metered, done), []model.Item{text("\uFFFD")}, true},
		{"message for delta", events(`{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`, metered, done), hi, true},
		{"reasoning before text", events(delta(`"reasoning":"h"`), delta(`"reasoning_content":"m"`), delta(`"content":"hi"`), finished, metered, done), []model.Item{think("hm"), text("hi")}, true},
		{"reasoning and text by turns", events(delta(`"reasoning":"a"`), delta(`"content":"b"`), delta(`"reasoning":"c"`), delta(`"content":"d"`), finished, metered, done),
			[]model.Item{think("a"), text("b"), think("c"), text("d")}, true},
		{"refusal", events(delta(`"refusal":"I will"`), delta(`"refusal":" not."`), finished, metered, done), []model.Item{text("I will not.")}, true},
		{"tool_calls null", events(delta(`"content":"hi","tool_calls":null`), finished, metered, done), hi, true},

		{"calls by turns", events(calls(`{"index":0,"id":"1","function":{"name":"a","arguments":""}}`), calls(`{"index":1,"id":"2","function":{"name":"b","arguments":""}}`),
			calls(`{"index":1,"function":{"arguments":"{\"y\""}},{"index":0,"function":{"arguments":"{\"x\":"}}`), calls(`{"index":0,"function":{"arguments":"1}"}},{"index":1,"function":{"arguments":":2}"}}`), finished, metered, done), ab, true},
		{"calls from index 1", events(calls(`{"index":1,"id":"1","function":{"name":"a","arguments":"{\"x\":1}"}}`), calls(`{"index":2,"id":"2","function":{"name":"b","arguments":"{\"y\":2}"}}`), finished, metered, done), ab, true},
		{"no index, by id", events(calls(`{"id":"1","function":{"name":"a","arguments":"{\"x\""}}`), calls(`{"id":"2","function":{"name":"b","arguments":"{\"y\""}}`),
			calls(`{"id":"1","function":{"arguments":":1}"}}`), calls(`{"id":"2","function":{"arguments":":2}"}}`), finished, metered, done), ab, true},
		{"no index, no ids", events(calls(`{"function":{"name":"a","arguments":"{\"x\""}}`), calls(`{"function":{"arguments":":1}"}}`), calls(`{"function":{"name":"b","arguments":"{\"y\":2}"}}`), finished, metered, done), ab, true},
		{"every index 0, ids differ", events(calls(`{"index":0,"id":"1","function":{"name":"a","arguments":"{\"x\":1}"}}`), calls(`{"index":0,"id":"2","function":{"name":"b","arguments":"{\"y\":2}"}}`), finished, metered, done), ab, true},
		{"every index 0, no ids", events(calls(`{"index":0,"function":{"name":"a","arguments":"{\"x\":1}"}},{"index":0,"function":{"name":"b","arguments":"{\"y\":2}"}}`), finished, metered, done), ab, true},
		{"one id, indexes differ", events(calls(`{"index":0,"id":"c","function":{"name":"a","arguments":"{\"x\":1}"}}`), calls(`{"index":1,"id":"c","function":{"name":"b","arguments":"{\"y\":2}"}}`), finished, metered, done), ab, true},
		{"one id, no index", events(calls(`{"id":"c","function":{"name":"a","arguments":"{\"x\":1}"}}`), calls(`{"id":"c","function":{"name":"b","arguments":"{\"y\":2}"}}`), finished, metered, done), ab, true},
		{"id and name repeated", events(calls(`{"index":0,"id":"1","function":{"name":"a","arguments":"{\"x\""}}`), calls(`{"index":0,"id":"1","function":{"name":"a","arguments":":1}"}}`),
			calls(`{"index":1,"id":"2","function":{"name":"b","arguments":"{\"y\":2}"}}`), finished, metered, done), ab, true},
		{"id after the first piece", events(calls(`{"index":0,"function":{"name":"a","arguments":"{\"x\""}}`), calls(`{"index":0,"id":"1","function":{"arguments":":1}"}}`),
			calls(`{"index":1,"id":"2","function":{"name":"b","arguments":"{\"y\":2}"}}`), finished, metered, done), ab, true},
		{"a name in pieces", events(calls(`{"index":0,"id":"1","function":{"name":"read_"}}`), calls(`{"index":0,"function":{"name":"file"}}`), calls(`{"index":0,"function":{"arguments":"{}"}}`), finished, metered, done), []model.Item{called("read_file", "{}")}, true},
		{"arguments as an object", events(calls(`{"index":0,"id":"1","function":{"name":"a","arguments":{"x":1}}}`), calls(`{"index":1,"function":{"name":"b","arguments":{"y":2}}}`), finished, metered, done), ab, true},
		{"text around calls", events(delta(`"content":"I look."`), calls(`{"index":0,"id":"1","function":{"name":"a","arguments":"{}"}}`), delta(`"content":"Done."`), finished, metered, done),
			[]model.Item{text("I look."), called("a", "{}"), text("Done.")}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := on(t, serveText(t, 200, "text/event-stream; charset=utf-8", tt.body), func(o *Options) { o.Stream = true })
			last, pieces := 0, map[int]string{}
			r, err := m.Generate(context.Background(), modeltest.Conversations(m.ID())[1], func(d model.Delta) {
				if d.Index < last {
					t.Errorf("a piece of item %d after item %d", d.Index, last)
				}
				last, pieces[d.Index] = d.Index, pieces[d.Index]+d.Text
			})
			if err != nil {
				t.Fatal(err)
			}
			want := &model.Response{Items: tt.items, Finish: "stop", Usage: told, Model: "openai/test"}
			if !tt.told {
				want.Usage = model.Usage{Unknown: true}
			}
			if tt.name == "finish missing" {
				want.Finish = ""
			}
			if diff := cmp.Diff(want, r); diff != "" {
				t.Error(diff)
			}
			for i, s := range pieces {
				if r.Items[i].Text != s {
					t.Errorf("item %d streamed as %q", i, s)
				}
			}
		})
	}
}

// An endpoint that does not stream answers in one piece; that is an answer too.
func TestJSONForAStream(t *testing.T) {
	r, err := askOnce(on(t, serveText(t, 200, "application/json", whole(`"message":{"content":"hi","tool_calls":[{"function":{"name":"a","arguments":"{}"}},{"function":{"name":"a","arguments":"{}"}}]},"finish_reason":"stop"`)), func(o *Options) { o.Stream = true }))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&model.Response{Items: []model.Item{text("hi"), called("a", "{}"), called("a", "{}")}, Finish: "stop", Usage: told, Model: "openai/test"}, r); diff != "" {
		t.Error(diff)
	}
}

// What breaks off is never an answer, and what is known of its usage is told.
func TestNoAnswer(t *testing.T) {
	unknown := model.Usage{Unknown: true}
	const sse, js = "text/event-stream", "application/json"
	for _, tt := range []struct {
		name, kind, body string
		want             model.ErrorKind
		status           int
		usage            model.Usage
		says             string
	}{
		{"stream ends in the middle", sse, events(delta(`"content":"h"`)), model.ErrBrokenStream, 0, unknown, "without a finish reason"},
		{"within an event", sse, events(delta(`"content":"h"`)) + `data: {"choices":[{"delta":{"con`, model.ErrBrokenStream, 0, unknown, ""},
		{"within a call, usage told", sse, events(`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"a","arguments":"{"}}]}}],"usage":{"prompt_tokens":10,"completion_tokens":2}}`), model.ErrBrokenStream, 0, told, ""},
		{"only pings", sse, ": ping\n\n: ping\n\n", model.ErrBrokenStream, 0, unknown, ""},
		{"empty stream", sse, "", model.ErrBrokenStream, 0, unknown, ""},
		{"only [DONE]", sse, events(done), model.ErrProtocol, 0, unknown, "no choices"},
		{"only usage", sse, events(metered, done), model.ErrProtocol, 0, told, "no choices"},
		{"wrong JSON in a stream", sse, events(delta(`"content":"h"`), `{"choices":[}`, done), model.ErrProtocol, 0, unknown, "no chat completion"},
		{"error event", sse, events(delta(`"content":"h"`)) + "event: error\ndata: {\"error\":{\"message\":\"tool use failed\",\"type\":\"invalid_request_error\",\"code\":\"tool_use_failed\",\"status_code\":400}}\n\n", model.ErrBadRequest, 400, unknown, "tool use failed"},
		{"error event without error", sse, "event: error\ndata: {\"message\":\"no\",\"code\":503}\n\n", model.ErrServer, 503, unknown, "no"},
		{"error object in a stream", sse, events(delta(`"content":"h"`), `{"error":{"message":"overloaded","code":"overloaded"}}`), model.ErrServer, 529, unknown, "overloaded"},
		{"error beside choices", sse, events(`{"id":"x","choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}],"error":{"code":429,"message":"slow down"}}`), model.ErrRateLimit, 429, unknown, "slow down"},
		{"error within a choice", sse, events(`{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error","error":{"code":502,"message":"upstream died"}}]}`), model.ErrServer, 502, unknown, "upstream died"},
		{"error on a bare line", sse, events(delta(`"content":"h"`)) + `{"error":{"message":"out of memory","type":"server_error"}}` + "\n", model.ErrServer, 500, unknown, "out of memory"},
		{"error that says nothing", sse, events(`{"error":{}}`), model.ErrServer, 0, unknown, "says no more"},
		{"error object in a 200", js, `{"error":{"message":"no such model","type":"invalid_request_error"},"usage":{"prompt_tokens":10,"completion_tokens":2}}`, model.ErrBadRequest, 400, told, "no such model"},
		{"error string in a 200", js, `{"error":"boom"}`, model.ErrServer, 0, unknown, "boom"},
		{"overflow in a 200", js, `{"error":{"code":400,"message":"request (9 tokens) exceeds the available context size (8 tokens)","type":"exceed_context_size_error"}}`, model.ErrContextOverflow, 400, unknown, "exceeds"},
		{"no choices", js, `{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2}}`, model.ErrProtocol, 0, told, "no choices"},
		{"no object", js, `[1]`, model.ErrProtocol, 0, unknown, "no chat completion"},
		{"no JSON", js, `Hello`, model.ErrProtocol, 0, unknown, "no chat completion"},
		{"JSON that breaks off", js, `{"choices":[{"message":{"content":"h`, model.ErrBrokenStream, 0, unknown, "breaks off"},
		{"nothing", js, ``, model.ErrBrokenStream, 0, unknown, "breaks off"},
		{"a page", "text/html", `<html>Sign in</html>`, model.ErrProtocol, 0, unknown, "base URL"},
		{"JSON as text", "text/plain", whole(`"message":{"content":"hi"}`), model.ErrProtocol, 0, unknown, "text/plain"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := on(t, serveText(t, 200, tt.kind, tt.body), func(o *Options) { o.Stream = tt.kind == sse })
			r, err := askOnce(m)
			if r != nil {
				t.Fatalf("an answer: %+v", r)
			}
			e := modelError(t, err)
			if e.Kind != tt.want || e.Status != tt.status || e.Usage != tt.usage || !strings.Contains(e.Message, tt.says) {
				t.Errorf("got %s, %d, %+v, %q; want %s, %d, %+v, ...%q", e.Kind, e.Status, e.Usage, e.Message, tt.want, tt.status, tt.usage, tt.says)
			}
		})
	}
}
