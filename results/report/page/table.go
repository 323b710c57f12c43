package page

import (
	"fmt"
	"html/template"
	"slices"

	"github.com/harnessbench/harnessbench/results/report"
)

// table is one table of the page. Every table scrolls in a region of its own
// that the keyboard reaches.
type table struct {
	ID, Caption string
	Heads       []head
	Rows        []row
	Left        string // what was left out, and by which rule
	Class       string
}

type head struct {
	Text    string
	Number  bool
	Figure  template.HTML // the marks of an axis
	Tooltip string
}

type row struct {
	Name, Under string // of the row's head: a name, and small below it
	ID, Class   string
	Notes       []noteRef
	Cells       []cell
}

// cell holds lines of text, or a figure.
type cell struct {
	Lines   []string
	Number  bool
	Class   string
	Mark    string
	Notes   []noteRef
	Figure  template.HTML
	Links   []link
	NoBreak bool
}

type link struct{ To, Text string }

func words(lines ...string) cell   { return cell{Lines: lines} }
func numbers(lines ...string) cell { return cell{Lines: lines, Number: true} }

// noteRef is the letter of a note beside a number.
type noteRef struct{ Letter, Text string }

// notes letters what must be said beside numbers, each text once over the page.
type notes struct{ texts []string }

func (n *notes) refs(lists ...[]string) (out []noteRef) {
	var at []int
	for _, t := range slices.Concat(lists...) {
		i := slices.Index(n.texts, t)
		if i < 0 {
			if len(n.texts) >= maxRows {
				continue
			}
			i = len(n.texts)
			n.texts = append(n.texts, t)
		}
		at = append(at, i)
	}
	slices.Sort(at)
	for _, i := range slices.Compact(at) {
		out = append(out, noteRef{letter(i), sentence(n.texts[i])})
	}
	return out
}

func (n *notes) list() (out []noteRef) {
	for i, t := range n.texts {
		out = append(out, noteRef{letter(i), sentence(t)})
	}
	return out
}

// trim keeps a table within bounds and says so.
func (t *table) trim(what string) {
	if n := len(t.Rows); n > maxRows {
		t.Rows = t.Rows[:maxRows]
		t.Left = fmt.Sprintf("The first %d of %s %s are shown; report.json has all.", maxRows, count(n), what)
	}
}

// method names how an interval was made, for the line under a table.
type methods struct{ names []string }

func (m *methods) add(names ...string) {
	for _, s := range names {
		if s != "" && s != "none" && !slices.Contains(m.names, s) && len(m.names) < 50 {
			m.names = append(m.names, s)
		}
	}
}

// estimate prints a number with its interval, and remembers the method.
func (v *view) estimate(e report.Estimate, format string) string {
	s := number(e.Value, format)
	if in := between(e, format); in != "" {
		v.methods.add(e.Method)
		s += " " + in
	}
	return s
}
