package transcript

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/loop/event"
)

// marks of statuses in the table
var marks = map[Status]string{Same: "=", Differs: "≠", OnlyA: "A", OnlyB: "B", Neither: "·"}

// maxSetup bounds how many differences of the headers are printed.
const maxSetup = 12

// WriteText prints a comparison for people.
func (c *Comparison) WriteText(w io.Writer, width int, color bool) error {
	p := newPrinter(w, width, color)
	p.text(block{first: p.paint(bold, "A") + "  ", rest: "   "}, safeLine(c.A))
	p.text(block{first: p.paint(bold, "B") + "  ", rest: "   "}, safeLine(c.B))
	if c.Equal {
		p.gap()
		p.line(p.paint(green, "equal") + ": " + count(c.End[0].Turns, "turn") + ", " + ending(c.End[0]))
		return p.w.Flush()
	}
	c.printSetup(p)
	p.gap()
	c.printTurns(p)
	c.printFirst(p)
	p.gap()
	if c.IDs == Differs {
		if c.First == nil {
			p.line("Only the ids of calls differ.")
		} else {
			p.line(p.paint(dim, "ids of calls differ too; they are left out above"))
		}
	}
	a, b := ending(c.End[0]), ending(c.End[1])
	if a == b {
		p.line("outcome  both " + a)
	} else {
		p.line(fmt.Sprintf("outcome  A %s; B %s", a, b))
	}
	return p.w.Flush()
}

func ending(e Ending) string {
	if e.Reason == "" {
		return fmt.Sprintf("unfinished after %s", count(e.Turns, "turn"))
	}
	return fmt.Sprintf("%s after %s", safeLine(e.Reason), count(e.Turns, "turn"))
}

func (c *Comparison) printSetup(p *printer) {
	if len(c.Setup) == 0 {
		return
	}
	p.gap()
	p.line(p.paint(bold, "setup"))
	for i, ch := range c.Setup {
		if i == maxSetup {
			p.line(p.paint(dim, fmt.Sprintf("  … %s (--json lists all)", count(len(c.Setup)-i, "more difference"))))
			break
		}
		p.text(block{first: "  " + safeLine(ch.Pointer) + "  ", rest: "      "}, missing(ch.A)+" → "+missing(ch.B))
	}
}

// missing is a value for people, or that there is none.
func missing(v string) string {
	if v == "" {
		return "(none)"
	}
	return safeLine(clip(v, 80))
}

// printTurns prints one row for each run of turns that compare alike.
func (c *Comparison) printTurns(p *printer) {
	head := fmt.Sprintf("%-12s", "turn")
	for _, name := range aspects {
		head += name + "  "
	}
	p.line(p.paint(bold, strings.TrimRight(head, " ")))
	for i := 0; i < len(c.Turns); {
		j := i + 1
		for j < len(c.Turns) && follows(&c.Turns[j-1], &c.Turns[j]) {
			j++
		}
		p.line(c.row(p, i, j-1))
		i = j
	}
	legend := "= equal  ≠ different  A B only there  · in neither"
	if slices.ContainsFunc(c.Turns, func(t TurnStatus) bool { return shift(&t) != 0 }) {
		legend += "  (+n) the number is n more in B"
	}
	p.line(p.paint(dim, legend))
}

// follows reports whether a turn is told in one row with the one before.
func follows(a, b *TurnStatus) bool {
	return a.Lane == b.Lane && a.Turn() > 0 && b.Turn() == a.Turn()+1 && b.Status == a.Status && shift(a) == shift(b) &&
		(a.A == None) == (b.A == None) && (a.B == None) == (b.B == None)
}

// shift is how much higher a turn's number is in B.
func shift(t *TurnStatus) int {
	if t.A == None || t.B == None {
		return 0
	}
	return t.B - t.A
}

func (c *Comparison) row(p *printer, from, to int) string {
	t := &c.Turns[from]
	name := fmt.Sprint(t.Turn())
	switch {
	case t.Turn() == 0:
		name = "opening"
	case to > from:
		name = fmt.Sprintf("%d to %d", t.Turn(), c.Turns[to].Turn())
	}
	if n := shift(t); n != 0 {
		name += fmt.Sprintf(" (%+d)", n)
	}
	if t.Lane != event.MainLane {
		name = clip(safeLine(t.Lane), 8) + " " + name
	}
	out := name + strings.Repeat(" ", max(1, 12-textWidth(name)))
	for i, aspect := range aspects {
		status := t.Status[i]
		look := plain
		switch status {
		case Same:
			look = green
		case Neither:
			look = dim
		case Differs, OnlyA, OnlyB:
			look = red
		}
		out += p.paint(look, marks[status]) + strings.Repeat(" ", len(aspect)+1)
	}
	return out
}

func (c *Comparison) printFirst(p *printer) {
	d := c.First
	if d == nil {
		return
	}
	p.gap()
	where := "the opening"
	if d.Turn > 0 {
		where = fmt.Sprintf("turn %d", d.Turn)
		if d.TurnB != None && d.TurnB != d.Turn {
			where += fmt.Sprintf(" (%d in B)", d.TurnB)
		}
	}
	if d.Lane != event.MainLane {
		where += " of lane " + safeLine(d.Lane)
	}
	what := fmt.Sprintf("%s, field %q of %s", d.Aspect, d.Field, d.Type)
	if d.Field == "" {
		side := "A"
		if d.LineA == 0 {
			side = "B"
		}
		what = fmt.Sprintf("%s, only %s has this %s", d.Aspect, side, d.Type)
	}
	p.line(p.paint(bold, "first difference") + " in " + where + ": " + safeLine(what))
	for _, s := range []struct {
		name string
		line int
		text string
		look style
	}{{"A", d.LineA, d.A, red}, {"B", d.LineB, d.B, green}} {
		if s.line == 0 {
			continue
		}
		text := s.text
		if text == "" {
			text = "(left out)"
		}
		p.text(block{first: fmt.Sprintf("  %s line %-4d ", s.name, s.line), rest: "              ", style: s.look}, safeLine(text))
	}
}

// Summary says in a few lines what a comparison found: the setup's differences,
// the first one in the conversation, and the ends.
func (c *Comparison) Summary() (out []string) {
	row := func(name, text string) { out = append(out, fmt.Sprintf("%-9s %s", name, text)) }
	for i, ch := range c.Setup {
		if i == 3 {
			row("setup", fmt.Sprintf("%d more", len(c.Setup)-i))
			break
		}
		row("setup", safeLine(ch.Pointer)+"  "+missing(ch.A)+" → "+missing(ch.B))
	}
	if d := c.First; d != nil {
		where := "the opening"
		if d.Turn > 0 {
			where = fmt.Sprintf("turn %d", d.Turn)
		}
		if d.Lane != event.MainLane {
			where += " of lane " + safeLine(d.Lane)
		}
		what := d.Aspect + ", " + d.Type
		if d.Field != "" {
			what += " " + d.Field + ": " + missing(d.A) + " → " + missing(d.B)
		}
		row("first", where+": "+safeLine(what))
	}
	if a, b := ending(c.End[0]), ending(c.End[1]); a != b {
		row("outcome", a+" → "+b)
	}
	return out
}

// Equal reports whether nothing of a turn differs.
func (t *TurnStatus) Equal() bool {
	for _, s := range t.Status {
		if s != Same && s != Neither {
			return false
		}
	}
	return true
}
