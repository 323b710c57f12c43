package mutate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer/internal/patch"
)

// Kind is what is done to a value or a line.
type Kind string

// The kinds of changes.
const (
	Letter  Kind = "letter" // another digit or letter in a text
	Longer  Kind = "longer" // a text with one character more
	Empty   Kind = "empty"  // no text
	Number  Kind = "number" // one more
	Huge    Kind = "huge"   // above 2^53
	Lexeme  Kind = "lexeme" // 25 becomes 25.0
	Flip    Kind = "flip"   // true and false
	Null    Kind = "null"   // null becomes a number
	Remove  Kind = "remove" // the field or element is taken away
	Add     Kind = "add"    // an element or member more
	Swap    Kind = "swap"   // two neighbours of a list change places
	NoLine  Kind = "remove line"
	Double  Kind = "double line"
	Swapped Kind = "swap lines"

	// These mean nothing: a replay must not mind.
	KeyOrder     Kind = "key order"
	UnknownField Kind = "unknown field"
	UnknownLine  Kind = "unknown line"
	Annotation   Kind = "annotation"
)

// Change is one change of one session.
type Change struct {
	Path    string         // of the session
	Line    int            // from 1
	Type    session.Type   // of the line
	Kind    Kind           // what is done
	Pointer string         // RFC 6901, within the line; empty = the line itself
	Field   string         // type and pointer with * for indices: the field of a class
	Origin  session.Origin // of the field
	value   []byte         // nil = taken away
	opening bool           // the line stands before the first request
}

// Harmless reports whether the change means nothing.
func (c *Change) Harmless() bool {
	switch c.Kind {
	case KeyOrder, UnknownField, UnknownLine, Annotation:
		return true
	}
	return false
}

// class is what is sampled.
func (c *Change) class() string { return c.Field + "\x00" + string(c.Kind) }

func (c *Change) String() string {
	return fmt.Sprintf("%s, line %d: %s %s", c.Path, c.Line, c.Field, c.Kind)
}

// laterField and laterLine stand for what a later version may add.
const (
	laterField = "zz_later"
	laterLine  = session.Type("zz.later")
)

// each calls fn with every change of a line; next is the line after it, nil at
// the end. The Change is fn's to keep.
func each(path string, l, next *session.Line, fn func(*Change)) error {
	emit := func(kind Kind, pointer string, origin session.Origin, value []byte) {
		c := &Change{Path: path, Line: l.No, Type: l.Type, Kind: kind, Pointer: pointer, Origin: origin, value: value, opening: l.Turn == 0}
		c.Field = strings.TrimSpace(string(l.Type) + " " + pattern(pointer))
		fn(c)
	}
	var err error
	keys := 0
	l.Keys(func(key string, v []byte) {
		if key == "lines" || key == "digest" && l.Type == session.TypeFooter {
			return // the writer's own: the chain covers them
		}
		origin := origins[l.Type][key]
		if origin == "" {
			return // of a later version
		}
		if key != "lane" && key != "turn" {
			keys++
		}
		if l.Type == session.TypeHeader && (key == "v" || key == "canon") {
			return // says in which format the file is: under another there is nothing to judge
		}
		if e := eachValue("/"+key, v, true, func(kind Kind, pointer string, value []byte) {
			if origin == session.Annotation {
				kind = Annotation
			}
			emit(kind, pointer, origin, value)
		}); e != nil && err == nil {
			err = e
		}
	})
	if err != nil {
		return fmt.Errorf("%s: line %d: %w", path, l.No, err)
	}
	emit(UnknownField, "", "", nil)
	if keys > 1 {
		emit(KeyOrder, "", "", nil)
	}
	if l.Type == session.TypeFooter {
		emit(NoLine, "", session.Derived, nil)
		return nil
	}
	emit(UnknownLine, "", "", nil)
	if l.Type == session.TypeHeader {
		return nil
	}
	emit(NoLine, "", session.Derived, nil)
	emit(Double, "", session.Derived, nil)
	if next != nil && next.Type != session.TypeFooter && (next.Type != l.Type || string(next.Payload()) != string(l.Payload())) {
		emit(Swapped, "", session.Derived, nil)
	}
	return nil
}

// eachValue gives the changes of a value and of what it holds. within says that
// it is a member or element that can be taken away.
func eachValue(at string, v jsontext.Value, within bool, emit func(Kind, string, []byte)) error {
	if within {
		emit(Remove, at, nil)
	}
	switch v.Kind() {
	case '"':
		return eachText(at, v, emit)
	case '0':
		eachNumber(at, string(v), emit)
	case 't', 'f':
		emit(Flip, at, []byte(strconv.FormatBool(v.Kind() == 'f')))
	case 'n':
		emit(Null, at, []byte("1"))
	case '[':
		return eachList(at, v, emit)
	case '{':
		if strings.HasPrefix(at, "/body/schema") || strings.Contains(at, "/evidence") || at == "/params" || at == "/config" {
			emit(Add, at, append([]byte(`{"zz":1`+comma(v)), v[1:]...))
		}
		return patch.Members(v, func(key string, v jsontext.Value) error {
			return eachValue(at+"/"+patch.EscapeToken.Replace(key), v, true, emit)
		})
	}
	return nil
}

func comma(v jsontext.Value) string {
	if len(v) == len("{}") {
		return ""
	}
	return ","
}

