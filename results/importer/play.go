package importer

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// header is the session's first line.
func (s *Session) header(format string, o *Options) *session.Header {
	return &session.Header{
		Scenario: s.Scenario, ScenarioDigest: s.ScenarioDigest, Repetition: s.Repetition, Model: o.Model,
		Config: s.Config, Labels: map[string]string{"arm": Arm, "imported": format},
	}
}

// player emits a session as the loop would have.
type player struct {
	sink  event.Sink
	head  event.Head
	model string
	ids   map[string]bool // that were given
	calls int
	err   error
}

// id makes an id that the session has once: the recorded one, with ~2 after it
// when it comes for the second time.
func (p *player) id(recorded string) string {
	id := recorded
	for n := 2; p.ids[id]; n++ {
		id = fmt.Sprintf("%s~%d", recorded, n)
	}
	p.ids[id] = true
	return id
}

func (p *player) emit(ev event.Event) {
	if p.err == nil {
		p.err = p.sink.Emit(ev)
	}
}

// play emits the whole session: parts, answers, calls with their results, a
// state after each turn and the end. There are no requests: what was sent is not
// known. The clock stands still: times are not known either.
func (s *Session) play(sink event.Sink, id string) error {
	p := &player{sink: sink, head: event.Head{Lane: event.MainLane}, model: id, ids: map[string]bool{}}
	why := "task"
	for _, m := range s.Opening {
		if m.Role == model.System {
			p.part(m, "system")
			continue
		}
		p.part(m, why)
		why = "user"
	}
	for i := range s.Turns {
		p.head.Turn = i + 1
		p.turn(&s.Turns[i])
	}
	p.emit(&event.End{Head: p.head, Reason: s.Reason, Evidence: s.Evidence, Backstop: s.Backstop,
		Unchecked: s.Reason == event.Completed, Answer: s.Answer(), Turns: len(s.Turns), Calls: p.calls, Attempts: len(s.Turns),
		Usage: model.Usage{Unknown: len(s.Turns) > 0}})
	return p.err
}

func (p *player) part(m Message, why string) {
	p.emit(&event.Part{Head: p.head, Part: model.NewTextPart(m.Role, m.Text), Why: why})
}

func (p *player) turn(t *Turn) {
	m := model.Message{Role: model.Assistant}
	if t.Text != "" {
		m.Items = append(m.Items, model.Item{Type: model.Text, Text: t.Text})
	}
	calls := make([]model.ToolCall, len(t.Calls))
	for i, c := range t.Calls {
		calls[i] = model.ToolCall{ID: p.id(c.ID), Name: c.Name, Args: c.Args}
		m.Items = append(m.Items, model.Item{Type: model.CallItem, Call: calls[i]})
	}
	p.emit(&event.Response{Head: p.head, Resp: &model.Response{Items: m.Items, Model: p.model, Usage: model.Usage{Unknown: true}}, Part: model.NewMessagePart(m)})
	requests := make([]event.ToolRequest, len(t.Calls))
	for i, c := range t.Calls {
		args := canonical(c.Args)
		requests[i] = event.ToolRequest{Head: p.head, Index: i, Call: calls[i],
			Args: args, Digest: model.SumString(c.Name + "\x00" + args)}
		p.emit(&requests[i])
	}
	for i, c := range t.Calls {
		p.result(&requests[i], &c)
	}
	for _, m := range t.After {
		why := "user"
		if m.Role == model.System {
			why = "system"
		}
		p.part(m, why)
	}
	p.emit(&event.State{Head: p.head, Version: p.head.Turn, Calls: p.calls, Usage: model.Usage{Unknown: true}})
}

func (p *player) result(r *event.ToolRequest, c *Call) {
	outcome := event.Success
	switch {
	case !c.Answered:
		outcome = event.Cancelled
	case c.Failed:
		outcome = event.ToolError
	}
	p.calls++
	p.emit(&event.ToolResult{Head: p.head, Index: r.Index, Call: r.Call, Args: r.Args, ReqDigest: r.Digest,
		Outcome: outcome, Raw: c.Result, RawDigest: model.SumString(c.Result), Shown: c.Result})
}

// maxArgs bounds the arguments that are brought into canonical form.
const maxArgs = 4 << 20

// canonical is the canonical form of a call's arguments: sorted keys, no white
// space, numbers as written. What is no JSON object stays as it was.
func canonical(args string) string {
	if len(args) > maxArgs {
		return args
	}
	out, err := jsontext.AppendFormat(nil, args, jsontext.ReorderRawObjects(true))
	if err != nil || len(out) == 0 || out[0] != '{' {
		return args
	}
	return string(out)
}
