package check

import (
	"regexp"
	"strconv"
)

// trajectory decodes one parameter of a trajectory.
func (d decoder) trajectory(t *Trajectory, m member) (err error) {
	v := m.val
	switch m.key {
	case "use":
		t.Use, err = d.matches(v, m.key)
	case "forbid":
		t.Forbid, err = d.matches(v, m.key)
	case "order":
		t.Order, err = d.matches(v, m.key)
	case "exact":
		t.Exact, err = d.bool(v, m.key)
	case "counts":
		t.Counts, err = d.counts(v)
	case "calls":
		t.Calls, err = d.bounds(v, m.key)
	case "turns":
		t.Turns, err = d.bounds(v, m.key)
	case "attempts":
		t.Attempts, err = d.bounds(v, m.key)
	case "stop":
		if t.Stop, err = d.texts(v, m.key); err == nil && len(t.Stop) == 0 {
			err = errAt(v.pos, "stop is empty")
		}
	}
	return err
}

func (d decoder) matches(v *value, name string) ([]Match, error) {
	if v.kind != listValue {
		return nil, errAt(v.pos, "%s wants a list of tools, not %s", name, v.kind)
	}
	if len(v.list) > MaxEntries {
		return nil, errAt(v.pos, "%s has more than %d entries", name, MaxEntries)
	}
	if len(v.list) == 0 {
		return nil, errAt(v.pos, "%s is empty", name)
	}
	out := make([]Match, len(v.list))
	for i, e := range v.list {
		if err := d.match(e, &out[i], nil); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// match decodes a tool name or {tool, args, outcome}; bounds, where not nil,
// takes the keys min and max.
func (d decoder) match(v *value, into *Match, bounds *Range) (err error) {
	if v.kind == stringValue && bounds == nil {
		into.Tool = v.text
	} else if v.kind != mapValue {
		return errAt(v.pos, "a call is selected by a tool's name or by {tool, args, outcome}, not by %s", v.kind)
	}
	for _, m := range v.members {
		switch {
		case m.key == "tool":
			into.Tool, err = d.text(m.val, m.key)
		case m.key == "outcome":
			into.Outcome, err = d.text(m.val, m.key)
		case m.key == "args":
			err = d.args(m.val, into)
		case m.key == "min" && bounds != nil:
			bounds.Min, err = d.count(m.val, m.key)
		case m.key == "max" && bounds != nil:
			bounds.Max, err = d.count(m.val, m.key)
		default:
			err = errAt(m.pos, "unknown key %q; a call is selected by tool, args and outcome", m.key)
		}
		if err != nil {
			return err
		}
	}
	if into.Tool == "" {
		return errAt(v.pos, "tool is missing; write * for any")
	}
	return nil
}

func (d decoder) args(v *value, into *Match) error {
	if v.kind != mapValue {
		return errAt(v.pos, "args wants a mapping from argument names to patterns, not %s", v.kind)
	}
	if len(v.members) > MaxEntries {
		return errAt(v.pos, "args has more than %d entries", MaxEntries)
	}
	if len(v.members) == 0 {
		return nil
	}
	into.Args = make(map[string]string, len(v.members))
	into.res = make(map[string]*regexp.Regexp, len(v.members))
	for _, m := range v.members {
		p, err := d.text(m.val, m.key)
		if err != nil {
			return err
		}
		re, err := compile(p)
		if err != nil {
			return errAt(m.val.pos, "args: %v", err)
		}
		if err := pointerProblem(m.key); len(m.key) > 0 && m.key[0] == '/' && err != nil {
			return errAt(m.pos, "args: %v", err)
		}
		into.Args[m.key], into.res[m.key] = p, re
	}
	return nil
}

func (d decoder) counts(v *value) ([]Count, error) {
	if v.kind != listValue {
		return nil, errAt(v.pos, "counts wants a list of {tool, min, max}, not %s", v.kind)
	}
	if len(v.list) > MaxEntries {
		return nil, errAt(v.pos, "counts has more than %d entries", MaxEntries)
	}
	if len(v.list) == 0 {
		return nil, errAt(v.pos, "counts is empty")
	}
	out := make([]Count, len(v.list))
	for i, e := range v.list {
		if err := d.match(e, &out[i].Match, &out[i].Range); err != nil {
			return nil, err
		}
		if err := out[i].check(e.pos); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// bounds decodes {min, max}, or a number for exactly that many.
func (d decoder) bounds(v *value, name string) (*Range, error) {
	if v.kind == numberValue {
		n, err := d.count(v, name)
		if err != nil {
			return nil, err
		}
		return &Range{Min: n, Max: n}, nil
	}
	if v.kind != mapValue {
		return nil, errAt(v.pos, "%s wants {min, max} or a number, not %s", name, v.kind)
	}
	r := &Range{}
	for _, m := range v.members {
		var err error
		switch m.key {
		case "min":
			r.Min, err = d.count(m.val, m.key)
		case "max":
			r.Max, err = d.count(m.val, m.key)
		default:
			err = errAt(m.pos, "unknown key %q; %s has min and max", m.key, name)
		}
		if err != nil {
			return nil, err
		}
	}
	return r, r.check(v.pos)
}

// check refuses a range that bounds nothing or holds no number.
func (r *Range) check(p Pos) error {
	switch {
	case r.Min == nil && r.Max == nil:
		return errAt(p, "min or max is missing")
	case r.Min != nil && r.Max != nil && *r.Min > *r.Max:
		return errAt(p, "min %d is above max %d", *r.Min, *r.Max)
	}
	return nil
}

func (decoder) count(v *value, name string) (*int, error) {
	n, err := strconv.Atoi(v.text)
	if v.kind != numberValue || err != nil || n < 0 || n > 1_000_000_000 {
		return nil, errAt(v.pos, "%s wants a whole number from 0", name)
	}
	return &n, nil
}
