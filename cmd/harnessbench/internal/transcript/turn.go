package transcript

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// firing counts what one guard did in one mode.
type firing struct {
	guard, mode string
	n           int
}

// asked marks requests that are no turn of the loop.
func (s *show) asked(l *session.Line) error {
	r, err := l.Request()
	if err != nil {
		return err
	}
	if s.wire {
		s.wireRequest(r)
	}
	if r.Purpose != "" {
		s.text(block{first: "  · ", rest: "    ", style: dim}, "asked for "+string(r.Purpose))
	}
	return nil
}

// attempt prints a model call that did not stand.
func (s *show) attempt(l *session.Line) error {
	a, err := l.Attempt()
	if err != nil {
		return err
	}
	s.tries++
	what := ""
	if a.Err != nil {
		what = string(a.Err.Kind)
		if a.Err.Status > 0 {
			what += fmt.Sprintf(" (%d)", a.Err.Status)
		}
		if a.Err.Message != "" {
			what += ", " + a.Err.Message
		}
		if a.Err.RetryAfter > 0 {
			what += fmt.Sprintf("; retry after %s", took(a.Err.RetryAfter))
		}
	} else {
		what = fmt.Sprintf("answer dropped, finish %s, %s", a.Resp.Finish, tokens(a.Resp.Usage))
	}
	what += stats("; took ", a.Elapsed)
	if a.Wait > 0 {
		what += "; waits " + took(a.Wait)
	}
	if !a.Again && !s.wire { // of recorded traffic it is not known
		what += "; no next attempt"
	}
	s.text(block{first: s.paint(red, "  ✗ "), rest: "    "}, fmt.Sprintf("attempt %d: %s", a.N+1, safeLine(what)))
	return nil
}

func stats(lead string, d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return lead + took(d)
}

// response prints what the model said; its calls follow with their results.
func (s *show) response(l *session.Line) error {
	r, err := l.Response()
	if err != nil {
		return err
	}
	s.args = r.Resp.Calls()
	var parts []string
	if r.Resp.Model != "" {
		parts = append(parts, safeLine(r.Resp.Model))
	}
	if r.Resp.Elapsed > 0 {
		parts = append(parts, took(r.Resp.Elapsed))
	}
	if u := tokens(r.Resp.Usage); u != "" {
		parts = append(parts, u)
	}
	if f := r.Resp.Finish; f != "" && (f != model.FinishCalls || len(s.args) == 0) && (f != model.FinishStop || len(s.args) > 0) {
		parts = append(parts, "finish "+safeLine(string(f)))
	}
	if len(parts) > 0 {
		s.text(block{first: "  ", rest: "  ", style: dim}, "model · "+strings.Join(parts, " · "))
	}
	for i := range r.Resp.Items {
		s.item(&r.Resp.Items[i])
	}
	if len(r.Resp.Items) == 0 && !s.wire {
		s.text(block{first: "  ", rest: "  ", style: yellow}, "(a blank answer: no text and no call)")
	}
	return nil
}

func (s *show) item(it *model.Item) {
	in := block{first: "  ", rest: "  ", lines: s.lines(sayLines)}
	switch it.Type {
	case model.CallItem:
		if s.wire || s.foreign { // no line of its own follows
			s.call(&call{tool: it.Call.Name, args: it.Call.Args})
		}
	case model.Text:
		s.text(in, it.Text)
	case model.ProviderCall:
		in.style, in.lines = dim, s.lines(resultLines)
		s.text(block{first: "  ", rest: "  ", style: bold}, "executed by the provider")
		s.text(in, it.Evidence)
	default:
		in.style, in.lines = dim, s.lines(resultLines)
		s.text(block{first: "  ", rest: "  ", style: dim}, safeLine(string(it.Type))+":")
		s.text(in, it.Text)
	}
}

