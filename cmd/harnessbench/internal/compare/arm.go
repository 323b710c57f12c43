package compare

import (
	"fmt"
	"math"

	"github.com/harnessbench/harnessbench/results/pricing"
	"github.com/harnessbench/harnessbench/results/report"
	"github.com/harnessbench/harnessbench/results/stats"
)

// maxK bounds k of pass^k and pass@k, as in reports.
const maxK = 10

// repetitions is how many trials of a scenario a side was to have.
func (s *side) repetitions() int {
	n := s.in.Repetitions
	if n <= 0 {
		for _, r := range s.runs {
			n = max(n, len(r))
		}
	}
	return n
}

// summary sums up one side, over its own scenarios.
func (s *side) summary(opt Options, k int) Arm {
	a := Arm{Model: name(s.model), Arm: name(s.arm), PassHat: map[string]*float64{}, PassAt: map[string]*float64{},
		Simulated: s.in.Simulated[s.model], Warnings: []string{}, label: s.label}
	counts := make([]stats.Counts, 0, len(s.scenarios))
	var totals []stats.Totals
	var means []float64
	var costs []*float64
	tokens, known := int64(0), true
	duration := 0.0
	for _, id := range s.scenarios {
		r := s.runs[id]
		g := r.graded(Pass)
		counts = append(counts, stats.Counts{ID: id, Graded: len(g), Passed: g.passed()})
		if scored := r.graded(Score); len(scored) > 0 {
			means = append(means, scored.mean(Score))
		}
		if len(r) > 0 {
			totals = append(totals, r.totals(id))
		}
		for i := range r {
			a.Trials++
			a.Errored += one(r[i].Errored)
			costs = append(costs, &r[i].CostUSD)
			known = known && r[i].Tokens >= 0 && tokens <= math.MaxInt64-r[i].Tokens
			if known {
				tokens += r[i].Tokens
			}
			duration += r[i].DurationS
		}
	}
	a.rates(counts, min(k, maxK))
	if opt.Metric == Score {
		a.scores(means)
	}
	if known {
		a.Tokens = &tokens
	}
	if !math.IsNaN(duration) {
		a.DurationS = &duration
	}
	a.money(costs, totals)
	return a
}

func name(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// rates sets what the estimators say of the passes.
func (a *Arm) rates(counts []stats.Counts, k int) {
	r := stats.PassRate(counts)
	a.Scenarios, a.Graded, a.Passed = r.Scenarios, r.Graded, r.Passed
	a.Rate, a.CI, a.CIMethod = r.Value, interval(r.Lo, r.Hi), r.Method
	a.SEClustered, a.SENaive, a.CINaive = r.SEClustered, r.SENaive, interval(r.NaiveLo, r.NaiveHi)
	a.ICC = stats.ICC(counts).Value
	for _, w := range r.Warnings {
		a.Warnings = append(a.Warnings, string(w))
	}
	for i := 1; i <= k; i++ {
		a.PassHat[fmt.Sprint(i)], a.PassAt[fmt.Sprint(i)] = stats.PassHat(counts, i).Value, stats.PassAt(counts, i).Value
	}
}

// scores puts the mean score in the place of the pass rate.
func (a *Arm) scores(means []float64) {
	e := clipped(stats.MeanDifference(means), 0, 1)
	a.Scenarios = len(means)
	a.Rate, a.CI, a.CIMethod, a.CINaive, a.SENaive, a.SEClustered = e.Value, interval(e.Lo, e.Hi), e.Method, nil, nil, nil
	a.PassHat, a.PassAt, a.ICC, a.Warnings = map[string]*float64{}, map[string]*float64{}, nil, []string{}
	for _, w := range e.Warnings {
		a.Warnings = append(a.Warnings, string(w))
	}
	if n := float64(len(means)); n > 1 {
		m, ss := *e.Value, 0.0
		for _, v := range means {
			ss += (v - m) * (v - m)
		}
		se := math.Sqrt(ss / (n - 1) / n)
		a.SEClustered = &se
	}
}

// money sets costs. A cost that is unknown in one trial is unknown in all.
func (a *Arm) money(costs []*float64, totals []stats.Totals) {
	if len(costs) > 0 {
		a.CostUSD = pricing.Sum(costs)
	}
	usd, infinite := stats.CostOfPass(a.CostUSD, a.Passed)
	switch {
	case a.Graded == 0:
		a.CostState = report.Nothing
	case infinite:
		a.CostState = report.Infinite
	case usd == nil:
		a.CostState = report.Unknown
	default:
		a.CostOfPass, a.CostState = usd, report.Known
	}
	if a.CostUSD != nil && a.Graded > 0 {
		c := stats.CostPerPass(totals)
		a.CostPassCI = open(c.Estimate)
	}
}
