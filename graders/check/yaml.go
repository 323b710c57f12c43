package check

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// UnmarshalYAML decodes a grader from a node of a YAML file. Errors are
// *yaml.SyntaxError values, so a loader can say file, line and column.
func (s *Spec) UnmarshalYAML(n ast.Node) error {
	v, err := fromYAML(n, 0)
	if err != nil {
		return err
	}
	d := decoder{graders: true}
	return yamlError(d.spec(v, s, 0), n)
}

// UnmarshalYAML decodes a scenario's list of acceptance checks.
func (a *Acceptance) UnmarshalYAML(n ast.Node) error {
	return unmarshalYAMLList(n, (*[]Spec)(a), decoder{})
}

// UnmarshalYAML decodes a scenario's list of graders.
func (g *Graders) UnmarshalYAML(n ast.Node) error {
	return unmarshalYAMLList(n, (*[]Spec)(g), decoder{graders: true})
}

func unmarshalYAMLList(n ast.Node, into *[]Spec, d decoder) error {
	v, err := fromYAML(n, 0)
	if err != nil {
		return err
	}
	return yamlError(d.list(v, into), n)
}

// yamlError gives a decoder's error the form of the YAML library's own, at the
// place it names or else at the start of n.
func yamlError(err error, n ast.Node) error {
	if err == nil {
		return nil
	}
	at := yamlPos(n)
	msg := err.Error()
	if e, ok := err.(*Error); ok {
		msg = e.Msg
		if e.Pos != (Pos{}) {
			at = e.Pos
		}
	}
	return syntaxError(msg, n.GetToken(), at)
}

// syntaxError returns the library's error with the token that stands at a
// place; a token of its own when none does.
func syntaxError(msg string, near *token.Token, at Pos) error {
	for t := near; t != nil; t = t.Prev {
		if t.Position.Line == at.Line && t.Position.Column == at.Column {
			return &yaml.SyntaxError{Message: msg, Token: t}
		}
	}
	for t := near; t != nil; t = t.Next {
		if t.Position.Line == at.Line && t.Position.Column == at.Column {
			return &yaml.SyntaxError{Message: msg, Token: t}
		}
	}
	return &yaml.SyntaxError{Message: msg, Token: &token.Token{Position: &token.Position{Line: at.Line, Column: at.Column}}}
}

// yamlPos returns where a node starts: the first key of a block mapping, and
// not the colon after it.
func yamlPos(n ast.Node) Pos {
	switch m := n.(type) {
	case *ast.MappingValueNode:
		return yamlPos(m.Key)
	case *ast.MappingNode:
		if !m.IsFlowStyle && len(m.Values) > 0 {
			return yamlPos(m.Values[0].Key)
		}
	}
	t := n.GetToken()
	if t == nil || t.Position == nil {
		return Pos{}
	}
	return Pos{Line: t.Position.Line, Column: t.Position.Column}
}

// fromYAML turns a node into a value. Aliases, merge keys and tags are refused:
// a check says what it means where it stands.
func fromYAML(n ast.Node, depth int) (*value, error) {
	if n == nil {
		return &value{}, nil
	}
	fail := func(format string, args ...any) (*value, error) {
		return nil, syntaxError(fmt.Sprintf(format, args...), n.GetToken(), yamlPos(n))
	}
	if depth > MaxDepth {
		return fail("nesting deeper than %d", MaxDepth)
	}
	v := &value{pos: yamlPos(n)}
	switch n := n.(type) {
	case *ast.NullNode:
		v.kind = nullValue
	case *ast.BoolNode:
		v.kind, v.text, v.source = boolValue, fmt.Sprint(n.Value), n.Token.Value
	case *ast.IntegerNode:
		v.kind, v.text, v.source = numberValue, integerLexeme(n), n.Token.Value
	case *ast.FloatNode:
		v.kind, v.text, v.source = numberValue, floatLexeme(n), n.Token.Value
		if v.text == "" {
			return fail("%q is no number that JSON can write; write it in digits", n.Token.Value)
		}
	case *ast.StringNode:
		v.kind, v.text, v.source = stringValue, n.Value, n.Value
	case *ast.LiteralNode:
		v.kind, v.text, v.source = stringValue, n.Value.Value, n.Value.Value
	case *ast.SequenceNode:
		v.kind = listValue
		for _, e := range n.Values {
			ev, err := fromYAML(e, depth+1)
			if err != nil {
				return nil, err
			}
			v.list = append(v.list, ev)
		}
	case *ast.MappingNode:
		return v, v.addYAML(n.Values, depth)
	case *ast.MappingValueNode:
		return v, v.addYAML([]*ast.MappingValueNode{n}, depth)
	case *ast.InfinityNode, *ast.NanNode:
		return fail("infinities and NaN have no JSON form; write a number")
	case *ast.AliasNode, *ast.AnchorNode:
		return fail("anchors and aliases are not supported in checks; write the value out")
	case *ast.TagNode:
		return fail("tags are not supported in checks; quote the value if it is a text")
	default:
		return fail("a %s is not supported in checks", strings.ToLower(n.Type().String()))
	}
	return v, nil
}

// addYAML adds the members of a mapping.
func (v *value) addYAML(values []*ast.MappingValueNode, depth int) error {
	v.kind = mapValue
	seen := make(map[string]bool, len(values))
	for _, mv := range values {
		at := yamlPos(mv.Key)
		key, ok := yamlKey(mv.Key)
		if !ok {
			return syntaxError("merge keys and keys that are no plain text are not supported in checks", mv.Key.GetToken(), at)
		}
		if seen[key] {
			return syntaxError(fmt.Sprintf("duplicate key %q", key), mv.Key.GetToken(), at)
		}
		seen[key] = true
		e, err := fromYAML(mv.Value, depth+1)
		if err != nil {
			return err
		}
		v.members = append(v.members, member{key: key, pos: at, val: e})
	}
	return nil
}

// yamlKey returns the text of a mapping's key.
func yamlKey(k ast.MapKeyNode) (string, bool) {
	switch k := k.(type) {
	case *ast.StringNode:
		return k.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		return k.GetToken().Value, true
	default:
		return "", false
	}
}

// integerLexeme returns an integer as JSON writes it: as written where that is
// JSON already, in decimal otherwise (hexadecimal, octal, underscores, a plus).
func integerLexeme(n *ast.IntegerNode) string {
	if isJSONNumber(n.Token.Value) {
		return n.Token.Value
	}
	return fmt.Sprint(n.Value)
}

// floatLexeme is integerLexeme for floats; empty when there is no JSON form.
func floatLexeme(n *ast.FloatNode) string {
	s := strings.TrimPrefix(strings.ReplaceAll(n.Token.Value, "_", ""), "+")
	if isJSONNumber(s) {
		return s
	}
	// YAML allows .5 and 5. as well
	s = strings.Replace(s, "-.", "-0.", 1)
	if strings.HasPrefix(s, ".") {
		s = "0" + s
	}
	if i := strings.IndexByte(s, '.'); i >= 0 && (i+1 == len(s) || s[i+1] < '0' || s[i+1] > '9') {
		s = s[:i] + s[i+1:]
	}
	if isJSONNumber(s) {
		return s
	}
	if i, ok := new(big.Int).SetString(s, 10); ok {
		return i.String()
	}
	return ""
}
