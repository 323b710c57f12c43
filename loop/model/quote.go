package model

import (
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// AppendString appends s as a JSON string with the minimal escapes of RFC 8785;
// bytes that are no UTF-8 become U+FFFD.
func AppendString(b []byte, s string) []byte {
	if !utf8.ValidString(s) {
		// The error says that bytes were replaced; the output is complete.
		out, _ := jsontext.AppendQuote(b, s)
		return out
	}
	return appendQuoted(b, s)
}

// AppendText is AppendString for bytes.
func AppendText(b, s []byte) []byte {
	if !utf8.Valid(s) {
		return AppendString(b, string(s))
	}
	return appendQuoted(b, s)
}

// appendQuoted quotes valid UTF-8; what needs no escape is copied in runs.
func appendQuoted[T string | []byte](b []byte, s T) []byte {
	const hexDigits = "0123456789abcdef"
	b = append(b, '"')
	for from := 0; ; {
		at := PlainText(s, from)
		b = append(b, s[from:at]...)
		if at == len(s) {
			return append(b, '"')
		}
		switch c := s[at]; c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b':
			b = append(b, '\\', 'b')
		case '\f':
			b = append(b, '\\', 'f')
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		from = at + 1
	}
}

// PlainText returns the index of the first byte from i on that needs an escape,
// or the length of s: eight bytes at a time.
func PlainText[T string | []byte](s T, i int) int {
	for ; i+8 <= len(s); i += 8 {
		v := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		if Escapes(v) {
			break
		}
	}
	for i < len(s) && s[i] >= 0x20 && s[i] != '"' && s[i] != '\\' {
		i++
	}
	return i
}

// Escapes reports whether one of eight bytes is a quote, a backslash or a
// control character.
func Escapes(v uint64) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	q, e := v^(ones*'"'), v^(ones*'\\')
	return ((v-ones*0x20)&^v|(q-ones)&^q|(e-ones)&^e)&highs != 0
}
