package replayer

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/clock"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/redact"
	"github.com/harnessbench/harnessbench/loop/tool"
	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/recorder"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// Live is what a driven loop acts through once its recording serves no more.
type Live struct {
	Model model.Model
	Run   tool.Runner // over the workspace that the recording left
	// Clock is the time from there on; nil = virtual time goes on, as simulated
	// models and mock tools want it.
	Clock clock.Clock
	// Approve answers requests for approval; nil = the configuration's scripted
	// approver does, if it has one.
	Approve loop.Approver
	// Secrets are overwritten in what the model and the tools say; nil = known
	// shapes are.
	Secrets *redact.Redactor
}

// DriveOptions say how a loop is driven from a recording and what happens where
// the two part. The zero value is a strict replay that records nothing.
type DriveOptions struct {
	// Config gives the configuration to run, recorded is the session's own; nil
	// runs that. An error says that there is none: the verdict is NOOP.
	Config func(h *session.Header, recorded *trial.Rebuilt) (*trial.Rebuilt, error)
	// Live makes what answers from the first divergence, or the recording's end,
	// on. Nil stops there: the session ends as cancelled, and no call is made.
	Live func(h *session.Header, cfg *trial.Rebuilt, ws workspace.Workspace) (*Live, error)
	// Follow serves from the recording beyond a divergence that no request shows
	// yet, and until one does. The loop runs under other settings: what was
	// recorded of a call that a deadline or the loop itself cut short is not served.
	Follow bool
	// Record is the session file to write, all of it from the first line on; empty
	// records nothing. Overwrite lets it replace a finished one.
	Record    string
	Overwrite bool
	Sync      session.Sync // of a session on a real model at least at every turn, unless never
	// Header, when set, may change the header of the session to write: its labels,
	// its scenario's digest.
	Header func(*session.Header)
	Watch  event.Sink // also hears every event; may be nil
}

// Driven is what a driven loop did.
type Driven struct {
	// Report is the replay up to where loop and recording parted; its Turns are
	// those that both share. EXACT or NORMALISED: they never did.
	Report *Report
	// Left is what the loop left at its end; nil where the report says that there
	// was nothing to drive (NOOP, OLD_BEHAVIOUR, CORRUPT, TOO_NEW).
	Left *Left
	// Served and Asked are the model calls that the recording answered, and those
	// that were made live.
	Served, Asked int
	// Spared is the usage of the answers that were served.
	Spared model.Usage
}

// Drive drives the loop from a recorded session up to the first divergence, and
// from there live or not at all, and records the session that comes of it.
//
// A tool call with an effect outside that stands in a broken-off recording
// without its result may have happened: it ends as unknown_outcome and is not
// made again. An error has nothing to do with the recording.
func Drive(ctx context.Context, path string, o DriveOptions) (*Driven, error) {
	s, err := session.Open(path)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := &Driven{}
	r := &replay{tape: &tape{rd: s.Reader}, blobs: s.Blobs(), cancel: cancel, driven: out,
		left: &Left{Tally: &trial.Tally{}}, rep: &Report{Path: path, Verdict: Exact}}
	out.Report = r.rep
	cfg, err := r.driveConfig(&o)
	if err != nil || cfg == nil {
		return out, err
	}
	if err := r.drive(ctx, cfg, &o, s); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return out, nil
}

// driveConfig makes the configuration to run; nil when there is nothing to drive.
func (r *replay) driveConfig(o *DriveOptions) (*trial.Rebuilt, error) {
	cfg, err := r.configure(Options{})
	if cfg == nil || err != nil || o.Config == nil {
		return cfg, err
	}
	other, err := o.Config(r.header, cfg)
	if err != nil {
		r.settle(Noop, err.Error())
		return nil, nil
	}
	r.current = other.Config.Digest() != cfg.Config.Digest()
	r.follow.on, r.follow.forked = o.Follow && r.current, o.Follow && r.current
	return other, nil
}

