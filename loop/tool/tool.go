// Package tool is what the loop needs to know of a tool.
//
//  1. A [Tool] describes itself with a [Spec]: schema, version, effect class.
//  2. [Set].Prepare resolves a call against the tool *and version* the model
//     saw, validates its arguments by JSON Schema and canonicalises them with
//     the resources they name. It is pure: no file is touched.
//  3. A [Runner] executes the prepared operation and gives one [Result]. The
//     normal runner calls the tool; a replay serves what was recorded.
package tool

import (
	"context"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
)

// Spec describes a tool to the model and to the loop.
type Spec struct {
	model.ToolSpec
	Effect   event.Effect
	Parallel bool // may run beside others though not read-only: no two calls change the same file unless they name it
}

// Op is one operation to execute: canonical and authorised.
type Op struct {
	ID       string // the call's id
	Lane     string
	Turn     int
	Index    int // in its batch
	Nth      int // how many calls of this tool came before in this lane; keys scripted answers and faults
	Name     string
	Args     string        // canonical JSON
	Deadline time.Duration // 0 = none
	// Wave, from 1, is equal for the calls of a batch that run at once; 0 = it runs
	// alone. Upto is the first call of the batch behind them.
	Wave, Upto int
}

// Result is what running an operation gave.
type Result struct {
	Outcome event.Outcome // success, tool_error, timeout, cancelled, unknown_outcome, ...
	Text    string        // valid UTF-8
	Took    time.Duration // as the tool declares, on replay as recorded; on a real clock the loop measures unless Declared
	// Declared makes Took count on a real clock too: a mock tool's duration is
	// what it declares on every model.
	Declared bool
	Exit     *int
	Delta    []event.Delta
	// Redacted says which secrets are overwritten in Text already, by kind and
	// count; empty = none.
	Redacted string
}

// Tool is one tool. Canonical must be pure and idempotent.
type Tool interface {
	Spec() Spec
	// Canonical returns the arguments with paths made canonical, and the
	// resources they name. args is canonical JSON that satisfies the schema.
	Canonical(args string) (canon string, resources []string, err error)
	// Run executes. It never panics on hostile arguments and honours ctx. A
	// declared duration is returned uncapped: the loop applies the deadline.
	Run(ctx context.Context, op *Op) Result
}

// Runner executes operations.
type Runner interface {
	Run(ctx context.Context, op *Op) Result
}
