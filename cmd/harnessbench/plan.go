package main

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/harnessbench/harnessbench/ablations"
	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/ablations/models"
	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/results"
)

// planFlags are the flags of plan.
type planFlags struct {
	from        string
	shard       string
	models      string
	concurrency int
	repetitions int
	icc, rate   float64 // NaN when not given
	detect      float64 // 0 when not given
	json        *bool
	used        *models.File // set by plan; nil when all models are simulated
}

func newPlan(a *app) *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:   "plan [SUITE]",
		Short: "Say what a suite would run and cost, before a cent is spent",
		Long: `Makes a suite explicit without running it: scenarios, models, arms, blocks and
trials, with the most that they can take by their limits. With --from RUN also what
they take by the means of an earlier run, for example of one repetition.

Then it says which differences in pass rate the suite can see (80 % power, 5 % over the
family of its comparisons), and which comparisons it cannot answer. Pass rate,
resemblance of repetitions and correlation of arms are those of --from RUN, else
assumed. --detect 0.1 asks for the cheapest design that sees that effect.

SUITE is as for run; without it: ` + design.DefaultSuite + `. What is unknown is "?". Exit 1: a
budget of the suite does not cover the plan.`,
		Example: `  harnessbench plan
  harnessbench plan my-suite.yaml --from runs/pilot -j 8
  harnessbench plan my-suite.yaml --from runs/pilot --detect 0.1`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
	}
	fl := cmd.Flags()
	fl.StringVar(&f.from, "from", "", "run folder whose trials say what is typical")
	fl.StringVar(&f.shard, "shard", "", "only part i/n of the suite")
	fl.IntVarP(&f.concurrency, "concurrency", "j", 0, "trials at a time (default: as for run)")
	fl.IntVar(&f.repetitions, "repetitions", 0, "instead of the suite's")
	fl.Float64Var(&f.icc, "icc", math.NaN(), "resemblance of a scenario's repetitions, 0 to 1 (default: by --from, else 0.4)")
	fl.Float64Var(&f.rate, "rate", math.NaN(), "pass rate of the bases, 0 to 1 (default: by --from, else 0.5)")
	fl.Float64Var(&f.detect, "detect", 0, "find the cheapest design that sees this difference in pass rate")
	for _, name := range []string{"icc", "rate", "detect"} {
		fl.Lookup(name).DefValue = "0" // hides it
	}
	modelsFlag(fl, &f.models)
	f.json = cli.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name := design.DefaultSuite
		if len(args) == 1 {
			name = args[0]
		}
		return planSuite(a, cmd, name, f)
	}
	return cmd
}

// planSuite is the command.
func planSuite(a *app, cmd *cobra.Command, name string, f planFlags) error {
	if f.concurrency < 0 || f.repetitions < 0 {
		return cli.Usagef("use 1 or more", "--concurrency and --repetitions cannot be negative")
	}
	if err := f.checkPower(cmd.Flags().Changed); err != nil {
		return err
	}
	p, err := f.plan(name)
	if err != nil {
		return cli.WithCode(cli.Wrong, err)
	}
	var earlier []results.Trial
	coupling := ""
	if f.from != "" {
		if earlier, coupling, err = earlierRun(f.from); err != nil {
			return err
		}
	}
	e := p.Estimate(earlier)
	out := newPlanJSON(p, &e, f)
	out.Power = power(p, earlier, &f, out.spentPerTrial())
	if out.Power == nil && (f.detect != 0 || !math.IsNaN(f.icc) || !math.IsNaN(f.rate)) {
		out.Notes = append(out.Notes, "the suite compares nothing, so --detect, --icc and --rate say nothing: give it comparisons, or a design")
	}
	if coupling != "" && coupling != p.Suite.Coupling {
		out.Notes = append(out.Notes, fmt.Sprintf("the earlier run's coupling was %s: what was spent there says little about %s", coupling, p.Suite.Coupling))
	}
	if *f.json {
		err = cli.WriteJSON(a.stdout, out)
	} else {
		err = out.print(a)
	}
	for _, b := range out.Budgets {
		if err == nil && b.State == design.Cuts {
			err = cli.Status(cli.No)
		}
	}
	return err
}

