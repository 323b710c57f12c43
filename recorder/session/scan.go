package session

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/loop/model"
)

// span is one member of an object: offsets into the scanned bytes.
type span struct {
	ks, ke int // of the key, without quotes
	vs, ve int // of the value
}

// syntaxError says what is wrong with the JSON of a line and at which byte.
type syntaxError struct {
	at   int
	what string
}

func (e *syntaxError) Error() string { return e.what }

// scanner checks that a line is one JSON object without white space between
// tokens, duplicate keys (after unescaping), broken UTF-8, lone surrogates or
// deeper nesting than MaxDepth, and notes where the members of the outermost
// object lie. It is reused from line to line.
type scanner struct {
	b     []byte
	i     int
	depth int
	top   []span
	keys  [][]byte // stack of the unescaped keys of the open objects
}

// scan checks b; s.top holds its members until the next scan.
func (s *scanner) scan(b []byte) error {
	s.b, s.i, s.depth, s.top, s.keys = b, 0, 0, s.top[:0], s.keys[:0]
	if !utf8.Valid(b) {
		return s.badUTF8()
	}
	if len(b) == 0 || b[0] != '{' {
		return &syntaxError{0, "is no JSON object"}
	}
	if err := s.object(); err != nil {
		return err
	}
	if s.i != len(b) {
		return s.errorf("unexpected %q after the object", b[s.i])
	}
	return nil
}

func (s *scanner) badUTF8() error {
	for i := 0; i < len(s.b); {
		r, n := utf8.DecodeRune(s.b[i:])
		if r == utf8.RuneError && n == 1 {
			return &syntaxError{i, "is no UTF-8"}
		}
		i += n
	}
	return &syntaxError{0, "is no UTF-8"}
}

func (s *scanner) errorf(format string, a ...any) error {
	return &syntaxError{s.i, fmt.Sprintf(format, a...)}
}

func (s *scanner) end() error { return &syntaxError{s.i, "JSON ends early"} }

func (s *scanner) value() error {
	if s.i >= len(s.b) {
		return s.end()
	}
	switch c := s.b[s.i]; {
	case c == '"':
		_, err := s.str()
		return err
	case c == '{':
		return s.object()
	case c == '[':
		return s.array()
	case c == '-' || (c >= '0' && c <= '9'):
		return s.number()
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == 'n':
		return s.literal("null")
	default:
		return s.errorf("unexpected %q", c)
	}
}

func (s *scanner) literal(word string) error {
	if !bytes.HasPrefix(s.b[s.i:], []byte(word)) {
		return s.errorf("unexpected %q", s.b[s.i])
	}
	s.i += len(word)
	return nil
}

func (s *scanner) object() error {
	if s.depth++; s.depth > MaxDepth {
		return s.errorf("nesting is deeper than %d", MaxDepth)
	}
	s.i++ // {
	base := len(s.keys)
	var seen map[string]struct{} // only for large objects
	if s.i < len(s.b) && s.b[s.i] == '}' {
		s.i, s.depth = s.i+1, s.depth-1
		return nil
	}
	for {
		if s.i >= len(s.b) {
			return s.end()
		}
		if s.b[s.i] != '"' {
			return s.errorf("unexpected %q where a key should be", s.b[s.i])
		}
		ks := s.i + 1
		escaped, err := s.str()
		if err != nil {
			return err
		}
		ke := s.i - 1
		if seen, err = s.addKey(base, seen, ks, ke, escaped); err != nil {
			return err
		}
		if s.i >= len(s.b) {
			return s.end()
		}
		if s.b[s.i] != ':' {
			return s.errorf("unexpected %q where a colon should be", s.b[s.i])
		}
		s.i++
		vs := s.i
		if err := s.value(); err != nil {
			return err
		}
		if s.depth == 1 {
			s.top = append(s.top, span{ks, ke, vs, s.i})
		}
		more, err := s.next('}')
		if err != nil {
			return err
		}
		if !more {
			s.keys, s.depth = s.keys[:base], s.depth-1
			return nil
		}
	}
}

// manyKeys is the number of keys above which an object gets a map.
const manyKeys = 16

