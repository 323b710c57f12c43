package wire

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
)

// maxBody bounds the body of a request, packed and unpacked: what a line of a
// session can hold. Tests lower it.
var maxBody int64 = 64 << 20

// content is the body of a request.
type content struct {
	raw   []byte // as it came
	plain []byte // without its Content-Encoding
}

// taken is a body that was read already, by a handler before.
type taken struct {
	*bytes.Reader
	content
}

// Close implements io.Closer.
func (*taken) Close() error { return nil }

// read takes the body of a request. The error says what the client is to be
// told.
func read(w http.ResponseWriter, r *http.Request) (content, *model.Error) {
	if t, ok := r.Body.(*taken); ok {
		return t.content, nil
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		var big *http.MaxBytesError
		if errors.As(err, &big) {
			return content{}, tooLarge("the body of the request")
		}
		return content{}, &model.Error{Kind: model.ErrBadRequest, Status: http.StatusBadRequest, Message: "the body of the request broke off"}
	}
	plain, err := unpack(raw, r.Header.Get("Content-Encoding"))
	if errors.Is(err, errTooLarge) {
		return content{}, tooLarge("the unpacked body of the request")
	}
	if err != nil {
		return content{}, &model.Error{Kind: model.ErrBadRequest, Status: http.StatusBadRequest, Message: err.Error()}
	}
	return content{raw: raw, plain: plain}, nil
}

func tooLarge(what string) *model.Error {
	return &model.Error{Kind: model.ErrBadRequest, Status: http.StatusRequestEntityTooLarge,
		Message: fmt.Sprintf("harnessbench: %s is larger than %d MiB, the most that is taken", what, maxBody>>20)}
}

var errTooLarge = errors.New("too large")

// unpack undoes a Content-Encoding, within the bound on bodies.
func unpack(raw []byte, encoding string) ([]byte, error) {
	var from io.Reader
	switch encoding = strings.ToLower(strings.TrimSpace(encoding)); encoding {
	case "", "identity":
		return raw, nil
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			return nil, fmt.Errorf("harnessbench: the body is no gzip, which its Content-Encoding says: %w", err)
		}
		from = z
	case "deflate":
		z, err := zlib.NewReader(bytes.NewReader(raw))
		if err != nil {
			return nil, fmt.Errorf("harnessbench: the body is no zlib data, which its Content-Encoding deflate says: %w", err)
		}
		from = z
	case "zstd":
		z, err := zstd.NewReader(bytes.NewReader(raw), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(maxBody)))
		if err != nil {
			return nil, fmt.Errorf("harnessbench: the body is no zstd, which its Content-Encoding says: %w", err)
		}
		defer z.Close()
		from = z
	default:
		return nil, fmt.Errorf("harnessbench: Content-Encoding %q cannot be read; send gzip, deflate, zstd, or none", encoding)
	}
	plain, err := io.ReadAll(io.LimitReader(from, maxBody+1))
	switch {
	case int64(len(plain)) > maxBody, errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrWindowSizeExceeded):
		return nil, errTooLarge
	case err != nil:
		return nil, fmt.Errorf("harnessbench: unpack the %s body: %w", encoding, err)
	}
	return plain, nil
}

// hintHeaders name the conversation or agent of a request, in the order in which
// they are believed.
var hintHeaders = []string{"X-Harnessbench-Lane", "X-Session-Id", "Session_id", "Session-Id", "X-Claude-Code-Session-Id", "Conversation_id", "X-Agent-Id"}

// hint is what a request's headers say of its conversation; "" when nothing.
func hint(h http.Header) string {
	for _, name := range hintHeaders {
		if v := h.Get(name); v != "" {
			return v
		}
	}
	return ""
}

// speaks is the API whose error shape a client understands; api is that of the
// path, "" where none owns it.
func speaks(api dialect.API, r *http.Request) dialect.API {
	switch {
	case api != "":
		return api
	case anthropic(r):
		return dialect.Messages
	}
	return dialect.Chat
}

// anthropic reports whether a client of Anthropic's API asks: they all send the
// version they speak.
func anthropic(r *http.Request) bool { return r.Header.Get("Anthropic-Version") != "" }

// fail answers with an error in the shape of an API.
func fail(w http.ResponseWriter, api dialect.API, e *model.Error, extra ...[2]string) {
	reply := dialect.EncodeError(api, e)
	reply.Header = append(reply.Header, extra...)
	send(w, reply)
}

// unknown answers a request for a path that is not spoken here.
func unknown(w http.ResponseWriter, r *http.Request) {
	fail(w, speaks("", r), &model.Error{Kind: model.ErrBadRequest, Status: http.StatusNotFound,
		Message: fmt.Sprintf("harnessbench: %s %s is not spoken here; there are /v1/chat/completions, /v1/responses, /v1/messages, /v1/messages/count_tokens and /v1/models", r.Method, r.URL.Path)})
}

// here answers who looks whether anybody is there.
func here(w http.ResponseWriter, what string) {
	send(w, &dialect.Reply{Status: http.StatusOK, Type: "text/plain; charset=utf-8", Body: []byte("harnessbench: " + what + "\n")})
}

// send writes a whole reply at once.
func send(w http.ResponseWriter, reply *dialect.Reply) {
	head(w, reply)
	_, _ = w.Write(body(reply)) // whoever left is not told
}

// body is all that a reply says.
func body(reply *dialect.Reply) []byte {
	if reply.Frames != nil {
		return bytes.Join(reply.Frames, nil)
	}
	return reply.Body
}

// head writes status and headers.
func head(w http.ResponseWriter, reply *dialect.Reply) {
	h := w.Header()
	for _, kv := range reply.Header {
		h.Add(kv[0], kv[1])
	}
	h.Set("Content-Type", reply.Type)
	if reply.Frames == nil {
		h.Set("Content-Length", fmt.Sprint(len(reply.Body)))
	}
	w.WriteHeader(reply.Status)
}
