// Package rawjson looks into canonical JSON objects without decoding them.
//
//  1. A call's arguments are canonical JSON long before a tool reads them, so
//     members can be found by scanning for quotes and brackets.
//  2. [Each] visits the members of an object, [Get] finds one, [Replace] and [Set]
//     change one, [Text] decodes a string and [Decode] everything.
//
// On text that is no canonical JSON object the answers are meaningless, but
// nothing panics or reads out of bounds.
package rawjson

import (
	"github.com/go-json-experiment/json/jsontext"
)

// Each calls fn with every member of the object, in order: the name as it stands
// between its quotes (escapes included) and the raw value, until fn says false.
func Each(object string, fn func(name, value string) bool) {
	each(object, func(name string, from, to int) bool { return fn(name, object[from:to]) })
}

func each(object string, fn func(name string, from, to int) bool) {
	for i := 1; i < len(object) && object[i] == '"'; {
		end := String(object, i)
		name := object[i+1 : max(end-1, i+1)]
		if end >= len(object) || object[end] != ':' {
			return
		}
		i = end + 1
		end = Value(object, i)
		if !fn(name, i, end) {
			return
		}
		i = end + 1 // the comma
	}
}

// String returns the index after the string that begins at i.
func String(s string, i int) int {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// Value returns the index after the value that begins at i.
func Value(s string, i int) int {
	depth := 0
	for i < len(s) {
		switch s[i] {
		case '"':
			i = String(s, i)
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // the end of what holds a number or literal
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return len(s)
}

// Get returns the raw value of a member; name has no characters that JSON
// escapes.
func Get(object, name string) (value string, ok bool) {
	Each(object, func(n, v string) bool {
		if n == name {
			value, ok = v, true
		}
		return !ok
	})
	return value, ok
}

// Replace returns the object with the raw value of one member changed.
func Replace(object, name, value string) string {
	out := object
	each(object, func(n string, from, to int) bool {
		if n == name {
			out = object[:from] + value + object[to:]
		}
		return n != name
	})
	return out
}

// Text decodes a JSON string; anything else is returned as it stands.
func Text(value string) string {
	if len(value) < 2 || value[0] != '"' {
		return value
	}
	body := value[1 : len(value)-1]
	for i := 0; i < len(body); i++ {
		if body[i] == '\\' {
			out, _ := jsontext.AppendUnquote(nil, value) // canonical: it cannot fail
			return string(out)
		}
	}
	return body
}

// Set is Replace, and puts a member that is missing in its place in the order of
// names. Names are ASCII without escapes.
func Set(object, name, value string) string {
	at, there := len(object)-1, false
	each(object, func(n string, from, _ int) bool {
		if n >= name {
			at, there = from-len(n)-3, n == name
			return false
		}
		return true
	})
	switch {
	case there:
		return Replace(object, name, value)
	case len(object) < 2:
		return object
	}
	m := `"` + name + `":` + value
	if at == len(object)-1 { // at the end
		if object[at-1] != '{' {
			m = "," + m
		}
	} else {
		m += ","
	}
	return object[:at] + m + object[at:]
}
