package tape

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
)

// prepared is an exchange as it is written: redacted, cut to whole microseconds,
// its answer read.
type prepared struct {
	x      *Exchange
	line   *session.Wire
	plain  []byte          // the body to read
	answer *model.Response // nil when failed is set, and for auxiliary calls
	failed *model.Error
	keep   int           // parts of the lane's request before that stay
	fresh  []*model.Part // that no line carries yet
}

// slack is what a line needs besides its largest value.
const slack = 1 << 20

// maxItems is the size of an answer's body above which its items are not written
// a second time, in a response line.
const maxItems = 8 << 20

// prepare makes all that is to be written of an exchange, and refuses what no
// line can hold, before anything is written.
func (rec *Recorder) prepare(x *Exchange) (*prepared, error) {
	w := &session.Wire{N: x.N, Method: x.Method, Path: rec.clean(x.Path), Hint: x.Hint, Status: x.Status,
		Stream: x.Stream, Broken: rec.clean(x.Broken)}
	if w.Method == "" {
		w.Method = "POST"
	}
	for _, h := range x.Header {
		w.Header = append(w.Header, [2]string{h[0], rec.clean(h[1])})
	}
	rec.body(w, x)
	if len(w.Body) > session.MaxBody {
		return nil, fmt.Errorf("its answer has %d bytes, more than %d", len(w.Body), session.MaxBody)
	}
	p := &prepared{x: x, line: w, plain: w.Body}
	if x.Plain != nil {
		p.plain = rec.clear(x)
	}
	if x.Request == nil {
		w.Ask = rec.hide(x.Body)
		w.AskDigest = askDigest(w.Ask)
		return p, nil
	}
	r := x.Request
	w.API, w.Root, w.Raw, w.Streamed = string(r.API), session.Short(r.Root), session.Short(r.Raw), r.Stream
	if err := fits(x); err != nil {
		return nil, err
	}
	p.read()
	rec.cleanItems(p)
	return p, nil
}

// body writes the answer's body and its frames. A packed body that holds a secret
// is recorded unpacked, in one frame.
func (rec *Recorder) body(w *session.Wire, x *Exchange) {
	w.Body, w.Elapsed = rec.hide(x.AnswerBody()), x.Elapsed.Truncate(time.Microsecond)
	if x.Stream && x.Plain == nil {
		rec.hideAcross(w.Body)
	}
	last := time.Duration(0)
	for i := range x.Frames {
		if f := &x.Frames[i]; len(f.Data) > 0 {
			last = f.At.Truncate(time.Microsecond)
			w.Frames = append(w.Frames, session.WireFrame{At: last, Bytes: len(f.Data)})
		}
	}
	if x.Elapsed == 0 {
		w.Elapsed = last
	}
	clear := rec.clear(x)
	if len(clear) == 0 || bytes.Equal(clear, x.Plain) {
		return
	}
	w.Body, w.Frames = clear, []session.WireFrame{{At: last, Bytes: len(clear)}}
	w.Header = slices.DeleteFunc(w.Header, func(h [2]string) bool { return strings.EqualFold(h[0], "Content-Encoding") })
}

// clear is the unpacked body of a packed answer, redacted.
func (rec *Recorder) clear(x *Exchange) []byte {
	if !x.Stream {
		return rec.hide(x.Plain)
	}
	b := rec.hide(bytes.Clone(x.Plain))
	rec.hideAcross(b)
	return b
}

// fits refuses a request whose lines would be no lines of a session.
func fits(x *Exchange) error {
	r := x.Request
	if len(r.Chains) != len(r.Parts)+1 {
		return errors.New("its request has no chain")
	}
	if len(r.Params)+35*len(r.Parts) > session.MaxLine-slack {
		return fmt.Errorf("its params, or its number of parts, are more than a line holds (%d MiB)", session.MaxLine>>20)
	}
	if err := session.ValidJSON(r.Params); err != nil {
		return fmt.Errorf("params: %w", err)
	}
	return nil
}

// header is a header of the answer to be read, which is not packed where plain
// was given.
func (p *prepared) header(name string) string {
	if p.x.Plain != nil && strings.EqualFold(name, "Content-Encoding") {
		return ""
	}
	return p.x.header(name)
}

// read reads the answer in the vocabulary of package model.
func (p *prepared) read() {
	x := p.x
	switch {
	case x.Status == 0:
		p.failed = &model.Error{Kind: model.ErrTransport, Message: p.line.Broken}
	case x.Broken != "":
		// A stream that broke off is never an answer, whatever it says so far.
		p.failed = &model.Error{Kind: model.ErrBrokenStream, Status: x.Status, Message: p.line.Broken}
		if r, e := dialect.Parse(x.Request.API, x.Status, p.header, p.plain); e != nil {
			p.failed.Usage = e.Usage
		} else {
			p.failed.Usage = r.Usage
		}
	default:
		p.answer, p.failed = dialect.Parse(x.Request.API, x.Status, p.header, p.plain)
	}
	if p.answer == nil {
		return
	}
	if len(p.plain) > maxItems {
		p.answer.Items = nil
	}
	for i := range p.answer.Items {
		it := &p.answer.Items[i]
		if it.Type == model.ProviderCall && it.Evidence != "" && session.ValidJSON([]byte(`{"evidence":`+it.Evidence+`}`)) != nil {
			it.Evidence = "" // no JSON a line can hold: the body has it
		}
	}
}

// cleanItems redacts what was put together from the pieces of a stream, in which
// a secret may have been hidden by the JSON between them.
func (rec *Recorder) cleanItems(p *prepared) {
	if p.failed != nil {
		p.failed.Message = rec.clean(p.failed.Message)
		return
	}
	for i := range p.answer.Items {
		it := &p.answer.Items[i]
		it.Text, it.Evidence = rec.clean(it.Text), rec.clean(it.Evidence)
		it.Call.Name, it.Call.Args = rec.clean(it.Call.Name), rec.clean(it.Call.Args)
	}
}

// hide redacts bytes; what the caller holds is not changed.
func (rec *Recorder) hide(b []byte) []byte { return rec.redact.Bytes(b) }

func (rec *Recorder) clean(s string) string { return rec.redact.Text(s) }
