package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/harnessbench/harnessbench/results"
)

// maxGuards bounds how many guards the comparisons of one report can name: a trial keeps
// one bit of each.
const maxGuards = 64

// guardBits says which of the compared guards were in force in a trial, and which fired.
type guardBits struct {
	names  []string // that comparisons name, sorted; a guard's place is its bit
	listed map[string]uint64
	counts map[string][]firing
}

// guardState is what a trial says of the compared guards.
type guardState struct {
	watched          uint64 // enforced or in shadow
	enforced, shadow uint64 // fired so
	firings          []firing
}

// firing counts the firings of one compared guard in one trial.
type firing struct{ bit, n int }

func newGuardBits(comparisons []Comparison) (guardBits, error) {
	g := guardBits{listed: map[string]uint64{}, counts: map[string][]firing{}}
	for _, c := range comparisons {
		if c.Guard != "" {
			g.names = append(g.names, c.Guard)
		}
	}
	slices.Sort(g.names)
	g.names = slices.Compact(g.names)
	if len(g.names) > maxGuards {
		return g, fmt.Errorf("the comparisons name %d guards; a report has at most %d", len(g.names), maxGuards)
	}
	return g, nil
}

// bit gives the place of a guard, -1 for one that no comparison names.
func (g *guardBits) bit(name string) int {
	if i, ok := slices.BinarySearch(g.names, name); ok {
		return i
	}
	return -1
}

func (g *guardBits) of(t *results.Trial) (s guardState, err error) {
	if len(g.names) == 0 {
		return s, nil
	}
	for i := range t.Guards {
		c := &t.Guards[i]
		at := g.bit(c.Guard)
		if at < 0 {
			continue
		}
		s.watched |= 1 << at
		if c.Fired > 0 {
			s.fire(c.Mode == results.Enforce, firing{at, c.Fired})
		}
	}
	s.watched |= g.list(t.GuardsEnforced) | g.list(t.GuardsShadow)
	for i, column := range []string{t.FiredEnforced, t.FiredShadow} {
		fired, err := g.fired(column)
		if err != nil {
			return s, err
		}
		for _, f := range fired {
			s.fire(i == 0, f)
		}
	}
	return s, nil
}

func (s *guardState) fire(enforced bool, f firing) {
	if enforced {
		s.enforced |= 1 << f.bit
	} else {
		s.shadow |= 1 << f.bit
	}
	s.firings = append(s.firings, f)
}

// maxRemembered bounds the texts of columns that are remembered: a run has few.
const maxRemembered = 1 << 12

// list reads a column of names with commas between them.
func (g *guardBits) list(column string) uint64 {
	if column == "" {
		return 0
	}
	if set, ok := g.listed[column]; ok {
		return set
	}
	var set uint64
	for name := range strings.SplitSeq(column, ",") {
		if at := g.bit(name); at >= 0 {
			set |= 1 << at
		}
	}
	if len(g.listed) < maxRemembered {
		g.listed[strings.Clone(column)] = set
	}
	return set
}

// fired reads a column of name:firings:turn.
func (g *guardBits) fired(column string) ([]firing, error) {
	if column == "" {
		return nil, nil
	}
	if have, ok := g.counts[column]; ok {
		return have, nil
	}
	var out []firing
	for f := range strings.SplitSeq(column, ",") {
		name, rest, _ := strings.Cut(f, ":")
		times, _, _ := strings.Cut(rest, ":")
		n, err := strconv.Atoi(times)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("a guard fired as %.60q; want name:firings:turn", f)
		}
		if at := g.bit(name); at >= 0 {
			out = append(out, firing{at, n})
		}
	}
	if len(g.counts) < maxRemembered {
		g.counts[strings.Clone(column)] = out
	}
	return out, nil
}
