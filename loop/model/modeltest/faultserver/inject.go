package faultserver

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// bigSize is what Big grows an answer to, in bytes.
const bigSize = 10 << 20

// page is what a web server says that knows nothing of models.
const page = "<!DOCTYPE html>\n<html><head><title>Welcome</title></head><body><h1>It works</h1></body></html>\n"

// instead returns what a fault does in place of an answer.
func (s *Server) instead(f Fault) (http.HandlerFunc, bool) {
	status := func(code int, kind, message string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { writeError(w, code, kind, kind, message) }
	}
	switch f {
	case RateLimit, RateLimitDate:
		return func(w http.ResponseWriter, _ *http.Request) { s.refuse(w, s.pick.plan.RetryAfter, f == RateLimitDate) }, true
	case Quota:
		return status(http.StatusTooManyRequests, "insufficient_quota", "You exceeded your current quota, please check your plan and billing details."), true
	case ServerError:
		return status(http.StatusInternalServerError, "server_error", "The server had an error while processing your request."), true
	case Overloaded:
		return status(529, "overloaded_error", "Overloaded"), true
	case Unavailable:
		return func(w http.ResponseWriter, _ *http.Request) { writePage(w, http.StatusServiceUnavailable) }, true
	case WrongType:
		return func(w http.ResponseWriter, _ *http.Request) { writePage(w, http.StatusOK) }, true
	case Closed:
		return func(w http.ResponseWriter, _ *http.Request) {
			if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
				conn.Close()
			}
		}, true
	}
	return nil, false
}

// wait waits until the client leaves or the server closes.
func (s *Server) wait(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-s.closed:
	}
}

// refuse is a 429 that passes with time.
func (s *Server) refuse(w http.ResponseWriter, wait time.Duration, date bool) {
	seconds := int64(math.Ceil(wait.Seconds()))
	h := w.Header()
	if date {
		now := time.Now().UTC().Truncate(time.Second)
		h.Set("Date", now.Format(http.TimeFormat))
		h.Set("Retry-After", now.Add(time.Duration(seconds)*time.Second).Format(http.TimeFormat))
	} else {
		h.Set("Retry-After", strconv.FormatInt(seconds, 10))
		if wait%time.Second != 0 {
			h.Set("Retry-After-Ms", strconv.FormatInt(max(wait.Milliseconds(), 1), 10))
		}
	}
	writeError(w, http.StatusTooManyRequests, "requests", "rate_limit_exceeded", "Rate limit reached for requests.")
}

func writePage(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(page)) // a client that left sees no page
}

// reply is an answer of the handler behind the faults.
type reply struct {
	status int
	header http.Header
	body   []byte
	stream bool
}

func newReply(rec *httptest.ResponseRecorder) *reply {
	return &reply{rec.Code, rec.Header(), rec.Body.Bytes(), strings.HasPrefix(rec.Header().Get("Content-Type"), "text/event-stream")}
}

// spoil sends an answer with its fault and counts what was done.
func (s *Server) spoil(w http.ResponseWriter, r *http.Request, f Fault, a *reply) {
	s.mu.Lock()
	s.counts.Status[a.status]++
	s.mu.Unlock()
	if a.status != http.StatusOK || !applies(f, a, r) {
		_, err := send(w, a, [][]byte{a.body}, 0)
		s.settle(func(c *Counts) {
			c.Passed++
			served(c, None, err)
		})
		return
	}
	switch f {
	case Reset:
		s.reset(w, a)
	case Stall:
		_, _ = send(w, a, [][]byte{half(a)}, 0)
		s.injected(f)
		s.wait(r)
		return
	case Cut:
		_, _ = send(w, a, [][]byte{half(a)}, 0)
	case BadJSON, ErrorObject:
		_, _ = send(w, a, [][]byte{replaced(f, a)}, 0)
	default:
		pieces, pause := s.disguise(w, f, a)
		_, err := send(w, a, pieces, pause)
		s.settle(func(c *Counts) { served(c, f, err) })
		return
	}
	s.injected(f)
}

// served counts an answer that was to go out whole.
func served(c *Counts, f Fault, err error) {
	if err != nil {
		c.Left++
		return
	}
	c.Served++
	if f != None {
		c.Injected[f]++
	}
}

func applies(f Fault, a *reply, r *http.Request) bool {
	switch f {
	case CRLF, Comments:
		return a.stream
	case NoDone:
		return bytes.Contains(a.body, []byte(doneFrame))
	case Gzip:
		return strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
	case SplitUTF8:
		return len(splitUTF8(a.body)) > 1
	}
	return true
}

