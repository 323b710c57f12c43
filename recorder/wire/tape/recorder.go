package tape

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/redact"
	"github.com/harnessbench/harnessbench/recorder"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/recorder/wire/canon"
)

// Head says what a recording is of.
type Head struct {
	Scenario    string            // id for the header; "" = "wire"
	Upstream    string            // base URL that requests are passed on to; credentials in it are not recorded
	Normalisers []string          // as canon.Normalisers takes them, in their order
	Labels      map[string]string // annotations
	Redact      *redact.Redactor  // nil = nothing is redacted
}

// upstream is the base URL without what may be a credential: user, query and
// fragment.
func (h *Head) upstream() (url, host string) {
	scheme, rest, ok := strings.Cut(h.Upstream, "://")
	if !ok {
		scheme, rest = "", h.Upstream
	} else {
		scheme += "://"
	}
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest = rest[:i]
	}
	host, path, _ := strings.Cut(rest, "/")
	if path != "" {
		path = "/" + path
	}
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	url = scheme + host + path
	if host == "" {
		host = "unknown"
	}
	return url, host
}

// header is the session header. Its model is "wire/" + the upstream's host: what
// models answer is not known before the first request, and each answer names its
// own.
func (h *Head) header() session.Header {
	scenario := h.Scenario
	if scenario == "" {
		scenario = "wire"
	}
	config := append([]byte(`{"kind":"`+session.WireKind+`","normalisers":[`), strings.Join(quoted(h.Normalisers), ",")...)
	url, host := h.upstream()
	config = append(model.AppendString(append(config, `],"upstream":`...), url), '}')
	return session.Header{Scenario: scenario, Model: "wire/" + host, Config: config, Normalisers: h.Normalisers, Labels: h.Labels}
}

func quoted(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(model.AppendString(nil, s))
	}
	return out
}

// Recorder writes a recording. It is safe for concurrent use. After an error of
// the file every further Add returns it.
type Recorder struct {
	mu     sync.Mutex
	file   io.Closer
	w      *session.Writer
	enc    *recorder.Encoder
	redact *redact.Redactor
	lanes  Lanes
	hints  map[string]int
	state  map[string]*laneState
	known  map[partID]bool // parts that a line carries
	begun  int
	end    event.End
	closed bool
	err    error
}

// laneState is what a recorder knows of a lane.
type laneState struct {
	last              int            // number of the exchange begun last, 0 = none
	lastTurn, lastTry int            // of it
	lastKey           key            // of it
	done              bool           // it was answered well
	asked             []model.Digest // chains of the lane's request line before
	turn              int            // of that line
	turns             int            // highest of all its lines
}

// partID tells parts apart. The same JSON may be of two kinds: a system message
// before the conversation and one within it.
type partID struct {
	digest session.ShortDigest
	kind   model.PartKind
}

// Create begins the recording at path, which ends with [session.Suffix], or that
// and [session.ZstdSuffix] to be compressed; folders on the way are made. Others
// on the machine cannot read what is written.
func Create(path string, h Head) (*Recorder, error) {
	if dir := filepath.Dir(path); dir != "." {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("recording %s: %w", path, err)
		}
	}
	f, err := session.Create(path, session.FileOptions{Sync: session.SyncTurns, Private: true})
	if err != nil {
		return nil, err
	}
	return begin(f.Writer, f, session.BlobsBeside(path).Private(), h)
}

