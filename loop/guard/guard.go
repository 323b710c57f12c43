package guard

import (
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
)

// Mode says what a guard may do.
type Mode string

// The modes. In shadow a guard's own state advances as if it acted and its
// firings are recorded; it sees events as they really are, and is silent after a
// stop it would have made.
const (
	Off     Mode = "off"
	Shadow  Mode = "shadow"
	Enforce Mode = "enforce"
)

// Guard is a fold over events: Step returns the next state and a decision. A
// Guard value is its own state; Step is pure and the state's size is bounded, so
// a turn costs the same at turn 1,000. A Step that changes nothing returns its
// receiver.
type Guard interface {
	// Listens tells which events Step wants; others are never given to it.
	Listens() event.Kind
	Step(event.Event) (Guard, Decision)
}

// Decision is what a guard wants done. It is data: the loop performs it.
type Decision struct {
	Act      string // what fired: nudge, stop, spill, cut, ...; empty = nothing fired
	Evidence string // why, for the record
	On       string // id of the call it acts on

	Feedback   string        // a message for the model at the turn's end
	Rewrite    string        // what the model sees instead of the result
	HasRewrite bool          // Rewrite counts (it may be empty)
	Spill      *Spill        // to be written first; when that fails, Rewrite is dropped
	Stop       *Stop         // ends the session
	Budget     time.Duration // tightens what the next call may take, 0 = no wish; no firing by itself
	Continue   bool          // this candidate is not the end
}

// Fired reports whether the decision is to be recorded.
func (d *Decision) Fired() bool { return d.Act != "" }

// Spill is a large result to be kept whole in the harness's own space.
type Spill struct {
	Path string // relative to the workspace, below its harness folder
	Data string
}

// Stop ends a session.
type Stop struct {
	Reason   event.Reason
	Evidence string
	Backstop bool
}
