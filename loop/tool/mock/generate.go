package mock

import (
	"fmt"
	"strings"
	"sync"
)

// GenerateKind names a generator.
type GenerateKind string

// The generators.
const (
	GenLog    GenerateKind = "log"    // lines of a service log, about 70 bytes each
	GenFiller GenerateKind = "filler" // lines of words, up to 80 bytes each
	GenCSV    GenerateKind = "csv"    // a table of orders with a header line
)

// Generate describes a text too long to be spelled: Lines lines or Bytes bytes
// (one of the two) of a kind, the same for equal descriptions on every machine.
type Generate struct {
	Kind   GenerateKind
	Lines  int
	Bytes  int // exact; the last line may break off
	Seed   uint64
	Insert []Insert
}

// Insert replaces a line of a generated text. Needles go in here.
type Insert struct {
	Line int // from 1, at most the number of lines
	Text string
}

// maxLines bounds generated texts, with MaxText.
const maxLines = 100_000

// text is a generator with its result, made when it is first needed.
type text struct {
	make func() string
}

// newText checks g and returns its text, to be made once.
func newText(g Generate) (*text, error) {
	switch g.Kind {
	case GenLog, GenFiller, GenCSV:
	default:
		return nil, fmt.Errorf("kind %q: want log, filler or csv", g.Kind)
	}
	if (g.Lines == 0) == (g.Bytes == 0) || g.Lines < 0 || g.Bytes < 0 {
		return nil, fmt.Errorf("lines %d, bytes %d: give one of the two, above 0", g.Lines, g.Bytes)
	}
	if g.Lines > maxLines || g.Bytes > MaxText {
		return nil, fmt.Errorf("lines %d, bytes %d: at most %d lines or %d bytes", g.Lines, g.Bytes, maxLines, MaxText)
	}
	size := 0
	for _, in := range g.Insert {
		if in.Line < 1 || g.Lines > 0 && in.Line > g.Lines || in.Line > maxLines {
			return nil, fmt.Errorf("insert at line %d: outside of the text", in.Line)
		}
		if strings.ContainsRune(in.Text, '\n') {
			return nil, fmt.Errorf("insert at line %d: one line only", in.Line)
		}
		size += len(in.Text)
	}
	if size > MaxText/2 {
		return nil, fmt.Errorf("inserts of %d bytes: at most %d", size, MaxText/2)
	}
	t := &text{make: sync.OnceValue(g.build)}
	if g.Bytes > 0 && len(g.Insert) > 0 { // only the text itself says how many lines it has
		lines := strings.Count(t.make(), "\n") + 1
		for _, in := range g.Insert {
			if in.Line > lines {
				return nil, fmt.Errorf("insert at line %d: the text of %d bytes has %d lines", in.Line, g.Bytes, lines)
			}
		}
	}
	return t, nil
}

// build writes the text.
func (g Generate) build() string {
	insert := make(map[int]string, len(g.Insert))
	for _, in := range g.Insert {
		insert[in.Line] = in.Text
	}
	r := rng(g.Seed)
	var b strings.Builder
	for n := 1; n <= maxLines; n++ {
		if g.Lines > 0 && n > g.Lines || g.Bytes > 0 && b.Len() >= g.Bytes || b.Len() > MaxText {
			break
		}
		line := g.line(n, &r) // drawn also when replaced, so that inserts shift nothing
		if in, ok := insert[n]; ok {
			line = in
		}
		b.WriteString(line)
		b.WriteByte('\n')
	}
	out := b.String()
	if g.Bytes > 0 {
		for b.Len() < g.Bytes { // hardly ever: very short lines
			b.WriteByte('.')
		}
		out = strings.ToValidUTF8(b.String()[:g.Bytes], "")
	}
	return cutText(out, MaxText)
}

// line is the n-th line of a text.
func (g *Generate) line(n int, r *rng) string {
	switch g.Kind {
	case GenLog:
		at := n*7 + int(r.next()%5)
		return fmt.Sprintf("2024-03-%02d %02d:%02d:%02d %-5s %s id=%05d ms=%d %s",
			1+at/86400%28, at/3600%24, at/60%60, at%60,
			pick(r, levels), pick(r, services), r.next()%100_000, 1+r.next()%900, pick(r, messages))
	case GenCSV:
		if n == 1 {
			return "order,customer,state,amount"
		}
		return fmt.Sprintf("%05d,C%04d,%s,%d.%02d", 9_999+n, r.next()%10_000, pick(r, states), r.next()%500, r.next()%100)
	default:
		var b strings.Builder
		for {
			w := pick(r, words)
			if b.Len()+1+len(w) > 80 {
				return b.String()
			}
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(w)
		}
	}
}

// rng is SplitMix64 (Steele, Lea, Flood 2014): its sequence is part of what
// recordings hold, so it is written out here and never changes.
type rng uint64

func (r *rng) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func pick(r *rng, list []string) string { return list[r.next()%uint64(len(list))] }

var (
	levels   = []string{"INFO", "INFO", "INFO", "INFO", "DEBUG", "DEBUG", "WARN"}
	services = []string{"api", "billing", "cache", "gateway", "mailer", "queue", "search", "store"}
	messages = []string{
		"request served", "cache hit", "cache miss", "job accepted", "job finished", "connection reused",
		"slow query logged", "retry scheduled", "session renewed", "batch flushed",
	}
	states = []string{"PAID", "PAID", "PAID", "SHIPPED", "SHIPPED", "REFUNDED", "OPEN"}
	words  = []string{
		"amber", "basin", "cedar", "delta", "ember", "field", "grain", "harbor", "island", "juniper", "kernel",
		"ledger", "meadow", "north", "orchard", "pebble", "quarry", "river", "signal", "timber", "upland",
		"valley", "willow", "yellow", "zenith", "and", "over", "under", "with", "from", "toward", "beyond",
	}
)
