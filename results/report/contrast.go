package report

import (
	"math"

	"github.com/harnessbench/harnessbench/results/stats"
)

// Notes that a comparison can carry beside the warnings of its numbers.
const (
	NoteAcceptance = "acceptance tells the model what a check found: an oracle signal that buys extra attempts"
	NoteCache      = "cost is confounded by prompt caching: the order in which arms ran decides who pays for a prefix"
	NoteNoShadow   = "the guard is neither enforced nor in shadow in one of the arms, so exposure there is unknown"
	NoteOneArm     = "the guard fired in one arm only, or never in the same scenario: no comparison where it fired"
	NoteTwoModels  = "two models: trials are paired by scenario alone, and harness and model change together"
)

// contrastWork is one comparison to be made: b - a.
type contrastWork struct {
	Comparison
	modelA, modelB Model
	pool           *pool
	rates          map[cell]*Arm
	guard          int  // bit of the guard, -1 for whole arms
	single         bool // one repetition
	seed           uint64
	outcomes       []string // by number
}

// evidence is what the scenarios say, each in its place.
type evidence struct {
	pairs   []stats.Pairs
	exposed []stats.Exposure
	costs   []costPair // of scenarios with pairs
	paired  int        // repetitions
	unknown bool       // a cost
}

// costPair is the mean cost of a trial of one scenario in both arms.
type costPair struct{ a, b float64 }

func (w *contrastWork) crossed() bool { return w.modelA != w.modelB }

func (w *contrastWork) contrast() Contrast {
	a, b := w.pool.of(w.modelA.Model, w.Base), w.pool.of(w.modelB.Model, w.Arm)
	x := Contrast{Guard: w.Guard, Model: w.modelB.Model, Simulated: w.modelA.Simulated || w.modelB.Simulated, Base: w.Base, Arm: w.Arm, Notes: []string{}}
	var e evidence
	if w.crossed() {
		x.BaseModel = w.modelA.Model
		e = acrossModels(w.pool.scenarios, a, b)
		x.Flips = w.flipsAcross(a, b)
	} else {
		e = w.withinModel(a, b)
		x.Flips = w.flips(a, b)
	}
	armA, armB := w.rates[cell{w.modelA.Model, w.Base}], w.rates[cell{w.modelB.Model, w.Arm}]
	x.A, x.B = w.side(a, armA), w.side(b, armB)
	x.Paired = e.paired
	x.OverAll = estimate(stats.PairedDifference(e.pairs))
	x.Test = w.test(e.pairs)
	if w.Margin > 0 {
		x.Margin = margin(stats.Margin(e.pairs, w.Margin))
	}
	x.DiffMin, x.DiffMax = diffBounds(armA, armB, x.OverAll.Value)
	w.money(&x, &e)
	x.Measured = x.Paired > 0
	if w.guard >= 0 {
		f := stats.WhereFired(e.exposed, SeedOf(w.seed, PurposeFired))
		x.Fired = &Fired{Estimate: estimate(f.Estimate), Test: testOf(f.Test), Scenarios: f.Scenarios, ExposedA: f.ExposedA, ExposedB: f.ExposedB, Paired: f.Paired}
		x.Measured = f.ExposedA+f.ExposedB > 0
	}
	x.Notes = append(x.Notes, w.notes(&x, a, b)...)
	return x
}

// withinModel pairs repetition by repetition.
func (w *contrastWork) withinModel(a, b *armRuns) evidence {
	var e evidence
	for i, id := range w.pool.scenarios {
		p, x := stats.Pairs{ID: id}, stats.Exposure{ID: id}
		var c costPair
		each(a.runs[i], b.runs[i], func(ra, rb *run) {
			if ra == nil || rb == nil || !ra.graded || !rb.graded {
				p.Dropped += count((ra != nil && ra.graded) != (rb != nil && rb.graded))
				return
			}
			p.N++
			p.Both += count(ra.pass && rb.pass)
			p.AOnly += count(ra.pass && !rb.pass)
			p.BOnly += count(rb.pass && !ra.pass)
			if w.guard >= 0 {
				x.Cells[exposure(w.guard, ra)][exposure(w.guard, rb)]++
			}
			c.a, c.b = c.a+ra.cost, c.b+rb.cost
		})
		e.pairs = append(e.pairs, p)
		if w.guard >= 0 {
			e.exposed = append(e.exposed, x)
		}
		if e.paired += p.N; p.N > 0 {
			e.cost(costPair{c.a / float64(p.N), c.b / float64(p.N)})
		}
	}
	return e
}

func (e *evidence) cost(c costPair) {
	e.costs = append(e.costs, c)
	e.unknown = e.unknown || math.IsNaN(c.a) || math.IsNaN(c.b)
}

// acrossModels pairs two models by scenario alone, see [stats.CrossPairs].
func acrossModels(scenarios []string, a, b *armRuns) evidence {
	var e evidence
	for i := range scenarios {
		ca, cb := a.counts[i], b.counts[i]
		e.pairs = append(e.pairs, stats.CrossPairs(ca, cb))
		if ca.Graded == 0 || cb.Graded == 0 {
			continue
		}
		e.paired += min(ca.Graded, cb.Graded)
		e.cost(costPair{meanCost(a.runs[i]), meanCost(b.runs[i])})
	}
	return e
}

