package scenarios

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

// generateFile is a text that is computed instead of written out:
//
//	lines: 1200
//	line: '{time:2026-03-02T08:00:00Z+7s} order={int:10000-99999} state={pick:PAID|SHIPPED}'
//	seed: 7
//	insert: [{at: 1014, text: 'order=48213 state=REFUNDED_TWICE'}]
//
// {n} is the line's number from 1, {n:5} the same with leading zeros,
// {int:A-B} a number in A..B, {pick:a|b|c} one of the words, {hex:N} N hex
// digits, {time:START+STEP} START plus (n-1) steps. Everything is a pure
// function of this text and the seed. An inserted text replaces its line.
type generateFile struct {
	Pos    strictyaml.Pos
	Lines  int          `yaml:"lines,required"`
	Line   string       `yaml:"line,required"`
	Seed   uint64       `yaml:"seed"`
	Insert []insertFile `yaml:"insert"`
}

type insertFile struct {
	Pos  strictyaml.Pos
	At   int    `yaml:"at,required"`
	Text string `yaml:"text,required"`
}

const (
	maxLines     = 100_000
	maxGenerated = 8 << 20
)

// expand computes the text.
func (g *generateFile) expand() (string, error) {
	if g.Lines < 1 || g.Lines > maxLines {
		return "", g.Pos.Errorf("correct it", "lines must be 1 to %d", maxLines)
	}
	parts, err := compileLine(g.Pos, g.Line)
	if err != nil {
		return "", err
	}
	insert := make(map[int]string, len(g.Insert))
	for _, in := range g.Insert {
		if in.At < 1 || in.At > g.Lines {
			return "", in.Pos.Errorf("correct it", "at: %d is not among the %d lines", in.At, g.Lines)
		}
		if _, dup := insert[in.At]; dup {
			return "", in.Pos.Errorf("remove one of the two", "line %d is inserted twice", in.At)
		}
		insert[in.At] = in.Text
	}
	r := splitMix(g.Seed)
	var b []byte
	for n := 1; n <= g.Lines; n++ {
		start := len(b)
		for i := range parts {
			b = parts[i](b, n, &r)
		}
		if text, ok := insert[n]; ok {
			b = append(b[:start], text...)
		}
		b = append(b, '\n')
		if len(b) > maxGenerated {
			return "", g.Pos.Errorf("generate fewer or shorter lines", "the text has more than %d bytes", maxGenerated)
		}
	}
	return string(b), nil
}

// splitMix is SplitMix64 (Steele, Lea, Flood 2014): small, seeded, the same on
// every machine.
type splitMix uint64

func (s *splitMix) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

type linePart func(b []byte, n int, r *splitMix) []byte

func compileLine(pos strictyaml.Pos, line string) ([]linePart, error) {
	var parts []linePart
	for line != "" {
		lit, rest, found := strings.Cut(line, "{")
		if lit != "" {
			parts = append(parts, func(b []byte, _ int, _ *splitMix) []byte { return append(b, lit...) })
		}
		if !found {
			break
		}
		field, after, closed := strings.Cut(rest, "}")
		if !closed {
			return nil, pos.Errorf("close the brace", "line has a { without }")
		}
		p, err := compileField(field)
		if err != nil {
			return nil, pos.Errorf("use {n}, {n:5}, {int:1-9}, {pick:a|b}, {hex:8} or {time:2026-01-01T00:00:00Z+1m}", "line: {%.60s}: %v", field, err)
		}
		parts, line = append(parts, p), after
	}
	return parts, nil
}

func compileField(field string) (linePart, error) {
	name, arg, _ := strings.Cut(field, ":")
	switch name {
	case "n":
		return numberField(arg)
	case "int":
		return intField(arg)
	case "pick":
		words := strings.Split(arg, "|")
		return func(b []byte, _ int, r *splitMix) []byte { return append(b, words[r.next()%uint64(len(words))]...) }, nil
	case "hex":
		n, err := strconv.Atoi(arg)
		if err != nil || n < 1 || n > 64 {
			return nil, fmt.Errorf("1 to 64 digits")
		}
		return func(b []byte, _ int, r *splitMix) []byte {
			for range n {
				b = append(b, "0123456789abcdef"[r.next()>>60])
			}
			return b
		}, nil
	case "time":
		return timeField(arg)
	}
	return nil, fmt.Errorf("not known")
}

func numberField(arg string) (linePart, error) {
	width := 0
	if arg != "" {
		var err error
		if width, err = strconv.Atoi(arg); err != nil || width < 1 || width > 20 {
			return nil, fmt.Errorf("a width is 1 to 20")
		}
	}
	return func(b []byte, n int, _ *splitMix) []byte { return fmt.Appendf(b, "%0*d", width, n) }, nil
}

func intField(arg string) (linePart, error) {
	from, to, _ := strings.Cut(arg, "-")
	lo, err1 := strconv.ParseUint(from, 10, 32)
	hi, err2 := strconv.ParseUint(to, 10, 32)
	if err1 != nil || err2 != nil || lo > hi {
		return nil, fmt.Errorf("two whole numbers, the smaller first")
	}
	return func(b []byte, _ int, r *splitMix) []byte {
		return strconv.AppendUint(b, lo+r.next()%(hi-lo+1), 10)
	}, nil
}

func timeField(arg string) (linePart, error) {
	from, by, ok := strings.Cut(arg, "+")
	start, err := time.Parse(time.RFC3339, from)
	if err != nil {
		return nil, fmt.Errorf("a time in RFC 3339")
	}
	step := time.Duration(0)
	if ok {
		if step, err = time.ParseDuration(by); err != nil || step < 0 || step > 24*time.Hour {
			return nil, fmt.Errorf("a step up to 24h")
		}
	}
	return func(b []byte, n int, _ *splitMix) []byte {
		return start.UTC().Add(time.Duration(n-1)*step).AppendFormat(b, time.RFC3339)
	}, nil
}
