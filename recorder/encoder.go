package recorder

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// Options are what an [Encoder] needs besides events.
type Options struct {
	// Put stores a content that is too large for a line; nil = the line names
	// it and nothing is stored (on replay).
	Put func(d model.Digest, content []byte) error
	// TreeDigest gives the workspace's digest for the footer; nil = unknown,
	// and the field is left out.
	TreeDigest func() (model.Digest, error)
}

// Encoder turns the header and events into payloads. It is not safe for
// concurrent use.
type Encoder struct {
	opts   Options
	buf    []byte       // the payload in the making
	in     []byte       // the line's part of the inputs digest in the making
	nin    int          // input fields of the line
	inputs model.Digest // over the lines before
	model  string       // the header's
	main   laneState
	lanes  map[string]*laneState
	args   session.Args
}

// laneState is what the lines of a lane need to know of those before.
type laneState struct {
	turn      int
	params    model.Digest
	hasParams bool
}

// NewEncoder returns an Encoder at the start of a session.
func NewEncoder(opts Options) *Encoder {
	return &Encoder{opts: opts, inputs: session.InputsStart}
}

// Inputs returns the inputs digest over the lines encoded so far.
func (e *Encoder) Inputs() model.Digest { return e.inputs }

// Encode returns the type and the payload of the event's line; type "" says that
// the event is not recorded. The payload is valid until the next call. The
// footer's payload lacks "lines" and "digest", which the writer adds. Start has
// no line of its own: see [Encoder.Header].
func (e *Encoder) Encode(ev event.Event) (session.Type, []byte, error) {
	var t session.Type
	var err error
	switch ev := ev.(type) {
	case *event.Request:
		t = session.TypeRequest
		err = e.request(ev)
	case *event.Response:
		t = session.TypeResponse
		err = e.response(ev)
	case *event.ToolRequest:
		t = session.TypeToolRequest
		e.toolRequest(ev)
	case *event.ToolResult:
		t = session.TypeToolResult
		err = e.toolResult(ev)
	case *event.Part:
		t = session.TypePart
		err = e.part(ev)
	case *event.Attempt:
		t = session.TypeAttempt
		err = e.attempt(ev)
	case *event.Guard:
		t = session.TypeGuard
		e.guard(ev)
	case *event.Approval:
		t = session.TypeApproval
		e.approval(ev)
	case *event.Candidate:
		t = session.TypeAcceptance
		e.candidate(ev)
	case *event.Anomaly:
		t = session.TypeNote
		e.begin(session.TypeNote, &ev.Head)
		e.str("what", ev.What)
	case *event.State:
		t = session.TypeState
		e.state(ev)
	case *event.End:
		t = session.TypeFooter
		err = e.end(ev)
	case *event.Start, *event.Checkpoint, *event.Round, *event.Seal:
		return "", nil, nil
	default:
		err = errors.New("no line is known for it")
	}
	if err != nil {
		return "", nil, fmt.Errorf("recording a %T: %w", ev, err)
	}
	e.finish()
	return t, e.buf, nil
}

// begin starts a line: lane and turn where the format wants them.
func (e *Encoder) begin(t session.Type, h *event.Head) {
	e.start(t)
	lane := &e.main
	if h.Lane != event.MainLane && h.Lane != "" {
		e.str("lane", h.Lane)
		if lane = e.lanes[h.Lane]; lane == nil {
			if e.lanes == nil {
				e.lanes = map[string]*laneState{}
			}
			lane = &laneState{}
			e.lanes[h.Lane] = lane
		}
	}
	if t == session.TypeRequest || h.Turn != lane.turn {
		e.int("turn", int64(h.Turn))
		lane.turn = h.Turn
	}
}

// lane returns the state of the lane after begin.
func (e *Encoder) lane(h *event.Head) *laneState {
	if h.Lane == event.MainLane || h.Lane == "" {
		return &e.main
	}
	return e.lanes[h.Lane]
}

// start empties the buffers for a line of type t.
func (e *Encoder) start(t session.Type) {
	if cap(e.buf) > 1<<20 {
		e.buf = nil
	}
	e.buf, e.nin = e.buf[:0], 0
	e.in = append(e.in[:0], e.inputs[:]...)
	e.in = append(e.in, t...)
	e.in = append(e.in, 0)
}

// Release gives back the buffers, for a trial that is about to wait. The last
// payload stays valid.
func (e *Encoder) Release() { e.buf, e.in, e.args = nil, nil, session.Args{} }

// finish counts the line's input fields into the inputs digest.
func (e *Encoder) finish() {
	if e.nin == 0 {
		return
	}
	e.in = append(e.in, '}')
	e.inputs = model.Sum(e.in)
	if cap(e.in) > 1<<20 {
		e.in = nil
	}
}

