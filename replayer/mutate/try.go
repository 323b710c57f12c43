package mutate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
	"github.com/harnessbench/harnessbench/replayer/internal/patch"
)

// Outcome is what became of one change.
type Outcome string

// The outcomes.
const (
	Behaviour  Outcome = "behaviour"   // the loop, its guards or the recorder came out differently
	DigestOnly Outcome = "digest"      // nothing but a digest over the inputs objected
	Missed     Outcome = "missed"      // the replay did not mind, or blamed a line before
	Passed     Outcome = "passed"      // means nothing, and was not minded
	FalseAlarm Outcome = "false alarm" // means nothing, and was minded
)

// Tried is a change with its outcome.
type Tried struct {
	Change  *Change
	Outcome Outcome
	Verdict replayer.Verdict
	// AtPlace: it was caught at the very field, and nowhere else: the value is none
	// that the recorder writes there or a reader takes, or the loop makes it again.
	AtPlace bool
	Reason  string // what the replay said, or why the change counts as missed
}

// original is a session held in memory.
type original struct {
	path  string
	lines []*session.Line
	blobs session.Blobs

	replay replayFunc
}

// MaxSession is the size in bytes of the largest session that is changed: each
// change writes it anew.
const MaxSession = 64 << 20

// load reads a session. It must be complete and sound.
func load(path string) (*original, error) {
	s, err := session.Open(path)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	o := &original{path: path, blobs: s.Blobs()}
	for {
		l, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if l.Offset > MaxSession {
			return nil, fmt.Errorf("%s: has more than %d MiB: too large to be changed line by line", path, MaxSession>>20)
		}
		o.lines = append(o.lines, l.Clone())
	}
	if !s.Complete() {
		return nil, fmt.Errorf("%s: has no footer: only finished sessions are changed", path)
	}
	return o, nil
}

// changed writes the session with the change, sealed again.
func (o *original) changed(c *Change) ([]byte, error) {
	var buf bytes.Buffer
	w := session.NewWriter(&buf)
	for i := 0; i < len(o.lines); i++ {
		l := o.lines[i]
		payload := l.Payload()
		if l.No == c.Line {
			switch c.Kind {
			case NoLine:
				continue
			case Swapped:
				next := o.lines[i+1]
				if err := w.Line(next.Type, next.Payload()); err != nil {
					return nil, err
				}
				i++
			default:
				var err error
				if payload, err = c.payloadOf(l); err != nil {
					return nil, err
				}
			}
		}
		if err := w.Line(l.Type, payload); err != nil {
			return nil, err
		}
		if l.No == c.Line {
			var err error
			switch c.Kind {
			case Double:
				err = w.Line(l.Type, payload)
			case UnknownLine:
				err = w.Line(laterLine, []byte(laneOf(l)+`,"said":"by a later version"`))
			}
			if err != nil {
				return nil, err
			}
		}
	}
	err := w.Flush()
	return buf.Bytes(), err
}

// try makes a change and replays the session.
func (o *original) try(ctx context.Context, c *Change) (t Tried) {
	t = Tried{Change: c, Outcome: Missed}
	raw, err := o.changed(c)
	if err != nil {
		t.Reason = "cannot be changed so: " + err.Error()
		return t
	}
	rep, err := o.again(ctx, raw)
	if err != nil {
		t.Reason = err.Error()
		return t
	}
	t.Verdict, t.Reason = rep.Verdict, rep.Reason
	switch fine := rep.Verdict.Exit() == 0; {
	case c.Harmless() && fine:
		t.Outcome = Passed
	case c.Harmless():
		t.Outcome = FalseAlarm
	case fine:
	case c.blamesBefore(rep.Divergence):
		t.Reason = fmt.Sprintf("line %d before it is blamed: %s", rep.Divergence.Line, rep.Reason)
	default:
		t.Outcome = Behaviour
		if c.Origin == session.Input && byDigest(rep) {
			if rep = o.refitted(ctx, raw, c.Pointer, rep); rep.Verdict.Exit() == 0 {
				t.Outcome = DigestOnly
			}
		}
		t.AtPlace = t.Verdict == replayer.Corrupt || c.at(rep.Divergence)
	}
	return t
}

