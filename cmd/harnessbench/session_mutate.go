package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer/mutate"
)

// mutateFlags are the flags of session mutate.
type mutateFlags struct {
	sample int
	full   bool
	seed   uint64
	jobs   int
	json   *bool
}

func newSessionMutate(a *app) *cobra.Command {
	var f mutateFlags
	cmd := &cobra.Command{
		Use:   "mutate PATH...",
		Short: "Change one thing of a session at a time and demand that replay catches it",
		Long: `Changes one input or derived field at a time, or takes away, doubles or swaps one
line, seals the session again, and demands that its replay says no and blames no line
before. Changes that mean nothing (order of keys, labels, fields and lines of later
versions) must not be caught. Sessions that do not replay as they are cannot be judged;
recorded traffic is passed over, since no loop of ours would feel a change of it: verify
does, by the same digest.

Prints which share was caught by what the loop did, and which by the digest over all
inputs alone: such a field is listed with the reason why nothing depends on it.

A class is a field of a line type and a kind of change. Of each class --sample changes
are tried, chosen over all sessions by --seed, so that each that occurs is; --full tries
every change of every session: some ten thousand replays for a session of 30 lines.

Exit 0: all was caught. 1: something was missed, or minded that means nothing, or a
field is not explained. 3: a session does not replay as it is, or nothing was tried.`,
		Example: `  harnessbench session mutate runs/monday
  harnessbench session mutate --full testdata/corpus
  harnessbench session mutate --json --sample 100 runs/monday > share.json`,
		Args: cli.Args(cobra.MinimumNArgs(1)),
	}
	fl := cmd.Flags()
	fl.IntVar(&f.sample, "sample", 10, "changes of each class to try")
	fl.BoolVar(&f.full, "full", false, "try every change")
	fl.Uint64Var(&f.seed, "seed", 1, "of the choice")
	fl.IntVarP(&f.jobs, "concurrency", "j", 0, "sessions at a time (default: the CPUs)")
	f.json = cli.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case f.full && cmd.Flags().Changed("sample"):
			return cli.Usagef("leave one of them out", "--full tries every change, --sample %d some", f.sample)
		case f.sample < 1:
			return cli.Usagef("use 1 or more, or --full for every change", "--sample %d", f.sample)
		case cmd.Flags().Changed("concurrency") && f.jobs < 1:
			return cli.Usagef("use 1 or more", "--concurrency %d", f.jobs)
		}
		return mutateSessions(cmd.Context(), a, args, f)
	}
	return cmd
}

// mutateJSON is what --json prints.
type mutateJSON struct {
	Schema   string `json:"schema"`
	Sessions int    `json:"sessions"`
	OK       bool   `json:"ok"`
	*mutate.Result
}

// mutateSessions is the command.
func mutateSessions(ctx context.Context, a *app, args []string, f mutateFlags) error {
	paths, err := cli.Sessions(args)
	if err != nil {
		return err
	}
	if f.full {
		f.sample = 0
	}
	if f.jobs <= 0 {
		f.jobs = runtime.GOMAXPROCS(0)
	}
	bar := a.progress("changes", 0, string(mutate.Behaviour), string(mutate.DigestOnly), string(mutate.Missed), string(mutate.FalseAlarm))
	opts := mutate.Options{Sample: f.sample, Seed: f.seed, Jobs: f.jobs, Tried: func(t *mutate.Tried) { bar.Done(string(t.Outcome), nil) }}
	stopped, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-cli.Stopping(ctx):
			cancel()
		case <-stopped.Done():
		}
	}()
	res, err := mutate.Corpus(stopped, paths, opts)
	bar.Close()
	if err != nil && cli.WasInterrupted(ctx) {
		return &cli.Exit{Code: cli.Interrupted, Err: fmt.Errorf("interrupted")}
	}
	if err != nil {
		return err
	}
	if *f.json {
		err = cli.WriteJSON(a.stdout, mutateJSON{"harnessbench/mutate/v1", len(paths), res.OK(), res})
	} else {
		printMutated(a, res, len(paths))
	}
	if err != nil {
		return err
	}
	code := cli.OK
	if !res.OK() {
		code = cli.No
	}
	if len(res.Unjudged) > 0 || res.Tried == 0 {
		code = cli.Worst(code, cli.CannotJudge)
	}
	return cli.Status(code)
}