// input says that what stands in the payload from index at on, one field with
// its leading comma, is an input field.
func (e *Encoder) input(at int) {
	e.inputSep()
	e.in = append(e.in, e.buf[at+1:]...)
}

func (e *Encoder) inputSep() {
	sep := byte(',')
	if e.nin == 0 {
		sep = '{'
	}
	e.nin++
	e.in = append(e.in, sep)
}

// inputLong says that the string field of this name is an input field whose text
// is long and has this digest.
func (e *Encoder) inputLong(name string, d model.Digest) {
	e.inputSep()
	e.in = append(e.in, '"')
	e.in = append(e.in, name...)
	e.in = append(e.in, '"', ':', '"')
	e.in = hex.AppendEncode(e.in, d[:])
	e.in = append(e.in, '"')
}

func (e *Encoder) key(name string) {
	e.buf = append(e.buf, ',', '"')
	e.buf = append(e.buf, name...)
	e.buf = append(e.buf, '"', ':')
}

func (e *Encoder) str(name, v string) {
	e.key(name)
	e.buf = model.AppendString(e.buf, v)
}

// strIf writes v unless it is empty.
func (e *Encoder) strIf(name, v string) {
	if v != "" {
		e.str(name, v)
	}
}

// inStr writes an input string; inStrIf leaves out an empty one.
func (e *Encoder) inStr(name, v string) {
	at := len(e.buf)
	e.str(name, v)
	if !utf8.ValidString(v) {
		v = session.Repair(v) // as AppendString wrote it
	}
	if len(v) > session.LongText {
		e.inputLong(name, model.SumString(v))
		return
	}
	e.input(at)
}

func (e *Encoder) inStrIf(name, v string) {
	if v != "" {
		e.inStr(name, v)
	}
}

func (e *Encoder) int(name string, v int64) {
	e.key(name)
	e.buf = strconv.AppendInt(e.buf, v, 10)
}

func (e *Encoder) intIf(name string, v int64) {
	if v != 0 {
		e.int(name, v)
	}
}

func (e *Encoder) inIntIf(name string, v int64) {
	if v != 0 {
		at := len(e.buf)
		e.int(name, v)
		e.input(at)
	}
}

// micros writes whole microseconds; what is finer is cut, so sources of times
// must not be finer.
func (e *Encoder) micros(name string, d time.Duration) { e.int(name, d.Microseconds()) }

func (e *Encoder) boolIf(name string, v bool) {
	if v {
		e.key(name)
		e.buf = append(e.buf, "true"...)
	}
}

func (e *Encoder) short(name string, d model.Digest) {
	e.key(name)
	e.buf = append(e.buf, '"')
	e.buf = d.AppendShort(e.buf)
	e.buf = append(e.buf, '"')
}

func (e *Encoder) full(name string, d model.Digest) {
	e.key(name)
	e.buf = append(e.buf, '"')
	e.buf = hex.AppendEncode(e.buf, d[:])
	e.buf = append(e.buf, '"')
}

// strs writes an array of strings.
func (e *Encoder) strs(v []string) {
	if len(v) == 0 {
		e.buf = append(e.buf, '[')
	}
	for i, s := range v {
		e.buf = append(e.buf, sep(i))
		e.buf = model.AppendString(e.buf, s)
	}
	e.buf = append(e.buf, ']')
}

// sep opens an array before its first element and parts the others.
func sep(i int) byte {
	if i == 0 {
		return '['
	}
	return ','
}

// usage writes the counts in their fixed order, without trailing zeros, and
// nothing when all are zero.
func (e *Encoder) usage(u model.Usage) { e.usageAs("usage", u) }

func (e *Encoder) usageAs(name string, u model.Usage) {
	if u.Unknown {
		e.key(name)
		e.buf = append(e.buf, "null"...)
		return
	}
	counts := [...]int64{u.InputUncached, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning}
	n := len(counts)
	for n > 0 && counts[n-1] == 0 {
		n--
	}
	if n == 0 {
		return
	}
	e.key(name)
	for i, c := range counts[:n] {
		e.buf = append(e.buf, sep(i))
		e.buf = strconv.AppendInt(e.buf, c, 10)
	}
	e.buf = append(e.buf, ']')
}

// cost writes null when a price is unknown.
func (e *Encoder) cost(c event.Cost) {
	if !c.Known {
		e.key("cost_pico")
		e.buf = append(e.buf, "null"...)
		return
	}
	e.int("cost_pico", c.Pico)
}
