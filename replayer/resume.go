package replayer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/clock"
	"github.com/harnessbench/harnessbench/loop/model"
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

	r     *replay
	close func() error
}

// Resume opens a recording: a partial file, or a finished one.
func Resume(path string) (*Resumption, error) {
	s, err := session.Open(path)
	if err != nil {
		return nil, err
	}
	r := &replay{tape: &tape{rd: s.Reader}, blobs: s.Blobs(), resume: true, cancel: func() {},
		rep: &Report{Path: path}}
	r.hooks = &Resumption{r: r, close: s.Close}
	return r.hooks, nil
}

// Close closes the recording.
func (r *Resumption) Close() error { return r.close() }

// ServedCalls is how many model calls came from the recording.
func (r *Resumption) ServedCalls() int { return r.r.answers }

// Drive is trial.Options.Drive: it puts the recording in front of the live model,
// tools and clock. A recording made under another configuration is ErrChanged.
func (r *Resumption) Drive(d *loop.Deps, h *session.Header, ws workspace.Workspace) error {
	return r.r.inFront(d, h, ws)
}

// inFront puts the recording in front of what a trial acts through.
func (r *replay) inFront(d *loop.Deps, h *session.Header, ws workspace.Workspace) error {
	l, err := r.tape.peek()
	if err != nil {
		return nil // not even a header: all of it is live
	}
	r.ws = ws
	r.enc = recorder.NewEncoder(recorder.Options{TreeDigest: r.treeDigest})
	payload, err := r.enc.Header(h)
	if err != nil {
		return err
	}
	if l.Type != session.TypeHeader || !bytes.Equal(l.Payload(), payload) {
		return fmt.Errorf("%w: it was made under another configuration", ErrChanged)
	}
	r.tape.take()
	r.header, r.trail = h, session.NewTrail(h, r.blobs)
	r.onto = &Live{Model: d.Model, Run: d.Run, Clock: d.Clock, Approve: d.Approve}
	d.Approve = r.approver(d.Approve)
	r.effects, _ = d.Run.(effects)
	r.pass = d.Sink
	d.Clock, d.Model, d.Run, d.Sink, d.Spill = &handover{r: r}, served{r}, runner{r}, sink{r}, r.spill
	return nil
}

// handover is virtual time while the recording lasts, and the live clock's from
// there on; without one virtual time goes on.
type handover struct {
	r     *replay
	taped clock.Virtual
	begun bool
	shift time.Duration // what the taped part took
}

// live returns the live clock once that is in force; nil before.
func (h *handover) live() clock.Clock {
	if !h.r.live() || h.r.onto.Clock == nil {
		return nil
	}
	if !h.begun {
		h.begun, h.shift = true, h.taped.Now()
	}
	return h.r.onto.Clock
}

// Now implements clock.Clock.
func (h *handover) Now() time.Duration {
	if c := h.live(); c != nil {
		return h.shift + c.Now()
	}
	return h.taped.Now()
}

// Lapse implements clock.Clock. A call that began on the recording's time and
// ended live lasts from the handover.
func (h *handover) Lapse(start, declared, limit time.Duration) (took, want time.Duration) {
	if c := h.live(); c != nil {
		return c.Lapse(max(start-h.shift, 0), declared, limit)
	}
	return h.taped.Lapse(start, declared, limit)
}

// Declare implements clock.Clock.
func (h *handover) Declare(start, declared, limit time.Duration) (took, want time.Duration) {
	if c := h.live(); c != nil {
		return c.Declare(max(start-h.shift, 0), declared, limit)
	}
	return h.taped.Declare(start, declared, limit)
}

// Concurrent implements clock.Clock: what is served comes one after the other.
func (h *handover) Concurrent() bool {
	c := h.live()
	return c != nil && c.Concurrent()
}

// Measure implements clock.Clock.
func (h *handover) Measure(start, declared time.Duration) time.Duration {
	if c := h.live(); c != nil {
		return c.Measure(max(start-h.shift, 0), declared)
	}
	return h.taped.Measure(start, declared)
}

// Join implements clock.Clock.
func (h *handover) Join(start, d time.Duration) {
	if c := h.live(); c != nil {
		c.Join(max(start-h.shift, 0), d)
		return
	}
	h.taped.Join(start, d)
}

// Sleep implements clock.Clock.
func (h *handover) Sleep(ctx context.Context, d time.Duration) error {
	if c := h.live(); c != nil {
		return c.Sleep(ctx, d)
	}
	return h.taped.Sleep(ctx, d)
}

// WithTimeout implements clock.Clock.
func (h *handover) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if c := h.live(); c != nil {
		return c.WithTimeout(ctx, d)
	}
	return h.taped.WithTimeout(ctx, d)
}