// request keeps a call until its result.
func (s *show) request(l *session.Line) error {
	r, err := l.ToolRequest()
	if err != nil {
		return err
	}
	c := call{tool: r.Tool, args: r.Args}
	if !r.HasArgs && r.Index < len(s.args) {
		c.args = s.args[r.Index].Args
	}
	if r.Detail != "" {
		c.problem = r.Detail
	} else {
		c.problem = string(r.Problem)
	}
	if _, known := s.calls[r.ID]; !known {
		if len(s.order) >= maxCalls {
			return nil
		}
		s.order = append(s.order, r.ID)
	}
	s.calls[r.ID] = c
	return nil
}

// pending prints the calls that never got a result.
func (s *show) pending() {
	for _, id := range s.order {
		if c, ok := s.calls[id]; ok {
			s.call(&c)
			s.text(block{first: "    ", rest: "    ", style: red}, "no result was recorded")
		}
	}
}

func (s *show) call(c *call) {
	args := readable(c.args)
	name := safeLine(c.tool)
	first := "  → " + s.paint(bold, name)
	if args != "" {
		first += " "
	}
	b := block{first: first, rest: "      ", lines: s.lines(argLines)}
	// The name stands before the arguments on their first line.
	pad := textWidth("  → "+name+" ") - leadWidth(b.rest)
	if pad > s.width/2 {
		s.text(block{first: "  → ", rest: b.rest, style: bold}, name)
		if args == "" {
			return
		}
		b.first, pad = b.rest, 0
	}
	s.hang(b, pad, args)
}

// hang prints text whose first line has pad columns less than the others.
func (s *show) hang(b block, pad int, text string) {
	if pad <= 0 || s.mute {
		s.text(b, text)
		return
	}
	// The head is put before the text as one word of its width, and taken off
	// again, so that wrapping knows of it.
	head := strings.Repeat("\u2007", pad)
	var out strings.Builder
	sub := newPrinter(&out, s.width, s.color)
	sub.text(block{first: b.rest, rest: b.rest, lines: b.lines, style: b.style}, head+text)
	sub.w.Flush()
	body := strings.TrimPrefix(strings.TrimSuffix(out.String(), "\n"), b.rest+head)
	for i, row := range strings.Split(body, "\n") {
		if i == 0 {
			row = b.first + row
		}
		s.line(row)
	}
}

// readable writes the arguments of a call as name: value pairs; what is no JSON
// object stays as it is. Text that holds line breaks is written escaped.
func readable(args string) string {
	dec := jsontext.NewDecoder(strings.NewReader(args))
	tok, err := dec.ReadToken()
	if err != nil || tok.Kind() != '{' {
		return args
	}
	var out []string
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return args
		}
		key := name.String()
		v, err := dec.ReadValue()
		if err != nil {
			return args
		}
		if v.Format(jsontext.SpaceAfterComma(true), jsontext.SpaceAfterColon(true)) != nil {
			return args
		}
		out = append(out, key+": "+string(v))
	}
	return strings.Join(out, ", ")
}

// result prints a call and what came of it.
func (s *show) result(l *session.Line) error {
	r, err := l.ToolResult()
	if err != nil {
		return err
	}
	c, ok := s.calls[r.ID]
	if !ok {
		c = call{tool: "(a call without tool.request)"}
	}
	delete(s.calls, r.ID)
	s.call(&c)
	s.outcome(r)
	if c.problem != "" && c.problem != string(r.Outcome) && !strings.Contains(r.Text, c.problem) {
		s.text(block{first: "    ", rest: "    ", style: yellow}, c.problem)
	}
	if r.Text != "" {
		bar := s.paint(dim, "    │ ")
		s.text(block{first: bar, rest: bar, lines: s.lines(resultLines)}, r.Text)
	}
	for i := range r.Delta {
		s.delta(&r.Delta[i])
	}
	return nil
}

