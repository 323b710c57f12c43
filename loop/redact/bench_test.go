package redact

import (
	"strings"
	"testing"
)

// Every result and every answer is looked through: a text without secrets must
// cost next to nothing.
func BenchmarkPlain(b *testing.B) {
	text := strings.Repeat("2026-03-02T06:00:41Z order=402913 state=SHIPPED wh=RTM\n", 19)[:1024]
	for name, r := range map[string]*Redactor{"shapes": New(), "declared": New("velvet-Cargo-2201", "marble-Orchid-7702", "tulip-Harbour-9917")} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if r.Text(text) != text {
					b.Fatal("found something")
				}
			}
		})
	}
}
