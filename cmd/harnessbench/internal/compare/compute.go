package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/harnessbench/harnessbench/results/stats"
)

// Compute compares one input's arms with opt.Base, or two inputs, the first being
// the base. It is ErrUsage when an option does not fit, ErrNothing when no two
// arms share a graded scenario.
func Compute(inputs []Input, opt Options) (*Report, error) {
	if opt.Metric == Score && opt.Test == McNemar {
		return nil, &usage{"--test mcnemar is about passes, not scores", "leave --metric score out, or use --test sign-flip"}
	}
	if opt.Metric == Score && opt.Margin > 0 {
		return nil, &usage{"--margin is about passes, not scores", "leave --metric score out"}
	}
	if len(inputs) == 2 && opt.Base != "" {
		return nil, &usage{"--base is for one input; of two, the first is the base", "leave --base out, or put both into one table"}
	}
	r := &Report{Schema: Schema, Metric: opt.Metric, Adjust: opt.Adjust, Notes: []string{}, FailIf: []Condition{}}
	for i := range inputs {
		r.Inputs = append(r.Inputs, inputs[i].Name)
	}
	main, err := pool(inputs, opt, false)
	if err != nil {
		return nil, err
	}
	harms, err := pool(inputs, opt, true)
	if err != nil {
		return nil, err
	}
	for _, w := range []*work{main, harms} {
		for _, n := range w.notes {
			if !slices.Contains(r.Notes, n) {
				r.Notes = append(r.Notes, n)
			}
		}
	}
	adjust(opt.Adjust, main.Comparisons)
	adjust(opt.Adjust, harms.Comparisons)
	r.Arms, r.Comparisons = main.Arms, main.Comparisons
	if len(harms.Arms) > 0 {
		r.Harms = &harms.Pool
	}
	shared := false
	for _, c := range slices.Concat(main.Comparisons, harms.Comparisons) {
		shared = shared || c.Scenario > 0
	}
	if !shared {
		return nil, fmt.Errorf("%w: the arms have no graded scenario in common", ErrNothing)
	}
	return r, nil
}

// work is the analysis of one pool of scenarios.
type work struct {
	Pool
	notes []string
}

// pool compares the scenarios that are tagged harms, or the others.
func pool(inputs []Input, opt Options, harms bool) (*work, error) {
	w := &work{Pool: Pool{[]Arm{}, []Comparison{}}}
	var sides [][]*side
	n := 0
	for i := range inputs {
		in := &inputs[i]
		s := split(in, func(id string) bool { return in.Harms[id] == harms })
		sides, n = append(sides, s), n+len(s)
	}
	var p *plan
	var err error
	switch {
	case harms && n == 0, len(sides[0]) == 0 && anyHarms(inputs):
		return w, nil
	case len(inputs) == 1:
		p, err = against(sides[0], opt.Base)
	case len(sides[0]) == 0 || len(sides[1]) == 0:
		return w, nil
	default:
		p, err = between(sides[0], sides[1])
	}
	if err != nil {
		return nil, err
	}
	w.notes = p.notes
	k := 0
	for _, s := range p.sides {
		k = max(k, s.repetitions())
	}
	byLabel := map[string]*Arm{}
	for _, s := range p.sides {
		a := s.summary(opt, k)
		w.Arms = append(w.Arms, a)
		byLabel[a.label] = &a
	}
	for _, x := range p.pairs {
		c, err := x.compare(opt)
		if err != nil {
			return nil, err
		}
		c.hat = [2]map[string]*float64{byLabel[c.A].PassHat, byLabel[c.B].PassHat}
		w.Comparisons = append(w.Comparisons, c)
	}
	return w, nil
}

func anyHarms(inputs []Input) bool {
	for i := range inputs {
		if len(inputs[i].Harms) > 0 {
			return true
		}
	}
	return false
}

// adjust sets the adjusted p values over all comparisons of one pool, which is a
// family of its own, as in a run's report; one without a test counts as p = 1.
func adjust(method string, cs []Comparison) {
	p := make([]float64, len(cs))
	for i, c := range cs {
		if p[i] = math.NaN(); c.P != nil {
			p[i] = *c.P
		}
	}
	switch method {
	case Holm:
		p = stats.Holm(p)
	case BH:
		p = stats.BenjaminiHochberg(p)
	}
	for i := range cs {
		if cs[i].P != nil {
			cs[i].PAdjusted = &p[i]
		}
	}
}
