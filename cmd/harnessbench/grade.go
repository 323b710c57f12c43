package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/harnessbench/harnessbench/ablations"
	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
)

func newGrade(a *app) *cobra.Command {
	var suite string
	cmd := &cobra.Command{
		Use:   "grade RUN | SESSION...",
		Short: "Grade the sessions of a run, or any sessions, again without running anything",
		Long: `Replays each session of a run on its recording, asks the graders that its scenario
has today about what it left, and makes tables and report anew. Use it after a grader
was corrected. What the agent did is not touched.

Of sessions, folders of sessions and globs it prints the verdicts, beside those of the
run they lie in, and changes nothing. Their scenarios are looked for in --suite, else
in the run, else among the embedded ones.

Exit 0: all are graded. 3: at least one is not.`,
		Example: `  harnessbench grade runs/monday
  harnessbench grade --suite my-suite.yaml testdata/*.session.jsonl`,
		Args: cli.Args(cobra.MinimumNArgs(1)),
	}
	cmd.Flags().StringVar(&suite, "suite", "", "the suite that has the sessions' scenarios")
	asJSON := cli.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 || suite != "" || !meansRun(args[0]) {
			return gradeSessions(cmd.Context(), a, args, suite, *asJSON)
		}
		return gradeRun(cmd.Context(), a, args[0], *asJSON)
	}
	return cmd
}

// gradeRun is the command.
func gradeRun(ctx context.Context, a *app, dir string, asJSON bool) error {
	m, err := readMachine(dir)
	if err != nil {
		return cli.WithCode(cli.Wrong, err)
	}
	release, err := hold(dir)
	if err != nil {
		return err
	}
	defer release()
	lock, _, err := design.ReadLock(filepath.Join(dir, design.LockFile))
	if err != nil {
		return cli.WithCode(cli.Wrong, fmt.Errorf("%s cannot be graded: %w", dir, err))
	}
	if lock.Coupling == "" {
		return cli.Usagef("an import carries the verdicts that were recorded", "%s was imported: there are no graders to ask", dir)
	}
	list, changed, err := lock.LoadScenarios(m.SuiteFolder)
	if err != nil {
		return cli.WithCode(cli.Wrong, fmt.Errorf("%s cannot be graded: %w", dir, err))
	}
	before, err := summarise(dir)
	if err != nil {
		return err
	}
	bar := a.progress("sessions", before.Trials)
	done, err := ablations.Regrade(ctx, dir, list, func() { bar.Done("", nil) })
	bar.Close()
	if ctx.Err() != nil {
		return &cli.Exit{Code: cli.Interrupted, Err: fmt.Errorf("interrupted; the verdicts of %s are as they were", dir)}
	}
	if err != nil {
		return cli.WithCode(cli.CannotJudge, err)
	}
	sum, err := publish(dir)
	if err != nil {
		return cli.WithCode(cli.Errored, err)
	}
	if err := printSummary(a, sum, asJSON); err != nil {
		return err
	}
	if len(changed) > 0 {
		fmt.Fprintf(a.stderr, "scenarios changed since the run: %s\n", strings.Join(changed, ", "))
	}
	fmt.Fprintf(a.stderr, "graded again: %d trials, %d with another verdict, %d ungraded\n", done.Trials, done.Changed, done.Ungraded)
	if done.Ungraded > before.Ungraded {
		return cli.Status(cli.CannotJudge)
	}
	return nil
}
