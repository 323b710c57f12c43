package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/ablations/models"
	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/transcript"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
)

// updateFlags are the flags of session update.
type updateFlags struct {
	write  bool
	live   bool
	diff   bool
	config string
	suite  string
	models string
	jobs   int
	json   *bool
}

func newSessionUpdate(a *app) *cobra.Command {
	var f updateFlags
	cmd := &cobra.Command{
		Use:   "update PATH...",
		Short: "Record sessions again after an intended change, and say what changed",
		Long: `Drives the loop of today from recorded sessions, as replay does: with the recorded
answers and results as far as it asks for them, and from the first divergence on with
the simulated model of the session, or, with --live, with a real one. The session that
comes of it takes the place of the old one, as golden files are updated.

Without --write nothing is changed: it says what would be, turn by turn. With --write a
session that changed is replaced, at once and whole; one that did not is left alone.
The initial tree stays as recorded. Contents in blobs/ that no session names any more
are left where they are.

--config=current (the default) takes today's prompts, tools and guard settings of the
session's scenario and arm in --suite; --config=recorded keeps the recorded ones, and
what changes is what the code does.

Exit 0: nothing would change, or all that changed was written. 1: something would
change (without --write). 3: a session could not be recorded again; the reason is said.`,
		Example: `  harnessbench session update testdata/sessions
  harnessbench session update --write --suite my-suite.yaml 'testdata/*.session.jsonl'
  harnessbench session update --diff --config=recorded FILE`,
		Args: cli.Args(cobra.MinimumNArgs(1)),
	}
	fl := cmd.Flags()
	fl.BoolVarP(&f.write, "write", "w", false, "replace the sessions that changed")
	fl.BoolVar(&f.live, "live", false, "ask real models from the first divergence on (costs money; refused when CI is set)")
	fl.BoolVar(&f.diff, "diff", false, "print each comparison as harnessbench diff does")
	fl.StringVar(&f.config, "config", "current", "current or recorded")
	completeConfig(cmd)
	fl.StringVar(&f.suite, "suite", design.DefaultSuite, "the suite that says what is current, and how simulated models go on")
	fl.IntVarP(&f.jobs, "concurrency", "j", 0, "sessions at a time (default: the CPUs)")
	modelsFlag(fl, &f.models)
	f.json = cli.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case f.config != "current" && f.config != "recorded":
			return cli.Usagef("use current or recorded", "--config %q", f.config)
		case cmd.Flags().Changed("concurrency") && f.jobs < 1:
			return cli.Usagef("use 1 or more", "--concurrency %d", f.jobs)
		case f.models != "" && !f.live:
			return cli.Usagef("add --live", "--models says how models are asked, and none is")
		case f.live && inCI():
			return cli.Usagef("update where models may be asked, and commit what comes of it", "--live would ask real models, and CI is set")
		}
		return updateSessions(cmd.Context(), a, args, f)
	}
	return cmd
}

// completeConfig lets a shell complete --config.
func completeConfig(cmd *cobra.Command) {
	// The flag is there: it was added just before.
	_ = cmd.RegisterFlagCompletionFunc("config", cobra.FixedCompletions([]string{"current", "recorded"}, cobra.ShellCompDirectiveNoFileComp))
}

// Verdicts of an update.
const (
	updateSame    = "SAME"    // recorded again, the same bytes come out
	updateChanged = "CHANGED" // something else comes out
	updateRefused = "REFUSED" // it could not be recorded again
)

// updated is what became of one session.
type updated struct {
	Path    string                 `json:"path"`
	Verdict string                 `json:"verdict"`
	Written bool                   `json:"written"`
	Reason  string                 `json:"reason,omitempty"` // of REFUSED, or where the two part
	Served  int                    `json:"served"`           // model calls that the recording answered
	Asked   int                    `json:"asked"`            // model calls that were made
	Turns   turnCounts             `json:"turns"`
	Diff    *transcript.Comparison `json:"diff,omitempty"` // of CHANGED
}

// turnCounts counts the turns of a session that was recorded again.
type turnCounts struct {
	Same    int `json:"same"`
	Changed int `json:"changed"`
	Added   int `json:"added"`
	Removed int `json:"removed"`
}

// updateJSON is what --json prints.
type updateJSON struct {
	Schema   string         `json:"schema"`
	Sessions []*updated     `json:"sessions"`
	Verdicts map[string]int `json:"verdicts"`
}

