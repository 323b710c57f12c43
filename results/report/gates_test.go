package report

import (
	"math"
	"strings"
	"testing"
)

// gatedSummary has a number for all that a gate can bound, and arms and
// comparisons that lack each.
func gatedSummary() *Summary {
	e := func(v, lo, hi float64) Estimate { return Estimate{Value: &v, Lo: &lo, Hi: &hi} }
	p := func(v float64) P { raw := v / 2; return P{P: &raw, Adjusted: &v} }
	full := Arm{Model: "sim/weak", Simulated: true, Arm: "full", Trials: 40, Graded: 38, Errored: 2, Rate: ptr(0.7), CI: &Interval{0.5, 0.85},
		ByK:    []K{{1, e(0.7, 0.5, 0.85), e(0.7, 0.5, 0.85)}, {2, e(0.6, 0.4, 0.8), e(0.8, 0.6, 0.9)}},
		Tokens: ptr(int64(123_456)), CostUSD: ptr(0.5), CostOfPass: ptr(0.02), CostOfPassCI: &OpenInterval{ptr(0.01), ptr(0.04)}, CostOfPassState: Known}
	real := full
	real.Model, real.Simulated, real.Rate = "openai/x", false, ptr(0.9)
	empty := Arm{Model: "sim/weak", Simulated: true, Arm: "empty", CostOfPassState: Nothing, ByK: []K{{K: 1}, {K: 2}}}
	none := Arm{Model: "sim/weak", Simulated: true, Arm: "none", Trials: 3, Graded: 3, Rate: ptr(0.0), CI: &Interval{0, 0.3}, CostUSD: ptr(0.1), CostOfPassState: Infinite, Cut: 4}
	open := Arm{Model: "sim/weak", Simulated: true, Arm: "open", Trials: 3, Graded: 3, CostOfPass: ptr(0.1), CostOfPassCI: &OpenInterval{ptr(0.05), nil}, CostOfPassState: Known}
	unpriced := Arm{Model: "sim/weak", Simulated: true, Arm: "unpriced", Trials: 3, Graded: 3, Rate: ptr(math.NaN()), CostOfPassState: Unknown}
	whole := Contrast{Model: "sim/weak", Simulated: true, Base: "none", Arm: "full", Measured: true, Paired: 30, OverAll: e(0.2, 0.1, 0.3), Test: p(0.04),
		CostDiff: e(0.001, -0.002, 0.004), Margin: &Margin{Margin: 0.05, PNonInferior: ptr(0.01)}}
	guard := whole
	guard.Guard, guard.Base, guard.Margin = "stuck", "without-stuck", nil
	guard.Fired = &Fired{Estimate: e(0.5, 0.3, 0.7), Test: p(0.02)}
	silent := Contrast{Guard: "spill", Model: "sim/weak", Simulated: true, Base: "without-spill", Arm: "full", Paired: 30, OverAll: e(0, -0.05, 0.05), Test: p(1), Fired: &Fired{Test: p(1)}}
	apart := guard // fired in one arm only
	apart.Guard, apart.Base, apart.Fired, apart.CostDiff, apart.Test = "retry", "without-retry", &Fired{}, Estimate{}, P{}
	cross := whole
	cross.Arm, cross.Base, cross.BaseModel = "full", "bare", "sim/strong"
	unpaired := Contrast{Model: "sim/weak", Base: "empty", Arm: "full"}
	return &Summary{Repetitions: 2, Models: []Model{{"sim/weak", true}, {"openai/x", false}, {"sim/strong", true}},
		Main: Section{Arms: []Arm{full, empty, none, open, unpriced, real}, Comparisons: []Contrast{whole, cross, unpaired}, Guards: []Contrast{guard, silent, apart}}}
}

