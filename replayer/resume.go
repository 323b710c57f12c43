package replayer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/clock"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/recorder"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// ErrChanged says that a recording cannot be resumed: the loop does not behave
// as it did when it was made, or the file is damaged before its end.
var ErrChanged = errors.New("the recording cannot be resumed")

// Resumption drives a trial from an unfinished recording as far as it goes, and
// live from there: what was answered and done is not asked and done again.
//
// A tool call with an effect outside that stands in the recording without its
// result may have happened: it ends as unknown_outcome and is not made again.
type Resumption struct {
	// Served, when set, hears of every model answer that came from the
	// recording, as a live call would have been heard of.
	Served func(*model.Request, *model.Response)
	// Failed, when set, hears of every recorded model call that gave no answer.
	Failed func(*model.Request, *model.Error)

	tape   *tape
	close  func() error
	blobs  session.Blobs
	trail  *session.Trail
	ws     workspace.Workspace
	enc    *recorder.Encoder
	live   bool
	served int // model calls served
}

// Resume opens a recording: a partial file, or a finished one.
func Resume(path string) (*Resumption, error) {
	s, err := session.Open(path)
	if err != nil {
		return nil, err
	}
	return &Resumption{tape: &tape{rd: s.Reader}, close: s.Close, blobs: s.Blobs()}, nil
}

// Close closes the recording.
func (r *Resumption) Close() error { return r.close() }

// ServedCalls is how many model calls came from the recording.
func (r *Resumption) ServedCalls() int { return r.served }

// Drive is trial.Options.Drive: it puts the recording in front of the live model,
// tools and clock. A recording made under another configuration is ErrChanged.
func (r *Resumption) Drive(d *loop.Deps, h *session.Header, ws workspace.Workspace) error {
	l, err := r.tape.peek()
	if err != nil {
		r.live = true // not even a header: all of it is live
		return nil
	}
	r.enc = recorder.NewEncoder(recorder.Options{TreeDigest: func() (model.Digest, error) {
		entries, err := ws.Manifest()
		if err != nil {
			return model.Digest{}, err
		}
		return workspace.TreeDigest(entries), nil
	}})
	payload, err := r.enc.Header(h)
	if err != nil {
		return err
	}
	if l.Type != session.TypeHeader || !bytes.Equal(l.Payload(), payload) {
		return fmt.Errorf("%w: it was made under another configuration", ErrChanged)
	}
	r.tape.take()
	r.trail, r.ws = session.NewTrail(h, r.blobs), ws
	d.Clock = &handover{r: r, live: d.Clock}
	d.Model = resumedModel{r, d.Model}
	d.Run = resumedRunner{r, d.Run}
	d.Sink = resumedSink{r, d.Sink}
	return nil
}

// next returns the recording's next line; nil once it has ended, and from then
// on everything is live.
func (r *Resumption) next() *session.Line {
	if r.live {
		return nil
	}
	l, err := r.tape.peek()
	if err == nil {
		return l
	}
	// The end, or damage: what came before it is sound all the same.
	r.live = true
	return nil
}

// resumedSink checks that the loop does again what the recording says, and lets
// everything pass to be recorded.
type resumedSink struct {
	r    *Resumption
	sink event.Sink
}

// Emit implements event.Sink.
func (s resumedSink) Emit(ev event.Event) error {
	if s.r.live {
		return s.sink.Emit(ev)
	}
	t, payload, err := s.r.enc.Encode(ev)
	if err != nil {
		return err
	}
	// What has no line of its own says nothing of whether the recording goes on.
	if t != "" {
		if l := s.r.next(); l != nil {
			if l.Type != t || !bytes.Equal(l.Payload(), payload) {
				return fmt.Errorf("%w: line %d (%s) comes out differently", ErrChanged, l.No, l.Type)
			}
			s.r.tape.take()
		}
	}
	return s.sink.Emit(ev)
}

type resumedModel struct {
	r    *Resumption
	live model.Model
}

// ID implements model.Model.
func (m resumedModel) ID() string { return m.live.ID() }

