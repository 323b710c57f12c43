package tape

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/recorder/wire/canon"
	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
)

// ErrNotWire is what errors.Is finds in the error for a session that is no
// recorded traffic.
var ErrNotWire = errors.New("it is a session of a loop, not recorded traffic: replay it with harnessbench replay PATH")

// Load reads recorded traffic: a session file, finished or not, or a folder that
// holds just one (see [Find]). A recording that was not finished, or whose last
// line is torn, is loaded as far as it goes with a warning. Damage is a
// *session.CorruptError or *session.DecodeError that names the line. Memory is
// linear in the size of the file and its blobs.
func Load(path string) (*Tape, error) {
	path, err := Find(path)
	if err != nil {
		return nil, err
	}
	s, err := session.Open(path)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	t, err := read(s.Reader, s.Blobs())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t.Path = path
	return t, nil
}

// loader reads the lines of a recording.
type loader struct {
	tape   *Tape
	blobs  session.Blobs
	bodies map[model.Digest][]byte // blobs read so far
	parts  session.Parts
	nodes  map[model.Digest]*node // by chain digest
	root   *node
	lanes  map[string]*loadedLane
	seen   map[int]bool // exchange numbers
	open   *asked       // a request whose wire line is still to come
	loose  int          // the first of the part lines before it, 0 = none
}

// loadedLane is what the lines of a lane need to know of those before.
type loadedLane struct {
	at     *node // its last request
	params []byte
	digest model.Digest
}

// asked is a request line.
type asked struct {
	line, turn int
	lane       string
	at         *node
	params     []byte
	digest     model.Digest
}

// read reads a whole recording.
func read(r *session.Reader, blobs session.Blobs) (*Tape, error) {
	root := &node{chain: model.ChainStart}
	l := &loader{tape: &Tape{}, blobs: blobs, bodies: map[model.Digest][]byte{}, root: root,
		nodes: map[model.Digest]*node{root.chain: root}, lanes: map[string]*loadedLane{}, seen: map[int]bool{}}
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return l.finish(r)
		}
		if err == nil {
			err = l.take(line)
		}
		if err != nil {
			return nil, err
		}
	}
}

// finish puts the exchanges in the order in which their requests came, and says
// what is missing.
func (l *loader) finish(r *session.Reader) (*Tape, error) {
	t := l.tape
	t.Complete = r.Complete()
	if from := l.unfinished(); from > 0 {
		if t.Complete {
			return nil, &session.DecodeError{Line: from, Type: session.TypeRequest, Field: "t", What: "no wire line follows that belongs to it"}
		}
		t.Warnings = append(t.Warnings, fmt.Sprintf("the exchange whose lines begin at line %d was not written to its end: it is left out", from))
	}
	if torn := r.Torn(); torn != nil {
		t.Warnings = append(t.Warnings, torn.String()+": it is left out")
	}
	if !t.Complete {
		t.Warnings = append(t.Warnings, fmt.Sprintf("the recording has no footer: it was interrupted, or is still going on; what was in flight is missing (%d exchanges are there)", len(t.Exchanges)))
	}
	slices.SortFunc(t.Exchanges, func(a, b *Exchange) int { return cmp.Compare(a.N, b.N) })
	type place struct {
		lane string
		turn int
	}
	tries := map[place]int{}
	for _, x := range t.Exchanges {
		if x.Request != nil {
			p := place{x.Lane, x.Turn}
			x.Attempt = tries[p]
			tries[p]++
		}
	}
	return t, nil
}

func (l *loader) unfinished() int {
	if l.loose > 0 {
		return l.loose
	}
	if l.open != nil {
		return l.open.line
	}
	return 0
}

// take reads one line; types it does not know are passed over.
func (l *loader) take(line *session.Line) error {
	switch line.Type {
	case session.TypeHeader:
		return l.header(line)
	case session.TypePart:
		return l.part(line)
	case session.TypeRequest:
		return l.request(line)
	case session.TypeAttempt:
		_, err := line.Attempt()
		return err
	case session.TypeResponse:
		_, err := line.Response()
		return err
	case session.TypeWire:
		return l.wire(line)
	case session.TypeFooter:
		_, err := line.Footer()
		return err
	}
	return nil
}

func (l *loader) header(line *session.Line) error {
	h, err := line.Header()
	if err != nil {
		return err
	}
	if !h.IsWire() {
		return ErrNotWire
	}
	if err := h.Check(); err != nil {
		return wrong(line, "config_digest", "%v", err)
	}
	l.tape.Header = h
	return nil
}

func (l *loader) part(line *session.Line) error {
	p, err := line.Part()
	if err != nil {
		return err
	}
	part := p.WirePart()
	if !p.Digest.Of(part.Digest) {
		return wrong(line, "digest", "is %s, that of the body %s", p.Digest, part.Digest.Short())
	}
	l.parts.Put(part)
	if l.loose == 0 {
		l.loose = line.No
	}
	return nil
}

