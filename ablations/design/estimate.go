package design

import (
	"math"
	"slices"
	"time"

	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/scenarios"
)

// AssumedOutput is the worst case of an answer whose max_tokens is unset, in
// tokens.
const AssumedOutput = 8192

// Estimate says what a plan takes, before a cent is spent.
type Estimate struct {
	Rows  []EstimateRow // one per scenario and model, in canonical order
	Total EstimateRow   // of all rows; it names no scenario and no model
	// AssumedOutput counts the scenarios without max_tokens, for which an answer
	// of 8,192 tokens is taken as the largest, as budgets do.
	AssumedOutput int
	// LongestTrial is the most time that one trial may take on its own clock.
	LongestTrial time.Duration
}

// EstimateRow is what the trials of one scenario and model take.
type EstimateRow struct {
	Scenario, Model string
	Arms            int  // that run on the model
	Blocks          int  // repetitions
	Trials          int  // arms x repetitions
	Worst           Need // no trial can take more
	Typical         Need // as an earlier run did; all unknown without one
}

// Need is what trials take. nil is unknown.
type Need struct {
	Calls  *float64 // model calls, repeated attempts included
	Tokens *float64 // input and output
	USD    *float64 // as-if cost: as if no answer were shared between arms
	// SpentUSD is the cost with sharing, which budgets bound. In the worst case
	// it is the as-if cost: arms may differ from their first request on.
	SpentUSD *float64
	Seconds  *float64 // on the trials' own clocks, one after the other
}

// Add is the sum of two needs; what is unknown in one is unknown in the sum.
func (n Need) Add(o Need) Need {
	sum := func(a, b *float64) *float64 {
		if a == nil || b == nil {
			return nil
		}
		return new(*a + *b)
	}
	return Need{sum(n.Calls, o.Calls), sum(n.Tokens, o.Tokens), sum(n.USD, o.USD), sum(n.SpentUSD, o.SpentUSD), sum(n.Seconds, o.Seconds)}
}

// times is the need of k trials like this one.
func (n Need) times(k int) Need {
	mul := func(a *float64) *float64 {
		if a == nil {
			return nil
		}
		return new(*a * float64(k))
	}
	return Need{mul(n.Calls), mul(n.Tokens), mul(n.USD), mul(n.SpentUSD), mul(n.Seconds)}
}

func nothing() Need { return Need{new(0.0), new(0.0), new(0.0), new(0.0), new(0.0)} }

// Estimate adds up what the plan's trials take at most, and what they take by
// the rows of an earlier run (nil: there was none). A scenario and model that it
// has no row of is unknown.
func (p *Plan) Estimate(earlier []results.Trial) Estimate {
	type pair struct{ scenario, model string }
	typical := map[pair]*mean{}
	for i := range earlier {
		k := pair{earlier[i].Scenario, earlier[i].Model}
		if typical[k] == nil {
			typical[k] = &mean{}
		}
		typical[k].add(&earlier[i])
	}
	e := Estimate{Total: EstimateRow{Worst: nothing(), Typical: nothing()}}
	perRow := map[pair]*EstimateRow{}
	for _, b := range p.Blocks() {
		k := pair{b.Scenario.ID, b.Model}
		row := perRow[k]
		if row == nil {
			row = &EstimateRow{Scenario: k.scenario, Model: k.model, Arms: len(b.Trials), Worst: nothing()}
			for i := range b.Trials {
				one := p.worstOf(&b.Trials[i])
				row.Worst = row.Worst.Add(one) // of one block; multiplied below
				e.LongestTrial = max(e.LongestTrial, time.Duration(*one.Seconds*float64(time.Second)))
			}
			perRow[k] = row
		}
		row.Blocks++
		row.Trials += len(b.Trials)
	}
	for _, sc := range p.Scenarios {
		if p.openEnded(sc) {
			e.AssumedOutput++
		}
		for _, m := range p.Suite.Models {
			row := perRow[pair{sc.ID, m}]
			if row == nil {
				continue // another shard has it
			}
			row.Worst = row.Worst.times(row.Blocks)
			row.Typical = typical[pair{sc.ID, m}].need().times(row.Trials)
			e.Rows = append(e.Rows, *row)
			e.Total.Blocks += row.Blocks
			e.Total.Trials += row.Trials
			e.Total.Worst, e.Total.Typical = e.Total.Worst.Add(row.Worst), e.Total.Typical.Add(row.Typical)
		}
	}
	e.Total.Arms = len(p.Arms)
	return e
}

// openEnded reports whether answers in a scenario have no bound on some model.
func (p *Plan) openEnded(sc *scenarios.Scenario) bool {
	return slices.ContainsFunc(p.Suite.Models, func(m string) bool {
		most, _ := p.bounds(sc, m)
		return most == 0
	})
}

