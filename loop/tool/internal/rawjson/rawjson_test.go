package rawjson

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const object = `{"a":"x,}\"]","b":[1,{"c":"]"}],"d":{"e":{}},"f":-1.5e3,"g":true}`

func TestGet(t *testing.T) {
	for name, want := range map[string]string{
		"a": `"x,}\"]"`, "b": `[1,{"c":"]"}]`, "d": `{"e":{}}`, "f": `-1.5e3`, "g": `true`, "c": "", "e": "", "h": "",
	} {
		if got, ok := Get(object, name); got != want || ok != (want != "") {
			t.Errorf("Get(%s) = %q, %v; want %q", name, got, ok, want)
		}
	}
}

func TestReplaceAndSet(t *testing.T) {
	for _, c := range []struct{ object, name, value, want string }{
		{`{}`, "b", "1", `{"b":1}`},
		{`{"a":0}`, "b", "1", `{"a":0,"b":1}`},
		{`{"c":0}`, "b", "1", `{"b":1,"c":0}`},
		{`{"a":0,"c":[0]}`, "b", "1", `{"a":0,"b":1,"c":[0]}`},
		{`{"a":0,"b":{"b":2},"c":0}`, "b", "1", `{"a":0,"b":1,"c":0}`},
	} {
		if got := Set(c.object, c.name, c.value); got != c.want {
			t.Errorf("Set(%s, %s) = %s; want %s", c.object, c.name, got, c.want)
		}
	}
	if got := Replace(`{"a":{"b":1}}`, "b", "2"); got != `{"a":{"b":1}}` {
		t.Errorf("Replace of a missing member: %s", got)
	}
	if got := Replace(`{"a":1,"b":"x"}`, "b", "2"); got != `{"a":1,"b":2}` {
		t.Errorf("Replace: %s", got)
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{`"a\n\"\\é"`: "a\n\"\\é", `"plain"`: "plain", `""`: "", `12`: "12", `null`: "null", ``: "", `"`: `"`} {
		if got := Text(in); got != want {
			t.Errorf("Text(%s) = %q, want %q", in, got, want)
		}
	}
}

// FuzzDecode: the values are those of a general decoder; on other text nothing
// panics.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{object, `{}`, `[]`, `[[],{}]`, `"a\n"`, `null`, `-1.50e3`, `{"a":{"b":[true,false,null,"\u0001"]}}`, `[1`, `{"a`, `{"a":`, `[}`, `[,`, `{"a"1}`, ``} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if strings.Count(in, "[")+strings.Count(in, "{") > 1000 {
			return
		}
		Decode(in)
		canon, err := jsontext.AppendFormat(nil, in, jsontext.ReorderRawObjects(true))
		if err != nil {
			return
		}
		want, err := jsonschema.UnmarshalJSON(bytes.NewReader(canon))
		if err != nil {
			t.Fatalf("%s: %v", canon, err)
		}
		if diff := cmp.Diff(want, Decode(string(canon))); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", canon, diff)
		}
	})
}

// FuzzEach: members are those that a real decoder finds; on other text nothing
// panics.
func FuzzEach(f *testing.F) {
	for _, s := range []string{object, `{}`, `{"a":1}`, `{"a`, `{"a":`, `{"a":"`, `{"a":"\`, `{"a":[`, `[`, ``, `{"":""}`, `{"\n":0}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got := map[string]string{}
		Each(in, func(name, value string) bool { got[name] = value; return true })
		Set(in, "b", "1")
		Replace(in, "b", "1")
		Get(in, "b")
		Text(in)
		canon, err := jsontext.AppendFormat(nil, in, jsontext.ReorderRawObjects(true))
		if err != nil || len(canon) == 0 || canon[0] != '{' {
			return
		}
		var want map[string]jsontext.Value
		if json.Unmarshal(canon, &want) != nil {
			return
		}
		got = map[string]string{}
		Each(string(canon), func(name, value string) bool { got[Text(`"`+name+`"`)] = value; return true })
		if len(got) != len(want) {
			t.Fatalf("%s: %d members, want %d", canon, len(got), len(want))
		}
		for k, v := range want {
			if got[k] != string(v) {
				t.Fatalf("%s: member %q is %q, want %q", canon, k, got[k], v)
			}
		}
	})
}
