package tool

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
)

// Set is the tools of a trial, in the order in which the model sees them. It is
// immutable and safe for concurrent use.
type Set struct {
	tools []entry
	index map[string]int
}

type entry struct {
	tool   Tool
	spec   Spec
	schema *schema
}

// NewSet returns the set of tools. Names must be unique and of the form that
// every provider takes (1 to 64 letters, digits, "_" and "-"), versions at
// least 1, effect classes known, and schemas canonical JSON of a JSON Schema that
// compiles. Schemas are compiled once per text and process.
func NewSet(tools ...Tool) (*Set, error) {
	s := &Set{tools: make([]entry, 0, len(tools)), index: make(map[string]int, len(tools))}
	for _, t := range tools {
		spec := t.Spec()
		if err := CheckSpec(spec); err != nil {
			return nil, err
		}
		if _, ok := s.index[spec.Name]; ok {
			return nil, fmt.Errorf("tool %q is given twice; names must be unique", spec.Name)
		}
		sc, err := compile(spec.Schema)
		if err != nil {
			return nil, fmt.Errorf("tool %q: schema: %w", spec.Name, err)
		}
		s.index[spec.Name] = len(s.tools)
		s.tools = append(s.tools, entry{tool: t, spec: spec, schema: sc})
	}
	return s, nil
}

// CheckSpec says what is wrong with a spec, its schema apart.
func CheckSpec(spec Spec) error {
	if !validName(spec.Name) {
		return fmt.Errorf("tool name %s: want 1 to 64 letters, digits, _ or -", quote(spec.Name))
	}
	if spec.Version < 1 {
		return fmt.Errorf("tool %q: version %d: versions start at 1", spec.Name, spec.Version)
	}
	switch spec.Effect {
	case event.Read, event.Write, event.External:
		return nil
	}
	return fmt.Errorf("tool %q: effect %q: want read, write or external", spec.Name, spec.Effect)
}

func validName(name string) bool {
	for i := 0; i < len(name); i++ {
		c := name[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-') {
			return false
		}
	}
	return len(name) >= 1 && len(name) <= 64
}

// Specs returns the specs in the given order. The slice is the caller's.
func (s *Set) Specs() []Spec {
	out := make([]Spec, len(s.tools))
	for i := range s.tools {
		out[i] = s.tools[i].spec
	}
	return out
}

// Names returns the tools' names in the given order. The slice is the caller's.
func (s *Set) Names() []string {
	out := make([]string, len(s.tools))
	for i := range s.tools {
		out[i] = s.tools[i].spec.Name
	}
	return out
}

// Len returns the number of tools.
func (s *Set) Len() int { return len(s.tools) }

// Get returns the tool of that name.
func (s *Set) Get(name string) (Tool, bool) {
	i, ok := s.index[name]
	if !ok {
		return nil, false
	}
	return s.tools[i].tool, true
}

// Prepared is a call that was resolved, validated and canonicalised. With a
// Problem it must not be run: Problem is its outcome and Detail its result.
type Prepared struct {
	Tool      Tool // nil when the name is unknown
	Spec      Spec // zero when the name is unknown
	Version   int  // of the tool the model saw; 0 when the name is unknown
	Args      string
	Digest    model.Digest // of tool name NUL Args
	Effect    event.Effect // empty when the name is unknown
	Resources []string
	Problem   event.Problem
	Detail    string

	// Of arguments that are no JSON object, or do not fit the schema.
	Plain     string // Detail that only says so
	Pointer   string // RFC 6901, to the value that does not fit
	Expected  string // what the schema says of it, see short
	Malformed bool   // they are no JSON
}

// Prepare resolves a call, validates its arguments by the tool's JSON Schema and
// makes them canonical: sorted keys, no white space, paths in one spelling. Args
// is the canonical JSON as far as it could be made, and the raw text where that
// is no JSON. An empty text counts as {}.
//
// Bytes that are no UTF-8 count as U+FFFD, one for each, since that is what a
// recording of the call holds and what a replay will prepare.
//
// Prepare is pure: no file is touched, and equal calls give equal results.
func (s *Set) Prepare(call model.ToolCall) Prepared {
	var p Prepared
	call.Name, call.Args = asRecorded(call.Name), asRecorded(call.Args)
	var err error
	p.Args, err = canonicalArgs(call.Args)
	i, known := s.index[call.Name]
	if known {
		e := &s.tools[i]
		p.Tool, p.Spec, p.Version, p.Effect = e.tool, e.spec, e.spec.Version, e.spec.Effect
	}
	switch {
	case !known:
		p.Problem, p.Detail = event.ProblemUnknown, "unknown tool "+quote(call.Name)
	case err != nil:
		p.Problem, p.Detail = event.ProblemArguments, plainProblem+": "+err.Error()
		p.Plain, p.Expected, p.Malformed = plainProblem, short(p.Spec.Schema, ""), !isJSON(call.Args)
	default:
		s.tools[i].check(&p)
	}
	p.Digest = callDigest(call.Name, p.Args)
	return p
}

// isJSON reports whether a text is one JSON value, whatever else is wrong with it.
func isJSON(text string) bool {
	return jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true))
}

// asRecorded returns a text as model.AppendString writes it.
func asRecorded(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

// check does what needs the tool.
func (e *entry) check(p *Prepared) {
	if f := e.schema.validate(p.Args); f != nil {
		p.Problem, p.Detail = event.ProblemArguments, plainProblem+": "+f.text
		p.Plain, p.Pointer, p.Expected = plainProblem, f.pointer, short(p.Spec.Schema, f.schema)
		return
	}
	canon, resources, err := e.tool.Canonical(p.Args)
	if err == nil {
		p.Args, p.Resources = canon, resources
		return
	}
	var denied *DeniedError
	if errors.As(err, &denied) {
		p.Problem, p.Detail = event.ProblemDenied, "permission denied: "+err.Error()
		return
	}
	p.Problem, p.Detail = event.ProblemArguments, plainProblem+": "+err.Error()
}

// plainProblem says no more than that arguments are wrong.
const plainProblem = "invalid arguments"

// DeniedError is what Canonical returns for a call that is well formed and names
// what no call may touch. It makes the outcome permission_denied, where any other
// error makes it validation_failed.
type DeniedError struct{ Err error }

func (e *DeniedError) Error() string { return e.Err.Error() }

// Unwrap returns what was denied.
func (e *DeniedError) Unwrap() error { return e.Err }

// callDigest is SHA-256 over name NUL args.
func callDigest(name, args string) model.Digest {
	var buf [1024]byte
	b := append(buf[:0], name...)
	b = append(b, 0)
	b = append(b, args...)
	return model.Sum(b)
}

// Run implements Runner over the set's own tools. It makes the text valid UTF-8
// and names a missing tool; otherwise the result is the tool's.
func (s *Set) Run(ctx context.Context, op *Op) Result {
	t, ok := s.Get(op.Name)
	if !ok {
		return Result{Outcome: event.UnknownTool, Text: "unknown tool " + quote(op.Name)}
	}
	r := t.Run(ctx, op)
	r.Text = strings.ToValidUTF8(r.Text, "\uFFFD")
	return r
}

// quote shows a text that a model made up: cut, and with escapes.
func quote(s string) string {
	const limit = 80
	if len(s) > limit {
		return strconv.Quote(strings.ToValidUTF8(s[:limit], "")) + "..."
	}
	return strconv.Quote(s)
}
