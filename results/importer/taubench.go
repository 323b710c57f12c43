package importer

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
)

// tauBench reads the trajectories of tau-bench: a JSON array with one object a
// trial, whose traj is the conversation in the messages of OpenAI's chat API.
var tauBench = Format{
	Name:     "tau-bench",
	Summary:  "trajectories of tau-bench: a JSON array of {task_id, trial, reward, info, traj}",
	defaults: tauDefaults,
	read:     readTau,
}

// What tau-bench fixes and its files do not say.
const (
	tauSteps    = 30                         // answers of the model after which it stops a trial
	tauStop     = "###STOP###"               // the simulated user's last words
	tauTransfer = "transfer_to_human_agents" // the tool that ends a trial
)

// tauProviders guesses a provider from the first letters of a model's name.
var tauProviders = []struct{ stem, provider string }{
	{"gpt-", "openai"}, {"o1", "openai"}, {"o3", "openai"}, {"o4", "openai"},
	{"claude", "anthropic"}, {"sonnet", "anthropic"}, {"opus", "anthropic"}, {"haiku", "anthropic"},
	{"gemini", "google"}, {"mistral", "mistral"},
}

// tauDefaults reads model and domain off names like gpt-4o-airline.json.
func tauDefaults(base string, o *Options) {
	name, domain := base, "task"
	if i := strings.LastIndexByte(base, '-'); i > 0 {
		switch base[i+1:] {
		case "airline", "retail", "telecom":
			name, domain = base[:i], base[i+1:]
		}
	}
	if o.Domain == "" {
		o.Domain = domain
	}
	if o.Model != "" {
		return
	}
	o.Model = "unknown/unknown"
	for _, p := range tauProviders {
		if strings.HasPrefix(name, p.stem) && plain(name) {
			o.Model = p.provider + "/" + name
			return
		}
	}
}

// tauRecord is one element of the array. Members that are not named here are
// left alone.
type tauRecord struct {
	TaskID *int64         `json:"task_id"`
	Trial  *int64         `json:"trial"`
	Reward *float64       `json:"reward"`
	Info   jsontext.Value `json:"info"`
	Traj   *[]tauMessage  `json:"traj"`
}

type tauMessage struct {
	Role       string         `json:"role"`
	Content    *string        `json:"content"`
	ToolCalls  []tauCall      `json:"tool_calls"`
	ToolCallID string         `json:"tool_call_id"`
	Name       string         `json:"name"`
	Legacy     jsontext.Value `json:"function_call"`
}

type tauCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// tauInfo is what is read of a record's info.
type tauInfo struct {
	Task  jsontext.Value `json:"task"`
	Error string         `json:"error"`
}

// readTau streams the array; one record is in memory at a time.
func readTau(src io.Reader, o *Options, emit func(*Session) error) error {
	return eachElement(src, func(i int, raw jsontext.Value) error {
		var rec tauRecord
		if err := json.Unmarshal(raw, &rec); err != nil {
			return fmt.Errorf("record %d: %w", i, inValue(err))
		}
		s, err := rec.session(o)
		if err == nil {
			err = emit(s)
		}
		if err != nil {
			return fmt.Errorf("record %d: %w", i, err)
		}
		return nil
	})
}

// bounds of task ids and trials
const (
	maxTask  = 1_000_000
	maxTrial = 100_000
)

