package dialect

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop/model"
)

var sampleErrors = []*model.Error{
	{Kind: model.ErrRateLimit, Status: 429, RetryAfter: 1500 * time.Millisecond, Message: "rate limit reached"},
	{Kind: model.ErrQuota, Status: 429, Message: "quota exhausted"},
	{Kind: model.ErrAuth, Status: 401, Message: "invalid key"},
	{Kind: model.ErrTimeout, Message: "no answer in time", Usage: model.Usage{InputUncached: 7, CacheRead: 2, Output: 1}},
	{Kind: model.ErrServer, Status: 529, Message: "overloaded"},
	{Kind: model.ErrBadRequest, Status: 400, Message: "bad \"request\"\xff"},
	{Kind: model.ErrContextOverflow, Message: "this request has about 20000 tokens, the context window is 16000"},
}

func headOf(r *Reply) string {
	head := fmt.Sprintf("%d %s\n", r.Status, r.Type)
	for _, h := range r.Header {
		head += h[0] + ": " + h[1] + "\n"
	}
	return head
}

// headerOf gives a reply's headers as Parse takes them.
func headerOf(r *Reply) func(string) string {
	return func(key string) string {
		if strings.EqualFold(key, "Content-Type") {
			return r.Type
		}
		for _, h := range r.Header {
			if strings.EqualFold(h[0], key) {
				return h[1]
			}
		}
		return ""
	}
}

// Parse reads back what EncodeError says.
func TestErrorsThereAndBack(t *testing.T) {
	for _, api := range []API{Chat, Responses, Messages} {
		for _, e := range sampleErrors {
			r := EncodeError(api, e)
			resp, got := Parse(api, r.Status, headerOf(r), r.Body)
			want := *e
			want.Status = r.Status
			want.Message = strings.ToValidUTF8(want.Message, "\uFFFD")
			if api == Messages && e.Kind == model.ErrContextOverflow {
				want.Message = "prompt is too long: " + want.Message
			}
			if diff := cmp.Diff(&want, got); diff != "" || resp != nil {
				t.Errorf("%s %s: %s\n-want +got:\n%s", api, e.Kind, r.Body, diff)
			}
		}
	}
}

func TestBadRequestReply(t *testing.T) {
	_, err := Decode(Chat, []byte(`{"model":"m","messages":[{"role":"user","content":1}]}`))
	r := err.(*BadRequest).Reply(Chat)
	const want = `{"error":{"message":"/messages/0/content: is a number; want a string or an array","type":"invalid_request_error","param":"/messages/0/content","code":null}}`
	if r.Status != 400 || string(r.Body) != want {
		t.Errorf("%d %s", r.Status, r.Body)
	}
}