// drive runs the loop and writes its session.
func (r *replay) drive(ctx context.Context, cfg *trial.Rebuilt, o *DriveOptions, src *session.Session) error {
	r.onto = stopping{r}.live()
	if o.Live != nil {
		live, err := o.Live(r.header, cfg, r.ws)
		if err != nil {
			return err
		}
		r.onto, r.secrets = live, live.Secrets
	}
	if cfg.Tools != nil {
		r.effects = cfg.Tools
	}
	var pass trial.Tee
	var file *session.File
	if o.Record != "" {
		var err error
		sync := o.Sync
		if sync == session.SyncFooter && !trial.IsSimulated(cfg.Config.Settings().Params.Model) {
			sync = session.SyncTurns // what an answer cost must not be lost
		}
		if file, err = session.Create(o.Record, session.FileOptions{Sync: sync, Overwrite: o.Overwrite}); err != nil {
			return err
		}
		rec, err := r.record(file, cfg, o)
		if err != nil {
			return errors.Join(err, discard(file))
		}
		pass = append(pass, rec)
	}
	if o.Watch != nil {
		pass = append(pass, o.Watch)
	}
	r.pass = pass
	err := r.run(ctx, cfg, o.Live == nil)
	done := err == nil && r.left.End != nil
	if done {
		r.left.Digest = src.Digest()
		r.driven.Left = r.left
	}
	if file == nil {
		return err
	}
	if !done {
		return errors.Join(err, discard(file))
	}
	src.Close() // it may be what is replaced
	if err := file.Close(); err != nil {
		return err
	}
	r.left.Digest = file.Digest()
	return nil
}

// discard takes away the beginning of a session that came to nothing.
func discard(f *session.File) error {
	f.Close()
	if err := os.Remove(f.Partial()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// record begins the session that is written: the recorded header under the
// configuration that runs.
func (r *replay) record(file *session.File, cfg *trial.Rebuilt, o *DriveOptions) (event.Sink, error) {
	h := *r.header
	set := cfg.Config.Settings()
	h.Config, h.ConfigDigest = []byte(cfg.Config.JSON()), cfg.Config.Digest()
	h.Scenario, h.Repetition, h.Model = set.Scenario, set.Repetition, set.Params.Model
	h.Simulated = trial.IsSimulated(h.Model)
	contents, err := h.TreeContents(r.blobs)
	if err != nil {
		return nil, err
	}
	h.Tree = append([]session.TreeFile(nil), h.Tree...)
	for i := range h.Tree {
		h.Tree[i].Content = contents[i]
	}
	labels := map[string]string{}
	for k, v := range h.Labels {
		labels[k] = v
	}
	h.Labels = labels
	if r.current {
		h.Fork = nil // under other settings it is not that child any more
	}
	if o.Header != nil {
		o.Header(&h)
	}
	return recorder.New(file.Writer, h, recorder.Config{Blobs: session.BlobsBeside(file.Path()),
		TreeDigest: r.treeDigest, Live: !h.Simulated})
}

func (r *replay) treeDigest() (model.Digest, error) {
	entries, err := r.ws.Manifest()
	if err != nil {
		return model.Digest{}, err
	}
	return workspace.TreeDigest(entries), nil
}

// stopping stands in for everything live where nothing is to be called: the
// first call that the recording does not answer is cancelled, and the loop with
// it. A replay of such a session is cancelled at the same place.
type stopping struct{ r *replay }

func (s stopping) live() *Live { return &Live{Model: s, Run: s} }

// ID implements model.Model.
func (s stopping) ID() string { return s.r.header.Model }

// Generate implements model.Model.
func (s stopping) Generate(context.Context, *model.Request, func(model.Delta)) (*model.Response, error) {
	s.r.cancel()
	return nil, &model.Error{Kind: model.ErrCancelled, Message: "the recording answers no further"}
}

// Run implements tool.Runner.
func (s stopping) Run(context.Context, *tool.Op) tool.Result {
	s.r.cancel()
	return tool.Result{Outcome: event.Cancelled, Text: "not run: the recording answers no further"}
}

// deps are what a loop acts through while it is driven.
func (r *replay) deps(cfg *trial.Rebuilt, heard event.Sink, forget bool) loop.Deps {
	return loop.Deps{
		Model: served{r}, Tools: cfg.Tools, Run: runner{r}, Spill: r.spill,
		Rules: cfg.Rules, Approve: r.approver(cfg.Rules.Approver()), Secrets: r.secrets,
		Check: cfg.Checker(r.ws), Sealed: trial.Sealer(cfg.Seals, r.ws), Clock: &handover{r: r}, Sink: heard, Forget: forget,
	}
}
