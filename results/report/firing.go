package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/results"
)

// Expectation is what a suite expects of the trials of one arm: that a guard fires,
// or that it does not. Where several arms expect a guard to fire, it is enough that
// it does in one of them: in another, some other guard may deal with the cause first.
type Expectation struct {
	Arm    string `json:"arm"`
	Guard  string `json:"guard"`
	Always bool   `json:"always"` // it fires; false = it stays silent
}

// Firing says whether a guard did what the suite expects of it.
type Firing struct {
	Guard     string        `json:"guard" doc:"name of the guard"`
	Traps     FiringCount   `json:"traps" doc:"trials in which it should fire"`
	Controls  FiringCount   `json:"controls" doc:"trials in which it should stay silent"`
	OK        bool          `json:"ok" doc:"it was tried in both, fired in every trap and in no control"`
	Surprises []FiringTrial `json:"surprises" doc:"the trials in which it did otherwise, the first 20 in canonical order"`
}

// FiringCount counts the trials of one kind.
type FiringCount struct {
	Expected  bool `json:"expected" doc:"the suite has an arm for it"`
	Scenarios int  `json:"scenarios" doc:"scenarios with such a trial"`
	Trials    int  `json:"trials" doc:"trials over scenarios, models and repetitions: of traps, those of several arms count as one; errored ones are left out"`
	Fired     int  `json:"fired" doc:"trials in which it fired: of traps, in one of the arms"`
}

// FiringTrial is a trial in which a guard did what was not expected.
type FiringTrial struct {
	Scenario   string `json:"scenario" doc:"scenario id"`
	Model      string `json:"model" doc:"model as provider/name"`
	Arm        string `json:"arm" doc:"arm"`
	Repetition int    `json:"repetition" doc:"repetition, from 0"`
	Fired      bool   `json:"fired" doc:"whether it fired"`
	Session    string `json:"session" doc:"session file, relative to the run's sessions folder"`
}

const maxSurprises = 20

// firingTally gathers what guards did in the arms that expect something of them.
type firingTally struct {
	expects map[string]Expectation // by arm
	trials  map[firingKey]*FiringTrial
}

// firingKey is a trial of one kind; the arm has no part in that of a trap.
type firingKey struct {
	guard           string
	always          bool
	arm             string
	scenario, model string
	repetition      int
}

func newFiringTally(list []Expectation) *firingTally {
	if len(list) == 0 {
		return nil
	}
	t := &firingTally{expects: map[string]Expectation{}, trials: map[firingKey]*FiringTrial{}}
	for _, e := range list {
		t.expects[e.Arm] = e
	}
	return t
}

func (f *Firing) count(always bool) *FiringCount {
	if always {
		return &f.Traps
	}
	return &f.Controls
}

// add takes one trial; those of arms without an expectation, and errored ones,
// say nothing.
func (t *firingTally) add(trial *results.Trial) {
	if t == nil || trial.Errored {
		return
	}
	e, ok := t.expects[trial.Arm]
	if !ok {
		return
	}
	key := firingKey{guard: e.Guard, always: e.Always, scenario: strings.Clone(trial.Scenario), model: strings.Clone(trial.Model), repetition: trial.Repetition}
	if !e.Always {
		key.arm = e.Arm
	}
	fired := firedIn(trial, e.Guard)
	if seen := t.trials[key]; seen != nil {
		seen.Fired = seen.Fired || fired
		if e.Arm < seen.Arm { // rows come in any order
			seen.Arm, seen.Session = e.Arm, strings.Clone(trial.Session)
		}
		return
	}
	t.trials[key] = &FiringTrial{Scenario: key.scenario, Model: key.model, Arm: e.Arm, Repetition: trial.Repetition, Fired: fired, Session: strings.Clone(trial.Session)}
}

// firedIn reports whether a guard fired in a trial while enforced, whichever way
// the row says it.
func firedIn(t *results.Trial, guard string) bool {
	for i := range t.Guards {
		if g := &t.Guards[i]; g.Guard == guard && g.Mode == "enforce" {
			return g.Fired > 0
		}
	}
	for part := range strings.SplitSeq(t.FiredEnforced, ",") {
		if name, _, _ := strings.Cut(part, ":"); name == guard && name != "" {
			return true
		}
	}
	return false
}

// list gives the rows in the order in which the suite names their guards.
func (t *firingTally) list(order []Expectation) []Firing {
	out := []Firing{}
	if t == nil {
		return out
	}
	at := map[string]int{}
	for _, e := range order {
		if _, ok := at[e.Guard]; !ok {
			at[e.Guard] = len(out)
			out = append(out, Firing{Guard: e.Guard, Surprises: []FiringTrial{}})
		}
		out[at[e.Guard]].count(e.Always).Expected = true
	}
	scenarios := map[firingKey]bool{}
	for key, trial := range t.trials {
		row := &out[at[key.guard]]
		c := row.count(key.always)
		c.Trials++
		c.Fired += count(trial.Fired)
		if s := (firingKey{guard: key.guard, always: key.always, scenario: key.scenario}); !scenarios[s] {
			scenarios[s] = true
			c.Scenarios++
		}
		if trial.Fired != key.always {
			row.Surprises = append(row.Surprises, *trial)
		}
	}
	for i := range out {
		row := &out[i]
		slices.SortFunc(row.Surprises, func(a, b FiringTrial) int {
			return cmp.Or(cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Arm, b.Arm), cmp.Compare(a.Repetition, b.Repetition))
		})
		row.OK = len(row.Surprises) == 0 && row.Traps.Trials > 0 && row.Controls.Trials > 0
		row.Surprises = row.Surprises[:min(len(row.Surprises), maxSurprises)]
	}
	return out
}

// Unexpected counts the guards that did not do what the suite expects.
func (s *Summary) Unexpected() int {
	n := 0
	for i := range s.Firing {
		n += count(!s.Firing[i].OK)
	}
	return n
}

// firing prints what guards did in their traps and controls.
func (p *printer) firing(s *Summary) {
	if len(s.Firing) == 0 {
		return
	}
	t := table{heads: []string{"guard", "traps", "trials", "fired", "controls", "trials", "fired", "result"}, left: 1, ends: true}
	var rows [][]string
	for i := range s.Firing {
		f := &s.Firing[i]
		rows = append(rows, []string{p.text(f.Guard), fmt.Sprint(f.Traps.Scenarios), fmt.Sprint(f.Traps.Trials), fmt.Sprint(f.Traps.Fired),
			fmt.Sprint(f.Controls.Scenarios), fmt.Sprint(f.Controls.Trials), fmt.Sprint(f.Controls.Fired), f.Word()})
	}
	t.blocks = []block{{rows: rows}}
	p.table("Each guard in its traps and its controls", t)
	for i := range s.Firing {
		for _, x := range s.Firing[i].Surprises {
			did := "did not fire in its trap"
			if x.Fired {
				did = "fired in a control"
			}
			p.item("!", fmt.Sprintf("%s %s: %s, %s, %s, repetition %d", p.text(s.Firing[i].Guard), did, p.text(x.Scenario), p.text(x.Model), p.text(x.Arm), x.Repetition))
		}
	}
	p.end()
}

// Word is the row's result in words: ok, or what is wrong.
func (f *Firing) Word() string {
	switch {
	case f.OK:
		return "ok"
	case len(f.Surprises) > 0:
		return "WRONG"
	case f.Traps.Trials == 0 && f.Controls.Trials == 0:
		return "NOT TRIED"
	case f.Traps.Trials == 0:
		return "NO TRAP"
	case f.Controls.Trials == 0:
		return "NO CONTROL"
	}
	return "WRONG"
}
