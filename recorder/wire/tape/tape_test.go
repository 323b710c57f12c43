package tape

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop/redact"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/recorder/wire/canon"
	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
)

var update = flag.Bool("update", false, "write the golden files anew")

// various records one of everything.
func various(t testing.TB, b *bench) {
	main, sub := talk("Do it.", 3), talk("A part of it.", 1)
	models := b.Begin("", nil)
	models.Method, models.Path, models.Status = "GET", "/v1/models", 200
	models.Frames = []Frame{{At: time.Millisecond, Data: []byte(`{"data":[]}`)}}
	b.add(models)

	first, other := b.Begin("agent-77", ask(t, main[0].body())), b.Begin("agent-9", ask(t, sub[0].body()))
	b.add(fill(other, answerTo(9))) // it ends first
	first.Path, first.Status = "/v1/chat/completions", 429
	first.Header = [][2]string{{"Content-Type", "application/json"}, {"Retry-After", "2"}}
	first.Frames = []Frame{{At: 7 * time.Millisecond, Data: []byte(`{"error":{"message":"slow down","type":"rate_limit"}}`)}}
	b.add(first)
	b.pass("agent-77", ask(t, main[0].body()), answerTo(1))

	main[1].extra = `,"stream":true`
	stream := b.Begin("agent-77", ask(t, main[1].body()))
	stream.Path, stream.Status, stream.Stream = "/v1/chat/completions", 200, true
	stream.Header = [][2]string{{"Content-Type", "text/event-stream"}}
	stream.Elapsed = 40 * time.Millisecond
	for i, data := range []string{": ping\r\n\r\n", "data: {\"id\":\"s1\",\"model\":\"m-1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"caf\xc3", "\xa9\"},\"finish_reason\":\"stop\"}]}\n\n", "data: [DONE]\n\n"} {
		stream.Frames = append(stream.Frames, Frame{At: time.Duration(i+1) * 10 * time.Millisecond, Data: []byte(data)})
	}
	b.add(stream)

	broken := b.Begin("agent-77", ask(t, main[2].body()))
	broken.Path, broken.Status, broken.Broken = "/v1/chat/completions", 200, "connection reset"
	broken.Frames = []Frame{{At: time.Millisecond, Data: []byte("\xff\xfe half")}}
	b.add(broken)
	none := b.Begin("agent-77", ask(t, main[2].body()))
	none.Path, none.Broken, none.Elapsed = "/v1/chat/completions", "no answer", time.Second
	b.add(none)

	calls(t, b)
	count := b.Begin("", nil)
	count.Path, count.Status, count.Body = "/v1/messages/count_tokens?beta=true", 200, []byte(`{"b": 1, "a":[2]}`)
	count.Frames = []Frame{{At: time.Millisecond, Data: []byte(`{"input_tokens":5}`)}}
	b.add(count)
}

// calls records a conversation over the messages API in which a tool is called.
func calls(t testing.TB, b *bench) {
	const head = `{"model":"c","max_tokens":64,"system":"Use tools.","tools":[{"name":"look","description":"Looks.","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"Look."}`
	answer := `{"id":"msg_1","type":"message","role":"assistant","model":"c-1","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"tu_1","name":"look","input":{"at":"a.txt"}}],"stop_reason":"tool_use","usage":{"input_tokens":9,"output_tokens":8}}`
	more := `,{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"tu_1","name":"look","input":{"at":"a.txt"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"tu_1","content":"ten lines"}]}`
	end := `{"id":"msg_2","type":"message","role":"assistant","model":"c-1","content":[{"type":"text","text":"Ten lines."}],"stop_reason":"end_turn","usage":{"input_tokens":20,"output_tokens":3}}`
	for _, e := range [][2]string{{head + "]}", answer}, {head + more + "]}", end}} {
		r, err := canon.Parse(dialect.Messages, []byte(e[0]), canon.Options{})
		if err != nil {
			t.Fatal(err)
		}
		x := fill(b.Begin("", r), e[1])
		x.Path = "/v1/messages"
		b.add(x)
	}
}

