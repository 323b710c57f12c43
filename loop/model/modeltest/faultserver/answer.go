package faultserver

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/harnessbench/harnessbench/loop/model"
)

// doneFrame ends a stream of chat completions.
const doneFrame = "data: [DONE]\n\n"

// Ask is a request for a chat completion.
type Ask struct {
	Model    string            `json:"model"`
	Messages []json.RawMessage `json:"messages"`
	Tools    []json.RawMessage `json:"tools"`
	Stream   bool              `json:"stream"`
	Options  struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
	Max  int    `json:"max_tokens"`
	Body []byte `json:"-"` // all of it
}

// Answer answers requests, like a model: with a response, or with an error, whose
// Status is sent if it is a *model.Error. It is called by several goroutines.
type Answer func(a *Ask) (*model.Response, error)

// Echo answers by the messages and tools of a request alone: a thought, a text
// with characters of two to four bytes, and two calls in parallel where there are
// tools and the last message is no result.
func Echo(a *Ask) (*model.Response, error) {
	h := sha256.New()
	for _, list := range [][]json.RawMessage{a.Messages, a.Tools} {
		for _, raw := range list {
			fmt.Fprintf(h, "%d:%s", len(raw), raw)
		}
	}
	sum := fmt.Sprintf("%x", h.Sum(nil))
	r := &model.Response{Finish: model.FinishStop, Items: []model.Item{
		{Type: model.Reasoning, Text: "Let me see \u2026 " + sum[:6]},
		{Type: model.Text, Text: "H\u00e9llo \u4f60\u597d \U0001F600 " + sum + "\nb\u00fcrgerma\u00dfig \U0001F469\u200d\U0001F680."},
	}}
	if n := len(a.Messages); len(a.Tools) > 0 && n > 0 && !bytes.Contains(a.Messages[n-1], []byte(`"role":"tool"`)) {
		r.Finish = model.FinishCalls
		for i, name := range []string{"list_dir", "read_file"} {
			r.Items = append(r.Items, model.Item{Type: model.CallItem, Call: model.ToolCall{Name: name, Args: fmt.Sprintf(`{"path": "d\u00e9p\u00f4t/%s-%d.txt", "n":%d.50}`, sum[:8], i, i)}})
		}
	}
	in := int64(0)
	for _, raw := range a.Messages {
		in += int64(len(raw)+3) / 4
	}
	r.Usage = model.Usage{InputUncached: in - in/2, CacheRead: in / 2, Output: 40, Reasoning: 6}
	return r, nil
}

// completions serves chat completions.
func completions(answer Answer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			writeError(w, http.StatusNotFound, "invalid_request_error", "not_found", "unknown path "+r.URL.Path)
			return
		}
		var a Ask
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, &a)
		}
		if err != nil {
			writeError(w, http.StatusBadRequest, "invalid_request_error", "bad_json", err.Error())
			return
		}
		a.Body = body
		resp, err := answer(&a)
		var me *model.Error
		switch {
		case errors.As(err, &me) && me.Status >= 400:
			writeError(w, me.Status, string(me.Kind), string(me.Kind), me.Message)
		case err != nil:
			writeError(w, http.StatusInternalServerError, "server_error", "server_error", err.Error())
		case a.Stream:
			writeStream(w, &a, resp)
		default:
			writeWhole(w, &a, resp)
		}
	})
}

// errorObject is an error as OpenAI's clients know it, and Anthropic's too.
func errorObject(typ, code, message string) []byte {
	b, err := json.Marshal(map[string]any{"type": "error", "error": map[string]any{"message": message, "type": typ, "param": nil, "code": code}})
	if err != nil {
		panic(err) // strings always marshal
	}
	return b
}

func writeError(w http.ResponseWriter, status int, typ, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(errorObject(typ, code, message)) // a client that left sees no error
}

type object = map[string]any

func usage(u model.Usage) object {
	in := u.InputUncached + u.CacheRead + u.CacheWrite
	return object{"prompt_tokens": in, "completion_tokens": u.Output, "total_tokens": in + u.Output,
		"prompt_tokens_details":     object{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
		"completion_tokens_details": object{"reasoning_tokens": u.Reasoning}}
}

func writeWhole(w http.ResponseWriter, a *Ask, r *model.Response) {
	message := object{"role": "assistant", "content": nil}
	var calls []object
	for i := range r.Items {
		switch it := &r.Items[i]; it.Type {
		case model.Text:
			message["content"] = it.Text
		case model.Reasoning:
			message["reasoning_content"] = it.Text
		case model.CallItem:
			calls = append(calls, object{"id": fmt.Sprintf("call_%d", i), "type": "function",
				"function": object{"name": it.Call.Name, "arguments": it.Call.Args}})
		}
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	w.Header().Set("Content-Type", "application/json")
	_ = encode(w, object{"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": a.Model, "usage": usage(r.Usage),
		"choices": []object{{"index": 0, "message": message, "finish_reason": string(r.Finish), "logprobs": nil}}})
}

// encode writes JSON with characters as they are: escapes could not be split.
func encode(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// writeStream streams an answer as OpenAI does: texts in pieces, then all calls'
// names, then their arguments by turns, the finish reason, the usage, [DONE].
func writeStream(w http.ResponseWriter, a *Ask, r *model.Response) {
	w.Header().Set("Content-Type", "text/event-stream")
	flusher := http.NewResponseController(w)
	var b bytes.Buffer
	chunk := func(choices []object, u any) {
		b.Reset()
		b.WriteString("data: ")
		_ = encode(&b, object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": a.Model, "choices": choices, "usage": u})
		b.WriteByte('\n')
		_, _ = w.Write(b.Bytes()) // a client that left is counted by who wraps w
		_ = flusher.Flush()
	}
	delta := func(d object) { chunk([]object{{"index": 0, "delta": d, "finish_reason": nil}}, nil) }
	delta(object{"role": "assistant", "content": ""})
	var calls []*model.ToolCall
	for i := range r.Items {
		switch it := &r.Items[i]; it.Type {
		case model.Text, model.Reasoning:
			key := map[model.ItemType]string{model.Text: "content", model.Reasoning: "reasoning_content"}[it.Type]
			for _, p := range pieces(it.Text) {
				delta(object{key: p})
			}
		case model.CallItem:
			calls = append(calls, &it.Call)
		}
	}
	for i, c := range calls {
		delta(object{"tool_calls": []object{{"index": i, "id": fmt.Sprintf("call_%d", i), "type": "function",
			"function": object{"name": c.Name, "arguments": ""}}}})
	}
	for turn, more := 0, true; more; turn++ {
		more = false
		for i, c := range calls {
			if p := pieces(c.Args); turn < len(p) {
				more = true
				delta(object{"tool_calls": []object{{"index": i, "function": object{"arguments": p[turn]}}}})
			}
		}
	}
	chunk([]object{{"index": 0, "delta": object{}, "finish_reason": string(r.Finish)}}, nil)
	if a.Options.Usage {
		chunk([]object{}, usage(r.Usage))
	}
	_, _ = io.WriteString(w, doneFrame)
	_ = flusher.Flush()
}

// pieces cuts a text between characters, into about ten pieces or more.
func pieces(s string) (out []string) {
	n, from := max(len(s)/10, 6), 0
	n = min(n, 16<<10)
	for i := range s {
		if i-from >= n {
			out, from = append(out, s[from:i]), i
		}
	}
	if from < len(s) {
		out = append(out, s[from:])
	}
	return out
}
