package canon

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
)

// idAt are the places of ids in the samples.
var idAt = map[dialect.API]*regexp.Regexp{
	dialect.Chat:      regexp.MustCompile(`^/messages/\d+/(tool_call_id|tool_calls/\d+/id)$`),
	dialect.Messages:  regexp.MustCompile(`^/messages/\d+/content/\d+/(id|tool_use_id)$`),
	dialect.Responses: regexp.MustCompile(`^/input/\d+/(id|call_id|approval_request_id)$`),
}

// alike changes a body in ways that must not matter.
func alike(rnd *rand.Rand, api dialect.API, root *node) string {
	salt := rnd.IntN(1000)
	each(root, "", func(ptr string, n *node) {
		switch {
		case idAt[api].MatchString(ptr) && n.kind == '"':
			n.text = fmt.Sprintf("id-%d-%s", salt, n.text)
		case n.kind == '{' && rnd.IntN(2) == 0 && regexp.MustCompile(`^/(messages|system|tools)/\d+(/content/\d+)?$`).MatchString(ptr):
			n.set("cache_control", node{kind: '{', obj: []member{{"type", text("ephemeral")}}})
		}
		if c := n.get("content"); c != nil && ptr != "" && n.str("type") != "reasoning" {
			restring(rnd, api, n.str("role"), c)
		}
	})
	for _, name := range []string{"user", "safety_identifier", "prompt_cache_key", "stream_options"} {
		if rnd.IntN(2) == 0 {
			root.set(name, text("anything"))
		}
	}
	if rnd.IntN(2) == 0 {
		root.set("stream", node{kind: 'f', text: "false"})
	}
	meta := root.get("metadata")
	if meta == nil {
		root.set("metadata", node{kind: '{'})
		meta = root.get("metadata")
	}
	meta.set("harnessbench_turn", text("9"))
	meta.set("user_id", text("someone"))
	w := &writer{rnd: rnd}
	w.value(root)
	return w.b.String()
}

// restring writes one text block as a bare text, or a bare text as one block.
func restring(rnd *rand.Rand, api dialect.API, role string, c *node) {
	kind := "text"
	if api == dialect.Responses {
		kind = map[string]string{"assistant": "output_text"}[role]
		if kind == "" {
			kind = "input_text"
		}
	}
	switch {
	case rnd.IntN(2) == 0:
	case c.kind == '"':
		*c = node{kind: '[', arr: []node{textBlock(kind, c.text)}}
	case c.kind == '[' && len(c.arr) == 1 && c.arr[0].str("type") == kind && len(c.arr[0].obj) == 2:
		*c = text(c.arr[0].str("text"))
	}
}

func TestWhatMustNotMatter(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, api := range apis {
		want := parse(t, api, string(sample(t, api)), Options{})
		for range 60 {
			body := alike(rnd, api, tree(t, sample(t, api)))
			got := parse(t, api, body, Options{})
			if !equal(want, got) {
				t.Fatalf("%s (-sample +alike):\n%s\n%s", api, cmp.Diff(render(want), render(got)), body)
			}
		}
	}
}

// dropped are the places where a change must not be seen; every other change
// must. An id that is named once is a place and no name.
var dropped = regexp.MustCompile(`^/(stream|stream_options/.*|user|safety_identifier|prompt_cache_key|metadata/user_id|metadata/harnessbench_.*|` +
	`input/[37]/id|(.*/)?cache_control/(type|ttl))$`)

// inSchema are places in a user's own data, where every name is the user's.
var inSchema = regexp.MustCompile(`/(parameters|input_schema|schema)/`)

func isDropped(ptr string) bool { return dropped.MatchString(ptr) && !inSchema.MatchString(ptr) }

