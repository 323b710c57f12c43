package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// TextOptions says how to print.
type TextOptions struct {
	Color bool // ANSI colours; leave false off a terminal
	// All also prints what a first look does not need: the pass rates of harms
	// scenarios, and how the trials of each arm ended.
	All bool
}

// width is the number of columns that the text fits into.
const width = 120

// WriteText writes the summary for a terminal of 120 columns: first what each
// comparison and guard did, then the arms, then what the columns mean and what
// must be said beside the numbers.
func (s *Summary) WriteText(w io.Writer, o TextOptions) error {
	var b bytes.Buffer
	p := &printer{out: &b, paint: painter{on: o.Color}}
	p.document(s, o.All)
	_, err := w.Write(b.Bytes())
	return err
}

// WriteMarkdown writes the whole summary as Markdown. Texts from rows are
// escaped: they cannot make markup.
func (s *Summary) WriteMarkdown(w io.Writer) error {
	var b bytes.Buffer
	p := &printer{out: &b, markdown: true}
	p.document(s, true)
	_, err := w.Write(b.Bytes())
	return err
}

// printer lays out one report. Notes are lettered in order of appearance, over
// all tables, and explained once at the end.
type printer struct {
	out      *bytes.Buffer
	markdown bool
	paint    painter
	notes    []string
	methods  []string // interval methods that the tables name
}

func (p *printer) document(s *Summary, all bool) {
	p.head(s)
	if len(s.Main.Comparisons) > 0 {
		p.table("The harness as a whole", wholeTable(p, &s.Main))
	}
	p.guards("What each guard does", &s.Main, true)
	if s.Harms != nil {
		p.guards("Where a guard hurts: scenarios tagged harms, never pooled with the others", s.Harms, false)
	}
	p.table("Every arm", armTable(p, &s.Main))
	if all {
		if s.Harms != nil {
			if len(s.Harms.Comparisons) > 0 {
				p.table("The harness as a whole, in scenarios tagged harms", wholeTable(p, s.Harms))
			}
			p.table("Every arm, in scenarios tagged harms", armTable(p, s.Harms))
		}
		p.table("How trials ended", outcomeTable(p, &s.Main))
		if s.Harms != nil {
			p.table("How trials ended, in scenarios tagged harms", outcomeTable(p, s.Harms))
		}
	}
	p.errors(s)
	p.legend(s)
}

// head says what was run, and first of all whether it was real.
func (p *printer) head(s *Summary) {
	scenarios := plural(len(s.Main.Scenarios), "scenario")
	if s.Harms != nil {
		scenarios += fmt.Sprintf(" + %d tagged harms", len(s.Harms.Scenarios))
	}
	line := fmt.Sprintf("%s x %s x %s x %s = %s",
		scenarios, plural(len(s.Models), "model"), plural(len(s.Arms), "arm"), plural(s.Repetitions, "repetition"), plural(s.Trials, "trial"))
	if s.Errored > 0 {
		line += fmt.Sprintf(", %s errored", thousands(int64(s.Errored)))
	}
	p.title(1, p.safe(s.Suite, maxModel))
	p.para(line + fmt.Sprintf(". Seed %d, run %s.", s.Seed, p.text(s.RunID)))
	var real, simulated []string
	for _, m := range s.Models {
		if m.Simulated {
			simulated = append(simulated, p.text(m.Model))
		} else {
			real = append(real, p.text(m.Model))
		}
	}
	switch {
	case len(simulated) > 0 && len(real) == 0:
		p.para("All models are simulated, with fictitious prices: the numbers show what the harness does, and say nothing about real models.")
	case len(simulated) > 0:
		p.para("Simulated, with fictitious prices: " + strings.Join(simulated, ", ") + ". Their numbers say nothing about real models.")
	}
	if s.Volatile > 0 {
		p.para(fmt.Sprintf("%s of scenarios that are marked volatile: another run may differ there.", plural(s.Volatile, "trial")))
	}
}

