package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/transcript"
	"github.com/harnessbench/harnessbench/recorder/session"
)

func newDiff(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two sessions turn by turn",
		Long: `Aligns two sessions turn by turn, lane by lane, and says what is equal, what differs,
and what differs first: messages, requests, answers, calls, results, guards, and how
they ended. Turns are recognised by what was said, called and returned: one that was
inserted or removed is shown as such, and later turns stand beside each other again.
Labels and the chain over the lines are no part of it.

Exit 0: equal. 1: different. 3: one of them is damaged; the line is named.`,
		Example: `  harnessbench diff runs/a/sessions/X.session.jsonl runs/b/sessions/X.session.jsonl`,
		Args:    cli.Args(cobra.ExactArgs(2)),
	}
	asJSON := cli.JSONFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error { return diffSessions(a, args[0], args[1], *asJSON) }
	return cmd
}

// diffSessions is the command.
func diffSessions(a *app, nameA, nameB string, asJSON bool) error {
	frugal()
	paths := [2]string{nameA, nameB}
	var sources [2]transcript.Source
	var opened []*session.Session
	defer func() {
		for _, s := range opened {
			s.Close()
		}
	}()
	for i := range paths {
		path, err := oneSession(paths[i])
		if err != nil {
			return err
		}
		paths[i] = path
		sources[i] = func() (*session.Reader, error) {
			s, err := session.Open(path)
			if err != nil {
				return nil, cli.WithCode(cli.Wrong, err)
			}
			opened = append(opened, s)
			return s.Reader, nil
		}
	}
	c, err := transcript.Compare(sources[0], sources[1], paths[0], paths[1])
	var bad *transcript.SideError
	var exit *cli.Exit
	if errors.As(err, &exit) {
		return exit
	}
	if errors.As(err, &bad) {
		return sessionError(paths[bad.Side], bad.Err)
	}
	if err != nil {
		return err
	}
	if asJSON {
		err = cli.WriteJSON(a.stdout, c)
	} else {
		err = c.WriteText(a.stdout, columns(a), a.out.Color)
	}
	if err == nil && !c.Equal {
		return cli.Status(cli.No)
	}
	return err
}
