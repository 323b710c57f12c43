package dialect

import (
	"strconv"
	"strings"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
)

// errorShape is how an error kind looks on the wire.
type errorShape struct {
	status     int
	openai     string // error.type of OpenAI's two APIs
	code       string // error.code there; "" = null
	anthropic  string // error.type of Messages
	messageHas string // words by which clients of Messages know it
}

// errorShapes give each kind's default. Transport errors and broken streams have
// no answer of their own; who cannot close the connection sends a 502.
var errorShapes = map[model.ErrorKind]errorShape{
	model.ErrRateLimit:       {429, "requests", "rate_limit_exceeded", "rate_limit_error", ""},
	model.ErrQuota:           {429, "insufficient_quota", "insufficient_quota", "billing_error", ""},
	model.ErrAuth:            {401, "invalid_request_error", "invalid_api_key", "authentication_error", ""},
	model.ErrTimeout:         {408, "timeout_error", "timeout", "timeout_error", ""},
	model.ErrServer:          {500, "server_error", "", "api_error", ""},
	model.ErrBadRequest:      {400, "invalid_request_error", "", "invalid_request_error", ""},
	model.ErrContextOverflow: {400, "invalid_request_error", "context_length_exceeded", "invalid_request_error", "prompt is too long"},
	model.ErrTransport:       {502, "server_error", "", "api_error", ""},
	model.ErrBrokenStream:    {502, "server_error", "", "api_error", ""},
	model.ErrProtocol:        {502, "server_error", "", "api_error", ""},
	model.ErrCancelled:       {499, "server_error", "", "api_error", ""},
	model.ErrDeadline:        {504, "server_error", "", "timeout_error", ""},
}

// anthropicTypes are the types of errors whose status says more than their kind.
var anthropicTypes = map[int]string{403: "permission_error", 404: "not_found_error", 413: "request_too_large", 529: "overloaded_error"}

// EncodeError says an error in the shape of an API: its status (the kind's where e
// has none), Retry-After in whole seconds, rounded up, and retry-after-ms where e
// says when to ask again, and the API's error object. What was billed all the same
// stands beside that object as usage, which no provider does; it is left out where
// it is 0 or unknown.
func EncodeError(api API, e *model.Error) *Reply {
	return encodeError(api, e, nil)
}

// Reply is the refusal of the request, status 400; an OpenAI error object names
// the pointer in param.
func (e *BadRequest) Reply(api API) *Reply {
	var param any
	if e.Pointer != "" {
		param = e.Pointer
	}
	return encodeError(api, &model.Error{Kind: model.ErrBadRequest, Message: strings.TrimPrefix(e.Error(), "request: ")}, param)
}

func encodeError(api API, e *model.Error, param any) *Reply {
	shape, ok := errorShapes[e.Kind]
	if !ok {
		shape = errorShapes[model.ErrServer]
	}
	r := &Reply{Status: shape.status, Type: typeJSON}
	if e.Status >= 400 && e.Status < 600 {
		r.Status = e.Status
	}
	if e.RetryAfter > 0 {
		seconds := (e.RetryAfter + time.Second - 1) / time.Second
		millis := (e.RetryAfter + time.Millisecond - 1) / time.Millisecond
		r.Header = [][2]string{{"Retry-After", strconv.FormatInt(int64(seconds), 10)}, {"Retry-After-Ms", strconv.FormatInt(int64(millis), 10)}}
	}
	message := strings.ToValidUTF8(e.Message, "\uFFFD")
	if message == "" {
		message = string(e.Kind)
	}
	var kv []any
	if api == Messages {
		typ := shape.anthropic
		if special, ok := anthropicTypes[r.Status]; ok && (e.Kind == model.ErrServer || e.Kind == model.ErrBadRequest || e.Kind == model.ErrAuth) {
			typ = special
		}
		if !strings.Contains(message, shape.messageHas) {
			message = shape.messageHas + ": " + message
		}
		kv = []any{"type", "error", "error", object("type", typ, "message", message), "request_id", nil}
	} else {
		var code any
		if shape.code != "" {
			code = shape.code
		}
		kv = []any{"error", object("message", message, "type", shape.openai, "param", param, "code", code)}
	}
	if u := e.Usage; u != (model.Usage{}) && !u.Unknown {
		usage := chatUsage(u)
		if api == Messages {
			usage = messageUsage(u)
		}
		kv = append(kv, "usage", usage)
	}
	r.Body = object(kv...)
	return r
}
