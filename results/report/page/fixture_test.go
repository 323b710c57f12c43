package page

import (
	"fmt"
	"math"

	"github.com/harnessbench/harnessbench/results/report"
)

func ptr[T any](v T) *T { return &v }

// hostile is what a name, a reason or a model's text may hold.
const hostile = "<script>alert(1)</script>\"'&\x1b[31m\u202eevil\u2066\x00\xff`--></style><img src=http://example.test/x onerror=x>{{.}}"

func est(v, lo, hi float64) report.Estimate {
	return report.Estimate{Value: ptr(v), Lo: ptr(lo), Hi: ptr(hi), Method: "Student t over scenarios", N: 24, Warnings: []string{}}
}

func pval(p, adjusted float64) report.P {
	return report.P{P: ptr(p), Adjusted: ptr(adjusted), Test: "sign flips of scenarios, exact", N: 9, Warnings: []string{}}
}

func ratioOf(v, lo, hi float64) report.Ratio { return report.Ratio{Estimate: est(v, lo, hi)} }

// guardOf is a guard on a model, in one of the states that a page has words for.
func guardOf(guard, model, kind string) report.Contrast {
	c := report.Contrast{Guard: guard, Model: model, Simulated: model != "openai/gpt-real", Base: "without-" + guard, Arm: "default", Measured: true,
		A:      report.Side{Trials: 120, Graded: 118, Passed: 60, Rate: ptr(0.51), Shadow: 31, Firings: 40, CostOfPass: report.Money{USD: ptr(0.0123), Text: report.Known}},
		B:      report.Side{Trials: 120, Graded: 119, Passed: 80, Rate: ptr(0.67), Enforced: 29, Firings: 33, CostOfPass: report.Money{USD: ptr(0.0098), Text: report.Known}},
		Paired: 117, OverAll: est(0.08, -0.02, 0.18), Test: pval(0.07, 0.4), DiffMin: ptr(-0.05), DiffMax: ptr(0.21), CostDiff: est(0.0001, -0.0002, 0.0004),
		CostRatio: ratioOf(1.02, 0.93, 1.11), PerPassRatio: ratioOf(0.8, 0.6, 1.05),
		Fired: &report.Fired{Estimate: est(0.05, -0.2, 0.3), Scenarios: 7, Test: pval(0.5, 1), ExposedA: 31, ExposedB: 29, Paired: 27}}
	switch kind {
	case "helps":
		c.Fired.Estimate, c.Fired.Test = est(0.62, 0.4, 0.8), pval(0.0001, 0.002)
		c.Flips = report.Flips{Helped: 14, Hurt: 1, Shown: []report.Flip{flipOf("retry-trap", 0, false), flipOf("abab-loop", 3, true)}}
	case "hurts":
		c.Fired.Estimate, c.Fired.Test = est(-0.45, -0.7, -0.2), pval(0.0004, 0.008)
		c.Flips = report.Flips{Hurt: 9, Shown: []report.Flip{flipOf("slow-build", 1, false)}}
	case "costs":
		c.CostRatio = ratioOf(1.4, 1.2, 1.65)
	case "leans":
		c.Fired.Estimate, c.Fired.Test = est(0.3, 0.02, 0.5), pval(0.04, 0.3)
	case "same":
		c.Margin = &report.Margin{Margin: 0.1, Answer: "not inferior", PNonInferior: ptr(0.01), Equivalent: true, PEquivalent: ptr(0.03), Method: "two one-sided t tests"}
	case "never":
		c.Measured, c.Fired, c.OverAll, c.CostRatio, c.PerPassRatio = false, &report.Fired{}, report.Estimate{}, report.Ratio{}, report.Ratio{}
		c.A.Shadow, c.B.Enforced = 0, 0
	case "open":
		c.CostRatio.Estimate.Hi, c.CostRatio.Unbounded = nil, true
		c.PerPassRatio, c.B.CostOfPass = report.Ratio{}, report.Money{Text: report.Infinite}
		c.Notes = []string{"acceptance tells the model what a check found: an oracle signal that buys extra attempts", hostile}
	}
	return c
}

