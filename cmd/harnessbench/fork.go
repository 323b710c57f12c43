package main

import (
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
	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
)

// forkFlags are the flags of fork.
type forkFlags struct {
	set       []string
	arm       string
	suite     string
	models    string
	out       string
	live      bool
	offline   bool
	overwrite bool
	json      *bool
}

func newFork(a *app) *cobra.Command {
	var f forkFlags
	cmd := &cobra.Command{
		Use:   "fork SESSION (--live | --offline) [--set NAME=VALUE]... [--arm NAME [--suite S]]",
		Short: "Go on from a recorded session under other settings",
		Long: `Runs a session's loop under changed settings on the recorded answers and tool
results, up to the first request that was not recorded, and from there live, or no
further. The child is a complete session of its own, which says who its parent is,
how many turns both share, and what was not spent. Its parent is not touched.

--live asks the model from there on: a simulated one in process, any other through
its provider, with the key from the environment (refused when CI=true). Tools run
on the tree that the recording left, in memory.
--offline asks nobody: the child ends there, with the stop reason cancelled.

--set NAME=VALUE, any number of times:
  guard.NAME.mode=off|shadow|enforce   guard.NAME.PARAM=VALUE   (see: guards)
  limits.turns limits.tool_calls limits.tokens limits.cost_usd limits.wall
  limits.context_window   params.max_tokens params.temperature params.top_p
  params.seed   prompt=@FILE   model=ID (with --live)
--arm NAME takes guard settings and prompt of an arm of the session's run, or of
--suite; --set changes these.

The child is written to NAME-fork` + session.Suffix + ` in the current folder, or to OUT;
compare the two with diff. A fork that changes nothing is EXACT and costs no call.

Exit 0: the child is written. 2: usage. 3: the session cannot be forked, since it does
not replay as recorded, or a key is missing. 130: interrupted.`,
		Example: `  harnessbench fork runs/monday/sessions/abab-loop.sim_weak.default.0.session.jsonl --offline --set guard.stuck.abort=4
  harnessbench fork s.session.jsonl --live --arm no-stuck --suite my-suite.yaml -o child.session.jsonl
  harnessbench fork s.session.jsonl --live --set model=openai/gpt-4o-mini --set prompt=@prompt.txt`,
		Args: cli.Args(cobra.ExactArgs(1)),
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&f.set, "set", nil, "change one setting: NAME=VALUE")
	fl.StringVar(&f.arm, "arm", "", "take guard settings and prompt of this arm")
	fl.StringVar(&f.suite, "suite", "", "where the arm, and a scenario of your own, stand (default: the session's run folder, else "+design.DefaultSuite+")")
	fl.BoolVar(&f.live, "live", false, "go on live")
	fl.BoolVar(&f.offline, "offline", false, "stop where the recorded answers end")
	fl.StringVarP(&f.out, "out", "o", "", "the child's session file")
	fl.BoolVar(&f.overwrite, "overwrite", false, "replace OUT if it is there")
	modelsFlag(fl, &f.models)
	f.json = cli.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return forkSession(cmd.Context(), a, args[0], &f) }
	return cmd
}

// forkSession is the command.
func forkSession(ctx context.Context, a *app, arg string, f *forkFlags) error {
	if f.live == f.offline {
		return cli.Usagef("add --live, to go on with a model, or --offline, to stop there", "what happens after the first divergence is not said")
	}
	switch {
	case f.offline && f.models != "":
		return cli.Usagef("leave one out", "--models says how models are asked, and --offline asks none")
	case f.offline && f.suite != "" && f.arm == "":
		return cli.Usagef("add --arm or --live, or leave it out", "--suite says which arms and scenarios there are, and none is asked for")
	}
	set, err := parseSettings(f.set)
	if err != nil {
		return cli.Usagef("see: harnessbench fork --help", "--set %v", err)
	}
	if set.model != "" && !f.live {
		return cli.Usagef("add --live", "--set model=%s: another model answers nothing offline", set.model)
	}
	paths, err := cli.Sessions([]string{arg})
	if err != nil {
		return err
	}
	if len(paths) != 1 {
		return cli.Usagef("name one of them", "%s holds %d sessions", arg, len(paths))
	}
	w := &forking{a: a, f: f, set: set, path: paths[0]}
	if err := w.place(); err != nil {
		return err
	}
	if err := w.prepare(); err != nil {
		return w.first(ctx, err)
	}
	got, err := w.fork(ctx)
	if err != nil {
		return err
	}
	if *f.json {
		return cli.WriteJSON(a.stdout, w.asJSON(got))
	}
	w.print(got)
	return nil
}

