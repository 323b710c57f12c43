package session

import (
	"encoding/hex"
	"unicode/utf8"

	"github.com/harnessbench/harnessbench/loop/model"
)

// InputsStart is I0 of the inputs digest.
var InputsStart = model.Sum([]byte("harnessbench/inputs/1"))

// Inputs is the running digest over every input field of a session, as state
// lines and the footer carry it:
//
//	I0 = SHA-256("harnessbench/inputs/1")
//	I  = SHA-256(I || type || NUL || {"key":value,...})
//
// for each line that has input fields ([IsInput]), with exactly these fields in
// line order and their values as the bytes of the line, except that a string
// (not one inside an object or array) whose text is longer than [LongText] bytes
// is replaced by the 64 hex digits of the text's SHA-256.
type Inputs struct {
	digest model.Digest
	buf    []byte
}

// NewInputs returns the digest of no line.
func NewInputs() *Inputs { return &Inputs{digest: InputsStart} }

// Digest returns the digest so far.
func (in *Inputs) Digest() model.Digest { return in.digest }

// Add counts in one line.
func (in *Inputs) Add(l *Line) error {
	keys := inputKeys[l.Type]
	if keys == nil {
		return nil
	}
	b := append(in.buf[:0], in.digest[:]...)
	b = append(b, l.Type...)
	b = append(b, 0)
	sep := byte('{')
	for _, f := range l.fields[2 : len(l.fields)-1] {
		key := l.Raw[f.ks:f.ke]
		if !keys[string(key)] {
			continue
		}
		b = append(b, sep, '"')
		sep = ','
		b = append(b, key...)
		b = append(b, '"', ':')
		v := l.Raw[f.vs:f.ve]
		if v[0] == '"' && len(v)-2 > LongText {
			s, err := unquote(v)
			if err != nil {
				return l.wrap(atPath(string(key), err))
			}
			if len(s) > LongText {
				b = append(b, '"')
				d := model.SumString(s)
				b = hex.AppendEncode(b, d[:])
				b = append(b, '"')
				continue
			}
		}
		b = append(b, v...)
	}
	if sep == ',' {
		b = append(b, '}')
		in.digest = model.Sum(b)
	}
	in.buf = b
	return nil
}

// ValidJSON reports whether b is one JSON object as lines may carry it: no white
// space between tokens, no duplicate keys, valid UTF-8, nesting within bounds.
func ValidJSON(b []byte) error {
	if !utf8.Valid(b) {
		return &syntaxError{0, "is no UTF-8"}
	}
	var s scanner
	return s.scan(b)
}