func flipOf(scenario string, rep int, helped bool) report.Flip {
	return report.Flip{Scenario: scenario, Repetition: rep, Helped: helped, OutcomeA: "turn_limit", OutcomeB: "completed",
		SessionA: scenario + ".a.session.jsonl", SessionB: scenario + ".b.session.jsonl", FiredA: true, FiredB: true}
}

func armFor(model, arm string, i, scenarios int) report.Arm {
	rate := math.Mod(0.2+0.13*float64(i), 1)
	a := report.Arm{Model: model, Arm: arm, Scenarios: scenarios, Trials: scenarios * 5, Graded: scenarios*5 - 2, Errored: 1, Ungraded: 2, Cut: 3, Passed: int(rate * float64(scenarios) * 5),
		Rate: ptr(rate), CI: &report.Interval{max(0, rate-0.1), min(1, rate+0.1)}, CIMethod: "Wilson on effective n", N: 31,
		Tokens: ptr(int64(400_000 + i)), CostUSD: ptr(0.4), CostOfPass: ptr(0.02), CostOfPassCI: &report.OpenInterval{ptr(0.01), nil}, CostOfPassState: report.Known,
		ICC: ptr(0.41), Frontier: ptr(i%4 == 0), FrontierShare: ptr(math.Mod(float64(i)*0.17, 1)), BeatenBy: "sim/weak/default", Simulated: model != "openai/gpt-real",
		RateMin: ptr(max(0, rate-0.02)), RateMax: ptr(min(1, rate+0.02)), ByK: []report.K{{K: 1, Hat: est(rate, 0, 1)}, {K: 5, Hat: est(rate*rate, 0, 0.9)}},
		CostPerTrial: ptr(0.0005 * math.Pow(1.35, float64(i))), Outcomes: []report.OutcomeCount{{Outcome: "completed", Trials: 90, Passed: 70}, {Outcome: "turn_limit", Trials: 30, Backstop: 12}}}
	if i == 7 { // an unknown price
		a.CostPerTrial, a.CostUSD, a.CostOfPass, a.CostOfPassState, a.Frontier, a.FrontierShare, a.Tokens = nil, nil, nil, report.Unknown, nil, nil, nil
	}
	for s := range scenarios {
		a.ByScenario = append(a.ByScenario, report.ScenarioCell{Scenario: fmt.Sprintf("scenario-%03d", s), Trials: 5, Graded: 5 * min(1, (s+i)%17), Passed: (s*7 + i*3) % 6})
	}
	return a
}

// small is a summary of one model and two arms.
func small() (*report.Summary, Extra) {
	s := &report.Summary{Schema: report.Schema, RunID: "small-0123456789ab", Suite: "small", Seed: 1, Repetitions: 5, Models: []report.Model{{Model: "sim/weak", Simulated: true}},
		Arms: []string{"default", "without-stuck"}, Trials: 240, Graded: 237, Errored: 2, Ungraded: 3}
	s.Main = report.Section{Scenarios: []string{"scenario-000", "scenario-001"}, Arms: []report.Arm{armFor("sim/weak", "default", 0, 2), armFor("sim/weak", "without-stuck", 1, 2)},
		Guards: []report.Contrast{guardOf("stuck", "sim/weak", "helps"), guardOf("limits", "sim/weak", "never")}}
	s.Families = []report.Family{{Name: "where it fired", Method: "Holm", Tests: 2}}
	return s, Extra{Guards: map[string]string{"stuck": "equal rounds: nudge, then stop"}}
}

