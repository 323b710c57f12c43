package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/harnessbench/harnessbench/ablations"
	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/results/importer"
)

// importFlags are the flags of import.
type importFlags struct {
	out    string
	model  string
	domain string
	json   *bool
}

func newImport(a *app) *cobra.Command {
	var f importFlags
	var known []string
	for _, i := range importer.Formats {
		known = append(known, fmt.Sprintf("  %-10s  %s", i.Name, i.Summary))
	}
	cmd := &cobra.Command{
		Use:   "import FORMAT FILE",
		Short: "Turn what other tools recorded into sessions and trials",
		Long: `Reads a file that another tool recorded and makes a run folder of it: a session for
each trial, the journal, the tables and the report. Then show, diff and report work
on it as on a run of your own. What the other tool did not record, such as tokens,
costs and times, stays unknown.

Formats:
` + strings.Join(known, "\n"),
		Example: `  harnessbench import tau-bench gpt-4o-airline.json -o runs/tau-airline
  harnessbench import tau-bench results.json --model openai/gpt-4o --domain airline`,
		Args: cli.Args(cobra.ExactArgs(2)),
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "out", "o", "", "run folder, new or empty (default: a new one under runs/)")
	fl.StringVar(&f.model, "model", "", "model that was recorded, provider/name (default: what the file's name tells)")
	fl.StringVar(&f.domain, "domain", "", "first part of scenario ids (default: what the file's name tells)")
	f.json = cli.JSONFlag(cmd)
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return importer.Names(), cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return importFile(cmd.Context(), a, args[0], args[1], f)
	}
	return cmd
}

// importFile is the command: everything is made in a folder beside the run
// folder, which gets its name when all of it is there.
func importFile(ctx context.Context, a *app, name, path string, f importFlags) (err error) {
	format, ok := importer.Lookup(name)
	if !ok {
		return cli.Usagef("there are: "+strings.Join(importer.Names(), ", "), "no importer %q", name)
	}
	began := time.Now()
	out := f.out
	if out == "" {
		out = filepath.Join("runs", name+"-"+began.UTC().Format("20060102-150405"))
	}
	temp, err := besideFolder(out)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(temp))
		}
	}()
	res, err := importInto(ctx, a, format, path, temp, f)
	if err != nil {
		return err
	}
	if err := errors.Join(beginMachine(temp, "", "", nil), endMachine(temp, began)); err != nil {
		return cli.WithCode(cli.Errored, err)
	}
	if _, err := publish(temp); err != nil {
		return cli.WithCode(cli.Errored, err)
	}
	if err := takeName(temp, out); err != nil {
		return cli.WithCode(cli.Errored, err)
	}
	return printImport(a, res, out, *f.json)
}

// besideFolder makes a temporary folder beside the folder out, which must be new
// or empty.
func besideFolder(out string) (string, error) {
	entries, err := os.ReadDir(out)
	switch {
	case err == nil && len(entries) > 0:
		return "", cli.Usagef("name a new folder, or remove what is there", "the run folder %s is not empty", out)
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return "", cli.WithCode(cli.Wrong, err)
	}
	out = filepath.Clean(out)
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return "", cli.WithCode(cli.Wrong, err)
	}
	temp, err := os.MkdirTemp(filepath.Dir(out), ".import-*")
	if err != nil {
		return "", cli.WithCode(cli.Wrong, err)
	}
	return temp, cli.WithCode(cli.Wrong, os.Chmod(temp, 0o755))
}

// takeName gives the finished folder its name.
func takeName(temp, out string) error {
	if err := os.Remove(out); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Rename(temp, filepath.Clean(out))
}

// importInto writes sessions, lock and journal into dir.
func importInto(ctx context.Context, a *app, format importer.Format, path, dir string, f importFlags) (*importer.Result, error) {
	sessions := filepath.Join(dir, ablations.SessionsDir)
	if err := os.Mkdir(sessions, 0o755); err != nil {
		return nil, cli.WithCode(cli.Errored, err)
	}
	bar := a.progress("sessions", 0, results.Pass, results.Fail)
	res, err := format.Import(path, importer.Options{
		Model: f.model, Domain: f.domain,
		Open: func(name string, h *session.Header) (importer.Target, error) {
			select {
			case <-cli.Stopping(ctx):
				return importer.Target{}, &cli.Exit{Code: cli.Interrupted, Err: errors.New("interrupted; nothing was kept")}
			default:
				return openTarget(filepath.Join(sessions, name), h)
			}
		},
		Done: func(s *importer.Session) {
			label := results.Fail
			if s.Verdict.Pass {
				label = results.Pass
			}
			bar.Done(label, nil)
		},
	})
	bar.Close()
	if err != nil {
		return nil, importError(err)
	}
	lock := importLock(res)
	raw, err := lock.Encode()
	if err != nil {
		return nil, cli.WithCode(cli.Errored, err)
	}
	if err := os.WriteFile(filepath.Join(dir, design.LockFile), raw, 0o644); err != nil {
		return nil, cli.WithCode(cli.Errored, err)
	}
	j, err := results.CreateJournal(filepath.Join(dir, results.JournalFile))
	if err != nil {
		return nil, cli.WithCode(cli.Errored, err)
	}
	err = j.Append(res.Entries(results.RunID(lock.Name, raw), lock.Name)...)
	return res, cli.WithCode(cli.Errored, errors.Join(err, j.Close()))
}

