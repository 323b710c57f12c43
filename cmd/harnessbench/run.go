package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/harnessbench/harnessbench/ablations"
	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/ablations/models"
	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/provider"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/results/report"
)

// runFlags are the flags of run.
type runFlags struct {
	out         string
	resume      string
	shard       string
	concurrency int
	repetitions int
	seed        uint64
	seeded      bool
	coupling    string
	fsync       string
	models      string
	cache       string
	grading     time.Duration
	gates       gateFlags
	json        *bool
}

func newRun(a *app) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [SUITE]",
		Short: "Run an ablation suite and report what each guard is worth",
		Long: `Runs every trial of a suite (scenario x model x arm x repetition), records each as
a session, grades it, and prints the report.

SUITE is builtin/NAME, a suite file, or the folder of a scenario of your own, which
is run as the default suite runs its own. Without SUITE: ` + design.DefaultSuite + `, on
simulated models: no key, no network. Other models, as openai/NAME, are looked up in the
models file of --models; their keys come from the environment and are written nowhere.

An interrupted run is taken up with --resume DIR, after a crash too, also within a
trial: what was answered and paid for is not asked again. Ctrl-C once lets running
trials finish, twice stops now.

The gates of the suite are judged at the end. With --gate the run is there for them:
every gate must have a value. --junit writes them for CI systems; on GitHub Actions
failures are also annotations, and the report is the summary of the step.

Exit 0: all trials were run and graded, and the gates hold. 1: a gate failed. 2: the
suite or the models file is wrong. 3: a key is missing, or with --gate a gate cannot be
judged. 4: more trials errored than the suite allows, a budget cut some, or the
machine failed. 130: interrupted.`,
		Example: `  harnessbench run
  harnessbench run my-suite.yaml -o runs/monday
  harnessbench run ./my-scenario
  harnessbench run my-suite.yaml --models models.yaml
  harnessbench run my-suite.yaml --gate --junit gates.xml
  harnessbench run --resume runs/monday
  harnessbench run my-suite.yaml --shard 2/8 -o runs/part2`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "out", "o", "", "run folder, new or empty (default: a new one under runs/)")
	fl.StringVar(&f.resume, "resume", "", "take up the interrupted run in this folder")
	fl.StringVar(&f.shard, "shard", "", "run only part i of n of the suite (i/n); merge puts the parts together")
	fl.IntVarP(&f.concurrency, "concurrency", "j", 0, "trials at a time (default: the suite's, else what the models take: twice the CPUs, or their accounts' concurrency)")
	fl.IntVar(&f.repetitions, "repetitions", 0, "instead of the suite's")
	fl.Uint64Var(&f.seed, "seed", 0, "instead of the suite's")
	fl.StringVar(&f.coupling, "coupling", "", "instead of the suite's: shared-prefix or independent")
	fl.StringVar(&f.fsync, "fsync", "", "force sessions to disk: footer, turns or never (default: footer on simulated models, turns on others)")
	modelsFlag(fl, &f.models)
	fl.StringVar(&f.cache, "response-cache", "", "folder of model answers that arms with the guard response_cache on take and add to; what this run adds is for later ones")
	fl.DurationVar(&f.grading, "grade-timeout", time.Minute, "what the graders of one trial may take; later it is ungraded, see grade")
	f.gates.register(cmd)
	f.json = cli.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f.seeded = cmd.Flags().Changed("seed")
		if cmd.Flags().Changed("repetitions") && f.repetitions < 1 || cmd.Flags().Changed("concurrency") && f.concurrency < 1 {
			return cli.Usagef("use 1 or more", "--repetitions and --concurrency count from 1")
		}
		if err := f.gates.check(cmd, f.shard != ""); err != nil {
			return err
		}
		return runSuite(cmd.Context(), a, args, f)
	}
	return cmd
}

// fsyncPolicies are for simulated models and for others.
var fsyncPolicies = map[string][2]session.Sync{"": {session.SyncFooter, session.SyncTurns}, "footer": {session.SyncFooter, session.SyncFooter},
	"turns": {session.SyncTurns, session.SyncTurns}, "never": {session.SyncNever, session.SyncNever}}