// rich is a summary with everything that a page has to show, and names that wish
// it harm.
func rich() (*report.Summary, Extra) {
	models := []string{"sim/weak", "openai/gpt-real", "sim/strong"}
	s := &report.Summary{Schema: report.Schema, RunID: "rich-" + hostile, Suite: "rich " + hostile, Seed: 7, Repetitions: 5, Trials: 2880, Graded: 2800, Errored: 60, Ungraded: 80, CutTrials: 48, Volatile: 12,
		Errors: []report.ErrorCount{{Class: "provider", Trials: 60, Example: hostile}}, Cut: []report.CutCount{{Model: "openai/gpt-real", Reason: "cost budget of 5 USD", Blocks: 6, Scenarios: 3, Trials: 48}},
		Notes: []string{"isolation: none", hostile}, Headline: &report.Headline{Text: "sim/weak with default passes 0.67, openai/gpt-real with none 0.51: +0.16 [+0.02, +0.30]"},
		Families: []report.Family{{Name: "over all", Method: "Holm", Tests: 26}, {Name: "where it fired", Method: "Holm", Tests: 24}},
		Gates: []report.GateResult{{Gate: "rate of default at least 0.6", Source: "suite.yaml:12:5", Model: "sim/weak", Value: ptr(0.67), Verdict: report.GatePass, Reason: "0.67 is at least 0.6"},
			{Gate: hostile, Model: "sim/strong", Value: ptr(0.1), Verdict: report.GateFail, Reason: hostile}, {Gate: "cost", Model: "openai/gpt-real", Verdict: report.GateNotJudged, Reason: "the price is unknown"}}}
	arms := []string{"default", "none", "without-stuck", "without-spill", "without-acceptance", "without-retry", "without-a-guard-whose-name-nobody-can-remember-since-it-is-so-long", hostile}
	kinds := map[string]string{"stuck": "helps", "dedupe": "hurts", "acceptance": "open", "final_synthesis": "costs", "retry": "leans", "spill": "same", "limits": "never", hostile: "helps"}
	names := []string{"stuck", "dedupe", "acceptance", "final_synthesis", "retry", "spill", "limits", hostile}
	s.Arms = arms
	s.Harms = &report.Section{Scenarios: []string{"slow-build"}}
	for i, m := range models {
		s.Models = append(s.Models, report.Model{Model: m, Simulated: m != "openai/gpt-real"})
		for j, a := range arms {
			s.Main.Arms = append(s.Main.Arms, armFor(m, a, i*3+j, 24))
			s.Harms.Arms = append(s.Harms.Arms, armFor(m, a, i+j, 1))
		}
		for j, g := range names {
			kind := kinds[g]
			if (i+j)%5 == 4 {
				kind = "never"
			}
			s.Main.Guards = append(s.Main.Guards, guardOf(g, m, kind))
		}
		s.Harms.Guards = append(s.Harms.Guards, guardOf("stuck", m, "hurts"), guardOf("limits", m, "never"))
		s.Main.Factorials = append(s.Main.Factorials, report.Factorial{Model: m, Simulated: m != "openai/gpt-real", Factors: []string{"stuck", "spill"}, Notes: []string{hostile},
			Effects: []report.Effect{{Name: "stuck", Factors: []string{"stuck"}, Estimate: est(0.2, 0.1, 0.3), Test: pval(0.001, 0.004), Aliases: []string{"spill x retry x deadline", hostile}},
				{Name: "stuck x spill", Factors: []string{"stuck", "spill"}, Estimate: est(-0.1, -0.3, 0.1), Test: pval(0.3, 0.9)}}})
	}
	for i := range 24 {
		s.Main.Scenarios = append(s.Main.Scenarios, fmt.Sprintf("scenario-%03d", i))
	}
	cross := guardOf("", "sim/weak", "helps")
	cross.Base, cross.Arm, cross.BaseModel, cross.OverAll, cross.Test, cross.Fired = "none", "default", "openai/gpt-real", est(0.16, 0.02, 0.3), pval(0.02, 0.02), nil
	worse := guardOf("", "sim/strong", "hurts")
	worse.Base, worse.Arm, worse.OverAll, worse.Test, worse.Fired = "default", "none", est(-0.3, -0.5, -0.1), pval(0.001, 0.01), nil
	s.Main.Comparisons = []report.Contrast{cross, worse}
	x := Extra{Guards: map[string]string{"stuck": "equal rounds: nudge, then stop", "dedupe": "answers a repeated read with a pointer", hostile: hostile}}
	for _, ref := range Choose(s) {
		x.Flips = append(x.Flips, FlipTranscript{FlipRef: ref, A: Transcript{Lines: []string{"turn 1 " + hostile, "  a line"}, Cut: true}, B: Transcript{Note: "The session file is not in the run folder any more."}})
	}
	return s, x
}
