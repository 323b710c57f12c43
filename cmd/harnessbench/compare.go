package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/compare"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/expr"
	"github.com/harnessbench/harnessbench/results/importer"
)

// compareFlags are the flags of compare.
type compareFlags struct {
	compare.Options
	columns []string
	passAt  float64
	scored  bool // passAt was given
	failIf  []string
	format  string
	json    *bool
}

func newCompare(a *app) *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare A [B]",
		Short: "Compare two runs or tables of trials, or the arms of one with a base",
		Long: `Compares pass rates, scenario by scenario, with intervals and a paired test: B with
A, or in one input every arm with the one that --base names.

An input is a run folder, or a table of trials from any tool: Parquet, CSV or JSONL
(the last two also with gzip; - is stdin) with columns for scenario and passed or
score, and if there are any repetition, model, arm, cost_usd, tokens, duration_s,
errored and harms. docs/compare.md has the other names that are understood.

Exit 0: done. 1: a condition of --fail-if is true. 2: wrong usage or input. 3: nothing
to compare, or a condition of --fail-if needs a value that is not known.`,
		Example: `  harnessbench compare before.csv after.csv
  harnessbench compare runs/a runs/b --fail-if 'diff < -0.05 && p < 0.05'
  harnessbench compare trials.parquet --base none
  harnessbench compare runs/a --base sim/strong/none --json
  harnessbench compare a.jsonl b.jsonl --columns scenario=doc_id,score=exact_match`,
		Args: cli.Args(cobra.RangeArgs(1, 2)),
	}
	fl := cmd.Flags()
	fl.StringVar(&f.Base, "base", "", "of one input: the arm (or model/arm) that the others are compared with")
	fl.StringVar(&f.Test, "test", compare.SignFlip, "sign-flip, mcnemar (one repetition) or t")
	fl.StringVar(&f.Adjust, "adjust", compare.Holm, "adjust p over all comparisons: holm, bh or none")
	fl.StringVar(&f.Metric, "metric", compare.Pass, "pass, or score: compare mean scores")
	fl.Float64Var(&f.Margin, "margin", 0, "say whether b is not worse than a by more than this, for example 0.05")
	fl.StringSliceVar(&f.columns, "columns", nil, "columns of tables: scenario=task,passed=ok")
	fl.Float64Var(&f.passAt, "pass-at", 1, "a score passes from here on, whatever a column for passed says")
	fl.StringArrayVar(&f.failIf, "fail-if", nil, "exit 1 when this is true of a comparison, for example 'diff < -0.05' (repeatable)")
	fl.StringVar(&f.format, "format", "text", "text, markdown, csv or json")
	f.json = cli.JSONFlag(cmd)
	for flag, values := range map[string][]string{
		"test": {compare.SignFlip, compare.McNemar, compare.T}, "adjust": {compare.Holm, compare.BH, compare.None},
		"metric": {compare.Pass, compare.Score}, "format": {"text", "markdown", "csv", "json"},
	} {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	_ = cmd.RegisterFlagCompletionFunc("base", func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return baseNames(args), cobra.ShellCompDirectiveNoFileComp
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f.scored = cmd.Flags().Changed("pass-at")
		if *f.json {
			f.format = "json"
		}
		return compareInputs(a, cmd, args, f)
	}
	return cmd
}

// check refuses values that flags cannot have.
func (f *compareFlags) check(marginGiven bool) error {
	for _, c := range []struct {
		flag, value string
		may         []string
	}{
		{"test", f.Test, []string{compare.SignFlip, compare.McNemar, compare.T}}, {"adjust", f.Adjust, []string{compare.Holm, compare.BH, compare.None}},
		{"metric", f.Metric, []string{compare.Pass, compare.Score}}, {"format", f.format, []string{"text", "markdown", "csv", "json"}},
	} {
		if !slices.Contains(c.may, c.value) {
			return cli.Usagef("use "+strings.Join(c.may, ", "), "--%s %q", c.flag, c.value)
		}
	}
	if marginGiven && !(f.Margin > 0 && f.Margin <= 1) {
		return cli.Usagef("use a share above 0 and up to 1, for example 0.05", "--margin %v", f.Margin)
	}
	if f.scored && !(f.passAt >= 0 && f.passAt <= 1) {
		return cli.Usagef("a score is 0 to 1", "--pass-at %v", f.passAt)
	}
	return nil
}

