package report

import (
	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/results/stats"
)

// Notes that a comparison can carry beside the warnings of its numbers.
const (
	NoteAcceptance = "acceptance tells the model what a check found: an oracle signal that buys extra attempts"
	NoteCache      = "cost is confounded by prompt caching: the order in which arms ran decides who pays for a prefix"
	NoteNoShadow   = "the guard is neither enforced nor in shadow in one of the arms, so exposure there is unknown"
	NoteOneArm     = "the guard fired in one arm only, or never in the same scenario: no comparison where it fired"
)

// contrast compares two arms of one model, b - a.
func contrast(c Comparison, m Model, scenarios []string, a, b map[string][]*results.Trial, rates map[string]Arm) Contrast {
	x := Contrast{Guard: c.Guard, Model: m.Model, Simulated: m.Simulated, Base: c.Base, Arm: c.Arm, Notes: []string{}}
	x.A, x.B = side(c.Guard, a, rates[c.Base]), side(c.Guard, b, rates[c.Arm])
	pairs := make([]stats.Pairs, 0, len(scenarios))
	exposed := make([]stats.Exposure, 0, len(scenarios))
	var costs []float64
	costKnown := true
	for _, id := range scenarios {
		both, dropped := match(a[id], b[id])
		p, e := tally(c.Guard, id, both)
		p.Dropped = dropped
		pairs, exposed = append(pairs, p), append(exposed, e)
		x.Paired += len(both)
		if d, ok := costDiff(both); len(both) > 0 {
			costs, costKnown = append(costs, d), costKnown && ok
		}
	}
	x.OverAll = estimate(stats.PairedDifference(pairs))
	x.DiffMin, x.DiffMax = diffBounds(rates[c.Base], rates[c.Arm])
	x.CostDiff = estimate(stats.MeanDifference(nil))
	if costKnown {
		x.CostDiff = estimate(stats.MeanDifference(costs))
	}
	x.Measured = x.Paired > 0
	if c.Guard != "" {
		f := stats.WhereFired(exposed, 1)
		x.Fired = &Fired{Estimate: estimate(f.Estimate), Scenarios: f.Scenarios, ExposedA: f.ExposedA, ExposedB: f.ExposedB, Paired: f.Paired}
		x.Measured = f.ExposedA+f.ExposedB > 0
	}
	x.Notes = append(x.Notes, notes(x, a, b)...)
	return x
}

// pair is one repetition in both arms.
type pair struct{ a, b *results.Trial }

// match pairs the repetitions that are graded in both arms, and counts those
// that are graded in one only. Both lists are in order of repetition.
func match(a, b []*results.Trial) (both []pair, dropped int) {
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case j == len(b) || i < len(a) && a[i].Repetition < b[j].Repetition:
			dropped += count(a[i].Graded())
			i++
		case i == len(a) || b[j].Repetition < a[i].Repetition:
			dropped += count(b[j].Graded())
			j++
		default:
			if a[i].Graded() && b[j].Graded() {
				both = append(both, pair{a[i], b[j]})
			} else {
				dropped += count(a[i].Graded() != b[j].Graded())
			}
			i, j = i+1, j+1
		}
	}
	return both, dropped
}

// tally counts one scenario's pairs, and the trials that the guard's firing
// exposed: each by its own, never by its partner's.
func tally(guard, id string, both []pair) (stats.Pairs, stats.Exposure) {
	p, e := stats.Pairs{ID: id, N: len(both)}, stats.Exposure{ID: id}
	for _, t := range both {
		pa, pb := t.a.Verdict == results.Pass, t.b.Verdict == results.Pass
		p.Both += count(pa && pb)
		p.AOnly += count(pa && !pb)
		p.BOnly += count(pb && !pa)
		if guard == "" {
			continue
		}
		e.Cells[exposure(guard, t.a)][exposure(guard, t.b)]++
	}
	return p, e
}

// exposure says what happened to a graded trial.
func exposure(guard string, t *results.Trial) int {
	switch {
	case !t.Exposed(guard):
		return stats.Unexposed
	case t.Verdict == results.Pass:
		return stats.ExposedPass
	}
	return stats.ExposedFail
}

// costDiff is the mean difference in cost of one scenario's pairs, b - a; ok
// is false when a cost is unknown.
func costDiff(both []pair) (diff float64, ok bool) {
	for _, t := range both {
		if t.a.CostUSD == nil || t.b.CostUSD == nil {
			return 0, false
		}
		diff += *t.b.CostUSD - *t.a.CostUSD
	}
	return diff / float64(max(len(both), 1)), true
}

func side(guard string, byScenario map[string][]*results.Trial, arm Arm) Side {
	s := Side{Trials: arm.Trials, Graded: arm.Graded, Passed: arm.Passed, Rate: arm.Rate, CostOfPass: arm.perPass()}
	if s.Trials == 0 {
		s.CostOfPass = Money{nil, Nothing}
	}
	if guard == "" {
		return s
	}
	for _, ts := range byScenario {
		for _, t := range ts {
			e, sh := t.Fired(guard, results.Enforce), t.Fired(guard, results.Shadow)
			s.Enforced += count(e > 0)
			s.Shadow += count(sh > 0)
			s.Firings += e + sh
		}
	}
	return s
}

// diffBounds gives the difference of pass rates at the two extremes: ungraded
// trials failed in one arm and passed in the other, both ways.
func diffBounds(a, b Arm) (lo, hi *float64) {
	if a.RateMin == nil || b.RateMin == nil {
		return nil, nil
	}
	low, high := *b.RateMin-*a.RateMax, *b.RateMax-*a.RateMin
	return &low, &high
}

func notes(x Contrast, a, b map[string][]*results.Trial) []string {
	var out []string
	if x.Guard == "acceptance" {
		out = append(out, NoteAcceptance)
	}
	if x.Guard != "" && (!watched(x.Guard, a) || !watched(x.Guard, b)) {
		out = append(out, NoteNoShadow)
	}
	if x.Guard != "" && x.Measured && x.Fired.Estimate.Value == nil {
		out = append(out, NoteOneArm)
	}
	// A simulated cache is a part of the trial: no other arm can warm it.
	if !x.Simulated && (cached(a) || cached(b)) {
		out = append(out, NoteCache)
	}
	return out
}

// watched reports whether the guard was enforced or in shadow in every trial.
func watched(guard string, byScenario map[string][]*results.Trial) bool {
	for _, ts := range byScenario {
		for _, t := range ts {
			found := false
			for i := range t.Guards {
				found = found || t.Guards[i].Guard == guard
			}
			if !found && !t.Errored {
				return false
			}
		}
	}
	return true
}

func cached(byScenario map[string][]*results.Trial) bool {
	for _, ts := range byScenario {
		for _, t := range ts {
			if t.CacheRead != nil && *t.CacheRead > 0 {
				return true
			}
		}
	}
	return false
}