// plan makes the plan, or the part of it that is asked for.
func (f *planFlags) plan(name string) (*design.Plan, error) {
	suite, list, err := design.OpenSuite(name)
	if err != nil {
		return nil, err
	}
	if f.repetitions > 0 {
		suite.Repetitions = f.repetitions
	}
	if f.used, err = useModels(suite, f.models); err != nil {
		return nil, err
	}
	p, err := design.NewPlan(suite, list)
	if err != nil {
		return nil, err
	}
	return shardOf(p, f.shard)
}

// earlierRun reads the trials of a run folder, and its coupling.
func earlierRun(dir string) ([]results.Trial, string, error) {
	lock, _, err := design.ReadLock(filepath.Join(dir, design.LockFile))
	if err != nil {
		return nil, "", cli.WithCode(cli.Wrong, fmt.Errorf("%s is no run folder: %w", dir, err))
	}
	c, err := results.ReadJournalFile(filepath.Join(dir, results.JournalFile))
	if err != nil {
		return nil, "", cli.WithCode(cli.CannotJudge, err)
	}
	return c.Trials(), lock.Coupling, nil
}

// planJSON is what plan --json prints. null is unknown.
type planJSON struct {
	Schema      string       `json:"schema"`
	Suite       string       `json:"suite"`
	Digest      string       `json:"suite_sha256"`
	Seed        uint64       `json:"seed"`
	Coupling    string       `json:"coupling"`
	Shard       string       `json:"shard"` // empty = the whole suite
	Scenarios   []string     `json:"scenarios"`
	Models      []string     `json:"models"`
	Arms        []string     `json:"arms"`
	Comparisons []planPair   `json:"comparisons"`
	Repetitions int          `json:"repetitions"`
	Blocks      int          `json:"blocks"`
	Trials      int          `json:"trials"`
	Concurrency int          `json:"concurrency"`
	From        string       `json:"from"` // empty = no earlier run
	Rows        []planRow    `json:"rows"`
	Total       planRow      `json:"total"`
	WorstTime   *float64     `json:"at_most_seconds"` // at this concurrency
	TypicalTime *float64     `json:"typical_seconds"`
	Budgets     []planBudget `json:"budgets"`
	Aliases     string       `json:"aliases"` // what a half fraction cannot tell apart
	Power       *planPower   `json:"power"`   // null: nothing is compared
	Notes       []string     `json:"notes"`
}

type planPair struct {
	A     string `json:"a"`
	B     string `json:"b"`
	Guard string `json:"guard"`
}

type planRow struct {
	Scenario string   `json:"scenario"`
	Model    string   `json:"model"`
	Arms     int      `json:"arms"`
	Blocks   int      `json:"blocks"`
	Trials   int      `json:"trials"`
	Worst    planNeed `json:"at_most"`
	Typical  planNeed `json:"typical"`
}

type planNeed struct {
	Calls    *float64 `json:"model_calls"`
	Tokens   *float64 `json:"tokens"`
	USD      *float64 `json:"cost_usd"`
	SpentUSD *float64 `json:"spent_usd"`
	Seconds  *float64 `json:"trial_seconds"` // one trial after the other
}

type planBudget struct {
	Budget  string   `json:"budget"` // usd or tokens
	Limit   float64  `json:"limit"`
	Worst   *float64 `json:"at_most"`
	Typical *float64 `json:"typical"`
	State   string   `json:"state"` // covers, may-cut or cuts
	Blocks  int      `json:"blocks_covered,omitempty"`
}

// newPlanJSON gathers what is printed.
func newPlanJSON(p *design.Plan, e *design.Estimate, f planFlags) *planJSON {
	s := p.Suite
	out := &planJSON{Schema: "harnessbench/plan/v1", Suite: s.Name, Digest: s.Digest, Seed: s.Seed, Coupling: s.Coupling,
		Shard: f.shard, Models: s.Models, Repetitions: s.Repetitions, Blocks: e.Total.Blocks, Trials: e.Total.Trials,
		Concurrency: concurrencyOf(p, &f), From: f.from, Aliases: p.Aliases(), Total: planRowOf(&e.Total),
		Scenarios: []string{}, Comparisons: []planPair{}, Budgets: []planBudget{}, Notes: []string{}}
	for _, sc := range p.Scenarios {
		out.Scenarios = append(out.Scenarios, sc.ID)
	}
	for _, arm := range p.Arms {
		out.Arms = append(out.Arms, arm.Name)
	}
	for _, c := range p.Comparisons {
		out.Comparisons = append(out.Comparisons, planPair{c.A, c.B, c.Guard})
	}
	for i := range e.Rows {
		out.Rows = append(out.Rows, planRowOf(&e.Rows[i]))
	}
	for _, c := range p.Covers(e) {
		out.Budgets = append(out.Budgets, planBudget(c))
	}
	seconds := func(total *float64, longest time.Duration) *float64 {
		if total == nil {
			return nil
		}
		return new(design.Duration(*total, longest, out.Concurrency).Seconds())
	}
	out.WorstTime, out.TypicalTime = seconds(e.Total.Worst.Seconds, e.LongestTrial), seconds(e.Total.Typical.Seconds, 0)
	out.notes(e)
	out.Notes = append(out.Notes, p.Warnings()...)
	return out
}

