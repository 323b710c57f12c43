package session_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/harnessbench/harnessbench/recorder/internal/sample"
	"github.com/harnessbench/harnessbench/recorder/session"
)

func TestReadBack(t *testing.T) {
	b := record(t, sample.Play)
	got, r, err := read(b)
	if err != nil || !r.Complete() || r.Torn() != nil {
		t.Fatalf("%v, complete %v, torn %v", err, r.Complete(), r.Torn())
	}
	at := int64(0)
	for i, l := range got {
		if l.No != i+1 || l.Seq != int64(i+1) || l.Offset != at {
			t.Fatalf("line %d: no %d, seq %d, offset %d, want %d", i+1, l.No, l.Seq, l.Offset, at)
		}
		at += int64(len(l.Raw)) + 1
	}
	if at != int64(len(b)) {
		t.Fatalf("lines have %d bytes, the file %d", at, len(b))
	}
	slow, err := readAll(session.NewReader(iotest.OneByteReader(bytes.NewReader(b))))
	if err != nil || len(slow) != len(got) {
		t.Fatalf("byte by byte: %d lines, %v", len(slow), err)
	}
	turns := map[string][]int{}
	for _, l := range got {
		if l.Type == session.TypeState {
			turns[l.Lane] = append(turns[l.Lane], l.Turn)
		}
	}
	if len(turns["main"]) != 3 || turns["main"][2] != 3 || len(turns["sub.1"]) != 2 || turns["sub.1"][1] != 2 {
		t.Fatalf("inherited turns: %v", turns)
	}
}

// TestEveryByte flips each byte of a session in turn: each time the reader names
// the line that was changed.
func TestEveryByte(t *testing.T) {
	good := record(t, sample.Play)
	b := bytes.Clone(good)
	line := 1
	for i := range b {
		mask := []byte{0x01, 0x20, 0x80}[i%3]
		if i < len(b)-1 && i%4 != 0 && line > 12 && line < 40 && b[i] != '\n' {
			continue // every fourth byte will do
		}
		{
			b[i] ^= mask
			_, r, err := read(b)
			switch {
			case i == len(b)-1 && err != nil: // the last LF became a byte of the footer
				t.Fatalf("last byte: %v", err)
			case i == len(b)-1:
				if r.Torn() == nil || r.Torn().Line != line {
					t.Fatalf("last byte: torn is %v", r.Torn())
				}
			default:
				var c *session.CorruptError
				if errors.Is(err, session.ErrTooNew) && line == 1 {
					break // the version's own digit
				}
				if !errors.As(err, &c) || c.Line != line && good[i] != '\n' {
					t.Fatalf("byte %d of line %d changed: %v", i, line, err)
				}
			}
			b[i] ^= mask
		}
		if b[i] == '\n' {
			line++
		}
	}
}

// TestEveryCut truncates a session after each byte: whole lines are given, the
// rest is reported.
func TestEveryCut(t *testing.T) {
	b := record(t, sample.Play)
	first := bytes.IndexByte(b, '\n') + 1
	for n := 0; n < len(b); n += 1 + n/1000 {
		got, r, err := read(b[:n])
		if n < first {
			var c *session.CorruptError
			if !errors.As(err, &c) || c.Line != 1 {
				t.Fatalf("cut at %d: %v", n, err)
			}
			continue
		}
		whole := bytes.Count(b[:n], []byte("\n"))
		if err != nil || len(got) != whole || r.Complete() {
			t.Fatalf("cut at %d: %d lines of %d, complete %v, %v", n, len(got), whole, r.Complete(), err)
		}
		end := bytes.LastIndexByte(b[:n], '\n') + 1
		torn := r.Torn()
		if (torn != nil) != (end < n) || torn != nil && (torn.Line != whole+1 || torn.Offset != int64(end) || torn.Bytes != int64(n-end)) {
			t.Fatalf("cut at %d: torn is %v", n, torn)
		}
		if _, err := session.Verify(session.NewReader(bytes.NewReader(b[:n]))); err == nil {
			t.Fatalf("cut at %d: Verify is content", n)
		}
	}
	if n, err := session.Verify(session.NewReader(bytes.NewReader(b))); err != nil || n != bytes.Count(b, []byte("\n")) {
		t.Fatalf("Verify: %d, %v", n, err)
	}
}

