package mock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"time"
	"unicode/utf8"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
	"github.com/harnessbench/harnessbench/loop/tool/fault"
	"github.com/harnessbench/harnessbench/loop/tool/internal/rawjson"
	"github.com/harnessbench/harnessbench/loop/workspace"
)

// Tool is a mock tool. It is immutable and safe for concurrent use.
type Tool struct {
	*compiled
	seed uint64
	ws   workspace.Workspace
}

var _ tool.Tool = (*Tool)(nil)

// compiled is what trials share.
type compiled struct {
	spec      Spec
	pub       tool.Spec
	responses []response
}

type response struct {
	Response
	when []matcher
	text template
	path []template
	body []template
	seq  []int // indices of the sequence that this response begins; nil with AtCall
}

type matcher struct {
	arg string
	re  *regexp.Regexp
}

// New checks a spec and makes its tool, with seed 0 and without a workspace.
// Errors say which response or fault is wrong, counted from 1.
func New(spec Spec) (*Tool, error) {
	c := &compiled{spec: spec}
	if err := c.public(); err != nil {
		return nil, err
	}
	fail := func(err error, what string, i int) error {
		return fmt.Errorf("mock tool %q: %s %d: %w", spec.Name, what, i+1, err)
	}
	if len(spec.Responses) == 0 {
		return nil, fmt.Errorf("mock tool %q: no responses; give at least one", spec.Name)
	}
	if spec.Takes < 0 || spec.Takes > Hang {
		return nil, fmt.Errorf("mock tool %q: takes %v: want 0 to %v", spec.Name, spec.Takes, Hang)
	}
	for i := range spec.Responses {
		r, err := newResponse(spec.Responses[i], spec.Effect)
		if err != nil {
			return nil, fail(err, "response", i)
		}
		c.responses = append(c.responses, r)
	}
	for i := range spec.Faults {
		if err := spec.Faults[i].Check(); err != nil {
			return nil, fail(err, "fault", i)
		}
	}
	c.sequences()
	return &Tool{compiled: c}, nil
}

// public makes what the model and the loop are told.
func (c *compiled) public() error {
	s := &c.spec
	schema := s.Schema
	if schema == "" {
		schema = `{"type":"object"}`
	}
	canon, err := tool.Canonical(schema)
	if err != nil {
		return fmt.Errorf("mock tool %q: schema: %w", s.Name, err)
	}
	c.pub = tool.Spec{
		ToolSpec: model.ToolSpec{Name: s.Name, Version: max(s.Version, 0), Description: s.Description, Schema: canon},
		Effect:   s.Effect,
		Parallel: s.Parallel,
	}
	if s.Version == 0 {
		c.pub.Version = 1
	}
	_, err = tool.NewSet(tool.Recorded(c.pub, nil)) // checks name, version, effect and schema
	return err
}

func newResponse(r Response, effect event.Effect) (response, error) {
	out := response{Response: r}
	for arg, expr := range r.When {
		if len(expr) > 1000 {
			return out, fmt.Errorf("when %q: pattern longer than 1000 bytes", arg)
		}
		re, err := regexp.Compile(expr)
		if err != nil {
			return out, fmt.Errorf("when %q: %w", arg, err)
		}
		out.when = append(out.when, matcher{arg: arg, re: re})
	}
	for _, a := range r.AtCall {
		if err := a.check(); err != nil {
			return out, err
		}
	}
	switch {
	case r.Takes < 0 || r.Takes > Hang:
		return out, fmt.Errorf("takes %v: want 0 to %v", r.Takes, Hang)
	case len(r.Text) > MaxText:
		return out, fmt.Errorf("text of %d bytes: at most %d", len(r.Text), MaxText)
	case len(r.Files) > 0 && effect != event.Write:
		return out, fmt.Errorf("it writes files, so the tool's effect must be write, not %s", effect)
	case !utf8.ValidString(r.Text):
		return out, errors.New("text is not valid UTF-8")
	}
	out.text = parseTemplate(r.Text)
	for _, f := range r.Files {
		if err := checkFile(f); err != nil {
			return out, err
		}
		out.path = append(out.path, parseTemplate(f.Path))
		out.body = append(out.body, parseTemplate(f.Content))
	}
	return out, nil
}

// checkFile refuses a file that could never be written. A path with arguments in
// it is checked when they are known.
func checkFile(f File) error {
	if len(f.Content) > MaxText {
		return fmt.Errorf("file %q of %d bytes: at most %d", f.Path, len(f.Content), MaxText)
	}
	if t := parseTemplate(f.Path); t.constant() {
		rel, err := workspace.Clean(t.text(""))
		if err != nil {
			return fmt.Errorf("file: %w", err)
		}
		if rel == "" || workspace.InHarness(rel) {
			return fmt.Errorf("file %s: cannot be written", workspace.Abs(rel))
		}
	}
	return nil
}

// sequences joins the responses without AtCall that have the same When.
func (c *compiled) sequences() {
	for i := range c.responses {
		r := &c.responses[i]
		for j := 0; len(r.AtCall) == 0 && j < len(c.responses); j++ {
			o := &c.responses[j]
			if len(o.AtCall) == 0 && maps.Equal(o.When, r.When) {
				r.seq = append(r.seq, j)
			}
		}
	}
}

