package openai

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"
)

// maxAnswer bounds an answer after decompression, as a line of a session is
// bounded. maxFailure bounds what is read of an error's body.
const (
	maxAnswer  = 64 << 20
	maxFailure = 1 << 20
)

// shared is the transport of all models: a connection that a call leaves is
// there for the next one, also where hundreds go to one host at a time. Its own
// limits are backstops; each call has a watch.
var shared = &http.Transport{
	Proxy:                 http.ProxyFromEnvironment,
	DialContext:           (&net.Dialer{Timeout: 2 * time.Minute, KeepAlive: 30 * time.Second}).DialContext,
	ForceAttemptHTTP2:     true,
	MaxIdleConnsPerHost:   1024,
	IdleConnTimeout:       90 * time.Second,
	TLSHandshakeTimeout:   2 * time.Minute,
	ExpectContinueTimeout: time.Second,
	ReadBufferSize:        16 << 10,
}

// Reasons why a call that was answered gave no answer.
type (
	// refused is a status that is no success.
	refused struct {
		header http.Header
		body   []byte
	}
	// inBand is an error object in a 200.
	inBand struct{ fault fault }
	// notAnAnswer is a 200 that is no chat completion.
	notAnAnswer struct{ why string }
	// brokenOff is an answer that ended too soon.
	brokenOff struct{ why string }
)

func (e *refused) Error() string     { return "refused" }
func (e *inBand) Error() string      { return e.fault.message }
func (e *notAnAnswer) Error() string { return e.why }
func (e *brokenOff) Error() string   { return e.why }

// sender is the HTTP client that go-openai is given. It completes the request,
// follows no redirect, and hands on only what the library can read: the repaired
// body of a chat completion. Everything else is an error of the types above.
type sender struct {
	transport http.RoundTripper
	headers   map[string]string
	query     string
	stream    bool
}

// Do sends one request.
func (s *sender) Do(req *http.Request) (*http.Response, error) {
	c, _ := req.Context().Value(callKey{}).(*call)
	if c == nil {
		return nil, fmt.Errorf("a request outside Generate")
	}
	if err := s.complete(c, req); err != nil {
		return nil, err
	}
	c.sent = true
	resp, err := s.transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	c.status = resp.StatusCode
	body := &watched{body: resp.Body, watch: c.watch, left: maxAnswer}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(body, maxFailure)) // what came of it is enough
		return nil, &refused{resp.Header, text}
	}
	if err := s.repair(c, resp, body); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

func (s *sender) complete(c *call, req *http.Request) error {
	text, err := io.ReadAll(req.Body)
	if err != nil {
		return err
	}
	if text, err = c.splice(text); err != nil {
		return err
	}
	req.ContentLength = int64(len(text))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
	req.Body, _ = req.GetBody()
	req.URL.RawQuery = s.query
	req.Header.Set("User-Agent", "harnessbench")
	for k, v := range s.headers {
		req.Header.Set(k, v)
	}
	return nil
}

// repair replaces the body of a success by one that the library reads without
// surprise. What is neither JSON nor events is no answer: it is mostly the page
// of a web server that a wrong base URL points at, so asking again helps nobody.
func (s *sender) repair(c *call, resp *http.Response, body *watched) error {
	kind := resp.Header.Get("Content-Type")
	media, _, err := mime.ParseMediaType(kind)
	if err != nil {
		media = strings.ToLower(strings.TrimSpace(kind))
	}
	switch {
	case s.stream && (media == "text/event-stream" || media == ""):
		resp.Body = newFrames(c, body)
		return nil
	case media == "application/json" || strings.HasSuffix(media, "+json") || media == "" && !s.stream:
	default:
		start, _ := io.ReadAll(io.LimitReader(body, 200))
		return &notAnAnswer{fmt.Sprintf("an answer of type %q: is the base URL that of a chat completions endpoint? It begins with %q", kind, start)}
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	form := asMessage
	if s.stream { // an endpoint that does not stream answers in one piece
		form = asDelta
	}
	out, err := c.project(text, form)
	if err != nil {
		return err
	}
	if s.stream {
		c.done = true
		out = append(append([]byte("data: "), out...), "\n\ndata: [DONE]\n\n"...)
	}
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(out))
	return nil
}

// watched is a body under the watch of its call, and of bounded size.
type watched struct {
	body  io.ReadCloser
	watch *watch
	left  int64
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.body.Read(p)
	if n > 0 {
		if w.left -= int64(n); w.left < 0 {
			return 0, &notAnAnswer{fmt.Sprintf("the answer is larger than %d MiB", maxAnswer>>20)}
		}
		if w.watch.at() != draining {
			w.watch.enter(reading)
		}
	}
	return n, err
}

func (w *watched) Close() error { return w.body.Close() }

// drain reads to the end of a body whose last event has come: only then can its
// connection be used again.
func (w *watched) drain() {
	w.watch.enter(draining)
	_, _ = io.CopyN(io.Discard, w, 4<<10)
}