// updateSessions is the command.
func updateSessions(ctx context.Context, a *app, args []string, f updateFlags) error {
	paths, err := cli.Sessions(args)
	if err != nil {
		return err
	}
	find, err := design.CurrentTrial(f.suite)
	if err != nil {
		return cli.WithCode(cli.Wrong, err)
	}
	u := &updater{f: f, find: find}
	out := make([]*updated, len(paths))
	bar := a.progress("sessions", len(paths), updateSame, updateChanged, updateRefused)
	err = sideBySide(ctx, len(paths), f.jobs, func(i int) error {
		var err error
		if out[i], err = u.session(ctx, paths[i]); err == nil {
			bar.Done(out[i].Verdict, nil)
		}
		return err
	})
	bar.Close()
	if err != nil {
		return err
	}
	res := updateJSON{"harnessbench/update/v1", out, map[string]int{}}
	code := cli.OK
	for _, s := range out {
		res.Verdicts[s.Verdict]++
		switch {
		case s.Verdict == updateRefused:
			code = cli.Worst(code, cli.CannotJudge)
		case s.Verdict == updateChanged && !s.Written:
			code = cli.Worst(code, cli.No)
		}
	}
	if *f.json {
		err = cli.WriteJSON(a.stdout, res)
	} else {
		err = printUpdated(a, &res, f)
	}
	if err != nil {
		return err
	}
	return cli.Status(code)
}

// updater records sessions again.
type updater struct {
	f    updateFlags
	find func(*session.Header) (*trial.Spec, error)
}

// session records one session again. The error is for what has nothing to do
// with it.
func (u *updater) session(ctx context.Context, path string) (*updated, error) {
	// Beside the session itself, not beside a link to it, so that what comes of it
	// can take its place at once.
	parent, target := "", path
	if u.f.write {
		var err error
		if target, err = filepath.EvalSymlinks(path); err != nil {
			return nil, cli.WithCode(cli.Wrong, err)
		}
		parent = filepath.Dir(target)
	}
	dir, err := os.MkdirTemp(parent, ".update-*")
	if err != nil {
		return nil, cli.WithCode(cli.Wrong, err)
	}
	defer os.RemoveAll(dir)
	again := filepath.Join(dir, filepath.Base(target))
	out := &updated{Path: path, Verdict: updateRefused}
	d, err := u.drive(ctx, path, again)
	switch {
	case ctx.Err() != nil:
		return nil, &cli.Exit{Code: cli.Interrupted, Err: errors.New("interrupted"), Hint: "sessions that were not replaced yet are as they were"}
	case err != nil:
		out.Reason = err.Error()
		return out, nil
	case d.Left == nil:
		out.Reason = strings.TrimSpace(string(d.Report.Verdict) + " " + d.Report.Reason)
		return out, nil
	}
	out.Served, out.Asked = d.Served, d.Asked
	same, err := sameFile(path, again)
	if err != nil {
		return nil, cli.WithCode(cli.CannotJudge, err)
	}
	if same {
		out.Verdict = updateSame
		return out, nil
	}
	if d.Report.Verdict.Exit() != 0 {
		out.Reason = d.Report.Reason
		if end := d.Left.End; end.Reason == event.CancelledRun && d.Asked == 0 && !u.live(d.Left.Header) {
			out.Reason += "; the recording answers no further: use --live to ask the model from there on"
			return out, nil
		}
	}
	if err := out.compare(path, again); err != nil {
		out.Reason = err.Error()
		return out, nil
	}
	out.Verdict = updateChanged
	if u.f.write {
		if err := replaceSession(target, again); err != nil {
			return nil, cli.WithCode(cli.Wrong, err)
		}
		out.Written = true
	}
	return out, nil
}

// live reports whether the model of a session may be asked.
func (u *updater) live(h *session.Header) bool { return trial.IsSimulated(h.Model) || u.f.live }

// drive records a session again at a path.
func (u *updater) drive(ctx context.Context, path, again string) (*replayer.Driven, error) {
	h, err := headerOf(path)
	if err != nil {
		return nil, err
	}
	o := replayer.DriveOptions{Record: again, Sync: session.SyncFooter}
	if u.f.config == "current" {
		o.Config = func(h *session.Header, _ *trial.Rebuilt) (*trial.Rebuilt, error) {
			spec, err := u.find(h)
			if err != nil {
				return nil, err
			}
			return spec.Rebuilt()
		}
		o.Header = func(h *session.Header) {
			if spec, err := u.find(h); err == nil {
				if d, err := model.ParseDigest(spec.Scenario.Digest); err == nil {
					h.ScenarioDigest = d
				}
			}
		}
	}
	if h != nil && u.live(h) {
		others, _, err := trial.RecordedFallbacks(h)
		if err != nil {
			return nil, err
		}
		ask, err := u.provider(append([]string{h.Model}, others...))
		if err != nil {
			return nil, err
		}
		o.Live = replayer.LiveTrial(u.find, func(s *trial.Spec) (model.Model, error) { return s.NewModel(ask) })
		if !trial.IsSimulated(h.Model) {
			o.Sync = session.SyncTurns
		}
	}
	return replayer.Drive(ctx, path, o)
}

