package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/harnessbench/harnessbench/recorder/session"
)

// heavy is a session file that costs more than it should.
type heavy struct {
	name string
	want string // verdicts of a replay that are right
	make func(t *testing.T, w io.Writer, good []byte)
}

// field puts a field into the first line of a type and seals the session again,
// line by line: value writes it.
func field(typ session.Type, key string, value func(w io.Writer)) func(t *testing.T, w io.Writer, good []byte) {
	return func(_ *testing.T, w io.Writer, good []byte) {
		chain, done := session.ChainStart, false
		for _, line := range lines(good) {
			body := line[:len(line)-len(`,"h":""}`)-32-1]
			if at := bytes.LastIndex(body, []byte(`,"lines":`)); at > 0 {
				at = bytes.LastIndex(body, []byte(`,"digest":"`))
				body = fmt.Appendf(bytes.Clone(body[:at]), `,"digest":"%s"`, chain)
			}
			h := sha256.New()
			both := io.MultiWriter(w, h)
			h.Write(chain[:])
			if !done && bytes.Contains(body[:40], []byte(`"t":"`+string(typ)+`"`)) {
				done = true
				if at := bytes.Index(body, []byte(`,"`+key+`":`)); at >= 0 { // it gives way
					_, _ = both.Write(body[:at])
					fmt.Fprintf(both, `,"%s":`, key)
					value(both)
					_, _ = both.Write(rest(body[at+len(key)+4:]))
				} else {
					_, _ = both.Write(body)
					fmt.Fprintf(both, `,"%s":`, key)
					value(both)
				}
			} else {
				_, _ = both.Write(body)
			}
			h.Sum(chain[:0])
			fmt.Fprintf(w, ",\"h\":\"%s\"}\n", hex.EncodeToString(chain[:16]))
		}
	}
}

// rest cuts the string or array that b begins with.
func rest(b []byte) []byte {
	depth, in := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case in && c == '\\':
			i++
		case c == '"':
			in = !in
		case !in && (c == '[' || c == '{'):
			depth++
		case !in && (c == ']' || c == '}'):
			depth--
		}
		if depth == 0 && !in {
			return b[i+1:]
		}
	}
	return nil
}

// times writes a piece n times between two others.
func times(before, piece string, n int, after string) func(w io.Writer) {
	block := strings.Repeat(piece, 1000)
	return func(w io.Writer) {
		_, _ = io.WriteString(w, before)
		for range n / 1000 {
			_, _ = io.WriteString(w, block)
		}
		_, _ = io.WriteString(w, after)
	}
}