func (s *scanner) addKey(base int, seen map[string]struct{}, ks, ke int, escaped bool) (map[string]struct{}, error) {
	key := s.b[ks:ke]
	if escaped {
		var err error
		if key, err = jsontext.AppendUnquote(nil, s.b[ks-1:ke+1]); err != nil {
			return nil, &syntaxError{ks, "bad key: " + err.Error()}
		}
	}
	dup := false
	if seen != nil {
		_, dup = seen[string(key)]
		seen[string(key)] = struct{}{}
	} else {
		for _, k := range s.keys[base:] {
			if bytes.Equal(k, key) {
				dup = true
				break
			}
		}
		s.keys = append(s.keys, key)
		if len(s.keys)-base > manyKeys {
			seen = make(map[string]struct{}, 2*manyKeys)
			for _, k := range s.keys[base:] {
				seen[string(k)] = struct{}{}
			}
		}
	}
	if dup {
		return nil, &syntaxError{ks, fmt.Sprintf("duplicate key %.80q", key)}
	}
	return seen, nil
}

// next reads a comma (more follows) or the closing byte.
func (s *scanner) next(closing byte) (more bool, err error) {
	if s.i >= len(s.b) {
		return false, s.end()
	}
	switch c := s.b[s.i]; c {
	case ',':
		s.i++
		return true, nil
	case closing:
		s.i++
		return false, nil
	default:
		return false, s.errorf("unexpected %q where a comma or %q should be", c, closing)
	}
}

func (s *scanner) array() error {
	if s.depth++; s.depth > MaxDepth {
		return s.errorf("nesting is deeper than %d", MaxDepth)
	}
	s.i++ // [
	if s.i < len(s.b) && s.b[s.i] == ']' {
		s.i, s.depth = s.i+1, s.depth-1
		return nil
	}
	for {
		if err := s.value(); err != nil {
			return err
		}
		more, err := s.next(']')
		if err != nil {
			return err
		}
		if !more {
			s.depth--
			return nil
		}
	}
}

// str passes a string and reports whether it has escapes.
func (s *scanner) str() (escaped bool, err error) {
	i := s.i + 1
	for {
		i = plain(s.b, i)
		if i >= len(s.b) {
			s.i = len(s.b)
			return false, s.end()
		}
		switch c := s.b[i]; c {
		case '"':
			s.i = i + 1
			return escaped, nil
		case '\\':
			escaped = true
			s.i = i
			n, err := s.escape()
			if err != nil {
				return false, err
			}
			i += n
		default:
			s.i = i
			return false, s.errorf("control character %#02x in a string", c)
		}
	}
}

// plain returns the index of the first byte from i on that is a quote, a
// backslash or a control character: eight bytes at a time.
func plain(b []byte, i int) int {
	for i+8 <= len(b) && !model.Escapes(binary.LittleEndian.Uint64(b[i:])) {
		i += 8
	}
	for i < len(b) && b[i] >= 0x20 && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

// escape returns the length of the escape at s.i; a surrogate pair is one.
func (s *scanner) escape() (int, error) {
	b := s.b[s.i:]
	if len(b) < 2 {
		return 0, s.end()
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, nil
	case 'u':
		u, ok := hex4(b)
		if !ok {
			return 0, s.errorf("bad escape in a string")
		}
		if u < 0xd800 || u > 0xdfff {
			return 6, nil
		}
		if u < 0xdc00 && len(b) >= 12 && b[6] == '\\' {
			if v, ok := hex4(b[6:]); ok && v >= 0xdc00 && v <= 0xdfff {
				return 12, nil
			}
		}
		return 0, s.errorf("lone surrogate in a string")
	default:
		return 0, s.errorf("bad escape in a string")
	}
}

// hex4 reads the digits of \uXXXX.
func hex4(b []byte) (uint32, bool) {
	if len(b) < 6 || b[1] != 'u' {
		return 0, false
	}
	var u uint32
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			u = u<<4 | uint32(c-'0')
		case c >= 'a' && c <= 'f':
			u = u<<4 | uint32(c-'a'+10)
		case c >= 'A' && c <= 'F':
			u = u<<4 | uint32(c-'A'+10)
		default:
			return 0, false
		}
	}
	return u, true
}

func (s *scanner) number() error {
	b, i := s.b, s.i
	digits := func() bool {
		start := i
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
			i++
		}
		return i > start
	}
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if !digits() {
		return s.errorf("bad number")
	}
	if i < len(b) && b[i] == '.' {
		i++
		if !digits() {
			return s.errorf("bad number")
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return s.errorf("bad number")
		}
	}
	s.i = i
	return nil
}
