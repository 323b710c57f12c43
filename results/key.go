package results

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// TrialKey names one trial of a run. Keys order by scenario, model, arm, then
// repetition: the canonical order of every table.
type TrialKey struct {
	Scenario   string
	Model      string
	Arm        string
	Repetition int // from 0
}

// Compare returns -1, 0 or +1 by canonical order.
func (k TrialKey) Compare(o TrialKey) int {
	return cmp.Or(
		cmp.Compare(k.Scenario, o.Scenario),
		cmp.Compare(k.Model, o.Model),
		cmp.Compare(k.Arm, o.Arm),
		cmp.Compare(k.Repetition, o.Repetition),
	)
}

// String gives the key as people write it: "scenario model arm #repetition".
func (k TrialKey) String() string {
	return fmt.Sprintf("%q %q %q #%d", k.Scenario, k.Model, k.Arm, k.Repetition)
}

// Key returns the trial's key.
func (t *Trial) Key() TrialKey { return TrialKey{t.Scenario, t.Model, t.Arm, t.Repetition} }

// Key returns the key of the trial that the verdict is about.
func (v *Verdict) Key() TrialKey { return TrialKey{v.Scenario, v.Model, v.Arm, v.Repetition} }

// Key returns the key of the trial in which the guard fired.
func (e *GuardEvent) Key() TrialKey { return TrialKey{e.Scenario, e.Model, e.Arm, e.Repetition} }

// SortTrials puts rows into canonical order.
func SortTrials(rows []Trial) {
	slices.SortStableFunc(rows, func(a, b Trial) int { return a.Key().Compare(b.Key()) })
}

// SortVerdicts puts rows into canonical order, a trial's rows by grader index.
func SortVerdicts(rows []Verdict) {
	slices.SortStableFunc(rows, func(a, b Verdict) int {
		return cmp.Or(a.Key().Compare(b.Key()), cmp.Compare(a.Index, b.Index))
	})
}

// SortGuardEvents puts rows into canonical order, a trial's rows by index.
func SortGuardEvents(rows []GuardEvent) {
	slices.SortStableFunc(rows, func(a, b GuardEvent) int {
		return cmp.Or(a.Key().Compare(b.Key()), cmp.Compare(a.Index, b.Index))
	})
}

// Normalize sorts what has no order of its own (tags, guard counts), turns nil
// lists into empty ones and times into UTC microseconds, so that equal trials
// become equal bytes.
func (t *Trial) Normalize() {
	if t.Tags == nil {
		t.Tags = []string{}
	}
	if t.Guards == nil {
		t.Guards = []GuardCount{}
	}
	slices.Sort(t.Tags)
	slices.SortStableFunc(t.Guards, func(a, b GuardCount) int {
		return cmp.Or(cmp.Compare(a.Guard, b.Guard), cmp.Compare(a.Mode, b.Mode))
	})
	t.StartedAt, t.EndedAt = utcMicro(t.StartedAt), utcMicro(t.EndedAt)
	if t.ErrorText != nil {
		s := utf8Only(*t.ErrorText)
		t.ErrorText = &s
	}
}

// Normalize replaces bytes that are no UTF-8 in the texts that may quote a
// file or a tool: JSON and Parquet strings hold only UTF-8.
func (v *Verdict) Normalize() { v.Reason, v.Evidence = utf8Only(v.Reason), utf8Only(v.Evidence) }

// Normalize does for a guard event what [Verdict.Normalize] does for a verdict.
func (e *GuardEvent) Normalize() { e.On, e.Evidence = utf8Only(e.On), utf8Only(e.Evidence) }

func utf8Only(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// Exposed reports whether the guard fired in this trial, for real or in
// shadow: the trial's own first firing exposes it, whatever the arm.
func (t *Trial) Exposed(guard string) bool { return t.Fired(guard, Enforce)+t.Fired(guard, Shadow) > 0 }

// Fired counts the guard's firings in this trial in the given mode.
func (t *Trial) Fired(guard, mode string) int {
	n := 0
	for i := range t.Guards {
		if g := &t.Guards[i]; g.Guard == guard && g.Mode == mode {
			n += g.Fired
		}
	}
	return n
}

// Graded reports whether the trial counts in a denominator.
func (t *Trial) Graded() bool { return !t.Errored && t.Verdict != Ungraded }
