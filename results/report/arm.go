package report

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/harnessbench/harnessbench/results/stats"
)

// maxK bounds k of pass^k and pass@k: beyond it the lists are no use.
const maxK = 10

// armSummary sums up one cell. Scenarios of the section that the cell did not
// run count as scenarios without graded trials, so that the warning is given.
func armSummary(m Model, name string, runs *armRuns, reps, cut int, outcomes []string) Arm {
	y := runs.tally
	a := Arm{Model: m.Model, Simulated: m.Simulated, Arm: name, Cut: cut, Trials: y.trials, Errored: y.errored,
		PassHat: map[string]*float64{}, PassAt: map[string]*float64{}, Errors: maps.Clone(y.errors), ByK: []K{}}
	a.rates(runs.counts, reps)
	a.Ungraded = a.Trials - a.Graded
	a.RateMin, a.RateMax = rateBounds(runs)
	a.Usage = tokens(y)
	a.Tokens = a.Usage.Total
	a.money(runs)
	a.Time = times(y)
	a.Outcomes = outcomeCounts(y, outcomes)
	a.ByScenario = byScenario(runs.totals)
	return a
}

// rates sets what the estimators say of the counts.
func (a *Arm) rates(counts []stats.Counts, reps int) {
	r := stats.PassRate(counts)
	e := estimate(r.Estimate)
	a.Scenarios, a.Graded, a.Passed = r.Scenarios, r.Graded, r.Passed
	a.Rate, a.CI, a.CIMethod, a.N, a.Warnings = e.Value, interval(e.Lo, e.Hi), e.Method, e.N, e.Warnings
	a.SEClustered, a.SENaive, a.CINaive = r.SEClustered, r.SENaive, interval(r.NaiveLo, r.NaiveHi)
	a.ICC = stats.ICC(counts).Value
	for k := 1; k <= min(reps, maxK); k++ {
		x := K{k, estimate(stats.PassHat(counts, k)), estimate(stats.PassAt(counts, k))}
		a.ByK = append(a.ByK, x)
		a.PassHat[strconv.Itoa(k)], a.PassAt[strconv.Itoa(k)] = x.Hat.Value, x.At.Value
	}
}

// rate gives the pass rate with its interval.
func (a *Arm) rate() Estimate {
	e := Estimate{Value: a.Rate, Method: a.CIMethod, N: a.N, Warnings: a.Warnings}
	if a.CI != nil {
		e.Lo, e.Hi = &a.CI[0], &a.CI[1]
	}
	return e
}

// perPass gives the cost of a pass.
func (a *Arm) perPass() Money { return Money{a.CostOfPass, a.CostOfPassState} }

func interval(lo, hi *float64) *Interval {
	if lo == nil || hi == nil {
		return nil
	}
	return &Interval{*lo, *hi}
}

// money sets costs. A cost that is unknown in one trial is unknown in all.
func (a *Arm) money(runs *armRuns) {
	a.CostUSD = money(runs.runs, func(r *run) *float64 { return &r.cost })
	a.SpentUSD = money(runs.runs, func(r *run) *float64 { return &r.spent })
	if a.CostUSD != nil && a.Trials > 0 {
		per := *a.CostUSD / float64(a.Trials)
		a.CostPerTrial = &per
	}
	usd, infinite := stats.CostOfPass(a.CostUSD, a.Passed)
	switch {
	case a.Graded == 0:
		a.CostOfPassState = Nothing
	case infinite:
		a.CostOfPassState = Infinite
	case usd == nil:
		a.CostOfPassState = Unknown
	default:
		a.CostOfPass, a.CostOfPassState = usd, Known
	}
	if a.CostUSD == nil || a.Graded == 0 {
		return
	}
	if c := stats.CostPerPass(ran(runs.totals)); c.Lo != nil || c.Hi != nil {
		a.CostOfPassCI = &OpenInterval{c.Lo, c.Hi}
	}
}

// ran leaves out scenarios in which nothing was run.
func ran(in []stats.Totals) []stats.Totals {
	return slices.DeleteFunc(slices.Clone(in), func(t stats.Totals) bool { return t.Trials == 0 })
}

// byScenario shows the totals of the scenarios that were run.
func byScenario(in []stats.Totals) []ScenarioCell {
	out := make([]ScenarioCell, 0, len(in))
	for _, t := range ran(in) {
		out = append(out, ScenarioCell{t.ID, t.Trials, t.Graded, t.Passed, t.CostUSD})
	}
	return out
}

