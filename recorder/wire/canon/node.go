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
	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
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
	if len(body) > dialect.MaxBody {
		return node{}, refuse("", "%d bytes are too many; at most %d", len(body), dialect.MaxBody)
	}
	r := reader{jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowInvalidUTF8(true)), dialect.MaxValues}
	var n node
	if err := r.value(&n); err != nil {
		return node{}, r.explain(err)
	}
	if _, err := r.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return node{}, refuse("", "more than one JSON value: see byte %d", r.dec.InputOffset())
	}
	return n, nil
}

// reader reads values within the bounds of package dialect.
type reader struct {
	dec  *jsontext.Decoder
	left int // values
}

var (
	errDepth  = fmt.Errorf("nested deeper than %d levels", dialect.MaxDepth)
	errValues = fmt.Errorf("more than %d values", dialect.MaxValues)
)

func (r *reader) value(n *node) error {
	tok, err := r.dec.ReadToken()
	if err != nil {
		return err
	}
	if r.left--; r.left < 0 {
		return errValues
	}
	switch n.kind = tok.Kind(); n.kind {
	case '{', '[':
		if r.dec.StackDepth() > dialect.MaxDepth {
			return errDepth
		}
		return r.inner(n)
	default:
		n.text = tok.String()
		return nil
	}
}

// inner reads an object or list to its end.
func (r *reader) inner(n *node) error {
	for {
		switch k := r.dec.PeekKind(); {
		case k == '}' || k == ']':
			_, err := r.dec.ReadToken()
			n.sort()
			return err
		case n.kind == '[':
			n.arr = append(n.arr, node{})
			if err := r.value(&n.arr[len(n.arr)-1]); err != nil {
				return err
			}
		default:
			tok, err := r.dec.ReadToken()
			if err != nil {
				return err
			}
			n.obj = append(n.obj, member{name: tok.String()})
			if err := r.value(&n.obj[len(n.obj)-1].node); err != nil {
				return err
			}
		}
	}
}

// explain says what is wrong with a text that is no JSON, and where.
func (r *reader) explain(err error) error {
	var se *jsontext.SyntacticError
	switch {
	case errors.Is(err, errDepth), errors.Is(err, errValues):
		return refuse("", "%v, at byte %d", err, r.dec.InputOffset())
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &se):
		return refuse(string(se.JSONPointer), "the key appears twice, at byte %d", se.ByteOffset)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return refuse("", "not valid JSON: it breaks off")
	case errors.As(err, &se):
		return refuse(string(se.JSONPointer), "not valid JSON at byte %d", se.ByteOffset)
	}
	return refuse("", "not valid JSON: %v", err)
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

// size guesses the length of the canonical JSON, rather above than below.
func (n *node) size() int {
	size := len(n.text) + len(n.text)/32 + 2
	for i := range n.arr {
		size += n.arr[i].size() + 1
	}
	for i := range n.obj {
		size += n.obj[i].size() + len(n.obj[i].name) + 4
	}
	return size
}

// clone returns a copy that shares nothing with n.
func (n node) clone() node {
	n.arr, n.obj = slices.Clone(n.arr), slices.Clone(n.obj)
	for i := range n.arr {
		n.arr[i] = n.arr[i].clone()
	}
	for i := range n.obj {
		n.obj[i].node = n.obj[i].node.clone()
	}
	return n
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
