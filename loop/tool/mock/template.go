package mock

import (
	"strings"

	"github.com/harnessbench/harnessbench/loop/tool/fault"
	"github.com/harnessbench/harnessbench/loop/tool/internal/rawjson"
)

// template is a text with arguments in it: even pieces are literal, odd ones the
// names of arguments.
type template []string

// parseTemplate reads "${name}" as an argument and "$$" as a dollar sign; every
// other dollar sign stands for itself.
func parseTemplate(s string) template {
	var t template
	var lit strings.Builder
	for {
		i := strings.IndexByte(s, '$')
		if i < 0 {
			break
		}
		lit.WriteString(s[:i])
		s = s[i+1:]
		switch end := strings.IndexByte(s, '}'); {
		case strings.HasPrefix(s, "$"):
			lit.WriteByte('$')
			s = s[1:]
		case strings.HasPrefix(s, "{") && end > 1 && validArg(s[1:end]):
			t = append(t, lit.String(), s[1:end])
			lit.Reset()
			s = s[end+1:]
		default:
			lit.WriteByte('$')
		}
	}
	lit.WriteString(s)
	return append(t, lit.String())
}

// validArg reports whether a template may name an argument so.
func validArg(name string) bool {
	for i := 0; i < len(name); i++ {
		c := name[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.') {
			return false
		}
	}
	return name != ""
}

// constant reports whether no argument changes the text.
func (t template) constant() bool { return len(t) == 1 }

// text fills in the arguments: strings decoded, other values as JSON, missing
// ones as nothing. What exceeds MaxText is cut.
func (t template) text(args string) string {
	if t.constant() {
		return t[0]
	}
	var b strings.Builder
	for i, piece := range t {
		if i%2 == 1 {
			raw, _ := rawjson.Get(args, piece)
			piece = rawjson.Text(raw)
		}
		if b.Len()+len(piece) > MaxText {
			b.WriteString(fault.Cut(piece, MaxText-b.Len()))
			break
		}
		b.WriteString(piece)
	}
	return b.String()
}
