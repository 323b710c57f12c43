package graders

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/graders/check"
)

// subject shows a finished session to a predicate.
type subject struct{ f *Finished }

// errNoFiles makes file graders ungraded where no tree is known.
var errNoFiles = errors.New("the session's files are not known")

func (s subject) Answer() string { return s.f.Answer }

func (s subject) ReadFile(path string, limit int64) ([]byte, error) {
	if s.f.Files == nil {
		return nil, errNoFiles
	}
	return s.f.Files.ReadFile(path, limit)
}

func (s subject) Walk(fn func(string, int64) error) error {
	if s.f.Files == nil {
		return errNoFiles
	}
	return s.f.Files.Walk(fn)
}

// trajectory decides what was demanded of the calls and counts. The first
// demand that does not hold is the reason.
func trajectory(t *check.Trajectory, f *Finished) (check.Result, error) {
	if t == nil {
		return check.Result{}, errors.New("the trajectory demands nothing")
	}
	evidence := summary(f)
	for _, demand := range []func(*check.Trajectory, *Finished) (string, error){stops, forbids, uses, orders, counts} {
		reason, err := demand(t, f)
		if err != nil {
			return check.Result{}, err
		}
		if reason != "" {
			return check.Result{Reason: reason, Evidence: evidence}, nil
		}
	}
	return check.Result{OK: true, Evidence: evidence}, nil
}

// summary names the tools in the order of their calls, runs counted.
func summary(f *Finished) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d calls, %d turns, %d model calls, %s", len(f.Calls), f.Turns, f.Attempts, f.Stop)
	sep := ": "
	for i := 0; i < len(f.Calls) && b.Len() < check.MaxReason; {
		n := 1
		for i+n < len(f.Calls) && f.Calls[i+n].Tool == f.Calls[i].Tool {
			n++
		}
		b.WriteString(sep + f.Calls[i].Tool)
		if n > 1 {
			fmt.Fprintf(&b, " x%d", n)
		}
		sep = ", "
		i += n
	}
	return b.String()
}

func stops(t *check.Trajectory, f *Finished) (string, error) {
	if len(t.Stop) == 0 {
		return "", nil
	}
	for _, s := range t.Stop {
		if s == f.Stop {
			return "", nil
		}
	}
	return fmt.Sprintf("The session ended as %s, not as %s.", f.Stop, strings.Join(t.Stop, " or ")), nil
}

func forbids(t *check.Trajectory, f *Finished) (string, error) {
	for i := range t.Forbid {
		for j := range f.Calls {
			hit, err := matches(&t.Forbid[i], &f.Calls[j])
			if err != nil {
				return "", err
			}
			if hit {
				c := &f.Calls[j]
				return fmt.Sprintf("A forbidden call was made: %s in turn %d (%s).", c.Tool, c.Turn, describe(&t.Forbid[i])), nil
			}
		}
	}
	return "", nil
}

func uses(t *check.Trajectory, f *Finished) (string, error) {
	for i := range t.Use {
		n, err := count(&t.Use[i], f)
		if err != nil {
			return "", err
		}
		if n == 0 {
			return fmt.Sprintf("No call of %s was made.", describe(&t.Use[i])), nil
		}
	}
	return "", nil
}

// orders finds the demanded calls one after the other, each as early as it can
// be; with Exact nothing may stand between or around them.
func orders(t *check.Trajectory, f *Finished) (string, error) {
	if t.Exact && len(f.Calls) != len(t.Order) {
		return fmt.Sprintf("Exactly %d calls are wanted; there were %d.", len(t.Order), len(f.Calls)), nil
	}
	next := 0
	for i := range f.Calls {
		if next == len(t.Order) {
			break
		}
		hit, err := matches(&t.Order[next], &f.Calls[i])
		if err != nil {
			return "", err
		}
		if hit {
			next++
		} else if t.Exact {
			break
		}
	}
	if next < len(t.Order) {
		return fmt.Sprintf("Call %d of the wanted order, %s, was not made in its place.", next+1, describe(&t.Order[next])), nil
	}
	return "", nil
}

func counts(t *check.Trajectory, f *Finished) (string, error) {
	for i := range t.Counts {
		n, err := count(&t.Counts[i].Match, f)
		if err != nil {
			return "", err
		}
		if reason := outside("calls of "+describe(&t.Counts[i].Match), n, &t.Counts[i].Range); reason != "" {
			return reason, nil
		}
	}
	for _, c := range []struct {
		what string
		n    int
		r    *check.Range
	}{{"tool calls", len(f.Calls), t.Calls}, {"turns", f.Turns, t.Turns}, {"model calls", f.Attempts, t.Attempts}} {
		if c.r == nil {
			continue
		}
		if reason := outside(c.what, c.n, c.r); reason != "" {
			return reason, nil
		}
	}
	return "", nil
}

// outside says how a count leaves its range; empty when it does not.
func outside(what string, n int, r *check.Range) string {
	switch {
	case r.Min != nil && n < *r.Min:
		return fmt.Sprintf("There were %d %s; at least %d are wanted.", n, what, *r.Min)
	case r.Max != nil && n > *r.Max:
		return fmt.Sprintf("There were %d %s; at most %d are allowed.", n, what, *r.Max)
	}
	return ""
}

func count(m *check.Match, f *Finished) (int, error) {
	n := 0
	for i := range f.Calls {
		hit, err := matches(m, &f.Calls[i])
		if err != nil {
			return 0, err
		}
		if hit {
			n++
		}
	}
	return n, nil
}

// matches reports whether a call is selected. An argument's pattern is matched
// against the content of a string and the canonical JSON of anything else; an
// argument that is not there matches nothing.
func matches(m *check.Match, c *Call) (bool, error) {
	if m.Tool != "*" && m.Tool != c.Tool || m.Outcome != "" && m.Outcome != c.Outcome {
		return false, nil
	}
	for _, name := range slices.Sorted(maps.Keys(m.Args)) {
		pointer := name
		if !strings.HasPrefix(name, "/") {
			pointer = check.Pointer(name)
		}
		re, err := m.Regexp(name)
		if err != nil {
			return false, err
		}
		got, ok := check.Lookup(c.Args, pointer)
		if !ok || !re.MatchString(got) {
			return false, nil
		}
	}
	return true, nil
}

// describe names what a match selects.
func describe(m *check.Match) string {
	s := m.Tool
	if s == "*" {
		s = "any tool"
	}
	if len(m.Args) > 0 {
		s += " with the wanted arguments"
	}
	if m.Outcome != "" {
		s += " that ended in " + m.Outcome
	}
	return s
}
