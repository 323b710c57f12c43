// Package patch changes values within the JSON of a line and leaves all other bytes
// as they stand.
package patch

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/loop/model"
)

// Quote writes a JSON string with minimal escapes.
func Quote(s string) []byte { return model.AppendString(nil, s) }

// Members calls fn with every member of an object, values as they stand.
func Members(v jsontext.Value, fn func(key string, v jsontext.Value) error) error {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err == nil {
			err = fn(key, value.Clone())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Elements calls fn with every element of an array, values as they stand.
func Elements(v jsontext.Value, fn func(v jsontext.Value) error) error {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != ']' {
		value, err := dec.ReadValue()
		if err == nil {
			err = fn(value.Clone())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Join writes an array of values.
func Join(list []jsontext.Value) []byte {
	out := []byte{'['}
	for i, v := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, ']')
}

// Reverse reverses the members of an object, or of each object in a list;
// what these hold keeps its order.
func Reverse(v jsontext.Value) jsontext.Value {
	switch v.Kind() {
	case '[':
		var list []jsontext.Value
		if Elements(v, func(e jsontext.Value) error { list = append(list, Reverse(e)); return nil }) != nil {
			return v
		}
		return Join(list)
	case '{':
		var all [][]byte
		if Members(v, func(key string, v jsontext.Value) error {
			all = append(all, append(append(Quote(key), ':'), v...))
			return nil
		}) != nil {
			return v
		}
		slices.Reverse(all)
		return slices.Concat([]byte{'{'}, bytes.Join(all, []byte{','}), []byte{'}'})
	}
	return v
}

// EscapeToken writes a name as a token of an RFC 6901 pointer.
var EscapeToken = strings.NewReplacer("~", "~0", "/", "~1")

// Replace returns a payload (`,"key":value` once or more) with the values at
// pointers replaced; a nil value takes the member away. Pointers that lead
// nowhere are passed over. What it replaces is not looked into.
func Replace(payload []byte, values map[string]jsontext.Value) ([]byte, error) {
	if len(payload) == 0 || len(values) == 0 {
		return payload, nil
	}
	ways := map[string]bool{}
	for p := range values {
		for i := range p {
			if p[i] == '/' && i > 0 {
				ways[p[:i]] = true
			}
		}
	}
	object := append(append([]byte{'{'}, payload[1:]...), '}')
	out, err := replace("", object, values, ways)
	if err != nil || len(out) == len("{}") {
		return nil, err
	}
	return append([]byte{','}, out[1:len(out)-1]...), nil
}

// replace rewrites what lies below at; ways are the pointers on the way to those
// to replace.
func replace(at string, v jsontext.Value, values map[string]jsontext.Value, ways map[string]bool) (jsontext.Value, error) {
	inner := func(p string, v jsontext.Value) (jsontext.Value, error) {
		if nv, ok := values[p]; ok {
			return nv, nil
		}
		if ways[p] {
			return replace(p, v, values, ways)
		}
		return v, nil
	}
	switch v.Kind() {
	case '{':
		out := []byte{'{'}
		err := Members(v, func(key string, v jsontext.Value) error {
			v, err := inner(at+"/"+EscapeToken.Replace(key), v)
			if err != nil || v == nil {
				return err
			}
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(append(append(out, Quote(key)...), ':'), v...)
			return nil
		})
		return append(out, '}'), err
	case '[':
		var list []jsontext.Value
		i := 0
		err := Elements(v, func(e jsontext.Value) error {
			e, err := inner(at+"/"+strconv.Itoa(i), e)
			if i++; e != nil {
				list = append(list, e)
			}
			return err
		})
		return Join(list), err
	}
	return v, nil
}
