package canon

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/loop/model"
)

// Bounds of a body. A larger or deeper one is refused before it costs memory.
const (
	MaxBody  = 64 << 20 // bytes, as a session line
	MaxDepth = 512      // of nested lists and objects, as in a session line
)

// node is a decoded JSON value. Numbers keep their lexemes.
type node struct {
	kind jsontext.Kind // { [ " 0 t f n
	text string        // decoded string, or the lexeme of a number or literal
	obj  []member      // sorted by name
	arr  []node
}

type member struct {
	name string
	node
}

// decode reads one JSON value. Duplicate names are refused; bytes that are no
// UTF-8, and halves of surrogate pairs as JavaScript clients send them when they
// cut a text, become U+FFFD as everywhere in canon/1.
func decode(body []byte) (node, error) {
	if len(body) > MaxBody {
		return node{}, refuse("", "the body has %d bytes, more than %d", len(body), MaxBody)
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowInvalidUTF8(true))
	var n node
	if err := readValue(dec, &n); err != nil {
		return node{}, syntax(dec, err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return node{}, refuse("", "more follows the JSON value at byte %d", dec.InputOffset())
	}
	return n, nil
}

var errDepth = fmt.Errorf("lists and objects are nested deeper than %d", MaxDepth)

func readValue(dec *jsontext.Decoder, n *node) error {
	tok, err := dec.ReadToken()
	if err != nil {
		return err
	}
	n.kind = tok.Kind()
	switch n.kind {
	case '{':
		return readObject(dec, n)
	case '[':
		if dec.StackDepth() > MaxDepth {
			return errDepth
		}
		for dec.PeekKind() != ']' {
			n.arr = append(n.arr, node{})
			if err := readValue(dec, &n.arr[len(n.arr)-1]); err != nil {
				return err
			}
		}
		_, err = dec.ReadToken()
		return err
	default:
		n.text = tok.String()
		return nil
	}
}

func readObject(dec *jsontext.Decoder, n *node) error {
	if dec.StackDepth() > MaxDepth {
		return errDepth
	}
	for dec.PeekKind() != '}' {
		tok, err := dec.ReadToken()
		if err != nil {
			return err
		}
		n.obj = append(n.obj, member{name: tok.String()})
		if err := readValue(dec, &n.obj[len(n.obj)-1].node); err != nil {
			return err
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	n.sort()
	return nil
}

func (n *node) sort() {
	byName := func(a, b member) int { return compareNames(a.name, b.name) }
	if !slices.IsSortedFunc(n.obj, byName) {
		slices.SortFunc(n.obj, byName)
	}
}

// compareNames orders names by their UTF-16 code units, as RFC 8785 does. That
// is the order of bytes, but for characters beyond U+FFFF: these stand before
// U+E000..U+FFFF.
func compareNames(a, b string) int {
	for i := range min(len(a), len(b)) {
		if x, y := a[i], b[i]; x != y {
			if x >= 0xEE && y >= 0xEE && (x >= 0xF0) != (y >= 0xF0) {
				x, y = y, x
			}
			return int(x) - int(y)
		}
	}
	return len(a) - len(b)
}

func syntax(dec *jsontext.Decoder, err error) error {
	if errors.Is(err, errDepth) {
		return refuse(string(dec.StackPointer()), "%s, at byte %d", errDepth, dec.InputOffset())
	}
	at, ptr, what := dec.InputOffset(), dec.StackPointer(), err
	var se *jsontext.SyntacticError
	if errors.As(err, &se) {
		at, ptr, what = se.ByteOffset, se.JSONPointer, se.Err
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return refuse(string(ptr), "the name stands twice in its object, at byte %d", at)
	}
	return refuse(string(ptr), "no JSON at byte %d: %v", at, what)
}

// append renders canonical JSON: sorted names, no white space, minimal escapes,
// number lexemes kept.
func (n *node) append(b []byte) []byte {
	switch n.kind {
	case '{':
		b = append(b, '{')
		for i := range n.obj {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(model.AppendString(b, n.obj[i].name), ':')
			b = n.obj[i].node.append(b)
		}
		return append(b, '}')
	case '[':
		b = append(b, '[')
		for i := range n.arr {
			if i > 0 {
				b = append(b, ',')
			}
			b = n.arr[i].append(b)
		}
		return append(b, ']')
	case '"':
		return model.AppendString(b, n.text)
	default:
		return append(b, n.text...)
	}
}

// get returns a member's value, or nil. n may be nil.
func (n *node) get(name string) *node {
	if n == nil {
		return nil
	}
	for i := range n.obj {
		if n.obj[i].name == name {
			return &n.obj[i].node
		}
	}
	return nil
}

// str returns the text of a string member, or "".
func (n *node) str(name string) string {
	if v := n.get(name); v != nil && v.kind == '"' {
		return v.text
	}
	return ""
}

// list returns the elements of a member that is a list.
func (n *node) list(name string) []node {
	if v := n.get(name); v != nil {
		return v.arr
	}
	return nil
}

func text(s string) node { return node{kind: '"', text: s} }

// textBlock makes the block that a bare string stands for.
func textBlock(kind, s string) node {
	return node{kind: '{', obj: []member{{"text", text(s)}, {"type", text(kind)}}}
}

// escape makes a name a token of an RFC 6901 pointer.
func escape(name string) string { return pointerEscapes.Replace(name) }

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")
