package cli

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sanitize makes a text safe for a terminal: control characters, and with them
// every escape sequence, are written visibly (\x1b[31m), as are C1 controls,
// characters that change the direction of text or are invisible, and bytes that
// are no UTF-8. Newlines and tabs stay. The result is valid UTF-8 and
// Sanitize(Sanitize(s)) == Sanitize(s).
func Sanitize(s string) string { return sanitize(s, false) }

// SanitizeLine is Sanitize for one line: newlines and tabs are written visibly
// too.
func SanitizeLine(s string) string { return sanitize(s, true) }

func sanitize(s string, line bool) string {
	if safe(s, line) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !hostile(r, line):
			b.WriteString(s[i : i+n])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += n
	}
	return b.String()
}

// safe reports whether nothing has to be rewritten.
func safe(s string, line bool) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= utf8.RuneSelf {
			break
		}
		if (c < 0x20 || c == 0x7f) && (line || c != '\n' && c != '\t') {
			return false
		}
	}
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return hostile(r, line) }) < 0
}

// hostile reports whether a character may not reach a terminal as it is. The
// two joiners that scripts and emoji need are let through.
func hostile(r rune, line bool) bool {
	switch {
	case r == '\n' || r == '\t':
		return line
	case r < 0x20 || r >= 0x7f && r < 0xa0:
		return true
	case r < 0xa0:
		return false
	case r == '\u200c' || r == '\u200d':
		return false
	}
	return unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}
