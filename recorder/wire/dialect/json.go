package dialect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of what is decoded.
const (
	MaxBody   = 64 << 20 // bytes of a request or answer
	MaxDepth  = 512      // levels of nesting
	MaxValues = 1 << 20  // JSON values in one text
)

// BadRequest says what is wrong with a request and where.
type BadRequest struct {
	Pointer string // RFC 6901, into the body as sent; "" = the body as a whole
	What    string
}

func (e *BadRequest) Error() string {
	if e.Pointer == "" {
		return "request: " + e.What
	}
	return "request: " + e.Pointer + ": " + e.What
}

// node is a JSON value that knows where it stands. A nil node is a member that
// is missing or null; all methods take it.
type node struct {
	kind jsontext.Kind // '{' '[' '"' '0' 't' 'f' 'n'
	str  string        // of a string: its value; of a number: its lexeme
	raw  []byte        // of objects and arrays: the bytes as they came
	keys []string      // of an object: one per kid
	kids []*node
	up   *node
	at   string // key or index in up
}

// parseJSON reads one JSON text. Bytes that are no UTF-8 and halves of surrogate
// pairs, which JavaScript clients send when they cut texts, become U+FFFD.
// strict refuses a key that appears twice; else the last one counts.
func parseJSON(body []byte, strict bool) (*node, *BadRequest) {
	if len(body) > MaxBody {
		return nil, &BadRequest{What: fmt.Sprintf("%d bytes are too many; at most %d", len(body), MaxBody)}
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(!strict))
	p := &parser{dec: dec, body: body, left: MaxValues}
	n, err := p.value(nil, "", 0)
	if err == nil {
		if _, err = dec.ReadToken(); err == io.EOF {
			return n, nil
		}
		if err == nil {
			err = errBound("more than one JSON value")
		}
	}
	return nil, syntaxProblem(body, err)
}

// errBound is a text that is JSON and too much of it.
type errBound string

func (e errBound) Error() string { return string(e) }

type parser struct {
	dec  *jsontext.Decoder
	body []byte
	left int // values
}

func (p *parser) value(up *node, at string, depth int) (*node, error) {
	if p.left--; p.left < 0 {
		return nil, errBound(fmt.Sprintf("more than %d values", MaxValues))
	}
	tok, err := p.dec.ReadToken()
	if err != nil {
		return nil, err
	}
	n := &node{kind: tok.Kind(), up: up, at: at}
	switch n.kind {
	case '"', '0':
		n.str = tok.String()
		return n, nil
	case '{', '[':
	default:
		return n, nil
	}
	if depth++; depth > MaxDepth {
		return nil, errBound(fmt.Sprintf("nested deeper than %d levels", MaxDepth))
	}
	start := p.dec.InputOffset() - 1
	for p.dec.PeekKind() != '}' && p.dec.PeekKind() != ']' {
		key := strconv.Itoa(len(n.kids))
		if n.kind == '{' {
			if tok, err = p.dec.ReadToken(); err != nil {
				return nil, err
			}
			key = tok.String()
			n.keys = append(n.keys, key)
		}
		kid, err := p.value(n, key, depth)
		if err != nil {
			return nil, err
		}
		n.kids = append(n.kids, kid)
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return nil, err
	}
	n.raw = p.body[start:p.dec.InputOffset()]
	return n, nil
}

// syntaxProblem says what is wrong with a text that is no JSON, in words of our
// own: a library's wording may change.
func syntaxProblem(body []byte, err error) *BadRequest {
	var se *jsontext.SyntacticError
	var bound errBound
	switch {
	case errors.As(err, &bound):
		return &BadRequest{What: bound.Error()}
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &se):
		return &BadRequest{Pointer: string(se.JSONPointer), What: "the key appears twice"}
	case errors.As(err, &se) && !errors.Is(err, io.ErrUnexpectedEOF) && se.ByteOffset < int64(len(body)):
		return &BadRequest{What: fmt.Sprintf("not valid JSON at byte %d", se.ByteOffset)}
	}
	return &BadRequest{What: "not valid JSON: it breaks off"}
}

// get returns a member that is there and not null.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for i := len(n.keys) - 1; i >= 0; i-- {
		if n.keys[i] == key && n.kids[i].kind != 'n' {
			return n.kids[i]
		}
	}
	return nil
}

// depth returns the levels of nesting, 0 for what holds nothing.
func (n *node) depth() int {
	if n == nil || n.raw == nil {
		return 0
	}
	deepest := 0
	for _, k := range n.kids {
		deepest = max(deepest, k.depth())
	}
	return deepest + 1
}

