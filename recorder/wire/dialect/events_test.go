package dialect

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The examples of the specification and what real servers send beside them.
var eventTests = []struct {
	name, in string
	want     []Event // Start and End are checked apart
}{
	{"one", "data: a\n\n", []Event{{Data: []byte("a")}}},
	{"no space", "data:a\n\n", []Event{{Data: []byte("a")}}},
	{"one space only is dropped", "data:  a\n\n", []Event{{Data: []byte(" a")}}},
	{"data of many lines", "data: YHOO\ndata: +2\ndata\ndata: 10\n\n", []Event{{Data: []byte("YHOO\n+2\n\n10")}}},
	{"comments", ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
		[]Event{{ID: "1", Data: []byte("first event")}, {Data: []byte("second event")}, {Data: []byte(" third event")}}},
	{"empty data", "data\n\ndata\ndata\n\ndata:", []Event{{Data: []byte("")}, {Data: []byte("\n")}}},
	{"names", "event: ping\ndata: {}\n\ndata: x\n\n", []Event{{Name: "ping", Data: []byte("{}")}, {Data: []byte("x")}}},
	{"a name without data", "event: ping\n\ndata: x\n\n", []Event{{Data: []byte("x")}}},
	{"CRLF", "event: a\r\ndata: x\r\n\r\ndata: y\r\n\r\n", []Event{{Name: "a", Data: []byte("x")}, {Data: []byte("y")}}},
	{"CR", "data: x\rdata: y\r\rdata: z\r\r", []Event{{Data: []byte("x\ny")}, {Data: []byte("z")}}},
	{"mixed line ends", "data: x\r\n\ndata: y\n\r\n", []Event{{Data: []byte("x")}, {Data: []byte("y")}}},
	{"byte order mark", "\xef\xbb\xbfdata: x\n\n", []Event{{Data: []byte("x")}}},
	{"byte order mark later", "data: x\n\n\xef\xbb\xbfdata: y\n\n", []Event{{Data: []byte("x")}}},
	{"the id stays", "id: 7\ndata: x\n\ndata: y\n\n", []Event{{ID: "7", Data: []byte("x")}, {ID: "7", Data: []byte("y")}}},
	{"an id with NUL is none", "id: a\x00\ndata: x\n\n", []Event{{Data: []byte("x")}}},
	{"unknown fields", "retry: 10\nfoo: bar\n data: no\ndata: x\n\n", []Event{{Data: []byte("x")}}},
	{"torn", "data: x\n\ndata: y\n", []Event{{Data: []byte("x")}}},
	{"torn line", "data: x\n\ndata: y", []Event{{Data: []byte("x")}}},
	{"a colon in the data", "data: a: b\n\n", []Event{{Data: []byte("a: b")}}},
	{"no UTF-8", "data: \xff\xc3\n\n", []Event{{Data: []byte("\xff\xc3")}}},
	{"nothing", "", nil},
	{"blank lines", "\n\n\r\n\r", nil},
}

func TestEvents(t *testing.T) {
	for _, tt := range eventTests {
		t.Run(tt.name, func(t *testing.T) {
			got := Events([]byte(tt.in))
			checkSpans(t, []byte(tt.in), got)
			for i := range got {
				got[i].Start, got[i].End = 0, 0
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", tt.in, diff)
			}
		})
	}
}

// checkSpans: events lie end to end, and each is found alone in its own bytes.
func checkSpans(t *testing.T, body []byte, all []Event) {
	t.Helper()
	var joined []byte
	end := 0
	for i, e := range all {
		if e.Start != end || e.End <= e.Start || e.End > len(body) {
			t.Fatalf("event %d is [%d,%d) after %d of %d", i, e.Start, e.End, end, len(body))
		}
		piece := body[e.Start:e.End]
		joined = append(joined, piece...)
		alone := Events(piece)
		if len(alone) != 1 || alone[0].Name != e.Name || !bytes.Equal(alone[0].Data, e.Data) {
			t.Fatalf("event %d is %+v, alone %+v", i, e, alone)
		}
		end = e.End
	}
	if joined = append(joined, body[end:]...); !bytes.Equal(joined, body) {
		t.Fatalf("the pieces of %q are %q", body, joined)
	}
	if rest := Events(body[end:]); len(rest) != 0 && !bytes.HasPrefix(body[end:], []byte("\xef\xbb\xbf")) {
		t.Fatalf("the rest %q has events", body[end:])
	}
}

func TestEventsDoNotWriteIntoTheBody(t *testing.T) {
	body := []byte("data: a\ndata: b\n\n")
	Events(body)
	if string(body) != "data: a\ndata: b\n\n" {
		t.Errorf("the body is now %q", body)
	}
}

func FuzzEvents(f *testing.F) {
	for _, tt := range eventTests {
		f.Add([]byte(tt.in))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		all := Events(body)
		if bytes.Count(body, []byte("\xef\xbb\xbf")) == 0 { // a piece alone may begin with one that counted as data
			checkSpans(t, body, all)
		}
		for _, e := range all {
			if strings.ContainsAny(e.Name, "\r\n") || bytes.IndexByte(e.Data, '\r') >= 0 {
				t.Fatalf("a line end within %+v", e)
			}
		}
	})
}

func TestRoute(t *testing.T) {
	for _, tt := range []struct {
		method, path string
		api          API
		aux          string
		ok           bool
	}{
		{"POST", "/v1/chat/completions", Chat, "", true},
		{"POST", "/chat/completions", Chat, "", true},
		{"POST", "/v1/chat/completions/?x=1", Chat, "", true},
		{"GET", "/v1/chat/completions", "", "", false},
		{"POST", "/v1/responses", Responses, "", true},
		{"POST", "/responses/input_tokens", Responses, AuxInputTokens, true},
		{"POST", "/v1/messages?beta=true", Messages, "", true},
		{"POST", "/v1/v1/messages", Messages, "", true},
		{"POST", "/v1/messages/count_tokens?beta=true", Messages, AuxCountTokens, true},
		{"GET", "/v1/models", "", AuxModels, true},
		{"GET", "/models/", "", AuxModels, true},
		{"GET", "/v1/models/sim/weak", "", AuxModel, true},
		{"HEAD", "/", "", AuxRoot, true},
		{"GET", "/v1", "", AuxRoot, true},
		{"POST", "/", "", "", false},
		{"POST", "/v1/embeddings", "", "", false},
		{"POST", "/v1chat/completions", "", "", false},
		{"GET", "/v1/responses/resp_1", "", "", false},
		{"POST", "", "", "", false},
	} {
		api, aux, ok := Route(tt.method, tt.path)
		if api != tt.api || aux != tt.aux || ok != tt.ok {
			t.Errorf("%s %s: %q %q %v", tt.method, tt.path, api, aux, ok)
		}
	}
}