// runSuite is the command: plan, run, report.
func runSuite(ctx context.Context, a *app, args []string, f runFlags) error {
	sync, ok := fsyncPolicies[f.fsync]
	if !ok {
		return cli.Usagef("use footer, turns or never", "--fsync %q", f.fsync)
	}
	if f.grading <= 0 {
		return cli.Usagef("use a duration like 30s", "--grade-timeout %s", f.grading)
	}
	defer f.gates.close()
	work, err := f.plan(args)
	if err != nil {
		return err
	}
	plan, dir := work.plan, work.dir
	release, err := hold(dir)
	if err != nil {
		return err
	}
	defer release()
	if err := work.keep(); err != nil {
		return err
	}
	store, err := ablations.OpenCache(dir, f.cache, f.resume != "")
	if err != nil {
		return cli.WithCode(cli.Wrong, err)
	}
	caution(a, work)
	cacheCaution(a, plan, f.cache)
	began := time.Now()
	bar := a.progress("trials", len(plan.Trials), results.Pass, results.Fail, results.Ungraded)
	unwatch := watchAccounts(bar, work.real)
	done, err := ablations.Run(ctx, plan, ablations.RunOptions{Dir: dir, Resume: f.resume != "", Concurrency: f.concurrency,
		Sync: sync[0], SyncReal: sync[1], GradeTimeout: f.grading, Provider: work.ask(), Cache: store, Secrets: secretsOf(os.Environ()), Places: places(work.used),
		Stop: cli.Stopping(ctx), Done: func(row *results.Trial) { bar.Done(row.Verdict, row.SpentUSD) }})
	unwatch()
	bar.Close()
	printAccounts(a, work.real)
	stopped := errors.Is(err, ablations.ErrStopped)
	if err != nil && !stopped {
		return &cli.Exit{Code: cli.Errored, Err: err, Hint: "when that is mended: " + f.again(dir)}
	}
	if err := endMachine(dir, began); err != nil {
		return cli.WithCode(cli.Errored, err)
	}
	if stopped {
		return &cli.Exit{Code: cli.Interrupted, Err: fmt.Errorf("stopped after %d of %d trials", done.Before+done.Done, done.Planned),
			Hint: "take it up with: " + f.again(dir)}
	}
	sum, err := publish(dir)
	if err != nil {
		return cli.WithCode(cli.Errored, err)
	}
	if err := printSummary(a, sum, *f.json); err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "run folder: %s (%d trials in %.1f s); more: harnessbench report %s\n", dir, done.Done, time.Since(began).Seconds(), cli.ShellQuote(dir))
	return f.gates.conclude(a, verdict{sum: sum, allow: plan.Suite.Errors.Allow, gates: plan.Suite.Gates, shard: work.shard && len(plan.Suite.Gates) > 0})
}

// caution says what a user may not expect of a plan.
func caution(a *app, w *runWork) {
	plan, simulated := w.plan, false
	for _, m := range plan.Suite.Models {
		simulated = simulated || trial.IsSimulated(m)
	}
	for _, sc := range plan.Scenarios {
		if sc.Oracle == nil && simulated {
			fmt.Fprintf(a.stderr, "caution: the scenario %s has no oracle.yaml: simulated models do not know how to solve it\n", cli.SanitizeLine(sc.ID))
		}
	}
	if w.used != nil {
		for _, m := range w.used.Models {
			if _, known := trial.PriceOf(m.ID, plan.Card(m.ID)); !known {
				fmt.Fprintf(a.stderr, "caution: the price of %s is unknown, and so is every cost on it\n", cli.SanitizeLine(m.ID))
			}
		}
	}
}

func resumeCommand(dir string) string { return "harnessbench run --resume " + cli.ShellQuote(dir) }

// runWork is what a run needs.
type runWork struct {
	plan *design.Plan
	dir  string
	used *models.File       // what it uses of the models file; nil when all models are simulated
	real *provider.Provider // nil likewise
	keep func() error       // writes run.json, once the folder is locked
	// shard is set when it is one part of a suite.
	shard bool
}

// ask is how trials get their models; nil when all are simulated.
func (w *runWork) ask() trial.Provider {
	if w.real == nil {
		return nil
	}
	hide := newHider(w.real.Secrets())
	return func(id string, luck uint64) (model.Model, error) {
		m, err := w.real.Model(id, luck)
		if err != nil {
			return nil, err
		}
		return discreet{m, hide}, nil
	}
}

