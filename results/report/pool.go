package report

import (
	"slices"

	"github.com/harnessbench/harnessbench/results/pricing"
	"github.com/harnessbench/harnessbench/results/stats"
)

// cell names the trials of one model in one arm.
type cell struct{ model, arm string }

// pool is one section's trials, ready to be counted.
type pool struct {
	scenarios []string // sorted
	cells     map[cell]*armRuns
	cut       map[string]int // blocks that were cut, by model
	none      *armRuns       // of an arm that did nothing
	draws     *stats.Draws   // of the arms whose cost and passes are known; nil when there are none
	drawn     map[cell]int   // their places in it
}

// armRuns is what one model did in one arm.
type armRuns struct {
	tally  *tally
	runs   [][]run        // by scenario of the pool, in order of repetition
	counts []stats.Counts // likewise: what was graded
	totals []stats.Totals // likewise: what was spent and got
}

func (x *Accumulator) pool(harms bool) *pool {
	p := &pool{cells: map[cell]*armRuns{}, cut: map[string]int{}}
	for _, c := range x.meta.Cut {
		if c.Harms == harms {
			p.cut[c.Model]++
			p.scenarios = append(p.scenarios, c.Scenario)
		}
	}
	for i, name := range x.scenarios.list {
		if x.harms[i] == harms {
			p.scenarios = append(p.scenarios, name)
		}
	}
	slices.Sort(p.scenarios)
	p.scenarios = slices.Compact(p.scenarios)
	at := make([]int, len(x.scenarios.list))
	for i, name := range x.scenarios.list {
		at[i], _ = slices.BinarySearch(p.scenarios, name)
	}
	for _, c := range x.cells {
		if x.harms[c.scenario] != harms {
			continue
		}
		name := cell{x.models.list[c.model], x.arms.list[c.arm]}
		if p.cells[name] == nil {
			p.cells[name] = &armRuns{tally: c.tally, runs: make([][]run, len(p.scenarios))}
		}
		p.cells[name].runs[at[c.scenario]] = c.runs
	}
	p.none = &armRuns{tally: newTally(len(x.guards.names)), runs: make([][]run, len(p.scenarios))}
	p.none.count(p.scenarios)
	for _, a := range p.cells {
		a.count(p.scenarios)
	}
	return p
}

// of gives what an arm did on a model; never nil.
func (p *pool) of(model, arm string) *armRuns {
	if a := p.cells[cell{model, arm}]; a != nil {
		return a
	}
	return p.none
}

func (a *armRuns) count(scenarios []string) {
	a.counts, a.totals = make([]stats.Counts, len(scenarios)), make([]stats.Totals, len(scenarios))
	for i, id := range scenarios {
		c, t := &a.counts[i], &a.totals[i]
		c.ID, t.ID, t.Trials = id, id, len(a.runs[i])
		for j := range a.runs[i] {
			c.Graded += count(a.runs[i][j].graded)
			c.Passed += count(a.runs[i][j].pass)
		}
		t.Graded, t.Passed = c.Graded, c.Passed
		t.CostUSD = money(a.runs[i:i+1], func(r *run) *float64 { return &r.cost })
	}
}

// money adds amounts; nil when one is unknown, or there is none.
func money(cells [][]run, get func(*run) *float64) *float64 {
	var amounts []*float64
	for _, runs := range cells {
		for i := range runs {
			amounts = append(amounts, get(&runs[i])) // NaN is unknown there too
		}
	}
	if len(amounts) == 0 {
		return nil
	}
	return pricing.Sum(amounts)
}

// meanCost is the mean cost of the graded trials; NaN when one is unknown.
func meanCost(runs []run) float64 {
	sum, n := 0.0, 0
	for i := range runs {
		if runs[i].graded {
			sum, n = sum+runs[i].cost, n+1
		}
	}
	return sum / float64(max(n, 1))
}