// begin writes the header.
func begin(w *session.Writer, file io.Closer, blobs session.Blobs, h Head) (*Recorder, error) {
	r := &Recorder{file: file, w: w, redact: h.Redact, hints: map[string]int{}, state: map[string]*laneState{},
		known: map[partID]bool{}, enc: recorder.NewEncoder(recorder.Options{Put: blobs.Put})}
	header := h.header()
	payload, err := r.enc.Header(&header)
	if err == nil {
		err = w.Line(session.TypeHeader, payload)
	}
	if err == nil {
		err = w.Turn()
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Begin takes a request that came: it is given its number, and, unless it is an
// auxiliary call (r is nil), its lane, turn and attempt. A request equal to the
// one before it in its lane is another attempt of its turn, unless that was
// answered well. The caller fills in the rest and hands the exchange to Add; one
// that never ends leaves a gap in the numbers.
func (rec *Recorder) Begin(hint string, r *canon.Request) *Exchange {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.begun++
	x := &Exchange{N: rec.begun, Request: r, Method: "POST"}
	if r == nil {
		return x
	}
	if hint != "" {
		if rec.hints[hint] == 0 {
			rec.hints[hint] = len(rec.hints) + 1
		}
		x.Hint = rec.hints[hint]
	}
	x.Lane = rec.lanes.Name(hint, r.Root)
	s := rec.state[x.Lane]
	if s == nil {
		s = &laneState{}
		rec.state[x.Lane] = s
	}
	x.Turn = s.lastTurn + 1
	if k := keyOf(r); s.last > 0 && s.lastKey == k && !s.done {
		x.Turn, x.Attempt = s.lastTurn, s.lastTry+1
	} else {
		s.lastKey = k
	}
	s.last, s.lastTurn, s.lastTry, s.done = x.N, x.Turn, x.Attempt, false
	return x
}

// Add writes an exchange that is over and flushes. One that did not come from
// Begin (N is 0) is numbered now, in a lane without hint. An exchange that no
// session can hold is an error and is left out; the recording goes on.
func (rec *Recorder) Add(x *Exchange) error {
	if x.N == 0 {
		b := rec.Begin("", x.Request)
		x.N, x.Lane, x.Turn, x.Attempt = b.N, b.Lane, b.Turn, b.Attempt
	}
	safe, err := rec.prepare(x)
	if err != nil {
		return fmt.Errorf("exchange %d cannot be recorded: %w", x.N, err)
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	switch {
	case rec.err != nil:
		return rec.err
	case rec.closed:
		return fmt.Errorf("exchange %d ended after the recording was closed: it is not in it", x.N)
	}
	if x.Request != nil {
		if safe.keep, safe.fresh, err = rec.plan(x); err != nil {
			return fmt.Errorf("exchange %d cannot be recorded: %w", x.N, err)
		}
	}
	rec.err = rec.add(safe)
	return rec.err
}

// plan finds how many parts of the lane's request before stay, and the parts that
// no line carries yet. It refuses one that no line can hold, before anything of
// the exchange is written.
func (rec *Recorder) plan(x *Exchange) (keep int, fresh []*model.Part, err error) {
	r := x.Request
	s := rec.state[x.Lane]
	if s == nil || x.Turn < 1 {
		return 0, nil, errors.New("it did not come from Begin")
	}
	for n := min(len(s.asked), len(r.Chains)); keep+1 < n && s.asked[keep+1] == r.Chains[keep+1]; {
		keep++
	}
	seen := map[partID]bool{}
	for i, part := range r.Parts[keep:] {
		id := partID{session.Short(part.Digest), part.Kind}
		if rec.known[id] || seen[id] {
			continue
		}
		seen[id] = true
		if len(part.JSON) > session.MaxLine-slack {
			return 0, nil, fmt.Errorf("part %d has %d bytes, more than a line holds", keep+i, len(part.JSON))
		}
		if err := session.ValidJSON(append(append([]byte(`{"body":`), part.JSON...), '}')); err != nil {
			return 0, nil, fmt.Errorf("part %d: %w", keep+i, err)
		}
		fresh = append(fresh, part)
	}
	return keep, fresh, nil
}

// add writes the lines of an exchange.
func (rec *Recorder) add(p *prepared) error {
	x := p.x
	var head *event.Head
	if x.Request != nil {
		head = &event.Head{Lane: x.Lane, Turn: x.Turn}
		s := rec.state[x.Lane]
		if err := rec.request(head, s, p); err != nil {
			return err
		}
		if err := rec.answer(head, p); err != nil {
			return err
		}
		s.done = s.done || s.last == x.N && p.failed == nil
	}
	payload, err := rec.enc.Wire(head, p.line)
	if err == nil {
		err = rec.w.Line(session.TypeWire, payload)
	}
	if err == nil {
		err = rec.w.Turn()
	}
	rec.enc.Release()
	return err
}

// request writes the parts that no line carries yet, and the request.
func (rec *Recorder) request(head *event.Head, s *laneState, p *prepared) error {
	r := p.x.Request
	for _, part := range p.fresh {
		rec.known[partID{session.Short(part.Digest), part.Kind}] = true
		t, payload, err := rec.enc.Encode(&event.Part{Head: *head, Part: part, Why: session.WhyWire})
		if err == nil {
			err = rec.w.Line(t, payload)
		}
		if err != nil {
			return err
		}
	}
	payload, err := rec.enc.WireRequest(head, r.Chains[len(r.Chains)-1], r.Params, r.ParamsDigest, p.keep, r.Parts[p.keep:])
	if err != nil {
		return err
	}
	s.asked, s.turn, s.turns = r.Chains, head.Turn, max(s.turns, head.Turn)
	return rec.w.Line(session.TypeRequest, payload)
}

// answer writes what came of a request in the vocabulary of package model. That
// a client asks again is not known yet: an attempt line says neither again nor
// wait_us.
func (rec *Recorder) answer(head *event.Head, p *prepared) error {
	var ev event.Event
	took := p.line.Elapsed
	if p.failed != nil {
		ev = &event.Attempt{Head: *head, N: p.x.Attempt, Err: p.failed, Took: took}
		rec.end.Usage = rec.end.Usage.Add(p.failed.Usage)
	} else {
		ev = &event.Response{Head: *head, Resp: p.answer, Took: took}
		rec.end.Usage = rec.end.Usage.Add(p.answer.Usage)
		rec.end.Calls += len(p.answer.Calls())
		rec.end.Answer = model.TextOf(p.answer.Items)
	}
	rec.end.Attempts++
	rec.end.At += took
	t, payload, err := rec.enc.Encode(ev)
	if err != nil {
		return err
	}
	return rec.w.Line(t, payload)
}

// Close writes the footer and gives the file its name. Its turns are those of all
// lanes, its attempts the model requests recorded, its answer the last one, its
// time the sum of what the exchanges took. Exchanges still in flight are not
// waited for.
func (rec *Recorder) Close() error {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.closed {
		return rec.err
	}
	rec.closed = true
	if rec.err == nil {
		rec.err = rec.footer()
	}
	if rec.file != nil {
		rec.err = errors.Join(rec.err, rec.file.Close())
	}
	return rec.err
}

func (rec *Recorder) footer() error {
	rec.end.Reason, rec.end.Unchecked = event.Completed, true
	for _, s := range rec.state {
		rec.end.Turns += s.turns
	}
	rec.end.Lane = event.MainLane
	if s := rec.state[event.MainLane]; s != nil {
		rec.end.Turn = s.turn
	}
	t, payload, err := rec.enc.Encode(&rec.end)
	if err != nil {
		return err
	}
	if err := rec.w.Line(t, payload); err != nil {
		return err
	}
	return rec.w.Flush()
}

// askDigest is the digest by which auxiliary requests are compared: of the body's
// JSON in the form of RFC 8785, or of its bytes where it is no JSON.
func askDigest(body []byte) session.ShortDigest {
	if len(body) == 0 {
		return session.ShortDigest{}
	}
	v := jsontext.Value(append([]byte(nil), body...))
	if v.Canonicalize() == nil {
		body = v
	}
	return session.Short(model.Sum(body))
}
