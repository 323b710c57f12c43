package recorder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// Calls is a model whose every call is recorded: for a loop that is not ours. The
// session holds requests, answers and errors, no tools and no guards. It serves
// such a loop's test, see replayer/replaytest.
//
// It is safe for concurrent use. Calls of one lane (model.Request.Lane; "" is the
// main one) have to follow each other; calls of several may overlap, and are
// recorded in the order in which they were answered.
type Calls struct {
	model.Model
	mu    sync.Mutex
	file  *session.File
	rec   *Recorder
	known map[knownPart]bool
	lanes map[string]*callLane
	end   event.End
	ended bool
	err   error
}

type knownPart struct {
	digest model.Digest
	kind   model.PartKind
}

// callLane is what was last asked in a lane.
type callLane struct {
	chains []model.Digest
	turn   int
}

// Model begins the session at path, which ends with [session.Suffix], and returns
// m with every call recorded there. The folder is made; a finished session of that
// name is an error. Close finishes the session.
func Model(m model.Model, path string) (*Calls, error) { return record(m, path, false) }

// ModelOver is Model, and replaces a session of that name when it is closed.
func ModelOver(m model.Model, path string) (*Calls, error) { return record(m, path, true) }

func record(m model.Model, path string, over bool) (*Calls, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("recording %s: %w", path, err)
	}
	f, err := session.Create(path, session.FileOptions{Sync: session.SyncTurns, Overwrite: over})
	if err != nil {
		return nil, err
	}
	h := session.Header{Scenario: "calls", Model: m.ID(), Config: []byte(`{"kind":"` + session.CallsKind + `"}`)}
	rec, err := New(f.Writer, h, Config{Blobs: session.BlobsBeside(path)})
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Calls{Model: m, file: f, rec: rec, known: map[knownPart]bool{}, lanes: map[string]*callLane{},
		end: event.End{Reason: event.Completed, Unchecked: true}}, nil
}

// Generate implements model.Model: it asks, and records what came of it. The calls
// of the answer get ids by session.NumberCalls, whatever ids they had. That
// nothing can be recorded is an error, also where there is an answer.
func (c *Calls) Generate(ctx context.Context, req *model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	resp, err := c.Model.Generate(ctx, req, onDelta)
	if resp == nil && err == nil {
		err = &model.Error{Kind: model.ErrProtocol, Message: "the model gave neither an answer nor an error"}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.keep(ctx, req, resp, err)
}

// Keep records a call that was answered elsewhere, and returns its answer as
// Generate does.
func (c *Calls) Keep(ctx context.Context, req *model.Request, resp *model.Response, err error) (*model.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.keep(ctx, req, resp, err)
}

func (c *Calls) keep(ctx context.Context, req *model.Request, resp *model.Response, err error) (*model.Response, error) {
	lane := c.lanes[req.Lane]
	if lane == nil {
		lane = &callLane{}
		c.lanes[req.Lane] = lane
	}
	lane.turn++
	head := event.Head{Lane: req.Lane, Turn: lane.turn}
	c.ask(head, lane, req)
	c.end.Attempts++
	if err != nil {
		c.failed(ctx, head, err)
	} else {
		resp = session.NumberCalls(resp, req.Lane, lane.turn)
		c.end.Usage = c.end.Usage.Add(resp.Usage)
		c.end.Calls += len(resp.Calls())
		c.end.Answer = model.TextOf(resp.Items)
		c.emit(&event.Response{Head: head, Resp: resp, Took: resp.Elapsed})
	}
	c.end.Turns = max(c.end.Turns, lane.turn)
	c.emit(&event.State{Head: head, Version: c.end.Attempts, Calls: c.end.Calls, Usage: c.end.Usage})
	if c.err != nil {
		return nil, fmt.Errorf("recording %s: %w", c.file.Path(), c.err)
	}
	return resp, err
}

// ask records a request: the parts that no line carries yet, then what changed
// since the lane's request before.
func (c *Calls) ask(head event.Head, lane *callLane, req *model.Request) {
	for _, p := range req.Parts {
		id := knownPart{p.Digest, p.Kind}
		if c.known[id] {
			continue
		}
		c.known[id] = true
		if p.JSON == nil {
			p = model.NewMessagePart(*p.Message) // a lean one
		}
		why := session.WhyAsked
		if p.Kind != model.KindMessage {
			why = string(p.Kind)
		}
		c.emit(&event.Part{Head: head, Part: p, Why: why})
	}
	keep := 0
	for keep+1 < len(lane.chains) && keep+1 < len(req.Chains) && lane.chains[keep+1] == req.Chains[keep+1] {
		keep++
	}
	lane.chains = req.Chains
	c.emit(&event.Request{Head: head, Req: req, Keep: keep, Add: req.Parts[keep:]})
}

// failed records a call without an answer.
func (c *Calls) failed(ctx context.Context, head event.Head, err error) {
	var merr *model.Error
	if !errors.As(err, &merr) {
		merr = &model.Error{Kind: model.ErrTransport, Message: err.Error()}
		if ctx.Err() != nil {
			merr.Kind = model.ErrCancelled
		}
	}
	c.end.Usage = c.end.Usage.Add(merr.Usage)
	c.emit(&event.Attempt{Head: head, Err: merr, Took: merr.Elapsed})
}

func (c *Calls) emit(ev event.Event) {
	if c.err == nil {
		c.err = c.rec.Emit(ev)
	}
}

// Close finishes the session; the file gets its name. A second Close does nothing.
func (c *Calls) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return nil
	}
	c.ended = true
	c.emit(&c.end)
	if err := errors.Join(c.err, c.file.Close()); err != nil {
		return fmt.Errorf("recording %s: %w", c.file.Path(), err)
	}
	return nil
}

// Discard takes the session back: what was recorded is removed.
func (c *Calls) Discard() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return nil
	}
	c.ended = true
	if err := c.file.Close(); err != nil && !errors.Is(err, session.ErrUnfinished) {
		return err
	}
	if err := os.Remove(c.file.Partial()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
