package openai

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/loop/model"
)

// maxRetryAfter bounds a wait that an endpoint asks for: more is a mistake.
const maxRetryAfter = 30 * 24 * time.Hour

// fault is what an endpoint says went wrong, in whichever of its shapes:
// {"error":{...}} (OpenAI and most), the same in an array (Gemini), "error" as a
// string (Ollama), the members without "error" (older vLLM), "detail" (FastAPI),
// "errors" (Cloudflare).
type fault struct {
	message, code, typ string
	status             int // HTTP status; of an error in a 200 what the object tells, 0 = nothing
	retryAfter         time.Duration
}

type wireFault struct {
	Error    jsontext.Value `json:"error"`
	Errors   jsontext.Value `json:"errors"`
	Message  jsontext.Value `json:"message"`
	Detail   jsontext.Value `json:"detail"`
	Msg      jsontext.Value `json:"msg"` // of FastAPI's details
	Code     jsontext.Value `json:"code"`
	Type     jsontext.Value `json:"type"`
	Status   jsontext.Value `json:"status"`      // Gemini: RESOURCE_EXHAUSTED
	HTTP     jsontext.Value `json:"status_code"` // Groq, within a stream
	Metadata jsontext.Value `json:"metadata"`    // OpenRouter
	Details  jsontext.Value `json:"details"`     // Gemini
}

// readFault reads an error object; what is none gives an empty fault.
func readFault(text []byte) fault { return readFaultAt(text, 0) }

func readFaultAt(v jsontext.Value, depth int) (f fault) {
	if depth > 4 {
		return f
	}
	switch v.Kind() {
	case '"':
		f.message = str(v)
		return f
	case '[':
		if all := list(v); len(all) > 0 {
			return readFaultAt(all[0], depth+1)
		}
		return f
	case '{':
	default:
		return f
	}
	var w wireFault
	if json.Unmarshal(v, &w, lenient) != nil {
		return f
	}
	for _, inner := range []jsontext.Value{w.Error, w.Errors, w.Detail} {
		if present(inner) && (inner.Kind() != '[' || len(list(inner)) > 0) {
			f = readFaultAt(inner, depth+1)
			break
		}
	}
	or := func(dst *string, vs ...jsontext.Value) {
		for _, v := range vs {
			if *dst == "" {
				*dst = str(v)
			}
		}
	}
	or(&f.message, w.Message, w.Msg)
	or(&f.code, w.Code)
	or(&f.typ, w.Type, w.Status)
	if f.status == 0 {
		f.status = httpStatus(w.HTTP, w.Code)
	}
	f.upstream(w.Metadata)
	f.delay(w.Details)
	return f
}

func httpStatus(vs ...jsontext.Value) int {
	for _, v := range vs {
		if n, ok := number(v); ok && n >= 400 && n < 600 {
			return int(n)
		}
	}
	return 0
}

// upstream adds what OpenRouter tells of the provider behind it.
func (f *fault) upstream(metadata jsontext.Value) {
	var m struct {
		Raw jsontext.Value `json:"raw"`
	}
	if metadata.Kind() != '{' || json.Unmarshal(metadata, &m, lenient) != nil {
		return
	}
	if raw := str(m.Raw); raw != "" {
		f.message += ": " + raw
	}
}

// delay reads the wait in Gemini's details, {"retryDelay":"34s"}.
func (f *fault) delay(details jsontext.Value) {
	for _, v := range list(details) {
		var d struct {
			Delay jsontext.Value `json:"retryDelay"`
		}
		if v.Kind() != '{' || json.Unmarshal(v, &d, lenient) != nil {
			continue
		}
		if wait, ok := duration(strings.TrimSuffix(str(d.Delay), "s"), time.Second); ok {
			f.retryAfter = wait
		}
	}
}

// duration reads a number of units, bounded and never negative.
func duration(s string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || n != n {
		return 0, false
	}
	n = min(max(n*float64(unit), 0), float64(maxRetryAfter))
	return time.Duration(n), true
}

