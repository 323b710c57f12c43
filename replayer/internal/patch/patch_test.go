package patch

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestReplace(t *testing.T) {
	const payload = `,"a":{"x":1,"y":[1.0,{"k/~":"v"},3]},"b":"text","c":null`
	for _, c := range []struct {
		pointer, value, want string
	}{
		{"/b", `"other"`, `,"a":{"x":1,"y":[1.0,{"k/~":"v"},3]},"b":"other","c":null`},
		{"/a/y/1/k~1~0", `2`, `,"a":{"x":1,"y":[1.0,{"k/~":2},3]},"b":"text","c":null`},
		{"/a/y/0", ``, `,"a":{"x":1,"y":[{"k/~":"v"},3]},"b":"text","c":null`},
		{"/a", ``, `,"b":"text","c":null`},
		{"/nowhere", `1`, payload},
		{"/a/y/9", `1`, payload},
		{"/b/deeper", `1`, payload},
	} {
		var v jsontext.Value
		if c.value != "" {
			v = jsontext.Value(c.value)
		}
		got, err := Replace([]byte(payload), map[string]jsontext.Value{c.pointer: v})
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v\nwant %s", c.pointer, got, err, c.want)
		}
	}
	if got, err := Replace([]byte(`,"a":1`), map[string]jsontext.Value{"/a": nil}); err != nil || len(got) != 0 {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := Replace([]byte(`,"a":1,"b":2`), map[string]jsontext.Value{"/a": jsontext.Value("7"), "/b": nil}); err != nil || string(got) != `,"a":7` {
		t.Errorf("%q, %v", got, err)
	}
}

func TestReverse(t *testing.T) {
	for in, want := range map[string]string{
		`[{"a":1,"b":{"x":1,"y":2}},3]`: `[{"b":{"x":1,"y":2},"a":1},3]`,
		`{}`:                            `{}`, `"s"`: `"s"`, `[]`: `[]`,
	} {
		if got := Reverse(jsontext.Value(in)); string(got) != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
		if got := Reverse(Reverse(jsontext.Value(in))); string(got) != in {
			t.Errorf("%s: twice %s", in, got)
		}
	}
}

// FuzzReplace: whatever the bytes, there is no panic; without pointers nothing
// changes.
func FuzzReplace(f *testing.F) {
	f.Add(`,"a":[1,{"b":2}]`, "/a/1/b", `3`)
	f.Add(`,"a":`, "/a", ``)
	f.Fuzz(func(t *testing.T, payload, pointer, value string) {
		if got, err := Replace([]byte(payload), nil); err != nil || string(got) != payload {
			t.Errorf("%q became %q, %v", payload, got, err)
		}
		_, _ = Replace([]byte(payload), map[string]jsontext.Value{pointer: jsontext.Value(value)})
	})
}
