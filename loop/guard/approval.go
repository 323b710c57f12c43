package guard

import (
	"fmt"
	"regexp"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/internal/mutant"
)

// Decisions of an approver.
const (
	Allow  = "allow"
	Deny   = "deny"
	Expire = "expire" // nobody said anything in time
	Stale  = "stale"  // what was said is of another operation, state or time: it authorises nothing
)

// ApprovalRule lists operations that wait for an approver, and what a scripted one
// says.
type ApprovalRule struct {
	Tool   string
	When   map[string]string // argument to RE2 over its text; all must match
	Decide string            // Allow, Deny or Expire; empty = nobody is there
	Takes  time.Duration     // until the approver decides
	Reason string            // for the model
}

// Approvals say which operations wait. It is immutable and safe for concurrent
// use. The nil Approvals list none.
type Approvals struct {
	rules    []approvalRule
	scripted bool
}

type approvalRule struct {
	ApprovalRule
	when []argPattern
}

type argPattern struct {
	arg string
	re  *regexp.Regexp
}

// NewApprovals compiles rules; nil for none.
func NewApprovals(rules []ApprovalRule) (*Approvals, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	a := &Approvals{}
	for i, r := range rules {
		c := approvalRule{ApprovalRule: r}
		for arg, expr := range r.When {
			re, err := regexp.Compile(expr)
			if err != nil {
				return nil, fmt.Errorf("approvals, rule %d: %s: %w", i+1, arg, err)
			}
			c.when = append(c.when, argPattern{arg, re})
		}
		switch r.Decide {
		case "", Allow, Deny, Expire:
		default:
			return nil, fmt.Errorf("approvals, rule %d: no decision %.40q; there are allow, deny, expire", i+1, r.Decide)
		}
		a.scripted = a.scripted || r.Decide != ""
		a.rules = append(a.rules, c)
	}
	return a, nil
}

// Scripted reports whether a scripted approver decides.
func (a *Approvals) Scripted() bool { return a != nil && a.scripted }

// Match returns the first rule that lists a call with these canonical arguments;
// nil = it need not wait.
func (a *Approvals) Match(tool, args string) *ApprovalRule {
	if a == nil {
		return nil
	}
	var m map[string]jsontext.Value
	for i := range a.rules {
		r := &a.rules[i]
		if r.Tool != tool {
			continue
		}
		if len(r.when) > 0 && m == nil {
			if err := json.Unmarshal([]byte(args), &m); err != nil {
				m = map[string]jsontext.Value{}
			}
		}
		if r.fits(m) {
			return &r.ApprovalRule
		}
	}
	return nil
}

func (r *approvalRule) fits(args map[string]jsontext.Value) bool {
	for _, p := range r.when {
		v, ok := args[p.arg]
		if !ok {
			return false
		}
		text := string(v)
		if v.Kind() == '"' {
			b, err := jsontext.AppendUnquote(nil, v)
			if err != nil {
				return false
			}
			text = string(b)
		}
		if !p.re.MatchString(text) {
			return false
		}
	}
	return true
}

// Answer is what the scripted approver says to a request for the operation that a
// rule lists. A zero Took means that it is the caller's to measure.
func (r *ApprovalRule) Answer(ask event.Approval) event.Approval {
	ask.Decision, ask.Reason, ask.Took = r.Decide, r.Reason, r.Takes
	return ask
}

// Settle makes of an approver's answer what counts of it: an answer that is not
// about the very operation that was asked, by the same actor at the same state, is
// Stale, as is a word that is no decision; one that comes too late is Expire.
func Settle(ask, got *event.Approval, took, within time.Duration) string {
	switch {
	case got.Operation != ask.Operation || got.Digest != ask.Digest || got.Actor != ask.Actor || got.Version != ask.Version:
		return Stale
	case took > within:
		return Expire
	case mutant.Is("approval") && got.Decision == Deny:
		return Allow
	}
	switch got.Decision {
	case Allow, Deny, Expire:
		return got.Decision
	case "":
		return Expire
	}
	return Stale
}