// shownFindings is how many findings of a kind are printed.
const shownFindings = 20

func printMutated(a *app, r *mutate.Result, sessions int) {
	printUnjudged(a, r.Unjudged)
	for _, path := range r.Skipped {
		fmt.Fprintf(a.stdout, "PASSED OVER %s: recorded traffic\n", cli.SanitizeLine(path))
	}
	printFindings(a, "MISSED", r.Missed, r.MissedAll)
	printFindings(a, "FALSE ALARM", r.FalseAlarms, r.FalseAll)
	for _, f := range r.Unexplained {
		fmt.Fprintf(a.stdout, "UNEXPLAINED %s: a digest alone caught it, and no reason is known why nothing depends on it\n", cli.SanitizeLine(f))
	}
	for _, f := range r.Stale {
		fmt.Fprintf(a.stdout, "STALE %s: it was caught by behaviour, and the table says that nothing depends on it\n", cli.SanitizeLine(f))
	}
	printDigestOnly(a, r)
	caught := r.Behaviour + r.Digest
	fmt.Fprintf(a.stdout, "%s, %d fields, %s that mean something: %s caught\n", cli.Count(sessions, "session"), len(r.Fields), cli.Count(r.Tried, "change"), share(caught, r.Tried))
	fmt.Fprintf(a.stdout, "  by behaviour     %d (%s)\n", r.Behaviour, share(r.Behaviour, r.Tried))
	fmt.Fprintf(a.stdout, "  by digest alone  %d (%s)\n", r.Digest, share(r.Digest, r.Tried))
	fmt.Fprintf(a.stdout, "  missed           %d\n", r.MissedAll)
	fmt.Fprintf(a.stdout, "%s that mean nothing: %s\n", cli.Count(r.Harmless, "change"), cli.Count(r.FalseAll, "false alarm"))
}

func share(n, of int) string {
	if of == 0 {
		return "none"
	}
	if n == of {
		return "100 %"
	}
	// 99.96 % is not 100 %: what is missing is never rounded away.
	return fmt.Sprintf("%.1f %%", min(float64(n)*100/float64(of), 99.9))
}

func printUnjudged(a *app, list []mutate.Unjudged) {
	for i, u := range list {
		if i == shownFindings {
			fmt.Fprintf(a.stdout, "%d more cannot be judged (--json lists all)\n", len(list)-i)
			return
		}
		fmt.Fprintf(a.stdout, "NOT JUDGED %s\n  %s\n", cli.SanitizeLine(u.Path), cli.SanitizeLine(u.Reason))
	}
}

func printFindings(a *app, what string, list []mutate.Finding, all int) {
	for i, f := range list {
		if i == shownFindings {
			fmt.Fprintf(a.stdout, "%d more (%s)\n", all-i, strings.ToLower(what))
			return
		}
		place := fmt.Sprintf("line %d (%s)", f.Line, f.Type)
		if f.Pointer != "" {
			place += " " + f.Pointer
		}
		fmt.Fprintf(a.stdout, "%s %s %s: %s\n", what, cli.SanitizeLine(f.Path), cli.SanitizeLine(place), f.Kind)
		if f.Verdict != "" || f.Reason != "" {
			fmt.Fprintf(a.stdout, "  %s\n", cli.SanitizeLine(strings.TrimSpace(string(f.Verdict)+" "+f.Reason)))
		}
	}
}

// printDigestOnly lists the fields of which a change was caught by a digest
// alone.
func printDigestOnly(a *app, r *mutate.Result) {
	first := true
	for _, f := range r.Fields {
		if f.Digest == 0 || f.Origin != session.Input {
			continue
		}
		if first {
			fmt.Fprintln(a.stdout, "caught by the digest over inputs alone, for nothing depends on it (times, of tried):")
			first = false
		}
		fmt.Fprintf(a.stdout, "  %-44s %5d of %-5d %s\n", cli.SanitizeLine(f.Field), f.Digest, f.Tried, f.Reason)
	}
	if !first {
		fmt.Fprintln(a.stdout)
	}
}
