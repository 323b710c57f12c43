package dialect

import (
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
)

// maxRetryAfter bounds a wait that a provider asks for: more is a mistake.
const maxRetryAfter = 30 * 24 * time.Hour

// fault is what a provider says went wrong, in whichever of its shapes: a member
// error that is an object or a text, the same in an array (Gemini), its members
// alone, or detail (FastAPI).
type fault struct {
	message, code, typ string
	status             int // HTTP status; 0 = none told
	wait               time.Duration
}

func readFault(n *node) (f fault) {
	for depth := range 4 {
		if all := n.list(); len(all) > 0 {
			n = all[0]
		}
		if depth > 0 && n.get("message") != nil {
			break // its own details are not what went wrong
		}
		inner := n.get("error")
		for _, key := range []string{"errors", "detail"} {
			if inner == nil {
				inner = n.get(key)
			}
		}
		if inner == nil || inner.kind == 't' || inner.kind == 'f' {
			break
		}
		n = inner
	}
	if n == nil {
		return f
	}
	f.message = n.text()
	first := func(keys ...string) string {
		for _, k := range keys {
			if m := n.get(k); m != nil && (m.kind == '"' || m.kind == '0') && m.str != "" {
				return m.str
			}
		}
		return ""
	}
	if n.kind == '{' {
		f.message, f.code, f.typ = first("message", "msg"), first("code"), first("type", "status")
		for _, s := range []string{first("status_code"), f.code} {
			if v, err := strconv.Atoi(s); err == nil && v >= 400 && v < 600 && f.status == 0 {
				f.status = v
			}
		}
		for _, d := range n.get("details").list() { // Gemini
			if wait, ok := duration(strings.TrimSuffix(d.get("retryDelay").text(), "s"), time.Second); ok {
				f.wait = wait
			}
		}
	}
	return f
}

// duration reads a number of units, bounded and never negative.
func duration(s string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || n != n {
		return 0, false
	}
	return time.Duration(min(max(n*float64(unit), 0), float64(maxRetryAfter))), true
}

// retryAfter reads when to ask again: retry-after-ms, or Retry-After in seconds or
// as a date, which counts from the answer's own Date and says nothing without one.
func retryAfter(header func(string) string) (time.Duration, bool) {
	if d, ok := duration(header("Retry-After-Ms"), time.Millisecond); ok {
		return d, true
	}
	v := header("Retry-After")
	if d, ok := duration(v, time.Second); ok {
		return d, true
	}
	at, err := httpTime(v)
	from, err2 := httpTime(header("Date"))
	if err != nil || err2 != nil {
		return 0, false
	}
	return min(max(at.Sub(from), 0), maxRetryAfter), true
}

// httpTime reads the date forms of RFC 9110.
func httpTime(s string) (t time.Time, err error) {
	for _, layout := range []string{"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC850, time.ANSIC} {
		if t, err = time.Parse(layout, textproto.TrimString(s)); err == nil {
			return t, nil
		}
	}
	return t, err
}

// statusWords give an error in a 200 its status by the words of its code and type.
var statusWords = []struct {
	status int
	words  []string
}{
	{429, []string{"rate_limit", "insufficient_quota", "resource_exhausted", "too_many_requests", "billing"}},
	{529, []string{"overloaded"}},
	{503, []string{"unavailable"}},
	{401, []string{"authentication", "invalid_api_key", "unauthenticated"}},
	{403, []string{"permission"}},
	{408, []string{"timeout", "deadline_exceeded"}},
	{413, []string{"request_too_large"}},
	{404, []string{"not_found"}},
	{400, []string{"invalid_request", "invalid_argument", "badrequest", "invalid_prompt", "context_length_exceeded", "tool_use_failed"}},
	{500, []string{"server_error", "internal", "api_error"}},
}

// Codes and types that say that an account is empty; the word quota alone does
// not, as Gemini has it of its limits per minute.
var spentCodes = []string{"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "exceeded_current_quota_error", "insufficient_balance", "billing_error"}

// Codes and types, and the words of endpoints without them, that say that a
// request does not fit.
var (
	tooLongCodes = []string{"context_length_exceeded", "exceed_context_size_error", "model_context_window_exceeded", "request_too_large"}
	tooLongWords = []string{
		"maximum context length", "maximum model length", "exceeds the available context size", "exceed context window",
		"exceeds the context window", "exceeds the context length", "greater than the context length", "longer than the model's context",
		"context length exceeded", "context size has been exceeded", "reduce the length of the messages", "maximum prompt length",
		"maximum number of tokens allowed", "exceeded model token limit", "prompt is too long", "input is too long",
		"too large for model", "request too large", "exceed context limit",
	}
)

// kind sorts a fault by its status and its words.
func (f *fault) kind() model.ErrorKind {
	is := func(words []string) bool {
		for _, w := range words {
			if f.code == w || f.typ == w {
				return true
			}
		}
		return false
	}
	says := func(words ...string) bool {
		text := strings.ToLower(f.message)
		for _, w := range words {
			if strings.Contains(text, w) {
				return true
			}
		}
		return false
	}
	s := f.status
	switch {
	case is(tooLongCodes), s == 413:
		return model.ErrContextOverflow
	case s == 402, s >= 400 && s < 500 && (is(spentCodes) || says("credit balance is too low")):
		return model.ErrQuota
	case s == 401, s == 403:
		return model.ErrAuth
	case s == 408:
		return model.ErrTimeout
	case (s == 400 || s == 422 || s == 429) && says(tooLongWords...):
		return model.ErrContextOverflow
	case s == 429:
		return model.ErrRateLimit
	case s >= 300 && s < 500:
		return model.ErrBadRequest
	}
	return model.ErrServer // also of an error that says no more than that it is one
}

// inBand is the error of an error object in a 200.
func inBand(n *node) *model.Error {
	f := readFault(n)
	words := strings.ToLower(f.code + " " + f.typ)
	for _, rule := range statusWords {
		for _, w := range rule.words {
			if f.status == 0 && strings.Contains(words, w) {
				f.status = rule.status
			}
		}
	}
	return &model.Error{Kind: f.kind(), Status: f.status, RetryAfter: f.wait, Message: f.text(), Usage: model.Usage{Unknown: true}}
}

// refusal is the error of a status that is no success.
func refusal(api API, status int, header func(string) string, body []byte) *model.Error {
	root, bad := parseJSON(body, false)
	f := fault{}
	if bad == nil {
		f = readFault(root)
	}
	f.status = status
	e := &model.Error{Kind: f.kind(), Status: status, RetryAfter: f.wait, Message: f.text()}
	if d, ok := retryAfter(header); ok {
		e.RetryAfter = d
	}
	if e.Message == "" {
		text := strings.ToValidUTF8(strings.TrimSpace(string(body[:min(len(body), 200)])), "\uFFFD")
		e.Message = strings.TrimSpace("HTTP " + strconv.Itoa(status) + " " + text)
	}
	if root.get("usage") != nil {
		e.Usage = readUsage(api, root.get("usage"))
	}
	return e
}

// maxMessage bounds a provider's words in an error, in bytes.
const maxMessage = 1000

// text is the provider's message, or its code or type where there is none.
func (f *fault) text() string {
	for _, s := range []string{f.message, f.code, f.typ} {
		if s == "" {
			continue
		}
		if len(s) > maxMessage {
			s = strings.ToValidUTF8(s[:maxMessage], "") + "..."
		}
		return s
	}
	return ""
}
