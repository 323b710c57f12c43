package model

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestAppendTextIsAppendString(t *testing.T) {
	rnd := rand.New(rand.NewPCG(8, 8))
	all := append([]string(nil), hardStrings...)
	for range 2000 {
		all = append(all, randomString(rnd))
	}
	for _, s := range all {
		if a, b := string(AppendString([]byte("x"), s)), string(AppendText([]byte("x"), []byte(s))); a != b {
			t.Fatalf("%q: %s as a string, %s as bytes", s, a, b)
		}
	}
}

// needsEscape is RFC 8785, section 3.2.2.2, byte by byte.
func needsEscape(c byte) bool { return c < 0x20 || c == '"' || c == '\\' }

// PlainText reads words of eight bytes: every byte at every place of a word, and
// from every start.
func TestPlainText(t *testing.T) {
	naive := func(s string, i int) int {
		for i < len(s) && !needsEscape(s[i]) {
			i++
		}
		return i
	}
	for c := range 256 {
		for length := 1; length <= 20; length++ {
			for at := range length {
				b := []byte(strings.Repeat("x", length))
				b[at] = byte(c)
				s := string(b)
				for from := 0; from <= length; from++ {
					want := naive(s, from)
					if got := PlainText(s, from); got != want {
						t.Fatalf("%q from %d: %d, want %d", s, from, got, want)
					}
					if got := PlainText(b, from); got != want {
						t.Fatalf("bytes %q from %d: %d, want %d", s, from, got, want)
					}
				}
			}
		}
	}
	rnd := rand.New(rand.NewPCG(6, 6))
	for range 20_000 {
		b := make([]byte, rnd.IntN(40))
		for i := range b {
			b[i] = byte(rnd.IntN(256))
		}
		from := rnd.IntN(len(b) + 1)
		if got, want := PlainText(string(b), from), naive(string(b), from); got != want {
			t.Fatalf("%q from %d: %d, want %d", b, from, got, want)
		}
	}
}
