package page

import (
	"cmp"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/results/report"
)

// answer is the page's first part: what each guard did, in words.
type answer struct {
	Short  string   // one sentence
	Models []string // columns of the table at a glance
	Rows   []glance
	Cards  []card
	Left   int // guards that were left out
}

// glance is one guard over all models.
type glance struct {
	Guard, What string
	Cells       []glanceCell
}

type glanceCell struct {
	Mark, Word, Class string
	More              string // the effect, and the cost where it is clear
	Harm              string // what it did in scenarios tagged harms
}

// card lists the guards of one answer.
type card struct {
	Title, Rule, Class, Empty string
	Guards                    []cardGuard
}

type cardGuard struct {
	Guard string
	Lines []string
}

// said is one guard with all of its contrasts.
type said struct {
	guard       string
	main, harms []*report.Contrast
}

// byGuard groups contrasts by guard: those that did most first.
func byGuard(s *report.Summary) []*said {
	var out []*said
	at := map[string]*said{}
	get := func(guard string) *said {
		if at[guard] == nil {
			at[guard] = &said{guard: guard}
			out = append(out, at[guard])
		}
		return at[guard]
	}
	for i := range s.Main.Guards {
		g := get(s.Main.Guards[i].Guard)
		g.main = append(g.main, &s.Main.Guards[i])
	}
	if s.Harms != nil {
		for i := range s.Harms.Guards {
			g := get(s.Harms.Guards[i].Guard)
			g.harms = append(g.harms, &s.Harms.Guards[i])
		}
	}
	slices.SortStableFunc(out, func(a, b *said) int {
		return cmp.Or(cmp.Compare(b.weight(), a.weight()), cmp.Compare(a.guard, b.guard))
	})
	return out
}

// arms says what is compared where the guard's name is one that [report.Summary.Named] gave.
func (g *said) arms() string {
	for _, c := range slices.Concat(g.main, g.harms) {
		return "the arm " + c.Arm + " against " + c.Base
	}
	return ""
}

// weight sorts guards: the largest effect of any model first, never measured last.
func (g *said) weight() float64 {
	w := -2.0
	for _, c := range g.main {
		if e, _ := primary(c); c.Measured && e.Value != nil {
			w = max(w, *e.Value)
		}
	}
	return w
}

func newAnswer(s *report.Summary, what map[string]string) *answer {
	guards := byGuard(s)
	if len(guards) == 0 {
		return nil
	}
	a := &answer{}
	if len(guards) > maxRows {
		a.Left, guards = len(guards)-maxRows, guards[:maxRows]
	}
	for _, g := range guards {
		a.Rows = append(a.Rows, glance{Guard: name(g.guard), What: sentence(cmp.Or(what[g.guard], g.arms()))})
	}
	for _, m := range s.Models {
		if slices.ContainsFunc(guards, func(g *said) bool { return on(g.main, m.Model) != nil || on(g.harms, m.Model) != nil }) {
			a.Models = append(a.Models, modelName(m.Model, m.Simulated))
			for i, g := range guards {
				a.Rows[i].Cells = append(a.Rows[i].Cells, look(on(g.main, m.Model), on(g.harms, m.Model)))
			}
		}
	}
	a.Cards = cards(guards)
	a.Short = short(guards, a.Cards)
	return a
}

// on finds the first contrast on a model.
func on(list []*report.Contrast, model string) *report.Contrast {
	i := slices.IndexFunc(list, func(c *report.Contrast) bool { return c.Model == model })
	if i < 0 {
		return nil
	}
	return list[i]
}

func look(c, harms *report.Contrast) glanceCell {
	cell := glanceCell{Mark: dash, Word: "not compared", Class: "none"}
	if c != nil {
		st := states[judge(c)]
		cell = glanceCell{Mark: st.Mark, Word: st.Word, Class: st.Class}
		if e, _ := primary(c); e.Value != nil && c.Measured {
			cell.More = diff(e.Value)
		}
		if p := judgePrice(c); c.Measured && (p == dearer || p == cheaper) {
			cell.More += ", " + prices[p] + " " + factor(c.CostRatio.Estimate.Value)
		}
	}
	if harms != nil && harms.Measured {
		if e, _ := primary(harms); e.Value != nil && *e.Value < 0 {
			cell.Harm = states[judge(harms)].Mark + " " + diff(e.Value) + " in scenarios tagged harms"
		}
	}
	return cell
}

// The answers, in the order of the page.
const (
	cardHelped = iota
	cardCost
	cardLeans
	cardUnclear
	cardUnmeasured
	cardCount
)

