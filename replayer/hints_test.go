package replayer

import (
	"strings"
	"testing"
)

func TestWhy(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"Today is 2026-11-30.", "Today is 2026-12-01.", "a date or time"},
		{"Today is Monday, November 30, 2026, you may begin", "Today is Tuesday, December 1, 2026, you may begin", "a date or time"},
		{"at 2026-11-30T10:00:00Z go", "at 2026-11-30T11:00:00+01:00 go", "a date or time"},
		{"Mon Nov 30 21:10:42 UTC 2026", "Tue Dec  1 02:10:42 CET 2026", "a date or time"},
		{"Mon, 30 Nov 2026 21:10:42 GMT", "Tue, 1 Dec 2026 02:10:42 GMT", "a date or time"},
		{"started 1796000000", "started 1796000555123", "a date or time"},
		{`"wrote 11/30/2026"`, `"wrote 12/01/2026"`, "a date or time"},
		{"in /home/alice/src/x.go", "in /home/bob/src/x.go", "a path of a machine"},
		{"in /tmp/TestX123/001", "in /var/folders/zz/T/TestX9/001", "a path of a machine"},
		{`in C:\Users\alice\x`, `in D:\Users\bob\y\x`, "a path of a machine"},
		{"call_a8Hd83jdk done", "call_zz93kdmaz done", "a random id"},
		{"id 6ba7b810-9dad-11d1-80b4-00c04fd430c8", "id 7ba7b810-9dad-11d1-80b4-00c04fd430c9", "a random id"},
		{`{"n":25}`, `{"n":25.0}`, "the form of a number"},
		{`{"n":1e2,"m":3}`, `{"n":100,"m":3}`, "the form of a number"},
		{`{"n":9007199254740993}`, `{"n":9007199254740992}`, "above 2^53"},
		{"caf\u00e9", "cafe\u0301", "Unicode normalisation"},
		{"a\r\nb", "a\nb", "line ends"},
		{`"a\r\nb"`, `"a\nb"`, "line ends"},
		{"a long\nline", "a\nlong line", "where lines are wrapped"},
		{"b.txt\na.txt", "a.txt\nb.txt", "the order"},
		{`{"x":1,"y":2}`, `{"y":2,"x":1}`, "the order"},
		{"sum 1,234.5", "sum 1.234,5", "in a locale"},
		{"2026-11-30 in /tmp/x1 by call_a8Hd83jdk", "2026-12-01 in /tmp/y2 by call_zz93kdmaz", "dates or times, random ids and paths"},
		{`"\u00e9"`, `"é"`, "how they are escaped"},
		{"ticket 7", "ticket 8", ""},
		{"yes", "no", ""},
		{"", "2026-11-30", ""},
		{"same", "same", ""},
		{"on 2026-11-30 pass", "on 2026-12-01 fail", ""},
		{strings.Repeat("x", maxHint+1), strings.Repeat("x", maxHint+2), ""},
	} {
		got := why(c.a, c.b)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%.60q, %.60q: %q, want %q", c.a, c.b, got, c.want)
		}
		if back := why(c.b, c.a); back != got {
			t.Errorf("%.60q, %.60q: the other way round it is %q", c.a, c.b, back)
		}
	}
}

func FuzzWhy(f *testing.F) {
	f.Add("Today is 2026-11-30.", `"\ud800 25.0 1e999"`)
	f.Fuzz(func(t *testing.T, a, b string) {
		if why(a, b) != why(b, a) {
			t.Errorf("%q, %q: not symmetric", a, b)
		}
		if a == b && why(a, b) != "" {
			t.Error("equal texts have a hint")
		}
	})
}
