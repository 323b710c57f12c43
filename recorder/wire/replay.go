package wire

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/redact"
	"github.com/harnessbench/harnessbench/recorder/wire/canon"
	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
	"github.com/harnessbench/harnessbench/recorder/wire/tape"
	"github.com/harnessbench/harnessbench/replayer"
)

// ReplayOptions say how a tape is replayed.
type ReplayOptions struct {
	// Normalisers are those of the recording, or more.
	Normalisers []canon.Normaliser
	// Redact takes credentials out of requests before they are compared, as the
	// recording did; it learns those that the requests carry. nil = a new one.
	Redact *redact.Redactor
	// Speed is how fast recorded times pass.
	Speed Speed
}

// Replay answers from a tape. It is safe for concurrent use.
type Replay struct {
	player  *tape.Player
	o       ReplayOptions
	lineage canon.Lineage

	mu      sync.Mutex
	refused *tape.Divergence // the first request that could not even be read
}

// NewReplay returns a handler that answers as recorded, strictly: status,
// headers, the frames of the body one by one, and where the recorded answer
// broke off, so does this one. The first request that is not in the recording is
// answered by 400, with x-should-retry: false and a text that says where it
// departs; so is every request after it.
func NewReplay(p *tape.Player, o ReplayOptions) *Replay {
	if o.Redact == nil {
		o.Redact = redact.New()
	}
	return &Replay{player: p, o: o}
}

// Report says how the replay stands.
func (p *Replay) Report() *tape.Report {
	r := p.player.Report()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refused != nil && r.Divergence == nil {
		d := *p.refused
		r.Verdict, r.Divergence, r.Reason = replayer.Diverged, &d, "a request could not be read: "+d.Actual
	}
	return r
}

// ServeHTTP implements http.Handler.
func (p *Replay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	pace := p.o.Speed.begin()
	for _, s := range secrets(r.Header, r.URL.Query()) {
		p.o.Redact.Add(s)
	}
	api, aux, ok := dialect.Route(r.Method, r.URL.Path)
	body, bad := read(w, r)
	if bad != nil {
		fail(w, speaks(api, r), bad)
		return
	}
	if !ok || aux != "" {
		p.auxiliary(w, r, pace, aux, body.plain)
		return
	}
	req, err := canon.Parse(api, body.plain, canon.Options{Normalisers: p.o.Normalisers, Redact: p.o.Redact, Parent: p.lineage.Parent})
	if err != nil {
		if x, ok := p.aux(r, body.plain); ok { // it could not be read when it was recorded either
			play(w, r, pace, x)
			return
		}
		p.refuse(err)
		p.miss(w, api, "harnessbench replay: this request was not recorded: "+err.Error())
		return
	}
	x, miss := p.player.Ask(hint(r.Header), req)
	if miss != nil {
		p.miss(w, api, miss.Message)
		return
	}
	if well(x) {
		if plain, err := unpack(x.AnswerBody(), header(x, "Content-Encoding")); err == nil {
			p.lineage.Add(req, header(x, "Content-Type"), plain)
		}
	}
	play(w, r, pace, x)
}

// refuse keeps the first request that could not be read.
func (p *Replay) refuse(err error) {
	d := &tape.Divergence{Actual: err.Error(), Note: "the client sent what is no request of this API"}
	var at *dialect.BadRequest
	if errors.As(err, &at) {
		d.Pointer = at.Pointer
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refused == nil {
		p.refused = d
	}
}

// miss answers what is not in the recording.
func (p *Replay) miss(w http.ResponseWriter, api dialect.API, text string) {
	fail(w, api, &model.Error{Kind: model.ErrBadRequest, Status: http.StatusBadRequest, Message: text}, [2]string{"X-Should-Retry", "false"})
}

// aux looks for a recorded auxiliary call.
func (p *Replay) aux(r *http.Request, body []byte) (*tape.Exchange, bool) {
	return p.player.Aux(r.Method, p.o.Redact.Text(r.URL.RequestURI()), p.o.Redact.Bytes(body))
}

// auxiliary answers what is no question to a model. That it was not recorded
// changes no verdict.
func (p *Replay) auxiliary(w http.ResponseWriter, r *http.Request, pace pacer, aux string, body []byte) {
	x, ok := p.aux(r, body)
	switch {
	case ok:
		play(w, r, pace, x)
	case aux == "":
		unknown(w, r)
	case aux == dialect.AuxRoot:
		here(w, "recorded traffic is replayed")
	default:
		fail(w, speaks("", r), &model.Error{Kind: model.ErrBadRequest, Status: http.StatusNotFound,
			Message: fmt.Sprintf("harnessbench replay: %s %s was not recorded", r.Method, r.URL.Path)}, [2]string{"X-Should-Retry", "false"})
	}
}

// play gives a recorded answer as it came.
func play(w http.ResponseWriter, r *http.Request, pace pacer, x *tape.Exchange) {
	if x.Status == 0 {
		if pace.wait(r.Context(), x.Elapsed) != nil {
			abort(w, leftText)
		}
		abort(w, x.Broken)
	}
	h, size := w.Header(), 0
	for _, kv := range x.Header {
		h.Add(kv[0], kv[1])
	}
	if _, ok := h["Content-Type"]; !ok {
		h["Content-Type"] = nil // net/http would guess one
	}
	for i := range x.Frames {
		size += len(x.Frames[i].Data)
	}
	if !x.Stream && x.Broken == "" && r.Method != http.MethodHead && bodied(x.Status) {
		h.Set("Content-Length", strconv.Itoa(size))
	}
	w.WriteHeader(x.Status)
	for i := range x.Frames {
		f := &x.Frames[i]
		if pace.wait(r.Context(), f.At) != nil {
			abort(w, leftText)
		}
		if push(w, f.Data) != nil {
			abort(w, leftText)
		}
	}
	if x.Broken != "" {
		_ = pace.wait(r.Context(), x.Elapsed)
		abort(w, x.Broken)
	}
}

// bodied reports whether answers of a status have a body.
func bodied(status int) bool {
	return status != http.StatusNoContent && status != http.StatusNotModified
}

// header is a kept header of a recorded answer.
func header(x *tape.Exchange, name string) string {
	for _, kv := range x.Header {
		if strings.EqualFold(kv[0], name) {
			return kv[1]
		}
	}
	return ""
}

// well reports whether an answer is complete and one of success: what a later
// request may name as its parent.
func well(x *tape.Exchange) bool { return x.Broken == "" && x.Status >= 200 && x.Status < 300 }