func planRowOf(r *design.EstimateRow) planRow {
	return planRow{r.Scenario, r.Model, r.Arms, r.Blocks, r.Trials, planNeed(r.Worst), planNeed(r.Typical)}
}

// concurrencyOf is how many trials run at a time, as run has it.
func concurrencyOf(p *design.Plan, f *planFlags) int {
	n := f.concurrency
	if n == 0 {
		n = ablations.Concurrency(p.Suite, places(f.used))
	}
	return max(1, min(n, len(p.Trials)))
}

// notes says what must be known to read the numbers.
func (o *planJSON) notes(e *design.Estimate) {
	say := func(format string, args ...any) { o.Notes = append(o.Notes, fmt.Sprintf(format, args...)) }
	simulated := 0
	for _, m := range o.Models {
		if trial.IsSimulated(m) {
			simulated++
		}
	}
	if simulated == len(o.Models) {
		say("all models are simulated: prices are fictitious, and their clock runs without anybody waiting")
	} else if simulated > 0 {
		say("simulated models among them: their prices are fictitious, and their clock runs without anybody waiting")
	}
	unbounded, missing := 0, 0
	for i := range e.Rows {
		if e.Rows[i].Worst.Tokens == nil {
			unbounded++
		}
		if o.From != "" && e.Rows[i].Typical.Calls == nil {
			missing++
		}
	}
	if unbounded > 0 {
		say("%s without a bound on tokens: give the scenarios a context_window", plural(unbounded, "scenario x model", "scenarios x models"))
	}
	if missing > 0 {
		say("%s without a trial in %s: what is typical of them is unknown", plural(missing, "scenario x model", "scenarios x models"), o.From)
	}
	if e.AssumedOutput > 0 {
		say("%s without max_tokens: 8,192 tokens are taken as the longest answer, as budgets do", plural(e.AssumedOutput, "scenario", "scenarios"))
	}
	for _, b := range o.Budgets {
		o.Notes = append(o.Notes, b.note(o.Blocks))
	}
}

// note says what a budget covers.
func (b *planBudget) note(blocks int) string {
	amount := func(x *float64) string {
		if b.Budget == "usd" {
			return dollars(x) + " USD"
		}
		return whole(x) + " tokens"
	}
	have := "the budget of " + amount(&b.Limit)
	switch {
	case b.State == design.Covers:
		return have + " covers the worst case"
	case b.State == design.Cuts && b.Blocks == 0:
		return have + " does not cover the plan: it may not even cover one block"
	case b.State == design.Cuts:
		return fmt.Sprintf("%s does not cover what such trials took, %s: about %d of %d blocks would be run", have, amount(b.Typical), b.Blocks, blocks)
	case b.Typical != nil:
		return have + " covers what such trials took, but not the worst case: whole blocks may be left out"
	}
	return have + " does not cover the worst case: whole blocks may be left out"
}

// plural writes a number with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + many
}

// whole writes a count, rounded; ? is unknown.
func whole(x *float64) string {
	switch {
	case x == nil:
		return "?"
	case *x >= 1e15:
		return fmt.Sprintf("%.2g", *x)
	}
	return thousands(int(*x + 0.5))
}

// dollars writes an amount; ? is unknown.
func dollars(x *float64) string {
	switch {
	case x == nil:
		return "?"
	case *x >= 100:
		return whole(x)
	case *x >= 0.1 || *x == 0:
		return fmt.Sprintf("%.2f", *x)
	}
	return fmt.Sprintf("%.2g", *x)
}

