package expr

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Parse reads a condition. known says whether a name may be used with those arguments.
// Errors are of the type [SyntaxError].
func Parse(source string, known func(name string, args []float64) error) (*Expr, error) {
	p := &parser{src: source, known: known, out: &Expr{source: source}}
	if len(source) > maxLength {
		return nil, p.fail(0, fmt.Errorf("the condition is longer than %d bytes", maxLength))
	}
	root, err := p.binary(0)
	if err != nil {
		return nil, err
	}
	if p.space(); p.at < len(p.src) {
		if op := p.peek(comparisons...); op != "" {
			return nil, p.fail(p.at, errors.New("comparisons are not chained: join two with &&"))
		}
		return nil, p.fail(p.at, errors.New("want && or || here, or the end"))
	}
	p.out.root = root
	return p.out, nil
}

var (
	comparisons = []string{"<=", ">=", "==", "!=", "<", ">"}
	levels      = []string{"||", "&&"} // what binds least comes first
)

type parser struct {
	src   string
	at    int
	depth int
	known func(string, []float64) error
	out   *Expr
}

func (p *parser) fail(at int, err error) error { return &SyntaxError{p.src, at + 1, err} }

func (p *parser) space() {
	for p.at < len(p.src) && strings.IndexByte(" \t\r\n", p.src[p.at]) >= 0 {
		p.at++
	}
}

// peek gives the first of the tokens that stands here, without taking it.
func (p *parser) peek(tokens ...string) string {
	p.space()
	for _, t := range tokens {
		if strings.HasPrefix(p.src[p.at:], t) {
			return t
		}
	}
	return ""
}

func (p *parser) take(token string) bool {
	if p.peek(token) == "" {
		return false
	}
	p.at += len(token)
	return true
}

// binary reads a level of || or &&.
func (p *parser) binary(level int) (*node, error) {
	if level == len(levels) {
		return p.unary()
	}
	left, err := p.binary(level + 1)
	for err == nil && p.take(levels[level]) {
		var right *node
		right, err = p.binary(level + 1)
		left = &node{op: levels[level], left: left, right: right}
	}
	return left, err
}

// unary reads ! and what it is about, parentheses, or a comparison.
func (p *parser) unary() (*node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail(p.at, fmt.Errorf("nested more than %d deep", maxDepth))
	}
	defer func() { p.depth-- }()
	p.space()
	start := p.at
	switch {
	case p.peek("!=") == "" && p.take("!"):
		n, err := p.unary()
		return &node{op: "!", left: n}, err
	case p.take("("):
		n, err := p.binary(0)
		if err == nil && !p.take(")") {
			err = p.fail(p.at, fmt.Errorf("want ) for the ( at column %d", start+1))
		}
		return n, err
	}
	return p.comparison()
}

func (p *parser) comparison() (*node, error) {
	start := p.at
	if p.word() == "known" {
		return p.whether()
	}
	p.at = start
	n := &node{}
	var err error
	if n.a, err = p.operand(); err != nil {
		return nil, err
	}
	if n.op = p.peek(comparisons...); n.op == "" {
		return nil, p.fail(p.at, fmt.Errorf("want a comparison here: %s", strings.Join(comparisons, " ")))
	}
	p.at += len(n.op)
	n.b, err = p.operand()
	return n, err
}

// whether reads (NAME) behind known.
func (p *parser) whether() (*node, error) {
	if !p.take("(") {
		return nil, p.fail(p.at, errors.New("want ( and a name: known(cost_ratio)"))
	}
	p.space()
	at := p.at
	o, err := p.operand()
	if err == nil && o.name == "" {
		err = p.fail(at, errors.New("want a name: a number is known"))
	}
	if err == nil && !p.take(")") {
		err = p.fail(p.at, errors.New("want )"))
	}
	return &node{op: "known", a: o}, err
}

// word reads a name; empty when there is none.
func (p *parser) word() string {
	p.space()
	start := p.at
	for p.at < len(p.src) {
		c := p.src[p.at]
		if !(c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || p.at > start && c >= '0' && c <= '9') {
			break
		}
		p.at++
	}
	return p.src[start:p.at]
}

// operand reads a name, with its arguments, or a number.
func (p *parser) operand() (operand, error) {
	p.space()
	start := p.at
	name := p.word()
	if name == "" {
		v, err := p.number()
		return operand{number: v}, err
	}
	o := operand{name: name}
	if p.take("(") {
		p.space()
		v, err := p.number()
		if err != nil {
			return o, err
		}
		if !p.take(")") {
			return o, p.fail(p.at, errors.New("want )"))
		}
		o.args = []float64{v}
	}
	if err := p.known(name, o.args); err != nil {
		return o, p.fail(start, err)
	}
	p.out.names = append(p.out.names, o)
	return o, nil
}

func (p *parser) number() (float64, error) {
	start := p.at
	if p.at < len(p.src) && (p.src[p.at] == '-' || p.src[p.at] == '+') {
		p.at++
	}
	for p.at < len(p.src) {
		c := p.src[p.at]
		exponent := p.at > start && (p.src[p.at-1] == 'e' || p.src[p.at-1] == 'E')
		if !(c >= '0' && c <= '9' || c == '.' || c == 'e' || c == 'E' || exponent && (c == '-' || c == '+')) {
			break
		}
		p.at++
	}
	text := p.src[start:p.at]
	if text == "" {
		return 0, p.fail(start, errors.New("want a name or a number here"))
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, p.fail(start, fmt.Errorf("%q is no number", text))
	}
	if p.at < len(p.src) && p.src[p.at] == '%' {
		return 0, p.fail(p.at, errors.New("write a share, not percent: 5 % is 0.05"))
	}
	return v, nil
}
