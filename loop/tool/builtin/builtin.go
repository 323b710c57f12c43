package builtin

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
	"github.com/harnessbench/harnessbench/loop/tool/internal/rawjson"
	"github.com/harnessbench/harnessbench/loop/workspace"
)

// Took is what every call of a file tool takes on a virtual clock.
const Took = time.Millisecond

// PageBytes is the most that one call shows of files or folders, the closing
// remark in brackets not counted.
const PageBytes = 16 << 10

// def is one tool's definition.
type def struct {
	spec tool.Spec
	root bool // path may be left out; then it is the root
	run  func(ctx context.Context, ws workspace.Workspace, args string) tool.Result
}

// defs lists the tools in the order in which a model sees them.
var defs = []def{
	{spec: readSpec, run: readFile},
	{spec: writeSpec, run: writeFile},
	{spec: editSpec, run: editFile},
	{spec: listSpec, run: listDir, root: true},
	{spec: grepSpec, run: grep, root: true},
}

func newSpec(name string, effect event.Effect, description, schema string) tool.Spec {
	return tool.Spec{
		ToolSpec: model.ToolSpec{Name: name, Version: 1, Description: description, Schema: schema},
		Effect:   effect,
	}
}

// Names returns the tools' names in the order in which a model sees them.
func Names() []string {
	out := make([]string, len(defs))
	for i := range defs {
		out[i] = defs[i].spec.Name
	}
	return out
}

func find(name string) *def {
	for i := range defs {
		if defs[i].spec.Name == name {
			return &defs[i]
		}
	}
	return nil
}

// Spec returns the description of a tool; ok is false when there is none of that
// name.
func Spec(name string) (spec tool.Spec, ok bool) {
	if d := find(name); d != nil {
		return d.spec, true
	}
	return tool.Spec{}, false
}

// Canonical returns a tool's canonicalisation, for tool.Recorded; nil when there
// is no tool of that name.
func Canonical(name string) func(args string) (canon string, resources []string, err error) {
	if d := find(name); d != nil {
		return d.canonical
	}
	return nil
}

// Tools returns all file tools over a workspace.
func Tools(ws workspace.Workspace) []tool.Tool {
	out := make([]tool.Tool, len(defs))
	for i := range defs {
		out[i] = fileTool{def: &defs[i], ws: ws}
	}
	return out
}

// New returns one file tool over a workspace; ok is false when there is none of
// that name.
func New(name string, ws workspace.Workspace) (t tool.Tool, ok bool) {
	if d := find(name); d != nil {
		return fileTool{def: d, ws: ws}, true
	}
	return nil, false
}

// fileTool is a definition at work on a tree.
type fileTool struct {
	*def
	ws workspace.Workspace
}

// Spec implements tool.Tool.
func (t fileTool) Spec() tool.Spec { return t.spec }

// Canonical implements tool.Tool.
func (t fileTool) Canonical(args string) (string, []string, error) { return t.canonical(args) }

// Run implements tool.Tool.
func (t fileTool) Run(ctx context.Context, op *tool.Op) tool.Result {
	if ctx.Err() != nil {
		return cancelled()
	}
	if m, ok := t.ws.(workspace.Masker); ok && t.spec.Effect == event.Read {
		if view := m.Masked(); view != nil {
			return t.readMasked(ctx, view, op.Args)
		}
	}
	return t.run(ctx, t.ws, op.Args)
}

// readMasked shows files with their secrets overwritten. Whether any would have
// been seen, the call says that is made without.
func (t fileTool) readMasked(ctx context.Context, view workspace.MaskedView, args string) tool.Result {
	res := t.run(ctx, view, args)
	if !view.Met() {
		return res
	}
	if plain := t.run(ctx, t.ws, args); plain.Text != res.Text {
		if res.Redacted = view.Kinds(plain.Text); res.Redacted == "" {
			res.Redacted = "in part 1"
		}
	}
	return res
}

func (d *def) canonical(args string) (string, []string, error) {
	raw, given := rawjson.Get(args, "path")
	if !given {
		if !d.root {
			return args, nil, nil // the schema has refused it already
		}
		return rawjson.Set(args, "path", `"`+workspace.Root+`"`), []string{workspace.Root}, nil
	}
	path := rawjson.Text(raw)
	rel, err := workspace.Clean(path)
	switch {
	case errors.Is(err, workspace.ErrEscape):
		return args, nil, &tool.DeniedError{Err: err}
	case err != nil:
		return args, nil, err
	case d.spec.Effect != event.Read && workspace.InHarness(rel):
		err := &workspace.Error{Path: workspace.Abs(rel), What: "the harness's own folder cannot be changed", Err: workspace.ErrReadOnly}
		return args, nil, &tool.DeniedError{Err: err}
	}
	abs := workspace.Abs(rel)
	if abs != path {
		args = rawjson.Replace(args, "path", string(model.AppendString(nil, abs)))
	}
	return args, []string{abs}, nil
}

// relPath returns the path argument in the form that a Workspace takes.
func relPath(args string) (string, error) {
	raw, ok := rawjson.Get(args, "path")
	if !ok {
		return "", nil
	}
	return workspace.Clean(rawjson.Text(raw))
}

// textArg returns a string argument, "" when it is missing.
func textArg(args, name string) string {
	raw, _ := rawjson.Get(args, name)
	return rawjson.Text(raw)
}

// intArg returns an integer argument within bounds, and whether it was given.
// JSON Schema calls 2.0 and 2e0 integers too.
func intArg(args, name string, def, lo, hi int) (n int, given bool) {
	raw, given := rawjson.Get(args, name)
	if !given {
		return def, false
	}
	f, err := strconv.ParseFloat(raw, 64)
	if err != nil {
		return def, false
	}
	return int(min(max(f, float64(lo)), float64(hi))), true
}

func success(text string, delta ...event.Delta) tool.Result {
	return tool.Result{Outcome: event.Success, Text: text, Took: Took, Delta: delta}
}

func failed(text string) tool.Result {
	return tool.Result{Outcome: event.ToolError, Text: text, Took: Took}
}

func cancelled() tool.Result {
	return tool.Result{Outcome: event.Cancelled, Text: "cancelled", Took: Took}
}
