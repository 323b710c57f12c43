package faultserver

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// Server is a faulty endpoint on 127.0.0.1.
type Server struct {
	// URL is http://127.0.0.1:PORT. Chat completions are at /v1/chat/completions,
	// and at any other path with that end.
	URL string

	inner  http.Handler
	pick   *picker
	server *httptest.Server
	closed chan struct{}
	once   sync.Once

	mu     sync.Mutex
	counts Counts
	open   int // requests that are not counted yet
}

// Counts say what a server has done so far. Every request ends in one of Served,
// Limited, a harmful fault, or Left.
type Counts struct {
	Requests int
	Served   int           // answers that went out whole, harmless faults included
	Limited  int           // refused by the plan's bucket
	Left     int           // clients that left before their answer was out
	Injected map[Fault]int // by kind; harmless ones are in Served as well
	Passed   int           // faults that do not apply to the answer, such as CRLF to JSON: served without
	Status   map[int]int   // statuses that the handler behind the faults gave
}

// Harmful is the number of requests that a fault took the answer from.
func (c Counts) Harmful() (n int) {
	for _, f := range harmful {
		n += c.Injected[f]
	}
	return n
}

// New starts a server of chat completions; a nil answer is Echo.
func New(answer Answer, plan Plan) *Server {
	if answer == nil {
		answer = Echo
	}
	return Wrap(completions(answer), plan)
}

// Wrap starts a server that puts the faults of a plan in front of a handler, such
// as a reverse proxy.
func Wrap(h http.Handler, plan Plan) *Server {
	s := &Server{inner: h, pick: newPicker(plan), closed: make(chan struct{})}
	s.counts.Injected, s.counts.Status = map[Fault]int{}, map[int]int{}
	s.server = httptest.NewServer(s)
	s.URL = s.server.URL
	return s
}

// Close ends what hangs, waits for all requests and stops the server.
func (s *Server) Close() {
	s.once.Do(func() { close(s.closed) })
	s.server.Close()
}

// Counts returns what was done so far. A client may have its answer, or its reset,
// a moment before the server has counted it: Counts waits for what is under way,
// a second at most. Silence is counted when it begins.
func (s *Server) Counts() Counts {
	for range 1000 {
		s.mu.Lock()
		open := s.open
		s.mu.Unlock()
		if open == 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts
	c.Injected, c.Status = maps.Clone(c.Injected), maps.Clone(c.Status)
	return c
}

// settle counts how a request ended.
func (s *Server) settle(f func(c *Counts)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	f(&s.counts)
}

func (s *Server) injected(f Fault) { s.settle(func(c *Counts) { c.Injected[f]++ }) }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.open++
	s.counts.Requests++
	s.mu.Unlock()
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		s.settle(func(c *Counts) { c.Left++ })
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if wait := s.pick.take(time.Now()); wait > 0 {
		s.refuse(w, wait, false)
		s.settle(func(c *Counts) { c.Limited++ })
		return
	}
	fault := s.pick.pick(body)
	if fault == Hang {
		s.injected(fault)
		s.wait(r)
		return
	}
	if instead, ok := s.instead(fault); ok { // no answer is needed for these
		instead(w, r)
		s.injected(fault)
		return
	}
	if fault == None {
		s.pass(w, r)
		return
	}
	rec := httptest.NewRecorder()
	s.inner.ServeHTTP(rec, r)
	s.spoil(w, r, fault, newReply(rec))
}

// pass lets the handler answer by itself, flushes included.
func (s *Server) pass(w http.ResponseWriter, r *http.Request) {
	p := &passing{ResponseWriter: w, status: http.StatusOK}
	s.inner.ServeHTTP(p, r)
	s.settle(func(c *Counts) {
		c.Status[p.status]++
		if p.failed {
			c.Left++
		} else {
			c.Served++
		}
	})
}

// passing notes the status of an answer and whether it went out.
type passing struct {
	http.ResponseWriter
	status int
	failed bool
}

// WriteHeader implements http.ResponseWriter.
func (p *passing) WriteHeader(status int) {
	p.status = status
	p.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (p *passing) Write(b []byte) (int, error) {
	n, err := p.ResponseWriter.Write(b)
	p.failed = p.failed || err != nil
	return n, err
}

// Unwrap is for http.ResponseController.
func (p *passing) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// Flush implements http.Flusher.
func (p *passing) Flush() { _ = http.NewResponseController(p.ResponseWriter).Flush() }
