package dialect

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop/model"
)

var texts = []string{"", " ", "a", "\n", "\r\n", "data: x\n\n", "h\u00e9llo \U0001F600", "\U0001F469\u200d\U0001F4BB\U0001F1E9\U0001F1EA", "\u2028\u2029\x00\x7f", `"\ </script>`, "[DONE]", "e\u0301\u0301"}

func randomText(rnd *rand.Rand) string {
	var b strings.Builder
	for range rnd.IntN(6) {
		switch rnd.IntN(5) {
		case 0:
			b.WriteRune(rune(1 + rnd.IntN(0xD000)))
		case 1:
			b.WriteString(strings.Repeat(texts[rnd.IntN(len(texts))], 1+rnd.IntN(30)))
		default:
			b.WriteString(texts[rnd.IntN(len(texts))])
			b.WriteString(" word")
		}
	}
	if rnd.IntN(100) == 0 {
		return strings.Repeat(b.String()+"long ", 3_000)
	}
	return b.String()
}

func randomArgs(rnd *rand.Rand) string {
	switch rnd.IntN(8) {
	case 0:
		return randomText(rnd) // malformed as a rule
	case 1:
		return `{"a":1e3,"a":2}`
	case 2:
		return `{"INVALID_JSON":"x"}`
	case 3:
		return `[1,2]`
	case 4:
		return "{ \"a\" : [1.50, -0, 1E400] ,\n\"b\":null}"
	case 5:
		return strings.Repeat(`{"a":`, 400) + "1" + strings.Repeat("}", 400)
	}
	return string(object("path", randomText(rnd), "n", rnd.IntN(100)))
}

func randomResponse(rnd *rand.Rand) *model.Response {
	r := &model.Response{Model: "sim/" + texts[1+rnd.IntN(4)], Finish: []model.Finish{"", model.FinishStop, model.FinishCalls, model.FinishLength, "content_filter"}[rnd.IntN(5)]}
	n := rnd.IntN(5)
	if rnd.IntN(50) == 0 {
		n = 200 // parallel calls
	}
	for i := range n {
		switch kind := rnd.IntN(8); {
		case kind == 0:
			r.Items = append(r.Items, model.Item{Type: model.Reasoning, Text: randomText(rnd)})
		case kind < 3:
			r.Items = append(r.Items, model.Item{Type: model.Text, Text: randomText(rnd)})
		case kind == 3:
			r.Items = append(r.Items, model.Item{Type: model.ProviderCall, Evidence: `{"id":"p","n":[1e2,null],"type":"web_search_result"}`})
		default:
			r.Items = append(r.Items, model.Item{Type: model.CallItem, Call: model.ToolCall{ID: fmt.Sprintf("call_%d", i), Name: "tool_" + texts[2+rnd.IntN(2)], Args: randomArgs(rnd)}})
		}
	}
	if rnd.IntN(8) == 0 {
		r.Usage.Unknown = true
	} else {
		r.Usage = model.Usage{InputUncached: 1 + rnd.Int64N(1e6), CacheRead: rnd.Int64N(1e6), CacheWrite: rnd.Int64N(3) * 7, Output: rnd.Int64N(1e6)}
		r.Usage.Reasoning = rnd.Int64N(r.Usage.Output + 1)
	}
	return r
}

// kept is what of a response an API can say: the losses that Encode's
// documentation names, and no others.
func kept(c *Call, r *model.Response) *model.Response {
	out := *r
	out.Items = nil
	var thought, said []string
	calls := 0
	var rest []model.Item
	for _, it := range r.Items {
		switch {
		case it.Type == model.CallItem:
			calls++
			if c.API == Messages {
				if trimmed := strings.Trim(it.Call.Args, " \t\r\n"); trimmed == "" {
					it.Call.Args = "{}"
				}
			}
		case it.Type == model.ProviderCall:
			if c.API == Chat {
				continue
			}
		case it.Text == "":
			continue
		case it.Type == model.Reasoning && c.API == Chat:
			thought = append(thought, it.Text)
			continue
		case it.Type == model.Text && c.API == Chat:
			said = append(said, it.Text)
			continue
		}
		rest = append(rest, it)
	}
	if len(thought) > 0 {
		out.Items = append(out.Items, model.Item{Type: model.Reasoning, Text: strings.Join(thought, "\n")})
	}
	if len(said) > 0 {
		out.Items = append(out.Items, model.Item{Type: model.Text, Text: strings.Join(said, "\n")})
	}
	out.Items = append(out.Items, rest...)
	implied := model.FinishStop
	if calls > 0 {
		implied = model.FinishCalls
	}
	if out.Finish == "" || c.API == Responses && (out.Finish == model.FinishStop || out.Finish == model.FinishCalls) {
		out.Finish = implied
	}
	switch {
	case c.API == Messages && r.Usage.Unknown:
		out.Usage = model.Usage{}
	case c.API == Chat && c.Stream && !c.StreamUsage:
		out.Usage = model.Usage{Unknown: true}
	}
	return &out
}

// Parse is the inverse of Encode, streamed and not.
func TestThereAndBack(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 4))
	for i := range 200 {
		r := randomResponse(rnd)
		for _, api := range []API{Chat, Responses, Messages} {
			c := &Call{API: api, Model: "m", Stream: rnd.IntN(2) == 0, StreamUsage: rnd.IntN(2) == 0, Freeform: []string{"tool_a"}}
			reply := Encode(c, "id", r)
			got, merr := Parse(api, reply.Status, headerOf(reply), replyBytes(reply))
			if merr != nil {
				t.Fatalf("%d %s: %v\n%.2000s", i, api, merr, replyBytes(reply))
			}
			if diff := cmp.Diff(kept(c, r), got); diff != "" {
				t.Fatalf("%d %s stream=%v (-want +got):\n%.3000s", i, api, c.Stream, diff)
			}
			if c.Stream {
				checkFrames(t, reply)
			}
		}
	}
}

