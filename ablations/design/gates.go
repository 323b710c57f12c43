package design

import (
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

// Gate is a bound that a result must keep, of an arm or of a comparison. A suite
// keeps its gates; they are judged from the results.
type Gate struct {
	strictyaml.Pos `yaml:"-"`
	Arm            string          `yaml:"arm,omitempty" doc:"the arm that is held to the bound"`
	Comparison     *GateComparison `yaml:"comparison,omitempty" doc:"the comparison that is held to the bound"`
	Model          string          `yaml:"model,omitempty" doc:"only on this model; default: on every model, each for itself"`
	Metric         string          `yaml:"metric,required" doc:"of an arm: rate, pass_hat, pass_at, errored, tokens, cost_usd, cost_of_pass; of a comparison: difference, where_fired, cost_difference, p, p_where_fired, p_not_inferior" enum:"rate|pass_hat|pass_at|errored|tokens|cost_usd|cost_of_pass|difference|where_fired|cost_difference|p|p_where_fired|p_not_inferior"`
	K              int             `yaml:"k,omitempty" doc:"of pass_hat and pass_at" min:"1" max:"10"`
	Of             string          `yaml:"of,omitempty" doc:"what is held to the bound: value (default), or the lower (lo) or upper (hi) end of its interval" enum:"value|lo|hi"`
	Min            *float64        `yaml:"min,omitempty" doc:"the metric must not be less"`
	Max            *float64        `yaml:"max,omitempty" doc:"the metric must not be more"`
}

// GateComparison names a comparison of the suite.
type GateComparison struct {
	Guard string `yaml:"guard,omitempty" doc:"the comparison's guard"`
	A     string `yaml:"a,required" doc:"the comparison's base"`
	B     string `yaml:"b,required" doc:"the comparison's other arm"`
}

// UnmarshalNode implements strictyaml.Unmarshaler.
func (g *Gate) UnmarshalNode(n *strictyaml.Node) error {
	type file Gate
	return decodeBounded(n, (*file)(g))
}

// The metrics that gates may bound.
var (
	armMetrics        = []string{"rate", "pass_hat", "pass_at", "errored", "tokens", "cost_usd", "cost_of_pass"}
	comparisonMetrics = []string{"difference", "where_fired", "cost_difference", "p", "p_where_fired", "p_not_inferior"}
	// intervals are the metrics that have one.
	intervals = []string{"rate", "pass_hat", "pass_at", "cost_of_pass", "difference", "where_fired", "cost_difference"}
)

// check refuses a gate that could never be judged.
func (g *Gate) check(arms map[string]*Arm, comps []Comparison, models []string) error {
	metrics := armMetrics
	if g.Comparison != nil {
		metrics = comparisonMetrics
	}
	counted := g.Metric == "pass_hat" || g.Metric == "pass_at"
	switch {
	case (g.Arm == "") == (g.Comparison == nil):
		return g.Errorf("write one of arm and comparison", "a gate holds either an arm or a comparison to its bound")
	case g.Arm != "" && arms[g.Arm] == nil:
		return g.Errorf("name one of the arms", "the gate's arm is no arm: %.60q", g.Arm)
	case g.Comparison != nil && !slices.ContainsFunc(comps, g.Comparison.is):
		return g.Errorf("write its a, b and guard as the suite has them; harnessbench plan lists them", "the gate's comparison is none of the suite's")
	case !slices.Contains(metrics, g.Metric):
		return g.Errorf("write one of "+strings.Join(metrics, ", "), "no metric %.60q here", g.Metric)
	case counted != (g.K != 0):
		return g.Errorf("give k to pass_hat and pass_at, and to no other metric", "metric %s with k %d", g.Metric, g.K)
	case g.Of != "" && g.Of != "value" && g.Of != "lo" && g.Of != "hi":
		return g.Errorf("write value, lo or hi", "of is %.60q", g.Of)
	case (g.Of == "lo" || g.Of == "hi") && !slices.Contains(intervals, g.Metric):
		return g.Errorf("leave of out", "the metric %s has no interval", g.Metric)
	case g.Min == nil && g.Max == nil:
		return g.Errorf("write min, max or both", "the gate has no bound")
	case g.Min != nil && g.Max != nil && *g.Min > *g.Max:
		return g.Errorf("swap them", "min %v is more than max %v", *g.Min, *g.Max)
	}
	if g.Comparison != nil {
		c := comps[slices.IndexFunc(comps, g.Comparison.is)]
		switch {
		case c.Guard == "" && (g.Metric == "where_fired" || g.Metric == "p_where_fired"):
			return g.Errorf("bound the difference over all, or name the comparison of one guard", "%s needs a guard, and %s compares whole arms", g.Metric, c.String())
		case c.Margin == 0 && g.Metric == "p_not_inferior":
			return g.Errorf("give the comparison a margin", "%s has no margin to be not inferior by", c.String())
		}
	}
	return g.checkModel(arms, models)
}

// checkModel refuses a gate on a model without results.
func (g *Gate) checkModel(arms map[string]*Arm, models []string) error {
	names := []string{g.Arm}
	if c := g.Comparison; c != nil {
		names = []string{c.A, c.B}
		// of two models the result is on b's
		if _, modelB, ok := CrossModels(arms[c.A], arms[c.B]); ok && c.Guard == "" && g.Model != "" && g.Model != modelB {
			return g.Errorf("leave model out, or write b's: "+modelB, "%s and %s run on two models, and %.60q is not b's", c.A, c.B, g.Model)
		} else if ok {
			return nil
		}
	}
	if g.Model == "" {
		return nil
	}
	if !slices.Contains(models, g.Model) {
		return g.Errorf("name one of the suite's models", "the gate's model is none: %.60q", g.Model)
	}
	for _, name := range names {
		if !arms[name].On(g.Model) {
			return g.Errorf("name a model that it runs on", "the arm %s does not run on %s", name, g.Model)
		}
	}
	return nil
}

func (g *GateComparison) is(c Comparison) bool {
	return g.A == c.A && g.B == c.B && g.Guard == c.Guard
}
