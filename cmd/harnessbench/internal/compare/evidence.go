package compare

import (
	"maps"
	"math"
	"slices"

	"github.com/harnessbench/harnessbench/results/importer"
	"github.com/harnessbench/harnessbench/results/pricing"
	"github.com/harnessbench/harnessbench/results/stats"
)

// graded gives the trials that count for a metric.
func (r runs) graded(metric string) runs {
	out := make(runs, 0, len(r))
	for i := range r {
		if r[i].Verdict != importer.TableUngraded && metric == Pass || metric == Score && !math.IsNaN(r[i].Score) {
			out = append(out, r[i])
		}
	}
	return out
}

// passed counts passes.
func (r runs) passed() (n int) {
	for i := range r {
		n += one(r[i].Verdict == importer.TablePass)
	}
	return n
}

// mean is the mean of the metric over graded trials.
func (r runs) mean(metric string) float64 {
	if metric == Pass {
		return float64(r.passed()) / float64(len(r))
	}
	sum := 0.0
	for i := range r {
		sum += r[i].Score
	}
	return sum / float64(len(r))
}

// cost is the mean cost of a trial; NaN when one is unknown.
func (r runs) cost() float64 {
	sum := 0.0
	for i := range r {
		sum += r[i].CostUSD
	}
	return sum / float64(max(len(r), 1))
}

// totals is what a scenario's trials cost and passed, all of them.
func (r runs) totals(id string) stats.Totals {
	t := stats.Totals{ID: id, Trials: len(r)}
	amounts := make([]*float64, len(r))
	for i := range r {
		t.Graded += one(r[i].Verdict != importer.TableUngraded)
		amounts[i] = &r[i].CostUSD // NaN is unknown there too
	}
	t.Passed = r.passed()
	if len(r) > 0 {
		t.CostUSD = pricing.Sum(amounts)
	}
	return t
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// evidence is what the scenarios of two sides say, in the order of their ids.
type evidence struct {
	pairs            []stats.Pairs
	shared           int       // scenarios with graded trials in both; the next four are of these
	diffs            []float64 // of the means of the metric, b - a
	rateA, rateB     float64   // mean of the means
	trialsA, trialsB int       // that were compared
	costA, costB     []float64 // mean cost of a trial; NaN when one is unknown
	totalA, totalB   []stats.Totals
	onlyA, onlyB     []string
	repeated         bool // a scenario has two graded trials on one side
	aOnly, bOnly     int  // of the paired repetitions, passed in one only
}

// gather looks at every scenario of the two sides.
func (x pair) gather(metric string) *evidence {
	e := &evidence{onlyA: []string{}, onlyB: []string{}}
	ids := map[string]bool{}
	for id := range x.a.runs {
		ids[id] = true
	}
	for id := range x.b.runs {
		ids[id] = true
	}
	if !x.loose { // a scenario that neither ran has its place in a run
		for _, id := range x.a.scenarios {
			ids[id] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		e.scenario(id, x.a.runs[id], x.b.runs[id], x.loose, metric)
	}
	if e.shared > 0 {
		e.rateA, e.rateB = e.rateA/float64(e.shared), e.rateB/float64(e.shared)
	}
	return e
}

// scenario takes in one scenario.
func (e *evidence) scenario(id string, allA, allB runs, loose bool, metric string) {
	a, b := allA.graded(metric), allB.graded(metric)
	switch {
	case len(a) > 0 && len(b) == 0:
		e.onlyA = append(e.onlyA, id)
	case len(b) > 0 && len(a) == 0:
		e.onlyB = append(e.onlyB, id)
	}
	if len(allA) > 0 && len(allB) > 0 {
		e.totalA, e.totalB = append(e.totalA, allA.totals(id)), append(e.totalB, allB.totals(id))
	}
	p := stats.Pairs{ID: id}
	if loose {
		if len(a) == 0 || len(b) == 0 {
			return
		}
		p = stats.CrossPairs(stats.Counts{ID: id, Graded: len(a), Passed: a.passed()}, stats.Counts{ID: id, Graded: len(b), Passed: b.passed()})
	} else {
		a, b, p.Dropped = match(a, b)
		p.N = len(a)
		for i := range a {
			pa, pb := a[i].Verdict == importer.TablePass, b[i].Verdict == importer.TablePass
			p.Both, p.AOnly, p.BOnly = p.Both+one(pa && pb), p.AOnly+one(pa && !pb), p.BOnly+one(pb && !pa)
		}
	}
	e.pairs = append(e.pairs, p)
	if p.N == 0 {
		return
	}
	e.shared++
	e.repeated = e.repeated || len(a) > 1 || len(b) > 1
	e.trialsA, e.trialsB = e.trialsA+len(a), e.trialsB+len(b)
	e.aOnly, e.bOnly = e.aOnly+p.AOnly, e.bOnly+p.BOnly
	ma, mb := a.mean(metric), b.mean(metric)
	e.rateA, e.rateB = e.rateA+ma, e.rateB+mb
	diff := float64(p.BOnly-p.AOnly) / float64(p.N)
	if metric == Score {
		diff = mb - ma
	}
	e.diffs = append(e.diffs, diff)
	e.costA, e.costB = append(e.costA, a.cost()), append(e.costB, b.cost())
}

// match keeps the repetitions that both have; dropped counts the others. Both are in
// order of repetition.
func match(a, b runs) (ma, mb runs, dropped int) {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i].Repetition < b[j].Repetition:
			i++
		case b[j].Repetition < a[i].Repetition:
			j++
		default:
			ma, mb = append(ma, a[i]), append(mb, b[j])
			i, j = i+1, j+1
		}
	}
	return ma, mb, len(a) + len(b) - 2*len(ma)
}
