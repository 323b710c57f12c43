package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
	"github.com/harnessbench/harnessbench/replayer/minimise"
)

// minimiseFlags are the flags of session minimise.
type minimiseFlags struct {
	out       string
	overwrite bool
	redact    bool
	budget    int
	config    string
	suite     string
	json      *bool
}

func newSessionMinimise(a *app) *cobra.Command {
	var f minimiseFlags
	cmd := &cobra.Command{
		Use:   "minimise SESSION -o OUT",
		Short: "Make a small session that shows the same divergence",
		Long: `Makes a small session that shows what SESSION shows under this build: the same verdict
and, where it diverges, the same line, stage and pointer. What follows the divergence is
cut off, files that nobody needs are taken away, and texts are replaced by short ones;
each step is replayed and kept only if the session goes on to show the same. The result
is sound: harnessbench verify and replay take it like any other.

--redact-texts replaces texts by placeholders of the same length, for a report that must
not tell what was said. Texts that had to stay, and the arguments of calls, which always
stay, are listed: look at them before you send the file.

Exit 0: written. 3: the session shows nothing (it replays as recorded), or is damaged.`,
		Example: `  harnessbench session minimise runs/monday/sessions/X.session.jsonl -o small.session.jsonl
  harnessbench session minimise --config=current --suite my-suite.yaml X.session.jsonl -o small.session.jsonl
  harnessbench session minimise --redact-texts X.session.jsonl -o report.session.jsonl`,
		Args: cli.Args(cobra.ExactArgs(1)),
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "out", "o", "", "session file to write (needed)")
	fl.BoolVar(&f.overwrite, "overwrite", false, "replace OUT if it is there")
	fl.BoolVar(&f.redact, "redact-texts", false, "replace texts by placeholders of the same length")
	fl.IntVar(&f.budget, "budget", minimise.DefaultBudget, "replays at most")
	fl.StringVar(&f.config, "config", "recorded", "recorded or current, as in replay")
	completeConfig(cmd)
	fl.StringVar(&f.suite, "suite", design.DefaultSuite, "with --config=current: the suite that says what is current")
	f.json = cli.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case f.out == "":
			return cli.Usagef("name the file to write: -o small"+session.Suffix, "session minimise: no -o")
		case f.budget < 1:
			return cli.Usagef("use 1 or more", "--budget %d", f.budget)
		case cmd.Flags().Changed("suite") && f.config != "current":
			return cli.Usagef("add --config=current", "--suite says what is current, and the session is replayed as recorded")
		}
		return minimiseSession(cmd.Context(), a, args[0], f)
	}
	return cmd
}

// minimiseJSON is what --json prints.
type minimiseJSON struct {
	Schema string `json:"schema"`
	From   string `json:"from"`
	Out    string `json:"out"`
	*minimise.Result
}

// minimiseSession is the command.
func minimiseSession(ctx context.Context, a *app, arg string, f minimiseFlags) error {
	path, err := oneSession(arg)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(f.out); err == nil && !f.overwrite {
		return cli.Usagef("choose another name, or add --overwrite", "%s is there already", f.out)
	}
	if was, err := os.Stat(f.out); err == nil {
		if from, err := os.Stat(path); err == nil && os.SameFile(was, from) {
			return cli.Usagef("choose another name", "%s is the session itself", f.out)
		}
	}
	opts := minimise.Options{RedactTexts: f.redact, Budget: f.budget}
	switch f.config {
	case "recorded":
	case "current":
		current, err := design.Current(f.suite)
		if err != nil {
			return cli.WithCode(cli.Wrong, err)
		}
		opts.Replay = replayer.Options{Current: current}
	default:
		return cli.Usagef("use recorded or current", "--config %q", f.config)
	}
	res, err := minimise.File(ctx, path, opts)
	switch {
	case errors.Is(err, minimise.ErrNothing):
		return &cli.Exit{Code: cli.CannotJudge, Err: err, Hint: "with --config=current it is replayed under today's settings"}
	case err != nil && cli.WasInterrupted(ctx):
		return &cli.Exit{Code: cli.Interrupted, Err: errors.New("interrupted")}
	case err != nil:
		return sessionError(path, err)
	}
	if err := res.Write(f.out, f.overwrite); err != nil {
		return cli.WithCode(cli.Wrong, err)
	}
	if *f.json {
		return cli.WriteJSON(a.stdout, minimiseJSON{"harnessbench/minimise/v1", path, f.out, res})
	}
	printMinimised(a, path, f.out, res)
	return nil
}

func printMinimised(a *app, from, out string, r *minimise.Result) {
	row := func(name, format string, args ...any) {
		fmt.Fprintf(a.stdout, "  %-9s %s\n", name, cli.SanitizeLine(fmt.Sprintf(format, args...)))
	}
	fmt.Fprintf(a.stdout, "%s %s\n", r.Report.Verdict, cli.SanitizeLine(out))
	row("shows", "%s", r.Report.Reason)
	row("from", "%s", from)
	row("lines", "%d of %d", r.Lines[1], r.Lines[0])
	row("bytes", "%d of %d", r.Bytes[1], r.Bytes[0])
	if r.Blobs[0] > 0 {
		row("contents", "%d of %d beside the file", r.Blobs[1], r.Blobs[0])
	}
	row("replaced", "%s", cli.Count(r.Texts, "text"))
	row("replays", "%d", r.Replays)
	for i, k := range r.Kept {
		if i == shownFindings {
			row("kept", "%d more (--json lists all)", len(r.Kept)-i)
			break
		}
		row("kept", "line %d %s, %d bytes", k.Line, k.Pointer, k.Bytes)
	}
}
