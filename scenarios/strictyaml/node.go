package strictyaml

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/goccy/go-yaml/ast"
)

// Pos is a place in a file. Line and Column count from 1; 0 = the whole file. A
// struct field of this type is filled by Decode with the place of its mapping.
type Pos struct {
	File   string
	Line   int
	Column int
}

// String returns file:line:column, or the file alone.
func (p Pos) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Errorf returns an *Error at p. what says what is wrong and is formatted with
// args; fix says what to do and is taken as it is.
func (p Pos) Errorf(fix, what string, args ...any) error {
	return &Error{Pos: p, What: fmt.Sprintf(what, args...), Fix: fix}
}

// Error is what is wrong with an input file, where, and what to do about it.
type Error struct {
	Pos
	What string
	Fix  string
}

// Error returns "file:line:column: what; fix".
func (e *Error) Error() string {
	s := e.Pos.String() + ": " + e.What
	if e.Fix != "" {
		s += "; " + e.Fix
	}
	return s
}

// Kind is the kind of a node.
type Kind uint8

// The kinds of nodes.
const (
	Null Kind = iota
	Bool
	Int
	Float
	String
	List
	Map
)

// String names the kind as an error message does.
func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a number", "a string", "a list", "a mapping"}[k]
}

// Node is one value of a YAML document.
type Node struct {
	Pos
	Kind  Kind
	Value string // of a scalar: a number's lexeme, a string's text, "true" or "false"
	Keys  []*Node
	Items []*Node // of a list; of a mapping: the values, beside Keys
	// AST is the YAML library's own node, for types that decode themselves from
	// it (see [Node.External]).
	AST ast.Node
}

// External lets a type that knows only the YAML library's nodes decode itself;
// its errors get the file's name.
func (n *Node) External(into interface{ UnmarshalYAML(ast.Node) error }) error {
	if n.AST == nil {
		return n.want("filled in")
	}
	err := into.UnmarshalYAML(n.AST)
	if err == nil {
		return nil
	}
	var own *Error
	if errors.As(err, &own) {
		return err
	}
	var e *Error
	if err = syntaxError(n.File, err); errors.As(err, &e) {
		e.Fix = "correct this entry"
	}
	return err
}

// Get returns the value of a key of a mapping, nil when there is none.
func (n *Node) Get(key string) *Node {
	if n == nil || n.Kind != Map {
		return nil
	}
	for i, k := range n.Keys {
		if k.Value == key {
			return n.Items[i]
		}
	}
	return nil
}

// AppendJSON appends the canonical JSON of n: keys sorted, no white space,
// number lexemes as written. A number that JSON does not know (0x1F, 1_000, +1)
// is an error.
func (n *Node) AppendJSON(b []byte) ([]byte, error) {
	switch n.Kind {
	case Null:
		return append(b, "null"...), nil
	case Bool:
		return append(b, n.Value...), nil
	case Int, Float:
		if !jsonNumber(n.Value) {
			return nil, n.Errorf("write it as JSON does, or quote it if it is a text", "%s is no JSON number", n.Value)
		}
		return append(b, n.Value...), nil
	case String:
		out, err := jsontext.AppendQuote(b, n.Value)
		if err != nil {
			return nil, n.Errorf("save the file as UTF-8", "the text is not valid UTF-8")
		}
		return out, nil
	case List:
		return n.appendList(b)
	default:
		return n.appendMap(b)
	}
}

func (n *Node) appendList(b []byte) ([]byte, error) {
	b = append(b, '[')
	for i, it := range n.Items {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = it.AppendJSON(b); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func (n *Node) appendMap(b []byte) ([]byte, error) {
	order := make([]int, len(n.Keys))
	for i := range order {
		order[i] = i
	}
	sort.Slice(order, func(i, j int) bool { return n.Keys[order[i]].Value < n.Keys[order[j]].Value })
	b = append(b, '{')
	for i, k := range order {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = jsontext.AppendQuote(b, n.Keys[k].Value); err != nil {
			return nil, n.Keys[k].Errorf("save the file as UTF-8", "the key is not valid UTF-8")
		}
		b = append(b, ':')
		if b, err = n.Items[k].AppendJSON(b); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// jsonNumber reports whether s is a number in JSON's grammar.
func jsonNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	digits := func() int {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		return n
	}
	n := digits()
	if n == 0 || n > 1 && s[0] == '0' {
		return false
	}
	if s = s[n:]; strings.HasPrefix(s, ".") {
		s = s[1:]
		if n = digits(); n == 0 {
			return false
		}
		s = s[n:]
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		s = s[1:]
		if s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		if n = digits(); n == 0 {
			return false
		}
		s = s[n:]
	}
	return s == ""
}
