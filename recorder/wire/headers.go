package wire

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// hopByHop are the headers of one connection, which a proxy does not pass on
// (RFC 9110, section 7.6.1), with those that older software sends.
var hopByHop = []string{"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// passOn returns the headers that concern the other end.
func passOn(h http.Header) http.Header {
	out := h.Clone()
	for _, list := range h.Values("Connection") {
		for name := range strings.SplitSeq(list, ",") {
			out.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hopByHop {
		out.Del(name)
	}
	return out
}

// keptHeaders are the headers of an answer that a recording keeps, and the
// beginnings of names: what a client acts on. Cookies, organisation and account
// ids are not among them.
var (
	keptHeaders  = []string{"Content-Type", "Content-Encoding", "Cache-Control", "Retry-After", "Retry-After-Ms", "X-Should-Retry", "Request-Id", "X-Request-Id"}
	keptPrefixes = []string{"X-Ratelimit-", "Anthropic-Ratelimit-", "Ratelimit", "Openai-Model", "Openai-Processing-Ms", "Openai-Version", "X-Codex-", "X-Models-Etag", "X-Reasoning-Included"}
)

// kept returns what a recording keeps of an answer's headers, by name.
func kept(h http.Header) [][2]string {
	var out [][2]string
	for name, values := range h {
		if !slices.Contains(keptHeaders, name) && !slices.ContainsFunc(keptPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			continue
		}
		for _, v := range values {
			out = append(out, [2]string{name, v})
		}
	}
	slices.SortStableFunc(out, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return out
}

// secretHeaders carry credentials in requests.
var secretHeaders = []string{"Authorization", "Proxy-Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"}

// secretQueries carry credentials in a request's query.
var secretQueries = []string{"key", "api_key", "api-key", "apikey", "access_token", "token", "sig"}

// secrets returns the credentials that a request or an answer carries: whole
// values, and of "Bearer X" the X alone.
func secrets(h http.Header, query url.Values) []string {
	var out []string
	for _, name := range secretHeaders {
		for _, v := range h.Values(name) {
			out = append(out, v)
			if _, token, ok := strings.Cut(v, " "); ok {
				out = append(out, strings.TrimSpace(token))
			}
		}
	}
	for _, c := range readCookies(h) {
		out = append(out, c.Value)
	}
	for _, name := range secretQueries {
		out = append(out, query[name]...)
	}
	return slices.DeleteFunc(out, func(s string) bool { return slices.Contains(placeholders, strings.ToLower(s)) })
}

// placeholders are what people write where a client insists on a key and nothing
// needs one. Texts are full of these words, and they are no secret.
var placeholders = []string{"", "none", "null", "empty", "dummy", "ollama", "lm-studio", "anything", "whatever", "not-needed", "not_needed", "no-key", "no-key-needed",
	"no-key-required", "sk-no-key-required", "placeholder", "your-api-key", "api-key", "test-key", "localhost", "undefined"}

func readCookies(h http.Header) []*http.Cookie {
	return append((&http.Request{Header: h}).Cookies(), (&http.Response{Header: h}).Cookies()...)
}
