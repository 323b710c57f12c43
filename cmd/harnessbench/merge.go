package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/harnessbench/harnessbench/ablations"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
)

func newMerge(a *app) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "merge RUN RUN...",
		Short: "Put the shards of one suite together into one run folder",
		Long: `Takes the run folders of run --shard 1/n ... n/n and makes one run folder of them,
equal to that of a run of the whole suite. The shards stay as they are.`,
		Example: "  harnessbench merge runs/part1 runs/part2 -o runs/whole",
		Args:    cli.Args(cobra.MinimumNArgs(2)),
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "the new run folder")
	asJSON := cli.JSONFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if out == "" {
			return cli.Usagef("name the new run folder", "merge needs -o DIR")
		}
		return mergeRuns(a, out, args, *asJSON)
	}
	return cmd
}

// mergeRuns is the command: everything is made beside the new folder, which gets
// its name when it is whole.
func mergeRuns(a *app, out string, dirs []string, asJSON bool) (err error) {
	began := time.Now()
	for _, dir := range dirs {
		if _, err := readMachine(dir); err != nil {
			return cli.WithCode(cli.Wrong, err)
		}
	}
	temp, err := besideFolder(out)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(temp))
		}
	}()
	m, err := ablations.Merge(temp, dirs)
	if err != nil {
		return cli.WithCode(cli.Wrong, err)
	}
	first, err := readMachine(dirs[0])
	if err != nil {
		return cli.WithCode(cli.Wrong, err)
	}
	if err := errors.Join(beginMachine(temp, first.SuiteFolder, "", first.ModelsFile), endMachine(temp, began)); err != nil {
		return cli.WithCode(cli.Errored, err)
	}
	sum, err := publish(temp)
	if err != nil {
		return cli.WithCode(cli.Errored, err)
	}
	if err := takeName(temp, out); err != nil {
		return cli.WithCode(cli.Errored, err)
	}
	if err := printSummary(a, sum, asJSON); err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "run folder: %s (%d of %d trials)\n", out, m.Trials, m.Planned)
	if m.Cut > 0 && m.Trials+m.Cut == m.Planned {
		return &cli.Exit{Code: cli.Errored, Err: fmt.Errorf("the budget was used up: %d of %d trials were not run", m.Cut, m.Planned),
			Hint: "whole blocks were left out, so the arms stay comparable"}
	}
	if missing := m.Planned - m.Trials - m.Cut; missing > 0 {
		return &cli.Exit{Code: cli.Errored, Err: fmt.Errorf("%d of %d trials are in none of the shards", missing, m.Planned),
			Hint: "a shard is missing or unfinished; the new folder can be finished with: " + resumeCommand(out)}
	}
	return nil
}
