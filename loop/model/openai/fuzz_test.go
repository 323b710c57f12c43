package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	openai "github.com/sashabaranov/go-openai"

	"github.com/harnessbench/harnessbench/loop/model"
)

// Whatever comes, the repaired JSON is what the library can read, or there is an
// error; and repairing it again changes nothing.
func FuzzProject(f *testing.F) {
	for _, s := range []string{
		whole(`"message":{"content":"hi","tool_calls":[{"id":1,"index":2,"function":{"name":"a","arguments":{"x":1}}}]},"finish_reason":"stop"`),
		whole(`"message":{"content":[{"type":"thinking","thinking":[{"text":"a"}]},"b",{"refusal":"c"}],"function_call":{"name":"f"}}`),
		delta("\"reasoning\":\"\xff\\ud83d\",\"tool_calls\":{\"name\":\"a\"}"),
		`{"error":{"message":["a"],"code":429,"metadata":{"raw":"x"},"details":[{"retryDelay":"1s"}]}}`,
		`[{"errors":[{"detail":{"error":{"error":{"error":"x"}}}}]}]`, `{"usage":{"prompt_tokens":-1,"completion_tokens":1e300,"total_tokens":"x"}}`, `null`, `{`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, as := range []form{asMessage, asDelta} {
			c := &call{}
			out, err := c.project(text, as)
			if u := c.usage; min(u.InputUncached, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning) < 0 || u.Reasoning > u.Output {
				t.Fatalf("usage %+v", u)
			}
			if err != nil {
				var told *inBand
				if errors.As(err, &told) {
					told.fault.defaults()
					_, _ = told.fault.kind(), told.fault.text()
				}
				continue
			}
			if !jsontext.Value(out).IsValid() {
				t.Fatalf("%q became %q, which is no JSON", text, out)
			}
			var a, b answer
			readBack(t, &a, out, as)
			again, err := c.project(out, as)
			if err != nil {
				t.Fatalf("%q: the repaired is refused: %v", out, err)
			}
			readBack(t, &b, again, as)
			if diff := cmp.Diff(a.done(), b.done()); diff != "" || a.finish != b.finish {
				t.Fatalf("%q: repairing again changes it: %s", out, diff)
			}
		}
	})
}

// readBack reads a repaired payload with the library's types.
func readBack(t *testing.T, a *answer, text []byte, as form) {
	t.Helper()
	if as == asMessage {
		var r openai.ChatCompletionResponse
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if len(r.Choices) > 0 {
			a.message(&r.Choices[0].Message)
			a.finish = model.Finish(r.Choices[0].FinishReason)
		}
	} else {
		var r openai.ChatCompletionStreamResponse
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if len(r.Choices) > 0 {
			a.delta(&r.Choices[0].Delta)
			a.finish = model.Finish(r.Choices[0].FinishReason)
		}
	}
	for _, it := range a.done() {
		if !utf8.ValidString(it.Text + it.Call.Name + it.Call.Args) {
			t.Fatalf("%q: no UTF-8 in %+v", text, it)
		}
	}
}

// A stream's answer does not depend on where its bytes were parted, no prefix of
// it panics, and what comes is an answer or an error of the model's.
func FuzzStream(f *testing.F) {
	for _, s := range []string{
		events(delta(`"content":"h\u00e9"`), calls(`{"index":0,"id":"1","function":{"name":"a","arguments":"{"}}`), calls(`{"index":0,"function":{"arguments":"}"}}`), finished, metered, done),
		strings.ReplaceAll(events(delta(`"content":"hi"`), finished, metered), "\n", "\r"),
		"\xef\xbb\xbf: ping\r\n\r\nevent: error\r\ndata: {\"message\":\"x\"}\r\n\r\n",
		"data: {\"choices\":\ndata: []}\n\n{\"error\":1}\n", "data:\n\ndata\n\n:\n", "data: [DONE]\ndata: [DONE]",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		ask := func(r io.Reader) (*model.Response, *model.Error) {
			m, err := newModel(Options{ID: "openai/test", Stream: true}, replaying{r})
			if err != nil {
				t.Fatal(err)
			}
			resp, err := m.Generate(context.Background(), question(), func(model.Delta) {})
			if err != nil {
				return nil, modelError(t, err)
			}
			return resp, nil
		}
		a, ea := ask(bytes.NewReader(text))
		b, eb := ask(iotest.OneByteReader(bytes.NewReader(text)))
		if diff := cmp.Diff(a, b); diff != "" {
			t.Fatalf("%q (-whole +bytes): %s", text, diff)
		}
		if diff := cmp.Diff(ea, eb); diff != "" {
			t.Fatalf("%q (-whole +bytes): %s", text, diff)
		}
	})
}
