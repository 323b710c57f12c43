package canon

import (
	"regexp/syntax"
	"slices"
	"strings"
)

// needles returns texts of which every match of a pattern holds one, nil when the
// pattern names none: who looks for these first seldom needs the pattern.
func needles(pattern string) []string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	return needlesOf(re)
}

func needlesOf(re *syntax.Regexp) (best []string) {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return []string{string(re.Rune)}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return needlesOf(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return needlesOf(re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if list := needlesOf(sub); shortest(list) > shortest(best) {
				best = list
			}
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			list := needlesOf(sub)
			if list == nil {
				return nil
			}
			best = append(best, list...)
		}
	}
	return best
}

// shortest returns the length of the shortest text: the worst of them to look for.
func shortest(list []string) int {
	if list == nil {
		return 0
	}
	return len(slices.MinFunc(list, func(a, b string) int { return len(a) - len(b) }))
}

func containsAny(s string, list []string) bool {
	return slices.ContainsFunc(list, func(n string) bool { return strings.Contains(s, n) })
}
