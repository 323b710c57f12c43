package strictyaml

import (
	"strings"
	"testing"
)

// A document that a program wrote may be larger than what people write; both
// bounds hold, each for itself.
func TestMax(t *testing.T) {
	var list []string
	text := "- " + strings.Repeat("x", MaxBytes) + "\n"
	if err := Unmarshal("f", []byte(text), &list); err == nil || !strings.HasPrefix(err.Error(), "f: the file has 1048579 bytes, the limit is 1048576") {
		t.Error(err)
	}
	if err := UnmarshalMax("f", []byte(text), 2*MaxBytes, &list); err != nil || len(list) != 1 || len(list[0]) != MaxBytes {
		t.Error(len(list), err)
	}
	if err := UnmarshalMax("f", []byte(text+text), 2*MaxBytes, &list); err == nil || !strings.Contains(err.Error(), "the limit is 2097152") {
		t.Error(err)
	}
	many := strings.Repeat("- a\n", maxTokens*3/4) // two tokens each
	if _, err := ParseMax("f", []byte(many), MaxBytes); err == nil || !strings.Contains(err.Error(), "YAML tokens, the limit is 200000") {
		t.Error(err)
	}
	if n, err := ParseMax("f", []byte(many), 2*MaxBytes); err != nil || len(n.Items) != maxTokens*3/4 {
		t.Error(err)
	}
}
