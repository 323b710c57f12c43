package check

import (
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

// Validate checks a spec that was built in Go, as decoding would have: by its
// canonical JSON.
func (s *Spec) Validate() error {
	var back Spec
	if err := back.UnmarshalJSON(s.AppendJSON(nil)); err != nil {
		return err
	}
	return nil
}

// validate checks what the parameters of a decoded spec say together. params
// tells where each was written.
func (s *Spec) validate(params []member) error {
	at := func(name string) Pos {
		for _, m := range params {
			if m.key == name {
				return m.val.pos
			}
		}
		return s.Pos
	}
	has := func(name string) bool {
		return slices.ContainsFunc(params, func(m member) bool { return m.key == name })
	}
	if s.ID != "" && !idOK(s.ID) {
		return errAt(at("id"), "id %q: letters, digits, dot, dash and underscore only, at most 64", cut(s.ID, 80))
	}
	if has("path") {
		if p := pathProblem(s.Path); p != "" {
			return errAt(at("path"), "path %q %s", cut(s.Path, 80), p)
		}
	}
	if has("paths") && len(s.Paths) == 0 {
		return errAt(at("paths"), "%s names no file", s.Kind)
	}
	for _, path := range s.Paths {
		if p := pathProblem(path); p != "" {
			return errAt(at("paths"), "path %q %s", cut(path, 80), p)
		}
	}
	if s.Weight != nil && !(*s.Weight > 0 && *s.Weight <= 1e6) {
		return errAt(at("weight"), "weight wants a number above 0, at most 1e6")
	}
	if s.PassAt != nil && !(*s.PassAt > 0 && *s.PassAt <= 1) {
		return errAt(at("pass_at"), "pass_at wants a number above 0, at most 1")
	}
	if has("of") && len(s.Of) == 0 {
		return errAt(at("of"), "%s is empty", s.Kind)
	}
	if err := s.validateKind(has, at); err != nil {
		return err
	}
	s.dropDefaults()
	return nil
}

// dropDefaults gives one form to specs that say the same.
func (s *Spec) dropDefaults() {
	if s.Trim == s.Kind.DefaultTrim() {
		s.Trim = ""
	}
	if s.PassAt != nil && *s.PassAt == 1 {
		s.PassAt = nil
	}
}

// validateKind checks what only some kinds have.
func (s *Spec) validateKind(has func(string) bool, at func(string) Pos) error {
	if has("pattern") {
		re, err := compile(s.Pattern)
		if err != nil {
			return errAt(at("pattern"), "%v", err)
		}
		if s.Kind == NumberWithin && re.NumSubexp() > 1 {
			return errAt(at("pattern"), "pattern has %d groups; at most one may capture the number, write (?:...) for the others", re.NumSubexp())
		}
		s.re = re
	}
	if has("pointer") {
		if err := pointerProblem(s.Pointer); err != nil {
			return errAt(at("pointer"), "%v", err)
		}
	}
	if has("pointer") && has("pattern") {
		return errAt(at("pattern"), "%s has either pointer or pattern", s.Kind)
	}
	for _, name := range []string{"tolerance", "relative"} {
		if has(name) && strings.HasPrefix(map[string]string{"tolerance": s.Tolerance, "relative": s.Relative}[name], "-") {
			return errAt(at(name), "%s is below 0", name)
		}
	}
	if has("sha256") && !isHexDigest(s.SHA256) {
		return errAt(at("sha256"), "sha256 wants 64 hex digits in lower case")
	}
	if s.Kind == FileEquals {
		if has("want") == has("sha256") {
			return errAt(s.Pos, "file_equals needs either want or sha256")
		}
		if has("sha256") && (has("trim") || has("ignore_case")) {
			return errAt(at("sha256"), "a digest is taken over the bytes: trim and ignore_case have no place beside it")
		}
	}
	if (s.Kind == Contains || s.Kind == FileContains) && s.Want == "" {
		return errAt(at("want"), "%s: everything contains the empty text", s.Kind)
	}
	for _, g := range s.Ignore {
		if !doublestar.ValidatePattern(g) {
			return errAt(at("ignore"), "ignore: %q is no glob", cut(g, 80))
		}
	}
	if s.Kind == TrajectoryKind {
		if s.Trajectory == nil {
			return errAt(s.Pos, "trajectory demands nothing; give it one of %s", strings.Join(trajectoryParams, ", "))
		}
		if s.Trajectory.Exact && !has("order") {
			return errAt(at("exact"), "exact needs order")
		}
	}
	return nil
}

// validateGraders checks a scenario's list as a whole.
func validateGraders(specs []Spec) error {
	names := Names(specs)
	for i := range specs {
		if slices.Contains(names[:i], names[i]) {
			return errAt(specs[i].Pos, "two graders have the id %q", names[i])
		}
	}
	if len(specs) > 0 && !slices.ContainsFunc(specs, func(s Spec) bool { return s.Decides() }) {
		return errAt(specs[0].Pos, "every grader has a weight, so none decides the verdict; "+
			"put them in {type: weighted, of: [...], pass_at: 0.5}")
	}
	return nil
}

// Decides reports whether a scenario's verdict depends on this grader when it
// stands in the scenario's own list: one with a weight only adds to the score,
// unless it is a gate.
func (s *Spec) Decides() bool { return s.Weight == nil || s.Gate }

// Names returns the id of each grader: its own, else its type, numbered from
// the second of one type on (file_equals, file_equals-2).
func Names(specs []Spec) []string {
	names, seen := make([]string, len(specs)), map[Kind]int{}
	for i := range specs {
		k := specs[i].Kind
		seen[k]++
		switch {
		case specs[i].ID != "":
			names[i] = specs[i].ID
		case seen[k] == 1:
			names[i] = string(k)
		default:
			names[i] = fmt.Sprintf("%s-%d", k, seen[k])
		}
	}
	return names
}

func idOK(s string) bool {
	ok := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_'
	}
	return len(s) <= 64 && strings.IndexFunc(s, func(r rune) bool { return !ok(r) }) < 0
}

