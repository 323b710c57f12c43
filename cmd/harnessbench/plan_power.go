package main

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/results/stats"
)

// What is assumed where neither a flag nor an earlier run says it.
const (
	assumedRate = 0.5 // the rate at which differences vary most
	assumedICC  = 0.4
	wantedPower = 0.8
	// hardlySeen is the smallest effect from which a suite is not worth running for
	// its comparisons.
	hardlySeen = 0.5
)

// Bounds of the search for a cheap design.
const mostScenarios, mostRepetitions = 2000, 50

// checkPower holds the flags about power that were given against their bounds.
func (f *planFlags) checkPower(given func(flag string) bool) error {
	for _, x := range []struct {
		name  string
		value float64
		ok    bool
		want  string
	}{
		{"icc", f.icc, f.icc >= 0 && f.icc <= 1, "0 to 1"},
		{"rate", f.rate, f.rate >= 0 && f.rate <= 1, "0 to 1"},
		{"detect", f.detect, f.detect != 0 && f.detect >= -1 && f.detect <= 1, "-1 to 1 and not 0"},
	} {
		if given(x.name) && !x.ok {
			return cli.Usagef("write a number from "+x.want+", such as 0.1", "--%s %v is out of range", x.name, x.value)
		}
	}
	return nil
}

// planPower says what differences the suite can see. null: none, or not asked for.
type planPower struct {
	Power       float64        `json:"power"`           // chance to see the smallest effect
	Alpha       float64        `json:"alpha"`           // of the family, two-sided
	Family      int            `json:"family"`          // comparisons x models, for Holm
	What        string         `json:"of"`              // comparisons, or main effects of a factorial design
	Scenarios   int            `json:"scenarios"`       // those tagged harms left out
	Differing   int            `json:"least_differing"` // scenarios that must differ before any outcome is significant
	Rate        planAssumption `json:"rate"`            // pass rate of the bases
	ICC         planAssumption `json:"icc"`             // of repetitions within a scenario
	Correlation planAssumption `json:"coupling"`        // of the arms' trials of one repetition, beside the scenario
	Smallest    *float64       `json:"smallest_effect"` // of the suite as it is; below 0: only a loss is seen
	Table       []planSmallest `json:"table"`           // by scenarios and repetitions
	Detect      *planDetect    `json:"detect"`          // --detect
	Unanswered  []planCannot   `json:"cannot_be_answered"`

	suite   stats.Design
	perCell int // trials of one scenario and repetition
	harms   int // scenarios that cost and are not pooled
}

// planAssumption is a number with its origin: flag, run or assumed.
type planAssumption struct {
	Value float64 `json:"value"`
	From  string  `json:"from"`
}

type planSmallest struct {
	Scenarios   int      `json:"scenarios"`
	Repetitions int      `json:"repetitions"`
	Trials      int      `json:"trials"`
	Smallest    *float64 `json:"smallest_effect"`
}

// planDetect is the cheapest design that sees an effect.
type planDetect struct {
	Effect float64     `json:"effect"`
	Suite  *planDesign `json:"with_these_scenarios"` // more repetitions alone
	Any    *planDesign `json:"with_any_scenarios"`
}

type planDesign struct {
	Scenarios   int      `json:"scenarios"`
	Repetitions int      `json:"repetitions"`
	Trials      int      `json:"trials"`
	USD         *float64 `json:"spent_usd"` // by the means of the earlier run
}

// planCannot is a comparison that the suite cannot answer.
type planCannot struct {
	A     string `json:"a"`
	B     string `json:"b"`
	Guard string `json:"guard"`
	Model string `json:"model"` // of b
	Why   string `json:"why"`
}

// member is one comparison on one model: of the family.
type member struct {
	design.Comparison
	modelA, modelB string
}

// family lists the comparisons of the plan with the models on which they are made.
func family(p *design.Plan) (out []member) {
	arms := map[string]*design.Arm{}
	for i := range p.Arms {
		arms[p.Arms[i].Name] = &p.Arms[i]
	}
	for _, c := range p.Comparisons {
		a, b := arms[c.A], arms[c.B]
		if ma, mb, ok := design.CrossModels(a, b); ok && c.Guard == "" {
			out = append(out, member{c, ma, mb})
			continue
		}
		for _, m := range p.Suite.Models {
			if a.On(m) && b.On(m) {
				out = append(out, member{c, m, m})
			}
		}
	}
	return out
}

