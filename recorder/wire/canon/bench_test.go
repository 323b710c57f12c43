package canon

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
)

// long makes a chat request of n messages and about size bytes.
func long(n, size int) []byte {
	rnd := rand.New(rand.NewPCG(5, 6))
	words := strings.Fields("the file holds a list of \"names\" in /home/u/src and\nnumbers 12 345 func main() { return } \\ é 2026-11-30 Monday error: task-based")
	prose := func(size int) string {
		var b strings.Builder
		for b.Len() < size {
			b.WriteString(words[rnd.IntN(len(words))])
			b.WriteByte(' ')
		}
		return b.String()
	}
	root := node{kind: '{', obj: []member{{"messages", node{kind: '['}}, {"model", text("m")}}}
	list := &root.obj[0].node
	each := size / n
	for i := range n {
		var m node
		switch i % 3 {
		case 0:
			m = node{kind: '{', obj: []member{{"content", text(prose(each))}, {"role", text("user")}}}
		case 1:
			call := node{kind: '{', obj: []member{
				{"function", node{kind: '{', obj: []member{{"arguments", text(prose(each))}, {"name", text("run")}}}},
				{"id", text(fmt.Sprintf("call_%d", i))}, {"type", text("function")}}}
			m = node{kind: '{', obj: []member{{"content", node{kind: 'n', text: "null"}}, {"role", text("assistant")}, {"tool_calls", node{kind: '[', arr: []node{call}}}}}
		default:
			m = node{kind: '{', obj: []member{{"content", text(prose(each))}, {"role", text("tool")}, {"tool_call_id", text(fmt.Sprintf("call_%d", i-1))}}}
		}
		list.arr = append(list.arr, m)
	}
	return root.append(nil)
}

func BenchmarkParse(b *testing.B) {
	body := long(400, 1<<20)
	env := Env{Home: "/home/u", Cwd: "/work/repo"}
	for _, c := range []struct {
		name string
		o    Options
	}{
		{"plain", Options{}},
		{"redact", Options{Redact: withKeys()}},
		{"home-cwd-tmp", Options{Normalisers: normalisers(b, env, "home", "cwd", "tmp")}},
		{"claude-code", Options{Normalisers: normalisers(b, env, "claude-code")}},
		{"codex", Options{Normalisers: normalisers(b, env, "codex")}},
		{"all", Options{Redact: withKeys(), Normalisers: normalisers(b, env, "home", "cwd", "tmp", "date", "uuid")}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(dialect.Chat, body, c.o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
