package stats

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
)

// Draws is a bootstrap over scenarios: what each arm's totals were, and what they
// are when scenarios are drawn again with replacement, the same ones for all arms,
// so that arms stay paired.
type Draws struct {
	names  []string
	placed []bool // costs and rates are known
	shared bool   // every scenario has trials in every arm
	truth  []armSums
	draws  [][]armSums // by arm, then draw
}

// armSums is what the totals of an arm add up to.
type armSums struct{ cost, trials, passed, rates, scenarios float64 }

// sumsOf is the length of armSums; costAt and ratesAt, after its passes, are where
// its cost and its rates are.
const sumsOf, costAt, ratesAt = 5, 0, 3

// Resample draws scenarios again. The result depends on arms, draws and seed
// alone: each draw has its own random stream, whatever runs beside it. It takes
// time draws x scenarios x arms and memory draws x arms x 40 bytes.
func Resample(arms []ArmTotals, draws int, seed uint64) *Draws {
	d := &Draws{shared: true}
	ids := map[string]int{}
	var order []string
	for _, a := range arms {
		for _, t := range a.Scenarios {
			if _, ok := ids[t.ID]; !ok {
				ids[t.ID] = 0
				order = append(order, t.ID)
			}
		}
	}
	slices.Sort(order)
	for i, id := range order {
		ids[id] = i
	}
	width := sumsOf * len(arms)
	rows := make([]float64, width*len(order))
	for i, a := range arms {
		d.names = append(d.names, a.Name)
		ts, known := byID(a.Scenarios)
		graded, run := false, 0
		for _, t := range ts {
			at := rows[ids[t.ID]*width+i*sumsOf:]
			if known && t.CostUSD != nil {
				at[0] += *t.CostUSD
			}
			at[1], at[2] = at[1]+float64(t.Trials), at[2]+float64(t.Passed)
			if t.Graded > 0 {
				at[3], at[4] = float64(t.Passed)/float64(t.Graded), 1
				graded = true
			}
			run += count(t.Trials > 0)
		}
		d.placed = append(d.placed, known && graded)
		d.shared = d.shared && run == len(order)
	}
	sum := make([]float64, width)
	for i := range order {
		add(sum, rows[i*width:(i+1)*width], 1)
	}
	d.truth = split(sum)
	d.resample(rows, len(order), width, draws, seed)
	return d
}

// resample fills the draws on all processors.
func (d *Draws) resample(rows []float64, n, width, draws int, seed uint64) {
	d.draws = make([][]armSums, len(d.names))
	for i := range d.draws {
		d.draws[i] = make([]armSums, draws)
	}
	if n == 0 {
		return
	}
	p := pack(rows, n, width)
	workers := min(runtime.GOMAXPROCS(0), draws)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			times, sum := make([]uint16, n), make([]float64, width)
			for draw := w; draw < draws; draw += workers {
				drawTimes(times, streamOf(seed, uint64(draw)))
				p.sums(times, sum)
				for arm, s := range split(sum) {
					d.draws[arm][draw] = s
				}
			}
		})
	}
	all.Wait()
}

// streamOf is the random stream of one draw. Its seeds are mixed, since streams of
// neighbouring seeds resemble each other at their start. (The finaliser of
// SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number
// generators", OOPSLA 2014.)
func streamOf(seed, draw uint64) *rand.PCG {
	mix := func(x uint64) uint64 {
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		return x ^ x>>31
	}
	const step = 0x9e3779b97f4a7c15
	s := mix(seed + step)
	return rand.NewPCG(mix(s+draw*step), mix(s^mix(draw+step)))
}

// drawTimes says how often each of n scenarios is drawn in n draws: two of them
// from each random word, by Lemire's multiplication, whose bias is below n/2^32.
func drawTimes(times []uint16, from *rand.PCG) {
	clear(times)
	n := uint64(len(times))
	for range n / 2 {
		w := from.Uint64()
		times[(w>>32)*n>>32]++
		times[(w&math.MaxUint32)*n>>32]++
	}
	if n%2 == 1 {
		times[(from.Uint64()>>32)*n>>32]++
	}
}

func add(sum, row []float64, times float64) {
	row = row[:len(sum)]
	for i := range sum {
		sum[i] += times * row[i]
	}
}

