package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/harnessbench/harnessbench/results/report"
)

// heat is the map of one model: scenarios down, arms across. It is a table with
// a number in every cell; the colour repeats the number.
type heat struct {
	ID, Caption string
	Arms        []string
	Heads       []head // arms, or letters for them where names are long
	Lettered    []noteRef
	Rows        []heatRow // those with the largest spread
	Rest        []heatRow // the others, folded
	RestTitle   string
	Left        string
}

type heatRow struct {
	Scenario string
	Cells    []heatCell
	spread   float64
}

type heatCell struct{ Text, Class string }

// heats makes the maps of both sections, and keeps all of them within maxCells.
func (v *view) heats(s *report.Summary) {
	room := maxCells
	add := func(sec *report.Section, suffix string) {
		for _, m := range s.Models {
			var arms []*report.Arm
			for i := range sec.Arms {
				if sec.Arms[i].Model == m.Model && len(sec.Arms[i].ByScenario) > 0 {
					arms = append(arms, &sec.Arms[i])
				}
			}
			if len(arms) == 0 || len(v.Heat) >= maxColumns {
				continue
			}
			h := newHeat(arms, room)
			h.ID = fmt.Sprintf("heat-%d", len(v.Heat))
			h.Caption = modelName(m.Model, m.Simulated) + suffix
			room -= (len(h.Rows) + len(h.Rest)) * len(h.Arms)
			v.Heat = append(v.Heat, h)
		}
	}
	add(&s.Main, "")
	if s.Harms != nil {
		add(s.Harms, ", scenarios tagged harms")
	}
}

func newHeat(arms []*report.Arm, room int) heat {
	var h heat
	if n := len(arms); n > maxColumns {
		h.Left = fmt.Sprintf("The first %d of %d arms are shown. ", maxColumns, n)
		arms = arms[:maxColumns]
	}
	rows := map[string]*heatRow{}
	var ids []string
	for i, a := range arms {
		h.Arms = append(h.Arms, name(a.Arm))
		for _, x := range a.ByScenario {
			r := rows[x.Scenario]
			if r == nil {
				r = &heatRow{Scenario: name(x.Scenario), Cells: make([]heatCell, len(arms))}
				for j := range r.Cells {
					r.Cells[j] = heatCell{dash, "h-"}
				}
				rows[x.Scenario] = r
				ids = append(ids, x.Scenario)
			}
			if x.Graded > 0 {
				r.Cells[i] = heatOf(x)
			}
		}
	}
	h.heads()
	slices.Sort(ids)
	spreads(arms, rows)
	list := make([]heatRow, 0, len(ids))
	for _, id := range ids {
		list = append(list, *rows[id])
	}
	h.fill(list, room)
	return h
}

// longHead is the number of characters from which an arm's name does not fit
// above a column.
const longHead = 24

// heads names the columns. Letters are not taken for the numbers of the cost figure.
func (h *heat) heads() {
	long := slices.ContainsFunc(h.Arms, func(s string) bool { return utf8.RuneCountInString(s) > longHead })
	for i, s := range h.Arms {
		x := head{Text: s}
		if long {
			x = head{Text: strings.ToUpper(letter(i)), Tooltip: s, Number: true}
			h.Lettered = append(h.Lettered, noteRef{x.Text, s})
		}
		h.Heads = append(h.Heads, x)
	}
}

// fill divides the rows into those that are open, folded and left out.
func (h *heat) fill(list []heatRow, room int) {
	if len(list) > maxSpread {
		slices.SortStableFunc(list, func(a, b heatRow) int { return cmp.Compare(b.spread, a.spread) })
		h.Left += fmt.Sprintf("The %d scenarios whose arms differ most stand here, those that differ most first. ", maxSpread)
	}
	if fit := max(room/max(len(h.Arms), 1), 0); len(list) > fit {
		h.Left += fmt.Sprintf("%s of %s are left out to keep the page small, those whose arms differ least; report.json has all. ", count(len(list)-fit), plural(len(list), "scenario"))
		list = list[:fit]
	}
	h.Rows = list
	if len(list) > maxSpread {
		h.Rows, h.Rest = list[:maxSpread], list[maxSpread:]
		h.RestTitle = "The other " + plural(len(h.Rest), "scenario")
	}
}

// spreads measures how far a scenario's arms lie apart.
func spreads(arms []*report.Arm, rows map[string]*heatRow) {
	lo, hi := map[string]float64{}, map[string]float64{}
	for _, a := range arms {
		for _, x := range a.ByScenario {
			if x.Graded == 0 {
				continue
			}
			v := float64(x.Passed) / float64(x.Graded)
			if _, ok := lo[x.Scenario]; !ok {
				lo[x.Scenario], hi[x.Scenario] = v, v
			}
			lo[x.Scenario], hi[x.Scenario] = min(lo[x.Scenario], v), max(hi[x.Scenario], v)
		}
	}
	for id, r := range rows {
		r.spread = hi[id] - lo[id]
	}
}

// heatOf gives a share its number and one of six colours: none, below a quarter,
// a half, three quarters, all, all of them.
func heatOf(x report.ScenarioCell) heatCell {
	v := float64(x.Passed) / float64(x.Graded)
	c := heatCell{Text: fmt.Sprintf("%.2f", v)}
	switch {
	case x.Passed <= 0:
		c.Class = "h0"
	case x.Passed >= x.Graded:
		c.Class = "h5"
	default:
		c.Class = fmt.Sprintf("h%d", 1+min(max(int(v*4), 0), 3))
	}
	return c
}