// power says what the plan can see; nil when it compares nothing.
func power(p *design.Plan, earlier []results.Trial, f *planFlags, perTrial *float64) *planPower {
	fam := family(p)
	if len(fam) == 0 && len(p.Factors) == 0 {
		return nil
	}
	w := &planPower{Power: wantedPower, Alpha: 0.05, Family: max(1, len(fam)), What: "comparisons", Table: []planSmallest{}, Unanswered: []planCannot{}}
	harmful := map[string]bool{}
	for _, sc := range p.Scenarios {
		if slices.Contains(sc.Tags, results.HarmsTag) {
			harmful[sc.ID] = true
		}
	}
	w.harms, w.Scenarios = len(harmful), len(p.Scenarios)-len(harmful)
	if w.Scenarios == 0 {
		w.harms, w.Scenarios, harmful = 0, len(p.Scenarios), nil
	}
	for i := range p.Arms {
		for _, m := range p.Suite.Models {
			if p.Arms[i].On(m) {
				w.perCell++
			}
		}
	}
	w.assume(newPilot(fam, earlier, harmful), f)
	w.suite = stats.Design{Scenarios: w.Scenarios, Repetitions: p.Suite.Repetitions, Rate: w.Rate.Value, ICC: w.ICC.Value,
		Coupling: w.Correlation.Value, Alpha: w.Alpha, Family: w.Family}
	if len(fam) == 0 { // each effect is one half of a model's arms against the other
		w.What = "main effects"
		w.suite.Repetitions *= max(1, w.perCell/len(p.Suite.Models)/2)
	}
	w.Differing, w.Smallest = w.suite.LeastDiffering(), finite(w.suite.SmallestEffect(w.Power))
	w.table(p.Suite.Repetitions)
	if f.detect != 0 {
		w.Detect = w.cheapest(f.detect, p.Suite.Repetitions, perTrial)
	}
	w.unanswered(fam, newPilot(fam, earlier, harmful))
	return w
}

// assume settles rate, resemblance and correlation.
func (w *planPower) assume(run *pilot, f *planFlags) {
	settle := func(flag float64, run *float64, otherwise float64) planAssumption {
		switch {
		case !math.IsNaN(flag):
			return planAssumption{flag, "flag"}
		case run != nil:
			return planAssumption{*run, "run"}
		}
		return planAssumption{otherwise, "assumed"}
	}
	w.Rate = settle(f.rate, run.rate(), assumedRate)
	w.ICC = settle(f.icc, run.icc(), assumedICC)
	w.Correlation = settle(math.NaN(), run.correlation(), 0)
}

// table fills in the smallest effects for other numbers of scenarios and
// repetitions. Those of a factorial design keep the arms that they are pooled over.
func (w *planPower) table(repetitions int) {
	pooled := w.suite.Repetitions / repetitions
	for _, times := range []int{1, 2, 4} {
		for _, reps := range []int{1, 2, 3, 5, 10, 20} {
			d := w.suite
			d.Scenarios, d.Repetitions = d.Scenarios*times, reps*pooled
			w.Table = append(w.Table, planSmallest{d.Scenarios, reps, w.trials(d.Scenarios, reps), finite(d.SmallestEffect(w.Power))})
		}
	}
}

// trials counts those of a design, all arms and models, harms included.
func (w *planPower) trials(scenarios, repetitions int) int {
	return (scenarios + w.harms) * repetitions * w.perCell
}

// cheapest finds the designs that see an effect with the fewest trials.
func (w *planPower) cheapest(effect float64, repetitions int, perTrial *float64) *planDetect {
	pooled := w.suite.Repetitions / repetitions
	reps := stats.Numbers(1, mostRepetitions)
	for i := range reps {
		reps[i] *= pooled
	}
	find := func(scenarios []int) *planDesign {
		d, ok := w.suite.Cheapest(effect, w.Power, scenarios, reps, func(s, r int) float64 { return float64(w.trials(s, r/pooled)) })
		if !ok {
			return nil
		}
		out := &planDesign{Scenarios: d.Scenarios, Repetitions: d.Repetitions / pooled, Trials: w.trials(d.Scenarios, d.Repetitions/pooled)}
		if perTrial != nil {
			out.USD = new(*perTrial * float64(out.Trials))
		}
		return out
	}
	return &planDetect{effect, find([]int{w.Scenarios}), find(stats.Numbers(2, mostScenarios))}
}

// unanswered lists what the suite cannot answer, whatever comes out.
func (w *planPower) unanswered(fam []member, run *pilot) {
	for i := range fam {
		c := &fam[i]
		why := ""
		fired := run.firedIn(c)
		switch {
		case c.Guard != "" && run.has(c) && fired == 0:
			why = "the guard never fired in the earlier run: add scenarios that make it fire"
		case w.Scenarios < w.Differing:
			why = fmt.Sprintf("over all, at least %d scenarios must differ, and there are %d", w.Differing, w.Scenarios)
		case c.Guard != "" && run.has(c) && fired < w.Differing:
			why = fmt.Sprintf("over all, at least %d scenarios must differ, and the guard fired in fewer in the earlier run: only where it fired can say something", w.Differing)
		case w.Smallest == nil:
			why = "over all, no effect can be seen: add scenarios or repetitions"
		case math.Abs(*w.Smallest) > hardlySeen:
			why = fmt.Sprintf("over all, only an effect of %.2f or more can be seen: add scenarios or repetitions", math.Abs(*w.Smallest))
		default:
			continue
		}
		w.Unanswered = append(w.Unanswered, planCannot{c.A, c.B, c.Guard, c.modelB, why})
	}
}

// finite is nil for what is no number.
func finite(x float64) *float64 {
	if math.IsNaN(x) {
		return nil
	}
	return &x
}

