package openai

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
)

// Bodies as the providers send them.
func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		body   string
		want   model.ErrorKind
		says   string
	}{
		{"OpenAI wrong key", 401, `{"error":{"message":"Incorrect API key provided.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, model.ErrAuth, "HTTP 401: Incorrect API key provided. (invalid_api_key)"},
		{"OpenAI region", 403, `{"error":{"code":"unsupported_country_region_territory","message":"Country not supported","param":null,"type":"request_forbidden"}}`, model.ErrAuth, "Country"},
		{"OpenAI rate", 429, `{"error":{"message":"Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000. Please try again in 2s.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, model.ErrRateLimit, "TPM"},
		{"OpenAI quota", 429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, model.ErrQuota, "quota"},
		{"OpenAI more than a minute's tokens", 429, `{"error":{"message":"Request too large for gpt-4 on tokens per min (TPM): Limit 10000, Requested 12000.","type":"tokens","code":"rate_limit_exceeded"}}`, model.ErrContextOverflow, "too large"},
		{"OpenAI overflow", 400, `{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, model.ErrContextOverflow, "8192"},
		{"OpenAI max_tokens", 400, `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}`, model.ErrBadRequest, "max_completion_tokens"},
		{"OpenAI model", 404, `{"error":{"message":"The model 'x' does not exist","type":"invalid_request_error","param":null,"code":"model_not_found"}}`, model.ErrBadRequest, "does not exist"},
		{"OpenAI server", 500, `{"error":{"message":"The server had an error","type":"server_error","param":null,"code":null}}`, model.ErrServer, "(server_error)"},
		{"OpenAI overloaded", 503, `{"error":{"message":"That model is currently overloaded","type":"server_error"}}`, model.ErrServer, "overloaded"},
		{"Azure rate", 429, `{"error":{"code":"429","message":"Requests to the ChatCompletions_Create Operation have exceeded call rate limit. Please retry after 6 seconds."}}`, model.ErrRateLimit, "retry after 6"},
		{"Azure key", 401, `{"statusCode": 401, "message": "Unauthorized. Access token is missing, invalid, audience is incorrect, or have expired."}`, model.ErrAuth, "expired"},
		{"Azure filter", 400, `{"error":{"message":"The response was filtered","param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, model.ErrBadRequest, "content_filter"},
		{"OpenRouter credits", 402, `{"error":{"message":"This request requires more credits, or fewer max_tokens.","code":402,"metadata":{"provider_name":null}},"user_id":"u"}`, model.ErrQuota, "credits"},
		{"OpenRouter upstream", 429, `{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"m is temporarily rate-limited upstream","provider_name":"P"}}}`, model.ErrRateLimit, "temporarily"},
		{"OpenRouter overflow", 400, `{"error":{"message":"This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens","code":400}}`, model.ErrContextOverflow, "32768"},
		{"OpenRouter moderation", 403, `{"error":{"message":"Input was flagged","code":403,"metadata":{"reasons":["x"]}}}`, model.ErrAuth, "flagged"},
		{"OpenRouter timeout", 408, `{"error":{"message":"Timed out","code":408}}`, model.ErrTimeout, "Timed out"},
		{"OpenRouter gateway", 502, `{"error":{"message":"Bad gateway","code":502}}`, model.ErrServer, "Bad gateway"},
		{"Groq overflow", 400, `{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, model.ErrContextOverflow, "reduce"},
		{"Groq larger than a minute", 413, `{"error":{"message":"Request too large for model x on tokens per minute (TPM): Limit 6000, Requested 7000","type":"tokens","code":"rate_limit_exceeded"}}`, model.ErrContextOverflow, "TPM"},
		{"Groq tool", 400, `{"error":{"message":"Tool call validation failed","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"{}"}}`, model.ErrBadRequest, "tool_use_failed"},
		{"Groq capacity", 498, `{"error":{"message":"Flex tier capacity exceeded","type":"capacity_exceeded"}}`, model.ErrBadRequest, "capacity"},
		{"vLLM overflow", 400, `{"object":"error","message":"This model's maximum context length is 6048 tokens. However, you requested 6616 tokens (568 in the messages, 6048 in the completion). Please reduce the length of the messages or completion.","type":"BadRequestError","param":null,"code":400}`, model.ErrContextOverflow, "6048"},
		{"vLLM newer", 400, `{"error":{"message":"The decoder prompt (length 5000) is longer than the maximum model length of 4096.","type":"BadRequestError","param":null,"code":400}}`, model.ErrContextOverflow, "4096"},
		{"vLLM model", 404, `{"object":"error","message":"The model x does not exist.","type":"NotFoundError","param":null,"code":404}`, model.ErrBadRequest, "NotFoundError"},
		{"llama.cpp overflow", 400, `{"error":{"code":400,"message":"request (13392 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":13392,"n_ctx":8192}}`, model.ErrContextOverflow, "13392"},
		{"llama.cpp overflow before", 500, `{"error":{"code":500,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, model.ErrContextOverflow, "exceeds"},
		{"llama.cpp loads", 503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, model.ErrServer, "Loading"},
		{"Ollama overflow", 400, `{"error":{"message":"the input length exceeds the context length","type":"api_error","param":null,"code":null}}`, model.ErrContextOverflow, "exceeds"},
		{"Ollama model", 404, `{"error":"model 'x' not found"}`, model.ErrBadRequest, "not found"},
		{"Gemini quota of a minute", 429, `[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"x"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}]`, model.ErrRateLimit, "RESOURCE_EXHAUSTED"},
		{"Gemini overflow", 400, `[{"error":{"code":400,"message":"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}]`, model.ErrContextOverflow, "1196265"},
		{"DeepSeek balance", 402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`, model.ErrQuota, "Balance"},
		{"Moonshot quota", 429, `{"error":{"message":"Your account has run out","type":"exceeded_current_quota_error"}}`, model.ErrQuota, "run out"},
		{"xAI overflow", 400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`, model.ErrContextOverflow, "131072"},
		{"FastAPI", 422, `{"detail":[{"loc":["body","messages"],"msg":"field required","type":"value_error.missing"}]}`, model.ErrBadRequest, "field required"},
		{"Cloudflare", 429, `{"errors":[{"code":10000,"message":"too many"}],"success":false}`, model.ErrRateLimit, "too many"},
		{"a proxy's page", 502, "<html><body>502 Bad Gateway</body></html>", model.ErrServer, "<html>"},
		{"nothing", 504, "", model.ErrServer, "Gateway Timeout"},
		{"Anthropic overloaded", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, model.ErrServer, "overloaded_error"},
		{"conflict", 409, `{"error":{"message":"again"}}`, model.ErrBadRequest, "again"},
		{"wrong path", 404, "", model.ErrBadRequest, "base URL"},
		{"nginx size", 413, "<html>413 Request Entity Too Large</html>", model.ErrContextOverflow, "413"},
		{"deep nonsense", 400, strings.Repeat(`{"error":`, 5000), model.ErrBadRequest, "HTTP 400"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			both(t, func(t *testing.T, stream func(*Options)) {
				r, err := askOnce(on(t, serveText(t, tt.status, "application/json", tt.body), stream))
				if r != nil {
					t.Fatalf("an answer: %+v", r)
				}
				e := modelError(t, err)
				if e.Kind != tt.want || e.Status != tt.status || !strings.Contains(e.Message, tt.says) || e.Usage != (model.Usage{}) {
					t.Errorf("got %s, %d, %q, %+v; want %s, %d, ...%q", e.Kind, e.Status, e.Message, e.Usage, tt.want, tt.status, tt.says)
				}
				if tt.name == "Gemini quota of a minute" && e.RetryAfter != 34500*time.Millisecond {
					t.Errorf("wait %s", e.RetryAfter)
				}
			})
		})
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		after, ms, date string
		want            time.Duration
	}{
		{"3", "", "", 3 * time.Second},
		{" 1.5 ", "", "", 1500 * time.Millisecond},
		{"3", "250", "", 250 * time.Millisecond},
		{"3", "soon", "", 3 * time.Second},
		{"-3", "", "", 0},
		{"soon", "", "", 0},
		{"", "", "", 0},
		{"NaN", "", "", 0},
		{"1e300", "", "", maxRetryAfter},
		{"Inf", "", "", maxRetryAfter},
		{"Sun, 01 Mar 2026 12:00:07 GMT", "", "", 7 * time.Second},
		{"Sun, 01 Mar 2026 12:00:07 GMT", "", "Sun, 01 Mar 2026 12:00:05 GMT", 2 * time.Second},
		{"Sun, 01 Mar 2026 11:00:00 GMT", "", "", 0},
		{"Sunday, 01-Mar-26 12:00:09 GMT", "", "", 9 * time.Second},
		{"Fri, 01 Mar 3026 12:00:07 GMT", "", "", maxRetryAfter},
	} {
		h := http.Header{}
		for k, v := range map[string]string{"Retry-After": tt.after, "retry-after-ms": tt.ms, "Date": tt.date} {
			if v != "" {
				h.Set(k, v)
			}
		}
		if got, _ := retryAfter(h, func() time.Time { return now }); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt, got, tt.want)
		}
	}
}

// The key reaches the endpoint, and no error text, whatever the endpoint says.
func TestKeyStaysOut(t *testing.T) {
	long := strings.Repeat("x", 2*maxMessage)
	const second = "Basic c2Vjb25kLXNlY3JldA=="
	for _, tt := range []struct {
		status     int
		kind, body string
	}{
		{401, "application/json", `{"error":{"message":"Incorrect key ` + testKey + ` and ` + second + `."}}`},
		{500, "text/plain", testKey + " " + second},
		{400, "application/json", `{"error":{"message":"` + long[:maxMessage-30] + testKey + `"}}`},
		{200, "text/html", testKey},
		{200, "application/json", `{"error":"` + testKey + `"}`},
		{200, "application/json", `{"` + testKey + `"`},
		{302, "text/plain", ""},
	} {
		m := on(t, serveText(t, tt.status, tt.kind, tt.body, "Location", "http://127.0.0.1:1/"+testKey), func(o *Options) { o.Headers = map[string]string{"X-Auth-Token": second} })
		_, err := askOnce(m)
		e := modelError(t, err)
		for _, secret := range []string{testKey, second, second[6:], testKey[:20]} {
			if strings.Contains(e.Error(), secret) {
				t.Errorf("%d %s: %q", tt.status, tt.body[:min(len(tt.body), 40)], e.Message)
			}
		}
		if len(e.Message) > maxMessage+3 {
			t.Errorf("%d bytes of message", len(e.Message))
		}
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var reached atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		_, err := askOnce(on(t, serveText(t, status, "text/plain", "", "Location", other.URL), nil))
		if e := modelError(t, err); e.Kind != model.ErrBadRequest || !strings.Contains(e.Message, other.URL) {
			t.Errorf("%d: %v", status, e)
		}
	}
	if reached.Load() != 0 {
		t.Error("the key was carried to another host")
	}
}

func TestTransport(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := closed.Addr().String()
	closed.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of its client
	secure.StartTLS()
	defer secure.Close()
	for name, url := range map[string]string{"refused": "http://" + addr, "certificate": secure.URL, "no TLS": "https://" + strings.TrimPrefix(serveText(t, 200, "", ""), "http://")} {
		_, err := askOnce(on(t, url, nil))
		if e := modelError(t, err); e.Kind != model.ErrTransport || e.Status != 0 || e.Usage.Unknown || !strings.Contains(e.Message, "127.0.0.1:") {
			t.Errorf("%s: %+v", name, e)
		}
	}
	// Garbage for HTTP.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = c.Write([]byte("SSH-2.0-x\r\n"))
			c.Close()
		}
	}()
	_, err = askOnce(on(t, "http://"+l.Addr().String(), nil))
	if e := modelError(t, err); e.Kind != model.ErrTransport {
		t.Errorf("garbage: %+v", e)
	}
}

// An answer has a size.
func TestAnswerIsBounded(t *testing.T) {
	both(t, func(t *testing.T, stream func(*Options)) {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", map[bool]string{true: "text/event-stream", false: "application/json"}[r.Header.Get("Accept") == "text/event-stream"])
			block := []byte(strings.Repeat(": "+strings.Repeat("pad", 5000)+"\n\n", 1<<6))
			if r.Header.Get("Accept") != "text/event-stream" {
				block = []byte(strings.Repeat(" ", 1<<20))
			}
			for {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}))
		defer srv.Close()
		_, err := askOnce(on(t, srv.URL, stream))
		if e := modelError(t, err); e.Kind != model.ErrProtocol || !strings.Contains(e.Message, "64 MiB") {
			t.Errorf("%+v", e)
		}
	})
}

func TestContextErrors(t *testing.T) {
	m := on(t, serveText(t, 200, "application/json", whole(`"message":{"content":"hi"}`)), nil)
	ctx, cancel := context.WithTimeout(context.Background(), -1)
	defer cancel()
	if _, err := m.Generate(ctx, question(), nil); err != context.DeadlineExceeded {
		t.Errorf("got %v", err)
	}
}
