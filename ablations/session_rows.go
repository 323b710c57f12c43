package ablations

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/results"
)

// rowBuilder makes the rows of one session, line by line.
type rowBuilder struct {
	trial  *results.Trial
	model  string // the header's
	prices map[string]callPrice
	known  struct{ usage, times bool }

	lanes  map[string]*laneRows
	turns  []results.Turn
	costs  []callCost // of turns
	models []results.ModelCall
	tools  []results.ToolCall
}

// laneRows is where one lane stands.
type laneRows struct {
	turn    int // index into turns of the lane's turn; -1 before the first
	model   string
	purpose string
	attempt int
	again   bool                         // the last call did not stand
	args    []string                     // of the calls of the last answer, as the model wrote them
	asked   map[int]*session.ToolRequest // of the batch, by index
	results map[string]int               // index into tools, by call id
}

// callPrice is what the session's header says of a model, in 1e-12 USD a token.
type callPrice struct {
	CacheRead     int64 `json:"cache_read"`
	CacheWrite    int64 `json:"cache_write"`
	InputUncached int64 `json:"input_uncached"`
	Output        int64 `json:"output"`
}

// callCost is an exact sum; unknown once a part of it is.
type callCost struct {
	pico    int64
	unknown bool
}

// add adds another cost. A sum that does not fit is unknown, not wrong.
func (c *callCost) add(o callCost) {
	c.unknown = c.unknown || o.unknown || o.pico > math.MaxInt64-c.pico
	if !c.unknown {
		c.pico += o.pico
	}
}

// cost prices the usage of one call.
func (p *callPrice) cost(u *model.Usage) (sum callCost) {
	for _, c := range [][2]int64{{u.InputUncached, p.InputUncached}, {u.CacheRead, p.CacheRead}, {u.CacheWrite, p.CacheWrite}, {u.Output, p.Output}} {
		hi, lo := bits.Mul64(uint64(c[0]), uint64(c[1]))
		bad := c[0] < 0 || c[1] < 0 || hi != 0 || lo > math.MaxInt64
		sum.add(callCost{pico: int64(lo), unknown: bad})
	}
	return sum
}

func (c *callCost) usd() *float64 {
	if c.unknown {
		return nil
	}
	usd := float64(c.pico) / 1e12
	return &usd
}

// line takes the next line.
func (b *rowBuilder) line(l *session.Line) error {
	switch l.Type {
	case session.TypeHeader:
		return b.header(l)
	case session.TypeFooter:
		return b.footer(l)
	case session.TypeRequest:
		return b.request(l)
	case session.TypeAttempt:
		return b.attempt(l)
	case session.TypeResponse:
		return b.response(l)
	case session.TypeToolRequest:
		return b.toolRequest(l)
	case session.TypeToolResult:
		return b.toolResult(l)
	case session.TypePart:
		return b.part(l)
	case session.TypeGuard:
		if t := b.turnOf(l); t != nil {
			t.Firings++
		}
	case session.TypeState:
		return b.state(l)
	}
	return nil
}

// header takes the prices from the configuration.
func (b *rowBuilder) header(l *session.Line) error {
	h, err := l.Header()
	if err != nil {
		return err
	}
	var c struct {
		Prices map[string]callPrice `json:"prices"`
	}
	if err := json.Unmarshal(h.Config, &c); err != nil {
		return fmt.Errorf("header, config: %w", err)
	}
	b.model, b.prices = h.Model, c.Prices
	b.known.usage, b.known.times = true, true
	if _, imported := trial.Imported(h); imported || h.Simulated {
		// The trial's row says what another tool did not record: its session says
		// nothing of tokens and times, and reads like one with none. A session on a
		// real model says for each call what the provider told.
		b.known.usage, b.known.times = b.trial.InputUncached != nil, b.trial.ModelUS != nil
	}
	return nil
}

func (b *rowBuilder) lane(l *session.Line) *laneRows {
	lane := b.lanes[l.Lane]
	if lane == nil {
		lane = &laneRows{turn: -1, model: b.model, purpose: purposeTurn, results: map[string]int{}}
		b.lanes[l.Lane] = lane
	}
	return lane
}