// provider makes what asks the real models of a session, its own first; nil for
// simulated ones.
func (u *updater) provider(ids []string) (trial.Provider, error) {
	if trial.IsSimulated(ids[0]) {
		return nil, nil
	}
	file, err := models.Open(u.f.models, os.Getenv)
	if err != nil {
		return nil, err
	}
	used, err := (&design.Suite{Models: ids}).Use(file)
	if err != nil {
		return nil, err
	}
	p, err := reach(used)
	if err != nil || p == nil {
		return nil, err
	}
	return p.Model, nil
}

// sameFile reports whether two sessions have the same lines.
func sameFile(a, b string) (bool, error) {
	var sums [2]model.Digest
	for i, path := range []string{a, b} {
		s, err := session.Open(path)
		if err != nil {
			return false, err
		}
		_, err = session.Verify(s.Reader)
		sums[i] = s.Digest()
		s.Close()
		if err != nil && i == 1 {
			return false, fmt.Errorf("%s: %w", path, err)
		}
	}
	return sums[0] == sums[1], nil
}

// compare says what changed.
func (u *updated) compare(old, now string) error {
	var opened []*session.Session
	defer func() {
		for _, s := range opened {
			s.Close()
		}
	}()
	source := func(path string) transcript.Source {
		return func() (*session.Reader, error) {
			s, err := session.Open(path)
			if err != nil {
				return nil, err
			}
			opened = append(opened, s)
			return s.Reader, nil
		}
	}
	c, err := transcript.Compare(source(old), source(now), old, "recorded again")
	if err != nil {
		return err
	}
	u.Diff = c
	for i := range c.Turns {
		switch t := &c.Turns[i]; {
		case t.Turn() == 0:
		case t.A == transcript.None:
			u.Turns.Added++
		case t.B == transcript.None:
			u.Turns.Removed++
		case t.Equal():
			u.Turns.Same++
		default:
			u.Turns.Changed++
		}
	}
	return nil
}

// replaceSession puts a session in the place of another, with the contents that
// it names.
func replaceSession(path, again string) error {
	from := filepath.Join(filepath.Dir(again), session.BlobDir)
	list, err := os.ReadDir(from)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	beside := session.BlobsBeside(path)
	for _, e := range list {
		content, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			return err
		}
		d := model.Sum(content)
		if d.String() != e.Name() {
			continue
		}
		if err := beside.Put(d, content); err != nil {
			return err
		}
	}
	return os.Rename(again, path)
}

// printUpdated prints what changed, or would.
func printUpdated(a *app, res *updateJSON, f updateFlags) error {
	var b bytes.Buffer
	for _, s := range res.Sessions {
		if s.Verdict == updateSame {
			continue
		}
		what := s.Verdict
		if s.Written {
			what = "UPDATED"
		}
		fmt.Fprintf(&b, "%s %s\n", what, cli.SanitizeLine(s.Path))
		if s.Reason != "" {
			fmt.Fprintf(&b, "  from      %s\n", cli.SanitizeLine(s.Reason))
		}
		if s.Diff != nil {
			t := s.Turns
			fmt.Fprintf(&b, "  turns     %d as before, %d changed, %d added, %d removed\n", t.Same, t.Changed, t.Added, t.Removed)
			fmt.Fprintf(&b, "  answers   %d from the recording, %d asked\n", s.Served, s.Asked)
			for _, line := range s.Diff.Summary() {
				fmt.Fprintf(&b, "  %s\n", line)
			}
			if f.diff {
				if err := s.Diff.WriteText(&b, columns(a), a.out.Color); err != nil {
					return err
				}
			}
		}
		fmt.Fprintln(&b)
	}
	n := res.Verdicts
	changed := "would change"
	if f.write {
		changed = "updated"
	}
	fmt.Fprintf(&b, "%s: %d as they are, %d %s, %d could not be recorded again\n", cli.Count(len(res.Sessions), "session"),
		n[updateSame], n[updateChanged], changed, n[updateRefused])
	_, err := a.stdout.Write(b.Bytes())
	return err
}