// What providers really say, and what it is.
func TestFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		api    API
		status int
		head   map[string]string
		body   string
		want   model.Error
	}{
		"openai rate":          {Chat, 429, map[string]string{"retry-after": "20"}, `{"error":{"message":"Rate limit reached","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, model.Error{Kind: model.ErrRateLimit, Status: 429, RetryAfter: 20 * time.Second, Message: "Rate limit reached"}},
		"retry-after-ms":       {Chat, 429, map[string]string{"retry-after": "20", "retry-after-ms": "1250"}, `{"error":{"message":"slow"}}`, model.Error{Kind: model.ErrRateLimit, Status: 429, RetryAfter: 1250 * time.Millisecond, Message: "slow"}},
		"retry at a date":      {Chat, 503, map[string]string{"retry-after": "Tue, 14 Nov 2023 22:13:30 GMT", "date": "Tue, 14 Nov 2023 22:13:20 GMT"}, `down`, model.Error{Kind: model.ErrServer, Status: 503, RetryAfter: 10 * time.Second, Message: "HTTP 503 down"}},
		"a date alone":         {Chat, 503, map[string]string{"retry-after": "Tue, 14 Nov 2023 22:13:30 GMT"}, ``, model.Error{Kind: model.ErrServer, Status: 503, Message: "HTTP 503"}},
		"openai quota":         {Chat, 429, nil, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, model.Error{Kind: model.ErrQuota, Status: 429, Message: "You exceeded your current quota, please check your plan and billing details."}},
		"gemini rate":          {Chat, 429, nil, `[{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"34.5s"}]}}]`, model.Error{Kind: model.ErrRateLimit, Status: 429, RetryAfter: 34500 * time.Millisecond, Message: "You exceeded your current quota"}},
		"openai overflow":      {Chat, 400, nil, `{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, model.Error{Kind: model.ErrContextOverflow, Status: 400, Message: "This model's maximum context length is 8192 tokens."}},
		"anthropic overlong":   {Messages, 400, nil, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 205000 tokens > 200000 maximum"}}`, model.Error{Kind: model.ErrContextOverflow, Status: 400, Message: "prompt is too long: 205000 tokens > 200000 maximum"}},
		"anthropic credit":     {Messages, 400, nil, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, model.Error{Kind: model.ErrQuota, Status: 400, Message: "Your credit balance is too low to access the Anthropic API."}},
		"anthropic busy":       {Messages, 529, nil, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"r"}`, model.Error{Kind: model.ErrServer, Status: 529, Message: "Overloaded"}},
		"no key":               {Responses, 401, nil, `{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}`, model.Error{Kind: model.ErrAuth, Status: 401, Message: "Incorrect API key"}},
		"ollama":               {Chat, 404, nil, `{"error":"model 'x' not found"}`, model.Error{Kind: model.ErrBadRequest, Status: 404, Message: "model 'x' not found"}},
		"fastapi":              {Chat, 422, nil, `{"detail":[{"loc":["body"],"msg":"Field required","type":"missing"}]}`, model.Error{Kind: model.ErrBadRequest, Status: 422, Message: "Field required"}},
		"details within":       {Chat, 400, nil, `{"error":{"message":"bad","detail":"d","errors":["e"]}}`, model.Error{Kind: model.ErrBadRequest, Status: 400, Message: "bad"}},
		"html":                 {Chat, 502, nil, `<html>bad gateway</html>`, model.Error{Kind: model.ErrServer, Status: 502, Message: "HTTP 502 <html>bad gateway</html>"}},
		"a redirect":           {Chat, 302, nil, ``, model.Error{Kind: model.ErrBadRequest, Status: 302, Message: "HTTP 302"}},
		"nothing":              {Chat, 0, nil, ``, model.Error{Kind: model.ErrTransport, Message: "there was no answer"}},
		"error in a 200":       {Chat, 200, nil, `{"error":{"message":"boom","code":502}}`, model.Error{Kind: model.ErrServer, Status: 502, Message: "boom", Usage: model.Usage{Unknown: true}}},
		"failed response":      {Responses, 200, nil, `{"object":"response","status":"failed","error":{"code":"server_error","message":"sorry"},"output":[],"usage":{"input_tokens":5,"output_tokens":1}}`, model.Error{Kind: model.ErrServer, Status: 500, Message: "sorry", Usage: model.Usage{InputUncached: 5, Output: 1}}},
		"response underway":    {Responses, 200, nil, `{"object":"response","status":"in_progress","error":null,"output":[]}`, model.Error{Kind: model.ErrProtocol, Message: "the answer is in_progress, not completed", Usage: model.Usage{Unknown: true}}},
		"empty choices":        {Chat, 200, nil, `{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}`, model.Error{Kind: model.ErrProtocol, Message: "the answer has no choices", Usage: model.Usage{InputUncached: 3, Output: 1}}},
		"no JSON":              {Chat, 200, nil, `hello`, model.Error{Kind: model.ErrProtocol, Message: "the answer is not valid JSON at byte 0", Usage: model.Usage{Unknown: true}}},
		"half JSON":            {Chat, 200, nil, `{"choices":[{"mess`, model.Error{Kind: model.ErrBrokenStream, Message: "the answer breaks off within its JSON", Usage: model.Usage{Unknown: true}}},
		"no content":           {Messages, 200, nil, `{"type":"message"}`, model.Error{Kind: model.ErrProtocol, Message: "the answer has no content", Usage: model.Usage{Unknown: true}}},
		"brotli":               {Chat, 200, map[string]string{"content-encoding": "br"}, `x`, model.Error{Kind: model.ErrProtocol, Message: "the content encoding br is not known here", Usage: model.Usage{Unknown: true}}},
		"error in a stream":    {Chat, 200, map[string]string{"content-type": "text/event-stream"}, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"error\":{\"message\":\"slow down\",\"type\":\"rate_limit_error\"}}\n\n", model.Error{Kind: model.ErrRateLimit, Status: 429, Message: "slow down", Usage: model.Usage{Unknown: true}}},
		"anthropic mid-stream": {Messages, 200, map[string]string{"content-type": "text/event-stream"}, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\nevent: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n", model.Error{Kind: model.ErrServer, Status: 529, Message: "Overloaded", Usage: model.Usage{InputUncached: 9, Output: 1}}},
		"responses mid-stream": {Responses, 200, map[string]string{"content-type": "text/event-stream"}, "data: {\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"message\":\"slow\",\"sequence_number\":1}\n\n", model.Error{Kind: model.ErrRateLimit, Status: 429, Message: "slow", Usage: model.Usage{Unknown: true}}},
		"response.failed":      {Responses, 200, map[string]string{"content-type": "text/event-stream"}, "data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"too long\"}}}\n\n", model.Error{Kind: model.ErrContextOverflow, Status: 400, Message: "too long", Usage: model.Usage{Unknown: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			resp, got := Parse(tt.api, tt.status, func(k string) string { return tt.head[strings.ToLower(k)] }, []byte(tt.body))
			if diff := cmp.Diff(&tt.want, got); diff != "" || resp != nil {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