// forking is one fork that is being made.
type forking struct {
	a     *app
	f     *forkFlags
	set   *settings
	path  string
	out   string
	from  *origin
	spec  *trial.Spec    // of the child, where it goes on live
	asked *loop.Settings // of another model
	ask   trial.Provider
}

// place decides where the child goes.
func (w *forking) place() error {
	w.out = w.f.out
	if w.out == "" {
		name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(w.path), session.ZstdSuffix), session.PartialSuffix)
		w.out = strings.TrimSuffix(name, session.Suffix) + "-fork" + session.Suffix
	}
	if !cli.IsSession(w.out) {
		return cli.Usagef("end its name with "+session.Suffix, "-o %s is no name of a session", w.out)
	}
	if dir, err := os.Stat(filepath.Dir(w.out)); err != nil || !dir.IsDir() {
		return cli.Usagef("make it first", "-o %s: there is no folder %s", w.out, filepath.Dir(w.out))
	}
	was, err := os.Stat(w.out)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return cli.WithCode(cli.Wrong, err)
	}
	if parent, err := os.Stat(w.path); err == nil && os.SameFile(was, parent) {
		return cli.Usagef("name another file with -o", "%s is the parent", w.out)
	}
	if !w.f.overwrite {
		return cli.Usagef("name another file with -o, or add --overwrite", "%s exists", w.out)
	}
	return nil
}

// prepare finds what the session's header does not hold.
func (w *forking) prepare() error {
	h, err := headerOf(w.path)
	if err != nil || h == nil {
		return err
	}
	if w.f.arm == "" && !w.f.live {
		return nil
	}
	if w.from, err = originOf(w.path, w.f.suite); err != nil {
		return cli.WithCode(cli.Wrong, err)
	}
	if w.f.arm != "" {
		if w.from.arms == nil {
			if w.from, err = suiteOrigin(design.DefaultSuite); err != nil {
				return err
			}
		}
		if w.set.arm, err = w.from.arm(w.f.arm); err != nil {
			return cli.Usagef("name its suite with --suite, see: harnessbench plan SUITE", "--arm: %v", err)
		}
	}
	if !w.f.live || h.IsWire() {
		return nil
	}
	if _, imported := trial.Imported(h); imported {
		return nil // refused later, as offline
	}
	if w.spec, err = w.from.trial(h); err != nil {
		return cli.WithCode(cli.Wrong, fmt.Errorf("%s cannot be gone on with: %w", w.path, err))
	}
	return w.model()
}

// first is what is said where something is wrong with the command, or the session
// cannot be gone on with: that it is no parent at all comes first.
func (w *forking) first(ctx context.Context, wrong error) error {
	if _, rep, err := replayer.Rebuild(ctx, w.path); err == nil && rep.Verdict.Exit() != 0 {
		return noParent(&replayer.NoParentError{Report: rep})
	}
	return wrong
}

func noParent(err *replayer.NoParentError) error {
	return &cli.Exit{Code: cli.CannotJudge, Err: err, Hint: remedyFor(err.Report)}
}

