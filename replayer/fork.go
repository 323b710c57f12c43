package replayer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// ForkOptions say how a session is forked.
type ForkOptions struct {
	// Change makes the child's settings from the parent's; nil changes nothing.
	Change func(*loop.Settings) error
	// Live makes what answers where the parent's answers end, as in DriveOptions.
	// Nil ends the child there, as cancelled.
	Live func(h *session.Header, cfg *trial.Rebuilt, ws workspace.Workspace) (*Live, error)
	// Record is the child's session file. It is never the parent's.
	Record    string
	Overwrite bool
	Sync      session.Sync
	Header    func(*session.Header) // may change the child's header; nil = nothing
}

// Forked is what a fork gave. All of it but Report stands in the child, too.
type Forked struct {
	Fork   session.Fork
	Parent *event.End
	End    *event.End
	Digest model.Digest // of the child, as in its footer
	// Report is the replay up to where the two parted: EXACT where they never did,
	// UNUSED and EXHAUSTED where one of them ended.
	Report *Report
	// Served are the model calls that the parent answered, Asked those that were
	// made, and Spent is their usage.
	Served, Asked int
	Spent         model.Usage
}

// NoParentError says that a session cannot be forked, since it does not replay
// under its own settings: how a fork departs from it would say nothing.
type NoParentError struct{ Report *Report }

func (e *NoParentError) Error() string {
	return fmt.Sprintf("%s cannot be forked, it does not replay: %s: %s", e.Report.Path, e.Report.Verdict, e.Report.Reason)
}

// Fork makes a child of a session: the parent's answers and results as long as
// the loop asks, under the changed settings, what the parent asked, and from there
// live or not at all. The child is a complete session that replays by itself.
//
// The parent is replayed first, as recorded (else *NoParentError), then under the
// changed settings without asking anybody: so its header can say how long the
// shared prefix is. An error of Change is returned as it is.
func Fork(ctx context.Context, path string, o ForkOptions) (*Forked, error) {
	left, rep, err := Rebuild(ctx, path)
	if err != nil {
		return nil, err
	}
	if left == nil {
		return nil, &NoParentError{rep}
	}
	f := &Forked{Parent: left.End, Fork: session.Fork{Parent: left.Digest, Live: o.Live != nil}}
	var wrong error
	first := DriveOptions{Follow: true, Config: func(_ *session.Header, parent *trial.Rebuilt) (*trial.Rebuilt, error) {
		child, err := parent, error(nil)
		if o.Change != nil {
			child, err = parent.With(o.Change)
		}
		if err != nil {
			wrong = err
			return nil, err
		}
		f.Fork.Set = Changes(parent.Config.Settings(), child.Config.Settings())
		return child, nil
	}}
	if err := f.measure(ctx, path, first); err != nil || wrong != nil {
		return nil, errors.Join(wrong, err)
	}
	if len(f.Fork.Set) == 0 {
		o.Live = nil // nobody will be asked
	}
	second := first
	second.Live, second.Record, second.Overwrite, second.Sync = o.Live, o.Record, o.Overwrite, o.Sync
	second.Header = func(h *session.Header) {
		h.Fork = &f.Fork
		if o.Header != nil {
			o.Header(h)
		}
	}
	return f, f.record(ctx, path, second)
}

// measure finds the shared prefix.
func (f *Forked) measure(ctx context.Context, path string, o DriveOptions) error {
	s, err := session.Open(path)
	if err != nil {
		return err
	}
	defer s.Close()
	shared := &prefix{rd: s.Reader}
	o.Watch = shared
	d, err := Drive(ctx, path, o)
	if err != nil || d.Left == nil {
		return err
	}
	f.Report = d.Report
	f.Fork.Turns, err = shared.length(d.Left.End.Turns)
	f.Fork.Spared = d.Spared
	return err
}

// record makes the child.
func (f *Forked) record(ctx context.Context, path string, o DriveOptions) error {
	d, err := Drive(ctx, path, o)
	if err != nil {
		return err
	}
	if d.Left == nil {
		return fmt.Errorf("%s: the file was changed while it was forked", path)
	}
	f.End, f.Digest, f.Served, f.Asked = d.Left.End, d.Left.Digest, d.Served, d.Asked
	f.Spent = without(d.Left.End.Usage, d.Spared)
	return nil
}

// without is the difference of two sums of usage.
func without(a, b model.Usage) model.Usage {
	return model.Usage{InputUncached: a.InputUncached - b.InputUncached, CacheRead: a.CacheRead - b.CacheRead,
		CacheWrite: a.CacheWrite - b.CacheWrite, Output: a.Output - b.Output, Reasoning: a.Reasoning - b.Reasoning, Unknown: a.Unknown}
}

