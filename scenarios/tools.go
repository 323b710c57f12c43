package scenarios

import (
	"slices"
	"strings"
	"time"

	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

// toolFile is a built-in tool's name, or a mock.
type toolFile struct {
	name string
	pos  strictyaml.Pos
	mock *mockFile
}

// UnmarshalNode implements strictyaml.Unmarshaler.
func (t *toolFile) UnmarshalNode(n *strictyaml.Node) error {
	t.pos = n.Pos
	if n.Kind != strictyaml.Map {
		var err error
		t.name, err = n.Text()
		return err
	}
	t.mock = &mockFile{Version: 1, Effect: EffectRead}
	if err := strictyaml.Decode(n, t.mock); err != nil {
		return err
	}
	t.name = t.mock.Name
	return nil
}

type mockFile struct {
	Pos         strictyaml.Pos
	Name        string           `yaml:"name,required"`
	Kind        string           `yaml:"kind,required"`
	Version     int              `yaml:"version"`
	Description string           `yaml:"description,required"`
	Schema      *strictyaml.Node `yaml:"schema"`
	Effect      string           `yaml:"effect"`
	Parallel    bool             `yaml:"parallel"`
	Takes       duration         `yaml:"takes"`
	Paths       []string         `yaml:"paths"`
	Commands    []string         `yaml:"commands"`
	Hosts       []string         `yaml:"hosts"`
	Cycle       bool             `yaml:"cycle"`
	Responses   []responseFile   `yaml:"responses,required"`
}

type responseFile struct {
	Pos      strictyaml.Pos
	AtCall   ranges             `yaml:"at_call"`
	When     map[string]pattern `yaml:"when"`
	Text     string             `yaml:"text"`
	Generate *generateFile      `yaml:"generate"`
	Error    string             `yaml:"error"`
	Takes    duration           `yaml:"takes"`
	Files    []writtenFile      `yaml:"files"`
}

type writtenFile struct {
	Pos     strictyaml.Pos
	Path    string `yaml:"path,required"`
	Content string `yaml:"content"`
}

const (
	maxTools     = 64
	maxResponses = 256
)

func (s *Scenario) tools(f *scenarioFile) error {
	if len(f.Tools) > maxTools {
		return f.Pos.Errorf("remove some", "the scenario has more than %d tools", maxTools)
	}
	for i := range f.Tools {
		t := &f.Tools[i]
		if !namePattern.MatchString(t.name) {
			return t.pos.Errorf("use lower-case letters, digits and _", "%.60q is no name of a tool", t.name)
		}
		if slices.ContainsFunc(s.Tools, func(o Tool) bool { return o.Name == t.name }) {
			return t.pos.Errorf("remove one of the two", "tool %q is there twice", t.name)
		}
		tool := Tool{Name: t.name}
		if t.mock != nil {
			var err error
			if tool.Mock, err = t.mock.build(); err != nil {
				return err
			}
		}
		s.Tools = append(s.Tools, tool)
	}
	return nil
}

func (f *mockFile) build() (*Mock, error) {
	m := &Mock{
		Version: f.Version, Description: f.Description, Effect: f.Effect, Parallel: f.Parallel, Takes: time.Duration(f.Takes),
		Paths: f.Paths, Commands: f.Commands, Hosts: f.Hosts, Cycle: f.Cycle,
		Schema: `{"additionalProperties":false,"properties":{},"type":"object"}`,
	}
	switch {
	case f.Kind != "mock":
		return nil, f.Pos.Errorf("use kind: mock, or write the name alone for a built-in tool", "kind %.40q is not known", f.Kind)
	case f.Version < 1:
		return nil, f.Pos.Errorf("count from 1", "version %d", f.Version)
	case f.Effect != EffectRead && f.Effect != EffectWrite && f.Effect != EffectExternal:
		return nil, f.Pos.Errorf("use read, write or external", "effect %.40q is not known", f.Effect)
	case len(f.Responses) == 0 || len(f.Responses) > maxResponses:
		return nil, f.Pos.Errorf("write what it answers", "a mock has 1 to %d responses", maxResponses)
	}
	if f.Schema != nil && f.Schema.Kind != strictyaml.Null {
		if f.Schema.Kind != strictyaml.Map {
			return nil, f.Schema.Errorf("write a JSON Schema", "the schema is not a mapping")
		}
		b, err := f.Schema.AppendJSON(nil)
		if err != nil {
			return nil, err
		}
		m.Schema = string(b)
	}
	for i := range f.Responses {
		r, err := f.Responses[i].build(m.Effect)
		if err != nil {
			return nil, err
		}
		m.Responses = append(m.Responses, r)
	}
	return m, nil
}

func (f *responseFile) build(effect string) (Response, error) {
	r := Response{AtCall: f.AtCall, Text: f.Text, Takes: time.Duration(f.Takes)}
	if f.Error != "" && (f.Text != "" || f.Generate != nil || len(f.Files) > 0) {
		return r, f.Pos.Errorf("remove one of the two", "a response is an error or a result")
	}
	if f.Error != "" {
		r.Text, r.Error = f.Error, true
	}
	if f.Text != "" && f.Generate != nil {
		return r, f.Pos.Errorf("remove one of the two", "a response has text or generate")
	}
	if f.Generate != nil {
		text, err := f.Generate.expand()
		if err != nil {
			return r, err
		}
		r.Text = strings.ReplaceAll(text, "$", "$$")
	}
	if len(f.When) > 0 {
		r.When = make(map[string]string, len(f.When))
		for k, v := range f.When {
			r.When[k] = string(v)
		}
	}
	for _, w := range f.Files {
		if effect == EffectRead {
			return r, w.Pos.Errorf("declare effect: write", "a tool that only reads cannot write files")
		}
		if err := checkName(dirWorkspace + w.Path); err != nil {
			return r, w.Pos.Errorf("", "path %s: %v", shown(w.Path), err)
		}
		r.Files = append(r.Files, File{w.Path, []byte(w.Content)})
	}
	return r, nil
}