// defaults fills in the status of an error in a 200 that tells none but says by
// its words what it is.
func (f *fault) defaults() {
	if f.status != 0 {
		return
	}
	for _, rule := range []struct {
		status int
		words  string
	}{
		{http.StatusTooManyRequests, "rate_limit insufficient_quota resource_exhausted too_many_requests"},
		{529, "overloaded"},
		{http.StatusServiceUnavailable, "unavailable"},
		{http.StatusUnauthorized, "authentication invalid_api_key unauthenticated"},
		{http.StatusForbidden, "permission"},
		{http.StatusRequestTimeout, "timeout deadline_exceeded"},
		{http.StatusBadRequest, "invalid_request invalid_argument badrequest invalid_prompt context_length_exceeded tool_use_failed"},
		{http.StatusInternalServerError, "server_error internal"},
	} {
		for _, w := range strings.Fields(rule.words) {
			if strings.Contains(strings.ToLower(f.code+" "+f.typ), w) {
				f.status = rule.status
				return
			}
		}
	}
}

// spent are codes and types that say that an account is empty, where another
// request does not help: OpenAI, Moonshot. The word "quota" alone does not say
// so, as Gemini uses it of its limits per minute.
var spent = []string{"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "exceeded_current_quota_error", "insufficient_balance"}

// tooLong are codes and types that say that a request does not fit.
var tooLong = []string{"context_length_exceeded", "exceed_context_size_error", "model_context_window_exceeded", "request_too_large"}

// tooLongWords are the words for it of endpoints without a code.
var tooLongWords = []string{
	"maximum context length",             // OpenAI, vLLM, OpenRouter, DeepSeek
	"maximum model length",               // vLLM
	"exceeds the available context size", // llama.cpp
	"exceed context window",              // llama-cpp-python
	"exceeds the context window",         // OpenAI
	"exceeds the context length",         // Ollama
	"greater than the context length",    // LM Studio
	"longer than the model's context",    // SGLang
	"context length exceeded",            // several
	"context size has been exceeded",     // LM Studio
	"reduce the length of the messages",  // Groq
	"maximum prompt length",              // xAI
	"maximum number of tokens allowed",   // Gemini
	"exceeded model token limit",         // Moonshot
	"prompt is too long",                 // Anthropic's compatible endpoint
	"input is too long",                  // Bedrock
	"too large for model",                // Mistral
	"request too large",                  // OpenAI, Groq: larger than a minute's tokens
}

// kind sorts a fault. Its status must be set.
func (f *fault) kind() model.ErrorKind {
	is := func(words []string) bool {
		for _, w := range words {
			if f.code == w || f.typ == w {
				return true
			}
		}
		return false
	}
	switch {
	case is(tooLong), f.status == http.StatusRequestEntityTooLarge:
		return model.ErrContextOverflow
	case f.status == http.StatusPaymentRequired, f.status >= 400 && f.status < 500 && is(spent):
		return model.ErrQuota
	case f.status == http.StatusUnauthorized, f.status == http.StatusForbidden:
		return model.ErrAuth
	case f.status == http.StatusRequestTimeout:
		return model.ErrTimeout
	case (f.status == http.StatusBadRequest || f.status == http.StatusUnprocessableEntity || f.status == http.StatusTooManyRequests) && f.saysTooLong():
		return model.ErrContextOverflow
	case f.status == http.StatusTooManyRequests:
		return model.ErrRateLimit
	case f.status >= 300 && f.status < 500:
		return model.ErrBadRequest
	}
	return model.ErrServer // also of an error that says no more than that it is one
}

func (f *fault) saysTooLong() bool {
	text := strings.ToLower(f.message)
	for _, w := range tooLongWords {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// text is the fault in words, with its code where the message does not say it.
func (f *fault) text() string {
	tag := f.code
	if tag == "" || tag == strconv.Itoa(f.status) {
		tag = f.typ
	}
	switch {
	case f.message == "":
		return tag
	case tag == "" || strings.Contains(f.message, tag):
		return f.message
	}
	return f.message + " (" + tag + ")"
}

// textOr is text, or the start of a body that is no error object, or a fallback.
func (f *fault) textOr(body []byte, fallback string) string {
	if s := f.text(); s != "" {
		return s
	}
	if s := strings.TrimSpace(string(body)); s != "" {
		return s[:min(len(s), 200)]
	}
	return fallback
}