func eachText(at string, v jsontext.Value, emit func(Kind, string, []byte)) error {
	b, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return err
	}
	text := string(b)
	if other, ok := otherLetter(text); ok {
		emit(Letter, at, patch.Quote(other))
	}
	emit(Longer, at, patch.Quote(text+"x"))
	if text != "" {
		emit(Empty, at, []byte(`""`))
	}
	return nil
}

// otherLetter changes one digit or letter in the middle of a text into another
// of its kind; hex digits stay hex digits.
func otherLetter(s string) (string, bool) {
	for k := range len(s) {
		i := (len(s)/2 + k) % len(s)
		c := s[i]
		switch {
		case c >= '0' && c < '9' || c >= 'a' && c < 'f' || c >= 'g' && c < 'z' || c >= 'A' && c < 'Z':
			c++
		case c == '9' || c == 'f' || c == 'z' || c == 'Z':
			c--
		default:
			continue
		}
		if i > 0 && s[i-1] == '\\' {
			continue // of an escape within a JSON text: it might say the same
		}
		return s[:i] + string(c) + s[i+1:], true
	}
	return "", false
}

func eachNumber(at, n string, emit func(Kind, string, []byte)) {
	const huge = "9007199254740993"
	if i, err := strconv.ParseInt(n, 10, 64); err == nil {
		emit(Number, at, strconv.AppendInt(nil, i+1, 10))
		emit(Lexeme, at, []byte(n+".0"))
	} else {
		emit(Number, at, []byte("7"))
	}
	if n != huge {
		emit(Huge, at, []byte(huge))
	}
}

func eachList(at string, v jsontext.Value, emit func(Kind, string, []byte)) error {
	var list []jsontext.Value
	if err := patch.Elements(v, func(e jsontext.Value) error { list = append(list, e); return nil }); err != nil {
		return err
	}
	more := []byte(`7`)
	if n := len(list); n > 0 {
		more = list[n-1]
	}
	if string(more) == "0" {
		more = []byte("1")
	}
	emit(Add, at, patch.Join(append(slices.Clone(list), more)))
	for i := 1; i < len(list); i++ {
		if string(list[i-1]) != string(list[i]) {
			other := slices.Clone(list)
			other[i-1], other[i] = other[i], other[i-1]
			emit(Swap, at, patch.Join(other))
			break
		}
	}
	for i, e := range list {
		if err := eachValue(at+"/"+strconv.Itoa(i), e, true, emit); err != nil {
			return err
		}
	}
	return nil
}

// pattern makes the name of a class's field: indices and names that the
// scenario chose are *, and what a tool's schema holds is one field.
func pattern(pointer string) string {
	if pointer == "" {
		return ""
	}
	tokens := strings.Split(pointer[1:], "/")
	for i, t := range tokens {
		path := strings.Join(tokens[:i], "/")
		switch {
		case path == "body/schema" || strings.HasSuffix(path, "/evidence") || path == "config/extra/acceptance":
			return "/" + path + "/…"
		case path == "config/prices" || path == "config/extra/paths" || path == "labels":
			tokens[i] = "*"
		case t != "" && strings.Trim(t, "0123456789") == "":
			tokens[i] = "*"
		}
	}
	return "/" + strings.Join(tokens, "/")
}

// origins says where the top-level fields of each type come from.
var origins = func() map[session.Type]map[string]session.Origin {
	m := map[session.Type]map[string]session.Origin{}
	for _, f := range session.Fields {
		if strings.ContainsAny(f.Name, ".[") {
			continue
		}
		if m[f.Line] == nil {
			m[f.Line] = map[string]session.Origin{}
		}
		m[f.Line][f.Name] = f.Origin
	}
	for t, fields := range m {
		if t != "" {
			fields["lane"], fields["turn"] = session.Derived, session.Derived
		}
	}
	return m
}()

// payloadOf writes what stands in place of a line's payload.
func (c *Change) payloadOf(l *session.Line) ([]byte, error) {
	switch {
	case c.Kind == UnknownField:
		return append(slices.Clone(l.Payload()), `,"`+laterField+`":{"of":["a later version"]}`...), nil
	case c.Kind == KeyOrder:
		return reversed(l), nil
	case c.Pointer == "":
		return l.Payload(), nil
	}
	return l.With(c.Pointer, c.value)
}

// reversed returns the payload with its fields in reverse order, but for lane
// and turn, whose place the format fixes. The members of answers, changes and
// files are reversed as well; canonical JSON stays as it is.
func reversed(l *session.Line) []byte {
	var first []byte
	var rest [][]byte
	l.Keys(func(key string, v []byte) {
		if key == "lines" || key == "digest" && l.Type == session.TypeFooter {
			return
		}
		switch key {
		case "items", "delta", "tree", "error":
			v = patch.Reverse(v)
		}
		f := append([]byte(`,"`+key+`":`), v...)
		if key == "lane" || key == "turn" {
			first = append(first, f...)
		} else {
			rest = append(rest, f)
		}
	})
	slices.Reverse(rest)
	return append(first, slices.Concat(rest...)...)
}

// laneOf is the lane as a payload says it.
func laneOf(l *session.Line) string {
	if l.Lane == event.MainLane {
		return ""
	}
	return `,"lane":` + string(patch.Quote(l.Lane))
}
