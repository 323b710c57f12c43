package verify

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/loop/redact"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// hunt looks for secrets. It writes what it finds nowhere.
type hunt struct {
	all    *redact.Redactor // shapes and every declared secret
	shapes *redact.Redactor
	each   []named
}

type named struct {
	name, value string
	r           *redact.Redactor
}

func newHunt(secrets []Secret) *hunt {
	h := &hunt{all: redact.New(), shapes: redact.New()}
	for _, s := range secrets {
		h.all.Add(s.Value)
		h.each = append(h.each, named{s.Name, strings.TrimSpace(s.Value), redact.New(s.Value)})
	}
	return h
}

// line looks through the texts of a line: as they stand, and unescaped where
// they have escapes.
func (h *hunt) line(l *session.Line) (out []Finding) {
	if !has(h.all, l.Raw) && !bytes.Contains(l.Raw, []byte(`\u`)) {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(l.Raw), jsontext.AllowDuplicateNames(true))
	for {
		tok, err := dec.ReadToken()
		if err != nil {
			break
		}
		if tok.Kind() != '"' {
			continue
		}
		if f := h.text(tok.String()); f.Kind != "" {
			f.Line, f.Pointer = l.No, h.all.Text(string(dec.StackPointer())) // a name may be the secret
			out = append(out, f)
		}
	}
	if len(out) == 0 && has(h.all, l.Raw) {
		// It spans what JSON takes for several texts: no one text is to blame.
		f := h.text(string(l.Raw))
		f.Line = l.No
		out = append(out, f)
	}
	return out
}

func has(r *redact.Redactor, b []byte) bool { return !bytes.Equal(r.Bytes(b), b) }

// text says what kind of secret stands in a text; Kind is empty when none does.
func (h *hunt) text(s string) Finding {
	if h.all.Text(s) == s {
		return Finding{}
	}
	for _, n := range h.each {
		// Shapes are found by every redactor: what this one finds more is its own.
		if strings.Contains(s, n.value) || n.r.Text(s) != h.shapes.Text(s) {
			return Finding{Kind: "declared", Name: n.name}
		}
	}
	return Finding{Kind: "shape"}
}
