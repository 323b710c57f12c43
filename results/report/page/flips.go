package page

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/harnessbench/harnessbench/results/report"
)

// FlipRef names one flip of a summary: where it is, and what it is.
type FlipRef struct {
	Harms bool // of the section of scenarios tagged harms
	Guard bool // among its guards; else among its comparisons
	Index int  // of the contrast in that list
	Flip  report.Flip
}

// Choose picks at most [MaxFlips] flips to be shown with both transcripts: one of
// each contrast in turn, the headline's first, then those that changed most, and of each those that hurt
// first.
func Choose(s *report.Summary) (out []FlipRef) {
	all := flipped(s)
	for round := 0; len(out) < MaxFlips; round++ {
		any := false
		for _, f := range all {
			if round < len(f.c.Flips.Shown) && len(out) < MaxFlips {
				ref := f.ref
				ref.Flip = f.c.Flips.Shown[round]
				out = append(out, ref)
				any = true
			}
		}
		if !any {
			break
		}
	}
	return out
}

type flippedContrast struct {
	ref  FlipRef
	c    *report.Contrast
	head bool
}

// flipped lists the contrasts with flips: the headline's, then by how many.
func flipped(s *report.Summary) (out []flippedContrast) {
	add := func(list []report.Contrast, harms, guard bool) {
		for i := range list {
			c := &list[i]
			if c.Flips.Helped+c.Flips.Hurt > 0 {
				head := !harms && !guard && s.Headline != nil && s.Headline.Comparison == i
				out = append(out, flippedContrast{FlipRef{Harms: harms, Guard: guard, Index: i}, c, head})
			}
		}
	}
	add(s.Main.Comparisons, false, false)
	add(s.Main.Guards, false, true)
	if s.Harms != nil {
		add(s.Harms.Comparisons, true, false)
		add(s.Harms.Guards, true, true)
	}
	slices.SortStableFunc(out, func(a, b flippedContrast) int {
		if a.head != b.head {
			return map[bool]int{true: -1, false: 1}[a.head]
		}
		return cmp.Compare(b.c.Flips.Helped+b.c.Flips.Hurt, a.c.Flips.Helped+a.c.Flips.Hurt)
	})
	return out
}

// flips is the section of repetitions that changed their verdict.
type flips struct {
	Counts table
	Shown  []shownFlip
	Note   string
	Lists  []table // of each contrast, folded
}

type shownFlip struct {
	ID, Title, Verdict, Class string
	A, B                      shownSide
}

type shownSide struct {
	ID, Title, Outcome, Session, Note string
	Text                              string
	Cut                               bool
}

func newFlips(s *report.Summary, with []FlipTranscript) *flips {
	all := flipped(s)
	if len(all) == 0 {
		return nil
	}
	f := &flips{Counts: table{ID: "flips-counts", Caption: "Repetitions that passed in one arm and failed in the other",
		Heads: []head{{Text: "Comparison"}, {Text: "▲ a failed, b passed", Number: true}, {Text: "▼ a passed, b failed", Number: true}}}}
	for i, x := range all {
		title, under := flipTitle(s, x)
		f.Counts.Rows = append(f.Counts.Rows, row{Name: title, Under: under, Cells: []cell{numbers(count(x.c.Flips.Helped)), numbers(count(x.c.Flips.Hurt))}})
		if i < maxColumns && len(x.c.Flips.Shown) > 0 {
			f.Lists = append(f.Lists, flipList(x, i, title+", "+under))
		}
	}
	f.Counts.trim("comparisons")
	for i, t := range with {
		if i >= MaxFlips {
			break
		}
		c := contrastOf(s, t.FlipRef)
		if c == nil {
			continue
		}
		f.Shown = append(f.Shown, showFlip(s, i, flippedContrast{ref: t.FlipRef, c: c}, t))
	}
	if len(f.Shown) > 0 {
		f.Note = fmt.Sprintf("%s with both transcripts: one of each comparison in turn, the comparison with most flips first and, of each, the flips that hurt first. A transcript is cut after %d KiB.",
			plural(len(f.Shown), "flip"), MaxTranscript>>10)
	}
	return f
}