func split(sum []float64) []armSums {
	out := make([]armSums, len(sum)/sumsOf)
	for i := range out {
		s := sum[i*sumsOf:]
		out[i] = armSums{s[0], s[1], s[2], s[3], s[4]}
	}
	return out
}

func (s armSums) cost1() float64 { return s.cost / s.trials }
func (s armSums) rate() float64  { return s.rates / s.scenarios }

// beats reports whether s is at least as good as o in cost a trial and pass rate,
// and better in one. Equal up to rounding is equal.
func (s armSums) beats(o armSums) bool {
	c, r := s.cost1()-o.cost1(), s.rate()-o.rate()
	eps := sameSize * max(s.cost1(), o.cost1())
	return c <= eps && r >= -sameSize && (c < -eps || r > sameSize)
}

// Frontier gives a point for each arm, in the order of the arms.
func (d *Draws) Frontier() []FrontierPoint {
	out := make([]FrontierPoint, len(d.names))
	for i := range out {
		p, s := &out[i], d.truth[i]
		p.Name = d.names[i]
		if s.scenarios > 0 {
			p.Rate = ptr(s.rate())
		}
		if !d.placed[i] {
			p.Warnings = []Warning{UnknownCost}
			if s.scenarios == 0 {
				p.Warnings = []Warning{NoData}
			}
			continue
		}
		p.Cost, p.On = ptr(s.cost1()), true
		for j, o := range d.truth {
			if d.placed[j] && o.beats(s) && (p.On || o.rate() > d.rateOf(p.Beaten)) {
				p.On, p.Beaten = false, d.names[j]
			}
		}
		p.Share = ptr(d.share(i))
		if !d.shared {
			p.Warnings = append(p.Warnings, UnsharedArms)
		}
	}
	return out
}

func (d *Draws) rateOf(name string) float64 { return d.truth[slices.Index(d.names, name)].rate() }

// share is how often nothing beats an arm. Draws in which it has no trial at all
// say nothing.
func (d *Draws) share(i int) float64 {
	on, seen := 0, 0
	for draw, s := range d.draws[i] {
		if s.trials == 0 || s.scenarios == 0 {
			continue
		}
		seen++
		beaten := slices.ContainsFunc(d.draws, func(o []armSums) bool { return o[draw].beats(s) })
		on += count(!beaten)
	}
	return float64(on) / float64(max(seen, 1))
}

// PerPassRatio is b's cost of a pass divided by a's; a and b are indices of arms.
// It has no value where a cost is unknown or an arm passed nothing.
func (d *Draws) PerPassRatio(a, b int) Estimate {
	e := Estimate{Method: MethodNone, N: d.truth[a].scenarios}
	ta, tb := d.truth[a], d.truth[b]
	if !d.placed[a] || !d.placed[b] {
		e.Warnings = []Warning{UnknownCost}
		return e
	}
	if ta.passed == 0 || tb.passed == 0 || ta.cost == 0 {
		e.Warnings = []Warning{NoData}
		return e
	}
	e.Value = ptr(tb.cost / tb.passed / (ta.cost / ta.passed))
	var ratios []float64
	for i, x := range d.draws[a] {
		y := d.draws[b][i]
		// Nothing passed in b: infinitely dear; nothing in a: b is infinitely cheap.
		r := y.cost * x.passed / (y.passed * x.cost)
		if !math.IsNaN(r) {
			ratios = append(ratios, r)
		}
	}
	if ta.scenarios < fewScenarios {
		e.Warnings = append(e.Warnings, FewScenarios)
	}
	if !d.shared {
		e.Warnings = append(e.Warnings, UnsharedArms)
	}
	if len(ratios) < len(d.draws[a])*99/100 {
		e.Warnings = append(e.Warnings, FewDraws)
	}
	slices.Sort(ratios)
	if len(ratios) < 40 || ratios[0] == ratios[len(ratios)-1] {
		return e
	}
	lo, hi := ratios[len(ratios)/40], ratios[len(ratios)-1-len(ratios)/40]
	e.Lo, e.Method = ptr(lo), MethodBootstrap
	if math.IsInf(hi, 1) {
		e.Warnings = append(e.Warnings, Unbounded)
		return e
	}
	e.Hi = ptr(hi)
	return e
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
