package transcript

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// traffic prints the first block of recorded traffic.
func (s *show) traffic(h *session.Header) {
	var c struct {
		Upstream string `json:"upstream"`
	}
	if err := json.Unmarshal(h.Config, &c); err != nil {
		c.Upstream = ""
	}
	s.fact("session", s.o.Name)
	s.fact("traffic", "recorded in front of "+c.Upstream)
	if s.o.Turn > 0 {
		return
	}
	if h.Scenario != session.WireKind {
		s.fact("scenario", h.Scenario)
	}
	if len(h.Normalisers) > 0 {
		s.fact("equal by", strings.Join(h.Normalisers, ", "))
	}
	s.labels(h.Labels)
	s.fact("replay", "harnessbench replay --serve FILE -- CMD")
}

func has(l *session.Line, key string) bool {
	_, ok := l.Field(key)
	return ok
}

// wirePart prints a part in the API's own JSON. What a model said is shown with
// its answer; that a client sends it again is said in a few lines.
func (s *show) wirePart(p *session.Part) {
	s.fresh++
	if p.Kind == model.KindTool {
		if len(s.tools) < maxTools {
			s.tools = append(s.tools, toolName(p.Body))
		}
		return
	}
	s.wireTools()
	who, lines := string(p.Role), sayLines
	switch {
	case p.Kind == model.KindSystem:
		who, lines = "system", promptLines
	case p.Role == model.Assistant:
		lines = shownLines
	case p.Role == model.ToolRole:
		lines = resultLines
	case who == "":
		who = "message"
	}
	s.text(block{first: "  ", rest: "    ", style: cyan}, "← "+safeLine(who))
	s.text(block{first: "    ", rest: "    ", lines: s.lines(lines)}, wireText(p.Body, 0))
}

// wireTools names the tools whose parts came.
func (s *show) wireTools() {
	if len(s.tools) > 0 {
		s.text(block{first: "  ← ", rest: "    ", style: dim}, safeLine("tools: "+strings.Join(s.tools, ", ")))
		s.tools = nil
	}
}

func toolName(body []byte) string {
	var t struct {
		Name     string `json:"name"`
		Type     string `json:"type"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if json.Unmarshal(body, &t) != nil {
		return "(a tool)"
	}
	for _, name := range []string{t.Name, t.Function.Name, t.Type} {
		if name != "" {
			return name
		}
	}
	return "(a tool)"
}

// wirePiece is a message, or a block of one, as far as the APIs' shapes are alike.
type wirePiece struct {
	Type     string         `json:"type"`
	Text     string         `json:"text"`
	Name     string         `json:"name"`
	Args     string         `json:"arguments"`
	Input    jsontext.Value `json:"input"`
	Output   jsontext.Value `json:"output"`
	Content  jsontext.Value `json:"content"`
	Calls    []wirePiece    `json:"tool_calls"`
	Function *wirePiece     `json:"function"`
}

// maxBlocks is how deep blocks are looked into; the APIs nest a result's text in
// five levels.
const maxBlocks = 6

// wireText is the text of a message, calls and results included; what is neither
// is shown as the JSON it is.
func wireText(body jsontext.Value, depth int) string {
	var text string
	if depth > maxBlocks {
		return string(body)
	}
	if json.Unmarshal(body, &text) == nil {
		return text
	}
	var list []jsontext.Value
	if json.Unmarshal(body, &list) == nil {
		out := make([]string, len(list))
		for i := range list {
			out[i] = wireText(list[i], depth+1)
		}
		return strings.Join(out, "\n")
	}
	var p wirePiece
	if json.Unmarshal(body, &p) != nil {
		return string(body)
	}
	var out []string
	if p.Text != "" {
		out = append(out, p.Text)
	}
	for _, v := range []jsontext.Value{p.Content, p.Output} {
		if k := v.Kind(); k == '"' || k == '[' {
			out = append(out, wireText(v, depth+1))
		}
	}
	if p.Name != "" && (p.Args != "" || len(p.Input) > 0) {
		out = append(out, "→ "+p.Name+" "+p.Args+string(p.Input))
	}
	for _, c := range p.Calls {
		if c.Function != nil {
			out = append(out, "→ "+c.Function.Name+" "+c.Function.Args)
		}
	}
	if len(out) == 0 {
		return string(body)
	}
	return strings.Join(out, "\n")
}

// wireRequest says what a request was made of.
func (s *show) wireRequest(r *session.Request) {
	s.wireTools()
	n := r.Keep + len(r.Add)
	text := fmt.Sprintf("asked with %s, %d of them new to its lane", count(n, "part"), len(r.Add))
	if above := len(r.Add) - s.fresh; above > 0 {
		text += fmt.Sprintf(" (%d shown above already)", above)
	}
	s.fresh = 0
	if len(r.Params) > 0 {
		text += "; params " + string(r.Params)
	}
	s.text(block{first: "  · ", rest: "    ", style: dim, lines: s.lines(argLines)}, safeLine(text))
}

// exchange prints what passed on the wire.
func (s *show) exchange(l *session.Line) error {
	w, err := l.Wire()
	if err != nil {
		return err
	}
	if w.API == "" {
		s.gap()
	}
	parts := []string{fmt.Sprintf("exchange %d", w.N), w.Method + " " + w.Path}
	if w.Status > 0 {
		parts = append(parts, fmt.Sprint(w.Status))
	}
	parts = append(parts, size(w.Size))
	if len(w.Frames) > 1 {
		parts = append(parts, count(len(w.Frames), "frame"))
	}
	if w.Stream {
		parts = append(parts, "stream")
	}
	if w.Elapsed > 0 {
		parts = append(parts, took(w.Elapsed))
	}
	if w.Hint > 0 {
		parts = append(parts, fmt.Sprintf("agent %d", w.Hint))
	}
	s.text(block{first: "  ⇄ ", rest: "    ", style: dim}, safeLine(strings.Join(parts, " · ")))
	if w.Broken != "" {
		s.text(block{first: s.paint(red, "  ✗ "), rest: "    "}, "broke off: "+safeLine(w.Broken))
	}
	if s.o.Full && w.Inline {
		s.text(block{first: "    │ ", rest: "    │ ", style: dim}, strings.ToValidUTF8(string(w.Body), "\ufffd"))
	}
	return nil
}
