package transcript

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// facts are what the header's config says, as far as people are shown it.
// Unknown members are left alone.
type facts struct {
	Guards   jsontext.Value `json:"guards"`
	Imported string         `json:"imported"`
	Unknown  []string       `json:"unknown"`
	Limits   struct {
		Calls    int64 `json:"calls"`
		MicroUSD int64 `json:"micro_usd"`
		Tokens   int64 `json:"tokens"`
		Turns    int64 `json:"turns"`
		WallUS   int64 `json:"wall_us"`
	} `json:"limits"`
	Window int64 `json:"window"`
}

// unknown reports whether an import could not know something.
func (f *facts) unknown(what string) bool { return slices.Contains(f.Unknown, what) }

func safeLine(s string) string { return cli.SanitizeLine(s) }

// header prints the first block; the list of tools follows when it is known.
func (s *show) header(l *session.Line) error {
	h, err := l.Header()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(h.Config, &s.known); err != nil {
		s.known = facts{} // another tool's config: nothing of it is shown
	}
	if s.wire = h.IsWire(); s.wire {
		s.traffic(h)
		return nil
	}
	s.foreign = h.IsCalls()
	simulated := ""
	if h.Simulated {
		simulated = " (simulated)"
	}
	arm := h.Labels["arm"]
	if s.o.Turn > 0 {
		s.fact("session", s.o.Name)
		s.fact("trial", fmt.Sprintf("%s · %s%s · %s · repetition %d", h.Scenario, h.Model, simulated, arm, h.Repetition))
		return nil
	}
	if s.o.Name != "" {
		s.fact("session", s.o.Name)
	}
	s.fact("scenario", fmt.Sprintf("%s, repetition %d", h.Scenario, h.Repetition))
	s.fact("model", h.Model+simulated)
	if arm != "" {
		s.fact("arm", arm)
	}
	if s.known.Imported != "" {
		s.fact("imported", "from "+s.known.Imported)
		if len(s.known.Unknown) > 0 {
			s.fact("unknown", strings.Join(s.known.Unknown, ", "))
		}
	}
	if len(s.known.Guards) > 0 {
		s.fact("guards", guards(s.known.Guards))
	}
	if limits := s.known.limits(); limits != "" {
		s.fact("limits", limits)
	}
	if n := len(h.Tree); n > 0 {
		var bytes int64
		for i := range h.Tree {
			bytes += h.Tree[i].Size
		}
		s.fact("workspace", fmt.Sprintf("%s, %s", count(n, "file"), size(bytes)))
	}
	s.fork(h.Fork)
	s.labels(h.Labels, "arm", "imported")
	return nil
}

// labels shows annotations, but for those that were shown before: a bounded
// number, each cut, since they say nothing of what happened.
func (s *show) labels(labels map[string]string, shown ...string) {
	n := 0
	for _, name := range sortedKeys(labels) {
		if slices.Contains(shown, name) {
			continue
		}
		if n++; n > 32 {
			s.fact("label", fmt.Sprintf("%d labels in all", len(labels)))
			return
		}
		s.fact("label", clip(name, 80)+" = "+clip(labels[name], 200))
	}
}

// fork says where the session comes from, if it is a fork.
func (s *show) fork(f *session.Fork) {
	if f == nil {
		return
	}
	s.fact("fork of", fmt.Sprintf("%s: %s shared, %d tokens not spent", f.Parent.Short(), count(f.Turns, "turn"), f.Spared.Total()))
	if len(f.Set) > 0 {
		s.fact("under", strings.Join(f.Set, ", "))
	}
}

// fact prints one row of the first or the last block.
func (s *show) fact(name, value string) {
	s.text(block{first: s.paint(dim, fmt.Sprintf("%-10s", name)), rest: "          "}, safeLine(value))
}

func sortedKeys(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func (f *facts) limits() string {
	var parts []string
	add := func(n int64, text string) {
		if n > 0 {
			parts = append(parts, text)
		}
	}
	l := f.Limits
	add(l.Turns, thousands(l.Turns)+" turns")
	add(l.Calls, thousands(l.Calls)+" calls")
	add(l.Tokens, thousands(l.Tokens)+" tokens")
	add(l.MicroUSD, fmt.Sprintf("$%.2f", float64(l.MicroUSD)/1e6))
	add(l.WallUS, took(time.Duration(l.WallUS)*time.Microsecond))
	add(f.Window, "window "+thousands(f.Window))
	return strings.Join(parts, ", ")
}

// guards says how guards are set: the profile, and what differs from it.
func guards(raw []byte) string {
	set, err := guard.ParseSettings(raw)
	if err != nil {
		return "recorded under settings that this version does not know: " + err.Error()
	}
	for _, name := range []string{guard.ProfileDefault, guard.ProfileNone, guard.ProfileFull} {
		if len(guard.Differ(guard.MustProfile(name), set)) == 0 {
			return "profile " + name
		}
	}
	base := guard.MustProfile(guard.ProfileDefault)
	var parts []string
	for _, name := range guard.Differ(base, set) {
		parts = append(parts, setting(name, base.Get(name), set.Get(name)))
	}
	return "profile default, but " + strings.Join(parts, ", ")
}

// setting names what differs in one guard.
func setting(name string, base, now guard.Setting) string {
	out := name
	if now.Mode != base.Mode {
		out += " " + string(now.Mode)
	}
	params := guard.Table[guard.Lookup(name)].Params
	for i := range params {
		if i < len(now.Values) && i < len(base.Values) && now.Values[i] != base.Values[i] {
			out += " " + params[i].Name + "=" + params[i].Format(now.Values[i])
		}
	}
	return out
}

// part prints a part that no other line carries.
func (s *show) part(l *session.Line) error {
	part, err := l.Part()
	if err != nil {
		return err
	}
	if part.Why == session.WhyWire {
		s.wirePart(part)
		return nil
	}
	p, err := part.ModelPart()
	if err != nil {
		return &session.DecodeError{Line: l.No, Type: l.Type, Field: "body", What: err.Error()}
	}
	if p.Kind == model.KindTool {
		if len(s.tools) < maxTools {
			s.tools = append(s.tools, p.Tool.Name)
		}
		return nil
	}
	if len(s.tools) > 0 {
		if s.o.Turn == 0 {
			s.fact("tools", strings.Join(s.tools, ", "))
		}
		s.tools = nil
	}
	text := model.TextOf(p.Message.Items)
	switch part.Why {
	case "system", "task":
		if l.Turn > 0 {
			s.said(part.Why, text)
			break
		}
		s.gap()
		s.line(s.paint(bold, part.Why))
		lines := taskLines
		if part.Why == "system" {
			lines = promptLines
		}
		s.text(block{first: "  ", rest: "  ", lines: s.lines(lines)}, text)
	case session.WhyRewrite:
		s.text(block{first: "    ", rest: "    ", style: dim}, fmt.Sprintf("the model saw this instead, %s:", size(int64(len(text)))))
		s.text(block{first: "    ┊ ", rest: "    ┊ ", style: dim, lines: s.lines(shownLines)}, text)
	case session.WhyAsked:
		if p.Role != model.Assistant { // what it said stands in its answer
			s.said(string(p.Role), text)
		}
	default:
		s.said(part.Why, text)
	}
	return nil
}

// said prints a message to the model under the name of who it comes from.
func (s *show) said(who, text string) {
	s.gap()
	s.text(block{first: "  ", rest: "    ", style: cyan}, "← "+safeLine(who))
	s.text(block{first: "    ", rest: "    ", lines: s.lines(sayLines)}, text)
}
