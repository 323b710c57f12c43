package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/harnessbench/harnessbench/ablations"
	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/results/report"
)

func newReport(a *app) *cobra.Command {
	var format string
	var gates gateFlags
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Print the report of a run folder again",
		Long: `Computes the report of a run folder again from its journal and prints it. With --gate the
gates of its suite decide the exit as they do in run --gate: nothing is run.

Exit 0: printed, and with --gate all gates hold. 1: a gate failed. 2: usage, or no run
folder. 3: it cannot be read, or with --gate a gate cannot be judged. 4: with --gate, more
trials errored than the suite allows, or a budget cut some.`,
		Example: `  harnessbench report runs/monday --format markdown
  harnessbench report runs/monday --gate --junit gates.xml`,
		Args: cli.Args(cobra.ExactArgs(1)),
	}
	cmd.Flags().StringVar(&format, "format", "text", "text, markdown, json or html")
	gates.register(cmd)
	asJSON := cli.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *asJSON {
			format = "json"
		}
		if err := gates.check(cmd, false); err != nil {
			return err
		}
		sum, err := summarise(args[0])
		if err != nil {
			return err
		}
		switch format {
		case "text":
			err = sum.WriteText(a.stdout, report.TextOptions{Color: a.out.Color, All: true})
		case "markdown":
			err = sum.WriteMarkdown(a.stdout)
		case "json":
			err = sum.WriteJSON(a.stdout)
		case "html":
			err = printHTML(a.stdout, args[0], sum)
		default:
			err = cli.Usagef("use text, markdown, json or html", "--format %q", format)
		}
		if err != nil || !gates.gate && gates.junit == "" {
			return err
		}
		return gates.judgeRun(a, args[0], sum)
	}
	return cmd
}

// summarise computes the summary of a run folder from its journal and lock.
func summarise(dir string) (*report.Summary, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, cli.WithCode(cli.Wrong, err)
	}
	if !info.IsDir() {
		return nil, cli.Usagef("name the folder that run printed", "%s is no run folder", dir)
	}
	lock, raw, err := design.ReadLock(filepath.Join(dir, design.LockFile))
	if err != nil {
		return nil, cli.WithCode(cli.Wrong, fmt.Errorf("%s is no run folder: %w", dir, err))
	}
	meta := reportMeta(lock, results.RunID(lock.Name, raw))
	cut, err := ablations.ReadCut(dir)
	if err != nil {
		return nil, cli.WithCode(cli.CannotJudge, err)
	}
	for _, b := range cut.Blocks {
		meta.Cut = append(meta.Cut, report.CutBlock{Scenario: b.Scenario, Harms: b.Harms, Model: b.Model,
			Simulated: trial.IsSimulated(b.Model), Repetition: b.Repetition, Trials: b.Trials, Reason: cut.Reason})
	}
	if isShard(dir) && len(meta.Gates) > 0 {
		meta.Gates = nil
		meta.Notes = append(meta.Notes, "the suite's gates are not judged on a shard: merge judges them")
	}
	sum, err := sumUp(dir, meta, func(n int) []string {
		if want := planned(dir, lock); n < want {
			return []string{fmt.Sprintf("UNFINISHED: %d of %d planned trials have been run; the numbers are of these alone", n, want)}
		}
		return nil
	})
	return sum, cli.WithCode(cli.CannotJudge, err)
}

// planned is how many trials the folder's run has to have, those that a budget
// cut left out. Of an import, and of a shard, which says so itself, it is what
// there is.
func planned(dir string, lock design.Lock) int {
	m, err := readMachine(dir)
	if err != nil || m.Shard != "" || lock.Coupling == "" {
		return 0
	}
	cut, err := ablations.ReadCut(dir)
	if err != nil {
		return 0
	}
	return lock.Planned() - cut.Trials
}

// reportMeta is what the suite knows and the rows do not say.
func reportMeta(l design.Lock, id string) report.Meta {
	m := report.Meta{RunID: id, Suite: l.Name, Seed: l.Seed, Repetitions: l.Repetitions, Models: l.Models, Factors: factorsOf(&l)}
	for _, a := range l.Arms {
		m.Arms = append(m.Arms, a.Name)
		if a.Expect != nil {
			m.Expect = append(m.Expect, report.Expectation{Arm: a.Name, Guard: a.Expect.Guard, Always: a.Expect.Fires == design.Always})
		}
	}
	arm := func(name string) *design.Arm {
		i := slices.IndexFunc(l.Arms, func(a design.LockArm) bool { return a.Name == name })
		if i < 0 {
			return &design.Arm{Name: name}
		}
		return &design.Arm{Name: name, Models: l.Arms[i].Models}
	}
	for _, c := range l.Comparisons {
		x := report.Comparison{Guard: c.Guard, Base: c.A, Arm: c.B, Margin: c.Margin}
		if c.Guard == "" {
			x.BaseModel, x.ArmModel, _ = design.CrossModels(arm(c.A), arm(c.B))
		}
		m.Comparisons = append(m.Comparisons, x)
	}
	m.Gates = gatesOf(l)
	return m
}

// factorsOf says where each arm of a factorial design stands.
func factorsOf(l *design.Lock) []report.Factor {
	var out []report.Factor
	for _, f := range l.Factors {
		x := report.Factor{Name: f.Name, Levels: f.Levels, ArmsAt: map[string]string{}}
		for _, a := range l.Arms {
			for _, at := range a.Levels {
				if at.Factor == f.Name {
					x.ArmsAt[a.Name] = at.Level
				}
			}
		}
		out = append(out, x)
	}
	return out
}

// clearStale removes what a killed publish left half written.
func clearStale(dir string) error {
	for _, pattern := range []string{filepath.Join(ablations.ParquetDir, ".*.parquet.*"), ".report.*"} {
		stale, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		for _, name := range stale {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// publish makes tables and reports from a run folder's journal and sessions.
func publish(dir string) (*report.Summary, error) {
	sum, err := summarise(dir)
	if err != nil {
		return nil, err
	}
	if err := clearStale(dir); err != nil {
		return nil, err
	}
	if err := ablations.WriteTables(dir, sum.RunID); err != nil {
		return nil, err
	}
	if err := report.WriteFiles(dir, sum); err != nil {
		return nil, err
	}
	return sum, writeHTML(dir, sum)
}
