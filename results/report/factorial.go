package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/results/stats"
)

// effectOrder is up to how many factors an interaction has that is estimated.
const effectOrder = 2

// factorials analyses the design's factors of two levels on each model.
func factorials(s *Summary, meta *Meta, p *pool) []Factorial {
	out := []Factorial{}
	if len(meta.Factors) == 0 {
		return out
	}
	for _, m := range s.Models {
		d := newDesign(meta.Factors)
		for _, arm := range s.Arms {
			if a := p.cells[cell{m.Model, arm}]; a != nil {
				d.add(arm, a)
			}
		}
		if len(d.cells)+len(d.left) == 0 {
			continue // the model runs no arm of the design
		}
		f := Factorial{Model: m.Model, Simulated: m.Simulated, Factors: []string{}, Effects: []Effect{}, Notes: d.notes()}
		for _, t := range d.two {
			f.Factors = append(f.Factors, t.Name)
		}
		effects, err := stats.Factorial(len(d.two), d.cells, effectOrder)
		if err != nil {
			f.Notes = append(f.Notes, "no analysis: "+err.Error())
		}
		for _, e := range effects {
			f.Effects = append(f.Effects, d.effect(e))
		}
		out = append(out, f)
	}
	return out
}

// factorDesign is one model's part of a factorial design.
type factorDesign struct {
	two   []Factor // of two levels
	held  []Factor // of more: held at their first
	cells []stats.Cell
	left  []string // arms of the design in which nothing was graded
}

func newDesign(factors []Factor) *factorDesign {
	d := &factorDesign{}
	for _, f := range factors {
		if len(f.Levels) == 2 {
			d.two = append(d.two, f)
		} else {
			d.held = append(d.held, f)
		}
	}
	return d
}

// add takes an arm that has a level of every factor.
func (d *factorDesign) add(arm string, a *armRuns) {
	var levels []int8
	for _, f := range d.two {
		switch f.ArmsAt[arm] {
		case f.Levels[0]:
			levels = append(levels, -1)
		case f.Levels[1]:
			levels = append(levels, 1)
		default:
			return
		}
	}
	for _, f := range d.held {
		if len(f.Levels) == 0 || f.ArmsAt[arm] != f.Levels[0] {
			return
		}
	}
	c := stats.Cell{Levels: levels, Rates: map[string]float64{}}
	for _, n := range a.counts {
		if n.Graded > 0 {
			c.Rates[n.ID] = float64(n.Passed) / float64(n.Graded)
		}
	}
	if len(c.Rates) == 0 {
		d.left = append(d.left, arm)
		return
	}
	d.cells = append(d.cells, c)
}

func (d *factorDesign) notes() []string {
	out := []string{}
	for _, f := range d.held {
		if len(f.Levels) < 2 {
			out = append(out, fmt.Sprintf("factor %s has no two levels and is left out", f.Name))
			continue
		}
		out = append(out, fmt.Sprintf("factor %s has %d levels: the analysis holds it at %s", f.Name, len(f.Levels), f.Levels[0]))
	}
	if len(d.left) > 0 {
		out = append(out, "nothing was graded in "+strings.Join(d.left, ", ")+": effects are over the other arms")
	}
	return out
}

func (d *factorDesign) effect(e stats.Effect) Effect {
	names := func(set []int) []string {
		out := []string{}
		for _, i := range set {
			out = append(out, d.two[i].Name)
		}
		return out
	}
	factors := names(e.Factors)
	out := Effect{Name: strings.Join(factors, " x "), Factors: factors, Estimate: estimate(e.Estimate), Test: testOf(e.Test), Aliases: []string{}}
	for _, set := range e.Aliases {
		out.Aliases = append(out.Aliases, strings.Join(names(set), " x "))
	}
	return out
}

// mainAlias reports whether an effect cannot be told from one of a single factor.
func (e *Effect) mainAlias() bool {
	return len(e.Factors) > 1 && slices.ContainsFunc(e.Aliases, func(a string) bool { return !strings.Contains(a, " x ") })
}