// prefix hears the loop's requests and reads those of a recording beside.
type prefix struct {
	rd     *session.Reader
	params session.ShortDigest
	parted bool
	turns  int // shared ones, once parted
}

// Emit implements event.Sink.
func (p *prefix) Emit(ev event.Event) error {
	req, ok := ev.(*event.Request)
	if !ok || p.parted {
		return nil
	}
	q, err := p.next()
	switch {
	case err != nil:
		return err
	case q == nil:
		p.part(turnOf(req.Turn, req.Req.Purpose))
	case q.Turn != req.Turn || q.Purpose != req.Req.Purpose || !q.Chain.Of(req.Req.Chain()) || !p.params.Of(req.Req.ParamsDigest):
		p.part(min(turnOf(q.Turn, q.Purpose), turnOf(req.Turn, req.Req.Purpose)))
	}
	return nil
}

// turnOf is the turn that a request belongs to. The last answer is asked for
// behind all of them.
func turnOf(turn int, p model.Purpose) int {
	if p == model.ForFinalSynthesis {
		return turn + 1
	}
	return turn
}

// part notes the turn of the first request that only one of the two asked.
func (p *prefix) part(turn int) { p.parted, p.turns = true, max(turn-1, 0) }

// next reads the recording's next request; nil = there is none.
func (p *prefix) next() (*session.Request, error) {
	for {
		l, err := p.rd.Next()
		switch {
		case err != nil:
			return nil, err
		case l.Type == session.TypeFooter:
			return nil, nil
		case l.Type != session.TypeRequest:
			continue
		}
		q, err := l.Request()
		if err == nil && q.Params != nil {
			p.params = q.ParamsDigest
		}
		return q, err
	}
}

// length is the number of shared turns, after a loop that had so many ended.
func (p *prefix) length(turns int) (int, error) {
	if p.parted {
		return p.turns, nil
	}
	q, err := p.next()
	if err != nil {
		return 0, err
	}
	if q != nil {
		p.part(turnOf(q.Turn, q.Purpose))
		return p.turns, nil
	}
	return turns, nil
}

// Changes says what differs between two settings of one trial, each difference as
// name=value in the grammar of fork --set, in a fixed order. A system prompt is
// named by its digest.
func Changes(from, to loop.Settings) []string {
	var out []string
	add := func(name string, old, now any) {
		if old != now {
			out = append(out, fmt.Sprintf("%s=%v", name, now))
		}
	}
	for _, name := range guard.Differ(from.Guards, to.Guards) {
		add("guard."+name+".mode", from.Guards.Mode(name), to.Guards.Mode(name))
		for _, p := range guard.Table[guard.Lookup(name)].Params {
			add("guard."+name+"."+p.Name, p.Format(from.Guards.Param(name, p.Name)), p.Format(to.Guards.Param(name, p.Name)))
		}
	}
	add("limits.turns", from.Limits.Turns, to.Limits.Turns)
	add("limits.tool_calls", from.Limits.Calls, to.Limits.Calls)
	add("limits.tokens", from.Limits.Tokens, to.Limits.Tokens)
	add("limits.cost_usd", usdOf(from.Limits.MicroUSD), usdOf(to.Limits.MicroUSD))
	add("limits.wall", from.Limits.Wall, to.Limits.Wall)
	add("limits.context_window", from.Window, to.Window)
	add("model", from.Params.Model, to.Params.Model)
	add("params.max_tokens", from.Params.MaxTokens, to.Params.MaxTokens)
	add("params.temperature", number(from.Params.Temperature), number(to.Params.Temperature))
	add("params.top_p", number(from.Params.TopP), number(to.Params.TopP))
	add("params.seed", number(from.Params.Seed), number(to.Params.Seed))
	add("prompt", "sha256:"+model.SumString(from.System).Short(), "sha256:"+model.SumString(to.System).Short())
	if out == nil && !slices.Equal(from.Models, to.Models) {
		add("models", fmt.Sprint(from.Models), fmt.Sprint(to.Models))
	}
	return out
}

// usdOf writes an amount of 1e-6 USD.
func usdOf(micro int64) string { return fmt.Sprint(float64(micro) / 1e6) }

// number writes a parameter; "" where it is not set.
func number[T int64 | float64](p *T) string {
	if p == nil {
		return ""
	}
	return fmt.Sprint(*p)
}