// outcome prints how a call came out, with size and time.
func (s *show) outcome(r *session.ToolResult) {
	look, mark := green, "✓ "
	if r.Outcome != event.Success {
		look, mark = red, "✗ "
	}
	var parts []string
	if r.Bytes > 0 || r.Outcome == event.Success {
		parts = append(parts, size(r.Bytes))
	}
	if r.Took > 0 {
		parts = append(parts, took(r.Took))
	}
	if r.Want > r.Took {
		parts = append(parts, "wanted "+took(r.Want))
	}
	if r.Exit != nil {
		parts = append(parts, fmt.Sprintf("exit %d", *r.Exit))
	}
	head := mark + clip(safeLine(string(r.Outcome)), 26)
	b := block{first: "    " + s.paint(look, head), rest: "      "}
	if len(parts) == 0 {
		s.line(b.first)
		return
	}
	b.first += s.paint(dim, " · ")
	s.hang(b, leadWidth(b.first)-leadWidth(b.rest), strings.Join(parts, " · "))
}

func (s *show) delta(d *session.Delta) {
	text := "deleted " + d.Path
	if d.Op == session.OpWrite {
		verb := "changed"
		if d.Before.IsZero() {
			verb = "created"
		}
		text = verb + " " + d.Path
		if n := max(d.Size, int64(len(d.Data))); n > 0 {
			text += ", " + size(n)
		}
	}
	s.text(block{first: "    ± ", rest: "      ", style: dim}, safeLine(text))
}

// guard prints a firing in the margin.
func (s *show) guard(l *session.Line) error {
	g, err := l.Guard()
	if err != nil {
		return err
	}
	mark, look, verb := "▲ ", yellow, ""
	if g.Mode != "enforce" {
		mark, look, verb = "△ ", dim, "would "
	}
	var parts []string
	if g.Act != g.Name || verb != "" {
		parts = append(parts, verb+strings.ReplaceAll(g.Act, "_", " "))
	}
	if g.Evidence != "" && g.Evidence != s.failed {
		parts = append(parts, g.Evidence)
	}
	text := g.Name + ": " + strings.Join(parts, ", ")
	if g.Failed != "" {
		text += "; it could not: " + g.Failed
	}
	if g.Mode != "enforce" {
		text += " (" + g.Mode + ")"
	}
	s.text(block{first: s.paint(look, mark), rest: "  ", style: look}, safeLine(text))
	for i := range s.fired {
		if f := &s.fired[i]; f.guard == g.Name && f.mode == g.Mode {
			f.n++
			return nil
		}
	}
	if len(s.fired) < maxFired {
		s.fired = append(s.fired, firing{g.Name, g.Mode, 1})
	}
	return nil
}

// approval prints what an approver said of the call that follows.
func (s *show) approval(l *session.Line) error {
	a, err := l.Approval()
	if err != nil {
		return err
	}
	text := "the approver: " + a.Decision + " after " + took(a.Took)
	if a.Reason != "" {
		text += ", " + a.Reason
	}
	s.text(block{first: "  ? ", rest: "    "}, safeLine(text))
	return nil
}

func (s *show) acceptance(l *session.Line) error {
	a, err := l.Acceptance()
	if err != nil {
		return err
	}
	s.failed = a.Fail
	switch {
	case a.Fail != "":
		s.text(block{first: s.paint(red, "  ✗ "), rest: "    "}, "not accepted: "+safeLine(a.Fail))
	case a.Checked:
		s.line("  " + s.paint(green, "✓ accepted"))
	default:
		s.line("  " + s.paint(dim, "· the end was not checked"))
	}
	return nil
}

func (s *show) state(l *session.Line) error {
	st, err := l.State()
	if err != nil {
		return err
	}
	s.clock = ""
	if st.At > 0 {
		s.clock = "at " + took(st.At)
		if st.Cost.Known {
			s.clock += ", " + money(st.Cost)
		}
	}
	return nil
}

func (s *show) note(l *session.Line) error {
	n, err := l.Note()
	if err == nil {
		s.text(block{first: s.paint(yellow, "  ! "), rest: "    "}, safeLine(n.What))
	}
	return err
}
