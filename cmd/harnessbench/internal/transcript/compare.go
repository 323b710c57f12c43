package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// Comparison says how two sessions relate. Annotations (labels), the chain of
// lines and running digests are no part of it.
type Comparison struct {
	Schema string       `json:"schema"` // harnessbench/diff/v1
	A      string       `json:"a"`
	B      string       `json:"b"`
	Equal  bool         `json:"equal"`
	IDs    Status       `json:"ids"`   // of the calls: the loop derives them from seed and repetition
	Setup  []Change     `json:"setup"` // what differs in the headers
	Turns  []TurnStatus `json:"turns"`
	First  *Difference  `json:"first"` // in the conversation; null = none
	End    [2]Ending    `json:"end"`   // of A and B
}

// Change is one value that differs.
type Change struct {
	Pointer string `json:"pointer"` // RFC 6901, in the header
	A       string `json:"a"`       // JSON, cut; empty = not there
	B       string `json:"b"`
}

// None is the number of a turn that one of the sessions does not have.
const None = -1

// TurnStatus says what is equal in one turn of a lane; turn 0 is what stands
// before the first. A turn that was inserted or removed stands in one session
// only, and later turns have other numbers in each.
type TurnStatus struct {
	Lane   string
	A, B   int                  // number of the turn; None = it stands in the other only
	Status [len(aspects)]Status // in the order of aspects
}

// Turn is the number of the turn in A, or in B where A does not have it.
func (t *TurnStatus) Turn() int {
	if t.A == None {
		return t.B
	}
	return t.A
}

// MarshalJSON writes {"lane":..., "turn":..., "turn_a":..., "turn_b":...,
// "status":{aspect: status, ...}}; turn_a or turn_b is null where that session
// does not have the turn.
func (t TurnStatus) MarshalJSON() ([]byte, error) {
	b := model.AppendString([]byte(`{"lane":`), t.Lane)
	b = fmt.Appendf(b, `,"turn":%d,"turn_a":%s,"turn_b":%s,"status":{`, t.Turn(), number(t.A), number(t.B))
	for i, name := range aspects {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `"%s":"%s"`, name, t.Status[i])
	}
	return append(b, "}}"...), nil
}

func number(turn int) string {
	if turn == None {
		return "null"
	}
	return strconv.Itoa(turn)
}

// Status is how one aspect of a turn compares.
type Status string

// The statuses.
const (
	Same    Status = "equal"
	Differs Status = "different"
	OnlyA   Status = "only_a"
	OnlyB   Status = "only_b"
	Neither Status = "none"
)

// aspects are what is compared of a turn, in the order of its stages.
var aspects = [...]string{"messages", "request", "attempts", "answer", "calls", "results", "guards", "end", "state"}

var aspectOf = map[session.Type]int{
	session.TypePart: 0, session.TypeRequest: 1, session.TypeAttempt: 2, session.TypeResponse: 3,
	session.TypeApproval: 4, session.TypeToolRequest: 4, session.TypeToolResult: 5, session.TypeGuard: 6, session.TypeAcceptance: 7,
	session.TypeFooter: 7, session.TypeState: 8, session.TypeNote: 3,
}

// Difference is the first thing that differs.
type Difference struct {
	Lane   string `json:"lane"`
	Turn   int    `json:"turn"` // in A, or in B where A does not have it
	TurnB  int    `json:"turn_b"`
	Aspect string `json:"aspect"`
	Type   string `json:"type"`  // of the line
	Field  string `json:"field"` // empty: the line stands in one session only
	LineA  int    `json:"line_a"`
	LineB  int    `json:"line_b"`
	A      string `json:"a"` // cut, around the first byte that differs
	B      string `json:"b"`
}

// Ending is how one session ended.
type Ending struct {
	Reason string `json:"reason"` // empty: it has no end
	Turns  int    `json:"turns"`
}

// ignored are the fields that follow from what is compared, or that no replay
// compares.
var ignored = map[string]bool{"lane": true, "turn": true, "inputs": true, "lines": true, "digest": true}

// isID names the fields that hold ids of calls. They are compared apart: two
// repetitions that do the same have other ids.
func isID(t session.Type, key string) bool {
	return key == "id" && (t == session.TypeApproval || t == session.TypeToolRequest || t == session.TypeToolResult) || key == "on" && t == session.TypeGuard
}

// keptField bounds what is kept of a field to show where it differs.
const keptField = 64 << 10

// entry is one line of a turn.
type entry struct {
	typ    session.Type
	line   int
	id     string
	fields []field
}

