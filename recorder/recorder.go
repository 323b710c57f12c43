package recorder

import (
	"errors"
	"fmt"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// Config says how a [Recorder] records.
type Config struct {
	// Blobs takes contents that are too large for a line. Without it such a
	// content is an error.
	Blobs session.Blobs
	// TreeDigest gives the final workspace's digest; nil = unknown.
	TreeDigest func() (model.Digest, error)
	// Live flushes, and where the file asks for it syncs, before every model
	// call: what it cost must not be lost. Before a tool call with an effect
	// outside that is done in any case. Buffers are given back before the wait, so that ten
	// thousand waiting trials hold none.
	Live bool
}

// Recorder is a Sink that writes one session. It is not safe for concurrent use,
// as the loop emits from one goroutine. After an error every further Emit
// returns it.
type Recorder struct {
	enc    *Encoder
	w      *session.Writer
	live   bool
	config model.Digest
	err    error
}

// New writes the header to w and returns a Recorder of what follows. The Writer
// stays the caller's: flush or close it at the end.
func New(w *session.Writer, h session.Header, c Config) (*Recorder, error) {
	put := func(d model.Digest, content []byte) error {
		if c.Blobs == nil {
			return fmt.Errorf("a content of %d bytes is too large for a line, and there is no blob store", len(content))
		}
		return c.Blobs.Put(d, content)
	}
	r := &Recorder{enc: NewEncoder(Options{Put: put, TreeDigest: c.TreeDigest}), w: w, live: c.Live}
	payload, err := r.enc.Header(&h)
	if err != nil {
		return nil, err
	}
	r.config = model.Sum(h.Config)
	if err := w.Line(session.TypeHeader, payload); err != nil {
		return nil, err
	}
	return r, nil
}

// Emit implements [event.Sink].
func (r *Recorder) Emit(ev event.Event) error {
	if r.err != nil {
		return r.err
	}
	if r.err = r.emit(ev); r.err != nil {
		return r.err
	}
	return nil
}

func (r *Recorder) emit(ev event.Event) error {
	switch ev := ev.(type) {
	case *event.Start:
		if !ev.Config.IsZero() && ev.Config != r.config {
			return fmt.Errorf("recorder: the loop runs with config %s, the header says %s", ev.Config, r.config)
		}
		return nil
	case *event.Checkpoint:
		// What may have been done outside must not be forgotten, whoever pays.
		if ev.Next == event.NextTool && ev.Effect == event.External {
			return r.keep()
		}
		return nil
	case *event.Round:
		return nil
	}
	t, payload, err := r.enc.Encode(ev)
	if err != nil {
		return err
	}
	if t == "" {
		return nil
	}
	if err := r.w.Line(t, payload); err != nil {
		return err
	}
	switch {
	case t == session.TypeState:
		return r.w.Turn()
	case t == session.TypeFooter:
		return r.w.Flush()
	case t == session.TypeRequest && r.live:
		return r.keep()
	}
	return nil
}

// keep puts on the disk what was recorded, and holds no buffer while the call
// that follows takes its time.
func (r *Recorder) keep() error {
	err := r.w.Turn()
	r.w.Release()
	r.enc.Release()
	return err
}

// Err returns the error that stopped the recording, if any.
func (r *Recorder) Err() error { return r.err }

// Inputs returns the inputs digest so far.
func (r *Recorder) Inputs() model.Digest { return r.enc.Inputs() }

// ErrNotEnded is what Finish returns before the loop's End was recorded.
var ErrNotEnded = errors.New("recorder: the session has no end yet")

// Finish reports whether the session is complete and all of it was handed on.
func (r *Recorder) Finish() error {
	if r.err != nil {
		return r.err
	}
	if !r.w.Done() {
		return ErrNotEnded
	}
	return r.w.Flush()
}
