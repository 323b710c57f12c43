package tool

import (
	"bytes"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxShort bounds how much of a schema a model is shown.
const maxShort = 600

// short shows the part of a schema at a pointer (RFC 6901, perhaps escaped as a
// URL's fragment), without what only explains it; the whole schema where nothing
// is there. It is cut to maxShort bytes.
func short(schema, pointer string) string {
	if p, err := url.PathUnescape(pointer); err == nil {
		pointer = p
	}
	part := at(schema, jsontext.Pointer(pointer))
	if part == nil {
		part = jsontext.Value(schema)
	}
	dec := jsontext.NewDecoder(bytes.NewReader(part))
	out, ok := appendShort(nil, dec, aSchema)
	if !ok {
		return ""
	}
	return cut(string(out), maxShort)
}

// at is the value at a pointer; nil when there is none.
func at(text string, p jsontext.Pointer) jsontext.Value {
	dec := jsontext.NewDecoder(strings.NewReader(text))
	if p == "" {
		v, _ := dec.ReadValue()
		return v
	}
	for {
		tok, err := dec.ReadToken()
		if err != nil {
			return nil
		}
		switch {
		case dec.StackPointer() != p:
			continue
		case tok.Kind() == '"' && isName(dec): // the name of the member
			v, _ := dec.ReadValue()
			return v
		case tok.Kind() == '{' || tok.Kind() == '[': // of an array's element the bracket was read
			v := jsontext.Value(text[dec.InputOffset()-1:])
			inner, _ := jsontext.NewDecoder(bytes.NewReader(v)).ReadValue()
			return inner
		}
		return nil // no schema
	}
}

// isName reports whether the token that was read last is the name of a member.
func isName(dec *jsontext.Decoder) bool {
	kind, n := dec.StackIndex(dec.StackDepth())
	return kind == '{' && n%2 == 1
}

// asides are the keywords of a schema that only explain it.
var asides = map[string]bool{"$comment": true, "$schema": true, "$id": true, "default": true,
	"description": true, "examples": true, "title": true}

// What a value of a schema is.
const (
	aSchema = iota
	ofNames // its members are schemas, named by the author
	aValue  // of enum or const: shown as it is
)

// appendShort appends the next value. In a schema the asides are left out.
func appendShort(b []byte, dec *jsontext.Decoder, what int) ([]byte, bool) {
	if k := dec.PeekKind(); k != '{' && k != '[' {
		v, err := dec.ReadValue()
		return append(b, v...), err == nil
	}
	open, err := dec.ReadToken()
	if err != nil {
		return b, false
	}
	object := open.Kind() == '{'
	b = append(b, byte(open.Kind()))
	first := len(b)
	for k := dec.PeekKind(); k != '}' && k != ']'; k = dec.PeekKind() {
		inner := what
		if object {
			name, err := dec.ReadToken()
			if err != nil {
				return b, false
			}
			if what == aSchema && asides[name.String()] {
				if dec.SkipValue() != nil {
					return b, false
				}
				continue
			}
			if len(b) > first {
				b = append(b, ',')
			}
			b, _ = jsontext.AppendQuote(b, name.String())
			b = append(b, ':')
			inner = within(what, name.String())
		} else if len(b) > first {
			b = append(b, ',')
		}
		var ok bool
		if b, ok = appendShort(b, dec, inner); !ok {
			return b, false
		}
	}
	_, err = dec.ReadToken()
	return append(b, byte(open.Kind())+2), err == nil
}

// within says what the member of that name is.
func within(what int, name string) int {
	switch {
	case what == ofNames:
		return aSchema
	case what == aValue:
		return aValue
	}
	switch name {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		return ofNames
	case "enum", "const":
		return aValue
	}
	return aSchema
}
