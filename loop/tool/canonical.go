package tool

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of a call's arguments.
const (
	MaxArgs  = 4 << 20 // bytes
	MaxDepth = 64      // levels of nesting
)

// maxNumber bounds a number's lexeme, maxExponent its power of ten: numbers keep
// their lexemes and are compared exactly, so 1e999999999 would cost what it says.
const (
	maxNumber   = 64
	maxExponent = 400
)

// Canonical returns the canonical form of a JSON text: keys sorted as RFC 8785
// sorts them (by UTF-16 code units), no white space, strings with minimal
// escapes, numbers as they were written. It refuses duplicate keys, invalid
// UTF-8, and what exceeds MaxArgs and MaxDepth.
func Canonical(text string) (string, error) {
	if len(text) > MaxArgs {
		return "", fmt.Errorf("%d bytes are too many; at most %d", len(text), MaxArgs)
	}
	if out, ok := canonicalFlat(text); ok {
		return out, nil
	}
	return canonicalAny(text)
}

// canonicalArgs is Canonical for the arguments of a call, which are an object
// and may be left out. It returns what there is also with an error.
func canonicalArgs(text string) (string, error) {
	if text == "" || strings.Trim(text, " \t\r\n") == "" {
		return "{}", nil
	}
	out, err := Canonical(text)
	if err != nil {
		return text, err
	}
	if out[0] != '{' {
		return out, errors.New("want a JSON object")
	}
	return out, nil
}

// canonicalAny takes any JSON text.
func canonicalAny(text string) (string, error) {
	if err := checkShape(text); err != nil {
		return "", err
	}
	out, err := jsontext.AppendFormat(make([]byte, 0, len(text)), text, jsontext.ReorderRawObjects(true))
	if err != nil {
		return "", syntaxProblem(text, err)
	}
	return string(out), nil
}

// syntaxProblem says what is wrong with a text that is no JSON, in words of our
// own: a library's wording may change under a recording.
func syntaxProblem(text string, err error) error {
	var at int64 = -1
	var se *jsontext.SyntacticError
	if errors.As(err, &se) {
		at = se.ByteOffset
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return fmt.Errorf("not valid JSON: a key appears twice (byte %d)", at)
	}
	if at >= int64(len(text)) {
		return errors.New("not valid JSON: it breaks off")
	}
	if at < 0 {
		return errors.New("not valid JSON")
	}
	return fmt.Errorf("not valid JSON at byte %d", at)
}

// checkShape bounds nesting and numbers before anything is parsed. It need not
// be right on texts that are no JSON.
func checkShape(text string) error {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			if depth++; depth > MaxDepth {
				return fmt.Errorf("nested deeper than %d levels (byte %d)", MaxDepth, i)
			}
		case '}', ']':
			depth--
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			n := numberLen(text[i:])
			if !numberOK(text[i : i+n]) {
				return fmt.Errorf("a number is too long or too large (byte %d)", i)
			}
			i += n - 1
		}
	}
	return nil
}

// numberLen returns how many bytes from the start can belong to a number.
func numberLen(s string) int {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case '0' <= c && c <= '9', c == '-', c == '+', c == '.', c == 'e', c == 'E':
		default:
			return i
		}
	}
	return len(s)
}

// numberOK bounds a number's length and exponent.
func numberOK(s string) bool {
	if len(s) > maxNumber {
		return false
	}
	i := strings.IndexAny(s, "eE")
	if i < 0 {
		return true
	}
	exp := 0
	for _, c := range s[i+1:] {
		if '0' <= c && c <= '9' {
			exp = exp*10 + int(c-'0')
		}
		if exp > maxExponent {
			return false
		}
	}
	return true
}
