package wire

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/redact"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/recorder/wire/canon"
	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
	"github.com/harnessbench/harnessbench/recorder/wire/tape"
)

// RecordOptions say how traffic is recorded.
type RecordOptions struct {
	// Redact learns the credentials of every request and takes them out of all
	// that is written. It must be the one that the tape's Recorder was given.
	Redact *redact.Redactor
	// Normalisers are applied to requests; their names belong into the tape's Head.
	Normalisers []canon.Normaliser
	// Log is told what could not be recorded; nil = nobody.
	Log func(string)
}

// Record is a handler that records what passes through another one. It is safe
// for concurrent use.
type Record struct {
	next    http.Handler
	rec     *tape.Recorder
	o       RecordOptions
	lineage canon.Lineage

	mu     sync.Mutex
	ending map[*capture]chan struct{} // answers whose end the client may have seen
	asked  int                        // requests that a model answers
	err    error
}

// NewRecord returns a handler that answers with next, a proxy or a simulated
// model, and writes every exchange to rec. The client sees what next writes, when
// it writes it. The caller closes rec when no request is on its way any more.
func NewRecord(next http.Handler, rec *tape.Recorder, o RecordOptions) *Record {
	if o.Redact == nil {
		o.Redact = redact.New()
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	return &Record{next: next, rec: rec, o: o, ending: map[*capture]chan struct{}{}}
}

// Asked returns how many requests for an answer of a model came.
func (rec *Record) Asked() int {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return rec.asked
}

// Err returns the first error of the recording; the client was answered all the
// same.
func (rec *Record) Err() error {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return rec.err
}

// ServeHTTP implements http.Handler.
func (rec *Record) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec.settle(settleFor)
	api, aux, ok := dialect.Route(r.Method, r.URL.Path)
	body, bad := read(w, r)
	if bad != nil {
		fail(w, speaks(api, r), bad)
		return
	}
	learn(rec.o.Redact, r, body.plain)
	r.Body = &taken{Reader: bytes.NewReader(body.raw), content: body}
	c := &capture{ResponseWriter: w, rec: rec}
	c.x = rec.begin(r, api, ok && aux == "", body.plain)
	defer func() {
		p := recover()
		if p == http.ErrAbortHandler && c.x.Broken == "" {
			c.x.Broken = "the answer broke off"
		}
		rec.finish(c)
		if p != nil {
			panic(p)
		}
	}()
	c.start = time.Now()
	rec.next.ServeHTTP(c, r)
}

// begin numbers the exchange of a request. One that cannot be made canonical is
// kept as an auxiliary call, which is compared by its body.
func (rec *Record) begin(r *http.Request, api dialect.API, model bool, body []byte) *tape.Exchange {
	var req *canon.Request
	if model {
		rec.mu.Lock()
		rec.asked++
		rec.mu.Unlock()
		var err error
		if req, err = canon.Parse(api, body, canon.Options{Normalisers: rec.o.Normalisers, Redact: rec.o.Redact, Parent: rec.parent}); err != nil {
			rec.o.Log(rec.o.Redact.Text(fmt.Sprintf("%s %s: %v; it is recorded as an auxiliary call", r.Method, r.URL.Path, err)))
		}
	}
	x := rec.rec.Begin(hint(r.Header), req)
	x.Method, x.Path = r.Method, rec.o.Redact.Text(r.URL.RequestURI())
	if req == nil {
		x.Body = rec.o.Redact.Bytes(canon.MaskCredentials(body, nil))
	}
	return x
}

// settle waits until answers are recorded whose end a client may have seen: its
// next request, which may be this one, follows them. The wait is bounded, should
// a provider hold a connection that has said all.
func (rec *Record) settle(atMost time.Duration) {
	limit := time.NewTimer(atMost)
	defer limit.Stop()
	rec.mu.Lock()
	var ending []chan struct{}
	for _, done := range rec.ending {
		ending = append(ending, done)
	}
	rec.mu.Unlock()
	for _, done := range ending {
		select {
		case <-done:
		case <-limit.C:
			return
		}
	}
}

// The bounds of the wait: of every request, and of one that names an answer which is
// not known, and without it could not be recorded as what it is.
const (
	settleFor       = 250 * time.Millisecond
	settleForParent = 10 * time.Second
)

