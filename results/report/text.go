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

// MaxMarkdown is the number of bytes that the Markdown report stays under: what
// a comment on a pull request may hold is 65,536 characters.
const MaxMarkdown = 65_000

// WriteMarkdown writes the summary as Markdown that fits a comment on a pull
// request: what was found first, the rest folded. What does not fit is left out,
// and it says so; report.json has everything. Texts from rows are escaped: they
// cannot make markup.
func (s *Summary) WriteMarkdown(w io.Writer) error {
	var b bytes.Buffer
	p := &printer{out: &b, markdown: true, limit: MaxMarkdown}
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
	limit    int // bytes of the page; 0 = no limit
	names    int // characters of a name that are shown; 0 = the usual
	notes    []string
	methods  []string // interval methods that the tables name
	dropped  bool     // something did not fit
	folding  string   // summary of the fold that is open: it needs no title again
	rates    bool     // pass rates were printed
}

// fewArms is the number of rows that a table for a first look may have when it
// is not what the suite asked for.
const fewArms = 8

func (p *printer) document(s *Summary, all bool) {
	s = s.Named()
	p.names = distinct(s.Arms)
	p.rates = all || len(s.Firing) == 0
	p.head(s)
	p.firing(s)
	if len(s.Main.Comparisons) > 0 {
		p.table("The harness as a whole", wholeTable(p, &s.Main))
	}
	p.guards("What each guard does", &s.Main, true)
	if s.Harms != nil {
		p.guards("Where a guard hurts: scenarios tagged harms, never pooled with the others", s.Harms, false)
	}
	p.factorials(s)
	p.gates(s)
	p.missing(s)
	if len(s.Main.Comparisons)+len(s.Main.Guards)+len(s.Firing) == 0 {
		p.table("Every arm", armTable(p, &s.Main))
	} else if all || len(s.Firing) == 0 {
		p.folded("Every arm", func() { p.table("Every arm", armTable(p, &s.Main)) })
	}
	if all || len(s.Main.Arms) <= fewArms && len(s.Firing) == 0 {
		p.folded("Rates, repetitions and time", func() { p.detail("", &s.Main) })
	}
	if all {
		if s.Harms != nil {
			p.folded("Scenarios tagged harms", func() { p.harms(s.Harms) })
		}
		p.flips(s)
		p.folded("How trials ended", func() { p.outcomes(s) })
	}
	p.folded("How to read this", func() { p.legend(s) })
	if p.dropped {
		fmt.Fprintf(p.out, "\nThis page was cut to fit a comment; report.json has everything.\n")
	}
}

// detail prints what is known of each arm beside its rate.
func (p *printer) detail(suffix string, sec *Section) {
	p.table("Trials and pass rate"+suffix, rateTable(p, sec))
	if t := kTable(p, sec); len(t.heads) > 1 {
		p.table("Of k trials"+suffix, t)
	}
	p.table("What a pass costs"+suffix, costTable(p, sec))
	p.table("Where the time went"+suffix, timeTable(p, sec))
}

func (p *printer) harms(sec *Section) {
	const suffix = ", in scenarios tagged harms"
	if len(sec.Comparisons) > 0 {
		p.table("The harness as a whole"+suffix, wholeTable(p, sec))
	}
	p.table("Every arm"+suffix, armTable(p, sec))
	p.detail(suffix, sec)
}

// flips counts what changed between the arms of each comparison.
func (p *printer) flips(s *Summary) {
	const title = "Flips: what passed in one arm and failed in the other"
	main := flipTable(p, &s.Main)
	var harms table
	if s.Harms != nil {
		harms = flipTable(p, s.Harms)
	}
	if len(main.blocks)+len(harms.blocks) == 0 {
		return
	}
	p.folded(title, func() {
		if len(main.blocks) > 0 {
			p.table(title, main)
		}
		if len(harms.blocks) > 0 {
			p.table(title+", in scenarios tagged harms", harms)
		}
	})
}

func (p *printer) outcomes(s *Summary) {
	p.table("How trials ended", outcomeTable(p, &s.Main))
	if s.Harms != nil {
		p.table("How trials ended, in scenarios tagged harms", outcomeTable(p, s.Harms))
	}
}