// importError gives an error of an import its code and says what to do.
func importError(err error) error {
	var in *importer.InputError
	if errors.As(err, &in) {
		return &cli.Exit{Code: cli.Wrong, Err: err, Hint: "nothing was imported: correct the file, or take the record out"}
	}
	return cli.WithCode(cli.Wrong, err)
}

// openTarget records one session into a file.
func openTarget(path string, h *session.Header) (importer.Target, error) {
	file, err := session.Create(path, session.FileOptions{Sync: session.SyncNever})
	if err != nil {
		return importer.Target{}, err
	}
	rec, err := recorder.New(file.Writer, *h, recorder.Config{Blobs: session.BlobsBeside(path)})
	if err != nil {
		return importer.Target{}, errors.Join(err, file.Close())
	}
	return importer.Target{Sink: rec, Close: func() (model.Digest, error) {
		err := file.Close()
		return file.Digest(), err
	}}, nil
}

// importLock says what the run folder holds, as a suite's lock does.
func importLock(res *importer.Result) design.Lock {
	l := design.Lock{Schema: design.LockSchema, Name: res.Format + "-" + res.Domain,
		Repetitions: res.Counts.Repetitions, Models: []string{res.Model},
		Arms:        []design.LockArm{{Name: importer.Arm, Guards: "{}"}},
		Comparisons: []design.Comparison{}}
	for _, s := range res.Scenarios() {
		l.Scenarios = append(l.Scenarios, design.LockScenario{ID: s.ID, Digest: s.Digest, Source: "sha256:" + res.Digest.Short() + "/" + s.Source})
	}
	return l
}

// importJSON is what --json prints.
type importJSON struct {
	Schema       string      `json:"schema"`
	Format       string      `json:"format"`
	Folder       string      `json:"folder"`
	Model        string      `json:"model"`
	FileDigest   string      `json:"file_sha256"`
	Scenarios    int         `json:"scenarios"`
	Repetitions  int         `json:"repetitions"`
	Sessions     int         `json:"sessions"`
	Turns        int         `json:"turns"`
	ToolCalls    int         `json:"tool_calls"`
	ErrorResults int         `json:"error_results"`
	Passes       int         `json:"passes"`
	Errored      int         `json:"errored"`
	Ends         []importEnd `json:"ends"`
}

type importEnd struct {
	Reason   string `json:"reason"`
	Sessions int    `json:"sessions"`
}

func printImport(a *app, res *importer.Result, out string, asJSON bool) error {
	c := res.Counts
	if asJSON {
		j := importJSON{"harnessbench/import/v1", res.Format, out, res.Model, res.Digest.String(), c.Scenarios, c.Repetitions,
			c.Sessions, c.Turns, c.ToolCalls, c.ErrorResults, c.Passes, c.Errored, []importEnd{}}
		for _, e := range c.Ends {
			j.Ends = append(j.Ends, importEnd{e.Reason, e.Sessions})
		}
		return cli.WriteJSON(a.stdout, j)
	}
	row := func(name string, n int, more string) {
		line := fmt.Sprintf("  %-18s %7s   %s", name, thousands(n), more)
		fmt.Fprintln(a.stdout, strings.TrimRight(line, " "))
	}
	fmt.Fprintf(a.stdout, "imported from %s: %s, arm %s\n", res.Format, res.Model, importer.Arm)
	row("sessions", c.Sessions, fmt.Sprintf("scenarios: %d, repetitions: up to %d", c.Scenarios, c.Repetitions))
	row("turns", c.Turns, "")
	row("tool calls", c.ToolCalls, "")
	row("error results", c.ErrorResults, "")
	graded := c.Sessions - c.Errored
	if graded > 0 {
		row("passes", c.Passes, fmt.Sprintf("%.1f %% of %d graded", 100*float64(c.Passes)/float64(graded), graded))
	} else {
		row("passes", 0, "none graded")
	}
	if c.Errored > 0 {
		row("errored", c.Errored, "in no denominator")
	}
	for _, e := range c.Ends {
		row("ended "+e.Reason, e.Sessions, "")
	}
	fmt.Fprintf(a.stdout, "run folder: %s\n", cli.SanitizeLine(out))
	return nil
}

// thousands writes a count >= 0 with a comma before each three digits.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
