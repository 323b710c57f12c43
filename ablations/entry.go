package ablations

import (
	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/graders"
	"github.com/harnessbench/harnessbench/results"
)

// entry makes the journal's line of a finished trial.
func (r *runner) entry(t *design.Trial, out *trial.Outcome, spent spending, down bool) results.Entry {
	end, tally := out.End, out.Tally
	row := results.Trial{
		RunID: r.runID, Suite: r.plan.Suite.Name, Scenario: t.Scenario.ID, ScenarioDigest: t.Scenario.Digest,
		Tags: append([]string(nil), t.Scenario.Tags...), Harms: t.Scenario.Tagged(results.HarmsTag),
		Model: t.Model, Simulated: trial.IsSimulated(t.Model), Arm: t.Arm.Name, Repetition: t.Repetition,
		Seed:    trial.RepetitionSeed(r.plan.Suite.Seed, t.Scenario.ID, t.Repetition),
		Outcome: string(end.Reason), Backstop: end.Backstop,
		Turns: end.Turns, ModelCalls: end.Attempts, ToolCalls: tally.ToolCalls,
		InputUncached: &end.Usage.InputUncached, CacheRead: &end.Usage.CacheRead, CacheWrite: &end.Usage.CacheWrite,
		Output: &end.Usage.Output, Reasoning: &end.Usage.Reasoning,
		ModelUS: results.Micros(tally.ModelTime), ToolUS: results.Micros(tally.ToolTime), WaitUS: results.Micros(tally.WaitTime),
		SpentTokens: &spent.tokens,
		Session:     t.SessionName(), SessionDigest: out.Digest.String(), Guards: tally.GuardCounts(t.Arm.Guards),
	}
	if real := out.Real; real != nil {
		row.StartedAt, row.EndedAt, row.HarnessUS = &real.Began, &real.Ended, results.Micros(real.Harness)
	}
	if end.Cost.Known {
		row.CostUSD = usdOf(end.Cost.Pico)
	}
	if spent.known {
		row.SpentUSD = usdOf(spent.pico)
	}
	setVerdict(&row, out.Overall)
	if class, why := errored(out, down); class != "" {
		row.Errored, row.ErrorClass, row.ErrorText = true, &class, &why
		row.Verdict, row.Score = results.Ungraded, nil
	}
	if end.Usage.Unknown {
		// The provider did not say of every call what it used.
		row.InputUncached, row.CacheRead, row.CacheWrite, row.Output, row.Reasoning = nil, nil, nil, nil, nil
		row.CostUSD, row.SpentUSD, row.SpentTokens = nil, nil, nil
	}
	return results.Entry{Trial: row, Verdicts: verdictRows(&row, out.Verdicts), Events: r.firings(t, tally)}
}

// usdOf turns 1e-12 USD into USD.
func usdOf(pico int64) *float64 {
	usd := float64(pico) / 1e12
	return &usd
}

// verdictRows makes the rows of a trial's verdicts.
func verdictRows(t *results.Trial, list []graders.Verdict) []results.Verdict {
	rows := make([]results.Verdict, 0, len(list))
	for _, v := range list {
		row := results.Verdict{RunID: t.RunID, Scenario: t.Scenario, Model: t.Model, Arm: t.Arm, Repetition: t.Repetition,
			Index: len(rows), Grader: v.Grader, Type: v.Type, Version: v.Version, Digest: v.Digest,
			Gate: v.Gate, Primary: v.Primary, Verdict: v.Verdict, Reason: v.Reason, Evidence: v.Evidence}
		if v.Verdict != results.Ungraded {
			score := v.Score
			row.Score = &score
		}
		rows = append(rows, row)
	}
	return rows
}

func (r *runner) firings(t *design.Trial, tally *trial.Tally) []results.GuardEvent {
	rows := make([]results.GuardEvent, 0, len(tally.Firings))
	for i, f := range tally.Firings {
		rows = append(rows, results.GuardEvent{RunID: r.runID, Scenario: t.Scenario.ID, Model: t.Model, Arm: t.Arm.Name,
			Repetition: t.Repetition, Index: i, Lane: f.Lane, Turn: f.Turn, AtUS: f.At.Microseconds(),
			Guard: f.Name, Version: f.Version, Mode: f.Mode, Act: f.Act, On: f.On, Evidence: f.Evidence})
	}
	return rows
}