// head says what was run, and first of all whether it was real.
func (p *printer) head(s *Summary) {
	scenarios := plural(len(s.Main.Scenarios), "scenario")
	if s.Harms != nil {
		scenarios += fmt.Sprintf(" + %d tagged harms", len(s.Harms.Scenarios))
	}
	ids := len(s.Main.Scenarios)
	if s.Harms != nil {
		ids += len(s.Harms.Scenarios)
	}
	// Arms that run on some models or scenarios only, and blocks that were cut, make fewer.
	sign := " ="
	if ids*len(s.Models)*len(s.Arms)*s.Repetitions != s.Trials {
		sign = ":"
	}
	line := fmt.Sprintf("%s x %s x %s x %s%s %s",
		scenarios, plural(len(s.Models), "model"), plural(len(s.Arms), "arm"), plural(s.Repetitions, "repetition"), sign, plural(s.Trials, "trial"))
	if s.Errored > 0 {
		line += fmt.Sprintf(", %s errored", thousands(int64(s.Errored)))
	}
	if n := s.Ungraded - s.Errored; n > 0 {
		line += fmt.Sprintf(", %s ungraded", thousands(int64(n)))
	}
	if s.CutTrials > 0 {
		line += fmt.Sprintf(", %s cut", thousands(int64(s.CutTrials)))
	}
	p.title(1, p.safe(s.Suite, maxModel))
	if s.Headline != nil {
		p.para(p.safe(s.Headline.Text, maxHeadline))
	}
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

// maxHeadline bounds the headline, which names arms and models.
const maxHeadline = 1000

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

// missing says which trials have no verdict, and why.
func (p *printer) missing(s *Summary) {
	if len(s.Errors) > 0 {
		p.title(2, "Errored trials (in no denominator)")
		for _, e := range s.Errors {
			line := fmt.Sprintf("%s: %s", p.text(e.Class), plural(e.Trials, "trial"))
			if e.Example != "" {
				line += ", for example: " + p.text(e.Example)
			}
			p.item("-", line)
		}
		p.end()
	}
	if len(s.Cut) > 0 {
		p.title(2, "Cut: planned and not run, in all arms alike")
		for _, c := range s.Cut {
			p.item("-", fmt.Sprintf("%s: %s (%s) of %s: %s", p.text(c.Model), plural(c.Blocks, "block"), plural(c.Trials, "trial"), plural(c.Scenarios, "scenario"), p.text(c.Reason)))
		}
		p.end()
	}
}

// legend explains columns and letters, each once.
func (p *printer) legend(s *Summary) {
	p.title(2, "How to read this")
	p.legendOfComparisons(s)
	if len(s.Firing) > 0 {
		p.item("-", "traps: scenarios that stress the guard, with the model that falls into them; it has to fire in one of its arms at least. controls: scenarios in which it must not fire, with a perfect, a weak, a strong and that trapped model. Trials that errored are left out.")
	}
	if p.rates {
		p.item("-", "pass rate: mean over scenarios of the mean over repetitions, in [95 % interval]. pass^k: chance that k trials of k pass. pass@k: that one of k does. USD/pass: cost of all trials / passes; inf: nothing passed; ?: a price, a count or a time is unknown; its interval is Fieller's over scenarios. frontier: * no arm of any model is as good in cost per trial and pass rate and better in one, and in what share of bootstrap draws of scenarios that is so.")
	}
	if s.Ungraded > 0 || s.CutTrials > 0 {
		p.item("-", "errored: run, but infrastructure failed it; ungraded: without a verdict, the errored ones included; cut: planned, and never run since a budget ended. None of them is in a denominator; what errored trials cost is in every cost.")
	}
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

// legendOfComparisons explains what is said of two arms.
func (p *printer) legendOfComparisons(s *Summary) {
	guards := len(s.Main.Guards) > 0 || s.Harms != nil && len(s.Harms.Guards) > 0
	if guards {
		p.item("-", "where it fired: difference in pass rate, guard enforced minus the same arm with it in shadow (or, where a row names an arm, the arm minus its base, both with the guard), among the trials in which it fired. "+
			"Each trial counts by its own first firing, real or in shadow; scenarios are weighted n_a n_b/(n_a+n_b) and taken as fixed. p: whole trials swapped between the arms. "+
			"fired a, b: graded trials in which it fired, in the base (a) and in the arm (b). A guard that never fired was not measured.")
	}
	if guards || len(s.Main.Comparisons) > 0 {
		p.item("-", "over all: difference in pass rate over all scenarios, paired by repetition; between two models, by scenario. ~ means that the interval includes 0.")
	}
	var families []string
	for _, f := range s.Families {
		families = append(families, fmt.Sprintf("%s (%s)", f.Name, plural(f.Tests, "test")))
	}
	if len(families) > 0 {
		p.item("-", "p values are two-sided and adjusted by "+s.Families[0].Method+" over the family that the suite fixed before the data, every comparison on every model: "+
			strings.Join(families, ", ")+". A guard that never fired counts with p = 1. Intervals are not adjusted.")
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
	case p.markdown && text == p.folding:
	case p.markdown:
		p.write(fmt.Sprintf("%s %s\n\n", strings.Repeat("#", level), text))
	case level == 1:
		fmt.Fprintf(p.out, "%s\n", p.paint.bold(text))
	default:
		fmt.Fprintf(p.out, "\n%s\n", p.paint.bold(text))
	}
}

func (p *printer) para(text string) {
	if p.markdown {
		p.write(text + "\n\n")
		return
	}
	wrap(p.out, "", "", text)
}

func (p *printer) item(mark, text string) {
	switch {
	case p.markdown && mark == "-":
		p.write("- " + text + "\n")
	case p.markdown:
		p.write("- **" + mark + "** " + text + "\n")
	default:
		wrap(p.out, fmt.Sprintf("  %-2s ", mark), "     ", text)
	}
}

// end closes a list: Markdown needs an empty line after it.
func (p *printer) end() {
	if p.markdown {
		p.write("\n")
	}
}

// folded prints what a reader of Markdown opens on demand.
func (p *printer) folded(summary string, print func()) {
	if !p.markdown {
		print()
		return
	}
	if !p.write("<details>\n<summary>" + summary + "</summary>\n\n") {
		return
	}
	p.folding = summary
	print()
	p.folding = ""
	p.out.WriteString("\n</details>\n\n") // there is always room for it, see reserve
}

// reserve is the room that is kept for what closes a page that is full.
const reserve = 200

// write appends to the page what still fits, and reports whether it did.
func (p *printer) write(s string) bool {
	if p.limit > 0 && p.out.Len()+len(s) > p.limit-reserve {
		p.dropped = true
		return false
	}
	p.out.WriteString(s)
	return true
}
