package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/results"
)

// cell names the trials of one model in one arm.
type cell struct{ model, arm string }

// pool is one section's trials, ready to be counted.
type pool struct {
	scenarios []string                             // sorted
	cells     map[cell]map[string][]*results.Trial // by scenario, in order of repetition
	cut       map[string]int                       // blocks that were cut, by model
}

// Compute summarises a run. Rows may come in any order; it is an error when
// two trials have the same key, a row is invalid, a verdict belongs to no
// trial, or a comparison names an arm that the meta does not list.
func Compute(meta Meta, trials []results.Trial, verdicts []results.Verdict) (*Summary, error) {
	rows := trials
	if !slices.IsSortedFunc(rows, func(a, b results.Trial) int { return a.Key().Compare(b.Key()) }) {
		rows = slices.Clone(trials) // the caller's order stays
		results.SortTrials(rows)
	}
	if err := check(meta, rows, verdicts); err != nil {
		return nil, err
	}
	s := &Summary{
		Schema: Schema, RunID: meta.RunID, Suite: meta.Suite, Seed: meta.Seed, Repetitions: meta.Repetitions,
		Models: models(meta, rows), Arms: arms(meta, rows), Trials: len(rows),
		Errors: errorCounts(rows), Cut: cutCounts(meta.Cut), Notes: slices.Concat([]string{}, meta.Notes),
	}
	for _, c := range meta.Cut {
		s.CutTrials += c.Trials
	}
	for i := range rows {
		t := &rows[i]
		s.Graded += count(t.Graded())
		s.Errored += count(t.Errored)
		s.Ungraded += count(!t.Graded())
		s.Volatile += count(t.Volatile)
	}
	if s.Repetitions <= 0 {
		for i := range rows {
			s.Repetitions = max(s.Repetitions, rows[i].Repetition+1)
		}
	}
	s.Main = section(meta, s, newPool(meta, rows, false))
	if p := newPool(meta, rows, true); len(p.scenarios) > 0 {
		h := section(meta, s, p)
		s.Harms = &h
	}
	s.Gates = judgeGates(s, meta.Gates)
	return s, nil
}

// check refuses rows that cannot be summarised; rows are in canonical order.
func check(meta Meta, rows []results.Trial, verdicts []results.Verdict) error {
	keys := make(map[results.TrialKey]bool, len(rows))
	simulated := map[string]bool{}
	harms := map[string]bool{}
	for i := range rows {
		t := &rows[i]
		if err := t.Validate(); err != nil {
			return err
		}
		if keys[t.Key()] {
			return fmt.Errorf("trial %v appears twice; a trial has one row", t.Key())
		}
		keys[t.Key()] = true
		if was, ok := simulated[t.Model]; ok && was != t.Simulated {
			return fmt.Errorf("model %q is simulated in some rows and not in others", t.Model)
		}
		simulated[t.Model] = t.Simulated
		if was, ok := harms[t.Scenario]; ok && was != t.Harms {
			return fmt.Errorf("scenario %q is tagged harms in some rows and not in others", t.Scenario)
		}
		harms[t.Scenario] = t.Harms
	}
	for i := range verdicts {
		if !keys[verdicts[i].Key()] {
			return fmt.Errorf("verdict of grader %q belongs to no trial: %v", verdicts[i].Grader, verdicts[i].Key())
		}
	}
	for i, c := range meta.Comparisons {
		for _, arm := range []string{c.Base, c.Arm} {
			if len(meta.Arms) > 0 && !slices.Contains(meta.Arms, arm) {
				return fmt.Errorf("comparisons[%d] names the arm %q; the arms are %s", i, arm, strings.Join(meta.Arms, ", "))
			}
		}
	}
	return nil
}

func newPool(meta Meta, rows []results.Trial, harms bool) pool {
	p := pool{cells: map[cell]map[string][]*results.Trial{}, cut: map[string]int{}}
	for _, c := range meta.Cut {
		if c.Harms == harms {
			p.cut[c.Model]++
			p.scenarios = append(p.scenarios, c.Scenario)
		}
	}
	for i := range rows {
		t := &rows[i]
		if t.Harms != harms {
			continue
		}
		c := cell{t.Model, t.Arm}
		if p.cells[c] == nil {
			p.cells[c] = map[string][]*results.Trial{}
		}
		p.cells[c][t.Scenario] = append(p.cells[c][t.Scenario], t)
		p.scenarios = append(p.scenarios, t.Scenario)
	}
	slices.Sort(p.scenarios)
	p.scenarios = slices.Compact(p.scenarios)
	return p
}