func TestReaderRefuses(t *testing.T) {
	deep := strings.Repeat("[", 600) + strings.Repeat("]", 600)
	just := strings.Repeat("[", session.MaxDepth-1) + strings.Repeat("]", session.MaxDepth-1)
	second := func(b []byte) []byte { return b[bytes.IndexByte(b, '\n')+1:] }
	note := seal(t, "note", `,"what":"x"`)
	for name, c := range map[string]struct {
		in   []byte
		line int
		want string
	}{
		"empty":               {nil, 1, "file is empty"},
		"text":                {[]byte("hello\n"), 1, "is no JSON object"},
		"other JSON":          {[]byte("{\"a\":1}\n"), 1, "is no header of a session"},
		"blank line":          {append(bytes.Clone(note), '\n'), 3, "is no JSON object"},
		"CR":                  {bytes.ReplaceAll(note, []byte("\n"), []byte("\r\n")), 1, "unexpected '\\r'"},
		"no header":           {second(note), 1, "is no header"},
		"BOM":                 {append([]byte("\xef\xbb\xbf"), note...), 1, "is no JSON object"},
		"duplicate key":       {seal(t, "note", `,"what":"x","what":"y"`), 2, `duplicate key "what"`},
		"escaped duplicate":   {seal(t, "note", `,"what":"x","wh\u0061t":"y"`), 2, `duplicate key "what"`},
		"nested duplicate":    {seal(t, "note", `,"a":[{"b":1,"b":2}]`), 2, `duplicate key "b"`},
		"frame duplicate":     {seal(t, "note", `,"seq":2`), 2, `duplicate key "seq"`},
		"many keys":           {seal(t, "note", manyKeys(40)+`,"k7":0`), 2, `duplicate key "k7"`},
		"NaN":                 {seal(t, "note", `,"a":NaN`), 2, "unexpected 'N'"},
		"Infinity":            {seal(t, "note", `,"a":-Infinity`), 2, "bad number"},
		"leading zero":        {seal(t, "note", `,"a":01`), 2, "unexpected '1'"},
		"white space":         {seal(t, "note", `,"a": 1`), 2, "unexpected ' '"},
		"trailing comma":      {seal(t, "note", `,"a":[1,]`), 2, "unexpected ']'"},
		"control character":   {seal(t, "note", ",\"a\":\"\x01\""), 2, "control character"},
		"no UTF-8":            {seal(t, "note", ",\"a\":\"\xff\""), 2, "is no UTF-8"},
		"lone surrogate":      {seal(t, "note", `,"a":"\ud800"`), 2, "lone surrogate"},
		"too deep":            {seal(t, "note", `,"a":`+deep), 2, "nesting is deeper than 512"},
		"deep as allowed":     {seal(t, "note", `,"a":`+just), 0, ""},
		"after the footer":    {append(seal(t, "footer", ``), `{"seq":4}`+"\n"...), 3, "after the footer"},
		"torn after footer":   {append(seal(t, "footer", ``), `{"s`...), 3, "after the footer"},
		"lane of no name":     {seal(t, "note", `,"lane":"","what":"x"`), 2, `"lane" is no name`},
		"negative turn":       {seal(t, "note", `,"turn":-1`), 2, `"turn" is no count`},
		"line is missing":     {append(bytes.Clone(seal(t)), bytes.Replace(second(note), []byte(`"seq":2`), []byte(`"seq":3`), 1)...), 2, "sequence number is 3, not 2"},
		"spliced from others": {append(bytes.Clone(note), bytes.Replace(second(note), []byte(`"seq":2`), []byte(`"seq":3`), 1)...), 3, "chain is broken"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := read(c.in)
			var corrupt *session.CorruptError
			switch {
			case c.want == "" && err != nil:
				t.Fatal(err)
			case c.want == "":
			case !errors.As(err, &corrupt) || corrupt.Line != c.line || !strings.Contains(err.Error(), c.want):
				t.Fatalf("got %v; want line %d: %s", err, c.line, c.want)
			}
		})
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`,"k` + string(rune('0'+i%10)))
		if i >= 10 {
			b.WriteByte(byte('a' + i/10))
		}
		b.WriteString(`":1`)
	}
	return b.String()
}

