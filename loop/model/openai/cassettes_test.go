package openai

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop/model"
)

// cassette is a file of recorded exchanges.
type cassette struct {
	Interactions []struct {
		Request struct {
			URI    string `yaml:"uri"`
			Parsed struct {
				Stream bool `yaml:"stream"`
			} `yaml:"parsed_body"`
		} `yaml:"request"`
		Response struct {
			Headers map[string][]string `yaml:"headers"`
			Parsed  any                 `yaml:"parsed_body"`
			Body    struct {
				String string `yaml:"string"`
			} `yaml:"body"`
			Status struct {
				Code int `yaml:"code"`
			} `yaml:"status"`
		} `yaml:"response"`
	} `yaml:"interactions"`
}

// recorded says what an exchange must become. Texts are given by their start.
type recorded struct {
	items  []model.Item
	finish model.Finish
	usage  model.Usage
	err    *model.Error // Message by its start
}

var exchanges = map[string]map[int]recorded{
	// Gemini: calls without ids, thoughts that only the total tells.
	"test_compatible_api_with_tool_calls_without_id.yaml": {
		0: {[]model.Item{called("get_current_time", "{}")}, "tool_calls", model.Usage{InputUncached: 35, Output: 74, Reasoning: 62}, nil},
		1: {[]model.Item{text("The current time is Noon.")}, "stop", model.Usage{InputUncached: 66, Output: 34, Reasoning: 28}, nil},
	},
	// OpenAI; the first two exchanges are of another API.
	"test_multiple_agent_tool_calls.yaml": {
		2: {[]model.Item{called("get_capital", `{"country":"England"}`)}, "tool_calls", model.Usage{InputUncached: 104, Output: 16}, nil},
		3: {[]model.Item{text("The capital of England is London.")}, "stop", model.Usage{InputUncached: 129, Output: 9}, nil},
	},
	// Groq: a call that the provider itself refuses, reasoning.
	"test_tool_use_failed_error.yaml": {
		0: {err: &model.Error{Kind: model.ErrBadRequest, Status: 400, Message: "HTTP 400: Tool call validation failed"}},
		1: {[]model.Item{think("We need to call with correct param"), called("get_something_by_name", `{"name":"test"}`)}, "tool_calls", model.Usage{InputUncached: 301, Output: 52, Reasoning: 22}, nil},
		2: {[]model.Item{think("We need to respond to user request."), text("The first call failed due to")}, "stop", model.Usage{InputUncached: 80, CacheRead: 256, Output: 96, Reasoning: 59}, nil},
	},
	// Groq: an error event within a stream, and a whole stream.
	"test_tool_use_failed_error_streaming_with_text.yaml": {
		0: {err: &model.Error{Kind: model.ErrBadRequest, Status: 400, Message: "Tool choice is required", Usage: model.Usage{Unknown: true}}},
		1: {[]model.Item{think("We need to"), called("final_result", `{"response":"no"}`)}, "tool_calls", model.Usage{InputUncached: 343, Output: 180, Reasoning: 153}, nil},
	},
}

// The real exchanges of several providers become the right items.
func TestRecordedExchanges(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "..", "shared", "data", "wire")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("../shared/data/wire is not beside the checkout")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	seen := 0
	for _, path := range files {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var c cassette
		if err := yaml.Unmarshal(raw, &c); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for i := range c.Interactions {
			if !strings.HasSuffix(c.Interactions[i].Request.URI, "/chat/completions") {
				continue
			}
			want, ok := exchanges[filepath.Base(path)][i]
			if !ok {
				t.Errorf("%s: nothing says what exchange %d must become", path, i)
				continue
			}
			seen++
			t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) { replayed(t, &c, i, want) })
		}
	}
	if seen != 9 {
		t.Errorf("%d exchanges, want 9", seen)
	}
}

func replayed(t *testing.T, c *cassette, i int, want recorded) {
	in := &c.Interactions[i]
	body := in.Response.Body.String
	if in.Response.Parsed != nil {
		b, err := json.Marshal(in.Response.Parsed)
		if err != nil {
			t.Fatal(err)
		}
		body = string(b)
	}
	header := http.Header{}
	for k, vs := range in.Response.Headers {
		header.Set(k, strings.Join(vs, ", "))
	}
	url := serveText(t, in.Response.Status.Code, header.Get("Content-Type"), body)
	r, err := askOnce(on(t, url, func(o *Options) { o.Stream = in.Request.Parsed.Stream }))
	if want.err != nil {
		e := modelError(t, err)
		if !strings.HasPrefix(e.Message, want.err.Message) {
			t.Errorf("exchange %d: %q", i, e.Message)
		}
		e.Message = want.err.Message
		if diff := cmp.Diff(want.err, e); diff != "" {
			t.Errorf("exchange %d: %s", i, diff)
		}
		return
	}
	if err != nil {
		t.Fatalf("exchange %d: %v", i, err)
	}
	for k := range min(len(r.Items), len(want.items)) {
		if s := want.items[k].Text; s != "" && strings.HasPrefix(r.Items[k].Text, s) {
			r.Items[k].Text = s
		}
	}
	if diff := cmp.Diff(&model.Response{Items: want.items, Finish: want.finish, Usage: want.usage, Model: "openai/test"}, r); diff != "" {
		t.Errorf("exchange %d: %s", i, diff)
	}
}
