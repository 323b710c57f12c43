package sim

import (
	"maps"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/loop/model"
)

// brokenMixed draws one of the ways for a rule.
const brokenMixed = "mixed"

// breaks are the ways in which a trap of kind malformed writes arguments.
var breaks = map[string]func(args string) string{
	"close": func(a string) string { return strings.TrimSuffix(a, "}") },
	"fence": func(a string) string { return "```json\n" + a + "\n```" },
	"comma": func(a string) string { return strings.TrimSuffix(a, "}") + ",}" },
	"quotes": func(a string) string {
		if strings.ContainsAny(a, `'\`) || !strings.Contains(a, `"`) {
			return strings.TrimSuffix(a, "}") // nobody could tell its quotes apart, or it has none
		}
		return strings.ReplaceAll(a, `"`, "'")
	},
	"prose": func(a string) string { return "Arguments: " + a },
	"cut":   cutText,
}

// cutText breaks off in the middle of the last text.
func cutText(a string) string {
	end := strings.LastIndexByte(a, '"')
	if end < 0 {
		return strings.TrimSuffix(a, "}")
	}
	begin := strings.LastIndexByte(a[:end], '"')
	half := a[:begin+1+(end-begin-1)/2]
	return strings.TrimRight(strings.ToValidUTF8(half, ""), `\`)
}

// breakArgs writes arguments as the rule says.
func (m *Model) breakArgs(r *rule, args string) string {
	way := r.broken
	switch way {
	case "":
		way = "close"
	case brokenMixed:
		all := slices.Sorted(maps.Keys(breaks))
		way = all[int(m.draw("broken", r, 0)*float64(len(all)))]
	}
	return breaks[way](args)
}

// down is the error of a rule whose trap of kind down is closed; nil where the
// model answers.
func (m *Model) down(s *state, req *model.Request) error {
	if m.script == nil || m.profile.Mute || req.Purpose != "" {
		return nil
	}
	c := m.choose(s)
	if !c.closed || m.script.rules[c.rule].trap != TrapDown {
		return nil
	}
	kind := m.script.rules[c.rule].fault
	if kind == "" {
		kind = FaultServer
	}
	_, err := struck(&Fault{Kind: kind})
	return err
}