// With returns the tool as a trial uses it. ws may be nil for tools that write no
// files.
func (t *Tool) With(seed uint64, ws workspace.Workspace) *Tool {
	return &Tool{compiled: t.compiled, seed: seed, ws: ws}
}

// Spec implements tool.Tool.
func (t *Tool) Spec() tool.Spec { return t.pub }

// Canonical implements tool.Tool: the arguments in Paths are made canonical and
// are the call's resources, as are its command lines and hosts; a path that leads
// out of the workspace is denied.
func (t *Tool) Canonical(args string) (string, []string, error) {
	var resources []string
	for _, name := range t.spec.Paths {
		raw, ok := rawjson.Get(args, name)
		if !ok || raw[0] != '"' {
			continue
		}
		path := rawjson.Text(raw)
		rel, err := workspace.Clean(path)
		if errors.Is(err, workspace.ErrEscape) {
			return args, nil, &tool.DeniedError{Err: err}
		}
		if err != nil {
			return args, nil, err
		}
		abs := workspace.Abs(rel)
		if abs != path {
			args = rawjson.Replace(args, name, string(model.AppendString(nil, abs)))
		}
		resources = append(resources, abs)
	}
	for _, name := range t.spec.Commands {
		if raw, ok := rawjson.Get(args, name); ok && raw[0] == '"' {
			resources = append(resources, event.CommandResource(rawjson.Text(raw)))
		}
	}
	for _, name := range t.spec.Hosts {
		if raw, ok := rawjson.Get(args, name); ok && raw[0] == '"' {
			resources = append(resources, event.HostResource(rawjson.Text(raw)))
		}
	}
	return args, resources, nil
}

// Run implements tool.Tool. What it declares to take counts on every clock.
func (t *Tool) Run(ctx context.Context, op *tool.Op) tool.Result {
	if ctx.Err() != nil {
		return tool.Result{Outcome: event.Cancelled, Text: "cancelled"}
	}
	res := t.respond(op)
	res.Declared = true
	return res
}

// respond is what the call with this number and these arguments gives.
func (t *Tool) respond(op *tool.Op) tool.Result {
	r := t.choose(op)
	takes := t.spec.Takes
	if r != nil && r.Takes > 0 {
		takes = r.Takes
	}
	var f *Fault
	if i := fault.First(t.spec.Faults, t.seed, t.spec.Name, op.Nth); i >= 0 {
		if f = &t.spec.Faults[i]; f.Takes > 0 {
			takes = f.Takes
		}
		if res, ok := f.Instead(t.spec.Name, takes); ok {
			return res
		}
	}
	if r == nil {
		return tool.Result{Outcome: event.ToolError, Text: t.spec.Name + ": no answer for these arguments", Took: takes}
	}
	res := t.answer(r, op, takes)
	if f != nil {
		if f.Kind == FaultSlow && f.Takes == 0 {
			res.Took = fault.SlowTakes
		}
		f.Spoil(&res)
	}
	return res
}

// choose returns the response to a call, or nil.
func (t *Tool) choose(op *tool.Op) *response {
	var plain *response
	for i := range t.responses {
		r := &t.responses[i]
		if len(r.AtCall) == 0 && plain != nil || !r.fits(op.Args) {
			continue
		}
		if len(r.AtCall) == 0 {
			plain = r
			continue
		}
		for _, a := range r.AtCall {
			if a.holds(op.Nth + 1) {
				return r
			}
		}
	}
	if plain == nil {
		return nil
	}
	n := min(op.Nth, len(plain.seq)-1)
	if t.spec.Cycle {
		n = op.Nth % len(plain.seq)
	}
	return &t.responses[plain.seq[max(n, 0)]]
}

// fits reports whether the arguments match.
func (r *response) fits(args string) bool {
	for _, m := range r.when {
		text := args
		if m.arg != AnyArgs {
			raw, ok := rawjson.Get(args, m.arg)
			if !ok {
				return false
			}
			text = rawjson.Text(raw)
		}
		if !m.re.MatchString(text) {
			return false
		}
	}
	return true
}

// answer gives what a response says and does.
func (t *Tool) answer(r *response, op *tool.Op, takes time.Duration) tool.Result {
	res := tool.Result{Outcome: event.Success, Took: takes}
	if r.Error {
		res.Outcome = event.ToolError
	}
	res.Text = r.text.text(op.Args)
	for i := range r.path {
		d, err := t.write(r.path[i].text(op.Args), r.body[i].text(op.Args))
		if err != nil {
			res.Outcome, res.Text = event.ToolError, t.spec.Name+": "+err.Error()
			return res
		}
		res.Delta = append(res.Delta, d)
	}
	return res
}

func (t *Tool) write(path, content string) (event.Delta, error) {
	if t.ws == nil {
		return event.Delta{}, errors.New("there is no workspace to write to")
	}
	rel, err := workspace.Clean(path)
	if err != nil {
		return event.Delta{}, err
	}
	return t.ws.WriteFile(rel, []byte(content))
}
