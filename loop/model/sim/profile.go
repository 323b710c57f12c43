package sim

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// Rates are probabilities, 0 to 1. Those of the first group decide at the traps
// of a script; those of the last group strike any model call.
type Rates struct {
	Repeat      float64 // repeats a call that gave nothing new
	EndEarly    float64 // ends with a narrated plan instead of the work
	Blank       float64 // answers with neither text nor call
	UnknownTool float64 // misnames a tool
	Malformed   float64 // writes arguments that are no JSON
	Wrong       float64 // takes the plausible wrong value
	Wander      float64 // takes up a side quest
	Down        float64 // its endpoint fails, and goes on failing
	Think       float64 // thinks as long as the script's think, which may exceed max_tokens

	Obey float64 // heeds a nudge against repeating or blank answers
	Fix  float64 // repairs what a rejection or an error message names

	Lose  float64 // leaves a fact out of a summary
	Drift float64 // words a text differently than the script

	Transport float64 // the connection breaks
	RateLimit float64 // 429 with Retry-After 1 s
	Server    float64 // 503
	Slow      float64 // the answer takes Profile.SlowBy longer
	Hang      float64 // the call declares 24 h
}

// Profile is one simulated model.
type Profile struct {
	Name      string // provider/name, as in suites
	Summary   string // one line for listings
	Rates     Rates
	MaxTokens int           // taken when the request sets none; > 0
	Window    int           // context window in tokens (4 bytes each); 0 = unbounded
	Base      time.Duration // declared time of an answer: Base + PerToken x output tokens
	PerToken  time.Duration
	SlowBy    time.Duration // what Rates.Slow adds
	// FaultAttempts is how many attempts of one turn the rates of the last group
	// can strike; the attempts after them are well.
	FaultAttempts int
	// Mute answers "Done." at once; Spam does the script's guesses and nothing
	// else.
	Mute bool
	Spam bool
}

func profile(name, summary string, r Rates) Profile {
	return Profile{
		Name: name, Summary: summary, Rates: r, MaxTokens: 4096,
		Base: 400 * time.Millisecond, PerToken: 10 * time.Millisecond,
		SlowBy: 20 * time.Second, FaultAttempts: 2,
	}
}

// oracle are the rates of a model that errs nowhere and heeds everything.
var oracle = Rates{Obey: 1, Fix: 1}

// Profiles returns the simulated models in the order of listings. The slice is
// the caller's.
func Profiles() []Profile { return slices.Clone(profiles()) }

// profiles is made once: every trial looks one up.
var profiles = sync.OnceValue(func() []Profile {
	ps := []Profile{
		profile("sim/weak", "loops, ends early and guesses often; heeds corrections mostly", Rates{
			Repeat: .85, EndEarly: .8, Blank: .7, UnknownTool: .75, Malformed: .3, Wrong: .25, Think: .8, Wander: .6, Down: .5,
			Obey: .75, Fix: .8, Lose: .1, Drift: .2, Transport: .01, RateLimit: .01,
		}),
		profile("sim/medium", "between weak and strong", Rates{
			Repeat: .45, EndEarly: .4, Blank: .3, UnknownTool: .35, Malformed: .1, Wrong: .12, Think: .5, Wander: .3, Down: .3,
			Obey: .85, Fix: .9, Lose: .05, Drift: .1, Transport: .008, RateLimit: .008,
		}),
		profile("sim/strong", "errs seldom; heeds corrections nearly always", Rates{
			Repeat: .12, EndEarly: .15, Blank: .1, UnknownTool: .1, Malformed: .02, Wrong: .04, Think: .4, Wander: .1, Down: .1,
			Obey: .95, Fix: .95, Lose: .02, Drift: .05, Transport: .005, RateLimit: .005,
		}),
		profile("sim/oracle", "follows the script without a mistake", oracle),
		profile("sim/noop", `says "Done." at once`, Rates{}),
		profile("sim/spam", "does the script's plausible guesses and nothing else", Rates{}),
	}
	ps[4].Mute, ps[5].Spam = true, true
	return append(ps, trapProfiles()...)
})

// trapProfiles are oracles but for the one mistake that their guard is for.
// Where the mistake is the tool's (a hang, a huge result) the plain oracle walks
// into it.
func trapProfiles() []Profile {
	trap := func(guard string, change func(*Profile)) Profile {
		p := profile("sim/trap-"+guard, "always falls into the trap that "+guard+" is for", oracle)
		if change == nil {
			p.Summary = "an oracle: the trap that " + guard + " is for is the tool's, and nobody sees it coming"
		} else {
			change(&p)
		}
		return p
	}
	return []Profile{
		trap("stuck", func(p *Profile) { p.Rates.Repeat = 1 }),
		trap("monotony", func(p *Profile) { p.Rates.Repeat = 1 }),
		trap("no_progress", func(p *Profile) { p.Rates.Repeat = 1 }),
		trap("dedupe", func(p *Profile) { p.Rates.Repeat = 1 }),
		trap("result_ceiling", nil),
		trap("spill", nil),
		trap("tool_deadline", nil),
		trap("run_deadline", func(p *Profile) { p.Rates.Slow, p.SlowBy = 1, 16*time.Minute }),
		trap("limits", func(p *Profile) { p.Rates.Repeat, p.Rates.Obey = 1, 0 }),
		trap("final_synthesis", func(p *Profile) { p.Rates.Repeat, p.Rates.Obey = 1, 0 }),
		trap("seals", func(p *Profile) { p.Rates.Wrong, p.Rates.Fix = 1, 0 }),
		trap("fallback", func(p *Profile) { p.Rates.Down = 1 }),
		trap("context_overflow", nil),
		trap("argument_repair", func(p *Profile) { p.Rates.Malformed = 1 }),
		trap("compaction", nil),
		trap("budget_notice", func(p *Profile) { p.Rates.Wander = 1 }),
		trap("goal_reminder", func(p *Profile) { p.Rates.Wander = 1 }),
		trap("scope", func(p *Profile) { p.Rates.Wrong = 1 }),
		trap("approval", nil),
		trap("redaction", nil),
		trap("parallel_tools", nil),
		trap("response_cache", nil),
		trap("acceptance", func(p *Profile) { p.Rates.EndEarly = 1 }),
		trap("retry", func(p *Profile) { p.Rates.Server, p.FaultAttempts = 1, 1 }),
		trap("truncated_empty", func(p *Profile) { p.Rates.Think = 1 }),
		trap("empty_response", func(p *Profile) { p.Rates.Blank = 1 }),
		trap("unknown_tool", func(p *Profile) { p.Rates.UnknownTool = 1 }),
	}
}

// Lookup finds a profile by its name, with or without "sim/".
func Lookup(name string) (Profile, bool) {
	name = "sim/" + strings.TrimPrefix(name, "sim/")
	all := profiles()
	for i := range all {
		if all[i].Name == name {
			return all[i], true
		}
	}
	return Profile{}, false
}
