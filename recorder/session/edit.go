package session

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/harnessbench/harnessbench/loop/model"
)

// Edit copies a session through fn and seals it again: fn is given each line and
// emits what shall stand in its place, none or several lines. Numbers, chain and
// the footer's own fields are made anew; nothing else is, so inputs digests and
// whatever else depends on a changed field stay as they were. A torn tail is
// dropped.
func Edit(dst io.Writer, src io.Reader, fn func(l *Line, emit func(Type, []byte) error) error) error {
	r, w := NewReader(src), NewWriter(dst)
	for {
		l, err := r.Next()
		if errors.Is(err, io.EOF) {
			return w.Flush()
		}
		if err != nil {
			return err
		}
		if err := fn(l, w.Line); err != nil {
			return err
		}
	}
}

// With returns a copy of the line's payload in which the value at an RFC 6901
// pointer ("/usage/0", "/delta/0/path") is value, which must be JSON without
// white space; nil takes the field away. A member that is not there is added at
// the end of its object.
func (l *Line) With(pointer string, value []byte) ([]byte, error) {
	if !strings.HasPrefix(pointer, "/") {
		return nil, fmt.Errorf("pointer %q does not begin with /", pointer)
	}
	tokens := strings.Split(pointer[1:], "/")
	for i, t := range tokens {
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(t, "~1", "/"), "~0", "~")
	}
	object := []byte{'{'}
	if len(l.payload) > 0 {
		object = append(object, l.payload[1:]...)
	}
	object, err := setIn(append(object, '}'), tokens, value)
	if err != nil {
		return nil, fmt.Errorf("pointer %q: %w", pointer, err)
	}
	if err := ValidJSON(object); err != nil {
		return nil, fmt.Errorf("pointer %q: new value: %w", pointer, err)
	}
	if object = object[:len(object)-1]; len(object) > 1 {
		object[0] = ','
		return object, nil
	}
	return nil, nil
}

// setIn returns v with the value at the path replaced.
func setIn(v []byte, path []string, value []byte) ([]byte, error) {
	if len(path) == 0 {
		return value, nil
	}
	switch {
	case len(v) > 0 && v[0] == '{':
		return setMember(v, path, value)
	case len(v) > 0 && v[0] == '[':
		return setElement(v, path, value)
	}
	return nil, fmt.Errorf("there is nothing at %q", path[0])
}

func setMember(v []byte, path []string, value []byte) ([]byte, error) {
	out, found := []byte{'{'}, false
	put := func(key string, val []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(model.AppendString(out, key), ':')
		out = append(out, val...)
	}
	err := members(v, func(key string, old []byte) error {
		if key != path[0] {
			put(key, old)
			return nil
		}
		found = true
		val, err := setIn(old, path[1:], value)
		if err == nil && val != nil {
			put(key, val)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if !found {
		if len(path) > 1 || value == nil {
			return nil, fmt.Errorf("there is no field %q", path[0])
		}
		put(path[0], value)
	}
	return append(out, '}'), nil
}

func setElement(v []byte, path []string, value []byte) ([]byte, error) {
	at, err := strconv.Atoi(path[0])
	if err != nil {
		return nil, fmt.Errorf("%q is no index", path[0])
	}
	out, found := []byte{'['}, false
	err = elements(v, func(i int, old []byte) error {
		val := old
		if i == at {
			found = true
			var err error
			if val, err = setIn(old, path[1:], value); err != nil || val == nil {
				return err
			}
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, val...)
		return nil
	})
	if err == nil && !found {
		err = fmt.Errorf("there is no element %d", at)
	}
	return append(out, ']'), err
}