func TestGates(t *testing.T) {
	arm := func(arm, metric string) Gate { return Gate{Arm: arm, Model: "sim/weak", Metric: metric} }
	comp := func(guard, a, metric string) Gate { return Gate{Guard: guard, A: a, B: "full", Metric: metric} }
	k := func(g Gate, k int) Gate { g.K = k; return g }
	whole, guard := func(m string) Gate { return comp("", "none", m) }, func(m string) Gate { return comp("stuck", "without-stuck", m) }
	// Each is bounded on both sides of each of its numbers: value, lo, hi.
	for _, c := range []struct {
		gate   Gate
		values [3]float64 // lo and hi are NaN where there is no interval
	}{
		{arm("full", "rate"), [3]float64{0.7, 0.5, 0.85}},
		{k(arm("full", "pass_hat"), 2), [3]float64{0.6, 0.4, 0.8}},
		{k(arm("full", "pass_at"), 2), [3]float64{0.8, 0.6, 0.9}},
		{arm("full", "errored"), [3]float64{0.05, math.NaN(), math.NaN()}},
		{arm("full", "tokens"), [3]float64{123456, math.NaN(), math.NaN()}},
		{arm("full", "cost_usd"), [3]float64{0.5, math.NaN(), math.NaN()}},
		{arm("full", "cost_of_pass"), [3]float64{0.02, 0.01, 0.04}},
		{whole("difference"), [3]float64{0.2, 0.1, 0.3}},
		{whole("cost_difference"), [3]float64{0.001, -0.002, 0.004}},
		{whole("p"), [3]float64{0.04, math.NaN(), math.NaN()}},
		{whole("p_not_inferior"), [3]float64{0.01, math.NaN(), math.NaN()}},
		{guard("difference"), [3]float64{0.2, 0.1, 0.3}},
		{guard("where_fired"), [3]float64{0.5, 0.3, 0.7}},
		{guard("p"), [3]float64{0.04, math.NaN(), math.NaN()}},
		{guard("p_where_fired"), [3]float64{0.02, math.NaN(), math.NaN()}},
		{comp("", "bare", "difference"), [3]float64{0.2, 0.1, 0.3}},
	} {
		for i, of := range []string{"value", "lo", "hi"} {
			v := c.values[i]
			if math.IsNaN(v) {
				continue
			}
			for _, b := range []struct {
				min, max *float64
				want     string
			}{
				{ptr(v), nil, GatePass}, {nil, ptr(v), GatePass}, {ptr(v), ptr(v), GatePass},
				{ptr(v - 1e-6), ptr(v + 1e-6), GatePass},
				{ptr(v + 1e-6), nil, GateFail}, {nil, ptr(v - 1e-6), GateFail},
				{ptr(v + 1e-6), ptr(v + 1), GateFail}, {ptr(v - 1), ptr(v - 1e-6), GateFail},
			} {
				g := c.gate
				g.Of, g.Min, g.Max = of, b.min, b.max
				got := judgeGates(gatedSummary(), []Gate{g})
				if len(got) != 1 || got[0].Verdict != b.want || got[0].Value == nil || *got[0].Value != v || got[0].Model != "sim/weak" || !strings.Contains(got[0].Reason, "sim/weak (simulated)") {
					t.Errorf("%s: %+v", g.what(), got)
				}
			}
		}
	}
}