func TestEveryOtherScalarMatters(t *testing.T) {
	for _, api := range apis {
		body := sample(t, api)
		want := parse(t, api, string(body), Options{})
		var ptrs []string
		each(tree(t, body), "", func(ptr string, n *node) {
			if n.kind != '{' && n.kind != '[' {
				ptrs = append(ptrs, ptr)
			}
		})
		for _, ptr := range ptrs {
			for _, changed := range mutations(t, body, ptr) {
				got, err := Parse(api, changed, Options{})
				if silent := isDropped(ptr); err == nil && equal(want, got) != silent {
					t.Errorf("%s: a change of %s is seen: %v", api, ptr, !silent)
				} else if err != nil && ptr != "/stream" && !strings.HasSuffix(ptr, "/role") {
					t.Errorf("%s: a change of %s: %v", api, ptr, err)
				}
			}
		}
	}
}

// mutations returns the body with the scalar at a pointer changed in every way
// that keeps it a scalar.
func mutations(t *testing.T, body []byte, at string) (out [][]byte) {
	for k := range 4 {
		root := tree(t, body)
		switch n := root.at(at); {
		case k == 0 && n.kind == '"':
			n.text += "x"
		case k == 1 && n.kind == '"' && n.text != "":
			n.text = n.text[:len(n.text)-1]
		case k == 0 && n.kind == '0':
			n.text += "1"
		case k == 1 && n.kind == '0': // equal as a number
			if n.text += "e0"; strings.Count(n.text, "e") > 1 {
				n.text = "1.0e3"
			}
		case k == 0 && n.kind == 't':
			*n = node{kind: 'f', text: "false"}
		case k == 0 && n.kind == 'f':
			*n = node{kind: 't', text: "true"}
		case k == 2 && n.kind != 'n' && !strings.HasSuffix(at, "/id"):
			*n = node{kind: 'n', text: "null"}
		case k == 3 && n.kind != '"': // the text of a number is no number
			*n = text(n.text)
		default:
			continue
		}
		out = append(out, root.append(nil))
	}
	return out
}

// Changes of the structure that must be seen: a member with another name, an
// element that is gone or doubled, neighbours that change places.
func TestStructureMatters(t *testing.T) {
	for _, api := range apis {
		body := sample(t, api)
		want := parse(t, api, string(body), Options{})
		var ptrs []string
		each(tree(t, body), "", func(ptr string, n *node) { ptrs = append(ptrs, ptr) })
		for _, at := range ptrs {
			for k := range 4 {
				root := tree(t, body)
				switch n := root.at(at); {
				case k == 0 && len(n.obj) > 0:
					n.obj[0].name += "x"
				case k == 1 && len(n.arr) > 0:
					n.arr = n.arr[1:]
				case k == 2 && len(n.arr) > 0:
					n.arr = append(n.arr, n.arr[0])
				case k == 3 && len(n.arr) > 1:
					n.arr[0], n.arr[1] = n.arr[1], n.arr[0]
				default:
					continue
				}
				silent := strings.HasSuffix(at, "/cache_control") && !inSchema.MatchString(at) || at == "/stream_options" ||
					at == "/metadata" && k == 0 && api != dialect.Messages // harnessbench_ with another end
				if got, err := Parse(api, root.append(nil), Options{}); err == nil && equal(want, got) != silent {
					t.Errorf("%s: change %d at %q is seen: %v", api, k, at, !silent)
				}
			}
		}
	}
}

// A later request of a conversation begins with what the earlier one said, so its
// chain begins with the earlier chain, also when ids are drawn anew each time.
func TestChainOfAPrefix(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, api := range apis {
		items := shapes[api].items
		whole := parse(t, api, string(sample(t, api)), Options{})
		n := len(tree(t, sample(t, api)).list(items))
		for keep := 1; keep <= n; keep++ {
			root := tree(t, sample(t, api))
			list := root.get(items)
			list.arr = list.arr[:keep]
			got := parse(t, api, alike(rnd, api, root), Options{})
			if len(got.Chains) != len(whole.Chains)-n+keep || !slices.Equal(got.Chains, whole.Chains[:len(got.Chains)]) {
				t.Fatalf("%s: the chain of the first %d of %d is not the beginning of the whole", api, keep, n)
			}
			if got.ParamsDigest != whole.ParamsDigest {
				t.Fatalf("%s: the params of the first %d differ", api, keep)
			}
		}
	}
}

