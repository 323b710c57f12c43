package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestWorst(t *testing.T) {
	tests := []struct {
		codes []Code
		want  Code
	}{
		{nil, OK}, {[]Code{OK, No}, No}, {[]Code{CannotJudge, No}, CannotJudge}, {[]Code{CannotJudge, Errored, No}, Errored},
		{[]Code{Wrong, Errored}, Wrong}, {[]Code{Errored, Interrupted, Wrong}, Interrupted},
	}
	for _, tt := range tests {
		if got := Worst(tt.codes...); got != tt.want {
			t.Errorf("Worst(%v) = %d, want %d", tt.codes, got, tt.want)
		}
	}
}

func TestCodeOf(t *testing.T) {
	plain := errors.New("x")
	tests := []struct {
		err  error
		want Code
	}{
		{nil, OK}, {plain, CannotJudge}, {Status(No), No}, {Status(OK), OK}, {Usagef("", "x"), Wrong}, {WithCode(Wrong, plain), Wrong},
		{WithCode(Wrong, nil), OK}, {WithCode(Wrong, Status(No)), No}, {fmt.Errorf("more: %w", Usagef("", "x")), Wrong},
	}
	for _, tt := range tests {
		if got := CodeOf(tt.err); got != tt.want {
			t.Errorf("CodeOf(%v) = %d, want %d", tt.err, got, tt.want)
		}
	}
	if !errors.Is(WithCode(No, plain), plain) {
		t.Error("the cause is lost")
	}
}

func TestReport(t *testing.T) {
	tests := []struct {
		err  error
		want string
	}{
		{nil, ""}, {Status(No), ""},
		{errors.New("a\x1b[31m"), "harnessbench: a\\x1b[31m\n"},
		{Usagef("try b", "a %d", 1), "harnessbench: a 1\n  try b\n"},
	}
	for _, tt := range tests {
		var b bytes.Buffer
		Report(&b, tt.err)
		if b.String() != tt.want {
			t.Errorf("%v: %q, want %q", tt.err, b.String(), tt.want)
		}
	}
}

func TestSanitize(t *testing.T) {
	tests := []struct{ in, text, line string }{
		{"plain, ünï, 日本, 👩‍👩", "plain, ünï, 日本, 👩‍👩", "plain, ünï, 日本, 👩‍👩"},
		{"a\tb\nc", "a\tb\nc", `a\tb\nc`},
		{"\x1b[31mred\x1b]0;title\x07", `\x1b[31mred\x1b]0;title\x07`, `\x1b[31mred\x1b]0;title\x07`},
		{"a\r\nb\x00\x7f", "a\\r\nb\\x00\\x7f", `a\r\nb\x00\x7f`},
		{"\u009b31m", `\x9b31m`, `\x9b31m`},
		{"\u202eevil\u2066", `\u202eevil\u2066`, `\u202eevil\u2066`},
		{"\U000e0041", `\U000e0041`, `\U000e0041`},
		{"\xff\x9b", `\xff\x9b`, `\xff\x9b`},
	}
	for _, tt := range tests {
		if got := Sanitize(tt.in); got != tt.text {
			t.Errorf("Sanitize(%q) = %q, want %q", tt.in, got, tt.text)
		}
		if got := SanitizeLine(tt.in); got != tt.line {
			t.Errorf("SanitizeLine(%q) = %q, want %q", tt.in, got, tt.line)
		}
	}
}

func FuzzSanitize(f *testing.F) {
	f.Add("a\x1b[31m\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := Sanitize(s)
		if !utf8.ValidString(got) || Sanitize(got) != got {
			t.Fatalf("%q -> %q", s, got)
		}
		if strings.IndexFunc(got, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) >= 0 {
			t.Fatalf("control character left in %q", got)
		}
		// what is printed as JSON says the same after decoding
		var b bytes.Buffer
		if err := WriteJSON(&b, s); err != nil {
			t.Fatal(err)
		}
		var back string
		if err := json.Unmarshal(b.Bytes(), &back); err != nil || back != strings.ToValidUTF8(s, "\ufffd") && utf8.ValidString(s) {
			t.Fatalf("%q -> %s -> %q (%v)", s, b.String(), back, err)
		}
		if Sanitize(b.String()) != b.String() {
			t.Fatalf("hostile JSON %q", b.String())
		}
	})
}

func TestWriteJSON(t *testing.T) {
	var b bytes.Buffer
	if err := WriteJSON(&b, map[string]any{"z": "<a&b>", "a": []int{1}, "e": "\u202e\U000e0041\x1b"}); err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"a\": [\n    1\n  ],\n  \"e\": \"\\u202e\\udb40\\udc41\\u001b\",\n  \"z\": \"<a&b>\"\n}\n"
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
	if err := WriteJSON(&b, func() {}); err == nil {
		t.Error("a function was written as JSON")
	}
}

