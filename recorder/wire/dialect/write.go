package dialect

import (
	"fmt"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/harnessbench/harnessbench/loop/model"
)

// raw is JSON as it will be sent.
type raw []byte

// object writes a JSON object of keys and values in turn, in their order.
func object(kv ...any) raw {
	b := raw{'{'}
	for i := 0; i < len(kv); i += 2 {
		if i > 0 {
			b = append(b, ',')
		}
		b = model.AppendString(b, kv[i].(string))
		b = append(b, ':')
		b = appendJSON(b, kv[i+1])
	}
	return append(b, '}')
}

func appendJSON(b raw, v any) raw {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case string:
		return model.AppendString(b, v)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case float64:
		return strconv.AppendFloat(b, v, 'g', -1, 64)
	case bool:
		return strconv.AppendBool(b, v)
	case raw:
		return append(b, v...)
	case []raw:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, e...)
		}
		return append(b, ']')
	}
	panic(fmt.Sprintf("dialect: no JSON for a %T", v))
}

// frame is one server-sent event; without a name it has a data field only.
func frame(name string, data raw) []byte {
	b := make([]byte, 0, len(name)+len(data)+16)
	if name != "" {
		b = append(append(append(b, "event: "...), name...), '\n')
	}
	b = append(append(b, "data: "...), data...)
	return append(b, "\n\n"...)
}

// Sizes of the pieces in which texts are streamed.
const (
	minPiece  = 24  // bytes; short enough that a line has several
	maxPieces = 256 // about; long texts have longer pieces
	wordReach = 24  // bytes that a piece may be longer so as to end with a word
)

// pieces cuts a text into what is streamed one after the other: each ends before
// a space where one is near, else at a rune that begins something new to a reader.
func pieces(s string) []string {
	var out []string
	size := max(minPiece, len(s)/maxPieces)
	for len(s) > size {
		n := cut(s, size)
		out = append(out, s[:n])
		s = s[n:]
	}
	if s != "" {
		out = append(out, s)
	}
	return out
}

func cut(s string, size int) int {
	for i := size; i < min(size+wordReach, len(s)); i++ {
		if s[i] == ' ' && s[i-1] != ' ' {
			return i
		}
	}
	n := size
	for n < len(s) && !begins(s, n) {
		n++
	}
	return n
}

// begins reports whether a rune starts at n that does not join what is before:
// marks, joiners, skin tones and the second letter of a flag do. It knows the
// common clusters, not all of Unicode's.
func begins(s string, n int) bool {
	if !utf8.RuneStart(s[n]) {
		return false
	}
	c, _ := utf8.DecodeRuneInString(s[n:])
	before, _ := utf8.DecodeLastRuneInString(s[:n])
	const joiner = '\u200d'
	flag := func(r rune) bool { return r >= 0x1F1E6 && r <= 0x1F1FF }
	switch {
	case unicode.Is(unicode.M, c), c == joiner, before == joiner, c >= 0x1F3FB && c <= 0x1F3FF, before == '\r' && c == '\n':
		return false
	}
	return !flag(c) || !flag(before)
}
