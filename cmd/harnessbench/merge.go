package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/harnessbench/harnessbench/ablations"
	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
)

func newMerge(a *app) *cobra.Command {
	var out string
	var gates gateFlags
	cmd := &cobra.Command{
		Use:   "merge RUN RUN...",
		Short: "Put the shards of one suite together into one run folder",
		Long: `Takes the run folders of run --shard 1/n ... n/n and makes one run folder of them,
equal to that of a run of the whole suite, and judges the gates of the suite. The shards
stay as they are.

Exit 0: the whole suite, and its gates hold. 1: a gate failed. 2: these are not the parts
of one suite. 3: with --gate, a gate cannot be judged. 4: a part is missing, more trials
errored than the suite allows, or a budget cut some.`,
		Example: `  harnessbench merge runs/part1 runs/part2 -o runs/whole
  harnessbench merge runs/part* -o runs/whole --gate --junit gates.xml`,
		Args: cli.Args(cobra.MinimumNArgs(2)),
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "the new run folder")
	gates.register(cmd)
	asJSON := cli.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if out == "" {
			return cli.Usagef("name the new run folder", "merge needs -o DIR")
		}
		if err := gates.check(cmd, false); err != nil {
			return err
		}
		return mergeRuns(a, out, args, &gates, *asJSON)
	}
	return cmd
}

// mergeRuns is the command: everything is made beside the new folder, which gets
// its name when it is whole.
func mergeRuns(a *app, out string, dirs []string, gates *gateFlags, asJSON bool) (err error) {
	began := time.Now()
	for _, dir := range dirs {
		if _, err := readMachine(dir); err != nil {
			return cli.WithCode(cli.Wrong, err)
		}
	}
	lock, _, err := design.ReadLock(filepath.Join(dirs[0], design.LockFile))
	if err != nil {
		return cli.WithCode(cli.Wrong, err)
	}
	if err := gates.ready(lock.Gates, lock.Name); err != nil {
		return err
	}
	defer gates.close()
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
	v := verdict{sum: sum, allow: lock.Errors}
	if missing := m.Planned - m.Trials - m.Cut; missing > 0 {
		v.broken = &cli.Exit{Code: cli.Errored, Err: fmt.Errorf("%d of %d trials are in none of the shards", missing, m.Planned),
			Hint: "a shard is missing or unfinished; the new folder can be finished with: " + resumeCommand(out)}
	}
	return gates.conclude(a, v)
}
