package replayer

import (
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
)

func TestEqualValues(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":[2]}`, `{ "b": [2.0], "a": 10e-1 }`, true},
		{`25`, `25.0`, true},
		{`9007199254740993`, `9007199254740992`, false}, // equal as doubles
		{`1e400`, `10e399`, true},
		{`1e9223372036854775807`, `1e9223372036854775807`, true},
		{`1e9223372036854775807`, `10e9223372036854775806`, false}, // nobody counts that far
		{`-0`, `0`, true},
		{`-1.50`, `-15e-1`, true},
		{`1`, `-1`, false},
		{`1`, `"1"`, false},
		{`[1,2]`, `[2,1]`, false},
		{`{"a":null}`, `{}`, false},
		{`{"a":null}`, `{"b":null}`, false},
		{`true`, `true`, true},
		{`"é"`, `"\u00e9"`, true},
	} {
		a, okA := decodeValue(c.a)
		b, okB := decodeValue(c.b)
		if !okA || !okB || equalValues(a, b) != c.want || equalValues(b, a) != c.want {
			t.Errorf("%s and %s: want %v", c.a, c.b, c.want)
		}
	}
	for _, bad := range []string{``, `{`, `1 2`, `{}x`} {
		if _, ok := decodeValue(bad); ok {
			t.Errorf("%q is JSON?", bad)
		}
	}
}

// A rule that is read applies to any two lines without harm, and counts nothing
// where they are equal.
func FuzzRung(f *testing.F) {
	for _, rule := range []string{"args-json", "ignore=/text", "ignore=tool.result/delta/0/text", "ignore=part/body/content/~1~0", "ignore=/", "ignore=x/y"} {
		f.Add(rule, `{"text":"a","delta":[{"text":"b"}]}`, `{"text":[],"delta":{}}`)
	}
	f.Fuzz(func(t *testing.T, rule, rec, act string) {
		g, err := ParseRung(rule)
		if err != nil {
			return
		}
		if g.String() != rule {
			t.Errorf("%q is %q", rule, g)
		}
		a, okA := decodeValue(rec)
		b, okB := decodeValue(act)
		am, mapA := a.(map[string]any)
		bm, mapB := b.(map[string]any)
		if !okA || !okB || !mapA || !mapB {
			return
		}
		d := newLadder([]Rung{g})
		for typ := range known {
			one, _ := decodeValue(rec)
			two, _ := decodeValue(rec)
			d.apply(typ, one.(map[string]any), two.(map[string]any), nil)
			if d.eased != 0 {
				t.Fatalf("%q counts a difference between equal lines %s", rule, rec)
			}
		}
		d.apply(g.typ, am, bm, &event.ToolRequest{Args: rec, Call: model.ToolCall{Args: act}})
	})
}

// The key of a number is equal exactly where the values are.
func TestNumberKey(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	lexeme := func() string {
		s := strconv.Itoa(rnd.IntN(41) - 20)
		if rnd.IntN(2) == 0 {
			s += "." + strings.Repeat("0", rnd.IntN(3)) + strconv.Itoa(rnd.IntN(30))
		}
		if rnd.IntN(2) == 0 {
			s += []string{"e", "E", "e+", "e-"}[rnd.IntN(4)] + strconv.Itoa(rnd.IntN(4))
		}
		return s
	}
	same := 0
	for range 20_000 {
		a, b := lexeme(), lexeme()
		x, okX := new(big.Rat).SetString(a)
		y, okY := new(big.Rat).SetString(b)
		if !okX || !okY {
			t.Fatal(a, b)
		}
		if equal := x.Cmp(y) == 0; equal != (numberKey(a) == numberKey(b)) {
			t.Fatalf("%s and %s: equal %v, keys %s and %s", a, b, equal, numberKey(a), numberKey(b))
		} else if equal {
			same++
		}
	}
	if same < 50 {
		t.Errorf("only %d pairs were equal", same)
	}
}