func times(y *tally) Time {
	t := Time{ModelUS: y.modelUS.value(), ToolUS: y.toolUS.value(), WaitUS: y.waitUS.value()}
	if t.ModelUS == nil || t.ToolUS == nil || t.WaitUS == nil {
		return t
	}
	all := float64(*t.ModelUS) + float64(*t.ToolUS) + float64(*t.WaitUS)
	if all == 0 {
		return t
	}
	share := func(us int64) *float64 { v := float64(us) / all; return &v }
	t.ModelShare, t.ToolShare, t.WaitShare = share(*t.ModelUS), share(*t.ToolUS), share(*t.WaitUS)
	return t
}

// rateBounds gives the pass rate if all ungraded trials had failed, and if all
// had passed.
func rateBounds(a *armRuns) (lo, hi *float64) {
	var low, high float64
	n := 0.0
	for _, t := range ran(a.totals) {
		low += float64(t.Passed) / float64(t.Trials)
		high += float64(t.Passed+t.Trials-t.Graded) / float64(t.Trials)
		n++
	}
	if n == 0 {
		return nil, nil
	}
	low, high = low/n, high/n
	return &low, &high
}

func tokens(y *tally) Tokens {
	out := Tokens{InputUncached: y.input.value(), CacheRead: y.read.value(), CacheWrite: y.write.value(), Output: y.output.value()}
	total := int64(0)
	for _, p := range []*int64{out.InputUncached, out.CacheRead, out.CacheWrite, out.Output} {
		if p == nil || *p > math.MaxInt64-total {
			return out
		}
		total += *p
	}
	out.Total = &total
	return out
}

func outcomeCounts(y *tally, names []string) []OutcomeCount {
	out := []OutcomeCount{}
	for i, o := range y.outcomes {
		out = append(out, OutcomeCount{Outcome: names[i], Trials: o.trials, Backstop: o.backstop, Passed: o.passed})
	}
	slices.SortFunc(out, func(a, b OutcomeCount) int {
		return cmp.Or(cmp.Compare(b.Trials, a.Trials), cmp.Compare(a.Outcome, b.Outcome))
	})
	return out
}

// fewArmsToDraw is up to how many arms a section's bootstrap has all its draws: its time
// grows with their square.
const fewArmsToDraw = 100

// draw resamples the scenarios once for all arms of all models of a section of which cost
// and passes are known, so that all that is said of cost comes from the same draws.
func (p *pool) draw(arms []Arm, seed uint64) {
	var in []stats.ArmTotals
	p.drawn = map[cell]int{}
	for i := range arms {
		if a := &arms[i]; a.Graded > 0 && a.CostUSD != nil {
			p.drawn[cell{a.Model, a.Arm}] = len(in)
			in = append(in, stats.ArmTotals{Name: a.Model + "/" + a.Arm, Scenarios: p.of(a.Model, a.Arm).totals})
		}
	}
	if len(in) == 0 {
		return
	}
	draws := stats.BootstrapDraws
	if len(in) > fewArmsToDraw {
		draws /= 10
	}
	p.draws = stats.Resample(in, draws, SeedOf(seed, PurposeCost))
	points := p.draws.Frontier()
	for i := range arms {
		a := &arms[i]
		if at, ok := p.drawn[cell{a.Model, a.Arm}]; ok {
			f := &points[at]
			a.Frontier, a.FrontierShare, a.BeatenBy = &f.On, f.Share, f.Beaten
		}
	}
}

// The purposes for which a report draws at random.
const (
	PurposeOverAll = "over all"        // sign flips over all scenarios
	PurposeFired   = "where it fired"  // swaps where a guard fired
	PurposeCost    = "cost and passes" // the bootstrap
)

// SeedOf gives the draws of one purpose a seed of their own, from the suite's: equal runs
// get equal draws.
func SeedOf(seed uint64, purpose string) uint64 {
	const prime = 1099511628211 // FNV-1a
	h := uint64(14695981039346656037) ^ seed*0x9e3779b97f4a7c15
	for _, c := range []byte(purpose) {
		h = (h ^ uint64(c)) * prime
	}
	return h
}

func estimate(e stats.Estimate) Estimate {
	return Estimate{Value: finite(e.Value), Lo: finite(e.Lo), Hi: finite(e.Hi), Method: e.Method, N: e.N, Warnings: warnings(e.Warnings)}
}

func warnings(in []stats.Warning) []string {
	out := []string{}
	for _, w := range in {
		out = append(out, string(w))
	}
	return out
}

// finite drops what JSON has no word for.
func finite(v *float64) *float64 {
	if v == nil || math.IsInf(*v, 0) || math.IsNaN(*v) {
		return nil
	}
	return v
}
