package check

import (
	"slices"
	"strconv"
)

// AppendJSON appends the canonical JSON of s: the spelling with "type", keys
// sorted, defaults left out, number lexemes kept. Decoding it gives s again, up
// to Pos.
func (s *Spec) AppendJSON(b []byte) []byte { return s.value().appendCanonical(b) }

// MarshalJSON returns the canonical JSON of s.
func (s Spec) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil), nil }

// UnmarshalJSON decodes a grader from JSON, strictly.
func (s *Spec) UnmarshalJSON(data []byte) error {
	v, err := parseJSON(data)
	if err != nil {
		return err
	}
	return decoder{graders: true}.spec(v, s, 0)
}

// AppendJSON appends the canonical JSON of the list.
func (a Acceptance) AppendJSON(b []byte) []byte { return listOf(a).appendCanonical(b) }

// MarshalJSON returns the canonical JSON of the list.
func (a Acceptance) MarshalJSON() ([]byte, error) { return a.AppendJSON(nil), nil }

// UnmarshalJSON decodes a list of acceptance checks from JSON, strictly.
func (a *Acceptance) UnmarshalJSON(data []byte) error {
	v, err := parseJSON(data)
	if err != nil {
		return err
	}
	return decoder{}.list(v, (*[]Spec)(a))
}

// AppendJSON appends the canonical JSON of the list.
func (g Graders) AppendJSON(b []byte) []byte { return listOf(g).appendCanonical(b) }

// MarshalJSON returns the canonical JSON of the list.
func (g Graders) MarshalJSON() ([]byte, error) { return g.AppendJSON(nil), nil }

// UnmarshalJSON decodes a list of graders from JSON, strictly.
func (g *Graders) UnmarshalJSON(data []byte) error {
	v, err := parseJSON(data)
	if err != nil {
		return err
	}
	return decoder{graders: true}.list(v, (*[]Spec)(g))
}

// The builders below add a member unless it has its default.

type object struct{ value }

func newObject() *object { return &object{value{kind: mapValue}} }

func (o *object) add(key string, v *value) {
	o.members = append(o.members, member{key: key, val: v})
}

func (o *object) text(key, s string) {
	if s != "" {
		o.add(key, str(s))
	}
}

func (o *object) raw(key, lexeme string) {
	if lexeme != "" {
		o.add(key, &value{kind: numberValue, text: lexeme})
	}
}

func (o *object) flag(key string, f bool) {
	if f {
		o.add(key, &value{kind: boolValue, text: "true"})
	}
}

func (o *object) float(key string, f *float64) {
	if f != nil {
		o.raw(key, string(strconv.AppendFloat(nil, *f, 'g', -1, 64)))
	}
}

func (o *object) int(key string, n *int) {
	if n != nil {
		o.raw(key, strconv.Itoa(*n))
	}
}

func (o *object) texts(key string, list []string) {
	if len(list) > 0 {
		v := &value{kind: listValue}
		for _, s := range list {
			v.list = append(v.list, str(s))
		}
		o.add(key, v)
	}
}

func str(s string) *value { return &value{kind: stringValue, text: s} }

func listOf(specs []Spec) *value {
	v := &value{kind: listValue}
	for i := range specs {
		v.list = append(v.list, specs[i].value())
	}
	return v
}

// value returns s as a JSON value.
func (s *Spec) value() *value {
	o := newObject()
	o.text("type", string(s.Kind))
	o.text("id", s.ID)
	o.text("hint", s.Hint)
	o.flag("gate", s.Gate)
	o.float("weight", s.Weight)
	o.text("path", s.Path)
	o.texts("paths", s.Paths)
	info := kinds[s.Kind]
	if slices.Contains(info.need, "want") || slices.Contains(info.may, "want") && s.SHA256 == "" {
		if info.wants == stringValue {
			o.add("want", str(s.Want))
		} else {
			o.add("want", &value{kind: numberValue, text: s.Want}) // canonical JSON already
		}
	}
	o.text("sha256", s.SHA256)
	if s.Trim != s.Kind.DefaultTrim() {
		o.text("trim", string(s.Trim))
	}
	o.flag("ignore_case", s.IgnoreCase)
	if slices.Contains(info.need, "pattern") {
		o.add("pattern", str(s.Pattern))
	} else {
		o.text("pattern", s.Pattern)
	}
	o.text("pointer", s.Pointer)
	o.raw("tolerance", s.Tolerance)
	o.raw("relative", s.Relative)
	if s.Kind == TreeEquals {
		o.add("files", filesValue(s.Files))
	}
	o.texts("ignore", s.Ignore)
	if len(s.Of) > 0 {
		o.add("of", listOf(s.Of))
	}
	o.float("pass_at", s.PassAt)
	if s.Trajectory != nil {
		s.Trajectory.addTo(o)
	}
	return &o.value
}

func filesValue(files []File) *value {
	o := newObject()
	for _, f := range files {
		if f.SHA256 != "" {
			d := newObject()
			d.text("sha256", f.SHA256)
			o.add(f.Path, &d.value)
		} else {
			o.add(f.Path, str(f.Content))
		}
	}
	return &o.value
}

func (t *Trajectory) addTo(o *object) {
	o.matches("use", t.Use)
	o.matches("forbid", t.Forbid)
	o.matches("order", t.Order)
	o.flag("exact", t.Exact)
	if len(t.Counts) > 0 {
		v := &value{kind: listValue}
		for i := range t.Counts {
			c := t.Counts[i].Match.object()
			c.bounds(&t.Counts[i].Range)
			v.list = append(v.list, &c.value)
		}
		o.add("counts", v)
	}
	for _, r := range []struct {
		key string
		r   *Range
	}{{"calls", t.Calls}, {"turns", t.Turns}, {"attempts", t.Attempts}} {
		if r.r != nil {
			b := newObject()
			b.bounds(r.r)
			o.add(r.key, &b.value)
		}
	}
	o.texts("stop", t.Stop)
}

func (o *object) bounds(r *Range) {
	o.int("min", r.Min)
	o.int("max", r.Max)
}

func (o *object) matches(key string, ms []Match) {
	if len(ms) > 0 {
		v := &value{kind: listValue}
		for i := range ms {
			v.list = append(v.list, &ms[i].object().value)
		}
		o.add(key, v)
	}
}

func (m *Match) object() *object {
	o := newObject()
	o.text("tool", m.Tool)
	o.text("outcome", m.Outcome)
	if len(m.Args) > 0 {
		a := newObject()
		for k, p := range m.Args { // sorted when written
			a.add(k, str(p))
		}
		o.add("args", &a.value)
	}
	return o
}