// request resolves the parts of a request and checks their chain.
func (l *loader) request(line *session.Line) error {
	r, err := line.Request()
	if err != nil {
		return err
	}
	if l.open != nil {
		return wrong(line, "t", "the exchange of line %d has no wire line", l.open.line)
	}
	lane := l.lanes[line.Lane]
	if lane == nil {
		lane = &loadedLane{at: l.root}
		l.lanes[line.Lane] = lane
	}
	switch {
	case !r.Explicit:
		return wrong(line, "keep", "is missing")
	case r.Keep > lane.at.depth:
		return wrong(line, "keep", "is %d, the request before has %d parts", r.Keep, lane.at.depth)
	}
	at := lane.at
	for at.depth > r.Keep {
		at = at.parent
	}
	for _, d := range r.Add {
		part := l.parts.Get(d, at.part)
		if part == nil {
			return wrong(line, "add", "no line before carries part %s", d)
		}
		at = l.child(at, part)
	}
	if !r.Chain.Of(at.chain) {
		return wrong(line, "chain", "is %s; the lines before give %s", r.Chain, at.chain.Short())
	}
	if r.Params != nil {
		lane.params, lane.digest = r.Params, model.Sum(r.Params)
		if !r.ParamsDigest.Of(lane.digest) {
			return wrong(line, "params_digest", "is %s, that of params %s", r.ParamsDigest, lane.digest.Short())
		}
	}
	if lane.params == nil {
		return wrong(line, "params", "is missing in the lane's first request")
	}
	lane.at = at
	l.loose = 0
	l.open = &asked{line: line.No, turn: r.Turn, lane: line.Lane, at: at, params: lane.params, digest: lane.digest}
	return nil
}

// child is the prefix at with one more part.
func (l *loader) child(at *node, part *model.Part) *node {
	chain := model.Chain(at.chain, part)
	n := l.nodes[chain]
	if n == nil {
		n = &node{parent: at, part: part, chain: chain, depth: at.depth + 1}
		l.nodes[chain] = n
	}
	return n
}

// wire makes the exchange.
func (l *loader) wire(line *session.Line) error {
	w, err := line.Wire()
	if err != nil {
		return err
	}
	switch {
	case l.seen[w.N]:
		return wrong(line, "n", "there is another exchange %d", w.N)
	case w.API == "" && (l.open != nil || l.loose > 0):
		return wrong(line, "api", "is missing, and a request stands before it")
	case w.API != "" && l.open == nil:
		return wrong(line, "api", "is there, and no request stands before it")
	}
	l.seen[w.N] = true
	body := w.Body
	if !w.Inline && w.Size > 0 {
		if body, err = l.blob(w); err != nil {
			return wrong(line, "blob", "%v", err)
		}
	}
	x := &Exchange{N: w.N, Hint: w.Hint, Method: w.Method, Path: w.Path, Body: w.Ask, Status: w.Status, Header: w.Header,
		Stream: w.Stream, Broken: w.Broken, Elapsed: w.Elapsed, ask: w.AskDigest}
	if len(w.Frames) > 0 {
		x.Frames = make([]Frame, len(w.Frames))
	}
	for i, f := range w.Frames {
		x.Frames[i] = Frame{At: f.At, Data: body[:f.Bytes:f.Bytes]}
		body = body[f.Bytes:]
	}
	if o := l.open; o != nil {
		x.Lane, x.Turn, x.at = o.lane, o.turn, o.at
		x.Request = &canon.Request{API: dialect.API(w.API), Params: o.params, ParamsDigest: o.digest, Stream: w.Streamed}
		copy(x.Request.Root[:], w.Root[:])
		copy(x.Request.Raw[:], w.Raw[:])
	}
	l.open = nil
	l.tape.Exchanges = append(l.tape.Exchanges, x)
	return nil
}

// blob reads a body once, however often it was answered.
func (l *loader) blob(w *session.Wire) ([]byte, error) {
	if b, ok := l.bodies[w.Blob]; ok {
		if int64(len(b)) != w.Size {
			return nil, fmt.Errorf("blob %s has %d bytes, not %d", w.Blob, len(b), w.Size)
		}
		return b, nil
	}
	if l.blobs == nil {
		return nil, session.ErrNoBlobs
	}
	b, err := l.blobs.Get(w.Blob, w.Size)
	if err == nil {
		l.bodies[w.Blob] = b
	}
	return b, err
}

// wrong is the error of a sound line that says what cannot be.
func wrong(line *session.Line, field, format string, a ...any) error {
	return &session.DecodeError{Line: line.No, Type: line.Type, Field: field, What: fmt.Sprintf(format, a...)}
}
