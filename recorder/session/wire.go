package session

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
)

// WireKind is the member "kind" of the config of recorded traffic.
const WireKind = "wire"

// IsWire reports whether the header is that of recorded traffic: a session whose
// lines are exchanges of an API, and whose loop is not ours.
func (h *Header) IsWire() bool { return h.kind() == WireKind }

// Wire is one exchange as it passed.
type Wire struct {
	N         int // from 1, in the order in which the requests came
	API       string
	Method    string
	Path      string // with its query
	Hint      int    // ordinal of the hint's value from 1; 0 = there was none
	Root      ShortDigest
	Raw       ShortDigest
	Streamed  bool        // the request asked for a stream
	Ask       []byte      // body of an auxiliary request; nil when it is not kept
	AskDigest ShortDigest // zero = there was no body, or it is no auxiliary call
	Status    int         // 0 = no answer came
	Header    [][2]string
	Stream    bool // the answer is a stream
	Inline    bool // Body is the answer's body
	Body      []byte
	Blob      model.Digest // names the body where it is not inline and Size > 0
	Size      int64        // bytes of the body
	Frames    []WireFrame  // their bytes add up to Size
	Broken    string
	Elapsed   time.Duration
}

// WireFrame is a piece of a body.
type WireFrame struct {
	At    time.Duration // since the request was passed on
	Bytes int
}

// Wire decodes a wire line.
func (l *Line) Wire() (*Wire, error) {
	w := &Wire{Method: "POST"}
	elapsed := false
	err := l.decode(TypeWire, func(d *fieldDec, key string, v []byte) {
		switch key {
		case "n":
			w.N = d.count(v)
		case "api":
			w.API = d.str(v)
		case "method":
			w.Method = d.str(v)
		case "path":
			w.Path = d.str(v)
		case "hint":
			w.Hint = d.count(v)
		case "root":
			w.Root = d.short(v)
		case "raw":
			w.Raw = d.short(v)
		case "streamed":
			w.Streamed = d.bool(v)
		case "ask":
			w.Ask = []byte(d.str(v))
		case "ask_digest":
			w.AskDigest = d.short(v)
		case "elapsed_us":
			w.Elapsed, elapsed = d.micros(v), true
		default:
			d.wireAnswer(w, key, v)
		}
	})
	if err != nil {
		return nil, err
	}
	if n := len(w.Frames); n > 0 && !elapsed {
		w.Elapsed = w.Frames[n-1].At
	}
	return w, l.wireSound(w)
}

// wireAnswer reads the fields that say what came back.
func (d *fieldDec) wireAnswer(w *Wire, key string, v []byte) {
	body := func(b []byte) {
		if w.Inline || w.Size > 0 {
			d.fail(errors.New("stands beside another body"))
		}
		w.Body, w.Inline, w.Size = b, true, int64(len(b))
	}
	switch key {
	case "status":
		w.Status = d.count(v)
	case "header":
		w.Header = d.pairs(v)
	case "stream":
		w.Stream = d.bool(v)
	case "text":
		body([]byte(d.str(v)))
	case "b64":
		body(d.b64(v))
	case "size":
		if w.Inline {
			d.fail(errors.New("stands beside another body"))
		}
		if w.Size = d.size(v); w.Size > MaxBody {
			d.fail(fmt.Errorf("is more than %d MiB", MaxBody>>20))
		}
	case "blob":
		w.Blob = d.full(v)
	case "frames":
		w.Frames = d.frames(v)
	case "broken":
		w.Broken = d.str(v)
	}
}

// wireSound checks what the fields of a wire line say together.
func (l *Line) wireSound(w *Wire) error {
	var sum int64
	for _, f := range w.Frames {
		sum += int64(f.Bytes)
	}
	switch {
	case w.N < 1:
		return l.decodeErr("n", "is missing, or zero")
	case sum != w.Size:
		return l.decodeErr("frames", "say %d bytes, the body has %d", sum, w.Size)
	case !w.Inline && w.Size > 0 && w.Blob.IsZero():
		return l.decodeErr("blob", "is missing")
	}
	return nil
}

// pairs reads [["name","value"],...].
func (d *fieldDec) pairs(v []byte) (out [][2]string) {
	d.fail(elements(v, func(_ int, v []byte) error {
		var e fieldDec
		p := e.strs(v)
		if e.err == nil && len(p) != 2 {
			e.err = errors.New("a header is a name and a value")
		}
		if e.err == nil {
			out = append(out, [2]string{p[0], p[1]})
		}
		return e.err
	}))
	return out
}

// frames reads [[at_us,bytes],...].
func (d *fieldDec) frames(v []byte) []WireFrame {
	out := make([]WireFrame, 0, bytes.Count(v, []byte{'['}))
	d.fail(elements(v, func(_ int, v []byte) error {
		var e fieldDec
		var f WireFrame
		n := 0
		e.fail(elements(v, func(i int, v []byte) error {
			var e fieldDec
			switch n = i + 1; i {
			case 0:
				f.At = e.micros(v)
			case 1:
				f.Bytes = e.count(v)
			}
			return e.err
		}))
		if e.err == nil && (n < 2 || f.At < 0) {
			e.err = errors.New("a frame is its time and its bytes")
		}
		out = append(out, f)
		return e.err
	}))
	return out
}

// WirePart returns the part of a part line of recorded traffic: Message and Tool
// are nil, the body is not looked into.
func (p *Part) WirePart() *model.Part {
	return &model.Part{Kind: p.Kind, Role: p.Role, JSON: p.Body, Size: len(p.Body), Digest: model.Sum(p.Body)}
}
