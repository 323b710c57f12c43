package tool

import (
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/loop/model"
)

func TestShort(t *testing.T) {
	const schema = `{"$defs":{"a/b":{"title":"x","type":"integer"}},"description":"d","properties":{"count":{"description":"how many","minimum":1,"type":"integer"},"description":{"type":"string"},"kind":{"anyOf":[{"const":1},{"title":"t","type":"string"}]}},"required":["count"],"type":"object"}`
	tests := []struct{ pointer, want string }{
		{"/properties/count", `{"minimum":1,"type":"integer"}`},
		{"/properties/description", `{"type":"string"}`},
		{"/properties/kind/anyOf/1", `{"type":"string"}`},
		{"/$defs/a~1b", `{"type":"integer"}`},
		{"/%24defs/a~1b", `{"type":"integer"}`},
		{"", `{"$defs":{"a/b":{"type":"integer"}},"properties":{"count":{"minimum":1,"type":"integer"},"description":{"type":"string"},"kind":{"anyOf":[{"const":1},{"type":"string"}]}},"required":["count"],"type":"object"}`},
	}
	for _, tt := range append(tests, struct{ pointer, want string }{"/nowhere", tests[5].want}) {
		if got := short(schema, tt.pointer); got != tt.want {
			t.Errorf("%q shows %s\nwant %s", tt.pointer, got, tt.want)
		}
	}
	long := short(`{"enum":["`+strings.Repeat("ä", 1000)+`"]}`, "")
	if len(long) > maxShort+3 || !strings.HasSuffix(long, "...") {
		t.Errorf("%d bytes of a long schema: %.20s", len(long), long)
	}
}

// What a model is told of arguments that do not fit: where, what is expected there,
// and, apart from it, no more than that they are wrong.
func TestExpected(t *testing.T) {
	set, err := NewSet(Recorded(Spec{ToolSpec: model.ToolSpec{Name: "get", Version: 1,
		Schema: `{"additionalProperties":false,"properties":{"of":{"items":{"properties":{"n/m":{"description":"d","type":"integer"}},"type":"object"},"type":"array"}},"required":["of"],"type":"object"}`}, Effect: "read"}, nil))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		args, pointer, expected string
		malformed               bool
	}{
		{`{"of":[{"n/m":1},{"n/m":"x"}]}`, "/of/1/n~1m", `{"type":"integer"}`, false},
		{`{"of":1}`, "/of", `{"items":{"properties":{"n/m":{"type":"integer"}},"type":"object"},"type":"array"}`, false},
		{`{}`, "", `{"additionalProperties":false,"properties":{"of":`, false},
		{`{"of":[]`, "", `{"additionalProperties":false,"properties":{"of":`, true},
		{`[]`, "", `{"additionalProperties":false,"properties":{"of":`, false},
		{`{"of":[],"of":[]}`, "", `{"additionalProperties":false,"properties":{"of":`, false},
	}
	for _, tt := range tests {
		p := set.Prepare(model.ToolCall{Name: "get", Args: tt.args})
		if p.Pointer != tt.pointer || !strings.HasPrefix(p.Expected, tt.expected) || p.Malformed != tt.malformed || p.Plain != "invalid arguments" {
			t.Errorf("%s: at %q %s, malformed %v, plain %q", tt.args, p.Pointer, p.Expected, p.Malformed, p.Plain)
		}
	}
	if p := set.Prepare(model.ToolCall{Name: "get", Args: `{"of":[]}`}); p.Plain+p.Pointer+p.Expected != "" || p.Malformed {
		t.Errorf("sound arguments: %+v", p)
	}
}
