package main

import (
	"context"
	"fmt"
	"runtime"
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
	serve  bool
	out    replayOutput
	more   replayMore
}

func newReplay(a *app) *cobra.Command {
	var f replayFlags
	var w wireFlags
	cmd := &cobra.Command{
		Use:   "replay PATH... | replay --serve [PATH] -- CMD [ARG...]",
		Short: "Replay sessions offline and name the first divergence",
		Long: `Drives the loop and its guards from recorded sessions: model answers, tool results
and workspace changes come from the recording, everything else runs for real and is
compared. PATH is a session, a folder, a run folder or a glob.

--config=recorded replays under the recorded configuration: did the loop change?
--config=current replays under today's prompts, tools and guard settings of the
session's scenario and arm (in --suite): what would my change do to these sessions?
--tools=live executes tool calls again, on the recorded initial workspace.

The first divergence of a session is told with its place, both values and a code
(HB1003) that --explain explains. --junit writes a report for CI systems; on GitHub
Actions failures are also annotations and a summary of the step.

--serve is for agents of your own, in any language: it runs CMD with its base-URL
variables set to an endpoint that answers from the recording at PATH (see record;
default: the one in recordings/), without network or key. The first request that was
not recorded gets a 400 that says where it departs. CMD has our stdin, stdout and
stderr; the verdict comes on stderr when it has ended, and as JSON with --report.

Exit 0: all as recorded. 1: at least one diverged, or CMD failed. 2: usage.
3: at least one cannot be judged, or nothing was replayed. 130: interrupted.`,
		Example: `  harnessbench replay runs/monday
  harnessbench replay --config=current --suite my-suite.yaml 'runs/*/sessions/*.session.jsonl'
  harnessbench replay --junit replay.xml testdata/sessions
  harnessbench replay --explain HB1003
  harnessbench replay --serve recordings/agent.session.jsonl -- python agent.py "fix the tests"`,
		Args: cli.Args(f.out.args),
	}
	fl := cmd.Flags()
	fl.StringVar(&f.config, "config", "recorded", "recorded or current")
	fl.StringVar(&f.suite, "suite", design.DefaultSuite, suiteUsage)
	fl.StringVar(&f.tools, "tools", "recorded", "recorded: serve the recorded results; live: execute calls again and compare")
	f.more.register(fl)
	fl.IntVarP(&f.jobs, "concurrency", "j", 0, "sessions at a time (default: the CPUs)")
	fl.BoolVar(&f.serve, "serve", false, "serve recorded traffic to the command after --")
	w.replayFlags(fl)
	w.normaliseFlag(fl)
	f.out.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("explain") {
			return f.out.explainCode(a)
		}
		if f.serve {
			path, argv, err := f.serveArgs(cmd, args)
			if err != nil {
				return err
			}
			return replayCommand(cmd.Context(), a, &w, &f.out, path, argv)
		}
		for _, name := range []string{"speed", "report", "normalise"} {
			if cmd.Flags().Changed(name) {
				return cli.Usagef("add --serve", "--%s is for recorded traffic", name)
			}
		}
		if err := f.more.check(cmd, &f); err != nil {
			return err
		}
		if cmd.Flags().Changed("concurrency") && f.jobs < 1 {
			return cli.Usagef("use 1 or more", "--concurrency %d", f.jobs)
		}
		opts, err := f.options()
		if err != nil {
			return err
		}
		if err := f.more.fill(cmd, &f, &opts); err != nil {
			return err
		}
		return replaySessions(cmd.Context(), a, args, f, opts)
	}
	return cmd
}

// replaySessions is the command.
func replaySessions(ctx context.Context, a *app, args []string, f replayFlags, opts replayer.Options) error {
	frugal()
	paths, err := cli.Sessions(args)
	if err != nil {
		return err
	}
	jobs := f.jobs
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	cancel, err := f.out.open()
	if err != nil {
		return err
	}
	bar := a.progress("sessions", len(paths), "EXACT", "DIVERGED")
	reports, err := replayAll(ctx, paths, jobs, opts, &f.more, bar)
	bar.Close()
	if err != nil {
		cancel()
		return err
	}
	code := cli.OK
	for _, r := range reports {
		code = cli.Worst(code, cli.Code(r.Verdict.Exit()))
	}
	unusedRungs(a, reports)
	if err := f.out.write(a, reports); err != nil {
		return err
	}
	if !*f.out.json {
		printOutcomes(a, reports)
	}
	return cli.Status(code)
}

// replaySchema names the shape of [replayJSON].
const replaySchema = "harnessbench/replay/v1"

// replayJSON is what --json prints. docs/replay.schema.json is made of it.
type replayJSON struct {
	Schema   string                   `json:"schema"`
	Sessions []*replayer.Report       `json:"sessions"` // in the order of their paths
	Verdicts map[replayer.Verdict]int `json:"verdicts"` // how many sessions have which verdict; absent = 0
}

func (f *replayFlags) options() (replayer.Options, error) {
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
func replayAll(ctx context.Context, paths []string, jobs int, opts replayer.Options, m *replayMore, bar *cli.Progress) ([]*replayer.Report, error) {
	reports := make([]*replayer.Report, len(paths))
	errs := make([]error, len(paths))
	next := make(chan int)
	last := newBound(len(paths) - 1) // lowered where it fails fast
	var wg sync.WaitGroup
	for range min(jobs, len(paths)) {
		wg.Go(func() {
			for i := range next {
				if last.beyond(i) {
					continue
				}
				reports[i], errs[i] = m.one(ctx, paths[i], opts)
				if errs[i] == nil {
					bar.Done(string(reports[i].Verdict), nil)
				}
				if m.failFast && (errs[i] != nil || reports[i].Verdict.Exit() != 0) {
					last.lower(i)
				}
			}
		})
	}
	stopped := false
	for i := range paths {
		if last.beyond(i) {
			break
		}
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
	n := int(last.at.Load()) + 1
	for _, err := range errs[:n] {
		if err != nil {
			return nil, err
		}
	}
	return reports[:n], nil
}

func count(reports []*replayer.Report) map[replayer.Verdict]int {
	out := map[replayer.Verdict]int{}
	for _, r := range reports {
		out[r.Verdict]++
	}
	return out
}
