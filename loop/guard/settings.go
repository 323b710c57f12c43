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

// Setting is how one guard is set.
type Setting struct {
	Mode    Mode
	Version int     // behaviour version it was made for
	Values  []int64 // in the order of the guard's Params
}

// Settings say for every guard of the table how it is set. A Settings value is
// immutable: With and WithParam return changed copies. The zero Settings is
// profile none.
type Settings struct{ rows []Setting }

// Profile names of settings.
const (
	ProfileNone    = "none"
	ProfileDefault = "default"
	ProfileFull    = "full"
)

// Profiles lists the profile names.
func Profiles() []string { return []string{ProfileNone, ProfileDefault, ProfileFull} }

// Profile returns a named set of settings.
func Profile(name string) (Settings, error) {
	rows := make([]Setting, len(Table))
	for i := range Table {
		d := &Table[i]
		rows[i] = Setting{Version: d.Version, Values: make([]int64, len(d.Params))}
		for j := range d.Params {
			rows[i].Values[j] = d.Params[j].Default
		}
		switch name {
		case ProfileNone:
			rows[i].Mode = Off
		case ProfileDefault:
			rows[i].Mode = d.Mode
		case ProfileFull:
			rows[i].Mode = d.Full
		default:
			return Settings{}, fmt.Errorf("no profile %q; there are %s", name, strings.Join(Profiles(), ", "))
		}
	}
	return Settings{rows}, nil
}

// MustProfile is Profile for names known to exist.
func MustProfile(name string) Settings {
	s, err := Profile(name)
	if err != nil {
		panic(err)
	}
	return s
}

// Get returns the setting of a guard; the zero Setting for a name that is none.
func (s Settings) Get(name string) Setting {
	i := Lookup(name)
	if i < 0 {
		return Setting{Mode: Off}
	}
	r := s.all()[i]
	r.Values = slices.Clone(r.Values)
	return r
}

// Mode returns the mode of a guard.
func (s Settings) Mode(name string) Mode {
	if i := Lookup(name); i >= 0 && i < len(s.rows) {
		return s.rows[i].Mode
	}
	return Off
}

// all returns a row for every guard of the table.
func (s Settings) all() []Setting {
	if s.rows == nil {
		return MustProfile(ProfileNone).rows
	}
	return s.rows
}

// Param returns the value of one parameter in the unit of the table; 0 for a
// name that is none.
func (s Settings) Param(name, param string) int64 {
	if i := Lookup(name); i >= 0 {
		if j := Table[i].param(param); j >= 0 {
			return s.all()[i].Values[j]
		}
	}
	return 0
}

func (s Settings) clone() Settings {
	rows := slices.Clone(s.all())
	for i := range rows {
		rows[i].Values = slices.Clone(rows[i].Values)
	}
	return Settings{rows}
}

// With returns s with one guard in another mode.
func (s Settings) With(name string, mode Mode) (Settings, error) {
	i := Lookup(name)
	if i < 0 {
		return s, unknownGuard(name)
	}
	if mode != Off && mode != Shadow && mode != Enforce {
		return s, fmt.Errorf("guard %s: no mode %q; there are enforce, shadow, off", name, mode)
	}
	c := s.clone()
	c.rows[i].Mode = mode
	return c, nil
}

// WithParam returns s with one parameter changed.
func (s Settings) WithParam(name, param, value string) (Settings, error) {
	i := Lookup(name)
	if i < 0 {
		return s, unknownGuard(name)
	}
	d := &Table[i]
	j := d.param(param)
	if j < 0 {
		var have []string
		for k := range d.Params {
			have = append(have, d.Params[k].Name)
		}
		return s, fmt.Errorf("guard %s has no parameter %q; it has mode %s", name, param, strings.Join(have, " "))
	}
	v, err := d.Params[j].Parse(value)
	if err != nil {
		return s, fmt.Errorf("guard %s, parameter %s: %w", name, param, err)
	}
	c := s.clone()
	c.rows[i].Values[j] = v
	return c, nil
}

func unknownGuard(name string) error {
	return fmt.Errorf("no guard %q; there are %s", name, strings.Join(Names(), ", "))
}

// Differ returns the names of the guards that are set differently in a and b.
func Differ(a, b Settings) []string {
	var out []string
	x, y := a.all(), b.all()
	for i := range Table {
		if x[i].Mode != y[i].Mode || !slices.Equal(x[i].Values, y[i].Values) {
			out = append(out, Table[i].Name)
		}
	}
	return out
}

