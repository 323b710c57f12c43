package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
)

func main() { os.Exit(run(context.Background(), os.Stdout, os.Stderr, os.Args[1:])) }

// app is what commands work with.
type app struct {
	stdout, stderr io.Writer
	out, err       cli.Term // of stdout and stderr
	quiet          bool     // no progress
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, stdout, stderr io.Writer, args []string) int {
	a := &app{stdout: stdout, stderr: stderr, out: cli.Detect(stdout), err: cli.Detect(stderr)}
	ctx, release := cli.Interrupts(ctx, stderr)
	defer release()
	root := newRoot(a)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	cli.Report(stderr, err)
	return int(cli.CodeOf(err))
}

// progress starts a report on long work; nil, which says nothing, with --quiet.
func (a *app) progress(what string, total int, labels ...string) *cli.Progress {
	if a.quiet {
		return nil
	}
	return cli.NewProgress(a.stderr, a.err, what, total, labels...)
}

// newRoot builds the command tree.
func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "harnessbench",
		Short: "Measure the harness around a language model",
		Long: `harnessbench measures the harness around a language model: the loop that calls
the model, runs its tools, stops it, retries it, and decides whether it is done.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          unknownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.Version = readVersion().Version
	root.SetVersionTemplate("harnessbench {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return cli.Usagef("run "+cmd.CommandPath()+" --help for its flags", "%s: %v", cmd.CommandPath(), err)
	})
	root.PersistentFlags().BoolVarP(&a.quiet, "quiet", "q", false, "no progress on stderr")
	for _, c := range commands {
		root.AddCommand(c(a))
	}
	return root
}

// commands lists the commands in the order of their names.
var commands = []func(*app) *cobra.Command{
	newCompare,
	newCompletion,
	newDiff,
	newFork,
	newGrade,
	newGuards,
	newImport,
	newMerge,
	newModels,
	newPlan,
	newRecord,
	newReplay,
	newReport,
	newRun,
	newScenario,
	newSession,
	newServe,
	newShow,
	newVerify,
	newVersion,
}

// unknownCommand refuses what is no command and names the nearest ones.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	hint := "run " + cmd.CommandPath() + " --help for the list"
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf("did you mean %s?", near[0])
	}
	return cli.Usagef(hint, "unknown command %q", args[0])
}
