package report

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/results/pricing"
	"github.com/harnessbench/harnessbench/results/stats"
)

// maxK bounds k of pass^k and pass@k: beyond it the lists are no use.
const maxK = 10

// armSummary sums up one cell. Scenarios of the section that the cell did not
// run count as scenarios without graded trials, so that the warning is given.
func armSummary(m Model, name string, scenarios []string, byScenario map[string][]*results.Trial, reps, cut int) Arm {
	a := Arm{Model: m.Model, Simulated: m.Simulated, Arm: name, Cut: cut,
		PassHat: map[string]*float64{}, PassAt: map[string]*float64{}, Errors: map[string]int{}, ByK: []K{}}
	counts := make([]stats.Counts, 0, len(scenarios))
	var all []*results.Trial
	for _, id := range scenarios {
		c := stats.Counts{ID: id}
		for _, t := range byScenario[id] {
			all = append(all, t)
			c.Graded += count(t.Graded())
			c.Passed += count(t.Graded() && t.Verdict == results.Pass)
			a.Errored += count(t.Errored)
			a.Ungraded += count(!t.Graded())
			if t.Errored {
				a.Errors[*t.ErrorClass]++
			}
		}
		counts = append(counts, c)
	}
	a.Trials = len(all)
	a.rates(counts, reps)
	a.RateMin, a.RateMax = rateBounds(scenarios, byScenario)
	a.Usage = tokens(all)
	a.Tokens = a.Usage.Total
	a.money(all)
	a.Time = times(all)
	a.Outcomes = outcomes(all)
	return a
}

// rates sets what the estimators say of the counts.
func (a *Arm) rates(counts []stats.Counts, reps int) {
	r := stats.PassRate(counts)
	e := estimate(r.Estimate)
	a.Scenarios, a.Graded, a.Passed = r.Scenarios, r.Graded, r.Passed
	a.Rate, a.CI, a.CIMethod, a.N, a.Warnings = e.Value, interval(e.Lo, e.Hi), e.Method, e.N, e.Warnings
	a.SEClustered, a.SENaive, a.CINaive = r.SEClustered, r.SENaive, interval(r.NaiveLo, r.NaiveHi)
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
func (a *Arm) money(ts []*results.Trial) {
	a.CostUSD = money(ts, func(t *results.Trial) *float64 { return t.CostUSD })
	a.SpentUSD = money(ts, func(t *results.Trial) *float64 { return t.SpentUSD })
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
}

// sum adds what get gives of each trial: nil when it is unknown in one, or there
// is none.
func sum(ts []*results.Trial, get func(*results.Trial) *int64) *int64 {
	var n int64
	for _, t := range ts {
		p := get(t)
		if p == nil || *p > math.MaxInt64-n {
			return nil
		}
		n += *p
	}
	if len(ts) == 0 {
		return nil
	}
	return &n
}

func times(ts []*results.Trial) Time {
	t := Time{
		ModelUS: sum(ts, func(t *results.Trial) *int64 { return t.ModelUS }),
		ToolUS:  sum(ts, func(t *results.Trial) *int64 { return t.ToolUS }),
		WaitUS:  sum(ts, func(t *results.Trial) *int64 { return t.WaitUS }),
	}
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
func rateBounds(scenarios []string, byScenario map[string][]*results.Trial) (lo, hi *float64) {
	var low, high float64
	n := 0.0
	for _, id := range scenarios {
		ts := byScenario[id]
		if len(ts) == 0 {
			continue
		}
		passed, unknown := 0, 0
		for _, t := range ts {
			passed += count(t.Verdict == results.Pass)
			unknown += count(!t.Graded())
		}
		low += float64(passed) / float64(len(ts))
		high += float64(passed+unknown) / float64(len(ts))
		n++
	}
	if n == 0 {
		return nil, nil
	}
	low, high = low/n, high/n
	return &low, &high
}

func tokens(ts []*results.Trial) Tokens {
	out := Tokens{
		InputUncached: sum(ts, func(t *results.Trial) *int64 { return t.InputUncached }),
		CacheRead:     sum(ts, func(t *results.Trial) *int64 { return t.CacheRead }),
		CacheWrite:    sum(ts, func(t *results.Trial) *int64 { return t.CacheWrite }),
		Output:        sum(ts, func(t *results.Trial) *int64 { return t.Output }),
	}
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

// money adds amounts; nil when one is unknown, or there is none.
func money(ts []*results.Trial, get func(*results.Trial) *float64) *float64 {
	if len(ts) == 0 {
		return nil
	}
	amounts := make([]*float64, len(ts))
	for i, t := range ts {
		amounts[i] = get(t)
	}
	return pricing.Sum(amounts)
}

func outcomes(ts []*results.Trial) []OutcomeCount {
	out := []OutcomeCount{}
	for _, t := range ts {
		at := slices.IndexFunc(out, func(o OutcomeCount) bool { return o.Outcome == t.Outcome })
		if at < 0 {
			at = len(out)
			out = append(out, OutcomeCount{Outcome: t.Outcome})
		}
		out[at].Trials++
		out[at].Backstop += count(t.Backstop)
		out[at].Passed += count(t.Graded() && t.Verdict == results.Pass)
	}
	slices.SortFunc(out, func(a, b OutcomeCount) int {
		return cmp.Or(cmp.Compare(b.Trials, a.Trials), cmp.Compare(a.Outcome, b.Outcome))
	})
	return out
}

func estimate(e stats.Estimate) Estimate {
	out := Estimate{Value: e.Value, Lo: e.Lo, Hi: e.Hi, Method: e.Method, N: e.N, Warnings: []string{}}
	for _, w := range e.Warnings {
		out.Warnings = append(out.Warnings, string(w))
	}
	return out
}
