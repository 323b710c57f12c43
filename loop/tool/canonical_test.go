package tool

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

var seeds = []string{
	`{}`, ` { } `, `{"a":1}`, `{"b":1,"a":"x"}`, `{"a":1,"a":2}`, `{"a":-0}`, `{"a":01}`, `{"a":1.5e3}`, `{"a":"\u0041\/\n\\\""}`,
	`{"é":1,"z":2,"a":true,"b":null,"c":false}`, `{"a!":1,"a":2}`, `{"a":[1,{"b":2}]}`, `{"a":1,}`, `{,}`, `{"a"}`, `[1]`, `"x"`, `1`, ``,
	"{\"a\":\"\xff\"}", "{\"a\":\"\u2028\x7f\"}", `{"a":123456789012345678901234567890}`, `{"a":"` + "\t" + `"}`, `{"𐀀":1,"":2}`, `{"a":1}{`,
	`{"a":1.0}`, `{"path":"a","limit":3,"kind":"a","on":true,"x":1}`, `{"path":"","on":1}`, `{"p\u0061th":"x"}`,
}

// FuzzCanonical: the fast way and the general way agree; the result is canonical
// and means the same.
func FuzzCanonical(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		slow, err := canonicalAny(in)
		if fast, ok := canonicalFlat(in); ok && (err != nil || fast != slow) {
			t.Fatalf("%q: fast %q, general %q, %v", in, fast, slow, err)
		}
		out, err2 := Canonical(in)
		if out != slow || (err == nil) != (err2 == nil) {
			t.Fatalf("%q: Canonical %q, %v; general %q, %v", in, out, err2, slow, err)
		}
		if err != nil {
			return
		}
		if again, err := Canonical(out); again != out || err != nil {
			t.Fatalf("%q: not idempotent: %q, then %q, %v", in, out, again, err)
		}
		if again, err := canonicalAny(out); again != out || err != nil {
			t.Fatalf("%q: the general way changes %q to %q, %v", in, out, again, err)
		}
		if strings.ContainsAny(out, "\n\t\r") || !jsontext.Value(out).IsValid() {
			t.Fatalf("%q: result %q", in, out)
		}
	})
}

// FuzzFlatSchema: what the fast validator accepts the full one accepts.
func FuzzFlatSchema(f *testing.F) {
	schemas := []string{
		`{"additionalProperties":false,"properties":{"kind":{"enum":["a","é\n"],"type":"string"},"limit":{"maximum":2000,"minimum":1,"type":"integer"},"on":{"type":"boolean"},"path":{"maxLength":5,"minLength":2,"type":"string"},"x":{"minimum":-3,"type":"number"}},"required":["path"],"type":"object"}`,
		`{"properties":{"a":{"type":"string"},"b":{"maxLength":3,"type":"string"}},"required":["a"],"type":"object"}`,
		`{"additionalProperties":true,"type":"object"}`,
	}
	var compiled []*schema
	for _, s := range schemas {
		c, err := compile(s)
		if err != nil || c.flat == nil {
			f.Fatalf("%s: %v", s, err)
		}
		compiled = append(compiled, c)
	}
	for _, s := range seeds {
		for i := range schemas {
			f.Add(s, i)
		}
	}
	f.Add(`{"path":"éééé","kind":"é\n"}`, 0)
	f.Add(`{"path":"\u0001"}`, 0)
	f.Fuzz(func(t *testing.T, in string, which int) {
		args, err := canonicalArgs(in)
		if err != nil {
			return
		}
		s := compiled[uint(which)%uint(len(compiled))]
		if s.flat.accepts(args) {
			if f := s.validateFull(args); f != nil {
				t.Fatalf("%s: accepted, but %s", args, f.text)
			}
		}
	})
}

// TestFlatSchemaIsUsed: the common calls take the fast way, or it is worth
// nothing.
func TestFlatSchemaIsUsed(t *testing.T) {
	s, err := compile(`{"additionalProperties":false,"properties":{"limit":{"maximum":2000,"minimum":1,"type":"integer"},"path":{"minLength":1,"type":"string"}},"required":["path"],"type":"object"}`)
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]bool{
		`{"path":"a"}`:              true,
		`{"limit":5,"path":"a\nb"}`: true,
		`{"limit":5}`:               false,
		`{"limit":5.0,"path":"a"}`:  false, // valid, but for the full validator to say
		`{"limit":0,"path":"a"}`:    false,
		`{"path":""}`:               false,
		`{"path":"a","q":1}`:        false,
	} {
		if got := s.flat.accepts(args); got != want {
			t.Errorf("accepts(%s) = %v", args, got)
		}
	}
	for _, beyond := range []string{
		`{}`, `{"type":"array"}`, `{"properties":{"a":{"pattern":"x","type":"string"}},"type":"object"}`,
		`{"properties":{"a":{}},"type":"object"}`, `{"properties":{"a":{"type":["string","null"]}},"type":"object"}`,
		`{"anyOf":[{"required":["a"]}],"type":"object"}`, `{"required":["b"],"type":"object"}`,
		`{"properties":{"a":{"minimum":0.5,"type":"number"}},"type":"object"}`,
	} {
		s, err := compile(beyond)
		if err != nil {
			t.Fatal(err)
		}
		if s.flat != nil {
			t.Errorf("%s: has a fast path", beyond)
		}
	}
}
