package minimise

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer/internal/patch"
)

// fitter writes a draft as a session in which what follows from the lines fits
// them.
type fitter struct {
	d      *draft
	w      *session.Writer
	names  map[string]string // digests of parts as the header's config names them: old to new
	files  map[string]model.Digest
	talk   *session.Conversation
	inputs *session.Inputs
	sums   totals
	chain  *sealer
}

// totals are what a footer counts.
type totals struct {
	turns, calls, attempts int
	usage                  model.Usage
	cost, at               []byte // of the last state
	open                   map[string]bool
}

// sealer gives back a line as it was sealed.
type sealer struct {
	buf bytes.Buffer
	rd  *session.Reader
}

// seal writes the draft. An error says that no sound session comes of it.
func (d *draft) seal() ([]byte, error) {
	s := &sealer{}
	s.rd = session.NewReader(&s.buf)
	var out bytes.Buffer
	f := &fitter{d: d, w: session.NewWriter(&s.buf), names: map[string]string{}, files: map[string]model.Digest{},
		talk: session.NewConversation(), inputs: session.NewInputs(), chain: s, sums: totals{open: map[string]bool{}}}
	if err := f.parts(); err != nil {
		return nil, err
	}
	last := d.count()
	if d.end > 0 {
		last = d.end
	}
	for _, l := range d.lines[:last] {
		raw, err := f.line(l)
		if err != nil {
			return nil, err
		}
		out.Write(raw)
	}
	if d.end > 0 {
		if len(f.sums.open) > 0 {
			return nil, errors.New("calls have no result where it is cut")
		}
		raw, err := f.emit(session.TypeFooter, f.footer())
		if err != nil {
			return nil, err
		}
		out.Write(raw)
	}
	return out.Bytes(), nil
}

// parts finds what the digests of the opening parts become, which the header's
// config names.
func (f *fitter) parts() error {
	for _, l := range f.d.lines {
		if l.Type != session.TypePart {
			continue
		}
		p, err := l.Part()
		if err != nil {
			return err
		}
		payload, err := f.d.payload(l)
		if err != nil {
			return err
		}
		if body := field(payload, "body"); body != nil && !bytes.Equal(body, p.Body) {
			f.names[p.Digest.String()] = model.Sum(body).Short()
		}
	}
	return nil
}

// field is the value of a payload's field, nil where there is none.
func field(payload []byte, name string) (out jsontext.Value) {
	if len(payload) == 0 {
		return nil
	}
	object := append(append([]byte{'{'}, payload[1:]...), '}')
	_ = patch.Members(object, func(key string, v jsontext.Value) error {
		if key == name {
			out = v
		}
		return nil
	})
	return out
}

// line writes one line with the draft's changes and all that follows from them.
func (f *fitter) line(l *session.Line) ([]byte, error) {
	payload, err := f.d.payload(l)
	if err != nil {
		return nil, err
	}
	values := map[string]jsontext.Value{}
	switch l.Type {
	case session.TypeHeader:
		err = f.header(l, payload, values)
	case session.TypePart:
		values["/digest"] = patch.Quote(model.Sum(field(payload, "body")).Short())
	case session.TypeToolResult:
		err = f.result(l, values)
	case session.TypeRequest:
		var chain string
		if chain, err = f.ask(l); err == nil {
			values["/chain"] = patch.Quote(chain)
		}
	case session.TypeState:
		values["/inputs"] = patch.Quote(f.inputs.Digest().Short())
	case session.TypeFooter:
		values["/inputs"] = patch.Quote(f.inputs.Digest().String())
	}
	if err != nil {
		return nil, err
	}
	if payload, err = patch.Replace(payload, values); err != nil {
		return nil, err
	}
	return f.emit(l.Type, payload)
}

// emit seals a line, and reads it back to count it in.
func (f *fitter) emit(t session.Type, payload []byte) ([]byte, error) {
	if err := errors.Join(f.w.Line(t, payload), f.w.Flush()); err != nil {
		return nil, err
	}
	raw := bytes.Clone(f.chain.buf.Bytes())
	l, err := f.chain.rd.Next()
	if err != nil {
		return nil, err
	}
	if err := f.inputs.Add(l); err != nil {
		return nil, err
	}
	// A request was asked before it was written, with the chain that it now has.
	if l.Type != session.TypeRequest {
		if _, err := f.talk.Add(l); err != nil {
			return nil, err
		}
	}
	return raw, f.sums.add(l)
}

// ask computes the chain of a request again. The line has the old one: that it
// does not fit is what is asked for.
func (f *fitter) ask(l *session.Line) (string, error) {
	asked, err := f.talk.Add(l)
	if asked == nil {
		return "", err
	}
	return asked.Chain.Short(), nil
}

// header makes a header's digests fit.
func (f *fitter) header(l *session.Line, payload []byte, values map[string]jsontext.Value) error {
	h, err := l.Header()
	if err != nil {
		return err
	}
	config := bytes.Clone(field(payload, "config"))
	for old, now := range f.names {
		config = bytes.ReplaceAll(config, []byte(`"`+old+`"`), []byte(`"`+now+`"`))
	}
	values["/config"] = config
	values["/config_digest"] = patch.Quote(model.Sum(config).String())
	var entries []workspace.Entry
	for i, file := range h.Tree {
		at := fmt.Sprintf("/tree/%d", i)
		if f.d.gone[file.Path] {
			values[at] = nil
			continue
		}
		if text, ok := f.d.texts[place{l.No, at}]; ok {
			file.Size, file.Digest = int64(len(text)), model.SumString(text)
			values[at] = treeFile(file.Path, file.Mode, text)
		}
		f.files[file.Path] = file.Digest
		entries = append(entries, workspace.Entry{Path: file.Path, Size: file.Size, Mode: file.Mode, Digest: file.Digest})
	}
	if len(h.Tree) > 0 && len(entries) == 0 {
		values["/tree"] = nil
	}
	if !h.TreeDigest.IsZero() {
		values["/tree_digest"] = patch.Quote(workspace.TreeDigest(entries).String())
	}
	return nil
}

