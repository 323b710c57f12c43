package scenarios

import (
	"slices"
	"time"

	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

type approvalFile struct {
	Pos    strictyaml.Pos
	Tool   string             `yaml:"tool,required"`
	When   map[string]pattern `yaml:"when"`
	Decide string             `yaml:"decide"`
	Takes  duration           `yaml:"takes"`
	Reason string             `yaml:"reason"`
}

// Bounds of what is listed.
const (
	maxApprovals = 64
	maxSecrets   = 64
	minSecret    = 8 // bytes: a shorter one would wreck ordinary text
)

// approvals reads what waits for an approver, and the declared secrets.
func (s *Scenario) approvals(f *scenarioFile) error {
	if len(f.Approvals) > maxApprovals || len(f.Secrets) > maxSecrets {
		return f.Pos.Errorf("remove some", "the scenario has more than %d approvals, or %d secrets", maxApprovals, maxSecrets)
	}
	for i := range f.Approvals {
		a := &f.Approvals[i]
		switch {
		case !slices.ContainsFunc(s.Tools, func(t Tool) bool { return t.Name == a.Tool }):
			return a.Pos.Errorf("name one of the tools", "the scenario has no tool %.60q", a.Tool)
		case !slices.Contains([]string{"", "allow", "deny", "expire"}, a.Decide):
			return a.Pos.Errorf("use allow, deny or expire, or leave it out where nobody is there", "%.40q is no decision", a.Decide)
		case a.Decide == "" && (a.Takes != 0 || a.Reason != ""):
			return a.Pos.Errorf("add decide", "takes and reason belong to a decision")
		case len(a.Reason) > 500:
			return a.Pos.Errorf("shorten it", "the reason has %d bytes, the limit is 500", len(a.Reason))
		}
		out := Approval{Tool: a.Tool, Decide: a.Decide, Takes: time.Duration(a.Takes), Reason: a.Reason}
		for arg, p := range a.When {
			if out.When == nil {
				out.When = map[string]string{}
			}
			out.When[arg] = string(p)
		}
		s.Approvals = append(s.Approvals, out)
	}
	for i, x := range f.Secrets {
		if len(x) < minSecret {
			return s.At("secrets", i).Errorf("take a longer one", "a declared secret has %d bytes, it needs %d", len(x), minSecret)
		}
	}
	s.Secrets = f.Secrets
	return nil
}
