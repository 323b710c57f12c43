package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/results"
)

// Accumulator takes the trials of a run one at a time, in any order, and keeps of each
// what a summary needs: some 64 bytes and the name of its session. A row may be reused
// once [Accumulator.Add] has returned. It is not safe for concurrent use.
type Accumulator struct {
	meta   Meta
	guards guardBits

	scenarios, models, arms, outcomes names

	harms     []bool // by scenario
	simulated []bool // by model
	cells     map[place]*cellRuns
	tallies   map[tallyKey]*tally
	last      *cellRuns // rows of one cell follow each other in tables
	errors    map[string]*errorTally
	firing    *firingTally // nil when nothing is expected

	trials, graded, errored, volatile, repetitions int
}

// place is a cell of the run: a model in an arm in a scenario, as numbers of names.
type place struct{ scenario, model, arm int32 }

// tallyKey is a model in an arm, in one of the two pools of scenarios.
type tallyKey struct {
	model, arm int32
	harms      bool
}

// cellRuns is what one model did in one arm in one scenario.
type cellRuns struct {
	place
	tally *tally
	runs  []run // in order of repetition, once all are there
}

// run is what is kept of one trial.
type run struct {
	cost, spent float64 // USD; NaN = unknown
	fired       uint64  // bit i: the i-th compared guard fired, in either mode
	session     string
	repetition  int
	outcome     int32
	graded      bool
	pass        bool // a pass is graded
}

// errorTally counts the errored trials of one class.
type errorTally struct {
	trials int
	first  results.TrialKey
	text   string
}

// names numbers strings in order of appearance.
type names struct {
	list []string
	at   map[string]int32
}

func (n *names) of(s string) int32 {
	if i, ok := n.at[s]; ok {
		return i
	}
	if n.at == nil {
		n.at = map[string]int32{}
	}
	i := int32(len(n.list))
	s = strings.Clone(s) // it may be a part of a larger text
	n.at[s], n.list = i, append(n.list, s)
	return i
}

// NewAccumulator starts a summary. It is an error when a comparison names an arm that the
// meta does not list, or a factor is none.
func NewAccumulator(meta Meta) (*Accumulator, error) {
	if err := meta.check(); err != nil {
		return nil, err
	}
	guards, err := newGuardBits(meta.Comparisons)
	if err != nil {
		return nil, err
	}
	return &Accumulator{meta: meta, guards: guards, cells: map[place]*cellRuns{}, tallies: map[tallyKey]*tally{}, errors: map[string]*errorTally{}, firing: newFiringTally(meta.Expect)}, nil
}

func (m *Meta) check() error {
	for i, c := range m.Comparisons {
		for _, arm := range []string{c.Base, c.Arm} {
			if len(m.Arms) > 0 && !slices.Contains(m.Arms, arm) {
				return fmt.Errorf("comparisons[%d] names the arm %q; the arms are %s", i, arm, strings.Join(m.Arms, ", "))
			}
		}
		if (c.BaseModel == "") != (c.ArmModel == "") {
			return fmt.Errorf("comparisons[%d] names the model of one arm only: name both, or neither", i)
		}
		if !(c.Margin >= 0 && c.Margin <= 1) {
			return fmt.Errorf("comparisons[%d] has a margin of %v; want 0 (not asked) to 1", i, c.Margin)
		}
	}
	return nil
}

// Add takes one trial. Guards and tags may stand in their lists or, as a row of
// trials.parquet has them, in their columns. It is an error, which names the trial, when
// the row is invalid, or contradicts one before it.
func (x *Accumulator) Add(t *results.Trial) error {
	if err := t.Validate(); err != nil {
		return err
	}
	fired, err := x.guards.of(t)
	if err != nil {
		return fmt.Errorf("trial %v: %w", t.Key(), err)
	}
	c, err := x.cell(t)
	if err != nil {
		return err
	}
	r := run{cost: amountOf(t.CostUSD), spent: amountOf(t.SpentUSD), fired: fired.enforced | fired.shadow, session: t.Session,
		repetition: t.Repetition, outcome: x.outcomes.of(t.Outcome), graded: t.Graded(), pass: t.Graded() && t.Verdict == results.Pass}
	c.runs = append(c.runs, r)
	c.tally.add(t, r, fired)
	x.firing.add(t)
	x.trials++
	x.graded += count(r.graded)
	x.errored += count(t.Errored)
	x.volatile += count(t.Volatile)
	x.repetitions = max(x.repetitions, t.Repetition+1)
	if t.Errored {
		x.addError(t)
	}
	return nil
}

