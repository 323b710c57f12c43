package results

import (
	"fmt"
	"strings"
	"time"
)

// TrialRow is a [Trial] as a row of trials.parquet. The list of guard counts,
// of which nearly all are 0, becomes three columns: the names of the guards in
// each mode, and the counts of those that fired. Nothing is lost: [TrialRow.Trial]
// gives the list back, so "in force and silent" stays apart from "not in
// force", and a guard that never fired from one that was not watched.
type TrialRow struct {
	Trial
	GuardsEnforced string       `json:"guards_enforced" parquet:"guards_enforced,dict" doc:"names of the guards that were enforced, sorted, with commas between them"`
	GuardsShadow   string       `json:"guards_shadow" parquet:"guards_shadow,dict" doc:"names of the guards that were in shadow, sorted, with commas between them"`
	GuardsFired    []GuardFired `json:"guards_fired" parquet:"guards_fired,list" doc:"one entry per guard that fired, by name then mode; a guard that is named above and has no entry stayed silent"`
}

// GuardFired says how often one guard fired in one trial, at least once.
type GuardFired struct {
	Guard     string `json:"guard" parquet:"guard,dict" doc:"name of the guard"`
	Mode      string `json:"mode" parquet:"mode,dict" doc:"enforce or shadow"`
	Fired     int    `json:"fired" parquet:"fired" doc:"number of firings"`
	FirstTurn int    `json:"first_turn" parquet:"first_turn" doc:"turn of the first firing, from 1"`
}

// RowMaker turns trials into rows. It remembers the joined names that it has
// made: a run has few. The zero value is ready; it is not safe for concurrent
// use.
type RowMaker struct {
	names   map[string]string
	scratch []byte
}

// Row fills row from a normalised trial. The row shares the trial's pointers
// and lists; its own list is used again.
func (m *RowMaker) Row(row *TrialRow, t *Trial) {
	row.Trial = *t
	row.GuardsFired = row.GuardsFired[:0]
	for i := range t.Guards {
		if g := &t.Guards[i]; g.Fired > 0 {
			f := GuardFired{Guard: g.Guard, Mode: g.Mode, Fired: g.Fired}
			if g.FirstTurn != nil {
				f.FirstTurn = *g.FirstTurn
			}
			row.GuardsFired = append(row.GuardsFired, f)
		}
	}
	row.GuardsEnforced, row.GuardsShadow = m.join(t.Guards, Enforce), m.join(t.Guards, Shadow)
}

func (m *RowMaker) join(guards []GuardCount, mode string) string {
	b := m.scratch[:0]
	for i := range guards {
		if g := &guards[i]; g.Mode == mode {
			if len(b) > 0 {
				b = append(b, ',')
			}
			b = append(b, g.Guard...)
		}
	}
	m.scratch = b
	if s, ok := m.names[string(b)]; ok {
		return s
	}
	if m.names == nil {
		m.names = map[string]string{}
	}
	s := string(b)
	m.names[s] = s
	return s
}

// Restore gives the trial back, normalised. It is an error when a guard fired
// that no column names.
func (r *TrialRow) Restore() (Trial, error) {
	t := r.Trial
	t.Guards = make([]GuardCount, 0, 1+strings.Count(r.GuardsEnforced, ",")+strings.Count(r.GuardsShadow, ","))
	for _, c := range []struct{ mode, names string }{{Enforce, r.GuardsEnforced}, {Shadow, r.GuardsShadow}} {
		if c.names == "" {
			continue
		}
		for name := range strings.SplitSeq(c.names, ",") {
			t.Guards = append(t.Guards, GuardCount{Guard: name, Mode: c.mode})
		}
	}
	for _, f := range r.GuardsFired {
		found := false
		for i := range t.Guards {
			if g := &t.Guards[i]; g.Guard == f.Guard && g.Mode == f.Mode {
				turn := f.FirstTurn
				g.Fired, g.FirstTurn, found = f.Fired, &turn, true
			}
		}
		if !found {
			return Trial{}, fmt.Errorf("trial %v: guard %q fired in mode %q, in which no column names it", t.Key(), f.Guard, f.Mode)
		}
	}
	t.Normalize()
	return t, nil
}

// Micros gives a duration that is known, in microseconds.
func Micros(d time.Duration) *int64 {
	us := d.Microseconds()
	return &us
}
