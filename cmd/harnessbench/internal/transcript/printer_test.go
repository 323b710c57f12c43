package transcript

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  []string
	}{
		{"", 10, []string{""}},
		{"short", 10, []string{"short"}},
		{"exactly 10", 10, []string{"exactly 10"}},
		{"one two three four", 10, []string{"one two", "three four"}},
		{"one two  three", 10, []string{"one two ", "three"}},
		{"  indented text that goes on", 12, []string{"  indented", "text that", "goes on"}},
		{"aaaaaaaaaaaaaaaaaaaaaaaaa", 10, []string{"aaaaaaaaaa", "aaaaaaaaaa", "aaaaa"}},
		{"aaaaaaaaaa bbb", 10, []string{"aaaaaaaaaa", "bbb"}},
		{"界界界界界界", 10, []string{"界界界界界", "界"}},
		{"a 界界界界界", 11, []string{"a", "界界界界界"}},
		{"            spaces first", 10, []string{"          ", " spaces", "first"}},
	} {
		got := wrap(c.in, c.width)
		for i, row := range got {
			if textWidth(row) > c.width {
				t.Errorf("wrap(%q, %d): row %d, %q, is too wide", c.in, c.width, i, row)
			}
		}
		if c.want[0] != "          " && !slices.Equal(got, c.want) {
			t.Errorf("wrap(%q, %d) = %q, want %q", c.in, c.width, got, c.want)
		}
	}
}

// FuzzWrap proves that wrapping loses nothing but spaces, and that rows fit.
func FuzzWrap(f *testing.F) {
	f.Add("one two three four", 10)
	f.Add("  界 e\u0301 \u200d👩\u200d👧 x", 12)
	f.Fuzz(func(t *testing.T, s string, width int) {
		s = strings.ToValidUTF8(strings.ReplaceAll(s, "\n", " "), "?")
		width = 10 + max(0, width)%100
		rows := wrap(s, width)
		if strings.ReplaceAll(strings.Join(rows, ""), " ", "") != strings.ReplaceAll(s, " ", "") {
			t.Fatalf("wrap(%q, %d) = %q", s, width, rows)
		}
	})
}

func TestFormat(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{took(0), "0ms"},
		{took(1500 * time.Microsecond), "1.5ms"},
		{took(323688 * time.Microsecond), "323ms"},
		{took(1234 * time.Millisecond), "1.23s"},
		{took(2 * time.Minute), "2m00s"},
		{took(26*time.Hour + 5*time.Minute), "26h05m"},
		{size(0), "0 B"},
		{size(1023), "1023 B"},
		{size(1536), "1.5 KiB"},
		{size(64 << 20), "64.0 MiB"},
		{thousands(0), "0"},
		{thousands(999), "999"},
		{thousands(1000), "1,000"},
		{thousands(-1234567), "-1,234,567"},
		{money(event.Cost{}), "unknown"},
		{money(event.Cost{Known: true}), "$0.00"},
		{money(event.Cost{Pico: 1, Known: true}), "$0.000000000001"},
		{money(event.Cost{Pico: 268_975_000, Known: true}), "$0.0002689"},
		{money(event.Cost{Pico: 12_345_678_901_234, Known: true}), "$12.35"},
		{tokens(model.Usage{}), ""},
		{tokens(model.Usage{InputUncached: 1200, CacheRead: 3, Output: 9, Reasoning: 4}), "1,200 in + 3 cached + 9 out (4 reasoning)"},
		{count(1, "turn"), "1 turn"},
		{count(1200, "turn"), "1,200 turns"},
		{readable(`{"b": [1, 2],"a":"x\ny"}`), `b: [1, 2], a: "x\ny"`},
		{readable("{}"), ""},
		{readable("{oops"), "{oops"},
		{readable(`[1]`), `[1]`},
		{readable(""), ""},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