// pathProblem says why a path cannot name a file of the workspace.
func pathProblem(p string) string {
	switch {
	case p == "":
		return "is empty"
	case strings.HasPrefix(p, "/"):
		return "is absolute; write it relative to the workspace"
	case strings.ContainsAny(p, "\\\x00"):
		return "contains a backslash or NUL; separate folders with /"
	case len(p) > 4096:
		return "is longer than 4096 bytes"
	case !utf8.ValidString(p):
		return "is no UTF-8 text"
	}
	for _, part := range strings.Split(p, "/") {
		switch part {
		case "", ".":
			return "has an empty or . part; write it plainly"
		case "..":
			return "leads out of the workspace"
		}
	}
	return ""
}

// compile compiles an RE2 pattern.
func compile(p string) (*regexp.Regexp, error) {
	if len(p) > MaxPattern {
		return nil, fmt.Errorf("a pattern of %d bytes is longer than %d", len(p), MaxPattern)
	}
	re, err := regexp.Compile(p)
	if err != nil {
		return nil, fmt.Errorf("the pattern is wrong (RE2 syntax): %w", err)
	}
	return re, nil
}

// pointerProblem says what is wrong with an RFC 6901 pointer.
func pointerProblem(p string) error {
	if p != "" && p[0] != '/' {
		return fmt.Errorf("pointer %q: an RFC 6901 pointer starts with /", cut(p, 80))
	}
	for i := range len(p) {
		if p[i] == '~' && (i+1 == len(p) || p[i+1] != '0' && p[i+1] != '1') {
			return fmt.Errorf("pointer %q: ~ is written ~0 and / within a name ~1", cut(p, 80))
		}
	}
	if strings.Count(p, "/") > MaxDepth {
		return errors.New("pointer: too many parts")
	}
	return nil
}

func isHexDigest(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && len(s) == 64 && strings.ToLower(s) == s
}

func utf8Valid(b []byte) bool { return utf8.Valid(b) }