// parent returns the items behind a response. Its answer may have reached the
// client and not been recorded yet, on a busy machine or a slow disk.
func (rec *Record) parent(id string) ([]*model.Part, bool) {
	parts, ok := rec.lineage.Parent(id)
	if !ok {
		rec.settle(settleForParent)
		parts, ok = rec.lineage.Parent(id)
	}
	return parts, ok
}

// finish writes an exchange that is over.
func (rec *Record) finish(c *capture) {
	x := c.x
	x.Elapsed = c.now()
	if c.status == 0 && x.Broken == "" {
		c.WriteHeader(http.StatusOK) // as net/http does for a handler that wrote nothing
	}
	x.Status = c.status
	plain := c.plain()
	if packed := c.Header().Get("Content-Encoding"); packed != "" {
		x.Plain = plain
	}
	if x.Request != nil && well(x) {
		rec.lineage.Add(x.Request, c.contentType, plain)
	}
	err := rec.rec.Add(x)
	if err != nil {
		rec.o.Log(err.Error())
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.err == nil {
		rec.err = err
	}
	if done, ok := rec.ending[c]; ok {
		close(done)
		delete(rec.ending, c)
	}
}

// capture is the ResponseWriter of a recorded answer.
type capture struct {
	http.ResponseWriter
	rec         *Record
	x           *tape.Exchange
	start       time.Time
	declared    time.Duration // of the next write, when the answer declares its times
	isDeclared  bool
	status      int
	contentType string
	length      int64 // that the answer declares; -1 = none
	size        int64 // written so far
	tail        []byte
	isEnding    bool
}

// Unwrap lets a ResponseController flush.
func (c *capture) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// at implements teller.
func (c *capture) at(d time.Duration) { c.declared, c.isDeclared = d, true }

// broke implements teller.
func (c *capture) broke(why string) { c.x.Broken = why }

// now is the time since the request was passed on: the answer's own, where it
// declares one.
func (c *capture) now() time.Duration {
	if c.isDeclared {
		return c.declared
	}
	return time.Since(c.start)
}

// WriteHeader implements http.ResponseWriter.
func (c *capture) WriteHeader(status int) {
	if status >= 200 && c.status == 0 {
		h := c.Header()
		for _, s := range secrets(http.Header{"Set-Cookie": h.Values("Set-Cookie")}, nil) {
			c.rec.o.Redact.Add(s)
		}
		c.status, c.x.Header, c.contentType, c.length = status, kept(h), h.Get("Content-Type"), -1
		c.x.Stream = strings.HasPrefix(c.contentType, "text/event-stream")
		if n, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64); err == nil {
			c.length = n
		}
	}
	c.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter. What the client is sent is recorded
// first, so that a client that has all of an answer finds it recorded.
func (c *capture) Write(p []byte) (int, error) {
	if c.status == 0 {
		c.WriteHeader(http.StatusOK)
	}
	if c.size += int64(len(p)); c.size <= maxAnswer {
		c.x.Frames = append(c.x.Frames, tape.Frame{At: c.now(), Data: slices.Clone(p)})
	} else {
		c.x.Broken = fmt.Sprintf("the answer is larger than %d MiB; the rest was passed on and not recorded", maxAnswer>>20)
	}
	if !c.isEnding && c.ends(p) {
		c.isEnding = true
		c.rec.mu.Lock()
		c.rec.ending[c] = make(chan struct{})
		c.rec.mu.Unlock()
	}
	n, err := c.ResponseWriter.Write(p)
	if err != nil {
		c.x.Broken = leftText
	}
	return n, err
}

// maxAnswer bounds what is recorded of one answer. Tests lower it.
var maxAnswer int64 = session.MaxBody

// lastEvents are in the last event of a stream, of each API.
var lastEvents = [][]byte{[]byte("[DONE]"), []byte("message_stop"), []byte("response.completed"), []byte("response.incomplete"), []byte("response.failed")}

// ends reports whether the client has all of the answer after p.
func (c *capture) ends(p []byte) bool {
	if c.length >= 0 {
		return c.size >= c.length
	}
	c.tail = append(c.tail, p...)
	for _, mark := range lastEvents {
		if bytes.Contains(c.tail, mark) {
			return true
		}
	}
	c.tail = append(c.tail[:0], c.tail[max(0, len(c.tail)-32):]...)
	return false
}

// plain is the body of the answer without its Content-Encoding; nil where it
// cannot be read.
func (c *capture) plain() []byte {
	b, err := unpack(c.x.AnswerBody(), c.Header().Get("Content-Encoding"))
	if err != nil {
		return nil
	}
	return b
}
