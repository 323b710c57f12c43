package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/results/importer"
)

// side is one model in one arm of an input.
type side struct {
	model, arm string // either may be empty
	label      string
	in         *Input
	scenarios  []string        // that it was to run, sorted
	runs       map[string]runs // by scenario
}

// runs is one side's trials of one scenario, in order of repetition.
type runs []importer.TableRow

// pair is two sides that are compared.
type pair struct {
	a, b  *side
	loose bool // scenarios alone are paired: repetition r of a has nothing to do with r of b
}

// plan is what is compared.
type plan struct {
	sides []*side
	pairs []pair
	notes []string
}

// split makes the sides of an input, out of rows of scenarios that keep says.
func split(in *Input, keep func(string) bool) []*side {
	var out []*side
	rows := in.Rows
	for len(rows) > 0 {
		first := rows[0]
		n := 1
		for n < len(rows) && rows[n].Model == first.Model && rows[n].Arm == first.Arm && rows[n].Scenario == first.Scenario {
			n++
		}
		if keep(first.Scenario) {
			if last := len(out) - 1; last < 0 || out[last].model != first.Model || out[last].arm != first.Arm {
				out = append(out, &side{model: first.Model, arm: first.Arm, in: in, runs: map[string]runs{}})
			}
			out[len(out)-1].runs[first.Scenario] = runs(rows[:n:n])
		}
		rows = rows[n:]
	}
	scenarios := planned(in, out, keep)
	for _, s := range out {
		s.scenarios = scenarios
	}
	place := func(list []string, name string) int {
		if i := slices.Index(list, name); i >= 0 {
			return i
		}
		return len(list)
	}
	slices.SortStableFunc(out, func(x, y *side) int {
		return cmp.Or(cmp.Compare(place(in.Models, x.model), place(in.Models, y.model)), cmp.Compare(x.model, y.model),
			cmp.Compare(place(in.Arms, x.arm), place(in.Arms, y.arm)), cmp.Compare(x.arm, y.arm))
	})
	return out
}