// Generate implements model.Model.
func (m resumedModel) Generate(ctx context.Context, req *model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	l := m.r.next()
	if l == nil {
		return m.live.Generate(ctx, req, onDelta)
	}
	resp, err := answerOf(l)
	if resp == nil && err == nil {
		return nil, fmt.Errorf("%w: line %d is no model answer", ErrChanged, l.No)
	}
	m.r.served++
	var failed *model.Error
	switch {
	case resp != nil && m.r.Served != nil:
		m.r.Served(req, resp)
	case errors.As(err, &failed) && m.r.Failed != nil:
		m.r.Failed(req, failed)
	}
	return resp, err
}

// answerOf decodes what a response or attempt line answers; nil, nil for another
// line.
func answerOf(l *session.Line) (*model.Response, error) {
	switch l.Type {
	case session.TypeResponse:
		resp, err := l.Response()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrChanged, err)
		}
		return &resp.Resp, nil
	case session.TypeAttempt:
		a, err := l.Attempt()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrChanged, err)
		}
		if a.Err != nil {
			return nil, a.Err
		}
		return a.Resp, nil
	}
	return nil, nil
}

type resumedRunner struct {
	r    *Resumption
	live tool.Runner
}

// effects is a runner that knows what its tools do; *tool.Set is one.
type effects interface {
	Get(name string) (tool.Tool, bool)
}

// Run implements tool.Runner.
func (s resumedRunner) Run(ctx context.Context, op *tool.Op) tool.Result {
	r := s.r
	recorded := !r.live // the call's request came from the recording
	l := r.next()
	if l == nil {
		if recorded && s.external(op.Name) {
			return tool.Result{Outcome: event.UnknownOutcome,
				Text: "the run was interrupted during this call: whether it took effect is unknown"}
		}
		return s.live.Run(ctx, op)
	}
	res, err := l.ToolResult()
	if err != nil {
		return tool.Result{Outcome: event.ToolError, Text: ErrChanged.Error()}
	}
	out := tool.Result{Outcome: res.Outcome, Text: res.Text, Took: res.Want, Exit: res.Exit}
	for i := range res.Delta {
		d, err := r.trail.Event(&res.Delta[i], op.Args)
		if err == nil {
			err = r.ws.Apply([]event.Delta{d})
		}
		if err != nil {
			// The sink sees that the result is another and ends the loop.
			return tool.Result{Outcome: event.ToolError, Text: fmt.Sprintf("%v: %v", ErrChanged, err)}
		}
		out.Delta = append(out.Delta, d)
	}
	return out
}

func (s resumedRunner) external(name string) bool {
	set, ok := s.live.(effects)
	if !ok {
		return true // who does not say may do anything
	}
	t, ok := set.Get(name)
	return ok && t.Spec().Effect == event.External
}

// handover is virtual time while the recording lasts, and the live clock's from
// there on.
type handover struct {
	r     *Resumption
	taped clock.Virtual
	live  clock.Clock
	begun bool
	shift time.Duration // what the taped part took
}

// clock returns the clock in force.
func (h *handover) clock() clock.Clock {
	if !h.r.live {
		return &h.taped
	}
	if !h.begun {
		h.begun, h.shift = true, h.taped.Now()
	}
	return h.live
}

// Now implements clock.Clock.
func (h *handover) Now() time.Duration {
	if c := h.clock(); c == h.live {
		return h.shift + c.Now()
	}
	return h.taped.Now()
}

// Lapse implements clock.Clock. A call that began on the recording's time and
// ended live lasts from the handover.
func (h *handover) Lapse(start, declared, limit time.Duration) (took, want time.Duration) {
	c := h.clock()
	if c != h.live {
		return h.taped.Lapse(start, declared, limit)
	}
	return c.Lapse(max(start-h.shift, 0), declared, limit)
}

// Declare implements clock.Clock.
func (h *handover) Declare(start, declared, limit time.Duration) (took, want time.Duration) {
	c := h.clock()
	if c != h.live {
		return h.taped.Declare(start, declared, limit)
	}
	return c.Declare(max(start-h.shift, 0), declared, limit)
}

// Sleep implements clock.Clock.
func (h *handover) Sleep(ctx context.Context, d time.Duration) error {
	return h.clock().Sleep(ctx, d)
}

// WithTimeout implements clock.Clock.
func (h *handover) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return h.clock().WithTimeout(ctx, d)
}