// turnOf is the row of the line's turn, made when the first line of it comes;
// nil before the first turn.
func (b *rowBuilder) turnOf(l *session.Line) *results.Turn {
	if l.Turn == 0 {
		return nil
	}
	lane := b.lane(l)
	if lane.turn < 0 || b.turns[lane.turn].Turn != l.Turn {
		t := b.trial
		lane.turn, lane.again = len(b.turns), false
		lane.args, lane.asked, lane.purpose = nil, nil, purposeTurn
		clear(lane.results)
		b.turns = append(b.turns, results.Turn{RunID: t.RunID, Scenario: t.Scenario, Model: t.Model, Arm: t.Arm, Repetition: t.Repetition,
			Index: len(b.turns), Lane: l.Lane, Turn: l.Turn})
		b.costs = append(b.costs, callCost{})
		if b.known.usage {
			row := &b.turns[lane.turn]
			row.InputUncached, row.CacheRead, row.CacheWrite, row.Output, row.Reasoning = new(int64), new(int64), new(int64), new(int64), new(int64)
		}
	}
	return &b.turns[lane.turn]
}

// purposeTurn is the purpose of a turn's own call.
const purposeTurn = "turn"

func (b *rowBuilder) request(l *session.Line) error {
	r, err := l.Request()
	if err != nil {
		return err
	}
	b.turnOf(l)
	lane := b.lane(l)
	purpose := string(r.Purpose)
	if purpose == "" {
		purpose = purposeTurn
	}
	if lane.again && purpose == lane.purpose {
		lane.attempt++
	} else {
		lane.attempt = 0
	}
	lane.purpose, lane.again = purpose, false
	if r.Params != nil {
		var p struct {
			Model string `json:"model"`
		}
		if err := json.Unmarshal(r.Params, &p); err != nil {
			return fmt.Errorf("line %d: params: %w", l.No, err)
		}
		lane.model = p.Model
	}
	return nil
}

func (b *rowBuilder) attempt(l *session.Line) error {
	a, err := l.Attempt()
	if err != nil {
		return err
	}
	lane := b.lane(l)
	var called string
	var usage model.Usage
	row := results.ModelCall{}
	if a.Err != nil {
		called, usage = lane.model, a.Err.Usage
		kind := string(a.Err.Kind)
		row.ErrorKind = &kind
		if a.Err.Status != 0 {
			row.ErrorStatus = &a.Err.Status
		}
		if a.Err.RetryAfter > 0 {
			row.RetryAfterUS = results.Micros(a.Err.RetryAfter)
		}
	} else {
		called, usage = b.answered(a.Resp), a.Resp.Usage
		row.Finish = finishOf(a.Resp)
	}
	b.call(l, row, called, usage, a.Elapsed, a.Wait)
	lane.again = true
	return nil
}

func (b *rowBuilder) response(l *session.Line) error {
	r, err := l.Response()
	if err != nil {
		return err
	}
	b.call(l, results.ModelCall{Stood: true, Finish: finishOf(&r.Resp)}, b.answered(&r.Resp), r.Resp.Usage, r.Resp.Elapsed, 0)
	lane := b.lane(l)
	lane.again, lane.attempt = false, 0
	lane.args, lane.asked = lane.args[:0], map[int]*session.ToolRequest{}
	for i := range r.Resp.Items {
		if it := &r.Resp.Items[i]; it.Type == model.CallItem {
			lane.args = append(lane.args, it.Call.Args)
		}
	}
	return nil
}

// answered is the id of the model that answered.
func (b *rowBuilder) answered(r *model.Response) string {
	if r.Model == "" {
		return b.model
	}
	return r.Model
}

func finishOf(r *model.Response) *string {
	if r.Finish == "" {
		return nil
	}
	s := string(r.Finish)
	return &s
}

// call completes the row of a model call and adds it to its turn.
func (b *rowBuilder) call(l *session.Line, row results.ModelCall, called string, u model.Usage, elapsed, wait time.Duration) {
	turn, lane, t := b.turnOf(l), b.lane(l), b.trial
	row.RunID, row.Scenario, row.Model, row.Arm, row.Repetition = t.RunID, t.Scenario, t.Model, t.Arm, t.Repetition
	row.Index, row.Lane, row.Turn = len(b.models), l.Lane, l.Turn
	row.Purpose, row.Attempt, row.Called = lane.purpose, lane.attempt, called
	if b.known.times {
		row.ElapsedUS, row.WaitUS = results.Micros(elapsed), results.Micros(wait)
	}
	c, counted := callCost{unknown: true}, b.known.usage && !u.Unknown
	if counted {
		row.InputUncached, row.CacheRead, row.CacheWrite, row.Output, row.Reasoning = &u.InputUncached, &u.CacheRead, &u.CacheWrite, &u.Output, &u.Reasoning
		if p, ok := b.prices[called]; ok || u == (model.Usage{}) {
			c = p.cost(&u) // nothing costs nothing, whatever the price
		}
	}
	row.CostUSD = c.usd()
	b.models = append(b.models, row)
	if turn == nil {
		return
	}
	turn.ModelCalls++
	b.costs[lane.turn].add(c)
	switch {
	case !counted:
		turn.InputUncached, turn.CacheRead, turn.CacheWrite, turn.Output, turn.Reasoning = nil, nil, nil, nil, nil
	case turn.InputUncached != nil:
		*turn.InputUncached += u.InputUncached
		*turn.CacheRead += u.CacheRead
		*turn.CacheWrite += u.CacheWrite
		*turn.Output += u.Output
		*turn.Reasoning += u.Reasoning
	}
}