// print writes the plan for people: one line per model, then what must be said.
func (o *planJSON) print(a *app) error {
	what := ""
	if o.Shard != "" {
		what = ", shard " + o.Shard
	}
	fmt.Fprintf(a.stdout, "%s%s: %s in %s (%s x %s x %s x %s)\n", cli.SanitizeLine(o.Suite), what, plural(o.Trials, "trial", "trials"), plural(o.Blocks, "block", "blocks"),
		plural(len(o.Scenarios), "scenario", "scenarios"), plural(len(o.Models), "model", "models"), plural(len(o.Arms), "arm", "arms"),
		plural(o.Repetitions, "repetition", "repetitions"))
	fmt.Fprintf(a.stdout, "coupling %s, seed %d\n", o.Coupling, o.Seed)
	fmt.Fprintf(a.stdout, "arms: %s\n\n", cli.SanitizeLine(few(o.Arms, 12)))
	heads := []string{"model", "blocks", "trials"}
	if o.From != "" {
		heads = append(heads, "calls", "tokens", "USD", "spent")
	}
	heads = append(heads, "calls max", "tokens max", "USD max")
	var rows [][]string
	for _, r := range append(o.byModel(), o.Total) {
		name := r.Model
		if name == "" {
			name = "all"
		}
		row := []string{name, thousands(r.Blocks), thousands(r.Trials)}
		if t := r.Typical; o.From != "" {
			row = append(row, whole(t.Calls), whole(t.Tokens), dollars(t.USD), dollars(t.SpentUSD))
		}
		rows = append(rows, append(row, whole(r.Worst.Calls), whole(r.Worst.Tokens), dollars(r.Worst.USD)))
	}
	if err := cli.Table(a.stdout, heads, rows); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout)
	if o.From != "" {
		fmt.Fprintf(a.stdout, "time with %s: %s, at most %s\n", plural(o.Concurrency, "trial at a time", "trials at a time"), clockTime(o.TypicalTime), clockTime(o.WorstTime))
		fmt.Fprintf(a.stdout, "calls, tokens, USD, spent: by the means of %s; USD as if arms shared no answers\n", cli.SanitizeLine(o.From))
	} else {
		fmt.Fprintf(a.stdout, "time with %s: at most %s\n", plural(o.Concurrency, "trial at a time", "trials at a time"), clockTime(o.WorstTime))
	}
	for _, n := range o.Notes {
		if _, err := fmt.Fprintf(a.stdout, "%s\n", cli.SanitizeLine(n)); err != nil {
			return err
		}
	}
	if o.Aliases != "" {
		fmt.Fprintf(a.stdout, "%s\n", cli.SanitizeLine(o.Aliases))
	}
	if o.Power == nil {
		return nil
	}
	return o.Power.print(a.stdout)
}

// byModel adds up the rows of each model, in the suite's order.
func (o *planJSON) byModel() []planRow {
	var out []planRow
	for _, m := range o.Models {
		var sum *planRow
		for _, r := range o.Rows {
			if r.Model != m {
				continue
			}
			if sum == nil {
				sum = &planRow{Model: m, Arms: r.Arms, Worst: r.Worst, Typical: r.Typical, Blocks: r.Blocks, Trials: r.Trials}
				continue
			}
			sum.Blocks += r.Blocks
			sum.Trials += r.Trials
			sum.Worst = planNeed(design.Need(sum.Worst).Add(design.Need(r.Worst)))
			sum.Typical = planNeed(design.Need(sum.Typical).Add(design.Need(r.Typical)))
		}
		if sum != nil {
			out = append(out, *sum)
		}
	}
	return out
}

// few joins names, and says how many are left out.
func few(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// clockTime writes a time to three figures; ? is unknown.
func clockTime(seconds *float64) string {
	if seconds == nil {
		return "?"
	}
	if *seconds > 9e9 { // no time.Duration
		return fmt.Sprintf("%.2g years", *seconds/(365.25*24*3600))
	}
	d := time.Duration(*seconds * float64(time.Second))
	switch {
	case d >= time.Hour:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	case d >= time.Minute:
		return d.Round(time.Second).String()
	}
	return d.Round(10 * time.Millisecond).String()
}
