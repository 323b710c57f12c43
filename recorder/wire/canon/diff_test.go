package canon

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
)

func TestDiffJSON(t *testing.T) {
	for _, c := range []struct{ a, b, ptr, av, bv string }{
		{`{"a":1,"b":[1,{"c":"x"}]}`, `{"a":1,"b":[1,{"c":"y"}]}`, "/b/1/c", `"x"`, `"y"`},
		{`{"a":1}`, `{"a":1.0}`, "/a", "1", "1.0"},
		{`{"a":1,"c":1}`, `{"b":1,"c":2}`, "/a", "1", ""},
		{`{"b":1}`, `{"a":2,"b":2}`, "/a", "", "2"},
		{`[1,2]`, `[1]`, "/1", "2", ""},
		{`[]`, `[{"x":[]}]`, "/0", "", `{"x":[]}`},
		{`{"a/~":true}`, `{"a/~":null}`, "/a~1~0", "true", "null"},
		{`"x"`, `"y"`, "", `"x"`, `"y"`},
		{`{"😀":1,"\uE000":1}`, `{"😀":2,"\uE000":2}`, "/😀", "1", "2"},
		{`{"a":{}}`, `{"a":[]}`, "/a", "{}", "[]"},
		{``, `{}`, "", "", "{}"},
		{`no`, `json`, "", "no", "json"},
	} {
		ptr, av, bv, equal := DiffJSON([]byte(c.a), []byte(c.b))
		if ptr != c.ptr || av != c.av || bv != c.bv || equal {
			t.Errorf("%s, %s: %q %q %q %v", c.a, c.b, ptr, av, bv, equal)
		}
		if ptr, bv2, av2, _ := DiffJSON([]byte(c.b), []byte(c.a)); ptr != c.ptr || av2 != av || bv2 != bv {
			t.Errorf("%s, %s: the other way round it is %q", c.a, c.b, ptr)
		}
	}
	if ptr, a, b, equal := DiffJSON([]byte(`{"a":1,"b":[]}`), []byte(` {"b":[], "a":1}`)); !equal || ptr+a+b != "" {
		t.Error("key order and white space make a difference")
	}
	if s, ok := Text(`"a\n\u00e9"`); !ok || s != "a\n\u00e9" {
		t.Errorf("%q %v", s, ok)
	}
	if _, ok := Text(`1`); ok {
		t.Error("a number has no text")
	}
}

func TestDiffParts(t *testing.T) {
	part := func(kind model.PartKind, role model.Role, json string) *model.Part {
		return &model.Part{Kind: kind, Role: role, JSON: []byte(json)}
	}
	a := part(model.KindMessage, model.User, `{"content":[{"text":"x","type":"text"}]}`)
	b := part(model.KindMessage, model.User, `{"content":[{"text":"z","type":"text"}]}`)
	for _, c := range []struct {
		a, b        *model.Part
		ptr, av, bv string
	}{
		{a, b, "/content/0/text", `"x"`, `"z"`},
		{a, nil, "", string(a.JSON), ""},
		{nil, b, "", "", string(b.JSON)},
		{nil, nil, "", "", ""},
		{a, a, "", "", ""},
		{part(model.KindSystem, model.System, `{}`), part(model.KindMessage, model.System, `{}`), "", `"system system"`, `"message system"`},
	} {
		if ptr, av, bv := Diff(c.a, c.b); ptr != c.ptr || av != c.av || bv != c.bv {
			t.Errorf("%q %q %q, want %q %q %q", ptr, av, bv, c.ptr, c.av, c.bv)
		}
	}
}

// One changed scalar is found where it is.
func TestDiffFindsTheChange(t *testing.T) {
	body := sample(t, dialect.Responses)
	var ptrs []string
	each(tree(t, body), "", func(ptr string, n *node) {
		if n.kind == '"' {
			ptrs = append(ptrs, ptr)
		}
	})
	for _, at := range ptrs {
		changed := tree(t, body)
		each(changed, "", func(ptr string, n *node) {
			if ptr == at {
				n.text += "\x00"
			}
		})
		w := &writer{rnd: rand.New(rand.NewPCG(1, 1))}
		w.value(changed)
		if ptr, _, bv, _ := DiffJSON(body, []byte(w.b.String())); ptr != at || !strings.HasSuffix(bv, `\u0000"`) {
			t.Fatalf("%s: found %s, %s", at, ptr, bv)
		}
	}
}
