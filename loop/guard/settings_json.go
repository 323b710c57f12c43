package guard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/loop/model"
)

// AppendJSON appends the canonical JSON of s: an object by guard name, each
// with mode, v (behaviour version) and its parameters as integers in the units
// of the table (durations in nanoseconds). Settings that were read are written as
// they stood: guards that the text did not have are left out.
func (s Settings) AppendJSON(b []byte) []byte {
	rows, forms := s.all(), rowForms()
	b = append(b, '{')
	open := len(b)
	for _, at := range forms.order {
		r := &rows[at]
		if r.absent {
			continue
		}
		if len(b) > open {
			b = append(b, ',')
		}
		b = model.AppendString(b, Table[at].Name)
		if r.raw != "" {
			b = append(b, ':')
			b = append(b, r.raw...)
			continue
		}
		for _, f := range forms.of[formKey{at, r.Version}] {
			b = append(b, f.open...)
			switch f.at {
			case fieldMode:
				b = model.AppendString(b, string(r.Mode))
			case fieldVersion:
				b = strconv.AppendInt(b, int64(r.Version), 10)
			default:
				b = strconv.AppendInt(b, r.Values[f.at], 10)
			}
		}
		b = append(b, '}')
	}
	return append(b, '}')
}

// forms is how the guards stand in JSON: the table's indices in the order of the
// names, and for every behaviour its fields in the order of theirs.
type forms struct {
	order []int
	of    map[formKey][]rowField
}

type formKey struct{ at, version int }

// rowField is one field of a guard: what stands before its value, and the index
// of the parameter.
type rowField struct {
	at   int // fieldMode and fieldVersion are no parameters
	open string
}

const (
	fieldMode    = -1
	fieldVersion = -2
)

// rowForms sorts the guards and their fields by name, once.
var rowForms = sync.OnceValue(func() forms {
	out := forms{of: map[formKey][]rowField{}}
	for i := range Table {
		out.order = append(out.order, i)
		for _, v := range Table[i].Versions() {
			b, _ := Table[i].at(v)
			names := map[string]int{"mode": fieldMode, "v": fieldVersion}
			for j := range b.params {
				names[b.params[j].Name] = j
			}
			var fields []rowField
			for k, name := range slices.Sorted(maps.Keys(names)) {
				fields = append(fields, rowField{names[name], [...]string{":{", ","}[min(k, 1)] + string(model.AppendString(nil, name)) + ":"})
			}
			out.of[formKey{i, v}] = fields
		}
	}
	slices.SortFunc(out.order, func(x, y int) int { return strings.Compare(Table[x].Name, Table[y].Name) })
	return out
})

// OldBehaviourError says that settings ask for a behaviour that is not in the
// code: one that was dropped, or one of a later version.
type OldBehaviourError struct {
	Guard string // or "the loop"
	Want  int
	Have  []int // in rising order; none = there is no such guard
}

func (e *OldBehaviourError) Error() string {
	what := e.Guard
	if Lookup(what) >= 0 || len(e.Have) == 0 {
		what = "guard " + what
	}
	if len(e.Have) == 0 {
		return fmt.Sprintf("%s: recorded under behaviour version %d, this version has no such guard", what, e.Want)
	}
	var have []string
	for _, v := range e.Have {
		have = append(have, strconv.Itoa(v))
	}
	return fmt.Sprintf("%s: recorded under behaviour version %d, this version has %s", what, e.Want, strings.Join(have, ", "))
}

// ParseSettings reads what AppendJSON wrote. A guard that the object lacks is
// off: it did not exist when the object was written. A guard that stands there
// has its mode, behaviour version and every parameter of that version; one that
// this version does not know is an error. Of several guards with errors the first
// in the text is told. Of a behaviour that is not in the code the error is an
// *OldBehaviourError; a guard that was off had none.
func ParseSettings(data []byte) (Settings, error) {
	s := MustProfile(ProfileNone)
	for i := range s.rows {
		s.rows[i].absent, s.rows[i].Mode = true, Off // also what stays in force today
	}
	obj, err := decodeObject(data)
	if err != nil {
		return Settings{}, fmt.Errorf("guards: %w", err)
	}
	for _, m := range obj {
		i := Lookup(m.name)
		if i < 0 {
			return Settings{}, foreignGuard(m)
		}
		if err := parseRow(&s.rows[i], &Table[i], m.value); err != nil {
			return Settings{}, err
		}
	}
	return s, nil
}