// cards sorts guards into answers. A guard may stand in more than one: it can
// help and cost, and do one thing on one model and another elsewhere.
func cards(guards []*said) []card {
	out := []card{
		{Title: "▲ Helped", Class: "up", Rule: "Pass rate up where it fired: the 95 % interval lies above 0 and the adjusted p is below 0.05.", Empty: "No guard, with certainty."},
		{Title: "▼ Cost something", Class: "down", Rule: "Pass rate down by the same rule, or a trial dearer: the 95 % interval of the cost ratio lies above 1.", Empty: "No guard, with certainty."},
		{Title: "△▽ Leans one way, not certain", Class: "flat", Rule: "The interval excludes 0, but after adjustment for all comparisons p is not below 0.05, or the other way round. More repetitions could settle it.", Empty: "No guard."},
		{Title: "≈ No clear effect", Class: "flat", Rule: "It fired, and the data cannot tell its effect on the pass rate from none. That is no proof of no effect, unless it says so.", Empty: "No guard."},
		{Title: "∅ Not measured", Class: "none", Rule: "It never fired in a trial that can be compared, so nothing is known of it: neither good nor bad.", Empty: "Every guard fired."},
	}
	for _, g := range guards {
		var lines [cardCount][]string
		var silent []string
		for _, c := range g.main {
			if judge(c) == unmeasured {
				silent = append(silent, modelName(c.Model, c.Simulated))
				continue
			}
			sortLine(c, "on ", "", &lines)
		}
		for _, c := range g.harms {
			if c.Measured {
				sortLine(c, "on ", inHarms, &lines)
			}
		}
		if len(silent) > 0 {
			lines[cardUnmeasured] = []string{"on " + list(silent)}
		}
		for i, l := range lines {
			if len(l) > 0 {
				out[i].Guards = append(out[i].Guards, cardGuard{Guard: name(g.guard), Lines: l})
			}
		}
	}
	return out
}

const inHarms = ", in scenarios tagged harms"

// sortLine puts one contrast's line where it belongs.
func sortLine(c *report.Contrast, before, after string, lines *[cardCount][]string) {
	at := before + modelName(c.Model, c.Simulated) + after + ": "
	put := func(i int, text string) { lines[i] = append(lines[i], at+text) }
	st, p := judge(c), judgePrice(c)
	text := effectWords(c)
	if p == dearer || p == cheaper {
		text += "; " + prices[p] + ": " + priceWords(c)
	}
	switch st {
	case helped:
		put(cardHelped, text)
	case hurt:
		put(cardCost, text)
	case leansUp, leansDown:
		put(cardLeans, map[state]string{leansUp: "△ up: ", leansDown: "▽ down: "}[st]+text)
	case same:
		put(cardUnclear, states[same].Word+": "+text)
	default:
		put(cardUnclear, text)
	}
	if p == dearer && st != hurt {
		put(cardCost, "dearer: "+priceWords(c))
	}
}

// short says the cards in one sentence. Not measured are here those guards alone
// that fired on no model.
func short(guards []*said, all []card) string {
	names := func(i int) []string {
		var out []string
		for _, g := range all[i].Guards {
			out = append(out, g.Guard)
		}
		return out
	}
	clause := func(who []string, none, some string) string {
		if len(who) == 0 {
			return none
		}
		return list(who) + some
	}
	var silent []string
	for _, g := range guards {
		if len(g.main) > 0 && !slices.ContainsFunc(g.main, func(c *report.Contrast) bool { return c.Measured }) {
			silent = append(silent, name(g.guard))
		}
	}
	cost := names(cardCost)
	for i, who := range cost {
		if !slices.ContainsFunc(all[cardCost].Guards[i].Lines, func(l string) bool { return !strings.Contains(l, inHarms) }) {
			cost[i] = who + " (in scenarios tagged harms)"
		}
	}
	down := leaning(guards)
	leans := ""
	if len(down) > 0 {
		leans = "; " + list(down) + ", which is not certain"
	}
	if len(down) > 0 && len(all[cardCost].Guards) == 0 {
		all[cardCost].Empty += " But " + list(down) + ", see below: that is not certain."
	}
	return "In short: " + clause(names(cardHelped), "no guard helped with certainty", " helped") +
		"; " + clause(cost, "none is sure to have cost anything", " cost something") +
		leans +
		"; " + clause(silent, "every guard fired on some model", " fired on no model, so nothing is known of what they do") + "."
}

// leaning names the guards whose effect leans down, and where, as clauses.
func leaning(guards []*said) (out []string) {
	for _, g := range guards {
		down := func(c *report.Contrast) bool { return judge(c) == leansDown }
		switch {
		case slices.ContainsFunc(g.main, down):
			out = append(out, name(g.guard)+" leans down")
		case slices.ContainsFunc(g.harms, down):
			out = append(out, name(g.guard)+" leans down in scenarios tagged harms")
		}
	}
	return out
}
