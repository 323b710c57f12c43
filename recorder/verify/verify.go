package verify

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/harnessbench/harnessbench/recorder/session"
)

// Verdict is what is said of a file.
type Verdict string

// The verdicts; a file that is corrupt and leaks is CORRUPT, with its leaks
// listed.
const (
	OK      Verdict = "OK"
	Leak    Verdict = "LEAK"    // sound, and something that looks like a secret stands in it
	Torn    Verdict = "TORN"    // sound as far as it goes: no footer, perhaps a torn last line
	Corrupt Verdict = "CORRUPT" // Line is the first bad one
	TooNew  Verdict = "TOO_NEW" // a newer format
)

// Exit is the exit status a verdict stands for: 0 sound, 1 a secret stands in it,
// 3 it cannot be used as it is.
func (v Verdict) Exit() int {
	switch v {
	case OK:
		return 0
	case Leak:
		return 1
	}
	return 3
}

// Report is what was found in one file.
type Report struct {
	Path    string    `json:"path"`
	Verdict Verdict   `json:"verdict"`
	Lines   int       `json:"lines"`            // read
	Bytes   int64     `json:"bytes"`            // of these, uncompressed
	Blobs   int       `json:"blobs"`            // contents beside the file that were read
	Wire    bool      `json:"wire,omitempty"`   // recorded traffic
	Line    int       `json:"line,omitempty"`   // the first bad line; 0 = none, or no line is to blame
	Reason  string    `json:"reason,omitempty"` // what is wrong there
	Leaks   []Finding `json:"leaks,omitempty"`  // at most MaxLeaks
	More    int       `json:"more,omitempty"`   // leaks that are not listed
}

// Finding is a place where something looks like a secret.
type Finding struct {
	Line    int    `json:"line"`           // that holds it, or names the blob that does
	Pointer string `json:"pointer"`        // RFC 6901, into the line
	Blob    string `json:"blob,omitempty"` // digest of the content beside the file that holds it
	Kind    string `json:"kind"`           // "shape" or "declared"
	Name    string `json:"name,omitempty"` // under which it was declared
}

// MaxLeaks bounds the findings of one file that are listed.
const MaxLeaks = 100

// Options say what is looked for besides key shapes.
type Options struct {
	Secrets []Secret
}

// Secret is a declared secret: its value is looked for and written nowhere.
type Secret struct{ Name, Value string }

// File verifies one session file. What is wrong with it is in the report; the
// error is for a file that cannot be opened or read, and a cancelled ctx.
func File(ctx context.Context, path string, o Options) (*Report, error) {
	s, err := session.Open(path)
	if session.Unopened(err) {
		return &Report{Path: path, Verdict: Corrupt, Reason: err.Error()}, nil
	}
	if err != nil {
		return nil, err
	}
	defer s.Close()
	v := &verifier{rep: &Report{Path: path, Verdict: OK}, hunt: newHunt(o.Secrets), blobs: newBlobs(s.Blobs()), sums: newSums()}
	if err := v.run(ctx, s.Reader); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	v.conclude(s.Reader)
	return v.rep, nil
}

// verifier reads one file.
type verifier struct {
	rep   *Report
	hunt  *hunt
	blobs *blobs
	sums  *sums
	bad   bool // Line and Reason say what is wrong; only leaks are looked for
}

func (v *verifier) run(ctx context.Context, r *session.Reader) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		l, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return v.unreadable(err)
		}
		v.rep.Lines, v.rep.Bytes = l.No, l.Offset+int64(len(l.Raw))+1
		v.leaks(v.hunt.line(l))
		if err := v.line(l); err != nil {
			v.blame(l.No, err)
		}
	}
}

// unreadable turns an error of the reader into a verdict, where it is one.
func (v *verifier) unreadable(err error) error {
	var broken *session.CorruptError
	switch {
	case errors.Is(err, session.ErrTooNew):
		v.rep.Verdict, v.rep.Line, v.rep.Reason = TooNew, 1, err.Error()
		return nil
	case errors.As(err, &broken):
		v.blame(broken.Line, err)
		return nil
	}
	return err
}

// blame notes the first bad line.
func (v *verifier) blame(line int, err error) {
	if !v.bad {
		v.bad, v.rep.Verdict, v.rep.Line, v.rep.Reason = true, Corrupt, line, err.Error()
	}
}

// line checks one line against those before it and the contents it names.
func (v *verifier) line(l *session.Line) error {
	if l.Type == session.TypeHeader {
		h, err := l.Header()
		if err != nil {
			return err
		}
		v.rep.Wire = h.IsWire()
	}
	named, err := blobsOf(l)
	if err != nil {
		return err
	}
	for _, b := range named {
		found, err := v.blobs.check(b, v.hunt)
		v.leaks(placed(found, l.No, b))
		if err != nil {
			return fmt.Errorf("line %d (%s): field %q: %w", l.No, l.Type, b.pointer, err)
		}
	}
	if v.bad {
		return nil // what follows from a bad line is no news
	}
	return v.sums.line(l)
}

func (v *verifier) leaks(found []Finding) {
	for _, f := range found {
		if len(v.rep.Leaks) < MaxLeaks {
			v.rep.Leaks = append(v.rep.Leaks, f)
		} else {
			v.rep.More++
		}
	}
}

// conclude gives the verdict once the file is read.
func (v *verifier) conclude(r *session.Reader) {
	v.rep.Blobs = v.blobs.count()
	if v.rep.Verdict != OK {
		return
	}
	switch torn := r.Torn(); {
	case torn != nil:
		v.rep.Verdict, v.rep.Line, v.rep.Reason = Torn, torn.Line, torn.String()
	case !r.Complete():
		v.rep.Verdict, v.rep.Reason = Torn, "there is no footer: the session was not finished"
	case len(v.rep.Leaks) > 0:
		v.rep.Verdict = Leak
	}
}
