package report

import (
	"fmt"
	"hash/fnv"

	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/results/pricing"
)

func ptr[T any](v T) *T { return &v }

// trap says which guard a scenario of the fixture needs.
type trap struct{ scenario, guard string }

var traps = []trap{
	{"needle-export", "spill"}, {"retry-trap", "stuck"}, {"chat-answer", "acceptance"}, {"hanging-tool", "tool_deadline"},
	{"big-answer", "result_ceiling"}, {"truncated", "truncated_empty"}, {"rate-limited", "retry"}, {"abab", "stuck"},
	{"plain-edit", ""}, {"plain-read", ""}, {"poll", ""},
}

var fixtureArms = []string{"default", "none", "without-spill", "without-stuck", "without-acceptance", "without-retry", "without-unknown_tool"}

func fixtureMeta() Meta {
	m := Meta{
		RunID: "starter-0123456789ab", Suite: "starter", Seed: 7, Repetitions: 5,
		Models: []string{"sim/weak", "sim/strong"}, Arms: fixtureArms,
		Comparisons: []Comparison{{Base: "none", Arm: "default"}},
		Notes:       []string{"Commands: none were run."},
	}
	for _, g := range []string{"spill", "stuck", "acceptance", "retry", "unknown_tool"} {
		m.Comparisons = append(m.Comparisons, Comparison{Guard: g, Base: "without-" + g, Arm: "default"})
	}
	return m
}

// chance is a number in [0, 1) that depends on its arguments alone.
func chance(parts ...any) float64 {
	h := fnv.New64a()
	fmt.Fprint(h, parts...)
	return float64(h.Sum64()%1000) / 1000
}

// fixture is a run that looks like one of the starter suite.
func fixture() []results.Trial {
	var out []results.Trial
	for _, model := range []string{"sim/weak", "sim/strong"} {
		for _, arm := range fixtureArms {
			for rep := range 5 {
				for _, tr := range traps {
					out = append(out, fixtureTrial(tr, model, arm, rep, false))
				}
				// Where a guard hurts: stuck stops what would have passed.
				out = append(out, fixtureTrial(trap{"slow-convergence", "stuck"}, model, arm, rep, true))
			}
		}
	}
	return out
}

func fixtureTrial(tr trap, model, arm string, rep int, harms bool) results.Trial {
	weakness := map[string]float64{"sim/weak": 0.8, "sim/strong": 0.2}[model]
	falls := tr.guard != "" && chance(tr.scenario, model, rep, "falls") < weakness
	off := arm == "none" || arm == "without-"+tr.guard
	pass := chance(tr.scenario, model, rep, "luck") < 0.95
	t := results.Trial{
		RunID: "starter-0123456789ab", Suite: "starter", Scenario: tr.scenario, ScenarioDigest: "00", Tags: []string{}, Harms: harms,
		Model: model, Simulated: true, Arm: arm, Repetition: rep, Seed: uint64(rep), Outcome: "completed",
		Turns: 6, ModelCalls: 6, ToolCalls: 5, InputUncached: ptr(int64(4000)), CacheRead: ptr(int64(0)), CacheWrite: ptr(int64(0)), Output: ptr(int64(400)), Reasoning: ptr(int64(0)),
		ModelUS: ptr(int64(9_000_000)), ToolUS: ptr(int64(100_000)), WaitUS: ptr(int64(0)), Session: "s", SessionDigest: "00",
	}
	switch {
	case harms && falls:
		pass = off
		t.Outcome = map[bool]string{true: "completed", false: "stuck"}[off]
	case falls && off:
		pass = false
		t.Outcome, t.Backstop, t.Turns = "turn_limit", true, 16
		t.InputUncached = ptr(int64(16000))
	case falls && tr.guard == "stuck":
		pass = chance(tr.scenario, model, rep, "obeys") < 0.7
		t.Outcome = map[bool]string{true: "completed", false: "stuck"}[pass]
	}
	t.Verdict, t.Score = results.Fail, ptr(0.0)
	if pass {
		t.Verdict, t.Score = results.Pass, ptr(1.0)
	}
	for _, g := range []string{"acceptance", "retry", "spill", "stuck", "unknown_tool"} {
		c := results.GuardCount{Guard: g, Mode: results.Enforce}
		if arm == "none" || arm == "without-"+g {
			c.Mode = results.Shadow
		}
		if falls && g == tr.guard {
			c.Fired, c.FirstTurn = 1, ptr(3)
		}
		t.Guards = append(t.Guards, c)
	}
	t.CostUSD = pricing.Simulated().Cost(model, pricing.Usage{InputUncached: t.InputUncached, CacheRead: t.CacheRead, CacheWrite: t.CacheWrite, Output: t.Output})
	t.SpentUSD = t.CostUSD
	return t
}