// A gate without a value is not judged, whatever its bounds.
func TestGatesNotJudged(t *testing.T) {
	for _, c := range []struct {
		gate Gate
		why  string
	}{
		{Gate{Arm: "empty", Metric: "rate"}, "nothing was graded"},
		{Gate{Arm: "empty", Metric: "pass_hat", K: 2}, "a scenario has fewer than 2 graded trials"},
		{Gate{Arm: "empty", Metric: "pass_at", K: 2}, "a scenario has fewer than 2 graded trials"},
		{Gate{Arm: "full", Metric: "pass_at", K: 3, Model: "sim/weak"}, "computed for k up to 2 here (2 repetitions)"},
		{Gate{Arm: "empty", Metric: "errored"}, "nothing was run"},
		{Gate{Arm: "unpriced", Metric: "tokens"}, "a count of tokens is unknown"},
		{Gate{Arm: "unpriced", Metric: "cost_usd"}, "a price or a count of tokens is unknown"},
		{Gate{Arm: "unpriced", Metric: "cost_of_pass"}, "a price or a count of tokens is unknown"},
		{Gate{Arm: "unpriced", Metric: "rate"}, "it is not a number"},
		{Gate{Arm: "empty", Metric: "cost_of_pass"}, "nothing was graded"},
		{Gate{Arm: "open", Metric: "cost_of_pass", Of: "hi"}, "its interval has no upper end"},
		{Gate{Arm: "open", Metric: "rate", Of: "lo"}, "nothing was graded"},
		{Gate{Arm: "gone", Metric: "rate"}, "none of its trials was run"},
		{Gate{Arm: "full", Metric: "rate", Model: "sim/strong"}, "none of its trials was run"},
		{Gate{A: "none", B: "full", Metric: "where_fired"}, "there is no guard to fire"},
		{Gate{A: "none", B: "gone", Metric: "p"}, "none of its trials was run"},
		{Gate{A: "empty", B: "full", Metric: "difference"}, "no scenario is graded in both arms"},
		{Gate{Guard: "spill", A: "without-spill", B: "full", Metric: "difference"}, "the guard spill fired in no graded trial"},
		{Gate{Guard: "spill", A: "without-spill", B: "full", Metric: "where_fired"}, "the guard spill fired in no graded trial"},
		{Gate{Guard: "spill", A: "without-spill", B: "full", Metric: "p_where_fired"}, "the guard spill fired in no graded trial"},
		{Gate{Guard: "retry", A: "without-retry", B: "full", Metric: "where_fired", Of: "lo"}, "fired in no scenario in both arms"},
		{Gate{Guard: "retry", A: "without-retry", B: "full", Metric: "p"}, "there is no test"},
		{Gate{Guard: "retry", A: "without-retry", B: "full", Metric: "p_where_fired"}, "there is no test"},
		{Gate{Guard: "retry", A: "without-retry", B: "full", Metric: "cost_difference"}, "a price or a count of tokens is unknown"},
		{Gate{Guard: "retry", A: "without-retry", B: "full", Metric: "p_not_inferior"}, "the comparison has no margin"},
		{Gate{Arm: "full", Metric: "speed", Model: "sim/weak"}, "no such metric"},
	} {
		for _, b := range [][2]*float64{{ptr(-1e300), nil}, {nil, ptr(1e300)}, {ptr(-1e300), ptr(1e300)}} {
			c.gate.Min, c.gate.Max = b[0], b[1]
			got := judgeGates(gatedSummary(), []Gate{c.gate})
			if len(got) != 1 || got[0].Verdict != GateNotJudged || got[0].Value != nil || !strings.Contains(got[0].Reason, c.why) {
				t.Errorf("%s of %s: %+v; want %q", c.gate.Metric, c.gate.subject(), got, c.why)
			}
		}
	}
}

