package transcript_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/transcript"
	"github.com/harnessbench/harnessbench/recorder/session"
)

func compare(t testing.TB, a, b []byte) *transcript.Comparison {
	t.Helper()
	c, err := transcript.Compare(reader(a), reader(b), "a.session.jsonl", "b.session.jsonl")
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
			c, err := transcript.Compare(reader(b), reader(a), "changed", "sound")
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
	_, err := transcript.Compare(reader(a), reader(bad), "a", "b")
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
