package sim

import (
	"regexp"

	"github.com/harnessbench/harnessbench/loop/model"
)

// TrapKind is a way to err at a rule.
type TrapKind string

// The kinds of traps. While a rule's trap is closed, the rule's habit is done
// instead of what it says; without a habit, what stands here.
const (
	TrapRepeat      TrapKind = "repeat"       // the last calls again
	TrapEndEarly    TrapKind = "end_early"    // a narrated plan, no call
	TrapBlank       TrapKind = "blank"        // nothing at all
	TrapUnknownTool TrapKind = "unknown_tool" // the rule's calls with misspelled names
	TrapMalformed   TrapKind = "malformed"    // the rule's calls with arguments cut short
	TrapWrong       TrapKind = "wrong"        // needs a habit: the wrong value
	TrapWander      TrapKind = "wander"       // needs a habit: a side quest, step by step
	TrapDown        TrapKind = "down"         // no answer: the model's endpoint fails here, at every attempt
)

// heed says what frees a closed trap: a message by role in which match is found.
type heed struct {
	role  model.Role
	match *regexp.Regexp // nil = nothing frees it
}

// trapInfo is what a kind does by default.
type trapInfo struct {
	rate   func(*Rates) float64 // closes
	yields func(*Rates) float64 // opens, for each correction heeded
	heed   heed
}

var traps = map[TrapKind]trapInfo{
	TrapRepeat: {
		func(r *Rates) float64 { return r.Repeat }, obey,
		heed{model.User, regexp.MustCompile(`(?i)\bsame (call|result)|change (the|your) approach`)},
	},
	TrapEndEarly: {
		func(r *Rates) float64 { return r.EndEarly }, fix,
		heed{model.User, regexp.MustCompile(`(?i)not done yet`)},
	},
	TrapBlank: {
		func(r *Rates) float64 { return r.Blank }, obey,
		heed{model.User, regexp.MustCompile(`(?i)last answer was empty`)},
	},
	TrapUnknownTool: {
		func(r *Rates) float64 { return r.UnknownTool }, fix,
		heed{model.ToolRole, regexp.MustCompile(`(?i)did you mean`)},
	},
	TrapMalformed: {
		func(r *Rates) float64 { return r.Malformed }, fix,
		heed{model.ToolRole, regexp.MustCompile(`(?i)argument|JSON`)},
	},
	TrapWrong: {
		func(r *Rates) float64 { return r.Wrong }, fix,
		heed{},
	},
	TrapWander: {
		func(r *Rates) float64 { return r.Wander }, obey,
		heed{model.User, regexp.MustCompile(`(?i)your task is|% of (your|the)`)},
	},
	TrapDown: {
		func(r *Rates) float64 { return r.Down }, func(*Rates) float64 { return 0 },
		heed{},
	},
}

func obey(r *Rates) float64 { return r.Obey }
func fix(r *Rates) float64  { return r.Fix }

// rateByName resolves a rule's chance.
func rateByName(name string) func(*Rates) float64 {
	switch name {
	case "obey":
		return obey
	case "fix":
		return fix
	}
	if t, ok := traps[TrapKind(name)]; ok {
		return t.rate
	}
	return nil
}

// draw returns a number in [0,1) that depends on its arguments alone.
func draw(profile string, seed uint64, what, rule string, n int) float64 {
	h := uint64(14695981039346656037) // FNV-1a
	mix := func(s string) {
		for i := range len(s) {
			h = (h ^ uint64(s[i])) * 1099511628211
		}
		h = (h ^ 0xff) * 1099511628211
	}
	mix(profile)
	mix(what)
	mix(rule)
	// SplitMix64's finaliser spreads what FNV leaves in the low bits.
	z := h ^ finish(seed+0x9e3779b97f4a7c15*uint64(n+1))
	return float64(finish(z)>>11) / (1 << 53)
}

func finish(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