// guards prints the guards of one section. Guards that never fired are rows in
// the main section (they are part of the answer) and a line elsewhere.
func (p *printer) guards(title string, sec *Section, silentRows bool) {
	if len(sec.Guards) == 0 {
		return
	}
	t, silent := guardTable(p, sec, silentRows)
	if len(t.blocks) == 0 {
		p.title(2, title)
	} else {
		p.table(title, t)
	}
	for _, line := range silent {
		p.para(line)
	}
}

func (p *printer) errors(s *Summary) {
	if len(s.Errors) == 0 {
		return
	}
	p.title(2, "Errored trials (in no denominator)")
	for _, e := range s.Errors {
		line := fmt.Sprintf("%s: %s", p.text(e.Class), plural(e.Trials, "trial"))
		if e.Example != "" {
			line += ", for example: " + p.text(e.Example)
		}
		p.item("-", line)
	}
}

// legend explains columns and letters, each once.
func (p *printer) legend(s *Summary) {
	p.title(2, "How to read this")
	guards := len(s.Main.Guards) > 0 || s.Harms != nil && len(s.Harms.Guards) > 0
	if guards {
		p.item("-", "where it fired: difference in pass rate, guard enforced minus the same arm with it in shadow, among the trials in which it fired. "+
			"Each trial counts by its own first firing, real or in shadow; scenarios are weighted n_a n_b/(n_a+n_b) and taken as fixed. No interval is computed for it yet.")
		p.item("-", "in shadow, enforced: graded trials in which it fired, in the base (a) and in the arm (b). A guard that never fired was not measured.")
	}
	if guards || len(s.Main.Comparisons) > 0 {
		p.item("-", "over all: difference in pass rate over all scenarios, paired by repetition. ~ means that the interval includes 0.")
	}
	p.item("-", "pass rate: mean over scenarios of the mean over repetitions, in [95 % interval]. pass^k: chance that k trials of k pass. USD/pass: cost of all trials / passes; inf: nothing passed; ?: a price is unknown.")
	if slices.ContainsFunc(slices.Concat(s.Main.Guards, s.Main.Comparisons), func(c Contrast) bool { return slices.Contains(c.Notes, NoteCache) }) {
		p.item("-", NoteCache+".")
	}
	if len(p.methods) > 0 {
		var codes []string
		for _, m := range p.methods {
			codes = append(codes, methodCode(m)+" "+m)
		}
		p.item("-", "after an interval, its method: "+strings.Join(codes, "; ")+".")
	}
	for i, n := range p.notes {
		p.item(letter(i), n)
	}
	for _, n := range s.Notes {
		p.item("-", p.text(n))
	}
}

// note returns the letters of the given notes, in alphabetical order.
func (p *printer) note(texts ...string) string {
	var at []int
	for _, t := range texts {
		i := slices.Index(p.notes, t)
		if i < 0 {
			i = len(p.notes)
			p.notes = append(p.notes, t)
		}
		at = append(at, i)
	}
	slices.Sort(at)
	var out []string
	for _, i := range slices.Compact(at) {
		out = append(out, letter(i))
	}
	return strings.Join(out, " ")
}

// method returns the short code of an interval's method and remembers that the
// legend must explain it.
func (p *printer) method(m string) string {
	if code := methodCode(m); code != "" {
		if !slices.Contains(p.methods, m) {
			p.methods = append(p.methods, m)
		}
		return code
	}
	return ""
}

func (p *printer) title(level int, text string) {
	switch {
	case p.markdown:
		fmt.Fprintf(p.out, "%s %s\n\n", strings.Repeat("#", level), text)
	case level == 1:
		fmt.Fprintf(p.out, "%s\n", p.paint.bold(text))
	default:
		fmt.Fprintf(p.out, "\n%s\n", p.paint.bold(text))
	}
}

func (p *printer) para(text string) {
	if p.markdown {
		fmt.Fprintf(p.out, "%s\n\n", text)
		return
	}
	wrap(p.out, "", "", text)
}

func (p *printer) item(mark, text string) {
	switch {
	case p.markdown && mark == "-":
		fmt.Fprintf(p.out, "- %s\n", text)
	case p.markdown:
		fmt.Fprintf(p.out, "- **%s** %s\n", mark, text)
	default:
		wrap(p.out, fmt.Sprintf("  %-2s ", mark), "     ", text)
	}
}
