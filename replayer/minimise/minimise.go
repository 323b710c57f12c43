package minimise

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
)

// Options say what is tried.
type Options struct {
	Replay replayer.Options // how the session is replayed
	// RedactTexts replaces texts by placeholders of the same length instead of
	// short ones: sizes stay, words go.
	RedactTexts bool
	Budget      int // replays at most; 0 = DefaultBudget
}

// DefaultBudget is how many replays are made at most.
const DefaultBudget = 500

// MaxSession is the size in bytes of the largest session that is minimised: each
// try is written in memory.
const MaxSession = 64 << 20

// Result says what became of a session.
type Result struct {
	Report  *replayer.Report `json:"report"`  // of the minimised session
	Replays int              `json:"replays"` // made
	Lines   [2]int           `json:"lines"`   // before and after
	Bytes   [2]int64         `json:"bytes"`   // of the lines, before and after
	Blobs   [2]int           `json:"blobs"`   // contents beside the file, before and after
	Texts   int              `json:"texts"`   // that could be replaced
	Kept    []Kept           `json:"kept"`    // texts that had to stay, or are not replaced ever
	Cut     int              `json:"cut"`     // lines that followed the divergence

	session []byte
	blobs   session.Blobs
	need    []blob
}

// Kept is a text that stands in the minimised session as it was recorded.
type Kept struct {
	Line    int    `json:"line"`
	Pointer string `json:"pointer"`
	Bytes   int    `json:"bytes"`
}

// ErrNothing says that a session shows nothing that could be minimised.
var ErrNothing = errors.New("there is nothing to minimise")

// File minimises the session at path. It changes no file; [Result.Write] writes
// what came of it.
func File(ctx context.Context, path string, o Options) (*Result, error) {
	orig, err := load(path)
	if err != nil {
		return nil, err
	}
	m := &minimiser{o: o, orig: orig, left: o.Budget}
	if m.left <= 0 {
		m.left = DefaultBudget
	}
	budget := m.left
	if m.report, err = replayer.File(ctx, path, o.Replay); err != nil {
		return nil, err
	}
	if v := m.report.Verdict; v.Exit() != 1 {
		return nil, fmt.Errorf("%s: %w: its verdict is %s, and only a session whose loop does otherwise than recorded shows something", path, ErrNothing, v)
	}
	m.want = signature(m.report)
	best, err := m.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	raw, err := best.seal()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	need, before := best.contents(), orig.contents()
	r := &Result{Report: m.report, Replays: budget - m.left, Lines: [2]int{len(orig.lines), best.count()},
		Bytes: [2]int64{orig.size, int64(len(raw))}, Blobs: [2]int{len(before), len(need)}, Texts: len(best.texts),
		Kept: best.kept(), Cut: max(0, len(orig.lines)-best.count()), session: raw, blobs: orig.blobs, need: need}
	return r, nil
}

// Write writes the minimised session, and the contents that it names beside it.
func (r *Result) Write(path string, overwrite bool) error {
	f, err := session.Create(path, session.FileOptions{Overwrite: overwrite})
	if err != nil {
		return err
	}
	beside := session.BlobsBeside(path)
	for _, b := range r.need {
		content, err := r.blobs.Get(b.digest, b.size)
		if err == nil {
			err = beside.Put(b.digest, content)
		}
		if err != nil {
			return errors.Join(err, drop(f))
		}
	}
	rd := session.NewReader(bytes.NewReader(r.session))
	for {
		l, err := rd.Next()
		if errors.Is(err, io.EOF) {
			return f.Close()
		}
		if err == nil {
			err = f.Line(l.Type, l.Payload())
		}
		if err != nil {
			return errors.Join(err, drop(f))
		}
	}
}

// drop takes a file away that came to nothing.
func drop(f *session.File) error {
	f.Close()
	if err := os.Remove(f.Partial()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// sign is what a session must go on to show.
type sign struct {
	verdict     replayer.Verdict
	line, turn  int
	typ, stage  string
	pointer     string
	part        int
	sameAnswers int
}

func signature(r *replayer.Report) sign {
	s := sign{verdict: r.Verdict, part: -1}
	if d := r.Divergence; d != nil {
		s.line, s.turn, s.typ, s.stage, s.pointer = d.Line, d.Turn, d.Type, d.Stage, d.Pointer
		if d.Part != nil {
			s.part = *d.Part
		}
		return s
	}
	s.sameAnswers = r.Turns // where recording and loop part company
	return s
}

// minimiser tries smaller sessions.
type minimiser struct {
	o      Options
	orig   *draft
	want   sign
	left   int // replays
	report *replayer.Report
}

// shows reports whether a draft is a sound session that shows the same.
func (m *minimiser) shows(ctx context.Context, d *draft) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if m.left <= 0 {
		return false, nil
	}
	raw, err := d.seal()
	if err != nil {
		return false, nil //nolint:nilerr // no session: not smaller in this way
	}
	m.left--
	rep, err := replayer.Reader(ctx, session.NewReader(bytes.NewReader(raw)), d.blobs, m.report.Path, m.o.Replay)
	if err != nil {
		return false, ctx.Err()
	}
	if signature(rep) != m.want {
		return false, nil
	}
	m.report = rep
	return true, nil
}

// run makes the session smaller step by step.
func (m *minimiser) run(ctx context.Context) (*draft, error) {
	best := m.orig
	keep := func(d *draft) (bool, error) {
		ok, err := m.shows(ctx, d)
		if ok {
			best = d
		}
		return ok, err
	}
	for _, end := range best.ends(m.want.line) {
		if ok, err := keep(best.cutAt(end)); ok || err != nil {
			if err != nil {
				return nil, err
			}
			break
		}
	}
	if _, err := keep(best.unlabelled()); err != nil {
		return nil, err
	}
	if err := m.most(ctx, best.units(fileUnits), func(set []unit) (bool, error) { return keep(best.withoutFiles(set)) }); err != nil {
		return nil, err
	}
	replace := short
	if m.o.RedactTexts {
		replace = sameLength
	}
	err := m.most(ctx, best.units(textUnits), func(set []unit) (bool, error) { return keep(best.replaced(set, replace)) })
	return best, err
}

// most applies a change to as many units as can be: to all, else to halves, and
// so on down to single ones. apply adds to what was applied before.
func (m *minimiser) most(ctx context.Context, set []unit, apply func([]unit) (bool, error)) error {
	if len(set) == 0 || m.left <= 0 {
		return nil
	}
	ok, err := apply(set)
	if ok || err != nil || len(set) == 1 {
		return err
	}
	half := len(set) / 2
	if err := m.most(ctx, set[:half], apply); err != nil {
		return err
	}
	return m.most(ctx, set[half:], apply)
}
