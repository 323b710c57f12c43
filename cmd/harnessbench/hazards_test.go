//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/recorder/wire/canon"
	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
	"github.com/harnessbench/harnessbench/recorder/wire/tape"
	"github.com/harnessbench/harnessbench/replayer"
)

// placed is what a client said and where it ran.
type placed struct {
	canon.Env
	say string // of its request, as the JSON of a text
}

// asked makes the canonical request of a client that said something, in a system
// prompt, with normalisers or without.
func asked(t *testing.T, m placed, names []string) *canon.Request {
	t.Helper()
	list, err := canon.Normalisers(names, m.Env)
	if err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf(`{"model":"m","messages":[{"role":"system","content":%s},{"role":"user","content":"Go."}]}`, m.say)
	r, err := canon.Parse(dialect.Chat, []byte(body), canon.Options{Normalisers: list})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestWireHazards: what differs from run to run and means nothing is equal with
// its normaliser and unequal without it; what might mean something stays unequal.
func TestWireHazards(t *testing.T) {
	text := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	here := canon.Env{Home: "/home/alice", Cwd: "/home/alice/src/test", Tmp: "/tmp"}
	there := canon.Env{Home: "/Users/bob", Cwd: "/Users/bob/build", Tmp: "/var/folders/zz/T"}
	for _, c := range []struct {
		name       string
		a, b       string
		normaliser string // empty: there is none, and it must stay unequal
	}{
		{"random id", "run 6ba7b810-9dad-11d1-80b4-00c04fd430c8", "run f47ac10b-58cc-4372-a567-0e02b2c3d479", "uuid"},
		{"wall clock", "Today is 2026-11-30.", "Today is 2026-12-01.", "date"},
		{"wall clock with a time zone", "now 2026-11-30T23:59:59+01:00", "now 2026-12-01T00:00:01-08:00", "date"},
		{"home path", "read /home/alice/notes.txt", "read /Users/bob/notes.txt", "home"},
		{"working directory", "you are in /home/alice/src/test", "you are in /Users/bob/build", "cwd"},
		{"temp path", "log in /tmp/run-a8Hd83/x", "log in /var/folders/zz/T/run-zQ9kd2/x", "tmp"},
		{"path before a wrapped line", "open /home/alice/\n  notes.txt now", "open /Users/bob/\n  notes.txt now", "home"},
		{"path in JSON in a text", `{"p":"\/home\/alice\/x\n"}`, `{"p":"\/Users\/bob\/x\n"}`, "home"},
		{"a date that nobody declared", "Today is 2026-11-30.", "Today is 2026-12-01.", ""},
		{"number above 2^53", "n = 9007199254740993", "n = 9007199254740992", ""},
		{"form of a number", "n = 25", "n = 25.0", ""},
		{"Unicode normalisation", "caf\u00e9", "cafe\u0301", ""},
		{"CRLF", "a\r\nb", "a\nb", ""},
		{"locale", "1,234.5", "1.234,5", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := placed{here, text(c.a)}, placed{there, text(c.b)}
			if asked(t, a, nil).Chain() == asked(t, b, nil).Chain() {
				t.Error("equal without a normaliser: the hazard is none")
			}
			if c.normaliser == "" {
				return
			}
			x, y := asked(t, a, []string{c.normaliser}), asked(t, b, []string{c.normaliser})
			if x.Chain() != y.Chain() || x.Applied[c.normaliser] != 1 || x.Raw == y.Raw {
				t.Errorf("with %s: %v, %v; raw digests must differ", c.normaliser, x.Applied, y.Applied)
			}
		})
	}
	// A workspace whose name is a common word takes nothing but its path away.
	words := placed{here, text("run the test in /home/alice/src/test, test by test")}
	if r := asked(t, words, []string{"cwd"}); r.Applied["cwd"] != 1 || !bytes.Contains(r.Parts[0].JSON, []byte("run the test in <cwd>, test by test")) {
		t.Errorf("%v %s", r.Applied, r.Parts[0].JSON)
	}
}

