package compare

import (
	"fmt"
	"strconv"
	"strings"
)

// Names lists what conditions may name.
var Names = []string{"diff", "ci_lo", "ci_hi", "p", "p_adjusted", "rate_a", "rate_b", "scenarios", "trials_a", "trials_b",
	"cost_of_pass_a", "cost_of_pass_b", "cost_of_pass_ratio", "cost_ratio", "pass_hat_a(k)", "pass_hat_b(k)"}

// Known says whether conditions may use a name with that many arguments, and if not why.
func Known(name string, args []float64) error {
	hat := name == "pass_hat_a" || name == "pass_hat_b"
	switch {
	case hat && len(args) != 1:
		return fmt.Errorf("%s needs a k: %s(3)", name, name)
	case hat && !(args[0] >= 1 && args[0] <= maxK && args[0] == float64(int(args[0]))):
		return fmt.Errorf("k of %s is a whole number, 1 to %d", name, maxK)
	case hat:
		return nil
	}
	for _, n := range Names {
		if n == name {
			if len(args) > 0 {
				return fmt.Errorf("%s takes nothing in parentheses", name)
			}
			return nil
		}
	}
	return fmt.Errorf("there is no %q; there are: %s", name, strings.Join(Names, ", "))
}

// Lookup gives a value of the comparison; ok is false when it is unknown.
func (c *Comparison) Lookup(name string, args []float64) (v float64, ok bool) {
	p := c.pointer(name, args)
	if p == nil {
		return 0, false
	}
	return *p, true
}

func (c *Comparison) pointer(name string, args []float64) *float64 {
	count := func(n int) *float64 { v := float64(n); return &v }
	switch name {
	case "diff":
		return c.Diff
	case "ci_lo", "ci_hi":
		if c.CI == nil {
			return nil
		}
		if name == "ci_lo" {
			return &c.CI[0]
		}
		return &c.CI[1]
	case "p":
		return c.P
	case "p_adjusted":
		return c.PAdjusted
	case "rate_a":
		return c.RateA
	case "rate_b":
		return c.RateB
	case "scenarios":
		return count(c.Scenario)
	case "trials_a":
		return count(c.TrialsA)
	case "trials_b":
		return count(c.TrialsB)
	case "cost_of_pass_a":
		return c.CostOfPassA
	case "cost_of_pass_b":
		return c.CostOfPassB
	case "cost_of_pass_ratio":
		return c.PassRatio
	case "cost_ratio":
		return c.CostRatio
	case "pass_hat_a", "pass_hat_b":
		k := strconv.Itoa(int(args[0]))
		if name == "pass_hat_a" {
			return c.hat[0][k]
		}
		return c.hat[1][k]
	}
	return nil
}
