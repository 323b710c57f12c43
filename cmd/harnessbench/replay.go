package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/replayer"
)

// replayFlags are the flags of replay.
type replayFlags struct {
	config string
	suite  string
	tools  string
	jobs   int
	json   *bool
}

func newReplay(a *app) *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay PATH...",
		Short: "Replay sessions offline and name the first divergence",
		Long: `Drives the loop and its guards from recorded sessions: model answers, tool results
and workspace changes come from the recording, everything else runs for real and is
compared. PATH is a session, a folder, a run folder or a glob.

--config=recorded replays under the recorded configuration: did the loop change?
--config=current replays under today's prompts, tools and guard settings of the
session's scenario and arm (in --suite): what would my change do to these sessions?

Exit 0: all as recorded. 1: at least one diverged. 3: at least one cannot be judged.`,
		Example: `  harnessbench replay runs/monday
  harnessbench replay --config=current --suite my-suite.yaml 'runs/*/sessions/*.session.jsonl'`,
		Args: cli.Args(cobra.MinimumNArgs(1)),
	}
	fl := cmd.Flags()
	fl.StringVar(&f.config, "config", "recorded", "recorded or current")
	fl.StringVar(&f.suite, "suite", design.DefaultSuite, "with --config=current: the suite that says what is current")
	fl.StringVar(&f.tools, "tools", "recorded", "recorded: serve the recorded results")
	fl.IntVarP(&f.jobs, "concurrency", "j", 0, "sessions at a time (default: the CPUs)")
	f.json = cli.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("suite") && f.config != "current" {
			return cli.Usagef("add --config=current", "--suite says what is current, and the sessions are replayed as recorded")
		}
		if cmd.Flags().Changed("concurrency") && f.jobs < 1 {
			return cli.Usagef("use 1 or more", "--concurrency %d", f.jobs)
		}
		return replaySessions(cmd.Context(), a, args, f)
	}
	return cmd
}

// replaySessions is the command.
func replaySessions(ctx context.Context, a *app, args []string, f replayFlags) error {
	frugal()
	opts, err := f.options()
	if err != nil {
		return err
	}
	paths, err := cli.Sessions(args)
	if err != nil {
		return err
	}
	jobs := f.jobs
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	bar := a.progress("sessions", len(paths), "EXACT", "DIVERGED")
	reports, err := replayAll(ctx, paths, jobs, opts, bar)
	bar.Close()
	if err != nil {
		return err
	}
	code := cli.OK
	for _, r := range reports {
		code = cli.Worst(code, cli.Code(r.Verdict.Exit()))
	}
	if *f.json {
		if err := cli.WriteJSON(a.stdout, replayJSON{"harnessbench/replay/v1", reports, count(reports)}); err != nil {
			return err
		}
		return cli.Status(code)
	}
	printReports(a, reports)
	return cli.Status(code)
}

// replayJSON is what --json prints.
type replayJSON struct {
	Schema   string                   `json:"schema"`
	Sessions []*replayer.Report       `json:"sessions"`
	Verdicts map[replayer.Verdict]int `json:"verdicts"`
}

func (f *replayFlags) options() (replayer.Options, error) {
	if f.tools != "recorded" {
		return replayer.Options{}, cli.Usagef("use --tools=recorded", "--tools %q is not available", f.tools)
	}
	switch f.config {
	case "recorded":
		return replayer.Options{}, nil
	case "current":
		current, err := design.Current(f.suite)
		if err != nil {
			return replayer.Options{}, cli.WithCode(cli.Wrong, err)
		}
		return replayer.Options{Current: current}, nil
	}
	return replayer.Options{}, cli.Usagef("use recorded or current", "--config %q", f.config)
}

// replayAll replays many sessions side by side; the reports come in the order
// of the paths.
func replayAll(ctx context.Context, paths []string, jobs int, opts replayer.Options, bar *cli.Progress) ([]*replayer.Report, error) {
	reports := make([]*replayer.Report, len(paths))
	errs := make([]error, len(paths))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(jobs, len(paths)) {
		wg.Go(func() {
			for i := range next {
				reports[i], errs[i] = replayer.File(ctx, paths[i], opts)
				if errs[i] == nil {
					bar.Done(string(reports[i].Verdict), nil)
				}
			}
		})
	}
	stopped := false
	for i := range paths {
		select {
		case next <- i:
		case <-ctx.Done():
			stopped = true
		case <-cli.Stopping(ctx):
			stopped = true
		}
		if stopped {
			break
		}
	}
	close(next)
	wg.Wait()
	if stopped {
		return nil, &cli.Exit{Code: cli.Interrupted, Err: fmt.Errorf("interrupted")}
	}
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return reports, nil
}

func count(reports []*replayer.Report) map[replayer.Verdict]int {
	out := map[replayer.Verdict]int{}
	for _, r := range reports {
		out[r.Verdict]++
	}
	return out
}

// verdictOrder is the order in which verdicts are summed up.
var verdictOrder = []replayer.Verdict{replayer.Exact, replayer.Normalised, replayer.Diverged, replayer.Exhausted, replayer.Unused,
	replayer.Noop, replayer.OldBehaviour, replayer.Corrupt, replayer.TooNew}

// detailed is how many sessions that did not come out as recorded are told of in
// full.
const detailed = 20

// printReports prints what did not come out as recorded, then the counts.
func printReports(a *app, reports []*replayer.Report) {
	told := 0
	for _, r := range reports {
		if r.Verdict == replayer.Exact && len(r.Shadow) == 0 {
			continue
		}
		if told++; told > detailed {
			fmt.Fprintf(a.stdout, "%s %s: %s\n", r.Verdict, cli.SanitizeLine(r.Path), cli.SanitizeLine(r.Reason))
			continue
		}
		printReport(a, r)
	}
	counts := count(reports)
	var parts []string
	for _, v := range verdictOrder {
		if n := counts[v]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", v, n))
		}
	}
	turns := 0
	for _, r := range reports {
		turns += r.Turns
	}
	fmt.Fprintf(a.stdout, "%s, %s as recorded: %s\n", cli.Count(len(reports), "session"), cli.Count(turns, "turn"), strings.Join(parts, ", "))
}

func printReport(a *app, r *replayer.Report) {
	fmt.Fprintf(a.stdout, "%s %s\n", r.Verdict, cli.SanitizeLine(r.Path))
	if r.Reason != "" {
		fmt.Fprintf(a.stdout, "  %s\n", cli.SanitizeLine(r.Reason))
	}
	if d := r.Divergence; d != nil {
		printDivergence(a, d)
	}
	for i, s := range r.Shadow {
		if i == 5 {
			fmt.Fprintf(a.stdout, "  shadow    %d more\n", len(r.Shadow)-i)
			break
		}
		fmt.Fprintf(a.stdout, "  shadow    %s\n", cli.SanitizeLine(s))
	}
	fmt.Fprintln(a.stdout)
}

func printDivergence(a *app, d *replayer.Divergence) {
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(a.stdout, "  %-9s %s\n", name, cli.SanitizeLine(value))
		}
	}
	if d.Part != nil {
		row("part", fmt.Sprint(*d.Part))
	}
	if d.Diff == "" || !strings.Contains(d.Diff, "\n") {
		row("recorded", d.Recorded)
		row("now", d.Actual)
		row("note", d.Diff)
	} else {
		for _, line := range strings.Split(strings.TrimRight(d.Diff, "\n"), "\n") {
			fmt.Fprintf(a.stdout, "    %s\n", cli.SanitizeLine(line))
		}
	}
	row("after", d.After)
	row("more", d.Show)
}