type field struct {
	key  string
	sum  model.Digest
	text []byte // cut
}

// group is the lines of one turn of a lane.
type group struct {
	id      int // in the order in which turns begin
	lane    string
	turn    int
	entries []entry
}

// Source opens a session to be read from its beginning. A comparison reads each
// twice: to recognise turns, and to compare those that belong together.
type Source func() (*session.Reader, error)

// Compare compares two sessions. An error is a *[SideError] that says which of
// them cannot be read. Memory grows with the number of turns (about 100 bytes
// each), not with their size, as long as lanes take turns alike in both.
func Compare(a, b Source, nameA, nameB string) (*Comparison, error) {
	c := &Comparison{Schema: "harnessbench/diff/v1", A: nameA, B: nameB, IDs: Same, Setup: []Change{}}
	var keys [2][]turnKey
	var sides [2]*side
	for i, open := range []Source{a, b} {
		r, err := open()
		if err == nil {
			keys[i], err = allKeys(r)
		}
		if err == nil {
			r, err = open()
		}
		if err != nil {
			return nil, &SideError{i, err}
		}
		sides[i] = newSide(r)
	}
	steps := alignTurns(keys[0], keys[1])
	if err := c.walk(sides, steps); err != nil {
		return nil, err
	}
	c.setup(sides[0].header, sides[1].header)
	c.End = [2]Ending{sides[0].end, sides[1].end}
	c.Equal = len(c.Setup) == 0 && c.First == nil && c.IDs == Same && c.End[0] == c.End[1]
	return c, nil
}

// allKeys reads a session for what its turns are recognised by, in the order in
// which they begin.
func allKeys(r *session.Reader) ([]turnKey, error) {
	var keys []turnKey
	s := newSide(r)
	for {
		g, err := s.read()
		if g == nil || err != nil {
			return keys, err
		}
		for len(keys) <= g.id {
			keys = append(keys, turnKey{})
		}
		keys[g.id] = keyOf(g)
	}
}

// walk reads both sessions and compares the turns that belong together.
func (c *Comparison) walk(sides [2]*side, steps []step) error {
	c.Turns = make([]TurnStatus, len(steps))
	var at [2]map[int]int // the step of a turn
	for i := range at {
		at[i] = map[int]int{}
	}
	for n, st := range steps {
		if st.a >= 0 {
			at[0][st.a] = n
		}
		if st.b >= 0 {
			at[1][st.b] = n
		}
	}
	waiting := map[int]*[2]*group{}
	first, last, done := len(steps), [2]int{-1, -1}, [2]bool{}
	for !done[0] || !done[1] {
		i := 0 // the side that is behind
		if done[0] || !done[1] && last[1] < last[0] {
			i = 1
		}
		g, err := sides[i].read()
		if err != nil {
			return &SideError{i, err}
		}
		if g == nil {
			done[i] = true
			continue
		}
		n, ok := at[i][g.id]
		if !ok {
			return &SideError{i, errors.New("the file changed while it was read")}
		}
		last[i] = max(last[i], n)
		pair := waiting[n]
		if pair == nil {
			pair = &[2]*group{}
			waiting[n] = pair
		}
		if pair[i] = g; (pair[0] != nil) == (steps[n].a >= 0) && (pair[1] != nil) == (steps[n].b >= 0) {
			delete(waiting, n)
			if d := c.turn(n, pair[0], pair[1]); d != nil && n < first {
				first, c.First = n, d
			}
		}
	}
	return nil
}

// SideError is an error of one of the two sessions.
type SideError struct {
	Side int // 0 = A, 1 = B
	Err  error
}

