package results

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// GuardFired says how often one guard fired in one trial, at least once.
type GuardFired struct {
	Guard     string `json:"guard" parquet:"guard,dict" doc:"name of the guard"`
	Mode      string `json:"mode" parquet:"mode,dict" doc:"enforce or shadow"`
	Fired     int    `json:"fired" parquet:"fired" doc:"number of firings"`
	FirstTurn int    `json:"first_turn" parquet:"first_turn" doc:"turn of the first firing, from 1"`
}

// TrialColumns turns the guard counts of trials into the columns of
// trials.parquet: the names of the guards in each mode, and the counts of those
// that fired. Nothing is lost ([Trial.FromColumns] gives the list back), so "in
// force and silent" stays apart from "not in force", and a guard that never
// fired from one that was not watched.
//
// The zero value is ready; it is not safe for concurrent use.
type TrialColumns struct {
	last             []GuardCount // of the row before
	enforced, shadow string       // its names
	fired            []GuardFired // of the rows that are filled
}

// Fill sets the three columns of normalised trials, until the next call; Empty
// takes them out again.
func (m *TrialColumns) Fill(rows []Trial) {
	m.fired = m.fired[:0]
	for i := range rows {
		m.fill(&rows[i])
	}
}

// Empty takes out what Fill has set.
func (m *TrialColumns) Empty(rows []Trial) {
	for i := range rows {
		t := &rows[i]
		t.GuardsEnforced, t.GuardsShadow, t.GuardsFired = "", "", nil
	}
}

func (m *TrialColumns) fill(t *Trial) {
	first := len(m.fired)
	for i := range t.Guards {
		if g := &t.Guards[i]; g.Fired > 0 {
			f := GuardFired{Guard: g.Guard, Mode: g.Mode, Fired: g.Fired}
			if g.FirstTurn != nil {
				f.FirstTurn = *g.FirstTurn
			}
			m.fired = append(m.fired, f)
		}
	}
	t.GuardsFired = m.fired[first:len(m.fired):len(m.fired)]
	t.GuardsEnforced, t.GuardsShadow = m.join(t.Guards)
}

// join gives the names of the guards in each mode. Rows of one arm follow each
// other and have the same, so the last ones are mostly right.
func (m *TrialColumns) join(guards []GuardCount) (enforced, shadow string) {
	if slices.EqualFunc(guards, m.last, func(a, b GuardCount) bool { return a.Guard == b.Guard && a.Mode == b.Mode }) {
		return m.enforced, m.shadow
	}
	m.last = append(m.last[:0], guards...)
	m.enforced, m.shadow = names(guards, Enforce), names(guards, Shadow)
	return m.enforced, m.shadow
}

func names(guards []GuardCount, mode string) string {
	var b []byte
	for i := range guards {
		if g := &guards[i]; g.Mode == mode {
			if len(b) > 0 {
				b = append(b, ',')
			}
			b = append(b, g.Guard...)
		}
	}
	return string(b)
}

// FromColumns makes the guard counts of a row that was read from a table,
// empties its three columns and normalises it. It is an error when a guard
// fired that no column names.
func (t *Trial) FromColumns() error {
	t.Guards = make([]GuardCount, 0, 2+strings.Count(t.GuardsEnforced, ",")+strings.Count(t.GuardsShadow, ","))
	for _, c := range []struct{ mode, names string }{{Enforce, t.GuardsEnforced}, {Shadow, t.GuardsShadow}} {
		if c.names == "" {
			continue
		}
		for name := range strings.SplitSeq(c.names, ",") {
			t.Guards = append(t.Guards, GuardCount{Guard: name, Mode: c.mode})
		}
	}
	for _, f := range t.GuardsFired {
		i := slices.IndexFunc(t.Guards, func(g GuardCount) bool { return g.Guard == f.Guard && g.Mode == f.Mode })
		if i < 0 {
			return fmt.Errorf("trial %v: guard %q fired in mode %q, but no column names it there", t.Key(), f.Guard, f.Mode)
		}
		turn := f.FirstTurn
		t.Guards[i].Fired, t.Guards[i].FirstTurn = f.Fired, &turn
	}
	t.GuardsEnforced, t.GuardsShadow, t.GuardsFired = "", "", nil
	t.Normalize()
	return nil
}

// Micros gives a duration that is known, in microseconds.
func Micros(d time.Duration) *int64 {
	us := d.Microseconds()
	return &us
}
