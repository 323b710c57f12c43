package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/transcript"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/results"
)

// showFlags are the flags of show.
type showFlags struct {
	full   bool
	turn   int
	follow bool
	json   *bool
}

func newShow(a *app) *cobra.Command {
	var f showFlags
	cmd := &cobra.Command{
		Use:   "show SESSION",
		Short: "Print a session as a readable transcript",
		Long: `Prints what a session recorded, turn by turn: what the model said and called, what
came back, which guards fired and why, and how it ended. Firings stand in the margin:
▲ the guard acted, △ it would have acted (shadow). A torn or unfinished session is
shown as far as it goes. With --follow it is shown while it is written, until its
footer or an interrupt; SESSION is then named as it will be.

SESSION is a session file; a folder or glob that holds just one works too.

Exit 0: shown. 3: the session is damaged; the line is named. 130: --follow was
interrupted.`,
		Example: `  harnessbench show runs/monday/sessions/abab-loop.sim_weak.default.0.session.jsonl
  harnessbench show FILE --turn 4
  harnessbench show --follow FILE
  harnessbench show --json FILE | jq 'select(.type == "guard") | .fields'`,
		Args: cli.Args(cobra.ExactArgs(1)),
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.full, "full", false, "show long texts and results whole")
	fl.IntVar(&f.turn, "turn", 0, "show this turn only, whole")
	fl.BoolVarP(&f.follow, "follow", "f", false, "show lines as they are written, until the session ends")
	f.json = cli.JSONFlag(cmd)
	cmd.Flags().Lookup("json").Usage = "print each line decoded, one JSON object a line"
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return showSession(cmd.Context(), a, args[0], f) }
	return cmd
}

// showSession is the command.
func showSession(ctx context.Context, a *app, arg string, f showFlags) error {
	frugal()
	if f.turn < 0 {
		return cli.Usagef("turns count from 1", "--turn %d", f.turn)
	}
	path, r, done, err := openShown(ctx, arg, f.follow)
	if err != nil {
		return err
	}
	defer done()
	o := transcript.Options{
		Name: filepath.Base(path), Width: columns(a), Color: a.out.Color, Full: f.full, Turn: f.turn, Live: f.follow,
		Verdict: func(model.Digest) *results.Entry { return journalEntry(path) },
	}
	if *f.json {
		err = transcript.ShowJSON(a.stdout, r, o)
	} else {
		err = transcript.Show(a.stdout, r, o)
	}
	if f.follow && cli.WasInterrupted(ctx) && !r.Complete() {
		return cli.Status(cli.Interrupted)
	}
	return sessionError(path, err)
}

// openShown opens the session to show, or to follow.
func openShown(ctx context.Context, arg string, follow bool) (path string, r *session.Reader, done func() error, err error) {
	if follow {
		t, err := transcript.OpenTail(arg, cli.Stopping(ctx), transcript.Poll)
		if err != nil {
			return "", nil, nil, cli.Usagef("name the session as it will be named, without "+session.PartialSuffix+" or with it", "%v", err)
		}
		return strings.TrimSuffix(arg, session.PartialSuffix), session.NewReader(t), t.Close, nil
	}
	if path, err = oneSession(arg); err != nil {
		return "", nil, nil, err
	}
	s, err := session.Open(path)
	if err != nil {
		return "", nil, nil, cli.WithCode(cli.Wrong, err)
	}
	return path, s.Reader, s.Close, nil
}

// oneSession resolves an argument that names just one session.
func oneSession(arg string) (string, error) {
	if info, err := os.Stat(arg); err == nil && !info.IsDir() {
		return arg, nil
	}
	paths, err := cli.Sessions([]string{arg})
	if err != nil {
		return "", err
	}
	if len(paths) > 1 {
		return "", cli.Usagef("name one of them, for example "+paths[0], "%s holds %d sessions", arg, len(paths))
	}
	return paths[0], nil
}

// sessionError gives an error of reading a session its code and the file's name.
func sessionError(path string, err error) error {
	var noTurn *transcript.NoTurnError
	var corrupt *session.CorruptError
	var decode *session.DecodeError
	if err == nil {
		return nil
	}
	named := err
	if !strings.HasPrefix(err.Error(), path+": ") {
		named = fmt.Errorf("%s: %w", path, err)
	}
	switch {
	case errors.As(err, &noTurn):
		return cli.Usagef("turns count from 1", "%s: %v", path, err)
	case errors.As(err, &corrupt) && corrupt.Line > 1, errors.As(err, &decode):
		return &cli.Exit{Code: cli.CannotJudge, Err: named, Hint: "the lines before it are sound"}
	case errors.As(err, &corrupt):
		return &cli.Exit{Code: cli.CannotJudge, Err: named, Hint: "it is no session, or its first line is damaged"}
	}
	return &cli.Exit{Code: cli.CannotJudge, Err: named}
}

// columns is the width of the terminal; 0 where there is none.
func columns(a *app) int {
	f, ok := a.stdout.(*os.File)
	if !ok || !a.out.TTY {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// journalEntry finds what the run that a session belongs to knows of it, reading
// the journal line by line; nil when there is none.
func journalEntry(path string) *results.Entry {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil
	}
	name := filepath.Base(abs)
	f, err := os.Open(filepath.Join(filepath.Dir(filepath.Dir(abs)), results.JournalFile))
	if err != nil {
		return nil
	}
	defer f.Close()
	quoted, err := json.Marshal(name)
	if err != nil {
		return nil
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, results.MaxJournalLine)
	for lines.Scan() {
		if !bytes.Contains(lines.Bytes(), quoted) {
			continue
		}
		c, err := results.ReadJournal(bytes.NewReader(append(bytes.Clone(lines.Bytes()), '\n')), results.JournalFile)
		if err == nil && len(c.Entries) == 1 && c.Entries[0].Trial.Session == name {
			return &c.Entries[0]
		}
	}
	return nil
}
