package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/harnessbench/harnessbench/ablations"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/results/parquet"
	"github.com/harnessbench/harnessbench/results/report"
)

// runFlags are the flags of run.
type runFlags struct {
	out         string
	concurrency int
	repetitions int
	seed        uint64
	fsync       string
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
is run as the default suite runs its own. Without SUITE: ` + ablations.DefaultSuite + `, on
simulated models: no key, no network.`,
		Example: `  harnessbench run
  harnessbench run my-suite.yaml -o runs/monday
  harnessbench run ./my-scenario`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "out", "o", "", "run folder, new or empty (default: a new one under runs/)")
	fl.IntVarP(&f.concurrency, "concurrency", "j", 0, "trials at a time (default: the suite's, else twice the CPUs)")
	fl.IntVar(&f.repetitions, "repetitions", 0, "instead of the suite's")
	fl.Uint64Var(&f.seed, "seed", 0, "instead of the suite's")
	fl.StringVar(&f.fsync, "fsync", "footer", "force sessions to disk: footer, turns or never")
	f.json = cli.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name := ablations.DefaultSuite
		if len(args) == 1 {
			name = args[0]
		}
		return runSuite(cmd.Context(), a, name, f, cmd.Flags().Changed("seed"))
	}
	return cmd
}

var fsyncPolicies = map[string]session.Sync{"footer": session.SyncFooter, "turns": session.SyncTurns, "never": session.SyncNever}

// runSuite is the command: plan, run, report.
func runSuite(ctx context.Context, a *app, name string, f runFlags, seeded bool) error {
	sync, ok := fsyncPolicies[f.fsync]
	if !ok {
		return cli.Usagef("use footer, turns or never", "--fsync %q", f.fsync)
	}
	if f.concurrency < 0 || f.repetitions < 0 {
		return cli.Usagef("use 1 or more", "--concurrency and --repetitions cannot be negative")
	}
	suite, list, err := ablations.OpenSuite(name)
	if err != nil {
		return cli.WithCode(cli.Wrong, err)
	}
	if f.repetitions > 0 {
		suite.Repetitions = f.repetitions
	}
	if seeded {
		suite.Seed = f.seed
	}
	plan, err := ablations.NewPlan(suite, list)
	if err != nil {
		return cli.WithCode(cli.Wrong, err)
	}
	dir, err := runFolder(f.out, suite.Name)
	if err != nil {
		return err
	}
	began := time.Now()
	bar := a.progress("trials", len(plan.Trials), results.Pass, results.Fail, results.Ungraded)
	_, err = ablations.Run(ctx, plan, ablations.RunOptions{Dir: dir, Concurrency: f.concurrency, Sync: sync, Stop: cli.Stopping(ctx),
		Done: func(row *results.Trial) { bar.Done(row.Verdict, row.SpentUSD) }})
	bar.Close()
	stopped := errors.Is(err, ablations.ErrStopped)
	if err != nil && !stopped {
		return cli.WithCode(cli.Errored, err)
	}
	if err := writeMachine(dir, began); err != nil {
		return cli.WithCode(cli.Errored, err)
	}
	sum, err := publish(dir, plan)
	if err != nil {
		return cli.WithCode(cli.Errored, err)
	}
	if err := printSummary(a, sum, *f.json); err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "run folder: %s (%d trials in %.1f s)\n", dir, sum.Trials, time.Since(began).Seconds())
	switch {
	case stopped || cli.WasInterrupted(ctx):
		return &cli.Exit{Code: cli.Interrupted, Err: fmt.Errorf("stopped after %d of %d trials; what was finished is in %s", sum.Trials, len(plan.Trials), dir)}
	case sum.Errored > 0:
		return &cli.Exit{Code: cli.Errored, Err: fmt.Errorf("%d of %d trials errored", sum.Errored, sum.Trials), Hint: "see the errors in the report"}
	}
	return nil
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

// machine is run.json: what may differ between two runs of one suite.
type machine struct {
	Schema  string      `json:"schema"`
	Tool    versionInfo `json:"tool"`
	CPUs    int         `json:"cpus"`
	Host    string      `json:"host"`
	Began   time.Time   `json:"began"`
	Ended   time.Time   `json:"ended"`
	Seconds float64     `json:"seconds"`
}

func writeMachine(dir string, began time.Time) error {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	m := machine{Schema: "harnessbench/run/v1", Tool: readVersion(), CPUs: runtime.NumCPU(), Host: host,
		Began: began.UTC(), Ended: time.Now().UTC(), Seconds: time.Since(began).Seconds()}
	f, err := os.Create(filepath.Join(dir, "run.json"))
	if err != nil {
		return err
	}
	return errors.Join(cli.WriteJSON(f, m), f.Close())
}

// publish makes tables and reports from the journal.
func publish(dir string, plan *ablations.Plan) (*report.Summary, error) {
	c, err := results.ReadJournalFile(filepath.Join(dir, results.JournalFile))
	if err != nil {
		return nil, err
	}
	trials, verdicts, events := c.Trials(), c.Verdicts(), c.GuardEvents()
	results.SortTrials(trials)
	results.SortVerdicts(verdicts)
	results.SortGuardEvents(events)
	lock, err := plan.Lock().Encode()
	if err != nil {
		return nil, err
	}
	id := results.RunID(plan.Suite.Name, lock)
	pq := filepath.Join(dir, ablations.ParquetDir)
	if err := os.MkdirAll(pq, 0o755); err != nil {
		return nil, err
	}
	if err := errors.Join(
		parquet.WriteTrials(filepath.Join(pq, "trials.parquet"), id, trials),
		parquet.WriteVerdicts(filepath.Join(pq, "verdicts.parquet"), id, verdicts),
		parquet.WriteGuardEvents(filepath.Join(pq, "guard_events.parquet"), id, events)); err != nil {
		return nil, err
	}
	sum, err := report.Compute(reportMeta(plan.Lock(), id), trials, verdicts)
	if err != nil {
		return nil, err
	}
	return sum, report.WriteFiles(dir, sum)
}

// reportMeta is what the suite knows and the rows do not say.
func reportMeta(l ablations.Lock, id string) report.Meta {
	m := report.Meta{RunID: id, Suite: l.Name, Seed: l.Seed, Repetitions: l.Repetitions, Models: l.Models}
	for _, a := range l.Arms {
		m.Arms = append(m.Arms, a.Name)
	}
	for _, c := range l.Comparisons {
		m.Comparisons = append(m.Comparisons, report.Comparison{Guard: c.Guard, Base: c.A, Arm: c.B})
	}
	return m
}

func printSummary(a *app, sum *report.Summary, asJSON bool) error {
	if asJSON {
		return sum.WriteJSON(a.stdout)
	}
	return sum.WriteText(a.stdout, report.TextOptions{Color: a.out.Color})
}
