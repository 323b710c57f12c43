package tool

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// maxFlat is how many members an object may have for the fast path.
const maxFlat = 16

// member is one member of a flat object: the name without its quotes, the raw
// value.
type member struct{ name, value string }

// canonicalFlat makes an object of strings, numbers and literals canonical
// without parsing it: nearly all calls are such, and are canonical already, and
// then the text itself is returned. ok is false when the text needs the general
// way, which also finds all errors. The two agree wherever ok is true; a fuzz
// target holds them to it.
func canonicalFlat(text string) (out string, ok bool) {
	var buf [maxFlat]member
	members := buf[:0]
	sorted, tight, ascii := true, true, true
	i := 0
	skip := func() {
		for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
			i, tight = i+1, false
		}
	}
	token := func(c byte) bool {
		skip()
		if i < len(text) && text[i] == c {
			i++
			return true
		}
		return false
	}
	if !token('{') {
		return "", false
	}
	for done := token('}'); !done; {
		skip()
		n, high := flatString(text, i)
		if n == 0 || high || len(members) == maxFlat || strings.IndexByte(text[i:i+n], '\\') >= 0 {
			return "", false
		}
		m := member{name: text[i+1 : i+n-1]}
		i += n
		if !token(':') {
			return "", false
		}
		skip()
		n, high = flatValue(text, i)
		if n == 0 {
			return "", false
		}
		ascii = ascii && !high
		m.value = text[i : i+n]
		i += n
		if k := len(members); k > 0 && members[k-1].name >= m.name {
			sorted = false
		}
		members = append(members, m)
		if done = token('}'); !done && !token(',') {
			return "", false
		}
	}
	skip()
	if i != len(text) || !ascii && !utf8.ValidString(text) {
		return "", false
	}
	if sorted && tight {
		return text, true
	}
	return joinFlat(members, len(text))
}

// joinFlat writes the members in order; ok is false when two have one name.
func joinFlat(members []member, size int) (string, bool) {
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	b := make([]byte, 0, size)
	b = append(b, '{')
	for i, m := range members {
		if i > 0 {
			if members[i-1].name == m.name {
				return "", false
			}
			b = append(b, ',')
		}
		b = append(b, '"')
		b = append(b, m.name...)
		b = append(b, '"', ':')
		b = append(b, m.value...)
	}
	b = append(b, '}')
	return string(b), true
}

// flatString returns the length of the string at i, quotes included, when it
// stands there in its canonical form; else 0. high reports bytes that are not
// ASCII.
func flatString(s string, i int) (n int, high bool) {
	if i >= len(s) || s[i] != '"' {
		return 0, false
	}
	for j := i + 1; j < len(s); j++ {
		switch c := s[j]; {
		case c == '"':
			return j + 1 - i, high
		case c < 0x20:
			return 0, false
		case c >= 0x80:
			high = true
		case c == '\\':
			j++
			if j >= len(s) || strings.IndexByte(`"\bfnrt`, s[j]) < 0 {
				return 0, false // \/ and \u have shorter forms, or none
			}
		}
	}
	return 0, false
}

// flatValue returns the length of the string, number or literal at i, or 0.
func flatValue(s string, i int) (n int, high bool) {
	if i >= len(s) {
		return 0, false
	}
	switch c := s[i]; {
	case c == '"':
		return flatString(s, i)
	case c == '-' || '0' <= c && c <= '9':
		return flatNumber(s[i:]), false
	}
	for _, lit := range [...]string{"true", "false", "null"} {
		if strings.HasPrefix(s[i:], lit) {
			return len(lit), false
		}
	}
	return 0, false
}

// flatNumber returns the length of the integer at the start of s when it has at
// most 18 digits; other numbers take the general way.
func flatNumber(s string) int {
	i := 0
	if s[0] == '-' {
		i = 1
	}
	first := i
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	digits := i - first
	if digits == 0 || digits > 18 || digits > 1 && s[first] == '0' {
		return 0
	}
	if i < len(s) && (s[i] == '.' || s[i] == 'e' || s[i] == 'E') {
		return 0
	}
	return i
}
