package check

import (
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/scenarios"
)

// The simple agents.
const (
	oracle = "sim/oracle"
	noop   = "sim/noop"
	spam   = "sim/spam"
)

// lint runs the simple agents under the profile default; where the scenario shows
// a harm, without the guards that do it.
func (c *checker) lint() error {
	if c.sc.Oracle == nil {
		c.found("oracle", oracle, false, "%v", errNoOracle)
		return nil
	}
	set := standard()
	if c.sc.Tagged(scenarios.TagHarms) {
		for _, g := range c.sc.Stresses {
			if guard.Table[guard.Lookup(g)].Stays {
				continue // nothing switches it off: lint says what becomes of the oracle
			}
			var err error
			if set, err = set.With(g, guard.Off); err != nil {
				c.found("harms", g, false, "%v", err)
				return nil
			}
		}
	}
	for _, a := range []struct{ check, model, want string }{
		{"oracle", oracle, c.sc.Lint.Oracle}, {"noop", noop, c.sc.Lint.Noop}, {"spam", spam, c.sc.Lint.Spam}} {
		r, err := c.run(a.model, set, 0)
		if err != nil {
			return err
		}
		c.found(a.check, a.model, r.verdict == a.want, "%s, wanted %s (ended %s%s)", r.verdict, a.want, r.ended, because(r.reason))
	}
	return nil
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// harms holds the tag against what it says: the oracle fails under the profile
// default.
func (c *checker) harms() error {
	if !c.sc.Tagged(scenarios.TagHarms) || c.sc.Oracle == nil {
		return nil
	}
	r, err := c.run(oracle, standard(), 0)
	if err != nil {
		return err
	}
	c.found("harms", strings.Join(c.sc.Stresses, " "), r.verdict == "fail", "%s under the profile default, wanted fail", r.verdict)
	return nil
}

// graders asks for the same verdicts every time, and for the same session.
func (c *checker) graders() error {
	if c.sc.Oracle == nil {
		return nil
	}
	for _, m := range []string{oracle, noop} {
		r, err := c.run(m, standard(), 0)
		if err != nil {
			return err
		}
		same := len(r.verdicts) == regrades && len(slices.Compact(slices.Clone(r.verdicts))) == 1
		c.found("graders", m, same, "asked %d times about what it left", len(r.verdicts))
	}
	first, err := c.run(oracle, standard(), 0)
	if err != nil {
		return err
	}
	second, err := c.again(oracle, standard(), 0)
	if err != nil {
		return err
	}
	if at := firstDifference(first.session, second.session); at > 0 {
		c.found("stable", oracle, false, "two sessions of one trial differ in line %d", at)
	} else {
		c.found("stable", oracle, true, "two sessions of one trial are equal")
	}
	return nil
}

// trapOf is the simulated model that falls into a guard's trap.
func trapOf(name string) string { return "sim/trap-" + name }

// stresses wants each guard to fire for its trap model, in the profile default or,
// where another guard deals with the cause first, alone.
func (c *checker) stresses() error {
	for _, g := range c.sc.Stresses {
		fired := false
		for _, profile := range []string{guard.ProfileDefault, guard.ProfileNone} {
			set, err := with(profile, g)
			if err != nil {
				return err
			}
			r, err := c.run(trapOf(g), set, 0)
			if err != nil {
				return err
			}
			fired = fired || r.fired[g]
		}
		c.found("stresses", g, fired, "%s for %s", firing(fired), trapOf(g))
	}
	return nil
}

func firing(fired bool) string {
	if fired {
		return "fires"
	}
	return "does not fire"
}

// repetitions is with how many seeds a guard has to stay silent.
const repetitions = 3

// controls wants each guard to stay silent.
func (c *checker) controls() error {
	for _, g := range c.sc.Controls {
		set, err := with(guard.ProfileDefault, g)
		if err != nil {
			return err
		}
		var loud []string
		for _, m := range []string{oracle, "sim/weak", "sim/strong", trapOf(g)} {
			for rep := range repetitions {
				r, err := c.run(m, set, rep)
				if err != nil {
					return err
				}
				if r.fired[g] && !slices.Contains(loud, m) {
					loud = append(loud, m)
				}
			}
		}
		if len(loud) > 0 {
			c.found("controls", g, false, "fires for %s", strings.Join(loud, ", "))
		} else {
			c.found("controls", g, true, "silent for four models with %d seeds", repetitions)
		}
	}
	return nil
}

// hurts wants each bad setting to do worse than the profile default.
func (c *checker) hurts() error {
	for _, h := range c.sc.Hurts {
		m := h.Model
		if m == "" {
			m = oracle
		}
		bad, err := badly(h)
		if err != nil {
			return err
		}
		good, err := c.run(m, standard(), 0)
		if err != nil {
			return err
		}
		worse, err := c.run(m, bad, 0, h.Fallbacks()...)
		if err != nil {
			return err
		}
		c.judge(h, good, worse)
	}
	return nil
}

// judge compares a bad setting with the good one.
func (c *checker) judge(h scenarios.Hurt, good, bad *result) {
	switch {
	case good.verdict != "pass":
		c.found("hurts", h.Guard, false, "%s under the profile default, wanted pass (ended %s%s)", good.verdict, good.ended, because(good.reason))
	case h.By == "tokens":
		c.found("hurts", h.Guard, 2*bad.tokens >= 3*good.tokens, "%d tokens instead of %d", bad.tokens, good.tokens)
	case h.By == "time":
		c.found("hurts", h.Guard, 2*bad.took >= 3*good.took, "%s instead of %s", bad.took, good.took)
	default:
		c.found("hurts", h.Guard, bad.verdict == "fail", "%s instead of pass (ended %s%s)", bad.verdict, bad.ended, because(bad.reason))
	}
}

// confined says what all trials did outside their workspaces.
func (c *checker) confined() error {
	strays := slices.Compact(slices.Sorted(slices.Values(c.strays)))
	if len(strays) > 0 {
		c.found("confined", "", false, "%s", strings.Join(strays[:min(3, len(strays))], "; "))
		return nil
	}
	c.found("confined", "", true, "nothing outside the workspace was touched in %d trials", c.report.Trials)
	return nil
}