func (e *SideError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the reader.
func (e *SideError) Unwrap() error { return e.Err }

func newEntry(l *session.Line) entry {
	e := entry{typ: l.Type, line: l.No}
	l.Keys(func(key string, value []byte) {
		if ignored[key] && !(key == "digest" && l.Type == session.TypePart) {
			return
		}
		if isID(l.Type, key) {
			e.id = clip(string(value), 300)
			return
		}
		e.fields = append(e.fields, field{key, model.Sum(value), bytes.Clone(value[:min(len(value), keptField)])})
	})
	return e
}

// turn compares one turn, the n-th row; a or b may be nil. It returns the first
// difference within.
func (c *Comparison) turn(n int, a, b *group) *Difference {
	t := &c.Turns[n]
	t.A, t.B = None, None
	if a != nil {
		t.Lane, t.A = a.lane, a.turn
	}
	if b != nil {
		t.Lane, t.B = b.lane, b.turn
	}
	for i := range aspects {
		x, y := pick(a, i), pick(b, i)
		t.Status[i] = compareEntries(x, y)
		for j := range min(len(x), len(y)) {
			if x[j].id != y[j].id {
				c.IDs = Differs
			}
		}
	}
	return first(t, a, b)
}

// pick returns a group's lines of one aspect.
func pick(g *group, aspect int) (out []entry) {
	if g == nil {
		return nil
	}
	for _, e := range g.entries {
		if i, known := aspectOf[e.typ]; known && i == aspect {
			out = append(out, e)
		}
	}
	return out
}

func compareEntries(a, b []entry) Status {
	switch {
	case len(a) == 0 && len(b) == 0:
		return Neither
	case len(b) == 0:
		return OnlyA
	case len(a) == 0:
		return OnlyB
	case slices.EqualFunc(a, b, func(x, y entry) bool { return x.typ == y.typ && differing(x, y) < 0 }):
		return Same
	}
	return Differs
}

// differing is the index of the first field of x that y does not have at that
// place with that value; len(x.fields) when y has more; -1 when equal.
func differing(x, y entry) int {
	for i, f := range x.fields {
		if i >= len(y.fields) || y.fields[i].key != f.key || y.fields[i].sum != f.sum {
			return i
		}
	}
	if len(y.fields) > len(x.fields) {
		return len(x.fields)
	}
	return -1
}

// first finds the first difference of a turn in the order of its lines.
func first(t *TurnStatus, a, b *group) *Difference {
	var x, y []entry
	if a != nil {
		x = a.entries
	}
	if b != nil {
		y = b.entries
	}
	for i := 0; i < len(x) || i < len(y); i++ {
		d := &Difference{Lane: t.Lane, Turn: t.Turn(), TurnB: t.B}
		switch {
		case i >= len(y) || i < len(x) && x[i].typ != y[i].typ && before(x[i].typ, y[i].typ):
			d.only(&x[i], &d.LineA, &d.A)
		case i >= len(x) || x[i].typ != y[i].typ:
			d.only(&y[i], &d.LineB, &d.B)
		default:
			at := differing(x[i], y[i])
			if at < 0 {
				continue
			}
			d.in(&x[i], &y[i], at)
		}
		return d
	}
	return nil
}

// before reports whether, of two lines where one session has the one and the
// other the other, the first is the one that is extra: firings are what guards
// add to a turn.
func before(a, b session.Type) bool {
	if (a == session.TypeGuard) != (b == session.TypeGuard) {
		return a == session.TypeGuard
	}
	return aspectOf[a] <= aspectOf[b]
}

func (d *Difference) only(e *entry, line *int, text *string) {
	d.Aspect, d.Type, *line = aspectName(e.typ), string(e.typ), e.line
	var parts []string
	for _, f := range e.fields {
		parts = append(parts, f.key+" "+excerpt(f.text, 0))
	}
	*text = clip(strings.Join(parts, ", "), 400)
}

func (d *Difference) in(x, y *entry, at int) {
	d.Aspect, d.Type, d.LineA, d.LineB = aspectName(x.typ), string(x.typ), x.line, y.line
	var fx, fy field
	if at < len(x.fields) {
		fx = x.fields[at]
	}
	if at < len(y.fields) {
		fy = y.fields[at]
	}
	if fx.key != fy.key { // a field that the other leaves out
		if fy.key == "" || fx.key != "" && !slices.ContainsFunc(y.fields, func(f field) bool { return f.key == fx.key }) {
			fy = field{}
		} else {
			fx = field{}
		}
	}
	d.Field = fx.key
	if d.Field == "" {
		d.Field = fy.key
	}
	same := 0
	for same < len(fx.text) && same < len(fy.text) && fx.text[same] == fy.text[same] {
		same++
	}
	if fx.key != "" {
		d.A = excerpt(fx.text, same)
	}
	if fy.key != "" {
		d.B = excerpt(fy.text, same)
	}
}

func aspectName(t session.Type) string {
	if i, ok := aspectOf[t]; ok {
		return aspects[i]
	}
	return "other"
}

// excerpt is a piece of a value around a byte.
func excerpt(text []byte, at int) string {
	from := max(0, at-60)
	for from > 0 && from < len(text) && text[from]&0xc0 == 0x80 {
		from--
	}
	out := clip(strings.ToValidUTF8(string(text[from:min(len(text), from+260)]), ""), 200)
	if from > 0 {
		out = "…" + out
	}
	return out
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return fmt.Sprintf("%s…", cutRunes(s, n))
}
