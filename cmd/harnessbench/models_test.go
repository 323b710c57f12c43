package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What ping makes of each kind of answer, over real HTTP on loopback.
func TestModelsPing(t *testing.T) {
	const key = "a-key-for-ping-only"
	answer := func(message string) string {
		return `{"id":"1","choices":[{"index":0,"message":{"role":"assistant",` + message + `},"finish_reason":"stop"}],"usage":{"prompt_tokens":1200,"completion_tokens":10,"total_tokens":1210}}`
	}
	const call = `"content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"report","arguments":"{\"word\":\"pong\"}"}}]`
	for _, c := range []struct {
		name   string
		status int
		body   string
		code   int
		want   string
	}{
		{"call", 200, answer(call), 0, `report {"word":"pong"}`},
		{"usage", 200, answer(call), 0, "1,200 tokens in, 10 out, 0.0031 USD"},
		{"text", 200, answer(`"content":"pong\u001b[31m"`), 1, "The tool was not called"},
		{"no usage", 200, `{"id":"1","choices":[{"index":0,"message":{"role":"assistant",` + call + `},"finish_reason":"stop"}]}`, 0, "does not tell"},
		{"no key", 401, `{"error":{"message":"Incorrect API key provided: ` + key + `","code":"invalid_api_key"}}`, 1, "refuses the key"},
		{"no model", 404, `{"error":{"message":"model not found","code":"model_not_found"}}`, 1, "does not know the path or the model"},
		{"no tools", 400, `{"error":{"message":"auto tool choice requires --enable-auto-tool-choice"}}`, 1, "refuse tools unless"},
		{"limit", 429, `{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}`, 4, "at its limit"},
		{"quota", 429, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`, 1, "no quota left"},
		{"down", 503, `{"error":{"message":"overloaded"}}`, 4, "in trouble"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sent, auth string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				sent, auth = string(body), r.Header.Get("Authorization")
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			defer server.Close()
			path := filepath.Join(t.TempDir(), "models.yaml")
			file := "schema: harnessbench/models/v1\ndate: 2026-01-31\nsource: a test\nproviders: [{id: acme, base_url: '" + server.URL + "/v1', key_env: ACME_KEY}]\n" +
				"models: [{id: acme/large, params: {max_tokens: 64}, prices: {input: 2.5, cache_read: 1, cache_write: 1, output: 10}}]\n"
			if err := os.WriteFile(path, []byte(file), 0o644); err != nil {
				t.Fatal(err)
			}
			t.Setenv("ACME_KEY", key)
			for _, extra := range [][]string{nil, {"--json"}} {
				var out, errs strings.Builder
				code := run(context.Background(), &out, &errs, append([]string{"models", "ping", "acme/large", "--models", path}, extra...))
				if code != c.code || extra == nil && !strings.Contains(out.String(), c.want) {
					t.Errorf("exit %d, want %d with %q:\n%s%s", code, c.code, c.want, &out, &errs)
				}
				if s := out.String() + errs.String(); strings.Contains(s, key) || strings.Contains(s, "\x1b") {
					t.Errorf("the key or a control character is in\n%s", s)
				}
			}
			if auth != "Bearer "+key || !strings.Contains(sent, `"name":"report"`) || !strings.Contains(sent, `"max_tokens":64`) {
				t.Errorf("sent %s with %s", sent, auth)
			}
		})
	}
}
