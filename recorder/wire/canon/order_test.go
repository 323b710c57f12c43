package canon

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
)

// batches writes a conversation in which the assistant calls several tools at
// once, several times: orders[i] is the order in which the results of its turn i
// came. Ids begin with salt. Texts are unique, so that each says where it is.
func batches(api dialect.API, salt string, orders [][]int) string {
	var items []string
	add := func(format string, args ...any) { items = append(items, fmt.Sprintf(format, args...)) }
	add(`{"role":"user","content":"task"}`)
	for turn, order := range orders {
		var calls, results []string
		for k := range order {
			calls = append(calls, fmt.Sprintf(map[dialect.API]string{
				dialect.Chat:      `{"id":"%[1]s%[2]d-%[3]d","type":"function","function":{"name":"f","arguments":"{\"x\":\"%[2]d.%[3]d\"}"}}`,
				dialect.Messages:  `{"type":"tool_use","id":"%[1]s%[2]d-%[3]d","name":"f","input":{"x":"%[2]d.%[3]d"}}`,
				dialect.Responses: `{"type":"reasoning","id":"rs%[1]s%[2]d-%[3]d","summary":[]},{"type":"function_call","id":"fc%[1]s%[2]d-%[3]d","call_id":"%[1]s%[2]d-%[3]d","arguments":"{}"}`,
			}[api], salt, turn, k))
		}
		for n, k := range order {
			results = append(results, fmt.Sprintf(map[dialect.API]string{
				dialect.Chat:      `{"role":"tool","tool_call_id":"%[1]s%[2]d-%[3]d","content":"result %[2]d.%[3]d"}`,
				dialect.Messages:  `{"type":"tool_result","tool_use_id":"%[1]s%[2]d-%[3]d","content":"result %[2]d.%[3]d"},{"type":"text","text":"note %[2]d.%[4]d"}`,
				dialect.Responses: `{"type":"function_call_output","id":"fco%[1]s%[2]d-%[3]d","call_id":"%[1]s%[2]d-%[3]d","output":"result %[2]d.%[3]d"}`,
			}[api], salt, turn, k, n))
		}
		switch api {
		case dialect.Chat:
			add(`{"role":"assistant","content":"turn %d","tool_calls":[%s]}`, turn, strings.Join(calls, ","))
			items = append(items, results...)
		case dialect.Messages:
			add(`{"role":"assistant","content":[{"type":"text","text":"turn %d"},%s]}`, turn, strings.Join(calls, ","))
			add(`{"role":"user","content":[{"type":"text","text":"before %d"},%s]}`, turn, strings.Join(results, ","))
		case dialect.Responses:
			items = append(append(items, calls...), results...)
		}
	}
	return `{"` + shapes[api].items + `":[` + strings.Join(items, ",") + `]}`
}

// pointsHome checks that each text of a request is found where its pointer says it
// was sent.
func pointsHome(t *testing.T, r *Request, body string) {
	t.Helper()
	sent := tree(t, []byte(body))
	for i, p := range r.Parts {
		each(tree(t, p.JSON), "", func(place string, n *node) {
			if n.kind != '"' || strings.HasPrefix(n.text, "#") {
				return // the name of an id
			}
			at := r.Pointer(i, place)
			if list, ok := strings.CutSuffix(at, "/0/"+place[strings.LastIndex(place, "/")+1:]); ok && sent.at(list).kind == '"' {
				if at = list; strings.HasSuffix(place, "/type") {
					return // a bare text has no type
				}
			}
			if sent.at(at).text != n.text {
				t.Fatalf("part %d: %s at %s is not at %s of\n%s", i, n.text, place, at, body)
			}
		})
	}
}