// AppendJSON appends the canonical JSON of s: an object by guard name, each
// with mode, v (behaviour version) and its parameters as integers in the units
// of the table (durations in nanoseconds).
func (s Settings) AppendJSON(b []byte) []byte {
	rows := s.all()
	for n, g := range jsonOrder() {
		b = append(b, "{,"[min(n, 1)])
		b = model.AppendString(b, Table[g.at].Name)
		for k, f := range g.fields {
			b = append(b, g.open[k]...)
			switch f {
			case fieldMode:
				b = model.AppendString(b, string(rows[g.at].Mode))
			case fieldVersion:
				b = strconv.AppendInt(b, int64(rows[g.at].Version), 10)
			default:
				b = strconv.AppendInt(b, rows[g.at].Values[f], 10)
			}
		}
		b = append(b, '}')
	}
	return append(b, '}')
}

// guardJSON is how one guard stands in JSON: its place in the table, and its
// fields in sorted order with what stands before each value.
type guardJSON struct {
	at     int
	fields []int // index of a parameter, fieldMode or fieldVersion
	open   []string
}

const (
	fieldMode    = -1
	fieldVersion = -2
)

// jsonOrder sorts the guards and their fields by name, once.
var jsonOrder = sync.OnceValue(func() []guardJSON {
	out := make([]guardJSON, len(Table))
	for i := range Table {
		names := map[string]int{"mode": fieldMode, "v": fieldVersion}
		for j := range Table[i].Params {
			names[Table[i].Params[j].Name] = j
		}
		g := guardJSON{at: i}
		for k, name := range slices.Sorted(maps.Keys(names)) {
			g.fields = append(g.fields, names[name])
			g.open = append(g.open, [...]string{":{", ","}[min(k, 1)]+string(model.AppendString(nil, name))+":")
		}
		out[i] = g
	}
	slices.SortFunc(out, func(x, y guardJSON) int { return strings.Compare(Table[x.at].Name, Table[y.at].Name) })
	return out
})

// OldBehaviourError says that settings ask for a behaviour this version no
// longer has.
type OldBehaviourError struct {
	Guard      string
	Want, Have int
}

func (e *OldBehaviourError) Error() string {
	return fmt.Sprintf("guard %s: recorded under behaviour version %d, this version has %d", e.Guard, e.Want, e.Have)
}

// ParseSettings reads what AppendJSON wrote. A guard that the object lacks is
// off: it did not exist when the object was written. A guard that stands there
// has its mode, behaviour version and every parameter; one that this version
// does not know is an error. Of several guards with errors the first in the text
// is told.
func ParseSettings(data []byte) (Settings, error) {
	s := MustProfile(ProfileNone)
	obj, err := decodeObject(data)
	if err != nil {
		return Settings{}, fmt.Errorf("guards: %w", err)
	}
	for _, m := range obj {
		i := Lookup(m.name)
		if i < 0 {
			return Settings{}, unknownGuard(m.name)
		}
		if err := parseRow(&s.rows[i], &Table[i], m.value); err != nil {
			return Settings{}, err
		}
	}
	return s, nil
}

// parseRow reads one guard's setting. Mode and behaviour version come first:
// under another version the parameters may be others, which is no error of the
// text.
func parseRow(row *Setting, d *Def, raw jsontext.Value) error {
	fields, err := decodeObject(raw)
	if err != nil {
		return fmt.Errorf("guard %s: %w", d.Name, err)
	}
	given := make(map[string]jsontext.Value, len(fields))
	for _, m := range fields {
		given[m.name] = m.value
	}
	if err := parseMode(row, d, given); err != nil {
		return err
	}
	if row.Version != d.Version {
		if row.Mode != Off {
			return &OldBehaviourError{d.Name, row.Version, d.Version}
		}
		return nil
	}
	for _, m := range fields {
		if m.name != "mode" && m.name != "v" && d.param(m.name) < 0 {
			return fmt.Errorf("guard %s has no parameter %q", d.Name, m.name)
		}
	}
	for j := range d.Params {
		p := &d.Params[j]
		if row.Values[j], err = wholeNumber(d, p.Name, given); err != nil {
			return err
		}
		if n := row.Values[j]; n < p.Min || n > p.Max {
			return fmt.Errorf("guard %s, %s: %d is outside %d..%d", d.Name, p.Name, n, p.Min, p.Max)
		}
	}
	return nil
}

func parseMode(row *Setting, d *Def, given map[string]jsontext.Value) error {
	raw, ok := given["mode"]
	if !ok {
		return fmt.Errorf("guard %s: mode is missing", d.Name)
	}
	mode, err := jsontext.AppendUnquote(nil, raw)
	if err != nil || (Mode(mode) != Off && Mode(mode) != Shadow && Mode(mode) != Enforce) {
		return fmt.Errorf("guard %s: no mode %.80s; there are enforce, shadow, off", d.Name, raw)
	}
	row.Mode = Mode(mode)
	v, err := wholeNumber(d, "v", given)
	row.Version = int(v)
	return err
}

func wholeNumber(d *Def, key string, given map[string]jsontext.Value) (int64, error) {
	raw, ok := given[key]
	if !ok {
		return 0, fmt.Errorf("guard %s: %s is missing", d.Name, key)
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("guard %s, %s: %.80s is no whole number", d.Name, key, raw)
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
