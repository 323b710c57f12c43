package tape

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/recorder/wire/canon"
	"github.com/harnessbench/harnessbench/replayer"
)

// TestLies changes what a line says and seals the session again: the chain is
// sound then, and the line is named all the same.
func TestLies(t *testing.T) {
	b := newBench(t, Head{})
	various(t, b)
	b.tape()
	tests := []struct {
		line           int
		pointer, value string
		what           string
	}{
		{1, "/config", `{"kind":"other"}`, "no recorded traffic"},
		{3, "/digest", `"00000000000000000000000000000000"`, "that of the body"},
		{6, "/chain", `"00000000000000000000000000000000"`, "the lines before give"},
		{6, "/keep", `9`, "the request before has 0 parts"},
		{6, "/add/0", `"00000000000000000000000000000000"`, "no line before carries"},
		{6, "/params", ``, "is missing in the lane's first request"},
		{6, "/params", `{"model":"other"}`, "that of params"},
		{8, "/frames/0/1", `5`, "the body has 203"},
		{8, "/frames/0", `[1]`, "a frame is its time and its bytes"},
		{8, "/n", `1`, "another exchange 1"},
		{8, "/n", `0`, "missing, or zero"},
		{8, "/api", ``, "a request stands before it"},
		{8, "/b64", `"AAAA"`, "beside another body"},
		{8, "/header/0", `["a"]`, "a name and a value"},
		{2, "/api", `"chat"`, "no request stands before it"},
	}
	for _, tt := range tests {
		var out bytes.Buffer
		err := session.Edit(&out, bytes.NewReader(b.buf.Bytes()), func(l *session.Line, emit func(session.Type, []byte) error) error {
			payload := l.Payload()
			if l.No == tt.line {
				var value []byte
				if tt.value != "" {
					value = []byte(tt.value)
				}
				var err error
				if payload, err = l.With(tt.pointer, value); err != nil {
					return err
				}
			}
			return emit(l.Type, payload)
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = read(session.NewReader(&out), nil)
		var lie *session.DecodeError
		switch {
		case tt.line == 1:
			if !errors.Is(err, ErrNotWire) {
				t.Errorf("%s: %v", tt.pointer, err)
			}
		case !errors.As(err, &lie) || lie.Line != tt.line || !bytes.Contains([]byte(err.Error()), []byte(tt.what)):
			t.Errorf("line %d, %s = %s: %v", tt.line, tt.pointer, tt.value, err)
		}
	}
}

// TestBlobs: a body that is gone or was changed is named by its line.
func TestBlobs(t *testing.T) {
	b := newBench(t, Head{})
	b.pass("", ask(t, newChat("Hi.").body()), string(make([]byte, session.InlineBody+1)))
	b.tape()
	for _, blobs := range []session.Blobs{nil, memBlobs{}} {
		_, err := read(session.NewReader(bytes.NewReader(b.buf.Bytes())), blobs)
		var de *session.DecodeError
		if !errors.As(err, &de) || de.Type != session.TypeWire {
			t.Errorf("%v", err)
		}
	}
}

// TestTooLarge: what no line can hold is refused, and the recording goes on.
func TestTooLarge(t *testing.T) {
	b := newBench(t, Head{})
	r := ask(t, newChat("Hi.").body())
	x := fill(b.Begin("", r), "")
	x.Frames = []Frame{{Data: make([]byte, session.MaxBody+1)}}
	if err := b.Add(x); err == nil {
		t.Error("an answer of more than MaxBody is recorded")
	}
	deep := *r
	part := *r.Parts[0]
	part.JSON = append(bytes.Repeat([]byte{'['}, 600), bytes.Repeat([]byte{']'}, 600)...)
	deep.Parts = append([]*model.Part{&part}, r.Parts[1:]...)
	if err := b.Add(fill(b.Begin("", &deep), "")); err == nil {
		t.Error("a part nested 600 deep is recorded")
	}
	b.pass("", r, answerTo(1))
	if tape := b.tape(); len(tape.Exchanges) != 1 || tape.Exchanges[0].N != 3 {
		t.Errorf("%d exchanges", len(tape.Exchanges))
	}
}

// FuzzLoad reads arbitrary bytes, and sealed sessions whose lines are arbitrary:
// an error or a tape whose requests add up, never a panic.
func FuzzLoad(f *testing.F) {
	b := newBench(f, Head{})
	various(f, b)
	b.tape()
	f.Add(b.buf.Bytes())
	if golden, err := os.ReadFile("../../testdata/sample.session.jsonl"); err == nil {
		f.Add(golden)
	}
	small := newBench(f, Head{})
	small.pass("", ask(f, `{"model":"m","messages":[{"role":"user","content":"x"}]}`), "y")
	small.tape()
	f.Add(small.buf.Bytes())
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		check := func(data []byte) {
			tape, err := read(session.NewReader(bytes.NewReader(data)), memBlobs{})
			if err != nil {
				return
			}
			p := NewPlayer(tape)
			for _, x := range tape.Exchanges {
				if x.Request == nil {
					continue
				}
				r := *x.Request
				r.Parts, r.Chains = x.Parts()
				r.Pointers = make([]string, len(r.Parts))
				if len(r.Chains) != len(r.Parts)+1 {
					t.Fatal("parts and chains do not fit")
				}
				p.Ask("", &r)
			}
			if _, err := json.Marshal(p.Report()); err != nil {
				t.Fatal(err)
			}
		}
		check(data)
		check(sealed(data))
	})
}

