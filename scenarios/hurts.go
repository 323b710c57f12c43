package scenarios

import (
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

type hurtFile struct {
	Pos      strictyaml.Pos
	Guard    string                      `yaml:"guard,required"`
	Mode     string                      `yaml:"mode"`
	Set      map[string]*strictyaml.Node `yaml:"set"`
	Model    string                      `yaml:"model"`
	By       string                      `yaml:"by"`
	Fallback []string                    `yaml:"fallback"`
}

func (s *Scenario) hurts(f *scenarioFile) error {
	for i := range f.Hurts {
		h := &f.Hurts[i]
		out := Hurt{Guard: h.Guard, Mode: h.Mode, Model: h.Model, By: h.By, Fallback: h.Fallback, Pos: h.Pos}
		switch {
		case !namePattern.MatchString(h.Guard):
			return h.Pos.Errorf("name a guard", "hurts: %.60q is no name", h.Guard)
		case h.By != "" && !slices.Contains(HurtKinds, h.By):
			return h.Pos.Errorf("use "+strings.Join(HurtKinds, ", "), "hurts: it cannot show by %.40q", h.By)
		case h.Mode == "" && len(h.Set) == 0:
			return h.Pos.Errorf("say with mode or set what is set badly", "hurts: %s is set as it always is", h.Guard)
		}
		for name, n := range h.Set {
			if out.Set == nil {
				out.Set = map[string]string{}
			}
			if n.Kind == strictyaml.Map || n.Kind == strictyaml.List || n.Kind == strictyaml.Null {
				return n.Errorf("write a number, a size or a duration", "hurts: %.60q is no setting", name)
			}
			out.Set[name] = n.Value
		}
		s.Hurts = append(s.Hurts, out)
	}
	return nil
}