// However the results of parallel calls come, their order does not matter with
// result-order, and does without; Raw keeps it; and a conversation begins with its
// beginning.
func TestAnyOrderOfResults(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	o := Options{Normalisers: normalisers(t, Env{}, "result-order")}
	for _, api := range apis {
		for range 60 {
			straight := make([][]int, 1+rnd.IntN(3))
			orders := make([][]int, len(straight))
			moved := 0
			for i := range straight {
				orders[i] = rnd.Perm(1 + rnd.IntN(4))
				straight[i] = slices.Sorted(slices.Values(orders[i]))
				if !slices.Equal(straight[i], orders[i]) {
					moved++
				}
			}
			body := batches(api, strconv.Itoa(rnd.IntN(100)), orders)
			want, plain := parse(t, api, batches(api, "", straight), Options{}), parse(t, api, body, Options{})
			got := parse(t, api, body, o)
			consistent(t, got)
			pointsHome(t, got, body)
			if got.Chain() != want.Chain() || got.Root != want.Root || got.Raw != plain.Raw || got.Applied["result-order"] != moved {
				t.Fatalf("%s, %v, applied %v (-in order +sorted):\n%s", api, orders, got.Applied, cmp.Diff(render(want), render(got)))
			}
			if (plain.Chain() == want.Chain()) != (moved == 0) || (got.Raw == want.Raw) != (moved == 0) {
				t.Fatalf("%s, %v: the order is not seen", api, orders)
			}
			for n := range orders {
				if before := parse(t, api, batches(api, "x", orders[:n]), o); !slices.Equal(before.Chains, got.Chains[:len(before.Chains)]) {
					t.Fatalf("%s, %v: does not begin with its first %d turns", api, orders, n)
				}
			}
		}
	}
}

func TestResultOrder(t *testing.T) {
	const calls = `{"role":"assistant","tool_calls":[{"id":"a"},{"id":"b"},{"id":"c"},{}]}`
	result := func(id string) string { return `{"role":"tool","tool_call_id":"` + id + `","content":"` + id + `"}` }
	o := Options{Normalisers: normalisers(t, Env{}, "result-order")}
	for in, want := range map[string]struct {
		ptrs    string // of the parts after the calls
		batches int
	}{
		"c b a":               {"3 2 1", 1},
		"c x a":               {"3 2 1", 1}, // of an unknown call
		"x c a b":             {"1 3 4 2", 1},
		"y x":                 {"1 2", 0},
		"b a b a":             {"2 4 1 3", 1}, // two of one call
		"a":                   {"1", 0},
		"c a CALLS a":         {"2 1 3 4", 1},
		"b a CALLS c b CALLS": {"2 1 3 5 4 6", 2},
		"c USER b a":          {"1 2 3 4", 0}, // the batch is over
		"USER b a":            {"1 2 3", 0},
		"NONE c":              {"1 2", 0}, // names no call
		"NONE c a":            {"1 3 2", 1},
	} {
		items := []string{calls}
		for word := range strings.FieldsSeq(in) {
			switch word {
			case "CALLS":
				items = append(items, calls)
			case "NONE":
				items = append(items, `{"role":"tool","content":"x"}`)
			case "USER":
				items = append(items, `{"role":"user","content":"x"}`)
			default:
				items = append(items, result(word))
			}
		}
		r := parse(t, dialect.Chat, `{"messages":[`+strings.Join(items, ",")+`]}`, o)
		consistent(t, r)
		var got []string
		for _, ptr := range r.Pointers[1:] {
			got = append(got, strings.TrimPrefix(ptr, "/messages/"))
		}
		if strings.Join(got, " ") != want.ptrs || r.Applied["result-order"] != want.batches {
			t.Errorf("%s: %s, %v", in, got, r.Applied)
		}
	}
}