// disguise returns the pieces in which a whole answer travels.
func (s *Server) disguise(w http.ResponseWriter, f Fault, a *reply) (pieces [][]byte, pause time.Duration) {
	switch f {
	case Drip:
		return split(a.body, len(a.body)/50+1, 50), s.pick.plan.Pause
	case SplitUTF8:
		return splitUTF8(a.body), 0
	case SplitFrames:
		return split(a.body, 7, 500), 0
	case CRLF:
		return [][]byte{bytes.ReplaceAll(a.body, []byte("\n"), []byte("\r\n"))}, 0
	case Comments:
		noise := []byte(": keep-alive\n\n:\nevent: ping\n\n\n\nretry: 100\nid: 7\n\n")
		return [][]byte{append(noise[:len(noise):len(noise)], bytes.ReplaceAll(a.body, []byte("\n\n"), append([]byte("\n\n"), noise...))...)}, 0
	case NoDone:
		return [][]byte{bytes.ReplaceAll(a.body, []byte(doneFrame), nil)}, 0
	case Gzip:
		w.Header().Set("Content-Encoding", "gzip")
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // a level that exists
		_, _ = z.Write(a.body)                          // to memory
		_ = z.Close()
		return [][]byte{b.Bytes()}, 0
	case Big:
		if a.stream {
			line := []byte(": " + strings.Repeat("keep-alive ", 90) + "\n\n")
			return [][]byte{bytes.Repeat(line, bigSize/len(line)), a.body}, 0
		}
		return [][]byte{bytes.Repeat([]byte(" "), bigSize), a.body}, 0
	}
	return [][]byte{a.body}, 0
}

// send writes an answer in pieces, each flushed to the network by itself.
func send(w http.ResponseWriter, a *reply, pieces [][]byte, pause time.Duration) (n int, err error) {
	for k, vs := range a.header {
		if k != "Content-Length" {
			w.Header()[k] = vs
		}
	}
	w.WriteHeader(a.status)
	out := http.NewResponseController(w)
	for _, p := range pieces {
		m, err := w.Write(p)
		if err == nil {
			err = out.Flush()
		}
		if n += m; err != nil {
			return n, err
		}
		if pause > 0 {
			time.Sleep(pause)
		}
	}
	return n, nil
}

// split cuts b into pieces of size n, at most limit of them and a rest.
func split(b []byte, n, limit int) (out [][]byte) {
	for len(b) > n && len(out) < limit {
		out, b = append(out, b[:n]), b[n:]
	}
	return append(out, b)
}

// splitUTF8 cuts b after the first byte of up to 200 sequences.
func splitUTF8(b []byte) (out [][]byte) {
	from := 0
	for i := 0; i < len(b) && len(out) < 200; i++ {
		if b[i] >= utf8.RuneSelf && utf8.RuneStart(b[i]) {
			out, from = append(out, b[from:i+1]), i+1
		}
	}
	return append(out, b[from:])
}

// half is the first half of an answer, and never as much as what says that it is
// complete.
func half(a *reply) []byte {
	b := a.body[:len(a.body)/2]
	for _, end := range []string{`"finish_reason":"`, `"stop_reason":"`, `"status":"completed"`} {
		if at := bytes.Index(b, []byte(end)); at >= 0 {
			b = b[:at]
		}
	}
	return b
}

// replaced is the body of a 200 that is no answer.
func replaced(f Fault, a *reply) []byte {
	wrong := []byte(`{"choices":[}`)
	if f == ErrorObject {
		wrong = errorObject("server_error", "server_error", "The provider failed while answering.")
	}
	if !a.stream {
		return wrong
	}
	b := half(a)
	if at := bytes.LastIndex(b, []byte("\n\n")); at >= 0 {
		b = b[:at+2]
	} else {
		b = nil
	}
	name := ""
	if at := bytes.LastIndex(b, []byte("event: ")); at >= 0 { // an API that names its events
		name, _, _ = strings.Cut(string(b[at:]), "\n")
		if name += "\n"; f == ErrorObject {
			name = "event: error\n"
		}
	}
	return fmt.Appendf(b[:len(b):len(b)], "%sdata: %s\n\n", name, wrong)
}

// reset writes half an answer by hand and resets the connection.
func (s *Server) reset(w http.ResponseWriter, a *reply) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	part := half(a)
	fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", a.header.Get("Content-Type"), len(part), part)
	time.Sleep(5 * time.Millisecond) // a reset may overtake what lies unread
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}