// headerOf reads a session's header; nil for a file that has none that can be
// read, which its replay will say.
func headerOf(path string) (*session.Header, error) {
	s, err := session.Open(path)
	if err != nil {
		return nil, cli.WithCode(cli.CannotJudge, err)
	}
	defer func() { _ = s.Close() }() // read only
	l, err := s.Next()
	if err != nil {
		return nil, nil
	}
	h, err := l.Header()
	if err != nil {
		return nil, nil
	}
	return h, nil
}

// model makes what is asked live.
func (w *forking) model() error {
	id := w.spec.Model
	if w.set.model != "" {
		id = w.set.model
	}
	if trial.IsSimulated(id) != trial.IsSimulated(w.spec.Model) {
		w.spec.Fallbacks = nil // they stand in for models of the other kind
	}
	s := &design.Suite{Models: append([]string{id}, w.spec.Fallbacks...)}
	var used *models.File
	if !trial.IsSimulated(id) {
		if inCI() {
			return cli.Usagef("use --offline, or a simulated model", "--live would ask %s, and CI is set", id)
		}
		file := w.from.used
		if file == nil || w.f.models != "" {
			var err error
			if file, err = models.Open(w.f.models, os.Getenv); err != nil {
				return cli.WithCode(cli.Wrong, err)
			}
		}
		var err error
		if used, err = s.Use(file); err != nil {
			return &cli.Exit{Code: cli.Wrong, Err: err, Hint: lookedUp(w.f.models)}
		}
	}
	if w.set.model != "" {
		w.spec.Model, w.spec.Card = id, (&design.Plan{Suite: s}).Card(id)
		asked, err := w.spec.Settings()
		if err != nil {
			return cli.WithCode(cli.Wrong, err)
		}
		w.asked = &asked
	}
	p, err := reach(used)
	if p != nil {
		w.ask = p.Model
	}
	if err == nil && p == nil {
		_, err = w.spec.NewModel(nil) // is there such a simulated model?
		err = cli.WithCode(cli.Wrong, err)
	}
	return err
}

// fork makes the child.
func (w *forking) fork(ctx context.Context) (*replayer.Forked, error) {
	o := replayer.ForkOptions{Record: w.out, Overwrite: w.f.overwrite, Sync: session.SyncFooter, Header: w.label,
		Change: func(s *loop.Settings) error {
			if err := w.set.apply(s, w.asked); err != nil {
				return cli.Usagef("see: harnessbench fork --help, and harnessbench guards", "--set: %v", err)
			}
			return nil
		}}
	if w.spec != nil {
		o.Live = replayer.LiveTrial(func(*session.Header) (*trial.Spec, error) { return w.spec, nil },
			func(s *trial.Spec) (model.Model, error) { return s.NewModel(w.ask) })
		if !trial.IsSimulated(w.spec.Model) {
			o.Sync = session.SyncTurns
		}
	}
	got, err := replayer.Fork(ctx, w.path, o)
	var none *replayer.NoParentError
	switch {
	case errors.As(err, &none):
		return nil, noParent(none)
	case ctx.Err() != nil:
		return nil, &cli.Exit{Code: cli.Interrupted, Err: fmt.Errorf("interrupted")}
	}
	var exit *cli.Exit
	if err != nil && !errors.As(err, &exit) {
		err = cli.WithCode(cli.Wrong, err)
	}
	return got, err
}

// remedyFor says what can be done with a session that is no parent.
func remedyFor(r *replayer.Report) string {
	switch r.Verdict {
	case replayer.Noop, replayer.OldBehaviour, replayer.TooNew:
		return "fork a session that this version of the loop recorded"
	case replayer.Exhausted:
		return "finish it first: harnessbench run --resume RUN"
	}
	return "see where it departs: harnessbench replay " + cli.ShellQuote(r.Path)
}

// label names the arm whose settings the child has, and whose luck.
func (w *forking) label(h *session.Header) {
	if w.f.arm == "" {
		return
	}
	if w.from.coupling == design.Independent && h.Labels[luckLabel] == "" {
		h.Labels[luckLabel] = h.Labels["arm"]
	}
	h.Labels["arm"] = w.f.arm
}
