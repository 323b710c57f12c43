package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/scenarios"
)

// world is a small stand-in for loop and tools: enough of them for a script to
// be followed without any of their packages.
type world struct {
	t      *testing.T
	s      *scenarios.Scenario
	files  map[string]string
	nth    map[string]int
	script *model.Transcript
	turn   int
	answer string
	spilt  int
}

func newWorld(t *testing.T, s *scenarios.Scenario) *world {
	w := &world{t: t, s: s, files: map[string]string{}, nth: map[string]int{}, script: model.NewTranscript()}
	for _, f := range s.Files {
		w.files[f.Path] = string(f.Data)
	}
	w.script.Append(model.NewTextPart(model.System, "You work in /workspace."))
	w.script.Append(model.NewTextPart(model.User, s.Instruction))
	return w
}

func (w *world) request(attempt, maxTokens int) *model.Request {
	parts, chains := w.script.View()
	p := model.Params{Model: "sim/x", MaxTokens: maxTokens}
	return &model.Request{Params: p, ParamsDigest: p.Digest(), Parts: parts, Chains: chains, Lane: "main", Turn: w.turn, Attempt: attempt}
}

// ask is the infer stage: four attempts, and one with more room for an answer
// that was cut.
func (w *world) ask(m model.Model) *model.Response {
	limit := w.s.Limits.MaxTokens
	for attempt := range 4 {
		r, err := m.Generate(context.Background(), w.request(attempt, limit), nil)
		var e *model.Error
		switch {
		case errors.As(err, &e):
			if e.Kind == model.ErrContextOverflow {
				w.t.Fatalf("%s: %v", w.s.ID, e)
			}
		case err != nil:
			w.t.Fatal(err)
		case r.Finish == model.FinishLength && limit > 0:
			limit *= 2
		default:
			return r
		}
	}
	w.t.Fatalf("%s: no answer in four attempts", w.s.ID)
	return nil
}

// step runs a turn and reports whether it ended with an answer.
func (w *world) step(m model.Model) bool {
	w.turn++
	r := w.ask(m)
	items := append([]model.Item(nil), r.Items...)
	var calls []model.ToolCall
	for i := range items {
		if items[i].Type == model.CallItem {
			items[i].Call.ID = fmt.Sprintf("c%d.%d", w.turn, i)
			calls = append(calls, items[i].Call)
		}
	}
	w.script.Append(model.NewMessagePart(model.Message{Role: model.Assistant, Items: items}))
	for _, c := range calls {
		w.script.Append(model.NewResultPart(c.ID, w.shorten(w.run(c))))
	}
	w.answer = model.TextOf(items)
	return len(calls) == 0
}

// shorten does what the spill guard does.
func (w *world) shorten(text string) string {
	if len(text) <= 24<<10 {
		return text
	}
	w.spilt++
	p := fmt.Sprintf(".harness/spill/main-%d-0-tool.txt", w.spilt)
	w.files[p] = text
	return text[:4<<10] + "\n[result cut]\nfull output: /workspace/" + p + "\n"
}

func (w *world) run(c model.ToolCall) string {
	var args map[string]any
	if err := json.Unmarshal([]byte(c.Args), &args); err != nil {
		return "the arguments are no JSON"
	}
	arg := func(k string) string { s, _ := args[k].(string); return s }
	path := strings.TrimPrefix(strings.TrimPrefix(arg("path"), "/workspace"), "/")
	for i := range w.s.Tools {
		t := &w.s.Tools[i]
		if t.Name != c.Name {
			continue
		}
		if t.Mock != nil {
			return w.mock(t, args)
		}
		switch t.Name {
		case "read_file":
			if text, ok := w.files[path]; ok {
				return text
			}
			return path + ": nothing there"
		case "write_file":
			w.files[path] = arg("content")
			return fmt.Sprintf("wrote %d bytes to /workspace/%s", len(arg("content")), path)
		case "grep":
			return w.grep(path, arg("pattern"))
		}
	}
	return fmt.Sprintf("unknown tool %q. did you mean another?", c.Name)
}

func (w *world) grep(path, pattern string) string {
	re := regexp.MustCompile(pattern)
	var out []string
	for p, text := range w.files {
		if strings.HasPrefix(p, path) {
			for _, line := range strings.Split(text, "\n") {
				if re.MatchString(line) {
					out = append(out, p+":"+line)
				}
			}
		}
	}
	if sort.Strings(out); len(out) == 0 {
		return "no matches\n"
	}
	return strings.Join(out, "\n")
}

func (w *world) mock(t *scenarios.Tool, args map[string]any) string {
	w.nth[t.Name]++
	n := w.nth[t.Name]
	for _, f := range w.s.Faults {
		if f.Tool == t.Name && f.Kind == "hang" && (len(f.AtCall) == 0 || slices.Contains(f.AtCall, n)) {
			return "timed out after 2m0s: no result"
		}
	}
	fits := func(r *scenarios.Response) bool {
		for k, p := range r.When {
			if !regexp.MustCompile(p).MatchString(argText(args[k])) {
				return false
			}
		}
		for _, c := range r.AtCall {
			if n >= c.First && (c.Last == 0 || n <= c.Last) {
				return true
			}
		}
		return len(r.AtCall) == 0
	}
	for i := range t.Mock.Responses {
		if r := &t.Mock.Responses[i]; fits(r) {
			fill := func(text string) string {
				for k, v := range args {
					text = strings.ReplaceAll(text, "${"+k+"}", argText(v))
				}
				return strings.ReplaceAll(text, "$$", "$")
			}
			for _, f := range r.Files {
				w.files[fill(f.Path)] = fill(string(f.Data))
			}
			return fill(r.Text)
		}
	}
	return "no response fits"
}

// argText is an argument as a mock tool sees it: a text itself, else its JSON.
func argText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // it was JSON
	}
	return string(b)
}

// ReadFile, Walk and Answer make the world a subject of checks.
func (w *world) ReadFile(path string, limit int64) ([]byte, error) {
	text, ok := w.files[path]
	if !ok {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	return []byte(text[:min(len(text), int(limit))]), nil
}

func (w *world) Walk(fn func(path string, size int64) error) error {
	var names []string
	for p := range w.files {
		names = append(names, p)
	}
	sort.Strings(names)
	for _, p := range names {
		if err := fn(p, int64(len(w.files[p]))); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) Answer() string { return w.answer }
