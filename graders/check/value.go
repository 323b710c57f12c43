package check

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// valueKind is the kind of a value, in JSON's terms.
type valueKind uint8

const (
	nullValue valueKind = iota
	boolValue
	numberValue
	stringValue
	listValue
	mapValue
)

func (k valueKind) String() string {
	return [...]string{"null", "a boolean", "a number", "a text", "a list", "a mapping"}[k]
}

// value is a decoded YAML or JSON value that remembers where it was written
// and keeps the lexemes of its numbers.
type value struct {
	kind    valueKind
	text    string // of a string: its content; of a number or boolean: a JSON lexeme
	source  string // of a scalar in YAML: as it was written
	list    []*value
	members []member // in the order written
	pos     Pos
}

type member struct {
	key string
	pos Pos
	val *value
}

// get returns the member of a mapping, or nil.
func (v *value) get(key string) *value {
	for i := range v.members {
		if v.members[i].key == key {
			return v.members[i].val
		}
	}
	return nil
}

// parseJSON decodes exactly one JSON value. Duplicate keys, invalid UTF-8 and
// nesting beyond MaxDepth are errors; they say line and column.
func parseJSON(data []byte) (*value, error) {
	if !utf8Valid(data) {
		return nil, errors.New("it is no UTF-8 text")
	}
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	p := jsonParser{dec: dec, data: data}
	v, err := p.value(0)
	if err != nil {
		return nil, p.locate(err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errors.New("something follows the end of the value")
		}
		return nil, p.locate(err)
	}
	return v, nil
}

type jsonParser struct {
	dec    *jsontext.Decoder
	data   []byte
	values int // so far
}

// maxValues bounds the values of one JSON text, and so the memory they take.
const maxValues = 500_000

// locate adds line and column to an error of the decoder.
func (p *jsonParser) locate(err error) error {
	off, msg := p.dec.InputOffset(), err.Error()
	var syn *jsontext.SyntacticError
	if errors.As(err, &syn) {
		off, msg = syn.ByteOffset, syn.Err.Error()
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		off, msg = int64(len(p.data)), "it ends too early"
	}
	at := position(p.data, off)
	return fmt.Errorf("line %d, column %d: %s", at.Line, at.Column, msg)
}

func (p *jsonParser) value(depth int) (*value, error) {
	if depth > MaxDepth {
		return nil, fmt.Errorf("nesting deeper than %d", MaxDepth)
	}
	if p.values++; p.values > maxValues {
		return nil, fmt.Errorf("more than %d values", maxValues)
	}
	tok, err := p.dec.ReadToken()
	if err != nil {
		return nil, err
	}
	v := &value{}
	switch tok.Kind() {
	case 'n':
		v.kind = nullValue
	case 't', 'f':
		v.kind, v.text = boolValue, tok.String()
	case '"':
		v.kind, v.text = stringValue, tok.String()
	case '0':
		v.kind, v.text = numberValue, tok.String()
	case '[':
		v.kind = listValue
		for p.dec.PeekKind() != ']' {
			e, err := p.value(depth + 1)
			if err != nil {
				return nil, err
			}
			v.list = append(v.list, e)
		}
		_, err = p.dec.ReadToken()
	case '{':
		v.kind = mapValue
		for p.dec.PeekKind() != '}' {
			if err := p.member(v, depth); err != nil {
				return nil, err
			}
		}
		_, err = p.dec.ReadToken()
	default:
		err = fmt.Errorf("unexpected %v", tok.Kind())
	}
	return v, err
}

func (p *jsonParser) member(v *value, depth int) error {
	key, err := p.dec.ReadToken()
	if err != nil {
		return err
	}
	name := key.String()
	e, err := p.value(depth + 1)
	if err != nil {
		return err
	}
	v.members = append(v.members, member{key: name, val: e})
	return nil
}

// position turns a byte offset into line and column, both from 1; the column
// counts bytes.
func position(data []byte, off int64) Pos {
	off = max(0, min(off, int64(len(data))))
	before := data[:off]
	return Pos{
		Line:   1 + bytes.Count(before, []byte("\n")),
		Column: int(off) - bytes.LastIndexByte(before, '\n'),
	}
}

// appendCanonical appends v as canonical JSON: keys sorted by their UTF-8
// bytes, no white space, minimal escapes, number lexemes kept.
func (v *value) appendCanonical(b []byte) []byte {
	switch v.kind {
	case nullValue:
		return append(b, "null"...)
	case boolValue, numberValue:
		return append(b, v.text...)
	case stringValue:
		return appendString(b, v.text)
	case listValue:
		b = append(b, '[')
		for i, e := range v.list {
			if i > 0 {
				b = append(b, ',')
			}
			b = e.appendCanonical(b)
		}
		return append(b, ']')
	default:
		b = append(b, '{')
		for i, m := range v.sorted() {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, m.key), ':')
			b = m.val.appendCanonical(b)
		}
		return append(b, '}')
	}
}

// sorted returns the members in the order of their keys.
func (v *value) sorted() []member {
	ms := slices.Clone(v.members)
	slices.SortFunc(ms, func(a, b member) int { return strings.Compare(a.key, b.key) })
	return ms
}

// appendString appends s as a JSON string with minimal escapes; bytes that are
// no UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // the error only says that bytes were replaced
	return b
}
