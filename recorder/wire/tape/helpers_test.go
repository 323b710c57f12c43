package tape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/recorder/wire/canon"
	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
)

// ask makes a chat request canonical.
func ask(t testing.TB, body string) *canon.Request {
	t.Helper()
	r, err := canon.Parse(dialect.Chat, []byte(body), canon.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	return r
}

// chat is a chat request in the making.
type chat struct {
	model, system, tool string
	extra               string // more members
	messages            []string
}

func newChat(task string) *chat {
	return &chat{model: "m", system: "Be brief.", tool: "Reads a file.", messages: []string{said("user", task)}}
}

func said(role, text string) string {
	b, _ := json.Marshal(map[string]string{"role": role, "content": text})
	return string(b)
}

func (c *chat) clone() *chat {
	d := *c
	d.messages = append([]string(nil), c.messages...)
	return &d
}

func (c *chat) body() string {
	list := append([]string{said("system", c.system)}, c.messages...)
	return fmt.Sprintf(`{"model":%q,"temperature":0.5%s,"tools":[{"type":"function","function":{"name":"read","description":%q,"parameters":{"type":"object"}}}],"messages":[%s]}`,
		c.model, c.extra, c.tool, strings.Join(list, ","))
}

// answerTo is the n-th answer of a conversation.
func answerTo(n int) string {
	return fmt.Sprintf(`{"id":"a%d","object":"chat.completion","model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"Answer %d."},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":3}}`, n, n)
}

// fill answers an exchange well.
func fill(x *Exchange, body string) *Exchange {
	x.Path, x.Status = "/v1/chat/completions", 200
	x.Header = [][2]string{{"Content-Type", "application/json"}}
	x.Frames = []Frame{{At: 1500 * time.Microsecond, Data: []byte(body)}}
	return x
}

// bench is a recording in memory.
type bench struct {
	testing.TB
	*Recorder
	buf   *bytes.Buffer
	blobs memBlobs
}

type memBlobs map[model.Digest][]byte

func (m memBlobs) Put(d model.Digest, b []byte) error {
	m[d] = bytes.Clone(b)
	return nil
}

func (m memBlobs) Get(d model.Digest, size int64) ([]byte, error) {
	b, ok := m[d]
	if !ok || size >= 0 && int64(len(b)) != size {
		return nil, fmt.Errorf("there is no such blob")
	}
	return b, nil
}

func newBench(t testing.TB, h Head) *bench {
	t.Helper()
	b := &bench{TB: t, buf: &bytes.Buffer{}, blobs: memBlobs{}}
	var err error
	if b.Recorder, err = begin(session.NewWriter(b.buf), nil, b.blobs, h); err != nil {
		t.Fatal(err)
	}
	return b
}

// pass records a request and its answer.
func (b *bench) pass(hint string, r *canon.Request, answer string) *Exchange {
	b.Helper()
	x := fill(b.Begin(hint, r), answer)
	x.Stream = r.Stream
	b.add(x)
	return x
}

func (b *bench) add(x *Exchange) {
	b.Helper()
	if err := b.Add(x); err != nil {
		b.Fatal(err)
	}
}

// tape closes the recording and reads it.
func (b *bench) tape() *Tape {
	b.Helper()
	if err := b.Close(); err != nil {
		b.Fatal(err)
	}
	t, err := read(session.NewReader(bytes.NewReader(b.buf.Bytes())), b.blobs)
	if err != nil {
		b.Fatalf("%v\n%s", err, b.buf.Bytes())
	}
	t.Path = filepath.Join("recordings", "x.session.jsonl")
	return t
}

// talk is a conversation of n turns; it returns each turn's request.
func talk(task string, n int) []*chat {
	c := newChat(task)
	var out []*chat
	for i := range n {
		out = append(out, c.clone())
		c.messages = append(c.messages, said("assistant", fmt.Sprintf("Answer %d.", i+1)), said("user", fmt.Sprintf("And then, %d?", i+1)))
	}
	return out
}

// recorded is a tape of one conversation.
func recorded(t testing.TB, n int) *Tape {
	b := newBench(t, Head{Upstream: "https://api.example.com/v1"})
	for i, c := range talk("Do it.", n) {
		b.pass("", ask(t, c.body()), answerTo(i+1))
	}
	return b.tape()
}
