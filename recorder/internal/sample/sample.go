// Package sample plays a small loop's events for the tests and benchmarks of the
// session format, without a loop.
package sample

import (
	"fmt"
	"strings"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// Config is the header's config; its digest is what Start says.
const Config = `{"guards":{"spill":{"over":24576}},"limits":{"turns":16},"params":{"temperature":1e-1},"seed":7}`

// Header returns the sample's header: two files, one of them no UTF-8.
func Header() session.Header {
	file := func(path, content string) session.TreeFile {
		b := []byte(content)
		return session.TreeFile{Path: path, Size: int64(len(b)), Mode: 0o644, Digest: model.Sum(b), Content: b}
	}
	return session.Header{
		Scenario: "sample", ScenarioDigest: model.SumString("scenario"), Repetition: 1,
		Model: "sim/weak", Simulated: true, Config: []byte(Config),
		Tree:       []session.TreeFile{file("bin.dat", "\xff\x00\x01"), file("empty", ""), file("notes.md", "one\ntwo \"quoted\" \u2028 \U0001F600\n")},
		TreeDigest: model.SumString("tree"), Normalisers: []string{"home"},
		Fork:   &session.Fork{Parent: model.SumString("parent"), Turns: 2, Spared: model.Usage{InputUncached: 7, Output: 3}, Set: []string{"guard.stuck.abort=4"}, Live: true},
		Labels: map[string]string{"b": "2", "a": "1"},
	}
}

// Talk plays events into a sink and keeps the transcript as a loop would.
type Talk struct {
	Sink   event.Sink
	Lane   string
	Turn   int
	At     time.Duration
	Params model.Params
	Script *model.Transcript
	// Cache and CacheFailed are of the next answer.
	Cache       model.CacheUse
	CacheFailed string
	Err         error
	state       int
	calls       int
	usage       model.Usage
	asks        int
	seen        int // parts at the last request
	// Redacted is what the answers say of secrets that were overwritten in them.
	Redacted string
}

// New starts a lane.
func New(sink event.Sink, lane string) *Talk {
	return &Talk{Sink: sink, Lane: lane, Params: model.Params{Model: "sim/weak", MaxTokens: 512}, Script: model.NewTranscript()}
}

func (t *Talk) head() event.Head { return event.Head{Lane: t.Lane, Turn: t.Turn, At: t.At} }

// Emit sends one event; the first error sticks.
func (t *Talk) Emit(ev event.Event) {
	if t.Err == nil {
		t.Err = t.Sink.Emit(ev)
	}
}

// Say adds a part that no other event carries.
func (t *Talk) Say(why string, p *model.Part) {
	t.Emit(&event.Part{Head: t.head(), Part: p, Why: why})
	t.Script.Append(p)
}

// Open plays what stands before the first turn.
func (t *Talk) Open() {
	if t.Lane == event.MainLane {
		t.Emit(&event.Start{Head: t.head(), Config: model.SumString(Config)})
	}
	t.Say("tool", model.NewToolPart(model.ToolSpec{Name: "read_file", Version: 2, Description: "Reads.", Schema: `{"maximum":1e3,"type":"object"}`}))
	t.Say("tool", model.NewToolPart(model.ToolSpec{Name: "write_file", Version: 1, Description: "Writes.", Schema: `{"type":"object"}`}))
	t.Say("system", model.NewTextPart(model.System, "Be brief."))
	t.Say("task", model.NewTextPart(model.User, "Copy <notes> to \"copy\".\u2028\x7f\x01"))
}

// Ask sends the request as it stands.
func (t *Talk) Ask() {
	parts, chains := t.Script.View()
	t.Emit(&event.Checkpoint{Head: t.head(), Next: event.NextModel})
	t.Emit(&event.Request{Head: t.head(), Implied: true, Req: &model.Request{Params: t.Params, ParamsDigest: t.Params.Digest(),
		Parts: parts, Chains: chains, Lane: t.Lane, Turn: t.Turn}})
	t.asks++
	t.seen = t.Script.Len()
}

// AskExplicit asks the first keep parts and those added, for a purpose.
func (t *Talk) AskExplicit(keep int, add []*model.Part, purpose model.Purpose) {
	t.Script.Rewrite(keep, add)
	parts, chains := t.Script.View()
	t.Emit(&event.Request{Head: t.head(), Keep: keep, Add: add, Req: &model.Request{Params: t.Params, ParamsDigest: t.Params.Digest(),
		Parts: parts, Chains: chains, Lane: t.Lane, Turn: t.Turn, Purpose: purpose}})
	t.asks++
}

// Call is one scripted tool call.
type Call struct {
	Name, Args, Canon, Text string
	Resources               []string
	Outcome                 event.Outcome
	Problem                 event.Problem
	Took, Want              time.Duration
	Exit                    *int
	Delta                   []event.Delta
	Rewrite                 string // what the model sees instead, if anything
	Redacted                string
}

// Answer plays an answer with text and calls, and the batch.
func (t *Talk) Answer(text string, calls ...Call) {
	items := []model.Item{{Type: model.Text, Text: text}}
	for i, c := range calls {
		items = append(items, model.Item{Type: model.CallItem, Call: model.ToolCall{ID: fmt.Sprintf("call_%s%d_%d", t.Lane, t.Turn, i), Name: c.Name, Args: c.Args}})
	}
	part := model.NewMessagePart(model.Message{Role: model.Assistant, Items: items})
	u := model.Usage{InputUncached: 1200, CacheRead: 800, Output: 60, Reasoning: 10}
	t.usage = t.usage.Add(u)
	finish := model.FinishCalls
	if len(calls) == 0 {
		finish = model.FinishStop
	}
	t.At += 900 * time.Millisecond
	t.Emit(&event.Response{Head: t.head(), Part: part, Took: 900 * time.Millisecond,
		Resp: &model.Response{Items: items, Finish: finish, Usage: u, Model: t.Params.Model, Elapsed: 900 * time.Millisecond, Cache: t.Cache, CacheFailed: t.CacheFailed, Redacted: t.Redacted}})
	t.Script.Append(part)
	for i, c := range calls {
		t.request(i, &c, items[1+i].Call)
	}
	for i, c := range calls {
		t.result(i, &c, items[1+i].Call)
	}
	t.Emit(&event.Round{Head: t.head(), N: len(calls)})
}

func canon(c *Call) string {
	if c.Canon != "" {
		return c.Canon
	}
	return c.Args
}

func (t *Talk) request(i int, c *Call, call model.ToolCall) {
	t.Emit(&event.ToolRequest{Head: t.head(), Index: i, Call: call, Version: 2, Args: canon(c), Digest: model.SumString(c.Name + "\x00" + canon(c)),
		Effect: event.Read, Resources: c.Resources, Problem: c.Problem, Detail: strings.ToUpper(string(c.Problem))})
}

func (t *Talk) result(i int, c *Call, call model.ToolCall) {
	outcome, want := c.Outcome, c.Want
	if outcome == "" {
		outcome = event.Success
	}
	if want == 0 {
		want = c.Took
	}
	t.At += c.Took
	t.calls++
	t.Emit(&event.ToolResult{Head: t.head(), Index: i, Call: call, Args: canon(c), Effect: event.Read, Outcome: outcome, Raw: c.Text,
		RawDigest: model.SumString(c.Text), Shown: c.Text, Took: c.Took, Want: want, Exit: c.Exit, Delta: c.Delta, Redacted: c.Redacted})
	part := model.NewResultPart(call.ID, c.Text)
	if c.Rewrite != "" {
		t.Emit(&event.Guard{Head: t.head(), Name: "spill", Version: 1, Mode: "enforce", Act: "spill", Evidence: "too long", On: call.ID})
		part = model.NewResultPart(call.ID, c.Rewrite)
		t.Emit(&event.Part{Head: t.head(), Part: part, Why: "rewrite"})
	}
	t.Script.Append(part)
}

// Close closes the turn.
func (t *Talk) Close() {
	t.state++
	t.Emit(&event.State{Head: t.head(), Version: t.state, Calls: t.calls, Usage: t.usage, Cost: event.Cost{Pico: 12, Known: true}})
}

// End ends the session.
func (t *Talk) End(reason event.Reason, answer string) {
	t.Emit(&event.End{Head: t.head(), Reason: reason, Answer: answer, Turns: t.Turn, Calls: t.calls, Attempts: t.asks, Usage: t.usage})
}

// Write is the change of writing a file.
func Write(path, content string) event.Delta {
	return event.Delta{Op: "write", Path: path, After: model.SumString(content), Size: int64(len(content)), Mode: 0o644, Content: []byte(content)}
}

// Play plays a session in which every line type and nearly every field occurs.
func Play(sink event.Sink) error {
	t := New(sink, event.MainLane)
	t.Open()
	t.Turn = 1
	t.Ask()
	t.At += 20 * time.Millisecond
	t.Emit(&event.Attempt{Head: t.head(), N: 0, Err: &model.Error{Kind: model.ErrRateLimit, Status: 429, RetryAfter: 2 * time.Second, Message: "slow \"down\"", Usage: model.Usage{InputUncached: 3}, Redacted: "sk 1"}, Took: 20 * time.Millisecond, Wait: 2 * time.Second, Again: true})
	t.At += 2 * time.Second
	t.Ask()
	t.Emit(&event.Attempt{Head: t.head(), N: 1, Resp: &model.Response{Finish: model.FinishLength, Model: "sim/other", Usage: model.Usage{Output: 512}, Cache: model.CacheKnown, CacheFailed: "it could not be written"}, Took: time.Second, Again: true})
	t.At += time.Second
	t.Params.MaxTokens = 1024
	t.Ask()
	t.Cache, t.CacheFailed = model.CacheKnown, "it could not be read"
	exit := 3
	content := "one\ntwo \"quoted\" \u2028 \U0001F600\n"
	t.Answer("I copy.",
		Call{Name: "read_file", Args: `{"path": "notes.md"}`, Canon: `{"path":"/workspace/notes.md"}`, Resources: []string{"/workspace/notes.md"}, Text: strings.Repeat("line of notes\n", 20), Took: 5 * time.Millisecond, Rewrite: "line of notes\n[cut]"},
		Call{Name: "write_file", Args: `{"content":"one\ntwo \"quoted\" ` + "\u2028 \U0001F600" + `\n","path":"copy"}`, Text: "wrote", Took: time.Millisecond, Want: 3 * time.Millisecond,
			Delta: []event.Delta{Write("copy", content), Write("other", "short"), Write("raw", "\xff\xfe"), Write("nil", ""),
				{Op: "write", Path: "notes.md", Before: model.SumString(content), After: model.SumString("x"), Size: 1, Mode: 0o755, Content: []byte("x")},
				{Op: "delete", Path: "bin.dat", Before: model.SumString("\xff\x00\x01")}}},
		Call{Name: "run", Args: `{bad`, Resources: []string{"db:orders"}, Text: "exit sk-****", Redacted: "sk 1", Exit: &exit, Outcome: event.ToolError},
		Call{Name: "nope", Args: `{}`, Text: "", Problem: event.ProblemUnknown, Outcome: event.UnknownTool},
	)
	t.Cache, t.CacheFailed = "", ""
	t.Emit(&event.Anomaly{Head: t.head(), What: "finish stop with tool calls"})
	t.Say("feedback", model.NewTextPart(model.User, "Go on."))
	t.Close()

	s := New(sink, "sub.1")
	s.Open()
	s.Turn = 1
	s.Ask()
	s.Answer("sub", Call{Name: "read_file", Args: `{}`, Text: "r"})
	s.Close()
	s.Turn = 2
	s.Ask()
	s.Answer("done")
	s.Emit(&event.Guard{Head: s.head(), Name: "stuck", Version: 1, Mode: "shadow", Act: "nudge", Failed: "disk full"})
	s.Close()
	if s.Err != nil {
		return s.Err
	}

	t.Turn = 2
	t.Ask()
	t.Answer("done")
	t.Emit(&event.Approval{Head: t.head(), Operation: "call_main2_0", Digest: model.SumString("pay"), Actor: t.Lane, Version: 1, Decision: "deny", Reason: "too much",
		Took: 30 * time.Second, Expires: 10 * time.Minute})
	t.Emit(&event.Candidate{Head: t.head(), Answer: "done", Checked: true, Fail: "report.md is missing"})
	t.Say("feedback", model.NewTextPart(model.User, "report.md is missing"))
	t.Close()
	t.Turn = 3
	parts, _ := t.Script.View()
	t.AskExplicit(2, parts[3:], model.ForFinalSynthesis)
	t.Redacted = "declared 1"
	t.Answer("best answer")
	t.Close()
	t.End(event.TurnLimit, "best answer")
	return t.Err
}

// Many plays a session of n turns with one call each, whose result has size
// bytes.
func Many(sink event.Sink, n, size int) error {
	t := New(sink, event.MainLane)
	t.Open()
	text := strings.Repeat("0123456 89abcdef\n", size/17+1)[:size]
	for t.Turn = 1; t.Turn <= n; t.Turn++ {
		t.Ask()
		t.Answer("I read on.", Call{Name: "read_file", Args: `{"path":"/workspace/notes.md"}`, Resources: []string{"/workspace/notes.md"}, Text: text, Took: time.Millisecond})
		t.Close()
	}
	t.Turn--
	t.End(event.TurnLimit, "")
	return t.Err
}