// Nothing passed: no bound from above holds, on either end.
func TestGatesInfiniteCost(t *testing.T) {
	for _, c := range []struct {
		of       string
		min, max *float64
		want     string
	}{
		{"value", nil, ptr(1e300), GateFail}, {"hi", nil, ptr(1e300), GateFail}, {"lo", nil, ptr(1e300), GateFail},
		{"value", ptr(1.0), nil, GatePass}, {"lo", ptr(1.0), nil, GateNotJudged},
	} {
		got := judgeGates(gatedSummary(), []Gate{{Arm: "none", Metric: "cost_of_pass", Of: c.of, Min: c.min, Max: c.max}})
		if len(got) != 1 || got[0].Verdict != c.want || got[0].Value != nil {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// A gate without a model is judged on each, in the order of the summary.
func TestGatesWords(t *testing.T) {
	third := 1.0 / 3
	got := judgeGates(gatedSummary(), []Gate{
		{Arm: "full", Metric: "rate", Of: "lo", Min: ptr(0.5), Source: "gates[0]"},
		{Arm: "full", Model: "sim/weak", Metric: "pass_hat", K: 2, Min: ptr(0.6000001)},
		{Arm: "none", Metric: "cost_usd", Max: ptr(0.25)},
		{A: "bare", B: "full", Metric: "difference", Min: ptr(0.1), Max: ptr(0.3)},
		{Guard: "stuck", A: "without-stuck", B: "full", Metric: "where_fired", Min: ptr(0.9)},
		{Guard: "spill", A: "without-spill", B: "full", Metric: "p", Max: ptr(0.05)},
		{Arm: "none", Metric: "cost_of_pass", Max: &third},
	})
	want := []string{
		"lower end of pass rate of full on sim/weak (simulated) is 0.5; it must be at least 0.5",
		"lower end of pass rate of full on openai/x is 0.5; it must be at least 0.5",
		"pass^2 of full on sim/weak (simulated) is 0.6; it must be at least 0.6000001",
		"cost of none on sim/weak (simulated) is 0.1 USD; it must be at most 0.25 (4 trials of it cut: judged on what ran)",
		"difference in pass rate of full on sim/weak (simulated) against bare on sim/strong (simulated) is 0.2; it must be at least 0.1 and at most 0.3",
		"difference in pass rate where the guard fired of full against without-stuck, guard stuck, on sim/weak (simulated) is 0.5; it must be at least 0.9",
		"there is no adjusted p value of full against without-spill, guard spill, on sim/weak (simulated): the guard spill fired in no graded trial, so it was not measured; it must be at most 0.05",
		"cost of a pass of none on sim/weak (simulated) is infinite, nothing passed; it must be at most 0.3333333333333333 (4 trials of it cut: judged on what ran)",
	}
	for i, r := range got {
		if i >= len(want) || r.Reason != want[i] {
			t.Errorf("%d: %s", i, r.Reason)
		}
	}
	if len(got) != len(want) || got[0].Source != "gates[0]" || got[0].Gate != "lower end of pass rate of full must be at least 0.5" {
		t.Errorf("%+v", got)
	}
}

// What is printed of a value stands on the value's side of the bound; rounding in
// a mean does not fail a gate.
func TestGatesRounding(t *testing.T) {
	sum := 0.0
	for range 10 {
		sum += 0.1
	}
	for _, c := range []struct {
		v     float64
		shown string
		want  string
	}{{sum, "0.9999999999999999", GatePass}, {0.99999996, "0.99999996", GateFail}, {0.5, "0.5", GateFail}, {2.0 / 3, "0.6667", GateFail}, {1.5, "1.5", GatePass}} {
		s := gatedSummary()
		s.Main.Arms[0].Rate = &c.v
		got := judgeGates(s, []Gate{{Arm: "full", Model: "sim/weak", Metric: "rate", Min: ptr(1.0)}})[0]
		if got.Verdict != c.want || !strings.Contains(got.Reason, " is "+c.shown+";") && c.v != sum {
			t.Errorf("%v: %+v", c.v, got)
		}
	}
}

// Trials of scenarios that exist to show a harm are not judged.
func TestGatesOfMainPool(t *testing.T) {
	s := gatedSummary()
	s.Harms = &Section{Arms: []Arm{{Model: "sim/weak", Arm: "harmed", Trials: 1, Graded: 1, Rate: ptr(1.0)}}}
	if got := judgeGates(s, []Gate{{Arm: "harmed", Metric: "rate", Min: ptr(0.5)}}); got[0].Verdict != GateNotJudged {
		t.Errorf("%+v", got)
	}
	if got := judgeGates(s, nil); got == nil || len(got) != 0 {
		t.Errorf("%#v", got)
	}
}
