package replayer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/graders"
	"github.com/harnessbench/harnessbench/graders/check"
	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/redact"
	"github.com/harnessbench/harnessbench/loop/tool"
	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/recorder"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// Options say how sessions are replayed.
type Options struct {
	// Current gives the configuration to run instead of the recorded one
	// (--config=current): today's prompts, tools and guard settings for the
	// session's scenario and arm. Nil replays under the recorded one. An error of it
	// says that there is none today: the session is then not replayed (NOOP).
	Current func(h *session.Header) (*trial.Rebuilt, error)
	// Again executes tool calls again, on the recorded initial tree, and compares
	// what they give (--tools=live). A recorded call keeps the time it took.
	Again bool
	// Trial finds the trial that the session at path records, for what its header
	// does not hold: what mock tools answer, and the model. It is needed for Again
	// where a session has mock tools; an error makes such a session NOOP.
	Trial func(path string, h *session.Header) (*trial.Spec, error)
	// Tolerant lists the rungs, in the order in which they are tried.
	Tolerant []Rung
}

// File replays one session file. What is wrong with the session is in the
// report; the error is for what has nothing to do with it: a file that cannot
// be opened, or a cancelled ctx.
func File(ctx context.Context, path string, o Options) (*Report, error) {
	s, err := session.Open(path)
	if session.Unopened(err) {
		return &Report{Path: path, Verdict: Corrupt, Reason: err.Error()}, nil
	}
	if err != nil {
		return nil, err
	}
	defer s.Close()
	rep, err := Reader(ctx, s.Reader, s.Blobs(), path, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return rep, nil
}

// Left is what a replayed session left behind.
type Left struct {
	Header    *session.Header
	Digest    model.Digest // of the session, as in its footer's chain
	End       *event.End
	Tally     *trial.Tally
	Workspace workspace.Workspace
}

// Grade asks graders about what the session left.
func (l *Left) Grade(ctx context.Context, specs check.Graders) (graders.Overall, []graders.Verdict) {
	return trial.Grade(ctx, specs, l.End, l.Tally, l.Workspace)
}

// Rebuild replays a session file and gives back what it left: its end, its calls
// and firings, and the tree, so that it can be graded again without running
// anything. Left is nil unless the verdict is EXACT or NORMALISED.
func Rebuild(ctx context.Context, path string) (*Left, *Report, error) {
	return RebuildWith(ctx, path, Options{})
}

// RebuildWith is Rebuild under options: what tools that are executed again left,
// say.
func RebuildWith(ctx context.Context, path string, o Options) (*Left, *Report, error) {
	s, err := session.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	left := &Left{Tally: &trial.Tally{}}
	rep, err := replayInto(ctx, s.Reader, s.Blobs(), path, o, left)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if rep.Verdict.Exit() != 0 {
		return nil, rep, nil
	}
	left.Digest = s.Digest()
	return left, rep, nil
}

// Reader replays the session that rd reads. name is its path in reports; blobs
// may be nil.
func Reader(ctx context.Context, rd *session.Reader, blobs session.Blobs, name string, o Options) (*Report, error) {
	return replayInto(ctx, rd, blobs, name, o, nil)
}

// replayInto replays a session; what it leaves goes into left, unless that is
// nil.
func replayInto(ctx context.Context, rd *session.Reader, blobs session.Blobs, name string, o Options, left *Left) (*Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &replay{tape: &tape{rd: rd}, blobs: blobs, cancel: cancel, current: o.Current != nil,
		left: left, rep: &Report{Path: name, Verdict: Exact}, ladder: newLadder(o.Tolerant)}
	cfg, err := r.configure(o)
	if err != nil {
		return nil, err
	}
	if cfg != nil && o.Again && !r.bindTools(&o) {
		cfg = nil
	}
	if cfg != nil {
		if err := r.run(ctx, cfg, true); err != nil {
			return nil, err
		}
	}
	r.rep.Tolerated = r.ladder.report()
	return r.rep, nil
}

// replay is one session being replayed.
type replay struct {
	tape    *tape
	blobs   session.Blobs
	header  *session.Header
	ws      workspace.Workspace
	trail   *session.Trail
	enc     *recorder.Encoder
	rep     *Report
	left    *Left // nil = nobody wants it
	cancel  context.CancelFunc
	current bool

	// Where the recording serves no more:
	onto    *Live      // what goes on; nil = nothing does
	resume  bool       // only from the recording's end: a difference is an error
	pass    event.Sink // hears what was compared, and what was not; may be nil
	effects effects    // what the tools do; nil = anything
	driven  *Driven    // counts; may be nil
	hooks   *Resumption
	follow  following

	secrets *redact.Redactor // of calls that are executed again; nil = known shapes
	again   tool.Runner      // executes calls again; nil = results are served
	ladder  ladder

	broke wave // whose calls were in flight where the recording broke off

	settled bool   // the verdict stands; nothing more is compared
	onward  bool   // onto has taken over
	halt    error  // why the loop is stopped
	after   string // the last guard or tool event
	stage   string // of the event being compared
	turn    int
	parts   int // of the conversation so far; tells the index of the next one
	answers int // model answers and errors served
	unequal int // lines equal in meaning but not in bytes
}

// settle sets the verdict, once, and returns what stops the loop; nil where it
// goes on without the recording.
func (r *replay) settle(v Verdict, reason string) error {
	if r.settled {
		return r.halt
	}
	r.settled = true
	r.rep.judge(v, reason)
	switch {
	case r.resume:
		r.halt = fmt.Errorf("%w: %s", ErrChanged, reason)
	case r.onto != nil && v.Exit() == 1:
		r.onward = true
		r.follow.on = r.follow.on && r.rep.Divergence != nil
	default:
		r.halt = errStopped
	}
	return r.halt
}

// configure reads header and opening parts and makes the configuration to run;
// nil when the verdict stands already.
func (r *replay) configure(o Options) (*trial.Rebuilt, error) {
	h, lines, err := r.tape.opening()
	r.header = h
	if h == nil || err != nil && !errors.Is(err, errEnd) {
		r.broken(err)
		return nil, nil
	}
	r.rep.Scenario = h.Scenario
	if r.foreign(h) {
		return nil, nil
	}
	if errors.Is(err, errEnd) {
		r.settle(Exhausted, "the recording ends before the first request: it has no footer")
		return nil, nil
	}
	if err := r.soundHeader(); err != nil {
		return nil, nil
	}
	var parts []*model.Part
	for _, l := range lines {
		p, err := l.Part()
		var mp *model.Part
		if err == nil {
			mp, err = p.ModelPart()
		}
		if err == nil && !p.Digest.Of(mp.Digest) {
			err = fmt.Errorf("digest is %s, the body's is %s", p.Digest, mp.Digest.Short())
		}
		if err != nil {
			r.misfit(l, "/body", err)
			return nil, nil
		}
		parts = append(parts, mp)
	}
	if err := r.plant(); err != nil {
		return nil, nil
	}
	if from, ok := trial.Imported(h); ok {
		r.settle(Noop, "imported from "+from+": what was asked is not recorded, so nothing can be replayed")
		return nil, nil
	}
	if o.Current != nil {
		cfg, err := o.Current(h)
		if err != nil {
			r.settle(Noop, err.Error())
			return nil, nil
		}
		return cfg, nil
	}
	cfg, err := trial.Rebuild(h, parts)
	var old *guard.OldBehaviourError
	switch {
	case errors.As(err, &old):
		r.settle(OldBehaviour, old.Error())
		return nil, nil
	case err != nil:
		r.misfit(r.tape.queued[0], "/config", err)
		return nil, nil
	case cfg.OwnCheck && r.driven == nil:
		r.settle(Noop, "its acceptance check is code of a Go test: replay it there, with replaytest.Test")
		return nil, nil
	}
	return cfg, nil
}

// foreign settles what is no session of this loop.
func (r *replay) foreign(h *session.Header) bool {
	if h.IsWire() {
		r.settle(Noop, "recorded traffic, not a session of this loop: replay it in front of the client that was recorded, with harnessbench replay --serve "+shellQuote(r.rep.Path)+" -- CMD")
		return true
	}
	if h.IsCalls() {
		r.settle(Noop, "recorded calls of a loop of your own: replay them in its test, with replaytest.Model")
		return true
	}
	return false
}

// soundHeader checks what the header says twice.
func (r *replay) soundHeader() error {
	if err := r.header.Check(); err != nil {
		return r.misfit(r.tape.queued[0], "/config_digest", err)
	}
	return nil
}

// plant lays the recorded initial tree in memory.
func (r *replay) plant() error {
	entries := make([]workspace.Entry, len(r.header.Tree))
	inline := map[model.Digest][]byte{}
	for i, f := range r.header.Tree {
		entries[i] = workspace.Entry{Path: f.Path, Size: f.Size, Mode: f.Mode, Digest: f.Digest}
		if f.Content != nil || f.Size == 0 {
			if model.Sum(f.Content) != f.Digest {
				return r.misfit(r.tape.queued[0], fmt.Sprintf("/tree/%d", i), errors.New("the content does not have the digest that stands beside it"))
			}
			inline[f.Digest] = f.Content
		}
	}
	sizes := map[model.Digest]int64{}
	for _, e := range entries {
		sizes[e.Digest] = e.Size
	}
	ws, err := workspace.NewMem(entries, func(d model.Digest) ([]byte, error) {
		if b, ok := inline[d]; ok {
			return b, nil
		}
		if r.blobs == nil {
			return nil, session.ErrNoBlobs
		}
		return r.blobs.Get(d, sizes[d])
	})
	if err != nil {
		return r.misfit(r.tape.queued[0], "/tree", err)
	}
	r.ws, r.trail = ws, session.NewTrail(r.header, r.blobs)
	return nil
}

// run drives the loop from the tape. forget drops the conversation as it goes:
// nobody reads it who is served answers only.
func (r *replay) run(ctx context.Context, cfg *trial.Rebuilt, forget bool) error {
	r.enc = recorder.NewEncoder(recorder.Options{TreeDigest: r.treeDigest})
	onto := r.onto
	r.onto = nil // a header that contradicts itself is nothing to go on from
	if err := r.compareHeader(cfg); err != nil {
		return nil
	}
	r.onto = onto
	var heard event.Sink = sink{r}
	if r.left != nil {
		heard = trial.Tee{heard, r.left.Tally}
	}
	l, err := loop.New(cfg.Config, r.deps(cfg, heard, forget))
	if err != nil {
		return err
	}
	end, err := l.Run(ctx)
	switch {
	case errors.Is(err, errStopped):
		return nil
	case err != nil:
		return err
	case r.halt != nil: // at the footer itself
		return nil
	}
	if r.left != nil {
		r.left.Header, r.left.End, r.left.Workspace = r.header, end, r.ws
	}
	if !r.onward {
		r.conclude()
	}
	return nil
}

// conclude gives the verdict of a replay that came to its end without a
// difference.
func (r *replay) conclude() {
	if r.answers == 0 {
		r.settle(Noop, "the session has no model call: nothing was replayed")
		return
	}
	var why []string
	if r.unequal > 0 {
		why = append(why, fmt.Sprintf("%d lines are equal in meaning, not in bytes", r.unequal))
	}
	if needed := r.ladder.needed(); needed != "" {
		why = append(why, "tolerated: "+needed)
	}
	if why != nil {
		r.rep.judge(Normalised, strings.Join(why, "; "))
	}
	// The footer was compared; what follows it must be nothing.
	if _, err := r.tape.rd.Next(); err != nil && !errors.Is(err, io.EOF) {
		r.broken(err)
	}
}

// ended turns the tape's end, or a broken tape, into a verdict. What came before
// damage is sound all the same: a resumption goes on from there.
func (r *replay) ended(err error, stage string) error {
	if r.resume {
		r.settled, r.onward = true, true
		return nil
	}
	if !errors.Is(err, errEnd) {
		return r.broken(err)
	}
	reason := fmt.Sprintf("the recording ends in turn %d and the loop goes on (%s)", r.turn, stage)
	if torn := r.tape.rd.Torn(); torn != nil {
		reason += ": its last line is torn"
	} else if !r.tape.rd.Complete() {
		reason += ": it has no footer"
	}
	return r.settle(Exhausted, reason)
}

// exhausted says that the loop asks on where the recorded one had stopped.
func (r *replay) exhausted(l *session.Line) error {
	return r.settle(Exhausted, fmt.Sprintf("the loop asks the model again in turn %d; the recorded one had stopped (line %d, %s)", r.turn, l.No, l.Type))
}

// broken gives the verdict for a file that cannot be read on.
func (r *replay) broken(err error) error {
	switch {
	case errors.Is(err, session.ErrTooNew):
		return r.settle(TooNew, err.Error())
	case errors.Is(err, io.EOF) || errors.Is(err, errEnd):
		return r.settle(Corrupt, "no session: the file is empty or ends in its first line")
	case errors.Is(err, fs.ErrNotExist):
		return r.settle(Corrupt, err.Error())
	}
	return r.settle(Corrupt, err.Error())
}

// unreadable reports a line of a sound chain that does not hold what its type
// asks for.
func (r *replay) unreadable(l *session.Line, err error) error { return r.misfit(l, "", err) }

// eventName is the stage of the loop an event belongs to.
func eventName(ev event.Event) string {
	switch ev := ev.(type) {
	case *event.Start, *event.Request:
		return "assemble"
	case *event.Part:
		if ev.Why == "rewrite" {
			return "execute"
		}
		if ev.Why == "feedback" {
			return "decide"
		}
		if ev.Why == "compacted" || ev.Why == "summarise" {
			return "infer"
		}
		if ev.Why == "user" {
			return "evaluate"
		}
		return "assemble"
	case *event.Attempt:
		return "infer"
	case *event.Response, *event.Anomaly:
		return "parse"
	case *event.ToolRequest, *event.Approval:
		return "authorise"
	case *event.ToolResult:
		return "execute"
	case *event.Candidate:
		return "evaluate"
	case *event.Guard:
		return "guard " + ev.Name
	case *event.State:
		return "decide"
	case *event.End:
		return "end"
	}
	return ""
}
