package tape

import (
	"strings"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/recorder/wire/canon"
	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
)

// Exchange is one request and its answer as they passed.
type Exchange struct {
	N       int    // in the order in which the requests came, from 1; see Recorder.Begin
	Lane    string // conversation, see Lanes; "" for auxiliary calls
	Turn    int    // of the lane, from 1; a repeated request is another attempt of its turn
	Attempt int    // from 0
	Hint    int    // ordinal of the hint among those of the recording, from 1; 0 = there was none
	Method  string
	Path    string // with its query
	// Request is nil for auxiliary calls. That of a loaded exchange has neither
	// Pointers nor Parts nor Chains: Parts gives them.
	Request *canon.Request
	Body    []byte        // of the request, redacted; kept for auxiliary calls only, up to session.InlineAsk
	Status  int           // 0 when the upstream gave no answer
	Header  [][2]string   // of the answer, allow-listed, in order
	Frames  []Frame       // of the answer's body
	Stream  bool          // the answer is a stream of server-sent events
	Broken  string        // how the answer broke off; "" = it is complete
	Elapsed time.Duration // from passing on the request to the answer's end; 0 = the last frame's time
	// Plain is the answer's body without its Content-Encoding, where it has one: the
	// recorder reads the answer there. It is not recorded, unless a secret stands in
	// it, which cannot be overwritten in packed bytes.
	Plain []byte

	at  *node               // of a loaded request
	ask session.ShortDigest // of an auxiliary request's body
}

// Frame is a piece of an answer's body as it came.
type Frame struct {
	At   time.Duration // since the request was passed on
	Data []byte
}

// AnswerBody returns the bytes of all frames.
func (x *Exchange) AnswerBody() []byte {
	n := 0
	for i := range x.Frames {
		n += len(x.Frames[i].Data)
	}
	b := make([]byte, 0, n)
	for i := range x.Frames {
		b = append(b, x.Frames[i].Data...)
	}
	return b
}

// Parts returns the parts of a request and the chain digests before and after
// each of them. They are made anew at each call for a loaded exchange.
func (x *Exchange) Parts() ([]*model.Part, []model.Digest) {
	if x.at == nil {
		if x.Request == nil {
			return nil, nil
		}
		return x.Request.Parts, x.Request.Chains
	}
	parts, chains := make([]*model.Part, x.at.depth), make([]model.Digest, x.at.depth+1)
	for n := x.at; ; n = n.parent {
		chains[n.depth] = n.chain
		if n.parent == nil {
			return parts, chains
		}
		parts[n.depth-1] = n.part
	}
}

// header returns a kept header of the answer; names are compared as in HTTP.
func (x *Exchange) header(name string) string {
	for _, h := range x.Header {
		if strings.EqualFold(h[0], name) {
			return h[1]
		}
	}
	return ""
}

// Tape is recorded traffic.
type Tape struct {
	Path      string
	Header    *session.Header
	Exchanges []*Exchange // in the order in which the requests came
	Complete  bool        // it has a footer
	Warnings  []string    // what is wrong with it and was left out
}

// node is a request prefix: requests that begin alike share their nodes.
type node struct {
	parent *node // nil at the empty prefix
	part   *model.Part
	chain  model.Digest
	depth  int
}

// key is what makes two requests of a lane equal.
type key struct {
	api    dialect.API
	chain  model.Digest
	params model.Digest
}

func keyOf(r *canon.Request) key {
	return key{r.API, r.Chains[len(r.Chains)-1], r.ParamsDigest}
}