// print writes it for people.
func (w *planPower) print(out io.Writer) error {
	from := map[string]string{"flag": "", "run": " by the run", "assumed": " assumed"}
	without := ""
	if w.harms > 0 {
		without = fmt.Sprintf(" (without %d tagged harms)", w.harms)
	}
	if err := w.printTable(out, without); err != nil {
		return err
	}
	what := fmt.Sprintf("%s in a family of %d", w.What, w.Family)
	if w.What != "comparisons" {
		what = w.What + ", each for itself"
	}
	fmt.Fprintf(out, "\nthis suite: %s; %s; rate %.2f%s, ICC %.2f%s, correlation of coupled arms %.2f%s\n", effectText(w.Smallest), what,
		w.Rate.Value, from[w.Rate.From], w.ICC.Value, from[w.ICC.From], w.Correlation.Value, from[w.Correlation.From])
	fmt.Fprintf(out, "for an effect alike in all scenarios; whatever its size, at least %d scenarios must differ\n", w.Differing)
	if slices.ContainsFunc(w.Table, func(r planSmallest) bool { return r.Smallest != nil && *r.Smallest < 0 }) {
		fmt.Fprintf(out, "below 0: at this rate no gain can be seen, only a loss of so much\n")
	}
	if w.Detect != nil {
		fmt.Fprintf(out, "an effect of %+.2f needs %s with these scenarios, %s with others beside them\n", w.Detect.Effect, w.Detect.Suite.text("more than "+thousands(mostRepetitions)+" repetitions"), w.Detect.Any.text("more than "+thousands(mostScenarios)+" scenarios"))
	}
	return w.printUnanswered(out)
}

// printTable writes the smallest effects, or that there is none.
func (w *planPower) printTable(out io.Writer, without string) error {
	if last := w.Table[len(w.Table)-1]; !slices.ContainsFunc(w.Table, func(r planSmallest) bool { return r.Smallest != nil }) {
		_, err := fmt.Fprintf(out, "\nno difference in pass rate is seen with %.0f %% power, over all scenarios%s, up to %d scenarios x %d repetitions\n",
			100*w.Power, without, last.Scenarios, last.Repetitions)
		return err
	}
	fmt.Fprintf(out, "\nsmallest difference in pass rate that is seen with %.0f %% power, over all scenarios%s:\n\n", 100*w.Power, without)
	heads, rows := []string{"scenarios"}, [][]string{}
	for _, r := range w.Table {
		if r.Scenarios == w.Table[0].Scenarios {
			heads = append(heads, "x "+thousands(r.Repetitions))
		}
		if r.Repetitions == 1 {
			rows = append(rows, []string{thousands(r.Scenarios)})
		}
		last := &rows[len(rows)-1]
		*last = append(*last, effectText(r.Smallest))
	}
	return cli.Table(out, heads, rows)
}

// text writes a design, or what there is instead of one.
func (d *planDesign) text(none string) string {
	if d == nil {
		return none
	}
	s := fmt.Sprintf("%s x %s (%s", plural(d.Scenarios, "scenario", "scenarios"), plural(d.Repetitions, "repetition", "repetitions"), plural(d.Trials, "trial", "trials"))
	if d.USD != nil {
		s += ", " + dollars(d.USD) + " USD"
	}
	return s + ")"
}

// printUnanswered writes each reason once, with all that it holds for.
func (w *planPower) printUnanswered(out io.Writer) error {
	var whys []string
	by := map[string][]string{}
	for _, c := range w.Unanswered {
		if by[c.Why] == nil {
			whys = append(whys, c.Why)
		}
		by[c.Why] = append(by[c.Why], w.nameOf(&c)+" on "+c.Model)
	}
	var err error
	for _, why := range whys {
		who := few(by[why], 4)
		if len(by[why]) == w.Family {
			who = "every comparison"
		}
		_, err = fmt.Fprintf(out, "cannot be answered: %s: %s\n", cli.SanitizeLine(who), why)
	}
	return err
}

// nameOf is the guard of a comparison, or its arms where that says too little.
func (w *planPower) nameOf(c *planCannot) string {
	twin := func(o planCannot) bool { return o.Guard == c.Guard && o.Model == c.Model && (o.A != c.A || o.B != c.B) }
	if c.Guard == "" || slices.ContainsFunc(w.Unanswered, twin) {
		return c.B + " against " + c.A
	}
	return c.Guard
}

// effectText writes a smallest effect.
func effectText(x *float64) string {
	switch {
	case x == nil:
		return "none"
	case *x < 0:
		return fmt.Sprintf("%.2f", *x)
	}
	return fmt.Sprintf("+%.2f", *x)
}

// spentPerTrial is what a trial cost in the earlier run, USD; nil when unknown.
func (o *planJSON) spentPerTrial() *float64 {
	if o.Total.Typical.SpentUSD == nil || o.Total.Trials == 0 || o.From == "" {
		return nil
	}
	return new(*o.Total.Typical.SpentUSD / float64(o.Total.Trials))
}
