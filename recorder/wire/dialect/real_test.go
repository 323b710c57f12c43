package dialect

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop/model"
)

// exchange is one of a cassette, in which a body stands as text or decoded.
type exchange struct {
	Request struct {
		Method string
		URI    string
		Body   any `yaml:"parsed_body"`
	}
	Response struct {
		Headers map[string][]string
		Body    struct{ String string }
		Parsed  any `yaml:"parsed_body"`
		Status  struct{ Code int }
	}
}

func (x *exchange) body() ([]byte, error) {
	if x.Response.Parsed == nil {
		return []byte(x.Response.Body.String), nil
	}
	return json.Marshal(x.Response.Parsed)
}

// show is an answer in one line: what it said, begun and with its length.
func show(r *model.Response, e *model.Error) string {
	if e != nil {
		return fmt.Sprintf("%s %d %v: %d %.12q", e.Kind, e.Status, e.Usage, len(e.Message), e.Message)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %v:", r.Model, r.Finish, r.Usage)
	for _, it := range r.Items {
		switch it.Type {
		case model.CallItem:
			fmt.Fprintf(&b, " %s(%s)", it.Call.Name, it.Call.Args)
		case model.ProviderCall:
			fmt.Fprintf(&b, " provider %s", it.Evidence)
		default:
			fmt.Fprintf(&b, " %s %d %.12q", it.Type, len(it.Text), it.Text)
		}
	}
	return b.String()
}

// Real exchanges of four providers are read as what they say.
func TestRealExchanges(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "..", "shared", "data", "wire")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("../shared/data/wire is not beside the checkout: %v", err)
	}
	for file, want := range realExchanges {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(dir, file+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			var tape struct{ Interactions []exchange }
			if err := yaml.Unmarshal(text, &tape); err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range tape.Interactions {
				x := &tape.Interactions[i]
				_, path, _ := strings.Cut(strings.TrimPrefix(x.Request.URI, "https://"), "/")
				path = strings.TrimPrefix(strings.TrimPrefix(path, "v1beta/"), "openai/")
				api, aux, ok := Route(x.Request.Method, "/"+path)
				if !ok || aux != "" {
					continue // Gemini's own API
				}
				sent, err := json.Marshal(x.Request.Body)
				if err != nil {
					t.Fatal(err)
				}
				c, err := Decode(api, sent)
				if err != nil {
					t.Fatal(err)
				}
				body, err := x.body()
				if err != nil {
					t.Fatal(err)
				}
				r, merr := Parse(api, x.Response.Status.Code, func(key string) string {
					return strings.Join(x.Response.Headers[strings.ToLower(key)], ",")
				}, body)
				got = append(got, fmt.Sprintf("%d parts, %s", len(c.Parts), show(r, merr)))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// realExchanges say what each answer holds.
var realExchanges = map[string][]string{
	"test_anthropic_model_thinking_part_stream": {
		`1 parts, claude-sonnet-4-20250514 stop {43 0 0 282 0 false}: reasoning 202 "This is a st" text 1021 "Here are the"`,
	},
	"test_compatible_api_with_tool_calls_without_id": {
		`2 parts, gemini-2.5-pro-preview-05-06 tool_calls {35 0 0 74 62 false}: get_current_time({})`,
		`4 parts, gemini-2.5-pro-preview-05-06 stop {66 0 0 34 28 false}: text 25 "The current "`,
	},
	"test_multiple_agent_tool_calls": {
		`6 parts, gpt-4o-mini-2024-07-18 tool_calls {104 0 0 16 0 false}: get_capital({"country":"England"})`,
		`8 parts, gpt-4o-mini-2024-07-18 stop {129 0 0 9 0 false}: text 33 "The capital "`,
	},
	"test_multiple_parallel_tool_calls": {
		`3 parts, claude-haiku-4-5-20251001 tool_calls {423 0 0 202 0 false}: text 156 "I'll help yo" retrieve_entity_info({"name":"Alice"})` +
			` retrieve_entity_info({"name":"Bob"}) retrieve_entity_info({"name":"Charlie"}) retrieve_entity_info({"name":"Daisy"})`,
		`8 parts, claude-haiku-4-5-20251001 stop {771 0 0 77 0 false}: text 340 "Based on the"`,
	},
	"test_tool_use_failed_error": {
		`3 parts, bad_request 400 {0 0 0 0 0 false}: 198 "Tool call va"`,
		`5 parts, openai/gpt-oss-120b tool_calls {301 0 0 52 22 false}: reasoning 76 "We need to c" get_something_by_name({"name":"test"})`,
		`7 parts, openai/gpt-oss-120b stop {80 256 0 96 59 false}: reasoning 275 "We need to r" text 140 "The first ca"`,
	},
	"test_tool_use_failed_error_streaming_with_text": {
		`3 parts, bad_request 400 {0 0 0 0 0 true}: 54 "Tool choice "`,
		`5 parts, openai/gpt-oss-120b tool_calls {343 0 0 180 153 false}: reasoning 727 "We need to c" final_result({"response":"no"})`,
	},
}
