package transcript_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"unicode"

	"github.com/mattn/go-runewidth"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/transcript"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/results"
)

func TestShow(t *testing.T) {
	plain, entry := simulate(t, "sim/oracle", "small-spill", set(t, "spill.over", "256", "spill.preview", "64"))
	verdict := func(model.Digest) *results.Entry { return entry }
	t.Run("oracle", func(t *testing.T) {
		golden(t, "oracle", shown(t, plain, transcript.Options{Name: "oracle.session.jsonl", Verdict: verdict}))
	})
	t.Run("turn", func(t *testing.T) {
		golden(t, "turn", shown(t, plain, transcript.Options{Name: "oracle.session.jsonl", Turn: 3, Verdict: verdict}))
	})
	t.Run("color", func(t *testing.T) {
		golden(t, "color", shown(t, plain, transcript.Options{Color: true, Turn: 2}))
	})
	t.Run("stuck", func(t *testing.T) {
		b, entry := simulate(t, "sim/trap-stuck", "without-stuck", set(t, "stuck", "shadow"))
		golden(t, "stuck", shown(t, b, transcript.Options{Verdict: func(model.Digest) *results.Entry { return entry }}))
	})
	t.Run("accepted", func(t *testing.T) {
		b, entry := simulate(t, "sim/oracle", "default", set(t, "tool_deadline.per_call", "30s"))
		golden(t, "accepted", shown(t, b, transcript.Options{Width: 100, Verdict: func(model.Digest) *results.Entry { return entry }}))
	})
	t.Run("imported", func(t *testing.T) {
		golden(t, "imported", shown(t, imported(t), transcript.Options{Name: "desk-000.session.jsonl"}))
	})
	t.Run("traffic", func(t *testing.T) {
		b, err := os.ReadFile("../../../../recorder/wire/tape/testdata/various.session.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "traffic", shown(t, b, transcript.Options{Name: "various.session.jsonl"}))
		golden(t, "traffic-turn", shown(t, b, transcript.Options{Name: "various.session.jsonl", Turn: 2}))
		c, err := transcript.Compare(again(b), again(b), "a", "b")
		if err != nil || !c.Equal {
			t.Errorf("recorded traffic does not equal itself: %v", err)
		}
		if err := transcript.ShowJSON(io.Discard, reader(b), transcript.Options{Turn: 0}); err != nil {
			t.Error(err)
		}
	})
	t.Run("hostile", func(t *testing.T) {
		golden(t, "hostile", shown(t, hostile(t), transcript.Options{Name: "x\x1b[31m"}))
	})
	t.Run("torn", func(t *testing.T) {
		cut := bytes.LastIndex(plain, []byte(`"t":"tool.result"`)) + 30
		golden(t, "torn", shown(t, plain[:cut], transcript.Options{}))
	})
	t.Run("unfinished", func(t *testing.T) {
		cut := bytes.LastIndexByte(plain[:len(plain)-1], '\n') + 1
		got := shown(t, plain[:cut], transcript.Options{})
		if !strings.Contains(got, "The session has no end") || strings.Contains(got, "torn") {
			t.Error(got[max(0, len(got)-600):])
		}
	})
	t.Run("another recording", func(t *testing.T) {
		other := *entry
		other.Trial.SessionDigest = strings.Repeat("0", 64)
		got := shown(t, plain, transcript.Options{Verdict: func(model.Digest) *results.Entry { return &other }})
		if !strings.Contains(got, "about another recording") || strings.Contains(got, "verdict   pass") {
			t.Error(got[max(0, len(got)-600):])
		}
	})
}

// TestFits proves for every kind of session, width and option that no line is
// wider than the terminal and nothing reaches it that it could obey.
func TestFits(t *testing.T) {
	plain, _ := simulate(t, "sim/oracle", "default", set(t, "spill.over", "256"))
	for name, b := range map[string][]byte{"plain": plain, "imported": imported(t), "hostile": hostile(t)} {
		for _, width := range []int{0, 10, 40, 63, 80, 200} {
			for _, full := range []bool{false, true} {
				if full && name == "hostile" && width != 80 {
					continue // a mebibyte, wrapped, once
				}
				limit := width
				if limit == 0 {
					limit = 80
				}
				limit = min(max(limit, 40), 120)
				got := shown(t, b, transcript.Options{Name: name, Width: width, Full: full})
				for i, line := range strings.Split(got, "\n") {
					if w := (&runewidth.Condition{StrictEmojiNeutral: true}).StringWidth(line); w > limit {
						t.Fatalf("%s, width %d, full %v: line %d has %d columns: %.200q", name, width, full, i+1, w, line)
					}
					if cli.SanitizeLine(line) != line {
						t.Fatalf("%s: line %d is not safe: %.200q", name, i+1, line)
					}
				}
			}
		}
	}
}

// TestCutsLongLines proves that a line of a mebibyte is shown in a few lines,
// and whole on request.
func TestCutsLongLines(t *testing.T) {
	b := hostile(t)
	short, full := shown(t, b, transcript.Options{}), shown(t, b, transcript.Options{Full: true})
	if len(short) > 20_000 || strings.Count(short, "x") > 2000 || !strings.Contains(short, "(--full shows all)") {
		t.Errorf("%d bytes", len(short))
	}
	if n := strings.Count(full, "x"); n < 1<<20 || strings.Contains(full, "--full") {
		t.Errorf("the full transcript has %d of the x", n)
	}
}

// TestColorOnlyStyles proves that colours add nothing but styles.
func TestColorOnlyStyles(t *testing.T) {
	plain, _ := simulate(t, "sim/oracle", "default", set(t))
	colored := shown(t, plain, transcript.Options{Color: true})
	for _, code := range []string{"0", "1", "2", "31", "32", "33", "36"} {
		colored = strings.ReplaceAll(colored, "\x1b["+code+"m", "")
	}
	want := shown(t, plain, transcript.Options{})
	trim := func(s string) string {
		lines := strings.Split(s, "\n")
		for i := range lines {
			lines[i] = strings.TrimRightFunc(lines[i], unicode.IsSpace)
		}
		return strings.Join(lines, "\n")
	}
	if trim(colored) != want {
		t.Error("with colours the text is another")
	}
}

func TestCorrupt(t *testing.T) {
	plain, _ := simulate(t, "sim/oracle", "default", set(t))
	bad := bytes.Replace(plain, []byte("The calendar says"), []byte("the calendar says"), 1)
	var out strings.Builder
	err := transcript.Show(&out, reader(bad), transcript.Options{})
	var broken *session.CorruptError
	if !errors.As(err, &broken) || broken.Line < 5 || !strings.Contains(out.String(), "turn 1") {
		t.Errorf("%v after %d bytes", err, out.Len())
	}
	var sealed bytes.Buffer
	err = session.Edit(&sealed, bytes.NewReader(plain), func(l *session.Line, emit func(session.Type, []byte) error) error {
		p := l.Payload()
		if l.Type == session.TypeState {
			var err error
			if p, err = l.With("/calls", []byte(`"many"`)); err != nil {
				return err
			}
		}
		return emit(l.Type, p)
	})
	if err != nil {
		t.Fatal(err)
	}
	var field *session.DecodeError
	if err := transcript.Show(io.Discard, reader(sealed.Bytes()), transcript.Options{}); !errors.As(err, &field) || field.Field != "calls" {
		t.Errorf("a field of another kind: %v", err)
	}
	if err := transcript.ShowJSON(io.Discard, reader(sealed.Bytes()), transcript.Options{Turn: 0}); !errors.As(err, &field) {
		t.Errorf("a field of another kind, as JSON: %v", err)
	}
	out.Reset()
	var none *transcript.NoTurnError
	if err := transcript.Show(&out, reader(plain), transcript.Options{Turn: 99}); !errors.As(err, &none) || out.Len() > 0 {
		t.Errorf("%v, %q", err, out.String())
	}
	if err := transcript.ShowJSON(&out, reader(plain), transcript.Options{Turn: 99}); !errors.As(err, &none) || out.Len() > 0 {
		t.Errorf("%v, %q", err, out.String())
	}
}

// TestUnknownLines proves that lines of a later version are said, not refused.
func TestUnknownLines(t *testing.T) {
	plain, _ := simulate(t, "sim/oracle", "default", set(t))
	var out bytes.Buffer
	err := session.Edit(&out, bytes.NewReader(plain), func(l *session.Line, emit func(session.Type, []byte) error) error {
		if l.Type == session.TypeFooter {
			if err := emit("later.thing", []byte(`,"x":1`)); err != nil {
				return err
			}
		}
		return emit(l.Type, l.Payload())
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := shown(t, out.Bytes(), transcript.Options{}); !strings.Contains(got, "is of type later.thing") {
		t.Error(got[max(0, len(got)-500):])
	}
}

// TestJSON proves that every line comes back whole, with lane and turn, and that
// nothing in it can command a terminal.
func TestJSON(t *testing.T) {
	plain, _ := simulate(t, "sim/oracle", "default", set(t))
	for name, b := range map[string][]byte{"plain": plain, "hostile": hostile(t)} {
		var out bytes.Buffer
		if err := transcript.ShowJSON(&out, reader(b), transcript.Options{Turn: 0}); err != nil {
			t.Fatal(err)
		}
		r := reader(b)
		lines := bytes.Split(bytes.TrimSuffix(out.Bytes(), []byte("\n")), []byte("\n"))
		for i, raw := range lines {
			if s := string(raw); cli.SanitizeLine(s) != s {
				t.Fatalf("%s: line %d is not safe: %.200q", name, i+1, s)
			}
			var got struct {
				Line     int
				Type     string
				Lane     string
				Turn     int
				Complete bool
				Fields   map[string]json.RawMessage
			}
			if err := json.Unmarshal(raw, &got); err != nil {
				t.Fatalf("%s: line %d: %v", name, i+1, err)
			}
			l, err := r.Next()
			if errors.Is(err, io.EOF) {
				if i != len(lines)-1 || got.Type != "end" || !got.Complete {
					t.Errorf("%s: the last line is %s", name, raw)
				}
				break
			}
			if err != nil || got.Line != l.No || got.Type != string(l.Type) || got.Lane != l.Lane || got.Turn != l.Turn {
				t.Fatalf("%s: %+v for line %d (%s, %q, turn %d), %v", name, got, l.No, l.Type, l.Lane, l.Turn, err)
			}
			l.Keys(func(key string, value []byte) {
				var a, b any
				if key == "lane" || key == "turn" {
					return
				}
				if json.Unmarshal(value, &a) != nil || json.Unmarshal(got.Fields[key], &b) != nil || fmt.Sprint(a) != fmt.Sprint(b) {
					t.Errorf("%s: line %d, field %s", name, l.No, key)
				}
			})
		}
	}
	var out strings.Builder
	if err := transcript.ShowJSON(&out, reader(plain), transcript.Options{Turn: 2}); err != nil || strings.Contains(out.String(), `"turn":1`) || !strings.Contains(out.String(), `"type":"attempt"`) {
		t.Error(out.String(), err)
	}
}

// long streams a session of n turns with results of 4 KiB through a pipe, and
// notes the most memory in use meanwhile.
func long(n int, peak *uint64) io.Reader {
	r, w := io.Pipe()
	go func() {
		out := session.NewWriter(w)
		text := strings.Repeat("0123456789abcdef", 256)
		err := out.Line(session.TypeHeader, []byte(`,"v":"harnessbench/session/1","canon":"canon/1","scenario":"s","repetition":0,"model":"m/x","config":{},"config_digest":"`+model.SumString("{}").String()+`"`))
		for i := 1; i <= n && err == nil; i++ {
			err = errors.Join(
				out.Line(session.TypeResponse, fmt.Appendf(nil, `,"turn":%d,"items":[{"args":"{}","name":"t","type":"tool_call"}]`, i)),
				out.Line(session.TypeToolRequest, fmt.Appendf(nil, `,"id":"c%d","tool":"t"`, i)),
				out.Line(session.TypeToolResult, fmt.Appendf(nil, `,"id":"c%d","outcome":"success","text":"%s"`, i, text)))
			if i%500 == 0 {
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				*peak = max(*peak, m.HeapAlloc)
			}
		}
		w.CloseWithError(errors.Join(err, out.Flush()))
	}()
	return r
}

// TestStreams proves that memory does not grow with the session: 32 MiB are
// shown and compared within a few.
func TestStreams(t *testing.T) {
	const turns, limit = 8000, 16 << 20
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var peak uint64
	if err := transcript.Show(io.Discard, session.NewReader(long(turns, &peak)), transcript.Options{}); err != nil {
		t.Fatal(err)
	}
	if peak > before.HeapAlloc+limit {
		t.Errorf("show: %d MiB in use", peak>>20)
	}
	peak = 0
	var other uint64
	c, err := transcript.Compare(func() (*session.Reader, error) { return session.NewReader(long(turns, &peak)), nil },
		func() (*session.Reader, error) { return session.NewReader(long(turns, &other)), nil }, "a", "b")
	if err != nil || !c.Equal {
		t.Fatal(err)
	}
	if peak > before.HeapAlloc+limit {
		t.Errorf("compare: %d MiB in use", peak>>20)
	}
}

// FuzzShow feeds sessions with sealed lines of any content: no panic, and what
// is printed is safe.
func FuzzShow(f *testing.F) {
	f.Add("tool.result", `,"turn":1,"id":"c","outcome":"success","text":"x"`, 40)
	f.Add("response", `,"turn":1,"items":[{"args":"{\"a\":[1,{}]}","name":"t","type":"tool_call"},{"text":"\u001b[31m","type":"text"}]`, 80)
	f.Add("guard", `,"lane":"x","turn":2,"g":"g","v":1,"mode":"shadow","act":"a"`, 200)
	f.Add("footer", `,"reason":"r","turns":1,"calls":0,"attempts":0,"cost_pico":null,"answer_digest":"00"`, 0)
	f.Fuzz(func(t *testing.T, typ, payload string, width int) {
		var b bytes.Buffer
		w := session.NewWriter(&b)
		err := w.Line(session.TypeHeader, []byte(`,"v":"harnessbench/session/1","canon":"canon/1","scenario":"s","repetition":0,"model":"m/x","config":{},"config_digest":"`+model.SumString("{}").String()+`"`))
		for range 2 {
			if err == nil {
				err = w.Line(session.Type(typ), []byte(payload))
			}
		}
		_ = w.Flush()
		for _, o := range []transcript.Options{{Width: width}, {Full: true}, {Turn: 1}} {
			var out strings.Builder
			_ = transcript.Show(&out, reader(b.Bytes()), o)
			for _, line := range strings.Split(out.String(), "\n") {
				if cli.SanitizeLine(line) != line {
					t.Fatalf("%q", line)
				}
			}
		}
		_ = transcript.ShowJSON(io.Discard, reader(b.Bytes()), transcript.Options{Turn: 0})
		if c, err := transcript.Compare(again(b.Bytes()), again(b.Bytes()), "a", "b"); err == nil && !c.Equal {
			t.Fatal("a session differs from itself")
		}
	})
}
