package redact

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// everyByte is findShapes without its probes.
func everyByte(s string) (spans []span) {
	for i := 0; i+1 < len(s); i++ {
		if !wordStart(s, i) {
			continue
		}
		if sp, ok := shapeAt(s, i); ok {
			spans = append(spans, sp)
			i = sp.to - 1
		}
	}
	return spans
}

// Every shape has what the probes look for.
func TestEveryShapeHasARow(t *testing.T) {
	for _, sh := range shapes {
		row, spaced := strings.CutSuffix(sh.prefix, " ")
		least := sh.min
		if !spaced {
			least += len(row)
		}
		switch {
		case sh.fit == nil && row != pemHead, sh.fit != nil && (least < minKey || spaced && len(sh.prefix) > ahead):
			t.Errorf("%q: %d bytes in a row", sh.prefix, least)
		case sh.class&^piece != 0 || strings.IndexFunc(row, func(c rune) bool { return !is(byte(c), piece) }) >= 0:
			t.Errorf("%q: not all of it are pieces", sh.prefix)
		}
	}
}

// The probes miss nothing: where keys begin and end against their rows does not
// matter.
func TestProbesMissNothing(t *testing.T) {
	words := []string{" ", "\n", `\n`, "%20", `\u0020`, ".", "=", "/", "*", "é", `"`, "a", "order", "-", "2026-03-02T06:00:41Z", "Bearer ", "bearer ", "Authorization=Bearer ",
		"sk-" + drawn(24), "AKIA" + strings.Repeat("AB12", 4), "ASIA" + strings.Repeat("AB12", 4) + "x", drawn(24), "AIza" + drawn(36),
		"-----BEGIN RSA PRIVATE" + " KEY-----", "-----END RSA PRIVATE KEY-----", "\nabc\n", drawn(12), "eyJ" + drawn(20) + ".", "eyJ" + drawn(14) + ".", drawn(13)}
	r, found := rand.New(rand.NewPCG(1, 2)), 0
	for range 30_000 {
		var b strings.Builder
		for range r.IntN(9) {
			b.WriteString(words[r.IntN(len(words))])
		}
		s := b.String()[r.IntN(b.Len()/8+1):]
		got, want := findShapes(s), everyByte(s)
		if !slices.Equal(got, want) {
			t.Fatalf("%q: %v, want %v", s, got, want)
		}
		found += len(want)
	}
	if found < 5000 {
		t.Errorf("only %d keys in all", found)
	}
}
