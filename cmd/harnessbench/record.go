package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/recorder/wire"
)

// recordings is the folder that record writes to.
const recordings = "recordings"

func newRecord(a *app) *cobra.Command {
	var f wireFlags
	cmd := &cobra.Command{
		Use:   "record [flags] -- CMD [ARG...]",
		Short: "Run an agent and record what it says to its model",
		Long: `Runs CMD with OPENAI_BASE_URL, OPENAI_API_BASE and ANTHROPIC_BASE_URL set to an
endpoint on this machine, which passes requests on and answers back, byte for byte,
and records both. Its keys are passed on and never written.

Requests go where these variables pointed before, else to the provider; --upstream
names another place, and --model sim/NAME has a simulated model answer: no key, no
network. With CI set nothing goes out.

CMD has our stdin, stdout and stderr. The recording is DIR/NAME.session.jsonl, NAME
by default after the program with a number where that is taken.

Exit 0: recorded, and CMD succeeded. 1: recorded, and CMD failed. 2: usage. 3: no
model request came. 4: the recording could not be written. 130: interrupted.`,
		Example: `  harnessbench record -- python agent.py "fix the tests"
  harnessbench record --model sim/weak --name agent -- node dist/agent.js
  harnessbench record -o testdata --upstream http://127.0.0.1:11434/v1 -- ./agent`,
		Args: cli.Args(cobra.MinimumNArgs(1)),
	}
	fl := cmd.Flags()
	fl.SetInterspersed(false)
	fl.StringVarP(&f.out, "out", "o", recordings, "folder of the recording")
	fl.StringVar(&f.name, "name", "", "name of the recording")
	fl.StringVar(&f.model, "model", "", "a simulated model answers: sim/NAME")
	f.modelFlags(fl)
	f.normaliseFlag(fl)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if strings.HasPrefix(f.model, "replay/") {
			return cli.Usagef("harnessbench replay --serve PATH -- CMD replays", "record --model takes sim/NAME")
		}
		if f.out == "" {
			return cli.Usagef("name a folder", "-o is empty")
		}
		if f.name == "" {
			f.name, f.derived = commandName(args), true
		}
		return recordCommand(cmd.Context(), a, &f, args)
	}
	return cmd
}

// commandName names a recording after a command: after the script that it runs,
// where an argument is one, else after the program.
func commandName(argv []string) string {
	name := argv[0]
	for _, arg := range argv[1:] {
		info, err := os.Stat(arg)
		if err == nil && info.Mode().IsRegular() && filepath.Ext(arg) != "" {
			name = arg
			break
		}
	}
	name = filepath.Base(name)
	name = strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || strings.ContainsRune("-_.", r)) {
			return r
		}
		return '-'
	}, strings.TrimSuffix(name, filepath.Ext(name)))
	if name = strings.TrimLeft(name, ".-"); name == "" {
		return "command"
	}
	return name
}

// recordCommand is the command.
func recordCommand(ctx context.Context, a *app, f *wireFlags, argv []string) error {
	s, failed, err := f.around(ctx, a, argv)
	if s == nil {
		return err
	}
	if cerr := s.close(a); cerr != nil && err == nil {
		err = cerr
	}
	if err == nil && !a.quiet {
		fmt.Fprintf(a.stderr, "replay:   harnessbench replay --serve %s -- CMD\n", cli.ShellQuote(s.path))
	}
	return result(ctx, cli.OK, argv, failed, err)
}

// around runs a command against an endpoint. s is nil when nothing came of it.
func (f *wireFlags) around(ctx context.Context, a *app, argv []string) (s *station, failed, err error) {
	if _, err := exec.LookPath(argv[0]); err != nil {
		return nil, nil, &cli.Exit{Code: cli.Wrong, Err: fmt.Errorf("run %s: %w", argv[0], plain(err)), Hint: "name a program and its arguments after --"}
	}
	if s, err = f.station(a); err != nil {
		return nil, nil, err
	}
	e, err := wire.Listen("127.0.0.1:0", wire.EndpointOptions{})
	if err != nil {
		return s, nil, cli.WithCode(cli.Errored, err)
	}
	e.Serve(s.handler)
	failed, err = runChild(ctx, a, argv, wireEnv(os.Environ(), e.URL(), s.dummy))
	// Whoever asked has ended: what is still being answered, nobody waits for.
	return s, failed, errors.Join(err, e.Stop(0))
}

// result is the exit of a command that ran another one: the worse of the verdict
// and of how that ended.
func result(ctx context.Context, verdict cli.Code, argv []string, failed, err error) error {
	if cli.WasInterrupted(ctx) {
		return &cli.Exit{Code: cli.Interrupted, Err: cmp.Or(err, errors.New("interrupted"))}
	}
	if err != nil {
		return cli.WithCode(cli.Errored, err)
	}
	if failed != nil {
		return &cli.Exit{Code: cli.Worst(verdict, cli.No), Err: fmt.Errorf("%s: %w", argv[0], failed)}
	}
	return cli.Status(verdict)
}
