package check

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes a text fit for a reason or evidence: at most MaxReason bytes,
// never cut inside a character, and control characters, bidirectional controls
// and bytes that are no UTF-8 written visibly (\n, \x1b, \u202e).
func Clean(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		piece := s[i : i+n]
		switch {
		case r == utf8.RuneError && n == 1:
			piece = fmt.Sprintf(`\x%02x`, s[i])
		case r == '\n':
			piece = `\n`
		case r == '\t':
			piece = `\t`
		case r == '\r':
			piece = `\r`
		case r < 0x20 || r == 0x7f:
			piece = fmt.Sprintf(`\x%02x`, r)
		case unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029':
			piece = fmt.Sprintf(`\u%04x`, r)
		}
		if b.Len()+len(piece) > MaxReason-len("...") && len(s)-i > n {
			// enough only if all that is left fits as it is
			if rest := s[i:]; b.Len()+len(rest) > MaxReason || !plain(rest) {
				b.WriteString("...")
				return b.String()
			}
		} else if b.Len()+len(piece) > MaxReason {
			b.WriteString("...")
			return b.String()
		}
		b.WriteString(piece)
		i += n
	}
	return b.String()
}

// plain reports whether s needs no rewriting.
func plain(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool {
		return r == utf8.RuneError || unicode.Is(unicode.C, r) || r == '\u2028' || r == '\u2029'
	}) < 0
}

// cut shortens s to n bytes, never inside a character, and says so with dots.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n = max(0, n-3)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}

// quoted shows a text in quotes, cut.
func quoted(s string) string { return `"` + cut(s, 160) + `"` }

// names lists paths for a reason, a few of them.
func names(paths []string) string {
	const show = 5
	if len(paths) <= show {
		return strings.Join(paths, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(paths[:show], ", "), len(paths)-show)
}

// trimmed applies a trim.
func trimmed(s string, t Trim) string {
	switch t {
	case TrimSpace:
		return strings.TrimSpace(s)
	case TrimNewline:
		if t, ok := strings.CutSuffix(s, "\r\n"); ok {
			return t
		}
		return strings.TrimSuffix(s, "\n")
	default:
		return s
	}
}

// sameText compares two texts as a spec says.
func (s *Spec) sameText(got, want string) bool {
	got, want = trimmed(got, s.trim()), trimmed(want, s.trim())
	if s.IgnoreCase {
		return strings.EqualFold(got, want)
	}
	return got == want
}

// holds reports whether got contains the wanted text.
func (s *Spec) holds(got string) bool {
	if s.IgnoreCase {
		return strings.Contains(strings.ToLower(got), strings.ToLower(s.Want))
	}
	return strings.Contains(got, s.Want)
}