// Blocks that are no results of the batch, and results elsewhere, stay.
func TestResultsInMessages(t *testing.T) {
	const body = `{"messages":[{"role":"user","content":"go"},
		{"role":"assistant","content":[{"type":"server_tool_use","id":"s"},{"type":"web_search_tool_result","tool_use_id":"s"},{"type":"tool_use","id":"a"}]},
		{"role":"assistant","content":[{"type":"tool_use","id":"b"}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"/home/u/b"},{"type":"text","text":"t"},{"type":"tool_result","tool_use_id":"s"},{"type":"tool_result","tool_use_id":"a"}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"b"},{"type":"tool_result","tool_use_id":"a"}]}]}`
	r := parse(t, dialect.Messages, body, Options{Normalisers: normalisers(t, Env{Home: "/home/u"}, "result-order", "home")})
	want := []string{
		`{"content":[{"tool_use_id":"#2","type":"tool_result"},{"text":"t","type":"text"},{"tool_use_id":"#1","type":"tool_result"},` +
			`{"content":[{"text":"<home>/b","type":"text"}],"tool_use_id":"#3","type":"tool_result"}],"role":"user"}`,
		`{"content":[{"tool_use_id":"#3","type":"tool_result"},{"tool_use_id":"#2","type":"tool_result"}],"role":"user"}`,
	}
	if got := []string{string(r.Parts[3].JSON), string(r.Parts[4].JSON)}; !slices.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	if !maps.Equal(r.Applied, map[string]int{"result-order": 1, "home": 1}) {
		t.Error(r.Applied)
	}
	for place, want := range map[string]string{
		"": "", "/role": "/role", "/content": "/content", "/content/0": "/content/3", "/content/1/text": "/content/1/text",
		"/content/3/content/0/text": "/content/0/content/0/text", "/content/4": "/content/4", "/content/x": "/content/x",
	} {
		if got := r.Pointer(3, place); got != "/messages/3"+want {
			t.Errorf("%s is at %s", place, got)
		}
	}
	if got := r.Pointer(4, "/content/0"); got != "/messages/4/content/0" {
		t.Error(got)
	}
}

// A result that another call gave is an edit and no matter of order.
func TestResultOrderHidesNoEdit(t *testing.T) {
	o := Options{Normalisers: normalisers(t, Env{}, "result-order")}
	for _, api := range apis {
		body := batches(api, "", [][]int{{2, 0, 1}})
		swapped := strings.NewReplacer("result 0.0", "result 0.1", "result 0.1", "result 0.0").Replace(body)
		if parse(t, api, body, o).Chain() == parse(t, api, swapped, o).Chain() {
			t.Errorf("%s: results of two calls changed places unseen", api)
		}
	}
}

// A client that sends only what is new sends results after calls it does not
// repeat; those that came later see them in the order as sent for Raw.
func TestResultOrderOfInheritedCalls(t *testing.T) {
	outputs := []string{`{"type":"function_call_output","id":"o1","call_id":"c1","output":"1"}`, `{"type":"custom_tool_call_output","id":"o2","call_id":"c2","output":"2"}`}
	ask := func(o Options, outputs ...string) *Request {
		var l Lineage
		o.Parent = l.Parent
		l.Add(parse(t, dialect.Responses, `{"input":"hi"}`, o), "application/json",
			[]byte(`{"id":"r1","output":[{"type":"function_call","id":"f1","call_id":"c1"},{"type":"custom_tool_call","id":"f2","call_id":"c2"}]}`))
		results := parse(t, dialect.Responses, `{"previous_response_id":"r1","input":[`+strings.Join(outputs, ",")+`]}`, o)
		consistent(t, results)
		l.Add(results, "application/json", []byte(`{"id":"r2","output":[{"type":"message","id":"m","role":"assistant","content":[]}]}`))
		last := parse(t, dialect.Responses, `{"previous_response_id":"r2","input":[{"type":"item_reference","id":"o2"}]}`, o)
		if !slices.Equal(results.Chains, last.Chains[:len(results.Chains)]) {
			t.Errorf("the last request does not begin with the one before:\n%s\n%s", render(results), render(last))
		}
		return last
	}
	o := Options{Normalisers: normalisers(t, Env{}, "result-order")}
	want, got, plain := ask(Options{}, outputs...), ask(o, outputs[1], outputs[0]), ask(Options{}, outputs[1], outputs[0])
	if got.Chain() != want.Chain() || got.Raw != plain.Raw || got.Raw == want.Raw || plain.Chain() == want.Chain() {
		t.Errorf("applied %v (-in order +sorted):\n%s", got.Applied, cmp.Diff(render(want), render(got)))
	}
}
