package canon

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/redact"
	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
)

var apis = []dialect.API{dialect.Chat, dialect.Responses, dialect.Messages}

// sample reads the request of an API that has something of everything.
func sample(t testing.TB, api dialect.API) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + string(api) + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func parse(t testing.TB, api dialect.API, body string, o Options) *Request {
	t.Helper()
	r, err := Parse(api, []byte(body), o)
	if err != nil {
		t.Fatalf("%s: %v\n%s", api, err, body)
	}
	return r
}

// tree decodes a body that is known to be JSON.
func tree(t testing.TB, body []byte) *node {
	t.Helper()
	n, err := decode(body)
	if err != nil {
		t.Fatal(err)
	}
	return &n
}

// equal says whether two requests are equal in every digest there is.
func equal(a, b *Request) bool {
	return a.Chain() == b.Chain() && a.ParamsDigest == b.ParamsDigest && a.Raw == b.Raw && a.Root == b.Root
}

// render writes a request for reading.
func render(r *Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "model %s stream %v\nparams %s\n", r.Model, r.Stream, r.Params)
	for i, p := range r.Parts {
		fmt.Fprintf(&b, "%s %s %s %s\n  %s\n", p.Kind, p.Role, r.Pointers[i], p.JSON, r.Chains[i+1])
	}
	fmt.Fprintf(&b, "root %s\n", r.Root)
	return b.String()
}

// consistent checks what holds of every request.
func consistent(t testing.TB, r *Request) {
	t.Helper()
	if len(r.Pointers) != len(r.Parts) || len(r.Chains) != len(r.Parts)+1 || r.Chains[0] != model.ChainStart {
		t.Fatalf("%d parts, %d pointers, %d chains", len(r.Parts), len(r.Pointers), len(r.Chains))
	}
	for i, p := range r.Parts {
		if p.Digest != model.Sum(p.JSON) || p.Size != len(p.JSON) || r.Chains[i+1] != model.Chain(r.Chains[i], p) {
			t.Fatalf("part %d does not add up: %s", i, p.JSON)
		}
	}
	if r.ParamsDigest != model.Sum(r.Params) {
		t.Fatal("the params digest is not that of the params")
	}
}

// writer writes a tree as another client might: members in any order, white
// space anywhere, characters escaped or not.
type writer struct {
	rnd *rand.Rand
	b   strings.Builder
}

func (w *writer) space() { w.b.WriteString([]string{"", "", " ", "\n\t", "\r\n"}[w.rnd.IntN(5)]) }

func (w *writer) str(s string) {
	w.b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\' || c == '/' && w.rnd.IntN(2) == 0:
			w.b.WriteByte('\\')
			w.b.WriteRune(c)
		case c < 0x20 || c < 0x10000 && w.rnd.IntN(4) == 0:
			fmt.Fprintf(&w.b, []string{`\u%04x`, `\u%04X`}[w.rnd.IntN(2)], c)
		case c >= 0x10000 && w.rnd.IntN(2) == 0:
			c -= 0x10000
			fmt.Fprintf(&w.b, `\u%04x\u%04X`, 0xd800+c>>10, 0xdc00+c&0x3ff)
		default:
			w.b.WriteRune(c)
		}
	}
	w.b.WriteByte('"')
}

func (w *writer) value(n *node) {
	w.space()
	defer w.space()
	switch n.kind {
	case '{':
		w.b.WriteByte('{')
		w.space()
		for k, i := range w.rnd.Perm(len(n.obj)) {
			if k > 0 {
				w.b.WriteByte(',')
				w.space()
			}
			w.str(n.obj[i].name)
			w.space()
			w.b.WriteByte(':')
			w.value(&n.obj[i].node)
		}
		w.b.WriteByte('}')
	case '[':
		w.b.WriteByte('[')
		w.space()
		for i := range n.arr {
			if i > 0 {
				w.b.WriteByte(',')
			}
			w.value(&n.arr[i])
		}
		w.b.WriteByte(']')
	case '"':
		w.str(n.text)
	default:
		w.b.WriteString(n.text)
	}
}

// each visits every value with its pointer; fn may change it in place.
func each(n *node, ptr string, fn func(ptr string, n *node)) {
	fn(ptr, n)
	for i := range n.arr {
		each(&n.arr[i], fmt.Sprintf("%s/%d", ptr, i), fn)
	}
	for i := range n.obj {
		each(&n.obj[i].node, ptr+"/"+escape(n.obj[i].name), fn)
	}
}

// at returns the value at a pointer that is there.
func (n *node) at(ptr string) *node {
	for token := range strings.SplitSeq(strings.TrimPrefix(ptr, "/"), "/") {
		switch {
		case ptr == "":
		case n.kind == '[':
			i, _ := strconv.Atoi(token)
			n = &n.arr[i]
		default:
			n = n.get(token)
		}
	}
	return n
}

// set adds or replaces a member.
func (n *node) set(name string, v node) {
	if old := n.get(name); old != nil {
		*old = v
		return
	}
	n.obj = append(n.obj, member{name, v})
	n.sort()
}

// key makes what looks like a key; it stands in no file as a whole.
func key() string { return "sk-" + strings.Repeat("Ab3", 12) }

func withKeys() *redact.Redactor { return redact.New() }
