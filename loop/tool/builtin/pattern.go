package builtin

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
)

// maxProgram bounds a pattern's compiled size, in instructions: what a byte of
// text can cost.
const maxProgram = 2000

// compilePattern compiles an RE2 pattern whose cost is bounded, and returns
// about how many instructions it has.
func compilePattern(pattern string) (*regexp.Regexp, int, error) {
	if len(pattern) > 4000 {
		return nil, 0, errors.New("invalid pattern: longer than 1000 characters")
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		var se *syntax.Error
		if errors.As(err, &se) {
			return nil, 0, fmt.Errorf("invalid pattern: %s: %s", se.Code, strconv.Quote(se.Expr))
		}
		return nil, 0, errors.New("invalid pattern")
	}
	size := programSize(parsed)
	if size > maxProgram {
		return nil, 0, errors.New("invalid pattern: too large once its repetitions are written out")
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, 0, errors.New("invalid pattern")
	}
	return re, size, nil
}

// programSize estimates the instructions of a parsed pattern, before they are
// made.
func programSize(re *syntax.Regexp) int {
	n := 2
	switch re.Op {
	case syntax.OpLiteral:
		n += len(re.Rune)
	case syntax.OpCharClass:
		n += len(re.Rune) / 16
	}
	for _, sub := range re.Sub {
		n += programSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		n = min(n*max(re.Min, re.Max, 1)+2, 1<<20)
	}
	return min(n, 1<<20)
}