// compareInputs is the command.
func compareInputs(a *app, cmd *cobra.Command, args []string, f compareFlags) error {
	if err := f.check(cmd.Flags().Changed("margin")); err != nil {
		return err
	}
	var conditions []*expr.Expr
	for _, s := range f.failIf {
		x, err := expr.Parse(s, compare.Known)
		if err != nil {
			return &cli.Exit{Code: cli.Wrong, Err: fmt.Errorf("--fail-if %w", err), Hint: "docs/compare.md says what a condition is"}
		}
		conditions = append(conditions, x)
	}
	opt, err := f.table(cmd)
	if err != nil {
		return err
	}
	inputs, notes, err := readInputs(a, args, opt, f.Metric)
	if err != nil {
		return err
	}
	r, err := compare.Compute(inputs, f.Options)
	switch {
	case errors.Is(err, compare.ErrUsage):
		return &cli.Exit{Code: cli.Wrong, Err: err, Hint: compare.Hint(err)}
	case errors.Is(err, compare.ErrNothing):
		return &cli.Exit{Code: cli.CannotJudge, Err: err, Hint: "compare inputs that have scenarios and arms in common"}
	case err != nil:
		return cli.WithCode(cli.CannotJudge, err)
	}
	r.Notes = append(append([]string{}, notes...), r.Notes...)
	code, said := judge(r, conditions)
	if err := writeComparison(a, r, f.format); err != nil {
		return err
	}
	for _, s := range said {
		fmt.Fprintln(a.stderr, cli.SanitizeLine(s))
	}
	return cli.Status(code)
}

func writeComparison(a *app, r *compare.Report, format string) error {
	switch format {
	case "markdown":
		return r.WriteMarkdown(a.stdout)
	case "csv":
		return r.WriteCSV(a.stdout)
	case "json":
		return cli.WriteJSON(a.stdout, r)
	}
	return r.WriteText(a.stdout)
}

// judge holds every comparison to every condition.
func judge(r *compare.Report, conditions []*expr.Expr) (code cli.Code, said []string) {
	cs := r.Comparisons
	if r.Harms != nil {
		cs = slices.Concat(cs, r.Harms.Comparisons)
	}
	for _, x := range conditions {
		for i := range cs {
			c := &cs[i]
			v := x.Eval(c.Lookup)
			arms := c.A + " -> " + c.B
			values := x.Values(c.Lookup)
			r.FailIf = append(r.FailIf, compare.Condition{Expr: x.String(), Comparison: arms, Verdict: v.String(), Values: values})
			switch v {
			case expr.True:
				code = cli.Worst(code, cli.No)
				said = append(said, fmt.Sprintf("fail-if: %s is true of %s: %s", x, arms, values))
			case expr.Unknown:
				code = cli.Worst(code, cli.CannotJudge)
				said = append(said, fmt.Sprintf("fail-if: %s cannot be judged of %s: %s; known(NAME) && ... leaves such comparisons out", x, arms, values))
			}
		}
	}
	return code, said
}

// table makes the options of reading tables.
func (f *compareFlags) table(cmd *cobra.Command) (importer.TableOptions, error) {
	opt := importer.TableOptions{Columns: map[string]string{}, Stdin: cmd.InOrStdin()}
	if f.scored {
		opt.PassAt = &f.passAt
	}
	for _, c := range f.columns {
		field, column, ok := strings.Cut(c, "=")
		if field = strings.TrimSpace(field); !ok || column == "" || !slices.Contains(importer.TableFields(), field) {
			return opt, cli.Usagef("write FIELD=COLUMN; the fields are "+strings.Join(importer.TableFields(), ", "), "--columns %q", c)
		}
		if _, twice := opt.Columns[field]; twice {
			return opt, cli.Usagef("name one column for each field", "--columns names %s twice", field)
		}
		opt.Columns[field] = column
	}
	return opt, nil
}
