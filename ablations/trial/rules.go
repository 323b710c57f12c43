package trial

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/redact"
	"github.com/harnessbench/harnessbench/loop/tool"
	"github.com/harnessbench/harnessbench/loop/tool/builtin"
	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/scenarios"
	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

// What of the rules stands in a configuration.
type (
	permissionsJSON struct {
		Read     []string `json:"read,omitzero"`
		Write    []string `json:"write,omitzero"`
		Deny     []string `json:"deny,omitzero"`
		Commands []string `json:"commands,omitzero"`
		Network  bool     `json:"network,omitzero"`
	}
	approvalJSON struct {
		Tool    string            `json:"tool"`
		When    map[string]string `json:"when,omitzero"`
		Decide  string            `json:"decide,omitzero"`
		TakesUS int64             `json:"takes_us,omitzero"`
		Reason  string            `json:"reason,omitzero"`
	}
	utteranceJSON struct {
		When string `json:"when,omitzero"`
		Say  string `json:"say"`
	}
)

// lay freezes a scenario's rules. Permissions that forbid nothing are left out.
// What the model will read has its secrets overwritten.
func (e *extra) lay(sc *scenarios.Scenario) {
	p, hide := &sc.Permissions, secretsOf(sc)
	if network := p.Network == "any"; len(p.Read)+len(p.Write)+len(p.Deny)+len(p.Commands) > 0 || !network && len(e.Hosts) > 0 {
		e.Permissions = &permissionsJSON{p.Read, p.Write, p.Deny, p.Commands, network}
	}
	for _, a := range sc.Approvals {
		e.Approvals = append(e.Approvals, approvalJSON{a.Tool, a.When, a.Decide, a.Takes.Microseconds(), hide.Text(a.Reason)})
	}
	for _, u := range sc.User {
		e.User = append(e.User, utteranceJSON{u.When, hide.Text(u.Say)})
	}
}

// rules compiles them again.
func (e *extra) rules() (out loop.Rules, err error) {
	if p := e.Permissions; p != nil {
		out.Scope, err = guard.NewScope(guard.Permissions{Read: p.Read, Write: p.Write, Deny: p.Deny, Commands: p.Commands, Network: p.Network})
		if err != nil {
			return out, err
		}
	}
	var list []guard.ApprovalRule
	for _, a := range e.Approvals {
		list = append(list, guard.ApprovalRule{Tool: a.Tool, When: a.When, Decide: a.Decide, Takes: time.Duration(a.TakesUS) * time.Microsecond, Reason: a.Reason})
	}
	if out.Approvals, err = guard.NewApprovals(list); err != nil {
		return out, err
	}
	for i, u := range e.User {
		w := loop.Utterance{Say: u.Say}
		if u.When != "" {
			if w.When, err = regexp.Compile(u.When); err != nil {
				return out, fmt.Errorf("user, line %d: %w", i+1, err)
			}
		}
		out.User = append(out.User, w)
	}
	return out, nil
}

// A suite runs the same scenario thousands of times.
var ruled = memo[loop.Rules]{m: map[string]loop.Rules{}}

// rules are those of the trial's scenario.
func (s *Spec) rules() (loop.Rules, error) {
	out, err := ruled.get(s.Scenario.Digest, func() (loop.Rules, error) {
		if err := permitted(s.Scenario); err != nil {
			return loop.Rules{}, err
		}
		var e extra
		for i := range s.Scenario.Tools {
			if t := &s.Scenario.Tools[i]; t.Mock != nil {
				noteArgs(&e.Hosts, t.Name, t.Mock.Hosts)
			}
		}
		e.lay(s.Scenario)
		return e.rules()
	})
	if placed := (*strictyaml.Error)(nil); err != nil && !errors.As(err, &placed) {
		err = fmt.Errorf("scenario %s: %w", s.Scenario.ID, err)
	}
	return out, err
}

// permitted says which permission of a scenario is none, and where it stands.
func permitted(sc *scenarios.Scenario) error {
	p := &sc.Permissions
	for _, l := range []struct {
		key  string
		list []string
		as   func([]string) guard.Permissions
	}{
		{"read", p.Read, func(l []string) guard.Permissions { return guard.Permissions{Read: l} }},
		{"write", p.Write, func(l []string) guard.Permissions { return guard.Permissions{Write: l} }},
		{"deny", p.Deny, func(l []string) guard.Permissions { return guard.Permissions{Deny: l} }},
		{"commands", p.Commands, func(l []string) guard.Permissions { return guard.Permissions{Commands: l} }},
	} {
		for i := range l.list {
			if _, err := guard.NewScope(l.as(l.list[i : i+1])); err != nil {
				return sc.At("permissions", l.key, i).Errorf("", "%v", err)
			}
		}
	}
	return nil
}

// redactors are compiled once for each scenario.
var redactors = memo[*redact.Redactor]{m: map[string]*redact.Redactor{}}

// secretsOf finds the secrets that a scenario declares, more, and keys of known
// shapes.
func secretsOf(sc *scenarios.Scenario, more ...string) *redact.Redactor {
	r, _ := redactors.get(secretKey(sc, more), func() (*redact.Redactor, error) {
		return redact.New(slices.Concat(sc.Secrets, more)...), nil
	})
	return r
}

// secretKey names what is made of a scenario and secrets, in this process alone.
func secretKey(sc *scenarios.Scenario, more []string) string {
	return strings.Join(append([]string{sc.Digest}, more...), "\x00")
}

// Redactor finds the secrets that the trial's scenario declares, those of the run,
// and keys of known shapes.
func (s *Spec) Redactor() *redact.Redactor { return secretsOf(s.Scenario, s.Secrets...) }

// fileTools are the built-in tools over a workspace. Those that read do not show
// what may not be read; what others name is judged before they are run.
func fileTools(ws workspace.Workspace, scope *guard.Scope) []tool.Tool {
	all := builtin.Tools(ws)
	if ws == nil || !scope.HidesFiles() {
		return all
	}
	for i, t := range builtin.Tools(workspace.Showing(ws, scope.Shows)) {
		if t.Spec().Effect == event.Read {
			all[i] = t
		}
	}
	return all
}