// blamesBefore reports whether a divergence blames a line before the changed
// one. The header names the opening parts by their digests: it may be blamed for
// one that is missing there.
func (c *Change) blamesBefore(d *replayer.Divergence) bool {
	return d != nil && d.Line < c.Line && !(c.opening && c.Pointer == "" && d.Line == 1)
}

// at reports whether a divergence is at the changed field.
func (c *Change) at(d *replayer.Divergence) bool {
	if d == nil || d.Line != c.Line || c.Pointer == "" || d.Pointer == "" {
		return false
	}
	place := c.Pointer
	if i := strings.LastIndexByte(place, '/'); i > 0 && c.Kind == Remove {
		place = place[:i] // the elements after it have other indices now
	}
	return strings.HasPrefix(place+"/", d.Pointer+"/") || strings.HasPrefix(d.Pointer+"/", place+"/")
}

// again replays a session in memory; a panic is an error, so that the others are
// tried too.
func (o *original) again(ctx context.Context, raw []byte) (rep *replayer.Report, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the replay panics: %v", p)
		}
	}()
	return o.replay(ctx, session.NewReader(bytes.NewReader(raw)), o.blobs, o.path)
}

// byDigest reports whether it may have been a digest alone that objected.
func byDigest(rep *replayer.Report) bool {
	d := rep.Divergence
	return d != nil && (d.Line == 1 || d.Pointer == "/inputs")
}

// refitted replays a changed session once more, with all digests over the inputs
// made to fit; where that cannot be done the report stays as it was.
func (o *original) refitted(ctx context.Context, raw []byte, changed string, was *replayer.Report) *replayer.Report {
	fitted, err := Refit(raw, changed)
	if err != nil {
		return was
	}
	rep, err := o.again(ctx, fitted)
	if err != nil {
		return was
	}
	return rep
}

// Refit returns a session in which the digests over inputs are those of the
// inputs as they stand: inputs in state lines and footer, config_digest,
// tree_digest, and size and digest of initial files whose content stands in the
// header; but for the value at the pointer changed, which stays. Whoever changes an
// input and wants it to pass has to do the same.
func Refit(raw []byte, changed string) ([]byte, error) {
	var headed, out bytes.Buffer
	err := session.Edit(&headed, bytes.NewReader(raw), func(l *session.Line, emit func(session.Type, []byte) error) error {
		if l.Type != session.TypeHeader {
			return emit(l.Type, l.Payload())
		}
		payload, err := refitHeader(l, changed)
		if err != nil {
			return err
		}
		return emit(l.Type, payload)
	})
	if err != nil {
		return nil, err
	}
	inputs := session.NewInputs()
	err = session.Edit(&out, &headed, func(l *session.Line, emit func(session.Type, []byte) error) error {
		if err := inputs.Add(l); err != nil {
			return err
		}
		payload := l.Payload()
		if _, ok := l.Field("inputs"); ok {
			d := inputs.Digest().String()
			if l.Type == session.TypeState {
				d = inputs.Digest().Short()
			}
			var err error
			if payload, err = l.With("/inputs", patch.Quote(d)); err != nil {
				return err
			}
		}
		return emit(l.Type, payload)
	})
	return out.Bytes(), err
}

// refitHeader makes the digests of a header fit its config and tree.
func refitHeader(l *session.Line, changed string) ([]byte, error) {
	values := map[string]jsontext.Value{}
	if config, ok := l.Field("config"); ok {
		values["/config_digest"] = patch.Quote(model.Sum(config).String())
	}
	h, err := l.Header()
	if err != nil {
		return nil, err
	}
	entries := make([]workspace.Entry, len(h.Tree))
	for i, f := range h.Tree {
		if f.Content != nil {
			f.Size, f.Digest = int64(len(f.Content)), model.Sum(f.Content)
			values[fmt.Sprintf("/tree/%d/size", i)] = fmt.Appendf(nil, "%d", f.Size)
			values[fmt.Sprintf("/tree/%d/digest", i)] = patch.Quote(f.Digest.String())
		}
		entries[i] = workspace.Entry{Path: f.Path, Size: f.Size, Mode: f.Mode, Digest: f.Digest}
	}
	values["/tree_digest"] = patch.Quote(workspace.TreeDigest(entries).String())
	delete(values, changed)
	return patch.Replace(l.Payload(), values)
}
