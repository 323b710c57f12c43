package session

import (
	"unicode/utf8"

	"github.com/harnessbench/harnessbench/loop/model"
)

// AppendString appends s as a JSON string exactly as [model.AppendString] does,
// faster for long texts: what needs no escape is copied in runs.
func AppendString(b []byte, s string) []byte {
	if len(s) < 32 || !utf8.ValidString(s) {
		return model.AppendString(b, s)
	}
	return appendQuoted(b, s)
}

// AppendText is AppendString for bytes.
func AppendText(b, s []byte) []byte {
	if !utf8.Valid(s) {
		return model.AppendString(b, string(s))
	}
	return appendQuoted(b, s)
}

// appendQuoted quotes valid UTF-8 with the minimal escapes of RFC 8785.
func appendQuoted[T string | []byte](b []byte, s T) []byte {
	const hexDigits = "0123456789abcdef"
	b = append(b, '"')
	for from := 0; ; {
		at := plainText(s, from)
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

// plainText returns the index of the first byte from i on that needs an escape,
// or the length of s: eight bytes at a time.
func plainText[T string | []byte](s T, i int) int {
	for ; i+8 <= len(s); i += 8 {
		v := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		if special(v) {
			break
		}
	}
	for i < len(s) && s[i] >= 0x20 && s[i] != '"' && s[i] != '\\' {
		i++
	}
	return i
}

// special reports whether one of eight bytes is a quote, a backslash or a
// control character.
func special(v uint64) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	q, e := v^(ones*'"'), v^(ones*'\\')
	return ((v-ones*0x20)&^v|(q-ones)&^q|(e-ones)&^e)&highs != 0
}

// Args reads string members of canonical arguments without garbage. The zero
// Args is ready; it is reused from call to call.
type Args struct {
	s   scanner
	buf []byte
	ok  bool
}

// Load takes the arguments of a call; what is no JSON object has no members.
func (a *Args) Load(args string) {
	a.buf = append(a.buf[:0], args...)
	a.ok = a.s.scan(a.buf) == nil
}

// Text returns the text of a string member; ok is false when there is none of
// that name, or it is no string.
func (a *Args) Text(name string) (text string, ok bool) {
	if v := a.member(name); v != nil {
		s, err := unquote(v)
		return s, err == nil
	}
	return "", false
}

// member returns the raw value of a string member.
func (a *Args) member(name string) []byte {
	if !a.ok {
		return nil
	}
	for _, f := range a.s.top {
		if v := a.buf[f.vs:f.ve]; v[0] == '"' && string(a.buf[f.ks:f.ke]) == name {
			return v
		}
	}
	return nil
}

// Implies reports whether resources are what a tool.request line without that
// field says: the text of the string member "path", or none where there is no
// such member.
func (a *Args) Implies(resources []string) bool {
	v := a.member("path")
	if v == nil {
		return len(resources) == 0
	}
	return len(resources) == 1 && equalText(v, resources[0])
}

// minArg is the size from which a content is looked for in the arguments.
const minArg = 32

// Equal returns the name of the first string member whose text is content, or ""
// when there is none or content is short.
func (a *Args) Equal(content []byte) string {
	if !a.ok || len(content) < minArg || len(a.buf) < len(content)+2 {
		return ""
	}
	for _, f := range a.s.top {
		v := a.buf[f.vs:f.ve]
		if v[0] != '"' || len(v)-2 < len(content) || !equalText(v, string(content)) {
			continue
		}
		if name, err := unquote(a.buf[f.ks-1 : f.ke+1]); err == nil {
			return name
		}
	}
	return ""
}

// equalText reports whether the text of a JSON string is s.
func equalText(v []byte, s string) bool {
	body := v[1 : len(v)-1]
	if len(body) == len(s) {
		if string(body) == s {
			return plainText(body, 0) == len(body)
		}
		return false // an escape is longer than what it stands for
	}
	if len(body) < len(s) {
		return false
	}
	text, err := unquote(v)
	return err == nil && text == s
}
