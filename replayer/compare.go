package replayer

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// sink compares what the loop does with what was recorded.
type sink struct{ r *replay }

// Emit implements event.Sink.
func (s sink) Emit(ev event.Event) error {
	if err := s.r.hear(ev); err != nil || s.r.pass == nil {
		return err
	}
	return s.r.pass.Emit(ev)
}

// hear compares one event, as long as there is something to compare it with.
func (r *replay) hear(ev event.Event) error {
	if r.settled {
		return r.halt
	}
	if g, ok := ev.(*event.Guard); ok && r.current && g.Mode == string(guard.Shadow) {
		r.shadow(g)
		return nil
	}
	t, payload, err := r.enc.Encode(ev)
	if err != nil || t == "" {
		return err
	}
	r.stage = eventName(ev)
	if h := ev.Header(); h.Turn > r.turn {
		r.turn = h.Turn
	}
	return r.compare(t, payload, ev)
}

// compare checks one encoded event against the tape's next line.
func (r *replay) compare(t session.Type, payload []byte, ev event.Event) error {
	l, err := r.next()
	if err != nil {
		return r.ended(err, r.stage)
	}
	if l.Type == t && bytes.Equal(l.Payload(), payload) {
		r.passed(l, ev)
		return nil
	}
	if l.Type != t {
		return r.otherType(l, t, payload, ev)
	}
	eased := r.ladder.eased
	diff, err := r.difference(l, payload, ev)
	switch {
	case err != nil:
		return r.unreadable(l, err)
	case diff == nil:
		if r.ladder.eased == eased {
			r.unequal++
		}
		r.passed(l, ev)
		return nil
	}
	return r.differs(l, diff, ev)
}

// next returns the tape's next line; under another configuration recorded
// firings in shadow are passed over.
func (r *replay) next() (*session.Line, error) {
	for {
		l, err := r.tape.peek()
		if err != nil || !r.current || l.Type != session.TypeGuard {
			return l, err
		}
		g, err := l.Guard()
		if err != nil || g.Mode != string(guard.Shadow) {
			return l, nil
		}
		r.tape.take()
	}
}

// passed takes a line that came out as recorded.
func (r *replay) passed(l *session.Line, ev event.Event) {
	r.rep.Lines++
	r.count(ev)
	switch ev := ev.(type) {
	case *event.Request:
		r.follow.params = session.Short(ev.Req.ParamsDigest)
	case *event.State:
		r.rep.Turns++
	case *event.ToolResult:
		r.after = fmt.Sprintf("turn %d: %s %s: %s", ev.Turn, ev.Call.Name, shorten(ev.Args, 120), ev.Outcome)
	case *event.Guard:
		r.after = fmt.Sprintf("turn %d: guard %s (%s): %s, %s", ev.Turn, ev.Name, ev.Mode, ev.Act, ev.Evidence)
	}
	r.tape.take()
	r.foreseeCancel(l.Type)
}

// otherType reports an event that the recording does not have at this place.
func (r *replay) otherType(l *session.Line, t session.Type, payload []byte, ev event.Event) error {
	if t == session.TypeFooter {
		return r.unused(l, ev)
	}
	if l.Type == session.TypeFooter && t == session.TypeRequest {
		return r.exhausted(l)
	}
	return r.swapped(l, t, describe(t, payload))
}

// swapped settles on a line in whose place the loop has another kind.
func (r *replay) swapped(l *session.Line, t session.Type, actual string) error {
	d := r.place(l, "", describe(l.Type, l.Payload()), actual)
	d.ActualType, d.Code = string(t), orderCode(l.Type, t)
	return r.settleDivergence(d)
}

// unused counts the recorded answers that the loop did not want any more.
func (r *replay) unused(l *session.Line, ev event.Event) error {
	end, _ := ev.(*event.End)
	at, kind := l.No, l.Type
	if kind == session.TypeGuard || kind == session.TypePart || kind == session.TypeToolResult || kind == session.TypeState {
		// The recorded turn itself goes on differently.
		return r.swapped(l, session.TypeFooter, "the end of the session: "+string(end.Reason)+" "+end.Evidence)
	}
	n := 0
	for {
		if l.Type == session.TypeResponse || l.Type == session.TypeAttempt {
			n++
		}
		r.tape.take()
		var err error
		if l, err = r.tape.peek(); err != nil {
			if !errors.Is(err, errEnd) {
				return r.broken(err)
			}
			break
		}
	}
	r.rep.Unused = n
	return r.settle(Unused, fmt.Sprintf("the loop ended in turn %d (%s); the recorded one goes on at line %d (%s) with %d more model answers", r.turn, end.Reason, at, kind, n))
}

