package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Error is what is wrong with a spec, and where.
type Error struct {
	Pos Pos // zero when the spec was not read from a file
	Msg string
}

// Error says line and column, where known, and what is wrong.
func (e *Error) Error() string {
	if e.Pos == (Pos{}) {
		return e.Msg
	}
	return fmt.Sprintf("%d:%d: %s", e.Pos.Line, e.Pos.Column, e.Msg)
}

// kindInfo says what a kind is made of.
type kindInfo struct {
	known bool
	need  []string // parameters that must be there
	may   []string // parameters that may
	short string   // the parameter that {kind: value} gives
	wants valueKind
}

// attributes may stand beside the parameters of every kind.
var attributes = []string{"id", "hint", "gate", "weight"}

var kinds = map[Kind]kindInfo{
	Equals:         {true, []string{"want"}, []string{"trim", "ignore_case"}, "want", stringValue},
	Contains:       {true, []string{"want"}, []string{"ignore_case"}, "want", stringValue},
	Regex:          {true, []string{"pattern"}, nil, "pattern", stringValue},
	FileExists:     {true, []string{"path"}, nil, "path", stringValue},
	FilesExist:     {true, []string{"paths"}, nil, "paths", stringValue},
	FileEquals:     {true, []string{"path"}, []string{"want", "sha256", "trim", "ignore_case"}, "", stringValue},
	FileContains:   {true, []string{"path", "want"}, []string{"ignore_case"}, "", stringValue},
	FileMatches:    {true, []string{"path", "pattern"}, nil, "", stringValue},
	JSONEquals:     {true, []string{"want"}, []string{"path", "pointer"}, "", mapValue},
	NumberWithin:   {true, []string{"want"}, []string{"path", "pointer", "pattern", "tolerance", "relative"}, "", numberValue},
	TreeEquals:     {true, []string{"files"}, []string{"ignore", "trim"}, "", stringValue},
	All:            {true, []string{"of"}, nil, "of", stringValue},
	Any:            {true, []string{"of"}, nil, "of", stringValue},
	Weighted:       {true, []string{"of"}, []string{"pass_at"}, "of", stringValue},
	TrajectoryKind: {true, nil, trajectoryParams, "", stringValue},
}

var trajectoryParams = []string{"use", "forbid", "order", "exact", "counts", "calls", "turns", "attempts", "stop"}

// Kinds returns all kinds, sorted by name.
func Kinds() []Kind {
	ks := make([]Kind, 0, len(kinds))
	for k := range kinds {
		ks = append(ks, k)
	}
	slices.Sort(ks)
	return ks
}

// decoder turns values into specs. graders tells whether kinds and attributes
// that only graders have are allowed.
type decoder struct{ graders bool }

func errAt(p Pos, format string, args ...any) *Error {
	return &Error{Pos: p, Msg: fmt.Sprintf(format, args...)}
}

func (d decoder) list(v *value, into *[]Spec) error {
	if v.kind == nullValue {
		*into = nil
		return nil
	}
	specs, err := d.specs(v, 0)
	if err != nil {
		return err
	}
	if d.graders {
		if err := validateGraders(specs); err != nil {
			return err
		}
	}
	*into = specs
	return nil
}

func (d decoder) specs(v *value, nesting int) ([]Spec, error) {
	if v.kind != listValue {
		return nil, errAt(v.pos, "a list of checks is wanted, not %s", v.kind)
	}
	if len(v.list) > MaxEntries {
		return nil, errAt(v.pos, "%d checks are more than %d", len(v.list), MaxEntries)
	}
	specs := make([]Spec, len(v.list))
	for i, e := range v.list {
		if err := d.spec(e, &specs[i], nesting); err != nil {
			return nil, err
		}
	}
	return specs, nil
}

