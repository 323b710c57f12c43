package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/harnessbench/harnessbench/recorder/session"
)

// damaged is a file that pretends to be a session.
type damaged struct {
	name   string // of the file
	kind   string
	data   []byte
	want   []string // verdicts of a replay, one of them is right
	broken bool     // the file itself is damaged: verify must say so too
}

// damager makes damaged sessions of sound ones; equal seeds make equal files.
type damager struct {
	*rand.Rand
	t       *testing.T
	sources [][]byte
}

// newDamager reads the recordings of the corpus that damage is done to.
func newDamager(t *testing.T, seed uint64) *damager {
	t.Helper()
	d := &damager{Rand: rand.New(rand.NewPCG(seed, 9)), t: t}
	for _, name := range []string{"brief", "outcomes", "edits", "retry-twice", "end-stuck", "texts", "numbers", "end-cancelled", "shadow-stuck"} {
		b, err := os.ReadFile(filepath.Join(corpusGood, name+session.Suffix))
		if err != nil {
			t.Fatal(err)
		}
		d.sources = append(d.sources, b)
	}
	return d
}

func (d *damager) source() []byte { return d.sources[d.IntN(len(d.sources))] }

// lines cuts a session into lines, LF included.
func lines(b []byte) [][]byte {
	l := bytes.SplitAfter(b, []byte("\n"))
	return l[:len(l)-1]
}

// damages are the kinds, each with the verdicts that are right.
var damages = []struct {
	kind   string
	want   string
	broken bool
	make   func(d *damager) []byte
}{
	{"truncated", "EXHAUSTED CORRUPT", true, func(d *damager) []byte {
		b := d.source()
		return b[:d.IntN(len(b))]
	}},
	{"truncated at a line", "EXHAUSTED CORRUPT", true, func(d *damager) []byte {
		l := lines(d.source())
		return bytes.Join(l[:d.IntN(len(l))], nil)
	}},
	{"spliced", "CORRUPT EXHAUSTED TOO_NEW", true, func(d *damager) []byte {
		a := d.source()
		i := 1 + d.IntN(len(a)-2)
		for { // any two but halves that fit
			if b := d.source(); &a[0] != &b[0] {
				return append(bytes.Clone(a[:i]), b[1+d.IntN(len(b)-2):]...)
			}
		}
	}},
	{"spliced at lines", "CORRUPT EXHAUSTED", true, func(d *damager) []byte {
		for {
			a, b := d.source(), d.source()
			x, y := lines(a), lines(b)
			out := bytes.Join(append(slices.Clone(x[:1+d.IntN(len(x)-2)]), y[1+d.IntN(len(y)-1):]...), nil)
			if !bytes.Equal(out, a) && !bytes.Equal(out, b) { // some begin alike
				return out
			}
		}
	}},
	{"line doubled", "CORRUPT", true, func(d *damager) []byte {
		l := lines(d.source())
		i := d.IntN(len(l))
		return bytes.Join(slices.Insert(slices.Clone(l), i, l[i]), nil)
	}},
	{"line missing", "CORRUPT EXHAUSTED", true, func(d *damager) []byte { // EXHAUSTED: it was the last one
		l := lines(d.source())
		i := d.IntN(len(l))
		return bytes.Join(slices.Delete(slices.Clone(l), i, i+1), nil)
	}},
	{"lines swapped", "CORRUPT", true, func(d *damager) []byte {
		l := slices.Clone(lines(d.source()))
		i := d.IntN(len(l) - 1)
		l[i], l[i+1] = l[i+1], l[i]
		return bytes.Join(l, nil)
	}},
	{"bit flipped", "CORRUPT TOO_NEW EXHAUSTED", true, func(d *damager) []byte { // EXHAUSTED: it was the last LF
		b := bytes.Clone(d.source())
		b[d.IntN(len(b))] ^= 1 << d.IntN(8)
		return b
	}},
	{"bytes overwritten", "CORRUPT EXHAUSTED TOO_NEW", true, func(d *damager) []byte {
		b := bytes.Clone(d.source())
		for i := d.IntN(len(b) - 64); i < len(b); i++ {
			if b[i] = byte(d.Uint32()); d.IntN(16) == 0 {
				break
			}
		}
		return b
	}},
	{"wrong digest", "CORRUPT", true, func(d *damager) []byte {
		l := slices.Clone(lines(d.source()))
		i := d.IntN(len(l))
		line := bytes.Clone(l[i])
		at := len(line) - 4 - d.IntN(30)
		line[at] = "0123456789abcdef"[(strings.IndexByte("0123456789abcdef", line[at])+1+d.IntN(15))%16]
		l[i] = line
		return bytes.Join(l, nil)
	}},
	{"huge number", "DIVERGED EXHAUSTED UNUSED CORRUPT OLD_BEHAVIOUR", false, func(d *damager) []byte {
		return d.edit([]string{"1e400", "-1", "9223372036854775808", strings.Repeat("9", 4000), "1e-999999999", "-0.0", "1.5", "9007199254740993"})
	}},
	{"wrong type", "DIVERGED EXHAUSTED UNUSED CORRUPT OLD_BEHAVIOUR", false, func(d *damager) []byte {
		return d.edit([]string{"null", "true", `{"x":{}}`, `[{"x":[]}]`, `"\u0000"`, `"\u202e"`, `["../../etc/passwd"]`, `{"":""}`, "[[]]", strings.Repeat("[", 400) + strings.Repeat("]", 400)})
	}},
	{"path tricks", "DIVERGED CORRUPT", false, (*damager).path},
	{"bad JSON, well sealed", "CORRUPT", true, (*damager).badJSON},
	{"zstd, damaged", "CORRUPT EXHAUSTED", true, func(d *damager) []byte {
		b := packed(d.t, d.source())
		if d.IntN(2) == 0 {
			return b[:len(b)/8+d.IntN(len(b)*3/4)]
		}
		b[4+d.IntN(len(b)-12)] ^= 1 << d.IntN(8)
		return b
	}},
	{"noise", "CORRUPT", true, func(d *damager) []byte {
		b := make([]byte, d.IntN(1<<14))
		for i := range b {
			b[i] = byte(d.Uint32())
		}
		switch d.IntN(3) {
		case 0:
			return append([]byte("\x28\xb5\x2f\xfd"), b...)
		case 1:
			return append([]byte(`{"seq":1,"t":"header","v":"harnessbench/session/1"`), b...)
		}
		return b
	}},
}

