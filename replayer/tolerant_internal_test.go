package replayer

import "testing"

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
