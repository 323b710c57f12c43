package trial

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/harnessbench/harnessbench/graders"
	"github.com/harnessbench/harnessbench/graders/check"
	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/clock"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/cache"
	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/recorder"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/scenarios"
)

// Options say where a trial leaves its traces.
type Options struct {
	Session string       // path of the session file to write; its folder exists
	Sync    session.Sync // when the session is forced to disk
	Temp    string       // folder for the trial's tree; "" = the system's
	Watch   event.Sink   // also hears every event; may be nil
	// Live says that model calls cost money or real time: what was recorded is on
	// disk before each, and no buffer is held while it lasts.
	Live bool
	// Reopen holds no file open between turns, for thousands of trials at a time.
	Reopen bool
	// GradeTimeout is what the graders of the trial may take together, in real
	// time; 0 = as long as they want. What is not decided by then is ungraded.
	GradeTimeout time.Duration
	// Overwrite replaces a finished session of that name; without it one is an
	// error.
	Overwrite bool
	// Provider makes the model where it is not a simulated one.
	Provider Provider
	// Cache is what the guard response_cache reads and fills; nil = nothing. Where the
	// scenario warms the cache itself it is not used.
	Cache cache.Store
	// Wall is the machine's clock, for Outcome.Real; nil = that is left out.
	Wall func() time.Time
	// Model, when set, wraps the trial's model: sharing, budgets, limits.
	Model func(model.Model) model.Model
	// Drive, when set, may change what the loop acts through before it starts: a
	// resumed trial is driven from its recording as far as that goes.
	Drive func(d *loop.Deps, h *session.Header, ws workspace.Workspace) error
}

// Outcome is what one trial gave.
type Outcome struct {
	End      *event.End
	Tally    *Tally
	Overall  graders.Overall
	Verdicts []graders.Verdict
	Digest   model.Digest // of the session, as in its footer
	Real     *RealTime    // nil on simulated models: nothing real passes there
}

// Run runs one trial: tree, loop, session, graders. The error is not nil only
// where there is no finished session: the tree could not be laid, the session
// not be written, or ctx ended.
func Run(ctx context.Context, s Spec, o Options) (*Outcome, error) { return RunSpec(ctx, &s, &o) }

// RunSpec is Run without copies, for many trials at a time. It changes neither s
// nor o.
func RunSpec(ctx context.Context, s *Spec, o *Options) (*Outcome, error) {
	out, err := s.run(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("trial %s, %s, %s, repetition %d: %w", s.Scenario.ID, s.Model, s.Arm, s.Repetition, err)
	}
	return out, nil
}

func (s *Spec) run(ctx context.Context, o *Options) (out *Outcome, err error) {
	shown, secrets := s.masked(), s.Redactor()
	ws := &watched{temp: o.Temp, files: s.Scenario.Files, shown: shown.files, masks: masks{with: secrets}}
	ws.masks.begin(shown)
	defer func() { err = errors.Join(err, ws.remove()) }()
	file, err := session.Create(o.Session, session.FileOptions{Sync: o.Sync, Overwrite: o.Overwrite, Reopen: o.Reopen})
	if err != nil {
		return nil, err
	}
	watch := s.startWatch(o)
	out, err = s.record(ctx, ws, file, o, watch)
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, err
	}
	out.Digest, out.Real = file.Digest(), watch.stop()
	out.Overall, out.Verdicts = s.grade(ctx, o, ws, out)
	return out, ws.failed()
}

// record runs the loop and writes its session. What is needed to
// make the loop ready is left behind before it runs: a trial that waits for its
// model stands on a small stack.
func (s *Spec) record(ctx context.Context, ws *watched, file *session.File, o *Options, watch *stopwatch) (*Outcome, error) {
	l, tally, err := s.ready(ctx, ws, file, o, watch)
	if err != nil {
		return nil, err
	}
	end, err := l.Run(ctx)
	if err == nil {
		err = ws.failed()
	}
	if err != nil {
		return nil, err
	}
	return &Outcome{End: end, Tally: tally}, nil
}