func TestDetect(t *testing.T) {
	if got := Detect(&bytes.Buffer{}); got != (Term{}) {
		t.Errorf("a buffer is no terminal: %+v", got)
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := Detect(f); got != (Term{}) {
		t.Errorf("a file is no terminal: %+v", got)
	}
}

func TestSessions(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"run/run.json", "run/sessions/b.session.jsonl", "run/sessions/x/a.session.jsonl.zst", "run/other.session.jsonl", "run/sessions/notes.jsonl",
		"plain/z.session.jsonl", "plain/readme.md", "plain/.update-1/z.session.jsonl", "plain/.import-1/sessions/z.session.jsonl", "odd.jsonl", "empty/x.txt",
	} {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	linked := "plain"
	if err := os.Symlink("plain", "link"); err == nil { // not everywhere allowed
		linked = "link"
	}
	tests := []struct {
		args []string
		want []string
		code Code
		say  string
	}{
		{[]string{"run"}, []string{"run/sessions/b.session.jsonl", "run/sessions/x/a.session.jsonl.zst"}, OK, ""},
		{[]string{"run/", "./run/sessions"}, []string{"run/sessions/b.session.jsonl", "run/sessions/x/a.session.jsonl.zst"}, OK, ""},
		{[]string{"plain", filepath.Join(dir, "plain")}, []string{"plain/z.session.jsonl"}, OK, ""},
		{[]string{linked}, []string{linked + "/z.session.jsonl"}, OK, ""},
		{[]string{"odd.jsonl"}, []string{"odd.jsonl"}, OK, ""},
		{[]string{"{plain,run}/**/*.session.jsonl"}, []string{"plain/z.session.jsonl", "run/other.session.jsonl", "run/sessions/b.session.jsonl"}, OK, ""},
		{[]string{"pl*", "r[u]n/*"}, []string{"plain/z.session.jsonl", "run/other.session.jsonl", "run/sessions/b.session.jsonl", "run/sessions/x/a.session.jsonl.zst"}, OK, ""},
		{[]string{"none"}, nil, Wrong, "no such file"},
		{[]string{"none*"}, nil, CannotJudge, "nothing matches"},
		{[]string{"[a"}, nil, Wrong, "glob is wrong"},
		{[]string{"empty"}, nil, CannotJudge, "no session in empty"},
		{nil, nil, CannotJudge, "no session"},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			got, err := Sessions(tt.args)
			for i := range got {
				got[i] = filepath.ToSlash(got[i])
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
			if CodeOf(err) != tt.code || err != nil && !strings.Contains(err.Error(), tt.say) {
				t.Errorf("error %v (exit %d), want %q (exit %d)", err, CodeOf(err), tt.say, tt.code)
			}
		})
	}
}

func TestInterrupts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sigs := make(chan os.Signal)
		var b bytes.Buffer
		last := false
		ctx, end := watch(t.Context(), sigs, &b, func() { last = true })
		defer end()
		if WasInterrupted(ctx) {
			t.Error("interrupted before any signal")
		}
		sigs <- os.Interrupt
		<-Stopping(ctx)
		synctest.Wait()
		if ctx.Err() != nil || last || !WasInterrupted(ctx) || !strings.Contains(b.String(), "interrupt again") {
			t.Errorf("after one: %v %v %q", ctx.Err(), last, b.String())
		}
		sigs <- os.Interrupt
		<-ctx.Done()
		synctest.Wait()
		if !errors.Is(context.Cause(ctx), ErrInterrupted) || !last {
			t.Errorf("after two: %v %v", context.Cause(ctx), last)
		}
	})
	if Stopping(context.Background()) != nil || WasInterrupted(context.Background()) {
		t.Error("a plain context is interrupted")
	}
}

func TestProgressLines(t *testing.T) {
	var b bytes.Buffer
	now := time.Unix(0, 0)
	p := newProgress(&b, Term{}, "trials", 8, func() time.Time { return now }, []string{"passed", "failed"})
	cost := 0.5
	for i := range 6 {
		now = now.Add(2 * time.Second)
		label, c := "passed", &cost
		if i%3 == 2 {
			label, c = "failed", nil
		}
		p.Done(label, c)
	}
	p.Note("a \x1b note\n")
	p.Close()
	want := `trials 3/8 (37%), 2 passed, 1 failed, $1.00, 0.5/s, 10s left
trials 6/8 (75%), 4 passed, 2 failed, $2.00, 0.5/s, 4s left
a \x1b note\n
trials 6/8 (75%), 4 passed, 2 failed, $2.00, 0.5/s, 4s left
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
	b.Reset()
	quick := newProgress(&b, Term{}, "trials", 8, func() time.Time { return now }, nil)
	quick.Done("", nil)
	quick.Close()
	if b.Len() != 0 {
		t.Errorf("quick work said %q", b.String())
	}
	var none *Progress
	none.Done("", nil)
	none.Note("x")
	none.Close()
}

func TestProgressBar(t *testing.T) {
	var b bytes.Buffer
	now := time.Unix(0, 0)
	p := newProgress(&b, Term{TTY: true}, "trials", 3, func() time.Time { now = now.Add(60 * time.Millisecond); return now }, []string{"passed"})
	p.Done("passed", nil)
	if b.Len() != 0 {
		t.Errorf("drawn too often: %q", b.String())
	}
	p.Done("passed", nil)
	p.Note("note")
	p.Done("passed", nil)
	p.Close()
	if out := b.String(); !strings.Contains(out, "trials, 2 passed") || !strings.Contains(out, "note\n") || !strings.Contains(out, "2/3") {
		t.Errorf("%q", out)
	}
}
