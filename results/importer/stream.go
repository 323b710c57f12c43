package importer

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of one element of a streamed array.
const (
	maxElement = 32 << 20 // bytes
	maxDepth   = 128      // levels of nesting
)

// eachElement streams a JSON array and hands over one element after the other.
// Duplicate keys, broken UTF-8, elements that are too large or too deep and
// anything after the array are errors. Errors name the byte.
func eachElement(src io.Reader, fn func(i int, raw jsontext.Value) error) error {
	limit := &elementReader{src: src, left: maxElement}
	dec := jsontext.NewDecoder(limit)
	fail := func(err error) error { return streamError(dec, limit, err) }
	open, err := dec.ReadToken()
	if err != nil {
		return fail(err)
	}
	if open.Kind() != '[' {
		return &atOffset{0, fmt.Errorf("is no JSON array but %s", kindName(open.Kind()))}
	}
	for i := 0; ; i++ {
		limit.left = maxElement
		if kind := dec.PeekKind(); kind == ']' {
			break
		}
		raw, err := dec.ReadValue()
		if err != nil {
			return fail(err)
		}
		start := dec.InputOffset() - int64(len(raw))
		if d := depth(raw); d > maxDepth {
			return &atOffset{start, fmt.Errorf("record %d is nested %d levels deep; at most %d", i, d, maxDepth)}
		}
		if err := fn(i, raw); err != nil {
			var at *atOffset
			if errors.As(err, &at) {
				start += at.offset
			}
			return &atOffset{start, err}
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return fail(err)
	}
	limit.left = maxElement
	if _, err := dec.ReadToken(); err == nil {
		return &atOffset{dec.InputOffset(), errors.New("something follows the array")}
	} else if !errors.Is(err, io.EOF) {
		return fail(err)
	}
	return nil
}

// elementReader refuses to deliver more than an element may have.
type elementReader struct {
	src  io.Reader
	left int
	over bool
}

var errElement = fmt.Errorf("a record has more than %d MiB", maxElement>>20)

func (r *elementReader) Read(b []byte) (int, error) {
	if r.left <= 0 {
		r.over = true
		return 0, errElement
	}
	n, err := r.src.Read(b[:min(len(b), r.left)])
	r.left -= n
	return n, err
}

// streamError words an error of the decoder and gives it its byte.
func streamError(dec *jsontext.Decoder, limit *elementReader, err error) error {
	offset := dec.InputOffset()
	if limit.over {
		return &atOffset{offset, errElement}
	}
	var syn *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF) && offset == 0:
		return &atOffset{0, errors.New("is empty")}
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		if errors.As(err, &syn) {
			offset = syn.ByteOffset
		}
		return &atOffset{offset, errors.New("ends in the middle: the file is truncated")}
	case errors.As(err, &syn):
		return &atOffset{syn.ByteOffset, plainJSON(err)}
	}
	return err
}

// inValue keeps the place of an error inside a value, as an offset from its
// beginning.
func inValue(err error) error {
	var sem *json.SemanticError
	if errors.As(err, &sem) {
		return &atOffset{sem.ByteOffset, plainJSON(err)}
	}
	var syn *jsontext.SyntacticError
	if errors.As(err, &syn) {
		return &atOffset{syn.ByteOffset, plainJSON(err)}
	}
	return err
}

// plainJSON words an error of the decoder without Go's types.
func plainJSON(err error) error {
	var sem *json.SemanticError
	if errors.As(err, &sem) {
		where := clip(string(sem.JSONPointer))
		if where == "" {
			where = "it"
		}
		if sem.JSONKind != 0 && sem.GoType != nil {
			return fmt.Errorf("%s is %s; want %s", where, kindName(sem.JSONKind), typeName(sem.GoType.String()))
		}
		return fmt.Errorf("%s: %v", where, sem.Err)
	}
	var syn *jsontext.SyntacticError
	if errors.As(err, &syn) {
		return fmt.Errorf("is no JSON: %v", syn.Err)
	}
	return err
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '{', '}':
		return "an object"
	case '[', ']':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 'n':
		return "null"
	}
	return "a truth value"
}

func typeName(goType string) string {
	switch goType {
	case "int64", "*int64":
		return "a whole number"
	case "float64", "*float64":
		return "a number"
	case "string", "*string":
		return "a string"
	case "[]importer.tauMessage", "*[]importer.tauMessage", "[]importer.tauCall":
		return "an array"
	}
	return "an object"
}

// depth is how many levels deep sound JSON is nested.
func depth(v []byte) int {
	deepest, level, inString := 0, 0, false
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			level++
			deepest = max(deepest, level)
		case c == '}' || c == ']':
			level--
		}
	}
	return deepest
}
