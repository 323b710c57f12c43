package sim

import (
	"strings"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

// action is one answer of a script.
type action struct {
	say   template
	calls []call
}

type call struct {
	tool string
	args template
}

type actionFile struct {
	Pos   strictyaml.Pos
	Say   string           `yaml:"say"`
	Tool  string           `yaml:"tool"`
	Args  *strictyaml.Node `yaml:"args"`
	Calls []callFile       `yaml:"calls"`
}

type callFile struct {
	Pos  strictyaml.Pos
	Tool string           `yaml:"tool,required"`
	Args *strictyaml.Node `yaml:"args"`
}

// template is a text with ${fact} in it: literals and facts alternate, the first
// is a literal.
type template struct {
	text  []string // len(facts)+1; nil = no text at all
	facts []int
	json  bool // inside JSON text: values are escaped
}

func compileActions(pos strictyaml.Pos, files []actionFile, index map[string]int) ([]action, error) {
	if len(files) > maxActions {
		return nil, pos.Errorf("remove some", "a list has at most %d actions, not %d", maxActions, len(files))
	}
	var out []action
	for i := range files {
		a, err := files[i].compile(index)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

func (f *actionFile) compile(index map[string]int) (action, error) {
	var a action
	var err error
	calls := f.Calls
	switch {
	case f.Tool == "" && f.Args != nil:
		return a, f.Pos.Errorf("name the tool", "args without a tool")
	case f.Tool != "" && len(f.Calls) > 0:
		return a, f.Pos.Errorf("put the call into the list", "an action has tool or calls, not both")
	case f.Tool != "":
		calls = []callFile{{Pos: f.Pos, Tool: f.Tool, Args: f.Args}}
	}
	if f.Say == "" && len(calls) == 0 {
		return a, f.Pos.Errorf("add say, tool or calls", "an action that does nothing")
	}
	if len(calls) > maxActions {
		return a, f.Pos.Errorf("remove some", "a batch has at most %d calls, not %d", maxActions, len(calls))
	}
	if f.Say != "" {
		if a.say, err = compileTemplate(f.Pos, f.Say, false, index); err != nil {
			return a, err
		}
	}
	for _, c := range calls {
		args := []byte("{}")
		if c.Args != nil {
			if c.Args.Kind != strictyaml.Map {
				return a, c.Args.Errorf("write {name: value}", "args must be a mapping, not %s", c.Args.Kind)
			}
			if args, err = c.Args.AppendJSON(nil); err != nil {
				return a, err
			}
		}
		t, err := compileTemplate(c.Pos, string(args), true, index)
		if err != nil {
			return a, err
		}
		a.calls = append(a.calls, call{c.Tool, t})
	}
	return a, nil
}

func compileTemplate(pos strictyaml.Pos, s string, json bool, index map[string]int) (template, error) {
	t := template{json: json}
	lit := ""
	for {
		before, rest, found := strings.Cut(s, "${")
		lit += before
		if !found {
			t.text = append(t.text, lit)
			return t, nil
		}
		name, after, closed := strings.Cut(rest, "}")
		i, ok := index[name]
		if !closed || !ok {
			return t, pos.Errorf("define it under facts", "${%s} names no fact", cutName(name))
		}
		t.text, t.facts, lit, s = append(t.text, lit), append(t.facts, i), "", after
	}
}

func cutName(s string) string {
	if len(s) > 32 {
		return strings.ToValidUTF8(s[:32], "") + "..."
	}
	return s
}

// render fills in the values; a fact that does not hold is empty.
func (t *template) render(values []factValue) string {
	if len(t.text) == 0 {
		return ""
	}
	if len(t.facts) == 0 {
		return t.text[0]
	}
	var b []byte
	for i, f := range t.facts {
		b = append(b, t.text[i]...)
		if t.json {
			n := len(b)
			b = model.AppendString(b, values[f].value)
			copy(b[n:], b[n+1:]) // without the quotes
			b = b[:len(b)-2]
		} else {
			b = append(b, values[f].value...)
		}
	}
	return string(append(b, t.text[len(t.facts)]...))
}
