package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/render"
	"github.com/harnessbench/harnessbench/recorder/wire"
)

func newServe(a *app) *cobra.Command {
	var f wireFlags
	var o wire.EndpointOptions
	var listen string
	cmd := &cobra.Command{
		Use:   "serve (--model sim/NAME | --model replay/PATH | --upstream URL)",
		Short: "Answer the OpenAI and Anthropic APIs on this machine",
		Long: `Speaks /v1/chat/completions, /v1/responses, /v1/messages, /v1/messages/count_tokens
and /v1/models, streamed and not, on loopback.

--model sim/NAME     a simulated model answers; a request may name another one. The
                     scenario is found by the task's text, the luck by the seed.
--model replay/PATH  a recording answers, strictly: the first request that is not in
                     it gets a 400 that says where it departs, and so do all after it.
--upstream URL       requests are passed on as they are, and answers back.
--record DIR         what passes is recorded there; keys are not.

The first line on stdout is the base URL: OpenAI clients take it with /v1 behind it,
Anthropic clients as it is. It serves until it is interrupted (SIGINT, SIGTERM); a
replay then prints its verdict and exits by it.

Exit 0: served, or replayed as recorded. 1: the replay diverged. 2: usage. 3: nothing
was asked, or the recording cannot be read. 4: the recording could not be written.`,
		Example: `  harnessbench serve --model sim/weak
  harnessbench serve --model replay/recordings/agent.session.jsonl --listen 127.0.0.1:8080
  harnessbench serve --record recordings --upstream https://api.openai.com/v1`,
		Args: cli.Args(cobra.NoArgs),
	}
	fl := cmd.Flags()
	fl.StringVar(&listen, "listen", "127.0.0.1:0", "address; port 0 takes a free one")
	fl.BoolVar(&o.AllowRemote, "allow-remote", false, "let --listen name an address that other machines reach")
	fl.StringVar(&f.model, "model", "", "sim/NAME or replay/PATH")
	fl.StringVar(&f.out, "record", "", "record what passes in this folder")
	fl.StringVar(&f.name, "name", "", "name of the recording (default: serve, with a number)")
	f.modelFlags(fl)
	f.replayFlags(fl)
	f.normaliseFlag(fl)
	asJSON := cli.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if f.model == "" && f.upstream == "" && f.out == "" {
			return cli.Usagef("say --model sim/weak, --model replay/PATH or --upstream URL", "nothing says what is to answer")
		}
		if f.name == "" {
			f.name, f.derived = "serve", true
		}
		return serve(cmd.Context(), a, &f, listen, o, *asJSON)
	}
	return cmd
}

// stopGrace is how long answers may go on after the operator asked to stop.
const stopGrace = 2 * time.Second

// serveJSON is the first line of serve --json.
type serveJSON struct {
	Schema string `json:"schema"`
	URL    string `json:"url"`
}

// serve is the command.
func serve(ctx context.Context, a *app, f *wireFlags, listen string, o wire.EndpointOptions, asJSON bool) error {
	e, err := wire.Listen(listen, o)
	if err != nil {
		return cli.WithCode(cli.Wrong, err)
	}
	s, err := f.station(a)
	if err != nil {
		_ = e.Stop(0) // it has not served yet
		return err
	}
	e.Serve(s.handler)
	if asJSON {
		err = cli.WriteJSON(a.stdout, serveJSON{"harnessbench/serve/v1", e.URL()})
	} else {
		_, err = fmt.Fprintln(a.stdout, e.URL())
	}
	if err == nil {
		if !a.quiet {
			fmt.Fprintf(a.stderr, "serving: OPENAI_BASE_URL=%s/v1 ANTHROPIC_BASE_URL=%s\n", e.URL(), e.URL())
		}
		select {
		case <-cli.Stopping(ctx):
		case <-ctx.Done():
		case <-e.Failed():
		}
	}
	return ended(a, f, s, []error{err, e.Stop(stopGrace)}, asJSON)
}

// ended closes what serve opened, and prints the verdict of a replay.
func ended(a *app, f *wireFlags, s *station, errs []error, asJSON bool) error {
	if err := s.close(a); err != nil {
		errs = append(errs, err)
	}
	for _, err := range errs {
		if err != nil {
			return cli.WithCode(cli.Errored, err)
		}
	}
	if s.replay == nil {
		return nil
	}
	report := s.replay.Report()
	code, err := f.judge(report)
	if err != nil {
		return err
	}
	if asJSON {
		err = cli.WriteJSON(a.stdout, report)
	} else {
		c := render.Traffic(report)
		err = render.One(a.stdout, &c, a.out.Color)
	}
	if err != nil {
		return err
	}
	return cli.Status(code)
}