func (b *rowBuilder) toolRequest(l *session.Line) error {
	r, err := l.ToolRequest()
	if err != nil {
		return err
	}
	lane := b.lane(l)
	if !r.HasArgs {
		if r.Index >= len(lane.args) {
			return fmt.Errorf("line %d: the answer before it has %d calls, this is number %d", l.No, len(lane.args), r.Index+1)
		}
		r.Args = lane.args[r.Index]
	}
	if lane.asked == nil {
		lane.asked = map[int]*session.ToolRequest{}
	}
	lane.asked[r.Index] = r
	return nil
}

func (b *rowBuilder) toolResult(l *session.Line) error {
	r, err := l.ToolResult()
	if err != nil {
		return err
	}
	turn, lane, t := b.turnOf(l), b.lane(l), b.trial
	q := lane.asked[r.Index]
	if q == nil {
		return fmt.Errorf("line %d: no tool.request before it has the index %d", l.No, r.Index)
	}
	row := results.ToolCall{RunID: t.RunID, Scenario: t.Scenario, Model: t.Model, Arm: t.Arm, Repetition: t.Repetition,
		Index: len(b.tools), Lane: l.Lane, Turn: l.Turn, Call: r.Index, CallID: r.ID,
		Tool: q.Tool, Outcome: string(r.Outcome), Exit: r.Exit, Changes: len(r.Delta),
		ArgsBytes: int64(len(q.Args)), ArgsDigest: model.SumString(q.Args).Short(), ResultBytes: r.Bytes, ShownBytes: int64(len(r.Text))}
	if q.Version != 0 {
		row.Version = &q.Version
	}
	if q.Effect != "" {
		effect := string(q.Effect)
		row.Effect = &effect
	}
	if b.known.times {
		row.TookUS, row.WantUS = results.Micros(r.Took), results.Micros(r.Want)
	}
	lane.results[r.ID] = len(b.tools)
	b.tools = append(b.tools, row)
	if turn != nil {
		turn.ToolCalls++
	}
	return nil
}

// part looks for what a model saw in place of a raw result.
func (b *rowBuilder) part(l *session.Line) error {
	if l.Turn == 0 {
		return nil
	}
	p, err := l.Part()
	if err != nil || p.Why != session.WhyRewrite {
		return err
	}
	m, err := p.ModelPart()
	if err != nil {
		return fmt.Errorf("line %d: %w", l.No, err)
	}
	if m.Message == nil {
		return nil
	}
	if i, ok := b.lane(l).results[m.Message.CallID]; ok {
		b.tools[i].ShownBytes = int64(len(model.TextOf(m.Message.Items)))
	}
	return nil
}

func (b *rowBuilder) state(l *session.Line) error {
	s, err := l.State()
	if err != nil {
		return err
	}
	if t := b.turnOf(l); t != nil && b.known.times {
		t.AtUS = results.Micros(s.At)
	}
	return nil
}

// footer ends the session, and with it a turn that had no state of its own.
func (b *rowBuilder) footer(l *session.Line) error {
	f, err := l.Footer()
	if err != nil {
		return err
	}
	if lane := b.lanes[event.MainLane]; lane != nil && lane.turn >= 0 && b.known.times && b.turns[lane.turn].AtUS == nil {
		b.turns[lane.turn].AtUS = results.Micros(f.At)
	}
	return nil
}

// finish sets what is known only at the end.
func (b *rowBuilder) finish() {
	for i := range b.turns {
		b.turns[i].CostUSD = b.costs[i].usd()
	}
}