func (r *tauRecord) session(o *Options) (*Session, error) {
	switch {
	case r.TaskID == nil || *r.TaskID < 0 || *r.TaskID >= maxTask:
		return nil, fmt.Errorf("task_id must be a whole number from 0 to %d", maxTask-1)
	case r.Trial == nil || *r.Trial < 0 || *r.Trial >= maxTrial:
		return nil, fmt.Errorf("trial must be a whole number from 0 to %d", maxTrial-1)
	case r.Reward == nil || !(*r.Reward >= 0 && *r.Reward <= 1):
		return nil, errors.New("reward must be a number from 0 to 1")
	case r.Traj == nil:
		return nil, errors.New("traj must be an array of messages")
	}
	var info tauInfo
	if len(r.Info) > 0 {
		if err := json.Unmarshal(r.Info, &info); err != nil {
			return nil, fmt.Errorf("info: %w", plainJSON(err))
		}
	}
	s := &Session{
		Scenario: fmt.Sprintf("%s-%03d", o.Domain, *r.TaskID), Repetition: int(*r.Trial),
		Source: fmt.Sprintf("tau-bench#%d", *r.TaskID),
		Config: fmt.Appendf(nil, `{"imported":"tau-bench","limits":{"turns":%d},"task_id":%d,"trial":%d,"unknown":["params","prices","requests","times","tools","usage"]}`,
			tauSteps, *r.TaskID, *r.Trial),
		Verdict: Verdict{Grader: "tau-bench", Pass: *r.Reward == 1, Score: *r.Reward, Reason: fmt.Sprintf("reward %v", *r.Reward)},
	}
	if len(info.Task) > 0 && info.Task.Kind() == '{' {
		if err := info.Task.Format(jsontext.ReorderRawObjects(true)); err != nil {
			return nil, fmt.Errorf("info.task: %w", plainJSON(err))
		}
		s.ScenarioDigest = model.Sum(info.Task)
	}
	if err := r.converse(s); err != nil {
		return nil, err
	}
	return s, r.end(s, info.Error)
}

// converse takes the messages.
func (r *tauRecord) converse(s *Session) error {
	b := &builder{s}
	for i := range *r.Traj {
		if err := b.take(&(*r.Traj)[i]); err != nil {
			return fmt.Errorf("traj[%d]: %w", i, err)
		}
	}
	return nil
}

func (b *builder) take(m *tauMessage) error {
	text := ""
	if m.Content != nil {
		text = *m.Content
	}
	switch {
	case len(m.Legacy) > 0 && m.Legacy.Kind() != 'n':
		return errors.New("function_call is not read; only tool_calls are")
	case m.Role != "assistant" && len(m.ToolCalls) > 0:
		return fmt.Errorf("a message by %q has tool_calls", clip(m.Role))
	case m.Role != "assistant" && m.Content == nil:
		return fmt.Errorf("a message by %q has no content", clip(m.Role))
	}
	switch m.Role {
	case "system", "user":
		return b.said(Message{Role: model.Role(m.Role), Text: text})
	case "tool":
		return b.result(m.ToolCallID, m.Name, text, strings.HasPrefix(text, "Error"))
	case "assistant":
		t := Turn{Text: text}
		for i, c := range m.ToolCalls {
			if c.Type != "" && c.Type != "function" {
				return fmt.Errorf("tool_calls[%d]: type is %q, not function", i, clip(c.Type))
			}
			t.Calls = append(t.Calls, Call{ID: c.ID, Name: c.Function.Name, Args: c.Function.Arguments})
		}
		return b.answered(t)
	}
	return fmt.Errorf("role is %q; there are system, user, assistant and tool", clip(m.Role))
}

// end says how the trial ended. tau-bench ends one when its user says the stop
// word or the agent transfers to a human; everything else ran into its cap of
// steps. A trial that raised an exception has the error in info and no
// messages.
func (r *tauRecord) end(s *Session, failed string) error {
	n := len(s.Turns)
	if failed != "" {
		line, _, _ := strings.Cut(failed, "\n")
		s.Errored = "the recording harness failed: " + clip(line)
		s.Reason, s.Evidence = event.InternalError, s.Errored
		return nil
	}
	if n == 0 {
		return errors.New("traj holds no answer of the model, and info names no error")
	}
	last := &s.Turns[n-1]
	for _, m := range last.After {
		if strings.Contains(m.Text, tauStop) {
			s.Reason, s.Evidence = event.Completed, "the user said "+tauStop
		}
	}
	for _, c := range last.Calls {
		if c.Name == tauTransfer && len(last.After) == 0 {
			s.Reason, s.Evidence = event.Completed, "the agent called "+tauTransfer
		}
	}
	if s.Reason == "" {
		s.Reason, s.Backstop = event.TurnLimit, true
		s.Evidence = fmt.Sprintf("stopped after %d answers by the recording harness", n)
		if n == tauSteps {
			s.Evidence = fmt.Sprintf("%d answers, the recording harness's cap", n)
		}
	}
	return nil
}
