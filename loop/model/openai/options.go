package openai

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/loop/model"
)

// OpenAI is the base URL of OpenAI's own endpoint.
const OpenAI = "https://api.openai.com/v1"

// Options say which model is asked, where and how.
type Options struct {
	// ID is provider/name as in suites, sessions and prices. Required.
	ID string
	// Name is the model on the wire; empty = ID without its provider.
	Name string
	// BaseURL is used as given, with /chat/completions behind its path; a slash
	// at the end does not matter, and nothing is added or guessed: most endpoints
	// want .../v1. A query (Azure's ?api-version=) is kept. Empty = OpenAI.
	BaseURL string
	// Key goes into "Authorization: Bearer"; empty sends none. It comes from the
	// environment of the command, and appears in no error.
	Key string
	// Headers are sent with each request. Values of headers that look like
	// credentials appear in no error either.
	Headers map[string]string
	// Stream asks for server-sent events.
	Stream bool
	// Trace adds metadata that our own serve command answers simulated models by:
	// the trial's seed (WithSeed), lane, turn, attempt, occurrence, purpose, and
	// the versions of tools. No provider needs it.
	Trace bool
	// Timeouts limit each call.
	Timeouts Timeouts
	// MaxTokensField carries Params.MaxTokens: "max_tokens", which compatible
	// endpoints know (the default), or "max_completion_tokens", which OpenAI's
	// reasoning models want.
	MaxTokensField string
	// ResponseFormat asks for JSON; nil = text.
	ResponseFormat *ResponseFormat
	// ReasoningEffort is sent as given ("low", "high", ...); empty sends none.
	ReasoningEffort string
	// SendReasoning sends the reasoning of earlier turns back, as
	// reasoning_content. Few endpoints want it; some refuse it.
	SendReasoning bool
	// Extra are further members of the body, for what only one provider knows. A
	// member that the adapter writes itself is refused.
	Extra map[string]any
	// Now is the clock that a Retry-After date is compared with where the answer
	// has no Date; nil = the machine's.
	Now func() time.Time
}

// Timeouts limit the phases of a call. 0 = the default, negative = no limit. The
// request's own Timeout bounds the whole call as well.
type Timeouts struct {
	Connect   time.Duration // until there is a connection, TLS included; default 10 s
	FirstByte time.Duration // from there to the first byte of the answer's body; default 10 min, as a whole answer is thought first
	Idle      time.Duration // silence between bytes (comments and pings are bytes); default 2 min
	Whole     time.Duration // of the call; default 30 min
}

// ResponseFormat asks for an answer that is JSON.
type ResponseFormat struct {
	Name   string // of the schema; empty = "answer"
	Schema string // JSON Schema; empty = any JSON object (json_object)
	Strict bool   // the endpoint must keep to the schema
}

// reserved are the members of the body that the adapter writes.
var reserved = []string{"model", "messages", "tools", "stream", "stream_options", "max_tokens", "max_completion_tokens", "temperature",
	"top_p", "seed", "n", "response_format", "reasoning_effort"}

// check fills in defaults and returns the parsed base URL and the extra members.
func (o *Options) check() (base *url.URL, extra []byte, err error) {
	bad := func(format string, args ...any) (*url.URL, []byte, error) {
		return nil, nil, fmt.Errorf("model %q: "+format, append([]any{o.ID}, args...)...)
	}
	provider, name, ok := strings.Cut(o.ID, "/")
	if !ok || provider == "" || name == "" {
		return bad("the id must be provider/name")
	}
	if o.Name == "" {
		o.Name = name
	}
	if base, err = o.baseURL(); err != nil {
		return bad("%w", err)
	}
	if strings.ContainsFunc(o.Key, notVisible) {
		return bad("the key holds a space or a line break: check the environment variable it comes from")
	}
	for k, v := range o.Headers {
		if k == "" || strings.ContainsFunc(k, notVisible) || strings.Contains(k, ":") || strings.ContainsAny(v, "\r\n\x00") {
			return bad("header %q cannot be sent: its name or value holds a character that headers do not allow", k)
		}
	}
	switch o.MaxTokensField {
	case "":
		o.MaxTokensField = "max_tokens"
	case "max_tokens", "max_completion_tokens":
	default:
		return bad("MaxTokensField %q is neither max_tokens nor max_completion_tokens", o.MaxTokensField)
	}
	if f := o.ResponseFormat; f != nil && f.Schema != "" && !jsontext.Value(f.Schema).IsValid() {
		return bad("the schema of the response format is no JSON")
	}
	if extra, err = o.members(); err != nil {
		return bad("%w", err)
	}
	o.Timeouts = o.Timeouts.orDefault()
	if o.Now == nil {
		o.Now = time.Now
	}
	return base, extra, nil
}

// baseURL parses and normalises the base URL.
func (o *Options) baseURL() (*url.URL, error) {
	if o.BaseURL == "" {
		o.BaseURL = OpenAI
	}
	u, err := url.Parse(o.BaseURL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("base URL must be http:// or https:// with a host, such as %s", OpenAI)
	case u.User != nil:
		return nil, fmt.Errorf("base URL of %s holds a user: give a key or a header instead", u.Host)
	case u.Fragment != "":
		return nil, fmt.Errorf("base URL of %s holds a fragment (#...)", u.Host)
	case strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions"):
		return nil, fmt.Errorf("base URL of %s: leave out /chat/completions, which is added", u.Host)
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	return u, nil
}

// members renders Extra, sorted by name.
func (o *Options) members() ([]byte, error) {
	var names []string
	for k := range o.Extra {
		if slices.Contains(reserved, k) || o.Trace && k == "metadata" {
			return nil, fmt.Errorf("extra parameter %q is written by the adapter: set it where it belongs", k)
		}
		names = append(names, k)
	}
	slices.Sort(names)
	var b []byte
	for _, k := range names {
		v, err := json.Marshal(o.Extra[k], json.Deterministic(true))
		if err != nil {
			return nil, fmt.Errorf("extra parameter %q: %w", k, err)
		}
		b = append(model.AppendString(append(b, ','), k), ':')
		b = append(b, v...)
	}
	return b, nil
}

func (t Timeouts) orDefault() Timeouts {
	or := func(d, standard time.Duration) time.Duration {
		if d == 0 {
			return standard
		}
		return max(d, 0)
	}
	return Timeouts{or(t.Connect, 10*time.Second), or(t.FirstByte, 10*time.Minute), or(t.Idle, 2*time.Minute), or(t.Whole, 30*time.Minute)}
}

// secrets are the strings that no error text may hold: longest first, so that
// one within another leaves no rest.
func (o *Options) secrets() []string {
	var out []string
	add := func(s string) {
		if s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	add(o.Key)
	for k, v := range o.Headers {
		k = http.CanonicalHeaderKey(k)
		for _, word := range []string{"Key", "Token", "Auth", "Secret", "Cookie"} {
			if strings.Contains(k, word) {
				add(v)
				if _, bare, ok := strings.Cut(v, " "); ok { // Bearer ...
					add(bare)
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out
}

// notVisible reports what is no visible ASCII.
func notVisible(r rune) bool { return r <= ' ' || r > '~' }