// ready makes the loop of the trial, recorded into file.
func (s *Spec) ready(ctx context.Context, ws *watched, file *session.File, o *Options, watch *stopwatch) (*loop.Loop, *Tally, error) {
	settings, err := s.Settings()
	if err != nil {
		return nil, nil, err
	}
	cfg, err := loop.Freeze(settings)
	if err != nil {
		return nil, nil, err
	}
	tools, err := s.Tools(ws)
	if err != nil {
		return nil, nil, err
	}
	m, err := s.NewModel(o.Provider)
	if err != nil {
		return nil, nil, err
	}
	rules, err := s.rules()
	if err != nil {
		return nil, nil, err
	}
	header, err := s.header(cfg, ws.shown)
	if err != nil {
		return nil, nil, err
	}
	rec, err := recorder.New(file.Writer, *header, recorder.Config{Blobs: session.BlobsBeside(file.Path()), TreeDigest: treeDigest(ws), Live: o.Live})
	if err != nil {
		return nil, nil, err
	}
	tally := &Tally{CountOnly: !asksCalls(s.Scenario.Graders)}
	if o.Model != nil {
		m = o.Model(m)
	}
	store, err := s.store(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	m = s.cached(m, store)
	deps := loop.Deps{
		Model: m, Tools: tools, Run: tools, Clock: clock.NewVirtual(), Sink: Tee{gate{ctx, ws}, rec, tally},
		Spill: func(path, data string) error { return ws.Spill(path, []byte(data)) },
		Check: Checker(s.Scenario.Acceptance, ws.told()), Sealed: Sealer(s.Scenario.Seals, ws),
		Rules: rules, Approve: rules.Approver(), Secrets: ws.masks.with,
	}
	watch.over(&deps, tools)
	if o.Watch != nil {
		deps.Sink = Tee{deps.Sink, o.Watch}
	}
	if o.Drive != nil {
		if err := o.Drive(&deps, header, ws); err != nil {
			return nil, nil, err
		}
	}
	l, err := loop.New(cfg, deps)
	return l, tally, err
}

func treeDigest(ws workspace.Workspace) func() (model.Digest, error) {
	return func() (model.Digest, error) {
		entries, err := ws.Manifest()
		if err != nil {
			return model.Digest{}, err
		}
		return workspace.TreeDigest(entries), nil
	}
}

// header is the session's first line.
func (s *Spec) header(cfg loop.Config, files []scenarios.File) (*session.Header, error) {
	h := &session.Header{
		Canon: model.CanonVersion, Scenario: s.Scenario.ID, Repetition: s.Repetition,
		Model: s.Model, Simulated: IsSimulated(s.Model), Config: []byte(cfg.JSON()), ConfigDigest: cfg.Digest(),
		Labels: map[string]string{"arm": s.Arm},
	}
	if _, err := hex.Decode(h.ScenarioDigest[:], []byte(s.Scenario.Digest)); err != nil {
		return nil, fmt.Errorf("scenario digest %q: %w", s.Scenario.Digest, err)
	}
	entries := entriesOf(files)
	for i, e := range entries {
		h.Tree = append(h.Tree, session.TreeFile{Path: e.Path, Size: e.Size, Mode: e.Mode, Digest: e.Digest, Content: files[i].Data})
	}
	h.TreeDigest = workspace.TreeDigest(entries)
	return h, nil
}

// grade asks the scenario's graders, for as long as they may take. Whether a run
// was told to stop meanwhile does not matter: a verdict is not half done.
func (s *Spec) grade(ctx context.Context, o *Options, ws workspace.Workspace, out *Outcome) (graders.Overall, []graders.Verdict) {
	ctx = context.WithoutCancel(ctx)
	if o.GradeTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.GradeTimeout)
		defer cancel()
	}
	return Grade(ctx, s.Scenario.Graders, out.End, out.Tally, ws)
}

// asksCalls reports whether a grader looks at what the calls were.
func asksCalls(list []check.Spec) bool {
	return slices.ContainsFunc(list, func(s check.Spec) bool { return s.Kind == check.TrajectoryKind || asksCalls(s.Of) })
}

// Grade asks graders about a finished session and the tree that it left, secrets
// overwritten.
func Grade(ctx context.Context, specs check.Graders, end *event.End, t *Tally, ws workspace.Workspace) (graders.Overall, []graders.Verdict) {
	if w, ok := ws.(*watched); ok {
		ws = w.told()
	}
	return graders.Grade(ctx, specs, &graders.Finished{Answer: end.Answer, Stop: string(end.Reason), Calls: t.Calls,
		Turns: end.Turns, Attempts: end.Attempts, Files: files{ws}})
}

// Checker makes the loop's acceptance check over a workspace; nil when there is
// nothing to check.
func Checker(list check.Acceptance, ws workspace.Workspace) func(context.Context, string) (string, error) {
	if len(list) == 0 {
		return nil
	}
	return func(_ context.Context, answer string) (string, error) {
		res, err := list.Check(subject{files{ws}, answer})
		if err != nil {
			return "", err
		}
		if res.OK {
			return "", nil
		}
		return res.Reason, nil
	}
}

// files shows a workspace to checks and graders.
type files struct{ ws workspace.Workspace }

// ReadFile implements check.Files.
func (f files) ReadFile(path string, limit int64) ([]byte, error) {
	data, _, err := f.ws.ReadFile(path, 0, limit)
	for _, odd := range []error{workspace.ErrIsDir, workspace.ErrNotDir, workspace.ErrSpecial} {
		if errors.Is(err, odd) {
			// What the agent left there is no file: that fails a check, it does
			// not break it.
			return nil, fmt.Errorf("%w: %w", fs.ErrInvalid, err)
		}
	}
	return data, err
}

// Walk implements check.Files.
func (f files) Walk(fn func(path string, size int64) error) error {
	return f.ws.Walk("", func(i workspace.Info) error { return fn(i.Path, i.Size) })
}

type subject struct {
	files
	answer string
}

// Answer implements check.Subject.
func (s subject) Answer() string { return s.answer }
