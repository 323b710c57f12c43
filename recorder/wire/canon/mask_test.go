package canon

import (
	"slices"
	"testing"
)

func TestMaskCredentials(t *testing.T) {
	for in, want := range map[string]string{
		`{"tools":[{"type":"mcp","authorization":"tok\"en","headers":{"X":"abc","Y":1}},{"authorization":""}],"input":"authorization"}`: `{"tools":[{"type":"mcp","authorization":"*******","headers":{"X":"***","Y":1}},{"authorization":""}],"input":"authorization"}`,
		`{"mcp_servers":[{"authorization_token":"abc"}], "x":"authorization", "tools":{"authorization":"text"}}`:                        `{"mcp_servers":[{"authorization_token":"***"}], "x":"authorization", "tools":{"authorization":"text"}}`,
		`{"tools":[{"authorization":"abc","authorization":"def"}],`:                                                                     `{"tools":[{"authorization":"***","authorization":"***"}],`,
		`authorization`: `authorization`, `{"messages":[{"headers":{"a":"b"}}]}`: `{"messages":[{"headers":{"a":"b"}}]}`, ``: ``,
	} {
		if got := string(MaskCredentials([]byte(in), nil)); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
	var found []string
	MaskCredentials([]byte(`{"tools":[{"authorization":"a\"b","headers":{"X":"c"}}]}`), func(name, value string) { found = append(found, name+"="+value) })
	if want := []string{`authorization=a"b`, "X=c"}; !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
}
