package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/render"
)

// serveFlags checks the command line of replay --serve and returns what is to be
// replayed and the command.
func (f *replayFlags) serveArgs(cmd *cobra.Command, args []string) (path string, argv []string, err error) {
	for _, name := range []string{"config", "suite", "tools", "concurrency", "tolerant", "record-missing", "overwrite", "fail-fast", "grade", "models"} {
		if cmd.Flags().Changed(name) {
			return "", nil, cli.Usagef("leave one out", "--%s is for sessions of our own loop, --serve for recorded traffic", name)
		}
	}
	if *f.out.json {
		return "", nil, cli.Usagef("use --report FILE", "--json: stdout is the command's")
	}
	dash := cmd.ArgsLenAtDash()
	if dash < 0 || dash == len(args) {
		return "", nil, cli.Usagef("usage: harnessbench replay --serve [PATH] -- CMD [ARG...]", "no command after --")
	}
	switch dash {
	case 0:
		path = recordings
	case 1:
		path = args[0]
	default:
		return "", nil, cli.Usagef("name one recording", "%d recordings, and one command", dash)
	}
	return path, args[dash:], nil
}

// replayCommand runs a command against a recording.
func replayCommand(ctx context.Context, a *app, f *wireFlags, o *replayOutput, path string, argv []string) error {
	f.model = "replay/" + path
	cancel, err := o.open()
	if err != nil {
		return err
	}
	s, failed, err := f.around(ctx, a, argv)
	if s == nil {
		cancel()
		return err
	}
	report := s.replay.Report()
	code, jerr := f.judge(report)
	c := render.Traffic(report)
	if err = errors.Join(err, jerr, render.One(a.stderr, &c, a.err.Color), o.tell(a, []render.Case{c})); err != nil {
		return err
	}
	return result(ctx, code, argv, failed, nil)
}