// pointer returns the RFC 6901 pointer of n.
func (n *node) pointer() string {
	if n == nil || n.up == nil {
		return ""
	}
	return n.up.pointer() + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(n.at)
}

// text returns a string's value, "" for anything else.
func (n *node) text() string {
	if n == nil || n.kind != '"' {
		return ""
	}
	return n.str
}

// count returns a number as a count that is not negative, 0 for anything else.
func (n *node) count() int64 {
	if n == nil || n.kind != '0' {
		return 0
	}
	v, err := strconv.ParseInt(n.str, 10, 64)
	if err != nil {
		f, _ := strconv.ParseFloat(n.str, 64)
		if !(f >= 0 && f < 1<<62) {
			return 0
		}
		v = int64(f)
	}
	return max(v, 0)
}

// list returns the elements of an array, nil for anything else.
func (n *node) list() []*node {
	if n == nil || n.kind != '[' {
		return nil
	}
	return n.kids
}

// canonical returns n as canonical JSON: keys sorted, no white space, minimal
// escapes, numbers as they were written. That is the form of tool schemas and of
// arguments everywhere else.
func (n *node) canonical() string {
	if n == nil {
		return "null"
	}
	switch n.kind {
	case '"':
		b, _ := jsontext.AppendQuote(nil, n.str)
		return string(b)
	case '0':
		return n.str
	case 't':
		return "true"
	case 'f':
		return "false"
	case 'n':
		return "null"
	}
	out, err := jsontext.AppendFormat(nil, n.raw, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true), jsontext.ReorderRawObjects(true))
	if err != nil { // it was parsed before
		return string(n.raw)
	}
	return string(out)
}

// reader takes values that must have a type. It keeps the first mistake.
type reader struct{ err *BadRequest }

func (r *reader) fail(pointer, what string) {
	if r.err == nil {
		r.err = &BadRequest{Pointer: pointer, What: what}
	}
}

// kindNames are the words for the kinds of JSON values.
var kindNames = map[jsontext.Kind]string{'{': "an object", '[': "an array", '"': "a string", '0': "a number", 't': "a boolean", 'f': "a boolean"}

// is reports whether n is there and of the kind; another kind is a mistake.
func (r *reader) is(n *node, kind jsontext.Kind) bool {
	if n == nil {
		return false
	}
	if n.kind != kind {
		r.fail(n.pointer(), "is "+kindOf(n)+"; want "+kindNames[kind])
		return false
	}
	return true
}

// need returns a member that must be there.
func (r *reader) need(n *node, key string, kind jsontext.Kind) *node {
	m := n.get(key)
	if m == nil {
		r.fail(n.pointer()+"/"+key, "is missing; want "+kindNames[kind])
		return nil
	}
	if !r.is(m, kind) {
		return nil
	}
	return m
}

func (r *reader) text(n *node) string {
	if !r.is(n, '"') {
		return ""
	}
	return n.str
}

func (r *reader) list(n *node) []*node {
	if !r.is(n, '[') {
		return nil
	}
	return n.kids
}

func (r *reader) objects(n *node) []*node {
	var out []*node
	for _, e := range r.list(n) {
		if e.kind != '{' {
			r.fail(e.pointer(), "is "+kindOf(e)+"; want an object")
			return nil
		}
		out = append(out, e)
	}
	return out
}

func kindOf(n *node) string {
	if n.kind == 'n' {
		return "null"
	}
	return kindNames[n.kind]
}

func (r *reader) bool(n *node) bool {
	if n == nil {
		return false
	}
	if n.kind != 't' && n.kind != 'f' {
		r.fail(n.pointer(), "is "+kindOf(n)+"; want a boolean")
	}
	return n.kind == 't'
}

// int returns a whole number; given is false where there is none.
func (r *reader) int(n *node) (v int64, given bool) {
	if !r.is(n, '0') {
		return 0, false
	}
	v, err := strconv.ParseInt(n.str, 10, 64)
	if err != nil {
		r.fail(n.pointer(), "is no whole number of 64 bits")
	}
	return v, err == nil
}

func (r *reader) float(n *node) *float64 {
	if !r.is(n, '0') {
		return nil
	}
	v, err := strconv.ParseFloat(n.str, 64)
	if err != nil {
		r.fail(n.pointer(), "is too large")
		return nil
	}
	return &v
}
