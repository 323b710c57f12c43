package report

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/harnessbench/harnessbench/results"
)

// Compute summarises rows that are in memory. They may come in any order and stay as they
// are; it is an error when two trials have the same key, a row is invalid, a verdict
// belongs to no trial, or a comparison names an arm that the meta does not list. For rows
// that come one at a time there is [Accumulator].
func Compute(meta Meta, trials []results.Trial, verdicts []results.Verdict) (*Summary, error) {
	x, err := NewAccumulator(meta)
	if err != nil {
		return nil, err
	}
	for i := range trials {
		if err := x.Add(&trials[i]); err != nil {
			return nil, err
		}
	}
	s, err := x.Summary()
	if err != nil {
		return nil, err
	}
	for i := range verdicts {
		if !x.has(verdicts[i].Key()) {
			return nil, fmt.Errorf("verdict of grader %q belongs to no trial: %v", verdicts[i].Grader, verdicts[i].Key())
		}
	}
	return s, nil
}

// Summary sums up what was added. It is an error when a trial was added twice.
func (x *Accumulator) Summary() (*Summary, error) {
	if err := x.finish(); err != nil {
		return nil, err
	}
	meta := &x.meta
	s := &Summary{
		Schema: Schema, RunID: meta.RunID, Suite: meta.Suite, Seed: meta.Seed, Repetitions: meta.Repetitions,
		Models: x.modelList(), Arms: inOrder(meta.Arms, x.arms.list),
		Trials: x.trials, Graded: x.graded, Errored: x.errored, Ungraded: x.trials - x.graded, Volatile: x.volatile,
		Errors: x.errorCounts(), Cut: cutCounts(meta.Cut), Families: []Family{}, Notes: slices.Concat([]string{}, meta.Notes),
	}
	for _, c := range meta.Cut {
		s.CutTrials += c.Trials
	}
	if s.Repetitions <= 0 {
		s.Repetitions = x.repetitions
	}
	s.Main = x.section(s, x.pool(false))
	s.Families = adjust(&s.Main, "")
	if p := x.pool(true); len(p.scenarios) > 0 {
		h := x.section(s, p)
		s.Harms = &h
		s.Families = append(s.Families, adjust(s.Harms, ", scenarios tagged harms")...)
	}
	s.Firing = x.firing.list(meta.Expect)
	s.Headline = headline(s)
	s.Gates = judgeGates(s, meta.Gates)
	return s, nil
}

func (x *Accumulator) section(s *Summary, p *pool) Section {
	out := Section{Scenarios: p.scenarios, Arms: []Arm{}, Comparisons: []Contrast{}, Guards: []Contrast{}, Factorials: []Factorial{}}
	if out.Scenarios == nil {
		out.Scenarios = []string{}
	}
	rates := map[cell]*Arm{}
	for _, m := range s.Models {
		for _, arm := range s.Arms {
			if a := p.cells[cell{m.Model, arm}]; a != nil || p.cut[m.Model] > 0 && x.planned(m.Model, arm) {
				out.Arms = append(out.Arms, armSummary(m, arm, p.of(m.Model, arm), s.Repetitions, p.cut[m.Model], x.outcomes.list))
			}
		}
	}
	for i := range out.Arms {
		rates[cell{out.Arms[i].Model, out.Arms[i].Arm}] = &out.Arms[i]
	}
	p.draw(out.Arms, x.meta.Seed)
	for _, c := range x.contrasts(s, p, rates) {
		if c.Guard == "" {
			out.Comparisons = append(out.Comparisons, c)
		} else {
			out.Guards = append(out.Guards, c)
		}
	}
	out.Factorials = factorials(s, &x.meta, p)
	return out
}

// planned reports whether an arm was to run on a model: it did in some scenario, or
// nothing at all was run on it.
func (x *Accumulator) planned(model, arm string) bool {
	m, ok := x.models.at[model]
	if !ok {
		return true
	}
	if a, ok := x.arms.at[arm]; ok {
		return x.tallies[tallyKey{m, a, false}] != nil || x.tallies[tallyKey{m, a, true}] != nil
	}
	return false
}

// contrasts compares what the suite declares: those of two models first, then model by
// model. Each is a pure function of its trials, so they are made side by side.
func (x *Accumulator) contrasts(s *Summary, p *pool, rates map[cell]*Arm) []Contrast {
	var work []contrastWork
	add := func(c Comparison, a, b Model) {
		if x.planned(a.Model, c.Base) || x.planned(b.Model, c.Arm) {
			work = append(work, contrastWork{Comparison: c, modelA: a, modelB: b, pool: p, rates: rates,
				guard: x.guards.bit(c.Guard), single: s.Repetitions == 1, seed: x.meta.Seed, outcomes: x.outcomes.list})
		}
	}
	model := func(name string) (Model, bool) {
		i := slices.IndexFunc(s.Models, func(m Model) bool { return m.Model == name })
		if i < 0 {
			return Model{}, false
		}
		return s.Models[i], true
	}
	for _, c := range x.meta.Comparisons {
		a, okA := model(c.BaseModel)
		b, okB := model(c.ArmModel)
		if okA && okB && a != b {
			add(c, a, b)
		}
	}
	for _, m := range s.Models {
		for _, c := range x.meta.Comparisons {
			if c.BaseModel == "" || c.BaseModel == c.ArmModel && c.ArmModel == m.Model {
				add(c, m, m)
			}
		}
	}
	out := make([]Contrast, len(work))
	var group sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range work {
		slots <- struct{}{}
		group.Go(func() {
			out[i] = work[i].contrast()
			<-slots
		})
	}
	group.Wait()
	return out
}

// modelList lists the run's models: the suite's order, then others by name.
func (x *Accumulator) modelList() []Model {
	simulated := map[string]bool{}
	var have []string
	for _, c := range x.meta.Cut {
		simulated[c.Model] = c.Simulated
		have = append(have, c.Model)
	}
	for i, name := range x.models.list {
		simulated[name] = x.simulated[i]
		have = append(have, name)
	}
	out := []Model{}
	for _, name := range inOrder(x.meta.Models, have) {
		if _, ran := simulated[name]; ran {
			out = append(out, Model{name, simulated[name]})
		}
	}
	return out
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

func (x *Accumulator) errorCounts() []ErrorCount {
	out := []ErrorCount{}
	for class, e := range x.errors {
		out = append(out, ErrorCount{Class: class, Trials: e.trials, Example: e.text})
	}
	slices.SortFunc(out, func(a, b ErrorCount) int {
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
