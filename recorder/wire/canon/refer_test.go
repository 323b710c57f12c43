package canon

import (
	"testing"

	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
)

// A reference to what stands in the request is renamed with it; one to what the
// provider keeps says what it means by its id alone.
func TestReferences(t *testing.T) {
	for _, tt := range []struct {
		name  string
		api   dialect.API
		a, b  string
		equal bool
	}{
		{"kept items", dialect.Responses, `{"input":[{"type":"item_reference","id":"rs_1"}]}`, `{"input":[{"type":"item_reference","id":"rs_2"}]}`, false},
		{"items of the request", dialect.Responses, `{"input":[{"type":"reasoning","id":"rs_1"},{"type":"item_reference","id":"rs_1"}]}`,
			`{"input":[{"type":"reasoning","id":"rs_2"},{"type":"item_reference","id":"rs_2"}]}`, true},
		{"another item of the request", dialect.Responses, `{"input":[{"type":"reasoning","id":"a"},{"type":"reasoning","id":"b"},{"type":"item_reference","id":"a"}]}`,
			`{"input":[{"type":"reasoning","id":"a"},{"type":"reasoning","id":"b"},{"type":"item_reference","id":"b"}]}`, false},
		{"kept audio", dialect.Chat, `{"messages":[{"role":"assistant","audio":{"id":"a"}}]}`, `{"messages":[{"role":"assistant","audio":{"id":"b"}}]}`, false},
	} {
		a, b := parse(t, tt.api, tt.a, Options{}), parse(t, tt.api, tt.b, Options{})
		if (a.Chain() == b.Chain()) != tt.equal {
			t.Errorf("%s: equal %t, want %t", tt.name, !tt.equal, tt.equal)
		}
	}
}