// each goes through the repetitions of two arms; one that an arm lacks is nil there.
func each(a, b []run, do func(a, b *run)) {
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case j == len(b) || i < len(a) && a[i].repetition < b[j].repetition:
			do(&a[i], nil)
			i++
		case i == len(a) || b[j].repetition < a[i].repetition:
			do(nil, &b[j])
			j++
		default:
			do(&a[i], &b[j])
			i, j = i+1, j+1
		}
	}
}

// exposure says what happened to a graded trial: it is exposed by its own firing, never
// by its partner's.
func exposure(guard int, r *run) int {
	switch {
	case r.fired>>guard&1 == 0:
		return stats.Unexposed
	case r.pass:
		return stats.ExposedPass
	}
	return stats.ExposedFail
}

// test is the default test over all scenarios: exact McNemar where each scenario has one
// repetition in both arms of one model, else sign flips of the scenarios' differences.
func (w *contrastWork) test(pairs []stats.Pairs) P {
	var diffs []float64
	aOnly, bOnly := 0, 0
	for _, p := range pairs {
		if p.N > 0 {
			diffs = append(diffs, float64(p.BOnly-p.AOnly)/float64(p.N))
			aOnly, bOnly = aOnly+p.AOnly, bOnly+p.BOnly
		}
	}
	switch {
	case len(diffs) == 0:
		return P{Test: stats.TestNone, Warnings: []string{}}
	case w.single && !w.crossed():
		return testOf(stats.McNemar(aOnly, bOnly))
	}
	return testOf(stats.SignFlip(diffs, SeedOf(w.seed, PurposeOverAll)))
}

func testOf(t stats.Test) P {
	return P{P: t.P, Test: t.Method, N: t.N, Warnings: warnings(t.Warnings)}
}

func margin(m stats.MarginTest) *Margin {
	return &Margin{Margin: m.Margin, Answer: m.Answer, PNonInferior: m.PNonInferior, Equivalent: m.Equivalent,
		PEquivalent: m.PEquivalent, Method: m.Method, Warnings: warnings(m.Warnings)}
}

// money compares what the arms cost: nothing is said where a cost is unknown.
func (w *contrastWork) money(x *Contrast, e *evidence) {
	x.CostDiff = estimate(stats.MeanDifference(nil))
	x.CostRatio, x.PerPassRatio = Ratio{Estimate: x.CostDiff}, w.perPass()
	if e.unknown || len(e.costs) == 0 {
		return
	}
	diffs, as, bs := make([]float64, len(e.costs)), make([]float64, len(e.costs)), make([]float64, len(e.costs))
	for i, c := range e.costs {
		diffs[i], as[i], bs[i] = c.b-c.a, c.a, c.b
	}
	x.CostDiff = estimate(stats.MeanDifference(diffs))
	ratio, unbounded := stats.Ratio(as, bs)
	x.CostRatio = Ratio{estimate(ratio), unbounded}
}

// perPass compares what a pass costs; there is nothing to say where one has no price.
func (w *contrastWork) perPass() Ratio {
	i, okA := w.pool.drawn[cell{w.modelA.Model, w.Base}]
	j, okB := w.pool.drawn[cell{w.modelB.Model, w.Arm}]
	if !okA || !okB {
		return Ratio{Estimate: estimate(stats.MeanDifference(nil))}
	}
	e := estimate(w.pool.draws.PerPassRatio(i, j))
	return Ratio{e, e.Value != nil && e.Lo != nil && e.Hi == nil}
}

func (w *contrastWork) side(runs *armRuns, arm *Arm) Side {
	if arm == nil {
		return Side{CostOfPass: Money{nil, Nothing}}
	}
	s := Side{Trials: arm.Trials, Graded: arm.Graded, Passed: arm.Passed, Rate: arm.Rate, CostOfPass: arm.perPass()}
	if s.Trials == 0 {
		s.CostOfPass = Money{nil, Nothing}
	}
	if w.guard >= 0 {
		g := runs.tally.guards[w.guard]
		s.Enforced, s.Shadow, s.Firings = g.enforced, g.shadow, g.firings
	}
	return s
}

// diffBounds gives the difference of pass rates at the two extremes: ungraded
// trials failed in one arm and passed in the other, both ways. A bound that rounding
// alone sets beside the difference itself is that difference.
func diffBounds(a, b *Arm, diff *float64) (lo, hi *float64) {
	if a == nil || b == nil || a.RateMin == nil || b.RateMin == nil {
		return nil, nil
	}
	low, high := *b.RateMin-*a.RateMax, *b.RateMax-*a.RateMin
	for _, bound := range []*float64{&low, &high} {
		if diff != nil && math.Abs(*bound-*diff) < 1e-12 {
			*bound = *diff
		}
	}
	return &low, &high
}

func (w *contrastWork) notes(x *Contrast, a, b *armRuns) []string {
	var out []string
	if x.Guard == "acceptance" {
		out = append(out, NoteAcceptance)
	}
	if w.crossed() {
		out = append(out, NoteTwoModels)
	}
	if w.guard >= 0 && (a.tally.unwatched|b.tally.unwatched)>>w.guard&1 != 0 {
		out = append(out, NoteNoShadow)
	}
	if w.guard >= 0 && x.Measured && x.Fired.Estimate.Value == nil {
		out = append(out, NoteOneArm)
	}
	// A simulated cache is a part of the trial: no other arm can warm it.
	if !w.modelA.Simulated && a.tally.cached || !w.modelB.Simulated && b.tally.cached {
		out = append(out, NoteCache)
	}
	return out
}