// sealed makes a sound chain of lines that were changed.
func sealed(data []byte) []byte {
	var out bytes.Buffer
	w := session.NewWriter(&out)
	for line := range bytes.Lines(data) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		i := bytes.Index(line, []byte(`"t":"`))
		if i < 0 || session.ValidJSON(line) != nil {
			continue
		}
		t, rest, ok := bytes.Cut(line[i+5:], []byte(`"`))
		h := bytes.LastIndex(rest, []byte(`,"h":"`))
		if !ok || h < 0 {
			continue
		}
		if string(t) == "footer" {
			if cut := bytes.LastIndex(rest, []byte(`,"lines":`)); cut >= 0 {
				h = cut
			}
		}
		if w.Line(session.Type(t), rest[:h]) != nil {
			break
		}
	}
	_ = w.Flush()
	return out.Bytes()
}

// grown is a request of a conversation with n parts, made without parsing it.
func grown(base *canon.Request, all []*model.Part, chains []model.Digest, n int) *canon.Request {
	r := *base
	r.Parts, r.Chains = all[:n:n], chains[:n+1:n+1]
	r.Pointers = make([]string, n)
	return &r
}

// longTape is a recording of n turns of one conversation that grows.
func longTape(t testing.TB, n int) ([]byte, []*canon.Request) {
	b := newBench(t, Head{})
	list := talk("Do it.", 1)[0]
	for i := range n {
		list.messages = append(list.messages, said("assistant", fmt.Sprintf("Answer %d.", i)), said("user", fmt.Sprintf("What came of step %d: forty bytes of text.", i)))
	}
	full := ask(t, list.body())
	var rs []*canon.Request
	for i := range n {
		r := grown(full, full.Parts, full.Chains, 3+2*i)
		b.pass("", r, answerTo(i))
		rs = append(rs, r)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return b.buf.Bytes(), rs
}

// TestLinear: file and memory of a conversation that grows are linear in its
// turns.
func TestLinear(t *testing.T) {
	small, _ := longTape(t, 500)
	large, rs := longTape(t, 5000)
	if ratio := float64(len(large)) / float64(len(small)); ratio > 11 {
		t.Errorf("ten times the turns make %.1f times the file", ratio)
	}
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	tape, err := read(session.NewReader(bytes.NewReader(large)), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := NewPlayer(tape)
	if used := heap() - before; used > 4*int64(len(large)) {
		t.Errorf("a tape of %d bytes takes %d", len(large), used)
	}
	if miss := play(t, p, "", rs...); miss != nil || p.Report().Verdict != replayer.Exact {
		t.Errorf("%v", miss)
	}
	runtime.KeepAlive(tape)
}

func BenchmarkLoad(b *testing.B) {
	data, _ := longTape(b, 5000)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := read(session.NewReader(bytes.NewReader(data)), nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAsk(b *testing.B) {
	data, rs := longTape(b, 5000)
	var p *Player
	i := len(rs)
	for b.Loop() {
		if i == len(rs) {
			b.StopTimer()
			tape, err := read(session.NewReader(bytes.NewReader(data)), nil)
			if err != nil {
				b.Fatal(err)
			}
			p, i = NewPlayer(tape), 0
			b.StartTimer()
		}
		if _, miss := p.Ask("", rs[i]); miss != nil {
			b.Fatal(miss)
		}
		i++
	}
}

func BenchmarkRecord(b *testing.B) {
	_, rs := longTape(b, 2000)
	rec := newBench(b, Head{})
	i := 0
	for b.Loop() {
		rec.pass("", rs[i%len(rs)], answerTo(1))
		i++
	}
}

// BenchmarkMiss is the first request that a long recording does not have.
func BenchmarkMiss(b *testing.B) {
	data, rs := longTape(b, 5000)
	tape, err := read(session.NewReader(bytes.NewReader(data)), nil)
	if err != nil {
		b.Fatal(err)
	}
	r := *rs[4000]
	r.Chains = slices.Clone(r.Chains)
	r.Chains[len(r.Chains)-1][0] ^= 1
	for b.Loop() {
		if _, miss := NewPlayer(tape).Ask("", &r); miss == nil {
			b.Fatal("served")
		}
	}
}