// foreignGuard is the error of a guard that the table does not have: a later
// version's, where it is set as one.
func foreignGuard(m member) error {
	var row Setting
	given, _, err := decodeRow(m.name, m.value)
	if err != nil || parseMode(&row, m.name, given) != nil {
		return unknownGuard(m.name)
	}
	return &OldBehaviourError{Guard: m.name, Want: row.Version}
}

func decodeRow(name string, raw jsontext.Value) (given map[string]jsontext.Value, fields []member, err error) {
	if fields, err = decodeObject(raw); err != nil {
		return nil, nil, fmt.Errorf("guard %s: %w", name, err)
	}
	given = make(map[string]jsontext.Value, len(fields))
	for _, m := range fields {
		given[m.name] = m.value
	}
	return given, fields, nil
}

// parseRow reads one guard's setting. Mode and behaviour version come first:
// they say which parameters there are.
func parseRow(row *Setting, d *Def, raw jsontext.Value) error {
	given, fields, err := decodeRow(d.Name, raw)
	if err != nil {
		return err
	}
	row.absent = false
	if err := parseMode(row, d.Name, given); err != nil {
		return err
	}
	b, ok := d.at(row.Version)
	if !ok {
		if row.Mode != Off {
			return &OldBehaviourError{d.Name, row.Version, d.Versions()}
		}
		if err := raw.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil {
			return fmt.Errorf("guard %s: %w", d.Name, err)
		}
		row.raw = string(raw)
		return nil
	}
	for _, m := range fields {
		if m.name != "mode" && m.name != "v" && b.param(m.name) < 0 {
			return fmt.Errorf("guard %s has no parameter %q", d.Name, m.name)
		}
	}
	row.Values = make([]int64, len(b.params))
	for j := range b.params {
		p := &b.params[j]
		if row.Values[j], err = wholeNumber(d.Name, p.Name, given); err != nil {
			return err
		}
		if n := row.Values[j]; n < p.Min || n > p.Max {
			return fmt.Errorf("guard %s, %s: %d is outside %d..%d", d.Name, p.Name, n, p.Min, p.Max)
		}
	}
	return nil
}

func parseMode(row *Setting, name string, given map[string]jsontext.Value) error {
	raw, ok := given["mode"]
	if !ok {
		return fmt.Errorf("guard %s: mode is missing", name)
	}
	mode, err := jsontext.AppendUnquote(nil, raw)
	if err != nil || (Mode(mode) != Off && Mode(mode) != Shadow && Mode(mode) != Enforce) {
		return fmt.Errorf("guard %s: no mode %.80s; there are enforce, shadow, off", name, raw)
	}
	row.Mode = Mode(mode)
	v, err := wholeNumber(name, "v", given)
	row.Version = int(v)
	return err
}

func wholeNumber(name, key string, given map[string]jsontext.Value) (int64, error) {
	raw, ok := given[key]
	if !ok {
		return 0, fmt.Errorf("guard %s: %s is missing", name, key)
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("guard %s, %s: %.80s is no whole number", name, key, raw)
	}
	return n, nil
}

// member is one name and value of an object.
type member struct {
	name  string
	value jsontext.Value
}

// decodeObject splits a JSON object into its members, in order. Duplicate names
// and anything after the object are errors.
func decodeObject(data []byte) ([]member, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	tok, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	if tok.Kind() != '{' {
		return nil, fmt.Errorf("expected an object, found %s", tok.Kind())
	}
	var out []member
	for dec.PeekKind() != '}' {
		key, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		name := key.String()
		val, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		out = append(out, member{name, val.Clone()})
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return nil, errors.New("something follows the object")
	}
	return out, nil
}