// compareHeader checks the header against what the configuration gives today.
func (r *replay) compareHeader(cfg *trial.Rebuilt) error {
	l, err := r.tape.peek()
	if err != nil {
		return r.ended(err, "header")
	}
	h := *r.header
	r.stage = "assemble"
	if r.current {
		// The encoder still needs the recorded header: model ids and inputs of
		// the lines that follow are told relative to it.
		if _, err := r.enc.Header(&h); err != nil {
			return r.misfit(l, "", err)
		}
		r.tape.take()
		return nil
	}
	set := cfg.Config.Settings()
	h.Config = []byte(cfg.Config.JSON())
	h.ConfigDigest = model.Sum(h.Config)
	h.Scenario, h.Repetition, h.Model = set.Scenario, set.Repetition, set.Params.Model
	entries, err := r.ws.Manifest()
	if err != nil {
		return r.misfit(l, "/tree", err)
	}
	h.TreeDigest = treeDigestOf(entries)
	payload, err := r.enc.Header(&h)
	if err != nil {
		return r.misfit(l, "", err)
	}
	return r.compare(session.TypeHeader, payload, &event.Start{})
}

// differs turns an unequal field into a divergence.
func (r *replay) differs(l *session.Line, d *difference, ev event.Event) error {
	div := r.place(l, d.pointer, d.recorded, d.actual)
	r.refine(div, l, ev)
	if req, ok := ev.(*event.Request); ok && d.pointer == "/chain" {
		if i := req.Req.Count - 1; i >= 0 {
			div.Part = &i
		}
		div.Recorded += ", digest of the conversation so far"
	}
	if d.pointer == "/inputs" {
		div.Recorded += ", digest of what this turn was served"
		div.Diff = "an input up to here (answer, usage, time, tool result, change of a file) was changed after the recording"
	}
	return r.settleDivergence(div)
}

// diverge settles on a divergence at a line.
func (r *replay) diverge(l *session.Line, pointer, recorded, actual string) error {
	return r.settleDivergence(r.place(l, pointer, recorded, actual))
}

func (r *replay) place(l *session.Line, pointer, recorded, actual string) *Divergence {
	turn := max(r.turn, l.Turn, 1)
	d := &Divergence{Turn: turn, Stage: r.stage, Line: l.No, Type: string(l.Type), Pointer: pointer, After: r.after,
		Code: fieldCode(l, pointer),
		Show: fmt.Sprintf("harnessbench show %s --turn %d", shellQuote(r.rep.Path), turn)}
	d.Diff, d.Hint = valueDiff(recorded, actual), why(recorded, actual)
	if isDigest(recorded) && isDigest(actual) {
		d.Hint = "" // ours, which say of what they are digests: nothing in them is random
	}
	d.Recorded, d.Actual = shorten(recorded, longText), shorten(actual, longText)
	return d
}

// isDigest reports whether a value is a digest as lines write it, short or whole.
func isDigest(s string) bool {
	hex := strings.Trim(s, `"`)
	return (len(hex) == 32 || len(hex) == 64) && strings.Trim(hex, "0123456789abcdef") == ""
}

func (r *replay) settleDivergence(d *Divergence) error {
	if !r.settled {
		r.rep.Divergence = d
	}
	return r.settle(Diverged, d.where())
}

// misfit reports a line that contradicts itself, or does not hold what its type
// asks for. A content that is missing altogether is no divergence: it cannot be
// judged.
func (r *replay) misfit(l *session.Line, pointer string, err error) error {
	if errors.Is(err, session.ErrNoBlobs) || errors.Is(err, fs.ErrNotExist) {
		return r.settle(Corrupt, fmt.Sprintf("line %d: %v", l.No, err))
	}
	var dec *session.DecodeError
	if errors.As(err, &dec) && pointer == "" {
		pointer = "/" + strings.NewReplacer(".", "/", "[]", "").Replace(dec.Field)
	}
	if r.stage == "" {
		r.stage = "assemble"
	}
	d := r.place(l, pointer, err.Error(), "")
	d.Code, d.Diff, d.Hint = CodeMisfit, "", ""
	return r.settleDivergence(d)
}

// shadow lists a firing that had no effect.
func (r *replay) shadow(g *event.Guard) {
	const most = 1000
	if len(r.rep.Shadow) < most {
		r.rep.Shadow = append(r.rep.Shadow, fmt.Sprintf("turn %d: %s would %s (%s)", g.Turn, g.Name, g.Act, g.Evidence))
	}
}
