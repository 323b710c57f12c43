package mutate

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/loop/model"
)

func quote(s string) []byte { return model.AppendString(nil, s) }

// members calls fn with every member of an object, values as they stand.
func members(v jsontext.Value, fn func(key string, v jsontext.Value) error) error {
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

// elements calls fn with every element of an array, values as they stand.
func elements(v jsontext.Value, fn func(v jsontext.Value) error) error {
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

func join(list []jsontext.Value) []byte {
	out := []byte{'['}
	for i, v := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, ']')
}

// reverseObjects reverses the members of an object, or of each object in a list;
// what these hold keeps its order.
func reverseObjects(v jsontext.Value) jsontext.Value {
	switch v.Kind() {
	case '[':
		var list []jsontext.Value
		if elements(v, func(e jsontext.Value) error { list = append(list, reverseObjects(e)); return nil }) != nil {
			return v
		}
		return join(list)
	case '{':
		var all [][]byte
		if members(v, func(key string, v jsontext.Value) error {
			all = append(all, append(append(quote(key), ':'), v...))
			return nil
		}) != nil {
			return v
		}
		slices.Reverse(all)
		return slices.Concat([]byte{'{'}, bytes.Join(all, []byte{','}), []byte{'}'})
	}
	return v
}
