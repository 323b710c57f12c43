package guard

import (
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/internal/mutant"
)

// Host performs what guards decide and hears what fired.
type Host interface {
	// Spill writes a harness file. An error drops the rewrite that needed it.
	Spill(*Spill) error
	// Fired records a firing, in either mode.
	Fired(*event.Guard) error
}

// Result is what one event led to, over all guards in force.
type Result struct {
	Feedback []string      // in table order
	Stop     *Stop         // the first in table order
	Rank     int           // of Stop: the guard's position in the table
	Continue bool          // this candidate is not the end
	Budget   time.Duration // tightest wish, 0 = none
	Rewrote  bool          // an enforced rewrite changed ToolResult.Shown
}

type entry struct {
	def      *Def
	version  int // of its behaviour
	rank     int // position in the table
	mode     Mode
	g        Guard
	listens  event.Kind
	silenced bool // shadow: after a stop it would have made
}

// Set steps guards over events. It belongs to one lane and is not safe for
// concurrent use.
type Set struct {
	entries  []entry
	retry    Retry
	retryM   Mode
	trunc    TruncatedEmpty
	truncM   Mode
	repair   ArgumentRepair
	fallback Fallback
	accept   Mode
	settings Settings
	listens  event.Kind
	backstop Guard
}

// NewSet builds the guards that settings ask for, plus the scenario's backstop,
// which is in force whatever the settings say.
func NewSet(s Settings, backstop Backstop, env Env) *Set {
	env.Limits = inForce(s, backstop)
	set := &Set{retryM: Off, truncM: Off, accept: s.Mode("acceptance"), settings: s}
	for i, row := range s.all() {
		d := &Table[i]
		if row.Mode == Off {
			continue
		}
		b := row.behaviour(d)
		switch {
		case d.Name == "retry":
			set.retryM, set.retry = row.Mode, newRetry(row.Values)
		case d.Name == "truncated_empty":
			set.truncM, set.trunc = row.Mode, newTruncatedEmpty(row.Values)
		case d.Name == "argument_repair":
			set.repair = newArgumentRepair(row.Values)
		case d.Name == "fallback":
			set.fallback = newFallback(row.Values)
		case b.build != nil:
			g := b.build(row.Values, env)
			set.entries = append(set.entries, entry{def: d, version: row.Version, rank: i, mode: row.Mode, g: g, listens: g.Listens()})
			set.listens |= g.Listens()
		}
	}
	set.backstop = &backstop
	set.listens |= backstop.Listens()
	return set
}

// Checks reports whether candidates are to be checked at all: acceptance is
// enforced or in shadow.
func (s *Set) Checks() bool { return s.accept != Off }

// Mode returns the mode of a guard, for the stages that act as a policy says.
func (s *Set) Mode(name string) Mode { return s.settings.Mode(name) }

// Param returns a parameter of a guard, in the unit of the table.
func (s *Set) Param(name, param string) int64 { return s.settings.Param(name, param) }

// Retry returns the retry policy and its mode.
func (s *Set) Retry() (Retry, Mode) { return s.retry, s.retryM }

// TruncatedEmpty returns the policy for truncated empty answers and its mode.
func (s *Set) TruncatedEmpty() (TruncatedEmpty, Mode) { return s.trunc, s.truncM }

// ArgumentRepair returns the policy for arguments that cannot be used and its mode.
func (s *Set) ArgumentRepair() (ArgumentRepair, Mode) { return s.repair, s.Mode("argument_repair") }

// Fallback returns the policy for models that keep failing and its mode.
func (s *Set) Fallback() (Fallback, Mode) { return s.fallback, s.Mode("fallback") }

// Step gives ev to every guard that listens, records firings through h, performs
// spills through h, and composes the enforced decisions: rewrites one after the
// other (a later guard sees what an earlier one left), feedback in order, the
// first stop. A returned error is the host's and ends the loop.
func (s *Set) Step(ev event.Event, h Host) (Result, error) {
	var res Result
	kind := ev.Kind()
	if s.listens&kind == 0 {
		return res, nil
	}
	for i := range s.entries {
		e := &s.entries[i]
		if e.listens&kind == 0 || e.silenced {
			continue
		}
		next, d := e.g.Step(ev)
		e.g = next
		if err := s.apply(e, ev, &d, h, &res); err != nil {
			return res, err
		}
	}
	if s.backstop.Listens()&kind != 0 {
		_, d := s.backstop.Step(ev)
		res.merge(&d, len(Table))
	}
	return res, nil
}

// apply records a decision and, where the guard is enforced, puts it in force.
func (s *Set) apply(e *entry, ev event.Event, d *Decision, h Host, res *Result) error {
	failed := ""
	if e.mode == Enforce {
		if d.Spill != nil {
			if err := h.Spill(d.Spill); err != nil {
				failed, d.HasRewrite = err.Error(), false
			}
		}
		if tr, ok := ev.(*event.ToolResult); ok && d.HasRewrite {
			tr.Shown, res.Rewrote = d.Rewrite, true
		}
		res.merge(d, e.rank)
	} else if d.Stop != nil {
		e.silenced = true
	}
	if !d.Fired() {
		return nil
	}
	return h.Fired(&event.Guard{Head: *ev.Header(), Name: e.def.Name, Version: e.version,
		Mode: string(e.mode), Act: d.Act, Evidence: d.Evidence, On: d.On, Failed: failed})
}

func (r *Result) merge(d *Decision, rank int) {
	if d.Feedback != "" {
		r.Feedback = append(r.Feedback, d.Feedback)
	}
	if d.Stop != nil && (r.Stop == nil || prior(d.Stop.Reason) < prior(r.Stop.Reason) && !mutant.Is("loop_order_of_stops")) {
		r.Stop, r.Rank = d.Stop, rank
	}
	r.Continue = r.Continue || d.Continue
	if d.Budget > 0 && (r.Budget == 0 || d.Budget < r.Budget) {
		r.Budget = d.Budget
	}
}

// prior orders stops that are due at the same checkpoint: deadline, turn limit,
// tool-call limit, tokens, cost. All others rank alike, so that among them the
// table's order decides.
func prior(r event.Reason) int {
	switch r {
	case event.Deadline:
		return 1
	case event.TurnLimit:
		return 2
	case event.ToolCallLimit:
		return 3
	case event.TokenBudget:
		return 4
	case event.CostBudget:
		return 5
	}
	return 0
}
