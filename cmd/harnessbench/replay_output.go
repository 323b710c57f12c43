package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/render"
	"github.com/harnessbench/harnessbench/replayer"
)

// detailed is how many sessions that are not as they should be are told of in
// full.
const detailed = 20

// replayOutput says where the reports of a replay go besides the text.
type replayOutput struct {
	json    *bool
	junit   string
	explain string
}

func (o *replayOutput) flags(cmd *cobra.Command) {
	o.json = cli.JSONFlag(cmd)
	cmd.Flags().StringVar(&o.junit, "junit", "", "also write a JUnit report to this file")
	cmd.Flags().StringVar(&o.explain, "explain", "", "print what a code of a report means, and replay nothing")
	codes := make([]string, len(replayer.Codes))
	for i, c := range replayer.Codes {
		codes[i] = string(c.Code) + "\t" + c.Title
	}
	// The error is for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("explain", cobra.FixedCompletions(codes, cobra.ShellCompDirectiveNoFileComp))
}

// args takes paths, or --explain without any.
func (o *replayOutput) args(cmd *cobra.Command, args []string) error {
	if cmd.Flags().Changed("junit") && o.junit == "" {
		return fmt.Errorf("--junit has no name")
	}
	if cli.IsSession(o.junit) {
		return fmt.Errorf("--junit %s would be written over a session: name another file", o.junit)
	}
	if !cmd.Flags().Changed("explain") {
		return cobra.MinimumNArgs(1)(cmd, args)
	}
	if len(args) > 0 {
		return fmt.Errorf("--explain takes a code and no sessions")
	}
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "explain" && f.Name != "json" && cmd.InheritedFlags().Lookup(f.Name) == nil {
			err = fmt.Errorf("--explain replays nothing: leave --%s out", f.Name)
		}
	})
	return err
}

// open makes sure before any work that the JUnit report can be written. The
// function that it returns takes an unfinished report away.
func (o *replayOutput) open() (cancel func(), err error) {
	if o.junit == "" {
		return func() {}, nil
	}
	err = os.MkdirAll(filepath.Dir(o.junit), 0o755)
	if err == nil {
		err = os.WriteFile(o.junit, nil, 0o644)
	}
	if err != nil {
		return nil, cli.Usagef("name a file that can be written", "--junit: %v", err)
	}
	return func() { os.Remove(o.junit) }, nil
}

// write gives the reports to everyone who wants them: JUnit file, GitHub, stdout.
func (o *replayOutput) write(a *app, reports []*replayer.Report) error {
	cases := make([]render.Case, 0, len(reports))
	for _, r := range reports {
		cases = append(cases, render.Session(r))
	}
	if err := o.tell(a, cases); err != nil {
		return err
	}
	if !*o.json {
		return render.Text(a.stdout, cases, detailed, a.out.Color)
	}
	var b bytes.Buffer
	if err := cli.WriteJSON(&b, replayJSON{replaySchema, reports, count(reports)}); err != nil {
		return err
	}
	_, err := a.stdout.Write(render.NeutralJSON(b.Bytes()))
	return err
}

// tell writes the JUnit report and, on GitHub, annotations and summary. These go
// to stderr: stdout may be data.
func (o *replayOutput) tell(a *app, cases []render.Case) error {
	if o.junit != "" {
		var b bytes.Buffer
		if err := render.JUnit(&b, cases); err != nil {
			return err
		}
		if err := os.WriteFile(o.junit, b.Bytes(), 0o644); err != nil {
			return cli.WithCode(cli.Wrong, fmt.Errorf("--junit: %w", err))
		}
	}
	g := render.OnGitHub(os.Getenv)
	if g == nil {
		return nil
	}
	if err := g.Annotate(a.stderr, cases); err != nil {
		return err
	}
	// A summary that cannot be written takes nothing from the verdict.
	if err := g.Summarise(cases); err != nil {
		fmt.Fprintf(a.stderr, "harnessbench: the step summary was not written: %s\n", render.Neutral(cli.SanitizeLine(err.Error())))
	}
	return nil
}

// explainCode is replay --explain.
func (o *replayOutput) explainCode(a *app) error {
	c, ok := replayer.Explain(o.explain)
	if !ok {
		first, last := replayer.Codes[0].Code, replayer.Codes[len(replayer.Codes)-1].Code
		return cli.Usagef(fmt.Sprintf("codes go from %s to %s; docs/replay.md lists them", first, last), "--explain: no code %q", o.explain)
	}
	if *o.json {
		return cli.WriteJSON(a.stdout, c)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s\n\n%s\n", c.Code, c.Name, c.Title, wrap(c.Means, ""))
	list := func(head string, lines []string) {
		fmt.Fprintf(&b, "\n%s\n", head)
		for _, s := range lines {
			fmt.Fprintf(&b, "- %s\n", wrap(s, "  "))
		}
	}
	list("Usual causes:", c.Causes)
	list("What to do:", c.Do)
	_, err := a.stdout.Write([]byte(b.String()))
	return err
}

// wrap breaks a text into lines of 80 columns; indent stands before all but the
// first.
func wrap(s, indent string) string {
	var b strings.Builder
	col := len(indent)
	for i, word := range strings.Fields(s) {
		switch {
		case i == 0:
		case col+1+len(word) > 80:
			b.WriteString("\n" + indent)
			col = len(indent)
		default:
			b.WriteByte(' ')
			col++
		}
		b.WriteString(word)
		col += len(word)
	}
	return b.String()
}
