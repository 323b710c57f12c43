package results

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// TrialColumns turns the lists of a trial into the columns that trials.parquet
// has in their place, and back ([Trial.FromColumns]). Nothing is lost: which
// guards were enforced, which in shadow and which fired are columns of their
// own, so "in force and silent" stays apart from "not in force".
//
// Columns of plain strings with few values cost a tenth of what a list of
// groups costs to write, and every tool can filter them. The zero value is
// ready; it is not safe for concurrent use.
type TrialColumns struct {
	last             []GuardCount // of the row before
	enforced, shadow string       // its names
	lastTags         []string
	tags             string
	scratch          []byte
	joined           map[string]string // strings made so far: a run has few
}

// maxJoined bounds what a TrialColumns remembers.
const maxJoined = 1 << 12

// Fill sets the columns of normalised trials; Empty takes them out again.
func (m *TrialColumns) Fill(rows []Trial) {
	for i := range rows {
		m.fill(&rows[i])
	}
}

// Empty takes out what Fill has set.
func (m *TrialColumns) Empty(rows []Trial) {
	for i := range rows {
		rows[i].emptyColumns()
	}
}

func (t *Trial) emptyColumns() {
	t.TagNames, t.GuardsEnforced, t.GuardsShadow, t.FiredEnforced, t.FiredShadow = "", "", "", "", ""
}

func (m *TrialColumns) fill(t *Trial) {
	same, fired := len(t.Guards) == len(m.last), false
	for i := range t.Guards {
		g := &t.Guards[i]
		fired = fired || g.Fired > 0
		same = same && m.last[i].Guard == g.Guard && m.last[i].Mode == g.Mode
	}
	if !same { // rows of one arm follow each other and have the same
		m.last = append(m.last[:0], t.Guards...)
		m.enforced, m.shadow = m.guards(t.Guards, Enforce, false), m.guards(t.Guards, Shadow, false)
	}
	t.GuardsEnforced, t.GuardsShadow = m.enforced, m.shadow
	if fired {
		t.FiredEnforced, t.FiredShadow = m.guards(t.Guards, Enforce, true), m.guards(t.Guards, Shadow, true)
	}
	if !slices.Equal(t.Tags, m.lastTags) {
		m.lastTags = append(m.lastTags[:0], t.Tags...)
		m.tags = strings.Join(t.Tags, ",")
	}
	t.TagNames = m.tags
}

// guards joins the guards of one mode: their names, or what fired.
func (m *TrialColumns) guards(guards []GuardCount, mode string, fired bool) string {
	b := m.scratch[:0]
	for i := range guards {
		g := &guards[i]
		if g.Mode != mode || fired && g.Fired == 0 {
			continue
		}
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = append(b, g.Guard...)
		if fired {
			first := 0
			if g.FirstTurn != nil {
				first = *g.FirstTurn
			}
			b = strconv.AppendInt(append(b, ':'), int64(g.Fired), 10)
			b = strconv.AppendInt(append(b, ':'), int64(first), 10)
		}
	}
	m.scratch = b
	return m.intern(b)
}

func (m *TrialColumns) intern(b []byte) string {
	if s, ok := m.joined[string(b)]; ok {
		return s
	}
	if m.joined == nil || len(m.joined) >= maxJoined {
		m.joined = map[string]string{}
	}
	s := string(b)
	m.joined[s] = s
	return s
}

// FromColumns makes the lists of a row that was read from a table, empties its
// columns and normalises it. A column that does not hold what its documentation
// says is an error.
func (t *Trial) FromColumns() error {
	if t.TagNames != "" {
		t.Tags = strings.Split(t.TagNames, ",")
	}
	t.Guards = make([]GuardCount, 0, 2+strings.Count(t.GuardsEnforced, ",")+strings.Count(t.GuardsShadow, ","))
	for _, c := range []struct{ mode, names, fired string }{
		{Enforce, t.GuardsEnforced, t.FiredEnforced}, {Shadow, t.GuardsShadow, t.FiredShadow},
	} {
		if err := t.addGuards(c.mode, c.names, c.fired); err != nil {
			return fmt.Errorf("trial %v: %w", t.Key(), err)
		}
	}
	t.emptyColumns()
	t.Normalize()
	return nil
}

func (t *Trial) addGuards(mode, names, fired string) error {
	first := len(t.Guards)
	if names != "" {
		for name := range strings.SplitSeq(names, ",") {
			t.Guards = append(t.Guards, GuardCount{Guard: name, Mode: mode})
		}
	}
	if fired == "" {
		return nil
	}
	for f := range strings.SplitSeq(fired, ",") {
		name, rest, _ := strings.Cut(f, ":")
		count, turn, _ := strings.Cut(rest, ":")
		n, err1 := strconv.Atoi(count)
		at, err2 := strconv.Atoi(turn)
		if err1 != nil || err2 != nil || n < 1 {
			return fmt.Errorf("a guard fired as %q; want name:firings:turn", f)
		}
		i := slices.IndexFunc(t.Guards[first:], func(g GuardCount) bool { return g.Guard == name })
		if i < 0 {
			return fmt.Errorf("guard %q fired in mode %s, in which no column names it", name, mode)
		}
		t.Guards[first+i].Fired, t.Guards[first+i].FirstTurn = n, &at
	}
	return nil
}

// Micros gives a duration that is known, in microseconds.
func Micros(d time.Duration) *int64 {
	us := d.Microseconds()
	return &us
}