// reassemble writes a request whose parts are those of r.
func reassemble(r *Request) string {
	where := shapes[r.API]
	root, err := decode(r.Params)
	if err != nil {
		panic(err)
	}
	lists := map[string][]node{}
	for i, p := range r.Parts {
		n, err := decode(p.JSON)
		if err != nil {
			panic(err)
		}
		name, _, _ := strings.Cut(r.Pointers[i][1:], "/")
		if n.kind == '"' {
			root.set(where.system, n)
			continue
		}
		lists[name] = append(lists[name], n)
	}
	for name, arr := range lists {
		root.set(name, node{kind: '[', arr: arr})
	}
	return string(root.append(nil))
}

// FuzzParse: nothing panics; what is accepted adds up; what was made canonical
// is canonical; and so it is when members stand in another order.
func FuzzParse(f *testing.F) {
	for i, api := range apis {
		f.Add(i, sample(f, api))
	}
	f.Add(0, []byte(`{"messages":[{"role":"user","content":"\ud800","tool_calls":[{"id":"#2"},{"id":"#1"}]}],"":{"\uE000":1,"😀":2}}`))
	f.Add(1, []byte(`{"input":"/home/u 2026-11-30 `+key()+`","previous_response_id":"a"}`))
	f.Add(2, []byte(`{"system":"s","messages":[{"role":"user","content":[{"type":"tool_use","id":"#9"},{"source":{"type":"content","content":"x"}}]}]}`))
	f.Add(0, []byte(`{"messages":[{"role":"assistant","tool_calls":[{"id":"a"},{"id":""}]},{"role":"tool","tool_call_id":""},{"role":"tool"},{"role":"tool","tool_call_id":"a"}]}`))
	f.Add(1, []byte(`{"input":[{"type":"x_call","call_id":"a"},{"type":"x_call","call_id":"b"},{"type":"x_output","call_id":"b","id":"1"},{"type":"x_output","call_id":"a","id":"2"}]}`))
	f.Add(2, []byte(`{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a"},{"type":"tool_use","id":"b"}]},`+
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"b"},"x",{"type":"tool_result","tool_use_id":"a"}]}]}`))
	norm, err := Normalisers([]string{"codex", "result-order", "date", "uuid", "n=[0-9]{3}", "drop=/input/*/content/*/text"}, Env{Home: "/home/u", Cwd: "/w", Machine: "x86_64"})
	if err != nil {
		f.Fatal(err)
	}
	known := func(string) ([]*model.Part, bool) {
		return []*model.Part{{Kind: model.KindMessage, Role: model.User, JSON: []byte(`{"content":"x","role":"user"}`)}}, true
	}
	f.Fuzz(func(t *testing.T, which int, body []byte) {
		api := apis[uint(which)%uint(len(apis))]
		if _, err := Parse(api, body, Options{Normalisers: norm, Redact: withKeys(), Parent: known}); err != nil {
			return
		}
		r, err := Parse(api, body, Options{})
		if err != nil {
			return // it names a parent
		}
		consistent(t, r)
		again := parse(t, api, reassemble(r), Options{})
		if !equal(r, again) {
			t.Fatalf("%s\n%s", body, cmp.Diff(render(r), render(again)))
		}
		inOrder := Options{Normalisers: norm[slices.IndexFunc(norm, func(n Normaliser) bool { return n.order }):][:1]}
		sorted := parse(t, api, string(body), inOrder)
		consistent(t, sorted)
		twice := parse(t, api, reassemble(sorted), inOrder)
		if sorted.Raw != r.Raw || len(sorted.Parts) != len(r.Parts) || twice.Chain() != sorted.Chain() || twice.Applied != nil {
			t.Fatalf("%s\n%v %s", body, twice.Applied, cmp.Diff(render(sorted), render(twice)))
		}
		n := tree(t, body)
		w := &writer{rnd: rand.New(rand.NewPCG(1, uint64(len(body))))}
		w.value(n)
		if shuffled := parse(t, api, w.b.String(), Options{}); !equal(r, shuffled) {
			t.Fatalf("%s\n%s\n%s", body, w.b.String(), cmp.Diff(render(r), render(shuffled)))
		}
	})
}