// treeFile writes a file of the initial tree with its content.
func treeFile(path string, mode uint32, text string) jsontext.Value {
	b := append([]byte(`{"path":`), patch.Quote(path)...)
	b = fmt.Appendf(b, `,"size":%d,"mode":%d,"digest":"%s"`, len(text), mode, model.SumString(text))
	return append(appendContent(b, text), '}')
}

func appendContent(b []byte, text string) []byte {
	switch {
	case text == "":
		return b
	case utf8.ValidString(text):
		return append(append(b, `,"text":`...), patch.Quote(text)...)
	}
	return append(append(b, `,"b64":`...), patch.Quote(base64.StdEncoding.EncodeToString([]byte(text)))...)
}

// result makes the digests before the changes of a result fit.
func (f *fitter) result(l *session.Line, values map[string]jsontext.Value) error {
	r, err := l.ToolResult()
	if err != nil {
		return err
	}
	for i := range r.Delta {
		c := &r.Delta[i]
		at := fmt.Sprintf("/delta/%d", i)
		before, known := f.files[c.Path]
		text, changed := f.d.texts[place{l.No, at}]
		switch {
		case changed:
			values[at] = delta(c, before, known, text)
			f.files[c.Path] = model.SumString(text)
			continue
		case known && !c.Before.IsZero() && !c.Before.Of(before):
			values[at+"/before"] = patch.Quote(before.Short())
		}
		switch {
		case c.Op == session.OpDelete:
			delete(f.files, c.Path)
		case c.Inline:
			f.files[c.Path] = model.Sum(c.Data)
		case !c.Blob.IsZero():
			f.files[c.Path] = c.Blob
		default: // an argument's text, which is never replaced
			delete(f.files, c.Path)
		}
	}
	return nil
}

// delta writes a change of a file with another content.
func delta(c *session.Delta, before model.Digest, known bool, text string) jsontext.Value {
	b := append([]byte(`{"path":`), patch.Quote(c.Path)...)
	if !c.Before.IsZero() {
		d := c.Before.String()
		if known {
			d = before.Short()
		}
		b = append(append(b, `,"before":`...), patch.Quote(d)...)
	}
	if c.Mode != session.PlainMode {
		b = fmt.Appendf(b, `,"mode":%d`, c.Mode)
	}
	if text == "" {
		return append(b, `,"text":""}`...)
	}
	return append(appendContent(b, text), '}')
}

// add counts a line for the footer.
func (t *totals) add(l *session.Line) error {
	t.turns = max(t.turns, l.Turn)
	switch l.Type {
	case session.TypeAttempt:
		a, err := l.Attempt()
		if err != nil {
			return err
		}
		t.attempts++
		if a.Err != nil {
			t.usage = t.usage.Add(a.Err.Usage)
		} else {
			t.usage = t.usage.Add(a.Resp.Usage)
		}
	case session.TypeResponse:
		r, err := l.Response()
		if err != nil {
			return err
		}
		t.attempts++
		t.usage = t.usage.Add(r.Resp.Usage)
	case session.TypeToolRequest:
		r, err := l.ToolRequest()
		if err != nil {
			return err
		}
		t.open[r.ID] = r.Problem == ""
	case session.TypeToolResult:
		r, err := l.ToolResult()
		if err != nil {
			return err
		}
		if t.open[r.ID] {
			t.calls++
		}
		delete(t.open, r.ID)
	case session.TypeState:
		cost, _ := l.Field("cost_pico")
		at, _ := l.Field("at_us")
		t.cost, t.at = slices.Clone(cost), slices.Clone(at)
	}
	return nil
}

// footer is that of a session that was cut.
func (f *fitter) footer() []byte {
	t := &f.sums
	b := fmt.Appendf(nil, `,"reason":"cancelled","evidence":"cut after what it shows","turns":%d,"calls":%d,"attempts":%d`, t.turns, t.calls, t.attempts)
	b = appendUsage(b, t.usage)
	b = append(append(b, `,"cost_pico":`...), orNull(t.cost)...)
	b = fmt.Appendf(b, `,"answer_digest":"%s"`, model.SumString(""))
	b = append(append(b, `,"at_us":`...), orZero(t.at)...)
	return fmt.Appendf(b, `,"inputs":"%s"`, f.inputs.Digest())
}

func orNull(v []byte) []byte {
	if v == nil {
		return []byte("null")
	}
	return v
}

func orZero(v []byte) []byte {
	if v == nil {
		return []byte("0")
	}
	return v
}

// appendUsage writes counts as lines do.
func appendUsage(b []byte, u model.Usage) []byte {
	if u.Unknown {
		return append(b, `,"usage":null`...)
	}
	counts := []int64{u.InputUncached, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning}
	for len(counts) > 0 && counts[len(counts)-1] == 0 {
		counts = counts[:len(counts)-1]
	}
	for i, n := range counts {
		sep := ","
		if i == 0 {
			sep = `,"usage":[`
		}
		b = fmt.Appendf(b, "%s%d", sep, n)
	}
	if len(counts) > 0 {
		b = append(b, ']')
	}
	return b
}
