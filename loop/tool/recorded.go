package tool

import (
	"context"

	"github.com/harnessbench/harnessbench/loop/event"
)

// Recorded returns a tool that can be described and whose calls can be prepared,
// but that does nothing: a replay serves its results from the recording. canonical
// is as in Tool; nil leaves the arguments as they are. Run gives a tool_error
// that says that nothing is recorded.
func Recorded(spec Spec, canonical func(args string) (canon string, resources []string, err error)) Tool {
	return recorded{spec: spec, canonical: canonical}
}

type recorded struct {
	spec      Spec
	canonical func(string) (string, []string, error)
}

func (r recorded) Spec() Spec { return r.spec }

func (r recorded) Canonical(args string) (string, []string, error) {
	if r.canonical == nil {
		return args, nil, nil
	}
	return r.canonical(args)
}

func (r recorded) Run(_ context.Context, op *Op) Result {
	return Result{Outcome: event.ToolError, Text: "nothing is recorded for this call of " + quote(op.Name)}
}
