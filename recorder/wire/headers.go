package wire

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/loop/redact"
	"github.com/harnessbench/harnessbench/recorder/wire/canon"
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

// A header or a parameter of a query carries a credential when its name is one of
// these or has one of these ends, in lower case.
var (
	secretNames = []string{"authorization", "proxy-authorization", "key", "apikey", "token", "sig", "signature", "password", "secret"}
	secretEnds  = []string{"-key", "_key", "-token", "_token", "-secret", "_secret", "-signature", "-authorization", "-password", "_password"}
	// A new one is in each request and opens nothing.
	noSecrets = []string{"idempotency-key", "x-idempotency-key", "sec-websocket-key", "page_token", "next_page_token"}
)

// isSecret reports whether a name says that its value is a credential.
func isSecret(name string) bool {
	name = strings.ToLower(name)
	return !slices.Contains(noSecrets, name) &&
		(slices.Contains(secretNames, name) || slices.ContainsFunc(secretEnds, func(end string) bool { return strings.HasSuffix(name, end) }))
}

// secrets returns the credentials that a request or an answer carries: whole
// values, and of "Bearer X" the X alone.
func secrets(h http.Header, query url.Values) []string {
	var out []string
	for name, values := range h {
		if !isSecret(name) {
			continue
		}
		for _, v := range values {
			out = append(out, v)
			if _, token, ok := strings.Cut(v, " "); ok {
				out = append(out, strings.TrimSpace(token))
			}
		}
	}
	for _, c := range readCookies(h) {
		out = append(out, c.Value)
	}
	for name, values := range query {
		if isSecret(name) {
			out = append(out, values...)
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(s string) bool { return slices.Contains(placeholders, strings.ToLower(s)) })
}

// learn declares the credentials of a request: those in its headers and its query,
// and those for other servers in its body. A value that is a secret by its place
// alone, as an unknown header of a tool, is not one wherever else it stands.
func learn(to *redact.Redactor, r *http.Request, body []byte) {
	for _, s := range secrets(r.Header, r.URL.Query()) {
		to.Add(s)
	}
	canon.MaskCredentials(body, func(name, value string) {
		if name == "authorization_token" {
			name = "authorization"
		}
		for _, s := range secrets(http.Header{name: {value}}, nil) {
			to.Add(s)
		}
	})
}

// placeholders are what people write where a client insists on a key and nothing
// needs one. Texts are full of these words, and they are no secret.
var placeholders = []string{"", "none", "null", "empty", "dummy", "ollama", "lm-studio", "anything", "whatever", "not-needed", "not_needed", "no-key", "no-key-needed",
	"no-key-required", "sk-no-key-required", "placeholder", "your-api-key", "api-key", "test-key", "localhost", "undefined"}

func readCookies(h http.Header) []*http.Cookie {
	return append((&http.Request{Header: h}).Cookies(), (&http.Response{Header: h}).Cookies()...)
}