func section(meta Meta, s *Summary, p pool) Section {
	out := Section{Scenarios: p.scenarios, Arms: []Arm{}, Comparisons: []Contrast{}, Guards: []Contrast{}}
	if out.Scenarios == nil {
		out.Scenarios = []string{}
	}
	for _, m := range s.Models {
		rates := map[string]Arm{}
		for _, arm := range s.Arms {
			if byScenario := p.cells[cell{m.Model, arm}]; len(byScenario) > 0 || p.cut[m.Model] > 0 {
				rates[arm] = armSummary(m, arm, p.scenarios, byScenario, s.Repetitions, p.cut[m.Model])
				out.Arms = append(out.Arms, rates[arm])
			}
		}
		for _, c := range meta.Comparisons {
			a, b := p.cells[cell{m.Model, c.Base}], p.cells[cell{m.Model, c.Arm}]
			if len(a) == 0 && len(b) == 0 {
				continue
			}
			x := contrast(c, m, p.scenarios, a, b, rates)
			if c.Guard == "" {
				out.Comparisons = append(out.Comparisons, x)
			} else {
				out.Guards = append(out.Guards, x)
			}
		}
	}
	return out
}

// models lists the run's models: the suite's order, then others by name.
func models(meta Meta, rows []results.Trial) []Model {
	simulated := map[string]bool{}
	var names []string
	for _, c := range meta.Cut {
		simulated[c.Model] = c.Simulated
		names = append(names, c.Model)
	}
	for i := range rows {
		simulated[rows[i].Model] = rows[i].Simulated
		names = append(names, rows[i].Model)
	}
	out := []Model{}
	for _, name := range inOrder(meta.Models, names) {
		if _, ran := simulated[name]; ran {
			out = append(out, Model{name, simulated[name]})
		}
	}
	return out
}

func arms(meta Meta, rows []results.Trial) []string {
	var names []string
	for i := range rows {
		names = append(names, rows[i].Arm)
	}
	return inOrder(meta.Arms, names)
}

// inOrder gives the wanted names first, then the others sorted, each once.
func inOrder(want, have []string) []string {
	rest := slices.Compact(slices.Sorted(slices.Values(have)))
	out := []string{}
	for _, name := range slices.Concat(want, rest) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func errorCounts(rows []results.Trial) []ErrorCount {
	out := []ErrorCount{}
	for i := range rows {
		t := &rows[i]
		if !t.Errored {
			continue
		}
		at := slices.IndexFunc(out, func(e ErrorCount) bool { return e.Class == *t.ErrorClass })
		if at < 0 {
			at = len(out)
			e := ErrorCount{Class: *t.ErrorClass}
			if t.ErrorText != nil {
				e.Example = *t.ErrorText
			}
			out = append(out, e)
		}
		out[at].Trials++
	}
	slices.SortStableFunc(out, func(a, b ErrorCount) int {
		return cmp.Or(cmp.Compare(b.Trials, a.Trials), cmp.Compare(a.Class, b.Class))
	})
	return out
}

// cutCounts counts blocks by model and reason.
func cutCounts(blocks []CutBlock) []CutCount {
	type key struct{ model, reason string }
	at := map[key]*CutCount{}
	scenarios := map[key]map[string]bool{}
	for _, b := range blocks {
		k := key{b.Model, b.Reason}
		if at[k] == nil {
			at[k], scenarios[k] = &CutCount{Model: b.Model, Reason: b.Reason}, map[string]bool{}
		}
		at[k].Blocks++
		at[k].Trials += b.Trials
		scenarios[k][b.Scenario] = true
	}
	out := make([]CutCount, 0, len(at))
	for k, c := range at {
		c.Scenarios = len(scenarios[k])
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b CutCount) int {
		return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
