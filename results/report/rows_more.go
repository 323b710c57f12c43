package report

import (
	"fmt"
	"strings"
)

// effectTable is the table of the effects of a factorial design, in the design's order.
func effectTable(p *printer, sec *Section) table {
	t := table{block: "model", heads: []string{"effect", "high - low", "aliases", "notes"}, left: 1, ends: true, spare: []string{"aliases"}}
	for _, f := range sec.Factorials {
		for i := range f.Effects {
			e := &f.Effects[i]
			aliases := "-"
			if n := len(e.Aliases); n > 0 {
				aliases = strings.Join(e.Aliases[:min(n, fewAliases)], ", ")
				if n > fewAliases {
					aliases += fmt.Sprintf(" + %d", n-fewAliases)
				}
			}
			var notes []string
			for _, w := range append(append([]string{}, e.Estimate.Warnings...), e.Test.Warnings...) {
				notes = append(notes, "effect: "+w)
			}
			if e.mainAlias() {
				notes = append(notes, "this interaction cannot be told from the effect of one factor alone")
			}
			t.add(p.model(f.Model, f.Simulated), []string{p.safe(e.Name, 2*maxName), p.tested(e.Estimate, e.Test), p.safe(aliases, 2*maxName), p.note(notes...)})
		}
	}
	return t
}

// fewAliases is how many aliases of an effect a table names: the short ones come first.
const fewAliases = 2

func (p *printer) factorials(s *Summary) {
	for _, x := range []struct {
		sec    *Section
		suffix string
	}{{&s.Main, ""}, {s.Harms, ", in scenarios tagged harms"}} {
		if x.sec == nil || len(x.sec.Factorials) == 0 {
			continue
		}
		p.table("Factors: main effects and interactions of two"+x.suffix, effectTable(p, x.sec))
		for _, f := range x.sec.Factorials {
			for _, n := range f.Notes {
				p.item("-", p.model(f.Model, f.Simulated)+": "+p.text(n))
			}
		}
		p.end()
	}
}

// flipTable counts the repetitions that changed their verdict and names the first.
func flipTable(p *printer, sec *Section) table {
	t := table{block: "model", heads: []string{"comparison b - a", "hurt", "helped", "first that hurt", "first that helped"}, left: 1, spare: []string{"first that helped"}}
	for _, list := range [][]Contrast{sec.Comparisons, sec.Guards} {
		for i := range list {
			c := &list[i]
			if c.Flips.Helped+c.Flips.Hurt == 0 {
				continue
			}
			name := p.safe(c.Guard, 2*maxName)
			if name == "" {
				name = p.safe(c.Arm, maxName) + " - " + p.safe(c.Base, maxName)
			}
			t.add(p.models(c), []string{name, fmt.Sprint(c.Flips.Hurt), fmt.Sprint(c.Flips.Helped), p.firstFlip(c, false), p.firstFlip(c, true)})
		}
	}
	return t
}

func (p *printer) firstFlip(c *Contrast, helped bool) string {
	for _, f := range c.Flips.Shown {
		if f.Helped == helped {
			return fmt.Sprintf("%s #%d", p.safe(f.Scenario, maxName), f.Repetition)
		}
	}
	return "-"
}

// gates lists the gates, as the suite has them: a reason is the whole sentence.
func (p *printer) gates(s *Summary) {
	if len(s.Gates) == 0 {
		return
	}
	p.title(2, "Gates")
	for _, g := range s.Gates {
		line := g.Verdict
		switch g.Verdict {
		case GatePass:
			line = p.paint.wrap("32", "pass")
		case GateFail:
			line = p.paint.wrap("31", "FAIL")
		}
		p.item("-", line+": "+p.safe(g.Reason, maxReason))
	}
	p.end()
}
