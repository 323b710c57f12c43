package report

import (
	"slices"
	"strings"
)

// Named is the summary with a guard's name changed to one that says which arms are
// compared, where the guard alone does not: a suite that tunes a guard compares it in
// several ways, and enforced in both arms. It is for reading; JSON and gates have the
// guard's own name.
func (s *Summary) Named() *Summary {
	type pair struct{ guard, arm, base string }
	pairs, tuned := map[string][]pair{}, map[string]bool{}
	each := func(list []Contrast) {
		for i := range list {
			c := &list[i]
			x := pair{c.Guard, c.Arm, c.Base}
			if !slices.Contains(pairs[c.Guard], x) {
				pairs[c.Guard] = append(pairs[c.Guard], x)
			}
			tuned[c.Guard] = tuned[c.Guard] || c.A.Enforced > 0 || len(pairs[c.Guard]) > 1
		}
	}
	each(s.Main.Guards)
	if s.Harms != nil {
		each(s.Harms.Guards)
	}
	named := func(list []Contrast) []Contrast {
		list = slices.Clone(list)
		for i := range list {
			c := &list[i]
			if !tuned[c.Guard] {
				continue
			}
			label := c.Guard + ": " + c.Arm
			if strings.HasPrefix(c.Arm, c.Guard) {
				label = c.Arm
			}
			if slices.ContainsFunc(pairs[c.Guard], func(x pair) bool { return x.base != c.Base }) {
				label += " - " + c.Base
			}
			c.Guard = label
		}
		return list
	}
	out := *s
	out.Main.Guards = named(s.Main.Guards)
	if s.Harms != nil {
		h := *s.Harms
		h.Guards = named(h.Guards)
		out.Harms = &h
	}
	return &out
}
