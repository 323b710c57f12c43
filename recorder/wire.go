package recorder

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// WireRequest returns the payload of a request line of recorded traffic. params
// is canonical JSON; keep and add are always said.
func (e *Encoder) WireRequest(h *event.Head, chain model.Digest, params []byte, paramsDigest model.Digest, keep int, add []*model.Part) ([]byte, error) {
	if err := session.ValidJSON(params); err != nil {
		return nil, fmt.Errorf("params: %w", err)
	}
	e.begin(session.TypeRequest, h)
	e.short("chain", chain)
	if lane := e.lane(h); !lane.hasParams || lane.params != paramsDigest {
		e.key("params")
		e.buf = append(e.buf, params...)
		e.short("params_digest", paramsDigest)
		lane.params, lane.hasParams = paramsDigest, true
	}
	e.int("keep", int64(keep))
	e.added(add)
	e.finish()
	return e.buf, nil
}

// Wire returns the payload of a wire line. A nil head is that of an auxiliary
// call, which belongs to no turn. A body above [session.InlineBody] is stored as
// a blob; w.Blob and w.Inline are not read.
func (e *Encoder) Wire(h *event.Head, w *session.Wire) ([]byte, error) {
	if h != nil {
		e.begin(session.TypeWire, h)
	} else {
		e.start(session.TypeWire)
	}
	e.int("n", int64(w.N))
	e.strIf("api", w.API)
	if w.Method != "POST" {
		e.str("method", w.Method)
	}
	e.str("path", w.Path)
	e.intIf("hint", int64(w.Hint))
	e.shortIf("root", w.Root)
	e.shortIf("raw", w.Raw)
	e.boolIf("streamed", w.Streamed)
	if len(w.Ask) > 0 && len(w.Ask) <= session.InlineAsk && utf8.Valid(w.Ask) {
		e.str("ask", string(w.Ask))
	}
	e.shortIf("ask_digest", w.AskDigest)
	e.inIntIf("status", int64(w.Status))
	if len(w.Header) > 0 {
		e.inField(func() { e.pairs("header", w.Header) })
	}
	if w.Stream {
		e.inField(func() { e.boolIf("stream", true) })
	}
	if err := e.wireBody(w.Body); err != nil {
		return nil, err
	}
	if len(w.Frames) > 0 {
		e.inField(func() { e.frames(w.Frames) })
	}
	e.inStrIf("broken", w.Broken)
	if n := len(w.Frames); n > 0 && w.Frames[n-1].At.Microseconds() != w.Elapsed.Microseconds() || n == 0 && w.Elapsed != 0 {
		e.inField(func() { e.micros("elapsed_us", w.Elapsed) })
	}
	e.finish()
	return e.buf, nil
}

// wireBody writes a body where it is cheapest.
func (e *Encoder) wireBody(body []byte) error {
	switch {
	case len(body) == 0:
	case len(body) > session.InlineBody:
		d := model.Sum(body)
		e.inField(func() { e.int("size", int64(len(body))) })
		e.inField(func() { e.full("blob", d) })
		return e.put(d, body)
	case utf8.Valid(body):
		e.inStr("text", string(body))
	default:
		e.inStr("b64", base64.StdEncoding.EncodeToString(body))
	}
	return nil
}

func (e *Encoder) shortIf(name string, d session.ShortDigest) {
	if !d.IsZero() {
		e.str(name, d.String())
	}
}

func (e *Encoder) pairs(name string, pairs [][2]string) {
	e.key(name)
	for i, p := range pairs {
		e.buf = append(e.buf, sep(i))
		e.strs(p[:])
	}
	e.buf = append(e.buf, ']')
}

func (e *Encoder) frames(frames []session.WireFrame) {
	e.key("frames")
	for i, f := range frames {
		e.buf = append(e.buf, sep(i), '[')
		e.buf = strconv.AppendInt(e.buf, f.At.Microseconds(), 10)
		e.buf = append(e.buf, ',')
		e.buf = strconv.AppendInt(e.buf, int64(f.Bytes), 10)
		e.buf = append(e.buf, ']')
	}
	e.buf = append(e.buf, ']')
}
