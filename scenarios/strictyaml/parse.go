package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds of a document. They are far above what anybody writes by hand and far
// below what hurts.
const (
	MaxBytes  = 1 << 20
	MaxDepth  = 64
	maxTokens = 200_000
	maxColumn = 4096 // of the first token of a line
)

// Parse reads one document of at most [MaxBytes]. file is the name for error
// messages; no file is opened. An empty document gives a Null node.
func Parse(file string, data []byte) (*Node, error) { return ParseMax(file, data, MaxBytes) }

// ParseMax is [Parse] for documents that a program wrote, which can be larger;
// the bound on tokens grows with maxBytes.
func ParseMax(file string, data []byte, maxBytes int) (n *Node, err error) {
	whole := Pos{File: file}
	if len(data) > maxBytes {
		return nil, whole.Errorf("split it, or generate large contents", "the file has %d bytes, the limit is %d", len(data), maxBytes)
	}
	if err := checkBytes(file, data); err != nil {
		return nil, err
	}
	defer func() {
		// The parser is a library: should it give up in a panic on some hostile
		// text, that is an input error and not ours.
		if r := recover(); r != nil {
			n, err = nil, whole.Errorf("check its syntax", "the YAML cannot be read (%v)", r)
		}
	}()
	tokens := lexer.Tokenize(string(data))
	if err := checkTokens(file, tokens, maxTokens*max(1, maxBytes/MaxBytes)); err != nil {
		return nil, err
	}
	f, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, syntaxError(file, err)
	}
	docs := f.Docs
	if len(docs) > 1 {
		return nil, whole.Errorf("keep one document a file", "the file has %d YAML documents", len(docs))
	}
	if len(docs) == 0 || docs[0].Body == nil {
		return &Node{Pos: Pos{File: file, Line: 1, Column: 1}}, nil
	}
	c := converter{file: file}
	return c.node(docs[0].Body, 0)
}

func checkBytes(file string, data []byte) error {
	at := func(i int) Pos {
		line := bytes.Count(data[:i], []byte{'\n'})
		col := i - (bytes.LastIndexByte(data[:i], '\n') + 1)
		return Pos{File: file, Line: line + 1, Column: col + 1}
	}
	for i := 0; i < len(data); {
		c := data[i]
		if c < utf8.RuneSelf {
			if c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f {
				return at(i).Errorf("write it as an escape in double quotes", "control character 0x%02x", c)
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return at(i).Errorf("save the file as UTF-8", "byte 0x%02x is not valid UTF-8", c)
		}
		i += n
	}
	return nil
}

// checkTokens refuses what the parser must not see: nesting that would exhaust
// its recursion, and features that make a file mean more than it says.
func checkTokens(file string, tokens token.Tokens, most int) error {
	if len(tokens) > most {
		return Pos{File: file}.Errorf("split it, or generate large contents", "the file has %d YAML tokens, the limit is %d", len(tokens), most)
	}
	flow, line, nest := 0, -1, 0
	for _, t := range tokens {
		pos := tokenPos(file, t)
		if pos.Line != line {
			line, nest = pos.Line, 0
			if pos.Column > maxColumn {
				return pos.Errorf("indent less", "the line starts at column %d, the limit is %d", pos.Column, maxColumn)
			}
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType:
			nest++
		case token.AnchorType, token.AliasType:
			return pos.Errorf("write the value out", "anchors and aliases are not allowed")
		case token.MergeKeyType:
			return pos.Errorf("write the keys out", "merge keys are not allowed")
		case token.TagType:
			return pos.Errorf("leave it out, or quote the text", "tags are not allowed")
		case token.DirectiveType:
			return pos.Errorf("remove it", "directives are not allowed")
		}
		if max(flow, nest) > MaxDepth {
			return pos.Errorf("flatten it", "nested deeper than %d", MaxDepth)
		}
	}
	return nil
}

func tokenPos(file string, t *token.Token) Pos {
	if t == nil || t.Position == nil {
		return Pos{File: file}
	}
	return Pos{File: file, Line: t.Position.Line, Column: t.Position.Column}
}

func syntaxError(file string, err error) error {
	var ye yaml.Error
	if !errors.As(err, &ye) {
		return Pos{File: file}.Errorf("check its syntax", "%s", firstLine(err.Error()))
	}
	fix := "check quotes, colons and indentation there"
	if strings.Contains(ye.GetMessage(), "already defined") {
		fix = "remove one of the two"
	}
	return tokenPos(file, ye.GetToken()).Errorf(fix, "%s", firstLine(ye.GetMessage()))
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

type converter struct{ file string }

func (c *converter) node(n ast.Node, depth int) (*Node, error) {
	pos := tokenPos(c.file, n.GetToken())
	if depth > MaxDepth {
		return nil, pos.Errorf("flatten it", "nested deeper than %d", MaxDepth)
	}
	scalar := func(k Kind, v string) (*Node, error) { return &Node{Pos: pos, Kind: k, Value: v, AST: n}, nil }
	switch n := n.(type) {
	case *ast.NullNode:
		return scalar(Null, "null")
	case *ast.BoolNode:
		return scalar(Bool, fmt.Sprint(n.Value))
	case *ast.IntegerNode:
		return scalar(Int, n.Token.Value)
	case *ast.FloatNode:
		return scalar(Float, n.Token.Value)
	case *ast.StringNode:
		return scalar(String, n.Value)
	case *ast.LiteralNode:
		return scalar(String, n.Value.Value)
	case *ast.InfinityNode, *ast.NanNode:
		return nil, pos.Errorf("use a finite number", "infinities and NaN are not allowed")
	case *ast.SequenceNode:
		out := &Node{Pos: tokenPos(c.file, n.Start), Kind: List, AST: n}
		for _, v := range n.Values {
			it, err := c.node(v, depth+1)
			if err != nil {
				return nil, err
			}
			out.Items = append(out.Items, it)
		}
		return out, nil
	case *ast.MappingNode:
		return c.mapping(n, n.Values, n.Start, depth)
	case *ast.MappingValueNode:
		return c.mapping(n, []*ast.MappingValueNode{n}, nil, depth)
	}
	return nil, pos.Errorf("write it more plainly", "%s is not allowed here", strings.ToLower(n.Type().String()))
}

func (c *converter) mapping(n ast.Node, values []*ast.MappingValueNode, start *token.Token, depth int) (*Node, error) {
	out := &Node{Kind: Map, Pos: tokenPos(c.file, start), AST: n}
	if m, ok := n.(*ast.MappingNode); len(values) > 0 && !(ok && m.IsFlowStyle) {
		out.Pos = tokenPos(c.file, values[0].Key.GetToken())
	}
	seen := make(map[string]bool, len(values))
	for _, v := range values {
		pos := tokenPos(c.file, v.Key.GetToken())
		k, err := c.node(v.Key, depth+1)
		if err != nil {
			return nil, err
		}
		if k.Kind == List || k.Kind == Map || k.Kind == Null {
			return nil, pos.Errorf("use a plain word", "a key must be a scalar")
		}
		if seen[k.Value] {
			return nil, pos.Errorf("remove one of the two", "duplicate key %q", k.Value)
		}
		seen[k.Value] = true
		it, err := c.node(v.Value, depth+1)
		if err != nil {
			return nil, err
		}
		out.Keys, out.Items = append(out.Keys, k), append(out.Items, it)
	}
	return out, nil
}