func contrastOf(s *report.Summary, r FlipRef) *report.Contrast {
	sec := &s.Main
	if r.Harms {
		sec = s.Harms
	}
	if sec == nil {
		return nil
	}
	list := sec.Comparisons
	if r.Guard {
		list = sec.Guards
	}
	if r.Index < 0 || r.Index >= len(list) {
		return nil
	}
	return &list[r.Index]
}

func flipTitle(s *report.Summary, x flippedContrast) (title, under string) {
	c := x.c
	title = name(c.Arm) + " (b) against " + name(c.Base) + " (a)"
	if c.Guard != "" {
		title = name(c.Guard) + ": with it (b) against " + withoutWord(c) + " (a)"
	}
	under = "on " + ranOn(s, c)
	if x.ref.Harms {
		under += ", in scenarios tagged harms"
	}
	return title, under
}

func flipList(x flippedContrast, i int, title string) table {
	t := table{ID: fmt.Sprintf("flips-%d", i), Caption: title,
		Heads: []head{{Text: "Scenario"}, {Text: "Repetition", Number: true}, {Text: "Change"}, {Text: "a ended"}, {Text: "b ended"}, {Text: "Sessions, a and b"}}}
	for _, f := range x.c.Flips.Shown {
		t.Rows = append(t.Rows, row{Name: name(f.Scenario), Cells: []cell{numbers(fmt.Sprint(f.Repetition)), words(change(f)),
			words(ended(f.OutcomeA, f.FiredA, true)), words(ended(f.OutcomeB, f.FiredB, false)), {Lines: []string{sentence(f.SessionA), sentence(f.SessionB)}, Class: "path"}}})
	}
	t.trim("flips")
	if n := x.c.Flips.Helped + x.c.Flips.Hurt; n > len(x.c.Flips.Shown) {
		t.Left = fmt.Sprintf("%d of %s are listed, those that hurt first.", len(x.c.Flips.Shown), plural(n, "flip"))
	}
	return t
}

func change(f report.Flip) string {
	if f.Helped {
		return "▲ a failed, b passed"
	}
	return "▼ a passed, b failed"
}

func ended(outcome string, fired, shadow bool) string {
	s := name(outcome)
	if fired && shadow {
		s += ", the guard would have acted"
	} else if fired {
		s += ", the guard acted"
	}
	return s
}

func showFlip(s *report.Summary, i int, x flippedContrast, t FlipTranscript) shownFlip {
	title, under := flipTitle(s, x)
	f := shownFlip{ID: fmt.Sprintf("flip-%d", i), Title: title + " " + under, Verdict: change(t.Flip), Class: "up"}
	if !t.Flip.Helped {
		f.Class = "down"
	}
	f.Title = fmt.Sprintf("%s, repetition %d: %s", name(t.Flip.Scenario), t.Flip.Repetition, f.Title)
	base, model := x.c.Base, x.c.Model
	if x.c.BaseModel != "" {
		model = x.c.BaseModel
	}
	verdicts := [2]string{"passed", "failed"}
	if t.Flip.Helped {
		verdicts = [2]string{"failed", "passed"}
	}
	f.A = newSide(f.ID+"-a", "a: "+name(base)+" on "+modelName(model, simulated(s, model))+" "+verdicts[0], ended(t.Flip.OutcomeA, t.Flip.FiredA, true), t.Flip.SessionA, t.A)
	f.B = newSide(f.ID+"-b", "b: "+name(x.c.Arm)+" on "+modelName(x.c.Model, simulated(s, x.c.Model))+" "+verdicts[1], ended(t.Flip.OutcomeB, t.Flip.FiredB, false), t.Flip.SessionB, t.B)
	return f
}

// newSide keeps a transcript within its bound, whatever the caller gave.
func newSide(id, title, outcome, session string, t Transcript) shownSide {
	out := shownSide{ID: id, Title: title, Outcome: outcome, Session: sentence(session), Note: sentence(t.Note), Cut: t.Cut}
	var b []byte
	for _, l := range t.Lines {
		l = clean(l, MaxTranscript)
		if len(b)+len(l)+1 > MaxTranscript {
			out.Cut = true
			break
		}
		b = append(append(b, l...), '\n')
	}
	out.Text = string(b)
	return out
}
