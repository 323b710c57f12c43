package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/results/stats"
)

// pilot is what an earlier run says of a family's comparisons.
type pilot struct {
	fam    []member
	trials map[armKey]map[string][]*results.Trial // by scenario, in order of repetition
}

type armKey struct{ model, arm string }

func newPilot(fam []member, earlier []results.Trial, harmful map[string]bool) *pilot {
	p := &pilot{fam, map[armKey]map[string][]*results.Trial{}}
	for i := range earlier {
		t := &earlier[i]
		if !t.Graded() || harmful[t.Scenario] {
			continue
		}
		k := armKey{t.Model, t.Arm}
		if p.trials[k] == nil {
			p.trials[k] = map[string][]*results.Trial{}
		}
		p.trials[k][t.Scenario] = append(p.trials[k][t.Scenario], t)
	}
	for _, by := range p.trials {
		for _, ts := range by {
			slices.SortFunc(ts, func(a, b *results.Trial) int { return cmp.Compare(a.Repetition, b.Repetition) })
		}
	}
	return p
}

// counts are those of one arm, by scenario.
func (p *pilot) counts(k armKey) (out []stats.Counts) {
	for id, ts := range p.trials[k] {
		c := stats.Counts{ID: id, Graded: len(ts)}
		for _, t := range ts {
			if t.Verdict == results.Pass {
				c.Passed++
			}
		}
		out = append(out, c)
	}
	return out
}

// bases are the arms that others are compared with, each once; of a family without
// comparisons all arms.
func (p *pilot) bases() (out []armKey) {
	for i := range p.fam {
		out = append(out, armKey{p.fam[i].modelA, p.fam[i].A})
	}
	if len(p.fam) == 0 {
		for k := range p.trials {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, func(a, b armKey) int { return strings.Compare(a.model+"\x00"+a.arm, b.model+"\x00"+b.arm) })
	return slices.Compact(out)
}

// rate is the bases' mean pass rate; nil when the run has none of them.
func (p *pilot) rate() *float64 {
	return p.meanOf(func(c []stats.Counts) *float64 { return stats.PassRate(c).Value })
}

// icc is the bases' mean intra-class correlation.
func (p *pilot) icc() *float64 {
	return p.meanOf(func(c []stats.Counts) *float64 { return stats.ICC(c).Value })
}

func (p *pilot) meanOf(f func([]stats.Counts) *float64) *float64 {
	sum, n := 0.0, 0.0
	for _, k := range p.bases() {
		if v := f(p.counts(k)); v != nil {
			sum, n = sum+*v, n+1
		}
	}
	if n == 0 {
		return nil
	}
	return new(sum / n)
}

// correlation compares how often the two trials of one repetition differ with how
// often those of different repetitions do: 0 when as often, 1 when they never
// differ. nil without two repetitions, or where nothing differs.
func (p *pilot) correlation() *float64 {
	var same, other fraction
	for i := range p.fam {
		c := &p.fam[i]
		if c.modelA != c.modelB {
			continue // two models share nothing
		}
		a, b := p.trials[armKey{c.modelA, c.A}], p.trials[armKey{c.modelB, c.B}]
		for id, as := range a {
			for _, x := range as {
				for _, y := range b[id] {
					if x.Repetition == y.Repetition {
						same.add(x.Verdict != y.Verdict)
					} else {
						other.add(x.Verdict != y.Verdict)
					}
				}
			}
		}
	}
	if same.n == 0 || other.hits == 0 {
		return nil
	}
	return new(min(1, max(0, 1-same.of()/other.of())))
}

// fraction counts how often something holds.
type fraction struct{ n, hits int }

func (s *fraction) add(hit bool) {
	s.n++
	if hit {
		s.hits++
	}
}

func (s fraction) of() float64 { return float64(s.hits) / float64(s.n) }

// has reports whether both arms of a comparison were run.
func (p *pilot) has(c *member) bool {
	return p.trials[armKey{c.modelA, c.A}] != nil && p.trials[armKey{c.modelB, c.B}] != nil
}

// firedIn counts the scenarios in which a comparison's guard fired in either arm.
func (p *pilot) firedIn(c *member) int {
	fired := map[string]bool{}
	for _, k := range []armKey{{c.modelA, c.A}, {c.modelB, c.B}} {
		for id, ts := range p.trials[k] {
			for _, t := range ts {
				if t.Exposed(c.Guard) {
					fired[id] = true
				}
			}
		}
	}
	return len(fired)
}