// checkFrames: each frame is one event and nothing else.
func checkFrames(t *testing.T, r *Reply) {
	t.Helper()
	for _, f := range r.Frames {
		if all := Events(f); len(all) != 1 || all[0].End != len(f) {
			t.Fatalf("a frame of %d events: %q", len(all), f)
		}
	}
}

// A stream that is cut is never an answer, until the event that ends it; of chat
// only the usage comes later.
func TestTruncatedStreams(t *testing.T) {
	for _, api := range []API{Chat, Responses, Messages} {
		r := Encode(&Call{API: api, Stream: true, StreamUsage: true}, "id", sample())
		body := replyBytes(r)
		whole, merr := Parse(api, 200, headerOf(r), body)
		if merr != nil {
			t.Fatal(merr)
		}
		last := map[API]string{Chat: `"finish_reason":"tool_calls"}]`, Responses: "event: response.completed", Messages: "event: message_stop"}[api]
		end := bytes.Index(body, []byte(last))
		for cut := 0; cut < len(body); cut += 5 {
			got, merr := Parse(api, 200, headerOf(r), body[:cut])
			switch {
			case merr != nil && (merr.Kind != model.ErrBrokenStream || len(body)-cut < 3):
				t.Fatalf("%s cut at %d: %v", api, cut, merr)
			case merr == nil && cut < end:
				t.Fatalf("%s cut at %d of %d is an answer", api, cut, len(body))
			case merr == nil:
				if diff := cmp.Diff(whole.Items, got.Items); diff != "" || got.Finish != whole.Finish {
					t.Fatalf("%s cut at %d of %d is another answer (-whole +cut):\n%s", api, cut, len(body), diff)
				}
			}
		}
		body = Encode(&Call{API: api}, "id", sample()).Body
		for cut := range len(body) {
			if _, merr := Parse(api, 200, nil, body[:cut]); merr == nil || merr.Kind != model.ErrBrokenStream {
				t.Fatalf("%s JSON cut at %d: %v", api, cut, merr)
			}
		}
	}
}

// A request that gives an answer back is read as what the loop makes of it.
func TestMalformedArgumentsComeBack(t *testing.T) {
	r := &model.Response{Items: []model.Item{{Type: model.CallItem, Call: model.ToolCall{ID: "c", Name: "f", Args: `{"a":`}}}}
	reply := Encode(&Call{API: Messages}, "id", r)
	n, _ := parseJSON(reply.Body, true)
	body := object("model", "m", "messages", []raw{object("role", "assistant", "content", raw(n.get("content").canonical()))})
	c, err := Decode(Messages, body)
	if err != nil || c.Parts[0].Message.Items[0].Call.Args != `{"a":` {
		t.Fatalf("%v %s", err, c.Parts[0].JSON)
	}
}

func TestEncodeGivesIDs(t *testing.T) {
	r := &model.Response{Items: []model.Item{{Type: model.CallItem, Call: model.ToolCall{Name: "f"}}, {Type: model.CallItem, Call: model.ToolCall{Name: "f"}}}}
	seen := map[string]bool{}
	for _, id := range []string{"a", "b"} {
		for _, api := range []API{Chat, Messages} {
			reply := Encode(&Call{API: api}, id, r)
			if again := Encode(&Call{API: api}, id, r); string(again.Body) != string(reply.Body) {
				t.Fatal("the same answer differs from itself")
			}
			got, merr := Parse(api, 200, nil, reply.Body)
			if merr != nil {
				t.Fatal(merr)
			}
			for _, c := range got.Calls() {
				if c.ID == "" || seen[c.ID] {
					t.Errorf("id %q", c.ID)
				}
				seen[c.ID] = true
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	apis := []API{Chat, Responses, Messages}
	for i, api := range apis {
		for _, stream := range []bool{false, true} {
			f.Add(byte(i), 200, replyBytes(Encode(&Call{API: api, Stream: stream, StreamUsage: true}, "id", sample())))
		}
		for _, e := range sampleErrors {
			r := EncodeError(api, e)
			f.Add(byte(i), r.Status, r.Body)
		}
	}
	for _, tt := range deviations {
		f.Add(byte(slices.Index(apis, tt.api)), 200, []byte(tt.body))
	}
	f.Fuzz(func(t *testing.T, which byte, status int, body []byte) {
		api := apis[int(which)%len(apis)]
		r, merr := Parse(api, status, nil, body)
		if (r == nil) == (merr == nil) {
			t.Fatalf("%v and %v", r, merr)
		}
		if r == nil {
			return
		}
		for _, it := range r.Items { // what Parse gives, Encode can say
			if it.Type == model.ProviderCall && it.Evidence == "" {
				t.Fatal("a provider call without evidence")
			}
		}
		reply := Encode(&Call{API: api, Stream: status%2 == 0}, "id", r)
		if _, merr := Parse(api, 200, headerOf(reply), replyBytes(reply)); merr != nil {
			t.Fatalf("%v: %.2000s", merr, replyBytes(reply))
		}
	})
}