// spec decodes one entry in either spelling and validates it.
func (d decoder) spec(v *value, into *Spec, nesting int) error {
	if v.kind != mapValue {
		return errAt(v.pos, "a check is a mapping such as {file_exists: report.md}, not %s", v.kind)
	}
	kind, params, err := d.split(v)
	if err != nil {
		return err
	}
	s := Spec{Kind: kind, Pos: v.pos}
	if nesting > MaxNesting {
		return errAt(v.pos, "groups nest deeper than %d", MaxNesting)
	}
	if !d.graders && !kind.Predicate() {
		return errAt(v.pos, "%s needs a finished session: it is a grader and no acceptance check", kind)
	}
	info := kinds[kind]
	for _, m := range params {
		ok := slices.Contains(attributes, m.key) || slices.Contains(info.need, m.key) || slices.Contains(info.may, m.key)
		if !ok {
			all := slices.Concat(info.need, info.may, attributes)
			return errAt(m.pos, "%s has no parameter %q; it has %s", kind, m.key, strings.Join(all, ", "))
		}
		if !d.graders && (m.key == "gate" || m.key == "weight") {
			return errAt(m.pos, "an acceptance check has no %s: all of them must hold", m.key)
		}
		if err := d.param(&s, m, nesting); err != nil {
			return err
		}
	}
	for _, need := range info.need {
		if !slices.ContainsFunc(params, func(m member) bool { return m.key == need }) {
			return errAt(v.pos, "%s needs %s", kind, need)
		}
	}
	if err := s.validate(params); err != nil {
		return err
	}
	*into = s
	return nil
}

// split tells the two spellings apart and returns the kind and its parameters.
func (d decoder) split(v *value) (Kind, []member, error) {
	if t := v.get("type"); t != nil {
		if t.kind != stringValue || !Kind(t.text).Known() {
			return "", nil, errAt(t.pos, "unknown type %q; known are %s", t.source+t.orEmpty(), kindNames())
		}
		return Kind(t.text), slices.DeleteFunc(slices.Clone(v.members), func(m member) bool { return m.key == "type" }), nil
	}
	var found *member
	var rest []member
	for i := range v.members {
		m := &v.members[i]
		switch {
		case !Kind(m.key).Known():
			rest = append(rest, *m)
		case found != nil:
			return "", nil, errAt(m.pos, "one check has one type, not %s and %s; write two list entries", found.key, m.key)
		default:
			found = m
		}
	}
	if found == nil {
		if len(rest) > 0 {
			return "", nil, errAt(rest[0].pos, "unknown type %q; known are %s", rest[0].key, kindNames())
		}
		return "", nil, errAt(v.pos, "a check needs a type; known are %s", kindNames())
	}
	kind := Kind(found.key)
	if found.val.kind == mapValue {
		return kind, append(slices.Clone(found.val.members), rest...), d.unique(found.val.members, rest)
	}
	short := kinds[kind].short
	if short == "" {
		return "", nil, errAt(found.val.pos, "%s wants a mapping with %s, not %s", kind, strings.Join(kinds[kind].need, ", "), found.val.kind)
	}
	return kind, append([]member{{key: short, pos: found.pos, val: found.val}}, rest...), nil
}

// unique refuses an attribute that stands both inside and beside the
// parameters.
func (decoder) unique(inner, outer []member) error {
	for _, m := range outer {
		if slices.ContainsFunc(inner, func(i member) bool { return i.key == m.key }) {
			return errAt(m.pos, "%s stands twice", m.key)
		}
	}
	return nil
}

// orEmpty returns the text of a JSON scalar, which has no source.
func (v *value) orEmpty() string {
	if v.source != "" {
		return ""
	}
	return v.text
}

func kindNames() string {
	ks := Kinds()
	names := make([]string, len(ks))
	for i, k := range ks {
		names[i] = string(k)
	}
	return strings.Join(names, ", ")
}

// param decodes one attribute or parameter.
func (d decoder) param(s *Spec, m member, nesting int) (err error) {
	v := m.val
	switch m.key {
	case "id":
		s.ID, err = d.text(v, m.key)
	case "hint":
		s.Hint, err = d.text(v, m.key)
	case "gate":
		s.Gate, err = d.bool(v, m.key)
	case "weight":
		s.Weight, err = d.share(v, m.key)
	case "path":
		s.Path, err = d.text(v, m.key)
	case "paths":
		s.Paths, err = d.texts(v, m.key)
	case "want":
		s.Want, err = d.want(s.Kind, v)
	case "sha256":
		s.SHA256, err = d.text(v, m.key)
	case "trim":
		s.Trim, err = d.trim(v)
	case "ignore_case":
		s.IgnoreCase, err = d.bool(v, m.key)
	case "pattern":
		s.Pattern, err = d.text(v, m.key)
	case "pointer":
		s.Pointer, err = d.text(v, m.key)
	case "tolerance":
		s.Tolerance, err = d.number(v, m.key)
	case "relative":
		s.Relative, err = d.number(v, m.key)
	case "files":
		s.Files, err = d.files(v)
	case "ignore":
		s.Ignore, err = d.texts(v, m.key)
	case "of":
		s.Of, err = d.specs(v, nesting+1)
	case "pass_at":
		s.PassAt, err = d.share(v, m.key)
	default:
		if s.Trajectory == nil {
			s.Trajectory = &Trajectory{}
		}
		err = d.trajectory(s.Trajectory, m)
	}
	return err
}

