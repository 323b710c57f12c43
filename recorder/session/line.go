package session

import (
	"bytes"
	"fmt"

	"github.com/harnessbench/harnessbench/loop/event"
)

// Line is one sound line of a session: its JSON, number and chain were checked.
// Its bytes belong to the Reader and are valid until the next call of Next;
// Clone keeps them.
type Line struct {
	No     int   // from 1; equals Seq
	Seq    int64 // as the line says
	Offset int64 // of the line's first byte in the (decompressed) file
	Type   Type
	Lane   string // event.MainLane unless the line says otherwise
	Turn   int    // the line's own or, where it says none, the last one said in its lane
	Raw    []byte // the whole line, without its LF

	payload []byte // of Raw
	fields  []span // of all members of Raw
}

// Payload returns the bytes between the type and the chain piece: empty, or
// `,"key":value` once or more. A footer's payload ends before "lines" and
// "digest". It is what recorder.Encoder makes of the event and what a replay
// compares.
func (l *Line) Payload() []byte { return l.payload }

// Field returns the raw JSON value of a top-level field of the payload.
func (l *Line) Field(key string) ([]byte, bool) {
	for _, f := range l.fields {
		if string(l.Raw[f.ks:f.ke]) == key {
			return l.Raw[f.vs:f.ve], true
		}
	}
	return nil, false
}

// Keys calls fn with each top-level field of the payload, in line order; seq, t
// and h are no part of it. A key is given without quotes, escapes kept.
func (l *Line) Keys(fn func(key string, value []byte)) {
	for _, f := range l.fields[2 : len(l.fields)-1] {
		fn(string(l.Raw[f.ks:f.ke]), l.Raw[f.vs:f.ve])
	}
}

// Clone returns a copy that stays valid.
func (l *Line) Clone() *Line {
	c := *l
	c.Raw = bytes.Clone(l.Raw)
	if l.payload != nil {
		at := cap(l.Raw) - cap(l.payload)
		c.payload = c.Raw[at : at+len(l.payload)]
	}
	c.fields = append([]span(nil), l.fields...)
	return &c
}

// parse fills l from raw, whose JSON the scanner has passed and whose fields it
// noted. It checks the frame: seq and t first, h last.
func (l *Line) parse(raw []byte, fields []span) error {
	*l = Line{No: l.No, Offset: l.Offset, Raw: raw, fields: fields, Lane: event.MainLane}
	n := len(fields)
	key := func(i int) string { return string(raw[fields[i].ks:fields[i].ke]) }
	if n < 3 || key(0) != "seq" || key(1) != "t" || key(n-1) != "h" {
		return &syntaxError{0, `a line begins with "seq" and "t" and ends with "h"`}
	}
	seq, ok := parseInt(raw[fields[0].vs:fields[0].ve])
	if !ok {
		return &syntaxError{fields[0].vs, `"seq" is no integer`}
	}
	t := raw[fields[1].vs:fields[1].ve]
	if len(t) < 2 || t[0] != '"' || !validType(string(t[1:len(t)-1])) {
		return &syntaxError{fields[1].vs, `"t" is no line type`}
	}
	l.Seq, l.Type = seq, internType(t[1:len(t)-1])
	l.payload = raw[fields[1].ve:fields[n-2].ve]
	if l.Type == TypeFooter {
		return l.cutFooter()
	}
	return nil
}

// cutFooter takes the writer's own two fields off a footer's payload.
func (l *Line) cutFooter() error {
	n := len(l.fields)
	if n < 5 || !l.isKey(n-3, "lines") || !l.isKey(n-2, "digest") {
		return &syntaxError{0, `a footer ends with "lines", "digest" and "h"`}
	}
	l.payload = l.Raw[l.fields[1].ve:l.fields[n-4].ve]
	return nil
}

func (l *Line) isKey(i int, key string) bool {
	return string(l.Raw[l.fields[i].ks:l.fields[i].ke]) == key
}

// place sets lane and turn from the first fields of the payload, where the
// format puts them. own reports whether the line says its turn.
func (l *Line) place() (own bool, err error) {
	i := 2
	if i < len(l.fields) && l.isKey(i, "lane") {
		if l.Lane, err = unquote(l.Raw[l.fields[i].vs:l.fields[i].ve]); err != nil || l.Lane == "" {
			return false, &syntaxError{l.fields[i].vs, `"lane" is no name`}
		}
		i++
	}
	if i < len(l.fields) && l.isKey(i, "turn") {
		n, ok := parseInt(l.Raw[l.fields[i].vs:l.fields[i].ve])
		if !ok || n < 0 || n > 1<<31-1 {
			return false, &syntaxError{l.fields[i].vs, `"turn" is no count`}
		}
		l.Turn, own = int(n), true
	}
	return own, nil
}

// knownTypes makes Line.Type without an allocation for the types of v1.
var knownTypes = func() map[string]Type {
	m := map[string]Type{}
	for _, t := range []Type{
		TypeHeader, TypePart, TypeRequest, TypeAttempt, TypeResponse, TypeToolRequest, TypeToolResult,
		TypeGuard, TypeApproval, TypeAcceptance, TypeState, TypeNote, TypeWire, TypeFooter,
		TypeLaneStart, TypeLaneEnd, TypeUser, TypeApprovalRequest, TypeApprovalDecision, TypeWorkStart, TypeWorkDone, TypeNondet,
	} {
		m[string(t)] = t
	}
	return m
}()

func internType(b []byte) Type {
	if t, ok := knownTypes[string(b)]; ok {
		return t
	}
	return Type(b)
}

// decodeErr makes the error of a field that is not what the type asks for.
func (l *Line) decodeErr(field, format string, a ...any) error {
	return &DecodeError{Line: l.No, Type: l.Type, Field: field, What: fmt.Sprintf(format, a...)}
}