func TestTooNew(t *testing.T) {
	for in, tooNew := range map[string]bool{
		`{"format":[],"v":"harnessbench/session/2"}`: true,
		`{"v":"harnessbench/session/10","x":{}}`:     true,
		`{"v":"harnessbench/session/0"}`:             false,
		`{"v":"harnessbench/session/x"}`:             false,
		`{"v":2}`:                                    false,
	} {
		_, _, err := read([]byte(in + "\n"))
		if errors.Is(err, session.ErrTooNew) != tooNew || err == nil {
			t.Errorf("%s: %v", in, err)
		}
		if tooNew && !strings.Contains(err.Error(), "harnessbench/session/") {
			t.Errorf("%s: the error does not name the version: %v", in, err)
		}
	}
}

// endless gives the same byte without end.
type endless struct{ n int64 }

func (e *endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	e.n += int64(len(b))
	return len(b), nil
}

// TestLongLine reads a line without end: the reader gives up at its limit and
// has never held much more.
func TestLongLine(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	src := &endless{}
	_, err := session.NewReader(src).Next()
	runtime.ReadMemStats(&after)
	var c *session.CorruptError
	if !errors.As(err, &c) || c.Line != 1 || !strings.Contains(err.Error(), "longer than 64 MiB") {
		t.Fatal(err)
	}
	if src.n > 2*session.MaxLine {
		t.Errorf("%d bytes were read", src.n)
	}
	if total := after.TotalAlloc - before.TotalAlloc; total > 4*session.MaxLine {
		t.Errorf("%d bytes were allocated", total)
	}
	// A stream that stalls after little must have cost little.
	runtime.ReadMemStats(&before)
	_, err = session.NewReader(io.LimitReader(&endless{}, 100<<10)).Next()
	runtime.ReadMemStats(&after)
	if total := after.TotalAlloc - before.TotalAlloc; err == nil || total > 1<<20 {
		t.Errorf("%d bytes were allocated for 100 KiB (%v)", total, err)
	}
}

// TestUnknown keeps and skips what it does not know.
func TestUnknown(t *testing.T) {
	b := seal(t, "galaxy.brain", `,"x":[1,{"y":null}]`, "note", `,"what":"w","later":{"a":1}`, "lane.start", `,"lane":"sub"`)
	got, r, err := read(b)
	if err != nil || len(got) != 4 || r.Complete() {
		t.Fatal(len(got), err)
	}
	if got[1].Type != "galaxy.brain" || string(got[1].Payload()) != `,"x":[1,{"y":null}]` {
		t.Fatalf("%s %s", got[1].Type, got[1].Payload())
	}
	if n, err := got[2].Note(); err != nil || n.What != "w" {
		t.Fatal(n, err)
	}
	if v, ok := got[2].Field("later"); !ok || string(v) != `{"a":1}` {
		t.Fatalf("%s", v)
	}
	if got[3].Lane != "sub" {
		t.Fatal(got[3].Lane)
	}
}

func TestReaderPassesErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	b := record(t, sample.Play)
	r := session.NewReader(io.MultiReader(bytes.NewReader(b[:3000]), iotest.ErrReader(broken)))
	_, err := readAll(r)
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if _, again := r.Next(); again != err {
		t.Fatal("the error does not stay")
	}
}