// text decodes a text. A number or boolean stands for the characters it was
// written with, so want: 00900 is the text 00900.
func (decoder) text(v *value, name string) (string, error) {
	s := v.text
	switch v.kind {
	case stringValue:
	case numberValue, boolValue:
		if v.source != "" {
			s = v.source
		}
	default:
		return "", errAt(v.pos, "%s wants a text, not %s", name, v.kind)
	}
	if len(s) > MaxText {
		return "", errAt(v.pos, "%s is longer than %d bytes", name, MaxText)
	}
	if !utf8Valid([]byte(s)) {
		return "", errAt(v.pos, "%s is no UTF-8 text", name)
	}
	return s, nil
}

// texts decodes a list of texts; one text is a list of one.
func (d decoder) texts(v *value, name string) ([]string, error) {
	if v.kind != listValue {
		s, err := d.text(v, name)
		return []string{s}, err
	}
	if len(v.list) > MaxEntries {
		return nil, errAt(v.pos, "%s has more than %d entries", name, MaxEntries)
	}
	out := make([]string, len(v.list))
	for i, e := range v.list {
		var err error
		if out[i], err = d.text(e, name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (decoder) bool(v *value, name string) (bool, error) {
	if v.kind != boolValue {
		return false, errAt(v.pos, "%s wants true or false, not %s", name, v.kind)
	}
	return v.text == "true", nil
}

func (decoder) number(v *value, name string) (string, error) {
	if v.kind != numberValue {
		return "", errAt(v.pos, "%s wants a number, not %s", name, v.kind)
	}
	if _, ok := parseDecimal(v.text).rat(); !ok {
		return "", errAt(v.pos, "%s: the number %s is out of range", name, cut(v.text, 40))
	}
	return v.text, nil
}

// share decodes a weight or a threshold.
func (d decoder) share(v *value, name string) (*float64, error) {
	s, err := d.number(v, name)
	if err != nil {
		return nil, err
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, errAt(v.pos, "%s: the number %s is out of range", name, cut(s, 40))
	}
	return &f, nil
}

func (decoder) trim(v *value) (Trim, error) {
	switch {
	case v.kind == boolValue && v.text == "true":
		return TrimSpace, nil
	case v.kind == boolValue:
		return TrimNone, nil
	case v.kind == stringValue && (v.text == string(TrimNone) || v.text == string(TrimNewline) || v.text == string(TrimSpace)):
		return Trim(v.text), nil
	}
	return "", errAt(v.pos, "trim wants none, newline or space (false and true mean none and space)")
}

// want decodes what is wanted, which the kind says how to read.
func (d decoder) want(k Kind, v *value) (string, error) {
	switch kinds[k].wants {
	case mapValue: // any JSON
		b := v.appendCanonical(nil)
		if len(b) > MaxText {
			return "", errAt(v.pos, "want is longer than %d bytes", MaxText)
		}
		return string(b), nil
	case numberValue:
		return d.number(v, "want")
	default:
		if v.kind == nullValue {
			return "", errAt(v.pos, `want is empty; write "" for the empty text`)
		}
		return d.text(v, "want")
	}
}

func (d decoder) files(v *value) ([]File, error) {
	if v.kind != mapValue {
		return nil, errAt(v.pos, "files wants a mapping from paths to contents, not %s", v.kind)
	}
	if len(v.members) > MaxEntries {
		return nil, errAt(v.pos, "files has more than %d entries", MaxEntries)
	}
	out := make([]File, 0, len(v.members))
	for _, m := range v.sorted() {
		f := File{Path: m.key}
		var err error
		if m.val.kind == mapValue {
			digest := m.val.get("sha256")
			if digest == nil || len(m.val.members) != 1 {
				return nil, errAt(m.val.pos, "a file is a text or {sha256: DIGEST}")
			}
			if f.SHA256, err = d.text(digest, "sha256"); err == nil && !isHexDigest(f.SHA256) {
				err = errAt(digest.pos, "sha256 wants 64 hex digits in lower case")
			}
		} else {
			f.Content, err = d.text(m.val, "a file's content")
		}
		if err == nil && pathProblem(f.Path) != "" {
			err = errAt(m.pos, "files: %q %s", f.Path, pathProblem(f.Path))
		}
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}