func TestGolden(t *testing.T) {
	b := newBench(t, Head{Upstream: "http://127.0.0.1:4000/v1", Normalisers: []string{"cwd"}, Labels: map[string]string{"agent": "demo"}})
	various(t, b)
	b.tape()
	name := filepath.Join("testdata", "various.session.jsonl")
	if *update {
		if err := os.WriteFile(name, b.buf.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.buf.Bytes(), want) {
		t.Errorf("the recording is not that of %s (-update writes it anew):\n%s", name, b.buf.Bytes())
	}
}

// TestRoundTrip loads a recording, records what it holds, and compares bytes.
func TestRoundTrip(t *testing.T) {
	b := newBench(t, Head{Upstream: "http://127.0.0.1:4000/v1"})
	various(t, b)
	big := strings.Repeat("0123456789abcdef", session.InlineBody/16) + "!"
	b.pass("", ask(t, newChat("A long answer.").body()), big)
	tape := b.tape()
	if len(b.blobs) != 1 {
		t.Errorf("%d blobs, want one", len(b.blobs))
	}
	again := newBench(t, Head{Upstream: "http://127.0.0.1:4000/v1"})
	byLine := map[int]*Exchange{}
	var order []int // of the wire lines
	r := session.NewReader(bytes.NewReader(b.buf.Bytes()))
	for {
		l, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if l.Type == session.TypeWire {
			w, err := l.Wire()
			if err != nil {
				t.Fatal(err)
			}
			order = append(order, w.N)
		}
	}
	for _, x := range tape.Exchanges { // as the proxy would: first all begin
		c := *x
		if x.Request != nil {
			req := *x.Request
			req.Parts, req.Chains = x.Parts()
			c.Request = &req
		}
		got := again.Begin(hintOf(x), c.Request)
		if got.N != x.N || got.Hint != x.Hint || got.Lane != x.Lane {
			t.Fatalf("exchange %d came back as %d of lane %q", x.N, got.N, got.Lane)
		}
		byLine[x.N] = &c
	}
	for _, n := range order {
		again.add(byLine[n])
	}
	again.tape()
	if !bytes.Equal(again.buf.Bytes(), b.buf.Bytes()) {
		t.Errorf("recorded again:\n%s\nfirst:\n%s", again.buf.Bytes(), b.buf.Bytes())
	}
}

func hintOf(x *Exchange) string {
	if x.Hint == 0 {
		return ""
	}
	return string(rune('a' + x.Hint))
}

// TestConversation recomputes the chains with the reader that knows nothing of
// the wire.
func TestConversation(t *testing.T) {
	b := newBench(t, Head{})
	various(t, b)
	b.tape()
	talk, asked := session.NewConversation(), 0
	inputs := session.NewInputs()
	r := session.NewReader(bytes.NewReader(b.buf.Bytes()))
	for {
		l, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		a, err := talk.Add(l)
		if err != nil {
			t.Fatal(err)
		}
		if a != nil {
			asked++
		}
		if l.Type == session.TypeFooter {
			f, err := l.Footer()
			if err != nil {
				t.Fatal(err)
			}
			if f.Inputs != inputs.Digest() {
				t.Errorf("footer says inputs %s, the lines give %s", f.Inputs, inputs.Digest())
			}
			if f.Attempts != 8 || f.Turns != 6 || f.Calls != 1 {
				t.Errorf("footer counts %d attempts and %d turns", f.Attempts, f.Turns)
			}
		}
		if err := inputs.Add(l); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 8 {
		t.Errorf("%d requests", asked)
	}
}

// TestDamage changes each byte of a recording: the line must be named.
func TestDamage(t *testing.T) {
	b := newBench(t, Head{})
	for i, c := range talk("Do it.", 2) {
		b.pass("", ask(t, c.body()), answerTo(i+1))
	}
	b.tape()
	good := b.buf.Bytes()
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		line := 1 + bytes.Count(good[:i], []byte{'\n'})
		_, err := read(session.NewReader(bytes.NewReader(bad)), nil)
		var corrupt *session.CorruptError
		if i == len(good)-1 { // the last LF: the line is torn
			continue
		}
		if !errors.As(err, &corrupt) && !errors.Is(err, session.ErrTooNew) {
			t.Fatalf("byte %d of line %d: %v", i, line, err)
		}
		if corrupt != nil && corrupt.Line != line {
			t.Fatalf("byte %d of line %d: %v", i, line, err)
		}
	}
}

// TestUnfinished cuts a recording at each byte: what is whole is loaded, with a
// warning.
func TestUnfinished(t *testing.T) {
	b := newBench(t, Head{})
	for i, c := range talk("Do it.", 3) {
		b.pass("", ask(t, c.body()), answerTo(i+1))
	}
	b.tape()
	good := b.buf.Bytes()
	header := bytes.IndexByte(good, '\n') + 1
	last := 0
	for n := header; n < len(good); n += 7 {
		tape, err := read(session.NewReader(bytes.NewReader(good[:n])), nil)
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		if tape.Complete || len(tape.Warnings) == 0 {
			t.Fatalf("cut at %d: no warning", n)
		}
		if got := len(tape.Exchanges); got < last {
			t.Fatalf("cut at %d: %d exchanges, before %d", n, got, last)
		} else {
			last = got
		}
	}
	if last != 3 {
		t.Errorf("%d exchanges at the end", last)
	}
}

func TestRedaction(t *testing.T) {
	const secret = "hunter2-hunter2"
	red := redact.New(secret)
	b := newBench(t, Head{Redact: red})
	r, err := canon.Parse(dialect.Chat, []byte(newChat("My key is "+secret+".").body()), canon.Options{Redact: red})
	if err != nil {
		t.Fatal(err)
	}
	x := fill(b.Begin("", r), "")
	x.Path = "/v1/chat/completions?key=" + secret
	x.Header = append(x.Header, [2]string{"X-Echo", secret})
	answer := strings.Replace(answerTo(1), "Answer 1.", "It is "+secret+".", 1)
	cut := strings.Index(answer, secret) + 4
	x.Frames = []Frame{{Data: []byte(answer[:cut])}, {At: time.Second, Data: []byte(answer[cut:])}}
	b.add(x)
	aux := b.Begin("", nil)
	aux.Path, aux.Body, aux.Broken = "/v1/messages/count_tokens", []byte(`{"x":"`+secret+`"}`), "dial "+secret
	b.add(aux)
	tape := b.tape()
	if bytes.Contains(b.buf.Bytes(), []byte("hunter2")) {
		t.Errorf("the secret is in the recording:\n%s", b.buf.Bytes())
	}
	got := tape.Exchanges[0].Frames
	if len(got) != 2 || len(got[0].Data) != cut || len(got[1].Data) != len(answer)-cut {
		t.Errorf("frames were cut elsewhere: %q", got)
	}
	if !bytes.Contains(x.Frames[0].Data, []byte("hunt")) {
		t.Error("the caller's bytes were changed")
	}
}

// TestPacked: an answer in a Content-Encoding is read unpacked, and kept packed
// unless a secret is in it.
func TestPacked(t *testing.T) {
	const secret = "hunter2-hunter2"
	for _, text := range []string{"Answer 1.", secret} {
		b := newBench(t, Head{Redact: redact.New(secret)})
		x := fill(b.Begin("", ask(t, newChat("Hi.").body())), "packed")
		x.Header = append(x.Header, [2]string{"Content-Encoding", "gzip"})
		x.Plain = []byte(strings.Replace(answerTo(1), "Answer 1.", text, 1))
		b.add(x)
		got := b.tape().Exchanges[0]
		packed := string(got.AnswerBody()) == "packed" && got.header("content-encoding") == "gzip"
		if packed == (text == secret) || bytes.Contains(b.buf.Bytes(), []byte(secret)) || !bytes.Contains(b.buf.Bytes(), []byte(`"finish":"stop","usage":[10,0,0,3]`)) {
			t.Errorf("%s:\n%s", text, b.buf.Bytes())
		}
	}
}

func TestFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rec")
	path := filepath.Join(dir, "a.session.jsonl")
	record := func(path string, finish bool) {
		t.Helper()
		r, err := Create(path, Head{Upstream: "https://user:pw@api.example.com/v1"})
		if err != nil {
			t.Fatal(err)
		}
		big := strings.Repeat("x", session.InlineBody+1)
		if err := r.Add(fill(r.Begin("", ask(t, newChat("Hi.").body())), big)); err != nil {
			t.Fatal(err)
		}
		if finish {
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	record(path, false)
	tape, err := Load(dir)
	if err != nil || len(tape.Warnings) != 1 || len(tape.Exchanges) != 1 {
		t.Fatalf("an interrupted recording: %+v, %v", tape, err)
	}
	record(path, true)
	if tape, err = Load(dir); err != nil || len(tape.Warnings) != 0 || tape.Path != path {
		t.Fatalf("%+v, %v", tape, err)
	}
	if tape.Header.Model != "wire/api.example.com" || bytes.Contains(tape.Header.Config, []byte("pw@")) {
		t.Errorf("header: %s %s", tape.Header.Model, tape.Header.Config)
	}
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if st, err := d.Info(); err != nil || !d.IsDir() && st.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
			t.Errorf("%s: mode %v, %v", name, st.Mode(), err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Create(path, Head{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a finished recording is replaced: %v", err)
	}
	record(filepath.Join(dir, "b.session.jsonl.zst"), true)
	var many *ManyError
	if _, err := Load(dir); !errors.As(err, &many) || len(many.Paths) != 2 {
		t.Errorf("two recordings: %v", err)
	}
	if _, err := Load(filepath.Join(dir, "b.session.jsonl.zst")); err != nil {
		t.Error(err)
	}
	if _, err := Load(t.TempDir()); !errors.Is(err, ErrNone) {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := Load("../../testdata/sample.session.jsonl"); !errors.Is(err, ErrNotWire) {
		t.Errorf("a loop's session: %v", err)
	}
}