// cell finds the trial's cell, and refuses what contradicts an earlier row.
func (x *Accumulator) cell(t *results.Trial) (*cellRuns, error) {
	if c := x.last; c == nil || x.scenarios.list[c.scenario] != t.Scenario || x.models.list[c.model] != t.Model || x.arms.list[c.arm] != t.Arm {
		at := place{x.scenarios.of(t.Scenario), x.models.of(t.Model), x.arms.of(t.Arm)}
		if int(at.scenario) == len(x.harms) {
			x.harms = append(x.harms, t.Harms)
		}
		if int(at.model) == len(x.simulated) {
			x.simulated = append(x.simulated, t.Simulated)
		}
		key := tallyKey{at.model, at.arm, t.Harms}
		if x.tallies[key] == nil {
			x.tallies[key] = newTally(len(x.guards.names))
		}
		c := x.cells[at]
		if c == nil {
			c = &cellRuns{place: at, tally: x.tallies[key]}
			x.cells[at] = c
		}
		x.last = c
	}
	if x.simulated[x.last.model] != t.Simulated {
		return nil, fmt.Errorf("model %q is simulated in some rows and not in others, as in trial %v", t.Model, t.Key())
	}
	if x.harms[x.last.scenario] != t.Harms {
		return nil, fmt.Errorf("scenario %q is tagged harms in some rows and not in others, as in trial %v", t.Scenario, t.Key())
	}
	return x.last, nil
}

func (x *Accumulator) addError(t *results.Trial) {
	e := x.errors[*t.ErrorClass]
	if e == nil {
		e = &errorTally{first: t.Key()}
		x.errors[strings.Clone(*t.ErrorClass)] = e
	} else if k := t.Key(); k.Compare(e.first) < 0 {
		e.first, e.text = k, ""
	}
	if e.trials++; e.first == t.Key() && t.ErrorText != nil {
		e.text = *t.ErrorText
	}
}

// key names one trial again.
func (x *Accumulator) key(at place, repetition int) results.TrialKey {
	return results.TrialKey{Scenario: x.scenarios.list[at.scenario], Model: x.models.list[at.model], Arm: x.arms.list[at.arm], Repetition: repetition}
}

// finish puts every cell in order of repetition; a trial that is there twice is an error,
// of several the first in canonical order.
func (x *Accumulator) finish() error {
	var twice *results.TrialKey
	byRepetition := func(a, b run) int { return cmp.Compare(a.repetition, b.repetition) }
	for _, c := range x.cells {
		if !slices.IsSortedFunc(c.runs, byRepetition) {
			slices.SortFunc(c.runs, byRepetition)
		}
		for i := 1; i < len(c.runs); i++ {
			if c.runs[i].repetition != c.runs[i-1].repetition {
				continue
			}
			if k := x.key(c.place, c.runs[i].repetition); twice == nil || k.Compare(*twice) < 0 {
				twice = &k
			}
		}
	}
	if twice != nil {
		return fmt.Errorf("trial %v appears twice; a trial has one row", *twice)
	}
	return nil
}

// has reports whether a trial was added; cells must be in order.
func (x *Accumulator) has(k results.TrialKey) bool {
	scenario, ok1 := x.scenarios.at[k.Scenario]
	model, ok2 := x.models.at[k.Model]
	arm, ok3 := x.arms.at[k.Arm]
	if !ok1 || !ok2 || !ok3 {
		return false
	}
	c := x.cells[place{scenario, model, arm}]
	if c == nil {
		return false
	}
	_, found := slices.BinarySearchFunc(c.runs, k.Repetition, func(r run, n int) int { return cmp.Compare(r.repetition, n) })
	return found
}

func amountOf(p *float64) float64 {
	if p == nil {
		return math.NaN()
	}
	return *p
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
