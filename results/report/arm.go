package report

import (
	"cmp"
	"math"
	"slices"

	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/results/pricing"
	"github.com/harnessbench/harnessbench/results/stats"
)

// maxK bounds k of pass^k and pass@k: beyond it the lists are no use.
const maxK = 10

// armSummary sums up one cell. Scenarios of the section that the cell did not
// run count as scenarios without graded trials, so that the warning is given.
func armSummary(m Model, name string, scenarios []string, byScenario map[string][]*results.Trial, reps int) Arm {
	a := Arm{Model: m.Model, Simulated: m.Simulated, Arm: name, PassHat: []K{}, PassAt: []K{}}
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
		}
		counts = append(counts, c)
	}
	r := stats.PassRate(counts)
	a.Trials, a.Scenarios, a.Graded, a.Passed = len(all), r.Scenarios, r.Graded, r.Passed
	a.Rate = estimate(r.Estimate, rateDigits)
	a.SEClustered, a.SENaive = round(r.SEClustered, rateDigits), round(r.SENaive, rateDigits)
	a.NaiveLo, a.NaiveHi = round(r.NaiveLo, rateDigits), round(r.NaiveHi, rateDigits)
	a.RateMin, a.RateMax = rateBounds(scenarios, byScenario)
	for k := 1; k <= min(reps, maxK); k++ {
		a.PassHat = append(a.PassHat, K{k, estimate(stats.PassHat(counts, k), rateDigits)})
		a.PassAt = append(a.PassAt, K{k, estimate(stats.PassAt(counts, k), rateDigits)})
	}
	a.Tokens = tokens(all)
	a.CostUSD, a.SpentUSD = money(all, func(t *results.Trial) *float64 { return t.CostUSD }), money(all, func(t *results.Trial) *float64 { return t.SpentUSD })
	if a.CostUSD != nil && a.Trials > 0 {
		per := *a.CostUSD / float64(a.Trials)
		a.CostPerTrial = round(&per, moneyDigits)
	}
	a.CostOfPass = costOfPass(a.CostUSD, a.Passed, a.Trials)
	a.Outcomes = outcomes(all)
	return a
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
	return round(&low, rateDigits), round(&high, rateDigits)
}

func tokens(ts []*results.Trial) Tokens {
	sum := func(get func(*results.Trial) *int64) *int64 {
		var n int64
		for _, t := range ts {
			p := get(t)
			if p == nil || *p > math.MaxInt64-n {
				return nil
			}
			n += *p
		}
		return &n
	}
	out := Tokens{
		InputUncached: sum(func(t *results.Trial) *int64 { return t.InputUncached }),
		CacheRead:     sum(func(t *results.Trial) *int64 { return t.CacheRead }),
		CacheWrite:    sum(func(t *results.Trial) *int64 { return t.CacheWrite }),
		Output:        sum(func(t *results.Trial) *int64 { return t.Output }),
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

func money(ts []*results.Trial, get func(*results.Trial) *float64) *float64 {
	amounts := make([]*float64, len(ts))
	for i, t := range ts {
		amounts[i] = get(t)
	}
	return round(pricing.Sum(amounts), moneyDigits)
}

func costOfPass(cost *float64, passed, trials int) Money {
	usd, infinite := stats.CostOfPass(cost, passed)
	switch {
	case trials == 0:
		return Money{nil, Nothing}
	case infinite:
		return Money{nil, Infinite}
	case usd == nil:
		return Money{nil, Unknown}
	}
	return Money{round(usd, moneyDigits), Known}
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

// Decimals kept: rates to a millionth, money to a billionth of a dollar.
// Processors differ in the last bit of a float; reports must not.
const (
	rateDigits  = 6
	moneyDigits = 9
)

func round(p *float64, digits int) *float64 {
	if p == nil {
		return nil
	}
	scale := math.Pow10(digits)
	v := math.Round(*p*scale) / scale
	if v == 0 {
		v = 0 // no negative zero
	}
	return &v
}

func estimate(e stats.Estimate, digits int) Estimate {
	n := e.N
	out := Estimate{
		Value: round(e.Value, digits), Lo: round(e.Lo, digits), Hi: round(e.Hi, digits),
		Method: e.Method, N: *round(&n, 3), Warnings: []string{},
	}
	for _, w := range e.Warnings {
		out.Warnings = append(out.Warnings, string(w))
	}
	return out
}
