// Package expr reads and judges conditions like "diff < -0.05 && p < 0.05".
//
//  1. [Parse] reads a condition once; errors name the column.
//  2. [Expr.Eval] judges it on one comparison in three values: what an unknown value
//     would decide is unknown, and what it cannot change is true or false (Kleene's
//     strong logic).
//
// From what binds most to what binds least: parentheses; the comparisons < <= > >= ==
// !=; !; &&; ||. So "!diff < 0" is "!(diff < 0)". The function known(NAME) is true when
// NAME has a value.
package expr

import (
	"fmt"
	"strconv"
	"strings"
)

// Bounds of a condition.
const (
	maxLength = 4096 // bytes
	maxDepth  = 100  // of ! and parentheses
)

// Truth is what a condition comes to.
type Truth int8

// The values of a condition.
const (
	False   Truth = -1
	Unknown Truth = 0
	True    Truth = 1
)

func (t Truth) String() string { return [...]string{"false", "unknown", "true"}[t+1] }

// SyntaxError says what is wrong with a condition and where.
type SyntaxError struct {
	Source string
	Column int // from 1, bytes
	Err    error
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%q:%d: %v", e.Source, e.Column, e.Err) }

// Unwrap returns what is wrong, without the place.
func (e *SyntaxError) Unwrap() error { return e.Err }

// Expr is a condition that was read.
type Expr struct {
	source string
	root   *node
	names  []operand
}

func (e *Expr) String() string { return e.source }

// Lookup gives the value of a name; ok is false when it is unknown.
type Lookup func(name string, args []float64) (v float64, ok bool)

// Eval judges the condition.
func (e *Expr) Eval(get Lookup) Truth { return e.root.eval(get) }

// Values says what the names in the condition stand for, each once: "diff = -0.12".
func (e *Expr) Values(get Lookup) string {
	var out []string
	seen := map[string]bool{}
	for _, o := range e.names {
		if s := o.String(); !seen[s] {
			seen[s] = true
			text := "unknown"
			if v, ok := get(o.name, o.args); ok {
				text = strconv.FormatFloat(v, 'g', 6, 64)
			}
			out = append(out, s+" = "+text)
		}
	}
	return strings.Join(out, ", ")
}

// node is a part of a condition.
type node struct {
	op          string // || && ! known, or a comparison
	left, right *node
	a, b        operand // of comparisons; a of known
}

// operand is a name or a number.
type operand struct {
	name   string // empty: a number
	args   []float64
	number float64
}

func (o operand) String() string {
	if len(o.args) == 0 {
		return o.name
	}
	return fmt.Sprintf("%s(%v)", o.name, o.args[0])
}

func (o operand) value(get Lookup) (float64, bool) {
	if o.name == "" {
		return o.number, true
	}
	return get(o.name, o.args)
}

func truth(b bool) Truth {
	if b {
		return True
	}
	return False
}

func (n *node) eval(get Lookup) Truth {
	switch n.op {
	case "||":
		return max(n.left.eval(get), n.right.eval(get))
	case "&&":
		return min(n.left.eval(get), n.right.eval(get))
	case "!":
		return -n.left.eval(get)
	case "known":
		_, ok := n.a.value(get)
		return truth(ok)
	}
	a, okA := n.a.value(get)
	b, okB := n.b.value(get)
	if !okA || !okB {
		return Unknown
	}
	switch n.op {
	case "<":
		return truth(a < b)
	case "<=":
		return truth(a <= b)
	case ">":
		return truth(a > b)
	case ">=":
		return truth(a >= b)
	case "==":
		return truth(a == b)
	}
	return truth(a != b)
}