// Duration is the time that trials take side by side: their sum shared out, and
// never less than the longest of them.
func Duration(seconds float64, longest time.Duration, concurrency int) time.Duration {
	s := max(seconds/float64(max(1, concurrency)), longest.Seconds())
	if s > math.MaxInt64/float64(time.Second) {
		return math.MaxInt64
	}
	return time.Duration(s * float64(time.Second))
}

// worstOf is the most that one trial can take. Limits stop it before the next
// call, so the last call may go beyond them.
func (p *Plan) worstOf(t *Trial) Need {
	sc, g := t.Scenario, t.Arm.Guards
	models := p.askedBy(t)
	maxTokens, size := p.mostOf(sc, models)
	turns, tokens, cost, wall := caps(sc, g)
	attempts := int64(1)
	if g.Mode("retry") == guard.Enforce {
		attempts = g.Param("retry", "attempts")
	}
	output := int64(maxTokens)
	if output == 0 {
		output = AssumedOutput
	}
	if g.Mode("truncated_empty") == guard.Enforce {
		attempts += g.Param("truncated_empty", "retries")
		if maxTokens > 0 && g.Param("truncated_empty", "retries") > 0 {
			output *= g.Param("truncated_empty", "factor_cap")
		}
	}
	calls := float64(turns) * float64(attempts) * float64(len(models))
	if g.Mode("final_synthesis") == guard.Enforce { // within the budgets, beyond turns and time
		calls++
		wall += time.Duration(g.Param("final_synthesis", "timeout"))
	}
	out := Need{Calls: &calls, Seconds: new(wall.Seconds())}
	window := float64(size)
	if window == 0 {
		return out // nobody says how large a request can be
	}
	in, answers := calls*window, calls*float64(output)
	if tokens > 0 {
		most := float64(tokens) - 1 + window + float64(output)
		answers = min(answers, most)
		in = min(in, max(0, most-answers))
	}
	out.Tokens = new(in + answers)
	perIn, perOut := 0.0, 0.0
	for _, m := range models { // the dearest of them
		price, known := p.price(m)
		if !known {
			return out
		}
		perIn = max(perIn, float64(max(*price.Input, *price.CacheRead, *price.CacheWrite))/1e12)
		perOut = max(perOut, perIn, float64(*price.Output)/1e12) // the dearest mix of the two, whatever the price list
	}
	usd := in*perIn + answers*perOut
	if cost > 0 {
		usd = min(usd, float64(cost)/1e6+window*perIn+float64(output)*perOut)
	}
	out.USD, out.SpentUSD = &usd, new(usd)
	return out
}

// caps are the limits in force in a trial: the scenario's, which the suite has
// tightened, and the arm's where it enforces them. Zero tokens or cost is unset.
func caps(sc *scenarios.Scenario, g guard.Settings) (turns, tokens, cost int64, wall time.Duration) {
	turns, tokens, cost, wall = int64(sc.Limits.Turns), sc.Limits.Tokens, sc.Limits.CostMicroUSD, sc.Limits.Wall
	if g.Mode("limits") == guard.Enforce {
		turns = least(turns, g.Param("limits", "turns"))
		tokens = least(tokens, g.Param("limits", "tokens"))
		cost = least(cost, g.Param("limits", "cost"))
	}
	if g.Mode("run_deadline") == guard.Enforce {
		wall = least(wall, time.Duration(g.Param("run_deadline", "total")))
	}
	return turns, tokens, cost, wall
}

// mean adds up the trials of an earlier run. What one trial does not know, their
// mean does not.
type mean struct {
	trials int
	sum    Need
}

func (m *mean) add(t *results.Trial) {
	if m.trials == 0 {
		m.sum = nothing()
	}
	m.trials++
	m.sum = m.sum.Add(Need{Calls: new(float64(t.ModelCalls)), Tokens: total(1, t.InputUncached, t.CacheRead, t.CacheWrite, t.Output),
		USD: t.CostUSD, SpentUSD: t.SpentUSD, Seconds: total(1e-6, t.ModelUS, t.ToolUS, t.WaitUS)})
}

// need is the mean of one trial.
func (m *mean) need() Need {
	if m == nil {
		return Need{}
	}
	by := func(a *float64) *float64 {
		if a == nil {
			return nil
		}
		return new(*a / float64(m.trials))
	}
	return Need{by(m.sum.Calls), by(m.sum.Tokens), by(m.sum.USD), by(m.sum.SpentUSD), by(m.sum.Seconds)}
}

// total adds up counts in another unit; nil when one is unknown.
func total(unit float64, counts ...*int64) *float64 {
	sum := 0.0
	for _, c := range counts {
		if c == nil {
			return nil
		}
		sum += float64(*c)
	}
	return new(sum * unit)
}
