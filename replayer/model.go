package replayer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// Served is a model that answers from a recording and from nothing else: for a
// loop that is not ours. The first request that is not the recorded one at its
// place gets a *MissError, and so does every one after it.
//
// Matching is exact: the requests of a lane come in the recorded order, with the
// same parts, params and purpose. Several lanes may ask at a time. A Served is
// safe for concurrent use and holds the recording in memory.
type Served struct {
	path  string
	id    string
	mu    sync.Mutex
	lanes map[string]*servedLane
	total int // recorded calls
	given int
	miss  *MissError
}

// servedLane is what was recorded of a lane.
type servedLane struct {
	calls []servedCall
	next  int
}

// servedCall is one recorded call. Consecutive requests share their parts.
type servedCall struct {
	line    int // of the request
	turn    int
	chain   model.Digest
	parts   []*model.Part
	params  []byte // canonical JSON
	purpose model.Purpose
	resp    *model.Response
	err     *model.Error
}

// MissError says that a recording does not hold what was asked. It is no error of
// a model: a loop that retries gets it again.
type MissError struct{ Report *Report }

func (e *MissError) Error() string {
	return fmt.Sprintf("%s: %s: %s", e.Report.Path, e.Report.Verdict, e.Report.Reason)
}

// Model opens a recording of [recorder.Model], or any session of our loop, to be
// served. A recording that cannot be read to its footer is an error.
func Model(path string) (*Served, error) {
	s, err := session.Open(path)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	m := &Served{path: path, lanes: map[string]*servedLane{}}
	if err := m.read(s.Reader); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// read takes all calls of a recording.
func (m *Served) read(rd *session.Reader) error {
	talk, params := session.NewConversation(), map[string][]byte{}
	for {
		l, err := rd.Next()
		switch {
		case errors.Is(err, io.EOF) && rd.Complete():
			return nil
		case errors.Is(err, io.EOF):
			return errors.New("the recording has no footer: what came after its last line is not known")
		case err != nil:
			return err
		}
		asked, err := talk.Add(l)
		if err != nil {
			return err
		}
		switch l.Type {
		case session.TypeHeader:
			h, err := l.Header()
			if err != nil {
				return err
			}
			if h.IsWire() {
				return errors.New("recorded traffic is replayed in front of its client: harnessbench replay --serve")
			}
			m.id = h.Model
		case session.TypeRequest:
			err = m.request(l, asked, params)
		case session.TypeResponse, session.TypeAttempt:
			err = m.answer(l)
		}
		if err != nil {
			return err
		}
	}
}

func (m *Served) lane(name string) *servedLane {
	t := m.lanes[name]
	if t == nil {
		t = &servedLane{}
		m.lanes[name] = t
	}
	return t
}

func (m *Served) request(l *session.Line, asked *session.Asked, params map[string][]byte) error {
	q, err := l.Request()
	if err != nil {
		return err
	}
	if q.Params != nil {
		params[l.Lane] = bytes.Clone(q.Params)
	}
	t := m.lane(l.Lane)
	t.calls = append(t.calls, servedCall{line: l.No, turn: q.Turn, chain: asked.Chain, parts: asked.Parts,
		params: params[l.Lane], purpose: q.Purpose})
	m.total++
	return nil
}

func (m *Served) answer(l *session.Line) error {
	resp, merr, err := answerOf(l)
	if err != nil {
		return err
	}
	t := m.lane(l.Lane)
	if n := len(t.calls); n > 0 && t.calls[n-1].resp == nil && t.calls[n-1].err == nil {
		if resp != nil && resp.Model == "" {
			resp.Model = m.id
		}
		t.calls[n-1].resp, t.calls[n-1].err = resp, merr
		return nil
	}
	return fmt.Errorf("line %d: an answer without a request", l.No)
}

// ID implements model.Model.
func (m *Served) ID() string { return m.id }

// Generate implements model.Model. An answer that was recorded as a stream comes
// as a whole.
func (m *Served) Generate(ctx context.Context, req *model.Request, _ func(model.Delta)) (*model.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.miss != nil {
		return nil, m.miss
	}
	t := m.lane(laneName(req.Lane))
	if t.next == len(t.calls) {
		return nil, m.missed(Exhausted, fmt.Sprintf("the loop asks %d times%s, the recorded one did %d times", t.next+1, inLane(req.Lane), len(t.calls)), nil)
	}
	c := &t.calls[t.next]
	if d := m.compare(c, req); d != nil {
		return nil, m.missed(Diverged, fmt.Sprintf("call %d%s, line %d: request %s", t.next+1, inLane(req.Lane), c.line, d.Pointer), d)
	}
	t.next++
	m.given++
	switch {
	case c.err != nil:
		e := *c.err
		return nil, &e
	case c.resp == nil:
		return nil, m.missed(Exhausted, fmt.Sprintf("line %d: the request was not answered", c.line), nil)
	}
	return session.NumberCalls(c.resp, req.Lane, t.next), nil
}

// laneName is a lane as lines say it.
func laneName(lane string) string {
	if lane == "" {
		return event.MainLane
	}
	return lane
}

func inLane(lane string) string {
	if laneName(lane) == event.MainLane {
		return ""
	}
	return " in lane " + lane
}

func (m *Served) missed(v Verdict, reason string, d *Divergence) error {
	rep := m.report(v, "")
	rep.Divergence = d
	rep.judge(v, reason)
	m.miss = &MissError{rep}
	return m.miss
}

func (m *Served) report(v Verdict, reason string) *Report {
	rep := &Report{Path: m.path, Turns: m.given}
	rep.judge(v, reason)
	return rep
}

// compare says where a request is not the recorded one; nil when it is. Pointers
// lead into the request: /params/..., /purpose, /parts/N/....
func (m *Served) compare(c *servedCall, req *model.Request) *Divergence {
	place := func(code Code, pointer, recorded, actual string) *Divergence {
		d := &Divergence{Code: code, Turn: c.turn, Stage: "assemble", Line: c.line, Type: string(session.TypeRequest), Pointer: pointer,
			Show: fmt.Sprintf("harnessbench show %s --turn %d", shellQuote(m.path), c.turn)}
		d.Diff, d.Hint = valueDiff(recorded, actual), why(recorded, actual)
		d.Recorded, d.Actual = shorten(recorded, longText), shorten(actual, longText)
		return d
	}
	if c.purpose != req.Purpose {
		return place(CodeConversation, "/purpose", string(c.purpose), string(req.Purpose))
	}
	if c.chain != req.Chain() {
		i := 0
		for i < len(c.parts) && i < len(req.Parts) && c.parts[i].Kind == req.Parts[i].Kind && c.parts[i].Digest == req.Parts[i].Digest {
			i++
		}
		d := partDifference(c.parts, req.Parts, i)
		out := place(askedCode(c.parts, req.Parts, i), fmt.Sprintf("/parts/%d%s", i, d.pointer), d.recorded, d.actual)
		out.Part = &i
		return out
	}
	if now := req.Params.AppendJSON(nil); !bytes.Equal(now, c.params) {
		if d := firstDifference("/params", jsonValue(c.params), jsonValue(now)); d != nil {
			return place(CodeParams, d.pointer, d.recorded, d.actual)
		}
	}
	return nil
}

// askedCode is the code of the parts at an index of two requests, of which one
// may be missing. What a loop of one's own sends back as an answer or a result is
// told apart from what it says itself.
func askedCode(rec, act []*model.Part, i int) Code {
	var kinds []model.PartKind
	var roles []model.Role
	for _, parts := range [][]*model.Part{rec, act} {
		if i < len(parts) {
			kinds, roles = append(kinds, parts[i].Kind), append(roles, parts[i].Role)
		}
	}
	switch {
	case slices.Contains(kinds, model.KindTool):
		return CodeToolSpec
	case slices.Contains(kinds, model.KindSystem):
		return CodeSystemPrompt
	case len(roles) < 2 || roles[0] != roles[1]:
		return CodeConversation
	case roles[0] == model.Assistant:
		return CodeAnswer
	case roles[0] == model.ToolRole:
		return CodeObservation
	}
	return CodeMessage
}

// partDifference compares the parts at an index, of which one may be missing.
func partDifference(rec, act []*model.Part, i int) *difference {
	switch {
	case i >= len(rec):
		return &difference{"", "no more parts", string(act[i].JSON)}
	case i >= len(act):
		return &difference{"", string(rec[i].JSON), "no more parts"}
	}
	if rec[i].Kind == act[i].Kind {
		if d := firstDifference("", jsonValue(rec[i].JSON), jsonValue(act[i].JSON)); d != nil {
			return d
		}
	}
	return &difference{"", string(rec[i].JSON), string(act[i].JSON)}
}

// jsonValue decodes canonical JSON, number lexemes kept; nil for what is none.
func jsonValue(b []byte) any {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil
	}
	return v
}

// Report says how the loop did, once it has ended: EXACT, where it first departed,
// or UNUSED where it did not ask for everything that was recorded.
func (m *Served) Report() *Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.miss != nil:
		return m.miss.Report
	case m.total == 0:
		return m.report(Noop, "the session has no model call: nothing was replayed")
	case m.given < m.total:
		rep := m.report(Unused, fmt.Sprintf("the loop ended after %d calls; the recorded one made %d more", m.given, m.total-m.given))
		rep.Unused = m.total - m.given
		return rep
	}
	return m.report(Exact, "")
}