// files makes n damaged files, each kind in turn.
func (d *damager) files(n int) []damaged {
	out := make([]damaged, n)
	for i := range out {
		k := damages[i%len(damages)]
		name := fmt.Sprintf("%04d-%s%s", i, strings.NewReplacer(" ", "_", ",", "").Replace(k.kind), session.Suffix)
		if strings.HasPrefix(k.kind, "zstd") {
			name += session.ZstdSuffix
		}
		out[i] = damaged{name, k.kind, k.make(d), strings.Fields(k.want), k.broken}
	}
	return out
}

// edit puts another value in the place of a random field of a random line and
// seals the session again. Fields that say nothing to a replay are left alone.
func (d *damager) edit(values []string) []byte {
	b := d.source()
	at := 1 + d.IntN(len(lines(b)))
	return resealed(d.t, b, func(l *session.Line) []byte {
		if l.No != at {
			return l.Payload()
		}
		var keys []string
		l.Keys(func(key string, old []byte) {
			if key != "labels" && key != "lines" && key != "digest" || key == "digest" && l.Type != session.TypeFooter {
				keys = append(keys, key)
			}
		})
		key := keys[d.IntN(len(keys))]
		old, _ := l.Field(key)
		value := values[d.IntN(len(values))]
		for string(old) == value {
			value = values[d.IntN(len(values))]
		}
		p, err := l.With("/"+key, []byte(value))
		if err != nil {
			d.t.Fatal(err)
		}
		return p
	})
}

// path puts a path that leads out of the workspace, or to nowhere, where the
// recording has one of its own.
func (d *damager) path() []byte {
	paths := []string{"../x", "/etc/passwd", "a/../../x", "a//b", ".", "", "a/./b", "x\u0000y", `..\\..\\x`, ".harness/spill/x", strings.Repeat("d/", 4000) + "x", strings.Repeat("n", 70000)}
	value := fmt.Appendf(nil, `"%s"`, paths[d.IntN(len(paths))])
	value = bytes.ReplaceAll(value, []byte{0}, []byte(`\u0000`))
	source, typ, pointer := 2, session.TypeToolResult, "/delta/0/path" // edits
	if d.IntN(3) == 0 {
		source, typ, pointer = 5, session.TypeHeader, "/tree/0/path" // texts
	} else if d.IntN(3) == 0 {
		pointer, value = "/delta/0", []byte(`{"path":"a/b/c.txt","size":5,"blob":"../../../../../../../../../../../../../../../../../../../../../etc/"}`)
	}
	done := false
	return resealed(d.t, d.sources[source], func(l *session.Line) []byte {
		if done || l.Type != typ {
			return l.Payload()
		}
		done = true
		p, err := l.With(pointer, value)
		if err != nil {
			d.t.Fatal(err)
		}
		return p
	})
}

// badJSON puts something that no line may hold into a line, with a chain that is
// sound over it.
func (d *damager) badJSON() []byte {
	bad := []string{
		`,"x":"` + "\x00" + `"`, `,"x":"` + "\xff\xfe" + `"`, `,"x":"\ud800"`, `,"x":NaN`, `,"x":1,"x":2`, `,"x":01`, `,"x":+1`, `,"x":.5`, `,"x":'a'`,
		`,"x": 1`, `,"x":1,`, `,"x":"` + "\t" + `"`, `,"x":{"a":1,"\u0061":2}`, `,"x":` + strings.Repeat("[", 600) + strings.Repeat("]", 600), `,"x":` + strings.Repeat(`{"a":`, 100_000),
		`,"x":"\x"`, `,"x":tru`, `,"x"`, `,`, "}", "]", `,"x":"`,
	}[d.IntN(22)]
	l := lines(d.source())
	at := d.IntN(len(l) - 1) // not the footer, whose last fields have their place
	chain := session.ChainStart
	var out bytes.Buffer
	for i, line := range l {
		body := line[:len(line)-len(`,"h":""}`)-32-1]
		if i == at {
			body = append(bytes.Clone(body), bad...)
		}
		chain = sha256.Sum256(append(chain[:], body...))
		fmt.Fprintf(&out, "%s,\"h\":\"%s\"}\n", body, hex.EncodeToString(chain[:16]))
	}
	return out.Bytes()
}

// resealed rewrites a session line by line.
func resealed(t testing.TB, b []byte, fn func(l *session.Line) []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	err := session.Edit(&out, bytes.NewReader(b), func(l *session.Line, emit func(session.Type, []byte) error) error {
		return emit(l.Type, fn(l))
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// packed compresses, in blocks small enough that a cut leaves some.
func packed(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	zw, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	for len(b) > 0 {
		n := min(len(b), 2048)
		_, err := zw.Write(b[:n])
		if err == nil {
			err = zw.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
		b = b[n:]
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