// TestFormHazards: the canonical form itself levels key order, ids and white
// space, and keeps numbers as they were written. A decoder that does not would
// make the pairs unequal, or equal.
func TestFormHazards(t *testing.T) {
	ask := func(call, params string) string {
		return `{"model":"m",` + params + `,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":null,"tool_calls":[{"id":"` + call +
			`","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"` + call + `","content":"ok"}]}`
	}
	naive := func(s string) string {
		var v any
		if err := json.Unmarshal([]byte(s), &v); err != nil {
			t.Fatal(err)
		}
		b, _ := json.Marshal(v)
		return string(b)
	}
	for _, c := range []struct {
		name, a, b   string
		equal, naive bool // as canon says, and as a plain decoder does
	}{
		{"random call ids", ask("call_a1", `"n":1`), ask("call_zz9", `"n":1`), true, false},
		{"map order", ask("c", `"a":1,"metadata":{"x":"1","y":"2"}`), ask("c", `"metadata":{"y":"2","x":"1"},"a":1`), true, true},
		{"number above 2^53", ask("c", `"seed":9007199254740993`), ask("c", `"seed":9007199254740992`), false, true},
		{"25 and 25.0", ask("c", `"seed":25`), ask("c", `"seed":25.0`), false, true},
		{"a volatile field", ask("c", `"user":"u1"`), ask("c", `"user":"u2"`), true, false},
	} {
		x, err := canon.Parse(dialect.Chat, []byte(c.a), canon.Options{})
		if err != nil {
			t.Fatal(err)
		}
		y, err := canon.Parse(dialect.Chat, []byte(c.b), canon.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := x.Chain() == y.Chain() && x.ParamsDigest == y.ParamsDigest; got != c.equal {
			t.Errorf("%s: equal is %v", c.name, got)
		}
		if c.a == c.b || (naive(c.a) == naive(c.b)) != c.naive {
			t.Errorf("%s: the pair shows nothing", c.name)
		}
	}
}

// TestOrderHazards: two conversations whose calls end in another order than they
// came, and equal requests at a time, are served by lane and in order.
func TestOrderHazards(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x"+session.Suffix)
	rec, err := tape.Create(path, tape.Head{Upstream: "https://api.example.com/v1"})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(s string) *canon.Request {
		r, err := canon.Parse(dialect.Chat, []byte(`{"model":"m","messages":[{"role":"user","content":"`+s+`"}]}`), canon.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	var open []*tape.Exchange
	for i, s := range []string{"one", "two", "one"} { // the third equals the first, in flight beside it
		x := rec.Begin("", ask(s))
		x.Path, x.Status = "/v1/chat/completions", 200
		x.Frames = []tape.Frame{{Data: fmt.Appendf(nil, `{"choices":[{"index":0,"message":{"role":"assistant","content":"answer %d"},"finish_reason":"stop"}]}`, i+1)}}
		open = append(open, x)
	}
	for _, i := range []int{1, 2, 0} {
		if err := rec.Add(open[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	for _, order := range [][]string{{"one", "two", "one"}, {"two", "one", "one"}, {"one", "one", "two"}} {
		tp, err := tape.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		p := tape.NewPlayer(tp)
		n := map[string]int{}
		for _, s := range order {
			x, miss := p.Ask("", ask(s))
			if miss != nil {
				t.Fatalf("%v: %v", order, miss)
			}
			want := map[string][]string{"one": {"answer 1", "answer 3"}, "two": {"answer 2"}}[s][n[s]]
			if n[s]++; !bytes.Contains(x.AnswerBody(), []byte(want)) {
				t.Errorf("%v: %s was answered by %s, want %s", order, s, x.AnswerBody(), want)
			}
		}
		if r := p.Report(); r.Verdict != replayer.Exact {
			t.Errorf("%v: %s", order, r.Verdict)
		}
	}
}

// TestRetriesAreRecorded: attempts are served like answers. Without them in the
// recording the loop would not come to the same requests.
func TestRetriesAreRecorded(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(corpusGood, "retry-twice"+session.Suffix))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = session.Edit(&out, bytes.NewReader(b), func(l *session.Line, emit func(session.Type, []byte) error) error {
		if l.Type == session.TypeAttempt {
			return nil
		}
		return emit(l.Type, l.Payload())
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		b    []byte
		want replayer.Verdict
	}{{b, replayer.Exact}, {out.Bytes(), replayer.Diverged}} {
		rep, err := replayer.Reader(context.Background(), session.NewReader(bytes.NewReader(c.b)), nil, "x", replayer.Options{})
		if err != nil || rep.Verdict != c.want {
			t.Errorf("%v %v, want %s", rep, err, c.want)
		}
	}
}

// TestDirectoryOrder: a listing does not have the order in which the folder
// gives its names.
func TestDirectoryOrder(t *testing.T) {
	dir := t.TempDir()
	for _, sub := range []string{"tree", "harness"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	ws, err := workspace.NewDir(filepath.Join(dir, "tree"), filepath.Join(dir, "harness"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		if _, err := ws.WriteFile(fmt.Sprintf("f%02d", (i*17+5)%40), nil); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(filepath.Join(dir, "tree"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	raw, err := f.Readdirnames(-1)
	if err != nil {
		t.Fatal(err)
	}
	if slices.IsSorted(raw) {
		t.Log("this file system gives names in order: the test shows nothing here")
	}
	infos, err := ws.List("")
	if err != nil {
		t.Fatal(err)
	}
	if len(infos) != 40 || !slices.IsSortedFunc(infos, func(a, b workspace.Info) int { return strings.Compare(a.Path, b.Path) }) {
		t.Errorf("listed as %v", infos)
	}
}

// TestEnvironment runs the same trials as another user elsewhere, in another time
// zone and locale, with other temporary folders and another number of CPUs: the
// sessions are the same bytes, and say nothing of either place.
func TestEnvironment(t *testing.T) {
	dir := t.TempDir()
	bin := program(t, dir)
	var seen []map[string]string
	for i, env := range [][]string{
		{"TZ=UTC", "LC_ALL=C", "LANG=C", "USER=alice", "GOMAXPROCS=1"},
		{"TZ=Asia/Kathmandu", "LC_ALL=de_DE.UTF-8", "LANG=tr_TR.UTF-8", "USER=test", "GOMAXPROCS=4", "HARNESSBENCH_X=1"},
	} {
		home := filepath.Join(dir, fmt.Sprintf("home%d-secretplace", i))
		for _, sub := range []string{"tmp", "work/test"} { // a workspace named by a common word
			if err := os.MkdirAll(filepath.Join(home, sub), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		out := filepath.Join(home, "run")
		cmd := exec.Command(bin, "run", "-q", "--repetitions", "1", "--fsync", "never", "-o", out)
		cmd.Dir = filepath.Join(home, "work/test")
		cmd.Env = append(os.Environ(), append(env, "HOME="+home, "TMPDIR="+filepath.Join(home, "tmp"))...)
		if b, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
		sessions := map[string]string{}
		for name, text := range contents(t, out) {
			if strings.HasPrefix(name, "sessions/") {
				sessions[name] = text
			}
			if strings.Contains(text, "secretplace") {
				t.Errorf("%s names a path of the machine", name)
			}
		}
		seen = append(seen, sessions)
	}
	if len(seen[0]) == 0 {
		t.Fatal("no session")
	}
	sameRun(t, seen[0], seen[1])
}
