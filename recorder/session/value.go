package session

import (
	"bytes"
	"math"

	"github.com/go-json-experiment/json/jsontext"
)

// The functions here read values whose syntax the scanner has checked.

// unquote returns the text of a JSON string.
func unquote(v []byte) (string, error) {
	if len(v) < 2 || v[0] != '"' {
		return "", errType("a string", v)
	}
	if bytes.IndexByte(v, '\\') < 0 {
		return string(v[1 : len(v)-1]), nil
	}
	b, err := jsontext.AppendUnquote(make([]byte, 0, len(v)), v)
	if err != nil {
		return "", err
	}
	return string(b), nil
}

type typeError struct{ want, got string }

func (e *typeError) Error() string { return "is " + e.got + ", not " + e.want }

func errType(want string, v []byte) error {
	got := "nothing"
	if len(v) > 0 {
		switch v[0] {
		case '"':
			got = "a string"
		case '{':
			got = "an object"
		case '[':
			got = "an array"
		case 't', 'f':
			got = "a truth value"
		case 'n':
			got = "null"
		default:
			got = "a number"
		}
	}
	return &typeError{want, got}
}

// parseInt reads a JSON integer that fits 64 bits; fractions and exponents are
// no integers here.
func parseInt(v []byte) (int64, bool) {
	neg := len(v) > 0 && v[0] == '-'
	if neg {
		v = v[1:]
	}
	if len(v) == 0 || len(v) > 19 {
		return 0, false
	}
	var n uint64
	for _, c := range v {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	switch {
	case neg && n <= 1<<63:
		return -int64(n), true // n = 1<<63 wraps to the smallest
	case !neg && n <= math.MaxInt64:
		return int64(n), true
	}
	return 0, false
}

// skip returns the index after the value at i.
func skip(b []byte, i int) int {
	depth := 0
	for {
		switch b[i] {
		case '"':
			i = skipString(b, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ',', ':':
			i++
		default: // a number or literal
			for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' {
				i++
			}
		}
		if depth == 0 || i >= len(b) {
			return i
		}
	}
}

// skipString returns the index after the string at i.
func skipString(b []byte, i int) int {
	for i++; ; {
		i = plain(b, i)
		if i >= len(b) || b[i] == '"' {
			return i + 1
		}
		i += 2 // an escape: the digits of \u are plain
	}
}

// members calls fn with every member of an object until it returns an error.
func members(v []byte, fn func(key string, value []byte) error) error {
	if len(v) == 0 || v[0] != '{' {
		return errType("an object", v)
	}
	for i := 1; i < len(v) && v[i] != '}'; {
		k := skipString(v, i)
		key, err := unquote(v[i:k])
		if err != nil {
			return err
		}
		end := skip(v, k+1)
		if err := fn(key, v[k+1:end]); err != nil {
			return err
		}
		if i = end; v[i] == ',' {
			i++
		}
	}
	return nil
}

// elements calls fn with every element of an array until it returns an error.
func elements(v []byte, fn func(i int, value []byte) error) error {
	if len(v) == 0 || v[0] != '[' {
		return errType("an array", v)
	}
	n := 0
	for i := 1; i < len(v) && v[i] != ']'; n++ {
		end := skip(v, i)
		if err := fn(n, v[i:end]); err != nil {
			return err
		}
		if i = end; v[i] == ',' {
			i++
		}
	}
	return nil
}