// plan makes the plan and its run folder, or opens those of an interrupted run.
func (f *runFlags) plan(args []string) (*runWork, error) {
	if f.resume != "" {
		if len(args) > 0 || f.out != "" || f.shard != "" || f.repetitions > 0 || f.seeded || f.coupling != "" {
			return nil, cli.Usagef("the run folder says what is run", "--resume goes with no suite and no flag that changes it")
		}
		w, err := reopen(f.resume, f.models)
		if err != nil {
			return nil, err
		}
		if f.gates.gate && w.shard {
			return nil, cli.Usagef("give --gate to the merge of the shards", "%s is a shard, and a shard judges no gates", f.resume)
		}
		return w, f.gates.ready(w.plan.Suite.Gates, w.plan.Suite.Name)
	}
	name := design.DefaultSuite
	if len(args) == 1 {
		name = args[0]
	}
	suite, list, err := design.OpenSuite(name)
	if err != nil {
		return nil, cli.WithCode(cli.Wrong, err)
	}
	if f.repetitions != 0 {
		suite.Repetitions = f.repetitions
	}
	if f.seeded {
		suite.Seed = f.seed
	}
	switch f.coupling {
	case "":
	case design.SharedPrefix, design.Independent:
		suite.Coupling = f.coupling
	default:
		return nil, cli.Usagef("use shared-prefix or independent", "--coupling %q", f.coupling)
	}
	used, err := useModels(suite, f.models)
	if err != nil {
		return nil, err
	}
	plan, err := design.NewPlan(suite, list)
	if err != nil {
		return nil, cli.WithCode(cli.Wrong, err)
	}
	w := &runWork{used: used, shard: f.shard != ""}
	if w.plan, err = shardOf(plan, f.shard); err != nil {
		return nil, cli.WithCode(cli.Wrong, err)
	}
	if w.real, err = reach(used); err != nil {
		return nil, err
	}
	if err := f.gates.ready(suite.Gates, name); err != nil {
		return nil, err
	}
	if w.dir, err = runFolder(f.out, suite.Name); err != nil {
		return nil, err
	}
	w.keep = func() error {
		return cli.WithCode(cli.Wrong, beginMachine(w.dir, suite.Folder(), f.shard, used))
	}
	return w, nil
}

// shardOf is the part of a plan that i/n names; the whole for "".
func shardOf(plan *design.Plan, shard string) (*design.Plan, error) {
	if shard == "" {
		return plan, nil
	}
	i, n, err := design.ParseShard(shard)
	if err != nil {
		return nil, err
	}
	return plan.Shard(i, n)
}

// reopen makes the plan of an interrupted run from its folder.
func reopen(dir, modelsFile string) (*runWork, error) {
	m, err := readMachine(dir)
	if err != nil {
		return nil, cli.WithCode(cli.Wrong, err)
	}
	lock, _, err := design.ReadLock(filepath.Join(dir, design.LockFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, cli.Usagef("remove it and begin anew", "%s cannot be resumed: it was interrupted before anything was run", dir)
	}
	cannot := func(err error) error {
		return cli.WithCode(cli.Wrong, fmt.Errorf("%s cannot be resumed: %w", dir, err))
	}
	if err != nil {
		return nil, cannot(err)
	}
	w := &runWork{dir: dir, shard: m.Shard != ""}
	if w.plan, err = design.PlanFromLock(lock, m.SuiteFolder); err != nil {
		return nil, cannot(err)
	}
	if w.plan, err = shardOf(w.plan, m.Shard); err != nil {
		return nil, cannot(err)
	}
	if w.used, err = resumeModels(w.plan, m.ModelsFile, modelsFile); err != nil {
		return nil, err
	}
	w.real, err = reach(w.used)
	w.keep = func() error {
		if modelsFile == "" {
			return nil
		}
		m.ModelsFile = w.used
		return cli.WithCode(cli.Errored, writeMachine(dir, m))
	}
	return w, err
}

// runFolder makes the folder of a run. A named one may exist while it is empty.
func runFolder(out, suite string) (string, error) {
	if out == "" {
		stem := filepath.Join("runs", suite+"-"+time.Now().UTC().Format("20060102-150405"))
		for i := 1; ; i++ {
			dir := stem
			if i > 1 {
				dir = fmt.Sprintf("%s-%d", stem, i)
			}
			if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
				return "", cli.WithCode(cli.Wrong, err)
			}
			err := os.Mkdir(dir, 0o755)
			if err == nil {
				return dir, nil
			}
			if !errors.Is(err, os.ErrExist) {
				return "", cli.WithCode(cli.Wrong, err)
			}
		}
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", cli.WithCode(cli.Wrong, err)
	}
	entries, err := os.ReadDir(out)
	if err != nil {
		return "", cli.WithCode(cli.Wrong, err)
	}
	if len(entries) > 0 {
		return "", cli.Usagef("name a new folder, or remove what is there", "the run folder %s is not empty", out)
	}
	return out, nil
}

func printSummary(a *app, sum *report.Summary, asJSON bool) error {
	if asJSON {
		return sum.WriteJSON(a.stdout)
	}
	return sum.WriteText(a.stdout, report.TextOptions{Color: a.out.Color})
}
