package results

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// RunID derives the id of a run from the name of its suite and the bytes of
// its lock (everything that decides what the run does). Two runs of one suite
// share it: a run folder's name and date never reach a row.
func RunID(suite string, lock []byte) string {
	sum := sha256.Sum256(lock)
	return suite + "-" + hex.EncodeToString(sum[:6])
}

var errorClasses = []string{ErrorAuth, ErrorQuota, ErrorProvider, ErrorSandbox, ErrorInternal, ErrorGrader}

// utcMicro gives t in UTC, cut to the microseconds that Parquet keeps.
func utcMicro(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC().Truncate(time.Microsecond)
	return &u
}

// Validate reports the first thing that makes the row useless or
// contradictory. It does not change the row.
func (t *Trial) Validate() error {
	if err := validKey(t.Key(), t.RunID); err != nil {
		return err
	}
	fail := func(format string, a ...any) error {
		return fmt.Errorf("trial %v: %s", t.Key(), fmt.Sprintf(format, a...))
	}
	switch {
	case t.Outcome == "":
		return fail("outcome is empty; give the stop reason")
	case !validVerdict(t.Verdict):
		return fail("verdict is %q; want pass, fail or ungraded", t.Verdict)
	case t.Errored && t.Verdict != Ungraded:
		return fail("errored but verdict is %q; an errored trial is ungraded", t.Verdict)
	case t.Errored != (t.ErrorClass != nil):
		return fail("errored is %v but error_class is %s", t.Errored, presence(t.ErrorClass != nil))
	case t.ErrorClass != nil && !slices.Contains(errorClasses, *t.ErrorClass):
		return fail("error_class is %q; want one of %s", *t.ErrorClass, strings.Join(errorClasses, ", "))
	case t.Simulated && (t.StartedAt != nil || t.EndedAt != nil || t.HarnessUS != nil):
		return fail("a simulated model's row must have null started_at, ended_at and harness_us")
	}
	if err := validScore(t.Score, t.Verdict); err != nil {
		return fail("%v", err)
	}
	if err := t.validAmounts(); err != nil {
		return fail("%v", err)
	}
	if err := t.validGuards(); err != nil {
		return fail("%v", err)
	}
	for _, tag := range t.Tags {
		if tag == "" || strings.Contains(tag, ",") {
			return fail("tag %q: a tag is not empty and holds no comma; trials.parquet separates tags by it", tag)
		}
	}
	return nil
}

func (t *Trial) validAmounts() error {
	for _, c := range []struct {
		name string
		v    int64
	}{
		{"turns", int64(t.Turns)}, {"model_calls", int64(t.ModelCalls)}, {"tool_calls", int64(t.ToolCalls)},
		{"input_uncached", orZero(t.InputUncached)}, {"cache_read", orZero(t.CacheRead)}, {"cache_write", orZero(t.CacheWrite)},
		{"output", orZero(t.Output)}, {"reasoning", orZero(t.Reasoning)},
		{"model_us", orZero(t.ModelUS)}, {"tool_us", orZero(t.ToolUS)}, {"wait_us", orZero(t.WaitUS)}, {"harness_us", orZero(t.HarnessUS)},
	} {
		if c.v < 0 {
			return fmt.Errorf("%s is %d; it cannot be negative", c.name, c.v)
		}
	}
	for _, c := range []struct {
		name string
		v    *float64
	}{{"cost_usd", t.CostUSD}, {"spent_usd", t.SpentUSD}} {
		if c.v != nil && (math.IsNaN(*c.v) || math.IsInf(*c.v, 0) || *c.v < 0) {
			return fmt.Errorf("%s is %v; want a finite amount >= 0, or null when unknown", c.name, *c.v)
		}
	}
	return nil
}

func (t *Trial) validGuards() error {
	seen := make(map[[2]string]bool, len(t.Guards))
	for _, g := range t.Guards {
		id := [2]string{g.Guard, g.Mode}
		switch {
		case g.Guard == "":
			return errors.New("a guard count has no guard name")
		case strings.ContainsAny(g.Guard, ",:"):
			return fmt.Errorf("guard %q: a name holds no comma and no colon; trials.parquet separates by them", g.Guard)
		case g.Mode != Enforce && g.Mode != Shadow:
			return fmt.Errorf("guard %q has mode %q; want enforce or shadow", g.Guard, g.Mode)
		case g.Fired < 0:
			return fmt.Errorf("guard %q fired %d times; it cannot be negative", g.Guard, g.Fired)
		case (g.Fired > 0) != (g.FirstTurn != nil):
			return fmt.Errorf("guard %q fired %d times but first_turn is %s", g.Guard, g.Fired, presence(g.FirstTurn != nil))
		case seen[id]:
			return fmt.Errorf("guard %q is counted twice in mode %s", g.Guard, g.Mode)
		}
		seen[id] = true
	}
	return nil
}

// Validate reports the first thing that makes the row useless or contradictory.
func (v *Verdict) Validate() error {
	if err := validKey(v.Key(), v.RunID); err != nil {
		return err
	}
	if v.Grader == "" || v.Type == "" {
		return fmt.Errorf("verdict of %v: grader and type must not be empty", v.Key())
	}
	if !validVerdict(v.Verdict) {
		return fmt.Errorf("verdict of %v by %q is %q; want pass, fail or ungraded", v.Key(), v.Grader, v.Verdict)
	}
	if err := validScore(v.Score, v.Verdict); err != nil {
		return fmt.Errorf("verdict of %v by %q: %w", v.Key(), v.Grader, err)
	}
	return nil
}

func validKey(k TrialKey, runID string) error {
	for _, c := range []struct{ name, v string }{
		{"run_id", runID}, {"scenario", k.Scenario}, {"model", k.Model}, {"arm", k.Arm},
	} {
		if c.v == "" || !utf8.ValidString(c.v) {
			return fmt.Errorf("row %v: %s is %q; want non-empty UTF-8", k, c.name, c.v)
		}
	}
	if k.Repetition < 0 {
		return fmt.Errorf("row %v: repetition cannot be negative", k)
	}
	return nil
}

func validScore(score *float64, verdict string) error {
	switch {
	case score == nil:
		return nil
	case verdict == Ungraded:
		return fmt.Errorf("score is %v but the verdict is ungraded; want null", *score)
	case !(*score >= 0 && *score <= 1): // also false for NaN
		return fmt.Errorf("score is %v; want 0 to 1", *score)
	}
	return nil
}

func validVerdict(v string) bool { return v == Pass || v == Fail || v == Ungraded }

func presence(present bool) string {
	if present {
		return "set"
	}
	return "null"
}

func orZero(p *int64) int64 {
	if p == nil {
		return 0
	}
	return *p
}