// zeros is n MiB of blanks, compressed: some kilobytes.
func zeros(n int) func(t *testing.T, w io.Writer, good []byte) {
	return func(t *testing.T, w io.Writer, _ []byte) {
		zw, err := zstd.NewWriter(w)
		if err != nil {
			t.Fatal(err)
		}
		block := bytes.Repeat([]byte{' '}, 1<<20)
		for range n {
			if _, err := zw.Write(block); err != nil {
				t.Fatal(err)
			}
		}
		if err := zw.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

const almost = 16_000_000 // bytes; a line may have 67,108,864

// heavies lists the files; the lines of most are within what the format allows.
var heavies = []heavy{
	{"bomb", "CORRUPT", zeros(4096)},
	{"bomb-below-the-limit", "CORRUPT", zeros(60)},
	{"line-too-long", "CORRUPT", func(_ *testing.T, w io.Writer, _ []byte) {
		times(`{"seq":1,"t":"header","v":"`, "x", 70_000_000, "\"}\n")(w)
	}},
	{"no-line-end", "CORRUPT", func(_ *testing.T, w io.Writer, _ []byte) { times("", "[", 70_000_000, "")(w) }},
	{"label", "EXACT NORMALISED", field(session.TypeHeader, "labels", times(`{"x":"`, "x", almost, `"}`))},
	{"labels", "EXACT NORMALISED", field(session.TypeHeader, "labels", func(w io.Writer) {
		_, _ = io.WriteString(w, `{"a":"b"`)
		for i := range 200_000 {
			fmt.Fprintf(w, `,"k%07d":"vvvvvvv"`, i)
		}
		_, _ = io.WriteString(w, "}")
	})},
	{"unknown-text", "EXACT NORMALISED", field(session.TypeState, "later", times(`"`, "x", almost, `"`))},
	{"unknown-list", "EXACT NORMALISED", field(session.TypeState, "later", times(`[0`, ",0", almost/2, `]`))},
	{"unknown-objects", "EXACT NORMALISED", field(session.TypeState, "later", times(`[{}`, ",{}", almost/3, `]`))},
	{"unknown-depth", "EXACT NORMALISED", field(session.TypeState, "later", times("[0", ","+strings.Repeat("[", 500)+strings.Repeat("]", 500), almost/1001, "]"))},
	{"result-text", "DIVERGED", field(session.TypeToolResult, "text", times(`"`, "x", almost, `"`))},
	{"result-escapes", "DIVERGED", field(session.TypeToolResult, "text", times(`"`, `\u0001`, almost/6, `"`))},
	{"answer-text", "DIVERGED", field(session.TypeResponse, "items", times(`[{"text":"`, "x", almost, `","type":"text"}]`))},
	{"answer-items", "DIVERGED", field(session.TypeResponse, "items", times(`[{"text":"x","type":"text"}`, `,{"text":"x","type":"text"}`, 100_000, `]`))},
	{"answer-calls", "DIVERGED", field(session.TypeResponse, "items", times(`[{"args":"{}","name":"fail","type":"tool_call"}`, `,{"args":"{}","name":"fail","type":"tool_call"}`, 60_000, `]`))},
	{"usage", "CORRUPT DIVERGED", field(session.TypeResponse, "usage", times(`[0`, ",0", almost/2, `]`))},
	{"deltas", "CORRUPT DIVERGED", field(session.TypeToolResult, "delta", times(`[{"path":"a","text":""}`, `,{"path":"a","text":""}`, 100_000, `]`))},
	{"part", "DIVERGED", field(session.TypePart, "body", times(`{"x":[0`, ",0", almost/2, `]}`))},
	{"tree", "DIVERGED CORRUPT", field(session.TypeHeader, "tree", func(w io.Writer) {
		_, _ = io.WriteString(w, `[`)
		for i := range 100_000 {
			fmt.Fprintf(w, `%s{"path":"f%08d","size":0,"mode":420,"digest":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}`, ",,"[min(i, 1):1], i)
		}
		_, _ = io.WriteString(w, `]`)
	})},
	{"config", "DIVERGED", field(session.TypeHeader, "config", times(`{"x":[0`, ",0", almost/2, `]}`))},
	{"parts", "CORRUPT", func(_ *testing.T, w io.Writer, good []byte) { repeated(w, good, session.TypePart, 100_000) }},
	{"notes", "DIVERGED EXHAUSTED", func(_ *testing.T, w io.Writer, good []byte) { repeated(w, good, session.TypeState, 100_000) }},
}

// repeated seals a session in which the first line of a type stands n times.
func repeated(w io.Writer, good []byte, typ session.Type, n int) {
	sw := session.NewWriter(w)
	rd := session.NewReader(bytes.NewReader(good))
	for l, err := rd.Next(); err == nil; l, err = rd.Next() {
		m := 1
		if l.Type == typ {
			m, n = n, 1
		}
		for range m {
			_ = sw.Line(l.Type, l.Payload())
		}
	}
	_ = sw.Flush()
}

// write makes the file in a folder.
func (h *heavy) write(t *testing.T, dir string, good []byte) string {
	t.Helper()
	path := filepath.Join(dir, h.name+session.Suffix)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<16)
	h.make(t, w, good)
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}
