package session_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder"
	"github.com/harnessbench/harnessbench/recorder/internal/sample"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// recordTo plays events into w.
func recordTo(t testing.TB, w *session.Writer, play func(event.Sink) error, blobs session.Blobs) {
	t.Helper()
	rec, err := recorder.New(w, sample.Header(), recorder.Config{Blobs: blobs,
		TreeDigest: func() (model.Digest, error) { return model.SumString("final"), nil }})
	if err != nil {
		t.Fatal(err)
	}
	if err := play(rec); err != nil {
		t.Fatal(err)
	}
	if err := rec.Finish(); err != nil {
		t.Fatal(err)
	}
}

// record plays events into memory.
func record(t testing.TB, play func(event.Sink) error) []byte {
	t.Helper()
	var buf bytes.Buffer
	recordTo(t, session.NewWriter(&buf), play, nil)
	return buf.Bytes()
}

// readAll returns the lines before the error, and the error unless it is io.EOF.
func readAll(r *session.Reader) (out []*session.Line, err error) {
	for {
		l, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, l.Clone())
	}
}

func read(b []byte) ([]*session.Line, *session.Reader, error) {
	r := session.NewReader(bytes.NewReader(b))
	out, err := readAll(r)
	return out, r, err
}

const minimalHeader = `,"v":"harnessbench/session/1","canon":"canon/1","scenario":"s","repetition":0,"model":"m","config":{},"config_digest":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"`

// seal makes a session of a minimal header and these lines, type and payload by
// turns.
func seal(t testing.TB, pairs ...string) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := session.NewWriter(&buf)
	pairs = append([]string{"header", minimalHeader}, pairs...)
	for i := 0; i < len(pairs); i += 2 {
		if err := w.Line(session.Type(pairs[i]), []byte(pairs[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}
