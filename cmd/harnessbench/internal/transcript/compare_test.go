package transcript_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/transcript"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/recorder/session"
)

func compare(t testing.TB, a, b []byte) *transcript.Comparison {
	t.Helper()
	c, err := transcript.Compare(again(a), again(b), "a.session.jsonl", "b.session.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func text(t testing.TB, c *transcript.Comparison) string {
	t.Helper()
	var out strings.Builder
	if err := c.WriteText(&out, 0, false); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestCompare(t *testing.T) {
	a, _ := simulate(t, "sim/trap-stuck", "default", set(t))
	b, _ := simulate(t, "sim/trap-stuck", "without-stuck", set(t, "stuck", "shadow"))
	again, _ := simulate(t, "sim/trap-stuck", "default", set(t))
	golden(t, "diff", text(t, compare(t, a, b))+"\n"+text(t, compare(t, b, a))+"\n"+text(t, compare(t, a, again)))
	c := compare(t, a, b)
	if c.Equal || c.First == nil || c.First.Aspect != "guards" {
		t.Errorf("%+v", c.First)
	}
	raw, err := json.Marshal(c)
	if err != nil || !json.Valid(raw) || !bytes.Contains(raw, []byte(`"status":{"messages":"equal"`)) {
		t.Errorf("%s, %v", raw, err)
	}
}

// TestEveryFieldCounts changes each field of each line in turn: the comparison
// must see it, and name the turn, unless the field is an annotation or follows
// from the others.
func TestEveryFieldCounts(t *testing.T) {
	a, _ := simulate(t, "sim/oracle", "default", set(t, "spill.over", "256"))
	free := map[string]bool{"header labels": true, "header config_digest": true, "state inputs": true, "footer inputs": true}
	tried := 0
	r := reader(a)
	for {
		l, err := r.Next()
		if err != nil {
			break
		}
		no, turn := l.No, l.Turn
		var keys []string
		l.Keys(func(key string, _ []byte) { keys = append(keys, key) })
		for _, key := range keys {
			if key == "lane" || key == "turn" || key == "v" && l.Type == session.TypeHeader || key == "canon" || key == "lines" || key == "digest" && l.Type == session.TypeFooter {
				continue
			}
			b, ok := change(t, a, no, key)
			if !ok {
				continue
			}
			c, err := transcript.Compare(again(b), again(a), "changed", "sound")
			if err != nil {
				t.Fatalf("line %d, %s: %v", no, key, err)
			}
			tried++
			name := string(l.Type) + " " + key
			switch {
			case free[name] != c.Equal:
				t.Errorf("line %d, %s: equal is %v", no, name, c.Equal)
			case !c.Equal && l.Type != session.TypeHeader && c.IDs == transcript.Same && (c.First == nil || c.First.Turn != turn || c.First.LineA != no):
				t.Errorf("line %d, %s: first difference %+v", no, name, c.First)
			}
		}
	}
	if tried < 80 {
		t.Errorf("only %d fields were changed", tried)
	}
}

// change returns the session with one field changed and sealed again; ok is
// false when the field has no other value of its kind that is simple to make.
func change(t *testing.T, b []byte, no int, key string) (out []byte, ok bool) {
	t.Helper()
	var buf bytes.Buffer
	err := session.Edit(&buf, bytes.NewReader(b), func(l *session.Line, emit func(session.Type, []byte) error) error {
		p := l.Payload()
		if l.No == no {
			v, _ := l.Field(key)
			n := bytes.Clone(v)
			switch {
			case len(v) > 2 && v[0] == '"' && v[1] != '\\' && v[1] != '0':
				n[1] = '0'
			case len(v) > 2 && v[0] == '"':
				n[1] = '1'
			case v[0] >= '0' && v[0] <= '9':
				n = append([]byte("1"), v...)
			case string(v) == "{}" || string(v) == "[]":
				return emit(l.Type, p)
			case v[0] == '{' && key != "body" && key != "error":
				n = append([]byte(`{"zz":"1",`), v[1:]...)
			default:
				return emit(l.Type, p)
			}
			var err error
			if p, err = l.With("/"+key, n); err != nil {
				return err
			}
			ok = true
		}
		return emit(l.Type, p)
	})
	if err != nil {
		t.Fatal(err)
	}
	return buf.Bytes(), ok
}

func TestCompareBroken(t *testing.T) {
	a, _ := simulate(t, "sim/oracle", "default", set(t))
	bad := bytes.Replace(a, []byte("The calendar says"), []byte("the calendar says"), 1)
	_, err := transcript.Compare(again(a), again(bad), "a", "b")
	var side *transcript.SideError
	var broken *session.CorruptError
	if !errors.As(err, &side) || side.Side != 1 || !errors.As(err, &broken) {
		t.Errorf("%v", err)
	}
	cut := a[:bytes.LastIndexByte(a[:len(a)-1], '\n')+1]
	c := compare(t, cut, a)
	if c.Equal || c.End[0].Reason != "" || !strings.Contains(text(t, c), "unfinished after") {
		t.Errorf("%+v\n%s", c, text(t, c))
	}
}

// TestCompareHostile proves that a comparison prints nothing a terminal obeys.
func TestCompareHostile(t *testing.T) {
	plain, _ := simulate(t, "sim/oracle", "default", set(t))
	got := text(t, compare(t, hostile(t), plain))
	if strings.ContainsAny(got, "\x1b\x07\r\x00\u202e\u009b") {
		t.Errorf("%q", got)
	}
	if c := compare(t, hostile(t), hostile(t)); !c.Equal {
		t.Errorf("%+v", c.First)
	}
}

// without takes the lines of one turn out of a session.
func without(t *testing.T, b []byte, lane string, turn int) []byte {
	t.Helper()
	var buf bytes.Buffer
	err := session.Edit(&buf, bytes.NewReader(b), func(l *session.Line, emit func(session.Type, []byte) error) error {
		if l.Lane == lane && l.Turn == turn {
			return nil
		}
		return emit(l.Type, l.Payload())
	})
	if err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// A turn that one session does not have is told as such, and the turns after it
// stand beside each other again.
func TestInsertedTurn(t *testing.T) {
	a, _ := simulate(t, "sim/oracle", "default", set(t))
	b := without(t, a, event.MainLane, 2)
	removed, inserted := compare(t, a, b), compare(t, b, a)
	for i, row := range removed.Turns {
		back := inserted.Turns[i]
		switch want := i; {
		case row.A != want || back.B != want:
			t.Errorf("row %d: %+v, %+v", i, row, back)
		case i == 2 && (row.B != transcript.None || back.A != transcript.None):
			t.Errorf("turn 2 has a partner: %+v, %+v", row, back)
		case i != 2 && (row.B == transcript.None || row.Status[3] == transcript.Differs):
			t.Errorf("turn %d: %+v", i, row)
		}
	}
	if len(removed.Turns) < 4 || removed.First == nil || removed.First.Turn != 2 || removed.First.LineB != 0 {
		t.Errorf("%d rows, first %+v", len(removed.Turns), removed.First)
	}
	raw, err := json.Marshal(removed)
	if err != nil || !bytes.Contains(raw, []byte(`"turn":2,"turn_a":2,"turn_b":null`)) {
		t.Errorf("%s, %v", raw, err)
	}
	golden(t, "diff-inserted", text(t, removed)+"\n"+text(t, inserted))
}

// lanes writes a session in which two lanes take turns in the order given; upper
// case is lane main, what is said is the letter.
func lanes(t *testing.T, order string) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := session.NewWriter(&buf)
	line := func(typ session.Type, payload string) {
		if err := w.Line(typ, []byte(payload)); err != nil {
			t.Fatal(err)
		}
	}
	line(session.TypeHeader, `,"v":"harnessbench/session/1","canon":"canon/1","scenario":"s","repetition":0,"model":"m/m","config":{}`)
	turns := map[string]int{}
	for _, c := range order {
		lane := ""
		if c >= 'a' {
			lane = `,"lane":"sub"`
		}
		turns[lane]++
		line(session.TypeRequest, fmt.Sprintf(`%s,"turn":%d,"chain":"00112233445566778899aabbccddeeff"`, lane, turns[lane]))
		line(session.TypeResponse, fmt.Sprintf(`%s,"items":[{"text":"%c","type":"text"}]`, lane, c))
	}
	line(session.TypeFooter, `,"reason":"completed","turns":9,"calls":0,"attempts":0,"cost_pico":null,"answer_digest":"`+strings.Repeat("0", 64)+`","at_us":0,"inputs":"`+strings.Repeat("0", 64)+`"`)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// The turns of a lane are compared with those of the same lane, in whatever order
// the lanes took turns.
func TestLanesTakeTurns(t *testing.T) {
	c := compare(t, lanes(t, "AaBbCc"), lanes(t, "abcABC"))
	if c.First != nil || len(c.Turns) != 6 {
		t.Errorf("%d rows, first %+v", len(c.Turns), c.First)
	}
	c = compare(t, lanes(t, "AaBbCc"), lanes(t, "acABXC"))
	got := ""
	for _, row := range c.Turns {
		got += fmt.Sprintf("%s %d %d; ", row.Lane, row.A, row.B)
	}
	if want := "main 1 1; sub 1 1; main 2 2; sub 2 -1; main -1 3; main 3 4; sub 3 2; "; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