// planned lists the scenarios that each side of an input was to run.
func planned(in *Input, sides []*side, keep func(string) bool) []string {
	seen := map[string]bool{}
	for _, id := range in.Scenarios {
		if keep(id) {
			seen[id] = true
		}
	}
	for _, s := range sides {
		for id := range s.runs {
			seen[id] = true
		}
	}
	out := make([]string, 0, len(seen))
	for id := range seen {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// against compares every arm of one input with a base.
func against(sides []*side, base string) (*plan, error) {
	p := &plan{sides: sides}
	label(sides, sides)
	if len(sides) == 1 && sides[0].arm == "" && sides[0].model == "" {
		return nil, &usage{"one input, and it has neither arms nor models to compare", "give a second input, or a table with a column arm or model (--columns arm=NAME)"}
	}
	if base == "" {
		return nil, &usage{"one input, and no base to compare its arms with", "name it with --base ARM, or give a second input; the arms are: " + labels(sides)}
	}
	isArm := slices.ContainsFunc(sides, func(s *side) bool { return s.arm == base })
	var without []string
	if isArm {
		for _, s := range sides {
			if s.arm == base {
				continue
			}
			i := slices.IndexFunc(sides, func(o *side) bool { return o.arm == base && o.model == s.model })
			if i < 0 {
				without = append(without, s.label)
				continue
			}
			p.pairs = append(p.pairs, pair{sides[i], s, false})
		}
		if len(without) > 0 {
			p.notes = append(p.notes, fmt.Sprintf("without %s on its model, so not compared: %s", base, list(without)))
		}
	} else {
		i := slices.IndexFunc(sides, func(s *side) bool { return full(s.model, s.arm) == base })
		if i < 0 {
			return nil, &usage{fmt.Sprintf("no arm %q", base), "the arms are: " + labels(sides)}
		}
		for j, s := range sides {
			if j != i {
				p.pairs = append(p.pairs, pair{sides[i], s, sides[i].model != s.model})
			}
		}
	}
	if len(p.pairs) == 0 {
		return nil, fmt.Errorf("%w: %s is alone", ErrNothing, base)
	}
	return p, nil
}

// full names a side of any plan.
func full(model, arm string) string {
	switch {
	case model == "":
		return arm
	case arm == "":
		return model
	}
	return model + "/" + arm
}

// label names the sides by arm, or by model and arm where there is more than one
// model.
func label(sides, all []*side) {
	several := slices.ContainsFunc(all, func(s *side) bool { return s.model != all[0].model })
	for _, s := range sides {
		s.label = full(s.model, s.arm)
		if !several && s.arm != "" {
			s.label = s.arm
		}
	}
}

func labels(sides []*side) string {
	var out []string
	for _, s := range sides {
		out = append(out, s.label)
	}
	return list(out)
}

// list joins names for a line, the first ten of them.
func list(names []string) string {
	more := ""
	if len(names) > 10 {
		names, more = names[:10], fmt.Sprintf(" and %d more", len(names)-10)
	}
	return strings.Join(names, ", ") + more
}

func arms(sides []*side) []string   { return distinct(sides, func(s *side) string { return s.arm }) }
func models(sides []*side) []string { return distinct(sides, func(s *side) string { return s.model }) }

func distinct(sides []*side, get func(*side) string) (out []string) {
	for _, s := range sides {
		if v := get(s); !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// between compares two inputs, like with like.
func between(as, bs []*side) (*plan, error) {
	p := &plan{sides: slices.Concat(as, bs)}
	switch armsA, armsB := arms(as), arms(bs); {
	case len(armsA) == 1 && len(armsB) == 1:
		nameSingle(as, bs)
		p.pairModels(as, bs, func(*side, *side) bool { return true })
	case common(as, bs):
		p.pairModels(as, bs, func(a, b *side) bool { return a.arm == b.arm })
		for _, s := range p.sides {
			s.arm = strings.TrimPrefix(s.arm+"@"+s.in.Name, "@")
		}
	case len(armsA) == 1:
		nameMissing(p.sides)
		p.pairModels(as, bs, func(*side, *side) bool { return true })
	}
	label(p.sides, p.sides)
	if len(p.pairs) == 0 {
		return nil, fmt.Errorf("%w: no arm of %s has a partner in %s; the arms are %s, and %s", ErrNothing, as[0].in.Name, bs[0].in.Name, labels(as), labels(bs))
	}
	p.leave()
	return p, nil
}

// nameSingle names one arm of each input: by its column, or where that does not
// tell them apart, by the input.
func nameSingle(as, bs []*side) {
	sides := slices.Concat(as, bs)
	if as[0].arm == bs[0].arm {
		for _, s := range sides {
			s.arm = s.in.Name
		}
		return
	}
	nameMissing(sides)
	if as[0].arm == bs[0].arm {
		for _, s := range sides {
			s.arm = s.in.Name
		}
	}
}

func nameMissing(sides []*side) {
	for _, s := range sides {
		s.arm = cmp.Or(s.arm, s.in.Name)
	}
}

// common reports whether the inputs share an arm.
func common(as, bs []*side) bool {
	return slices.ContainsFunc(as, func(a *side) bool { return slices.ContainsFunc(bs, func(b *side) bool { return a.arm == b.arm }) })
}

// pairModels pairs sides of equal models; where each input has one model, those.
func (p *plan) pairModels(as, bs []*side, fit func(a, b *side) bool) {
	single := len(models(as)) == 1 && len(models(bs)) == 1
	for _, a := range as {
		for _, b := range bs {
			if (single || a.model == b.model) && fit(a, b) {
				p.pairs = append(p.pairs, pair{a, b, true})
			}
		}
	}
}

// leave takes out the sides that have no partner, and says so.
func (p *plan) leave() {
	var alone []string
	p.sides = slices.DeleteFunc(p.sides, func(s *side) bool {
		has := slices.ContainsFunc(p.pairs, func(x pair) bool { return x.a == s || x.b == s })
		if !has {
			alone = append(alone, s.label)
		}
		return !has
	})
	if len(alone) > 0 {
		p.notes = append(p.notes, "without a partner in the other input, so not compared: "+list(alone))
	}
}
