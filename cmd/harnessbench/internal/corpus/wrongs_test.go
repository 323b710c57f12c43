package corpus

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
)

// source reads a good recording that a wrong one is made of.
func source(t testing.TB, path, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(path)), "good", name+".session.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// wrongs lists the deliberately wrong files.
func wrongs() []recipe {
	var out []recipe
	add := func(name, about string, want replayer.Verdict, from string, make func(t testing.TB, good []byte) []byte) {
		out = append(out, recipe{"wrong/" + name + ".session.jsonl", about, want, func(t testing.TB, path string) {
			if err := os.WriteFile(path, make(t, source(t, path, from)), 0o644); err != nil {
				t.Fatal(err)
			}
		}})
	}
	for _, e := range edits {
		add("edit-"+e.name, fmt.Sprintf("%s of the %s line in turn %d changed, sealed again (and compressed)", e.pointer, e.typ, e.turn), replayer.Diverged, e.from, func(t testing.TB, good []byte) []byte {
			return pack(e.make(t, good))
		})
		out[len(out)-1].file += session.ZstdSuffix
	}
	damage := func(name, about string, want replayer.Verdict, make func(lines [][]byte) []byte) {
		add(name, about, want, "brief", func(_ testing.TB, good []byte) []byte {
			lines := bytes.SplitAfter(good, []byte("\n"))
			return make(lines[:len(lines)-1])
		})
	}
	join := func(parts ...[][]byte) []byte {
		var all []byte
		for _, p := range parts {
			all = append(all, bytes.Join(p, nil)...)
		}
		return all
	}
	damage("empty", "no byte", replayer.Corrupt, func([][]byte) []byte { return nil })
	damage("no-footer", "the footer is missing", replayer.Exhausted, func(l [][]byte) []byte { return join(l[:len(l)-1]) })
	damage("torn", "the last line breaks off", replayer.Exhausted, func(l [][]byte) []byte { b := join(l); return b[:len(b)-20] })
	damage("torn-middle", "it breaks off in the middle of a turn", replayer.Exhausted, func(l [][]byte) []byte { b := join(l); return b[:len(b)/2] })
	damage("torn-header", "it breaks off in the first line", replayer.Corrupt, func(l [][]byte) []byte { return l[0][:len(l[0])/2] })
	damage("flipped", "one bit of a result changed", replayer.Corrupt, func(l [][]byte) []byte {
		b := join(l)
		b[bytes.Index(b, []byte("disk is full"))] ^= 1
		return b
	})
	damage("flipped-chain", "one digit of a chain digest changed", replayer.Corrupt, func(l [][]byte) []byte {
		at := len(l[9]) - 5
		line := bytes.Clone(l[9])
		line[at] = "10"[min(1, int(line[at]&1))]
		return join(l[:9], [][]byte{line}, l[10:])
	})
	damage("doubled", "a line stands there twice", replayer.Corrupt, func(l [][]byte) []byte { return join(l[:10], l[9:]) })
	damage("missing", "a line is missing", replayer.Corrupt, func(l [][]byte) []byte { return join(l[:10], l[11:]) })
	damage("swapped", "two lines are swapped", replayer.Corrupt, func(l [][]byte) []byte { return join(l[:10], l[11:12], l[10:11], l[12:]) })
	damage("after-footer", "a line follows the footer", replayer.Corrupt, func(l [][]byte) []byte { return join(l, l[1:2]) })
	damage("carriage-returns", "LF became CRLF", replayer.Corrupt, func(l [][]byte) []byte {
		return bytes.ReplaceAll(join(l), []byte("\n"), []byte("\r\n"))
	})
	damage("byte-order-mark", "it begins with a byte order mark", replayer.Corrupt, func(l [][]byte) []byte {
		return append([]byte("\xef\xbb\xbf"), join(l)...)
	})
	damage("zstd-cut", "compressed, and cut off", replayer.Exhausted, func(l [][]byte) []byte {
		b := pack(join(l))
		return b[:len(b)-40]
	})
	damage("zstd-broken", "compressed, and damaged", replayer.Corrupt, func(l [][]byte) []byte {
		b := pack(join(l))
		b[len(b)/2] ^= 0x55
		return b
	})
	return append(append(out, resealed()...), spliced())
}

func pack(b []byte) []byte {
	var out bytes.Buffer
	zw, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err)
	}
	for len(b) > 0 { // many blocks, so that a cut leaves some
		n := min(len(b), 4096)
		_, _ = zw.Write(b[:n])
		_ = zw.Flush()
		b = b[n:]
	}
	_ = zw.Close()
	return out.Bytes()
}

// edit changes one field of one line.
type edit struct {
	name, from string
	typ        session.Type
	turn       int // 0 = any
	pointer    string
	value      string // JSON; empty = taken away
}

func (e edit) make(t testing.TB, good []byte) []byte {
	t.Helper()
	done := false
	out := reseal(t, good, func(l *session.Line) [][]byte {
		if done || l.Type != e.typ || e.turn > 0 && l.Turn != e.turn {
			return [][]byte{l.Payload()}
		}
		var value []byte
		if e.value != "" {
			value = []byte(e.value)
		}
		p, err := l.With(e.pointer, value)
		if err != nil {
			t.Fatal(err)
		}
		done = true
		return [][]byte{p}
	})
	if !done {
		t.Fatalf("edit %s: there is no such line", e.name)
	}
	return out
}

var zero = `"` + strings.Repeat("0", 64) + `"`

var edits = []edit{
	{"header-model", "brief", session.TypeHeader, 0, "/model", `"sim/strong"`},
	{"header-seed", "retry-twice", session.TypeHeader, 0, "/config/seed", `2`},
	{"header-guard", "end-stuck", session.TypeHeader, 0, "/config/guards/stuck/abort", `5`},
	{"header-tree", "texts", session.TypeHeader, 0, "/tree/0/digest", zero},
	{"prompt", "brief", session.TypePart, 0, "/body/description", `"Another."`},
	{"chain", "brief", session.TypeRequest, 2, "/chain", `"` + strings.Repeat("0", 32) + `"`},
	{"answer-args", "brief", session.TypeResponse, 1, "/items/1/args", `"{\"n\":2}"`},
	{"answer-text", "end-unverified", session.TypeResponse, 1, "/items/0/text", `"Finished."`},
	{"finish", "brief", session.TypeResponse, 1, "/finish", `"stop"`},
	{"usage", "brief", session.TypeResponse, 1, "/usage/0", `1001`},
	{"elapsed", "brief", session.TypeResponse, 1, "/elapsed_us", `1500001`},
	{"number-form", "numbers", session.TypeResponse, 1, "/items/2/args", `"{\"n\":25.0}"`},
	{"attempt-status", "retry-twice", session.TypeAttempt, 1, "/error/status", `501`},
	{"attempt-wait", "retry-twice", session.TypeAttempt, 1, "/wait_us", `1`},
	{"attempt-again", "retry-twice", session.TypeAttempt, 1, "/again", ``},
	{"call-id", "brief", session.TypeToolRequest, 1, "/id", `"call_000000000000"`},
	{"call-problem", "brief", session.TypeToolRequest, 2, "/detail", `"no"`},
	{"result-text", "brief", session.TypeToolResult, 1, "/text", `"number 7"`},
	{"result-outcome", "brief", session.TypeToolResult, 1, "/outcome", `"tool_error"`},
	{"result-took", "brief", session.TypeToolResult, 1, "/took_us", `60000`},
	{"delta-text", "edits", session.TypeToolResult, 1, "/delta/0/path", `"a/b/d.txt"`},
	{"guard-evidence", "end-stuck", session.TypeGuard, 3, "/evidence", `"4 equal rounds"`},
	{"guard-mode", "end-stuck", session.TypeGuard, 3, "/mode", `"shadow"`},
	{"guard-version", "end-stuck", session.TypeGuard, 3, "/v", `2`},
	{"shadow-firing", "shadow-stuck", session.TypeGuard, 0, "/act", `"stop"`},
	{"acceptance", "end-unverified", session.TypeAcceptance, 1, "/fail", ``},
	{"note", "items", session.TypeNote, 1, "/what", `"nothing"`},
	{"state-calls", "brief", session.TypeState, 1, "/calls", `9`},
	{"state-cost", "brief", session.TypeState, 1, "/cost_pico", `1`},
	{"state-inputs", "brief", session.TypeState, 1, "/inputs", `"` + strings.Repeat("0", 32) + `"`},
	{"footer-reason", "brief", session.TypeFooter, 0, "/reason", `"stuck"`},
	{"footer-tree", "brief", session.TypeFooter, 0, "/tree_digest", zero},
	{"footer-turns", "brief", session.TypeFooter, 0, "/turns", `40`},
}

// reseal edits a session and seals it again.
func reseal(t testing.TB, b []byte, fn func(l *session.Line) [][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	err := session.Edit(&out, bytes.NewReader(b), func(l *session.Line, emit func(session.Type, []byte) error) error {
		for _, p := range fn(l) {
			if err := emit(l.Type, p); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// resealed lists files whose chain is sound and whose lines are not those of the
// loop.
func resealed() []recipe {
	var out []recipe
	add := func(name, about string, want replayer.Verdict, from string, fn func(t testing.TB, l *session.Line) [][]byte) {
		out = append(out, recipe{"wrong/" + name + ".session.jsonl", about, want, func(t testing.TB, path string) {
			b := reseal(t, source(t, path, from), func(l *session.Line) [][]byte { return fn(t, l) })
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}})
	}
	same := func(l *session.Line) [][]byte { return [][]byte{l.Payload()} }
	set := func(t testing.TB, l *session.Line, pointer, value string) [][]byte {
		p, err := l.With(pointer, []byte(value))
		if err != nil {
			t.Fatal(err)
		}
		return [][]byte{p}
	}
	header := func(pointer, value string) func(t testing.TB, l *session.Line) [][]byte {
		return func(t testing.TB, l *session.Line) [][]byte {
			if l.Type == session.TypeHeader {
				return set(t, l, pointer, value)
			}
			return same(l)
		}
	}
	add("too-new", "a newer format", replayer.TooNew, "brief", header("/v", `"harnessbench/session/2"`))
	add("foreign", "no session of ours", replayer.Corrupt, "brief", header("/v", `"other/1"`))
	add("foreign-canon", "an unknown canonical form", replayer.Corrupt, "brief", header("/canon", `"canon/2"`))
	add("labels", "labels changed: they are never compared", replayer.Exact, "brief", header("/labels", `{"arm":"renamed","note":"x"}`))
	add("unknown-field", "a field of a later minor version", replayer.Normalised, "brief", func(t testing.TB, l *session.Line) [][]byte {
		if l.Type == session.TypeState {
			return set(t, l, "/later", `{"a":[1]}`)
		}
		return same(l)
	})
	add("key-order", "the fields of state lines in another order", replayer.Normalised, "brief", func(_ testing.TB, l *session.Line) [][]byte {
		p := l.Payload()
		if l.Type == session.TypeState {
			if cut := bytes.Index(p[1:], []byte(`,"`)) + 1; cut > 0 {
				p = append(append([]byte{}, p[cut:]...), p[:cut]...)
			}
		}
		return [][]byte{p}
	})
	add("stopped-early", "the recorded loop stopped two turns earlier", replayer.Exhausted, "brief", func(_ testing.TB, l *session.Line) [][]byte {
		if l.Type != session.TypeFooter && l.Turn > 3 {
			return nil
		}
		return same(l)
	})
	add("answer-missing", "an answer is missing", replayer.Diverged, "brief", func(_ testing.TB, l *session.Line) [][]byte {
		if l.Type == session.TypeResponse && l.Turn == 3 {
			return nil
		}
		return same(l)
	})
	add("turn-doubled", "the lines of a turn stand there twice in a row each", replayer.Diverged, "brief", func(_ testing.TB, l *session.Line) [][]byte {
		if l.Type == session.TypeToolRequest && l.Turn == 2 {
			return [][]byte{l.Payload(), l.Payload()}
		}
		return same(l)
	})
	add("blob-missing", "a blob that is not beside the file", replayer.Corrupt, "blobs", func(_ testing.TB, l *session.Line) [][]byte { return same(l) })
	return append(out, behaviour("guard-later", "a guard of a behaviour version that is not in the code", 99), unused())
}

// behaviour makes a session recorded under another behaviour version of stuck.
func behaviour(name, about string, version int) recipe {
	return recipe{"wrong/" + name + ".session.jsonl", about, replayer.OldBehaviour, func(t testing.TB, path string) {
		b := reseal(t, source(t, path, "end-stuck"), func(l *session.Line) [][]byte {
			if l.Type != session.TypeHeader {
				return [][]byte{l.Payload()}
			}
			config, _ := l.Field("config")
			const stuck = `"cycle_nudge":2,"mode":"enforce","nudge":3,"v":` // no_progress has a nudge too
			config = bytes.Replace(config, []byte(stuck+"1"), fmt.Append([]byte(stuck), version), 1)
			p, err := l.With("/config", config)
			if err != nil {
				t.Fatal(err)
			}
			p = bytes.Replace(p, fieldOf(l, "config_digest"), fmt.Appendf(nil, "%q", model.Sum(config)), 1)
			return [][]byte{p}
		})
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}}
}

func fieldOf(l *session.Line, key string) []byte {
	v, _ := l.Field(key)
	return v
}

// unused makes a recording with more answers than the loop wants: after the last
// turn of a session stand the turns of a longer one.
func unused() recipe {
	return recipe{"wrong/unused.session.jsonl", "turns follow in which the loop asks nothing any more", replayer.Unused, func(t testing.TB, path string) {
		longer := bytes.SplitAfter(source(t, path, "end-turn-limit"), []byte("\n"))
		var turns [][2][]byte // type, payload
		rd := session.NewReader(bytes.NewReader(bytes.Join(longer, nil)))
		for {
			l, err := rd.Next()
			if err != nil {
				break
			}
			if l.Turn >= 2 && l.Type != session.TypeFooter {
				turns = append(turns, [2][]byte{[]byte(l.Type), bytes.Clone(l.Payload())})
			}
		}
		var out bytes.Buffer
		err := session.Edit(&out, bytes.NewReader(source(t, path, "end-completed")), func(l *session.Line, emit func(session.Type, []byte) error) error {
			if l.Type == session.TypeFooter {
				for _, x := range turns {
					if err := emit(session.Type(x[0]), x[1]); err != nil {
						return err
					}
				}
			}
			return emit(l.Type, l.Payload())
		})
		if err == nil {
			err = os.WriteFile(path, out.Bytes(), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}}
}

// spliced puts the second half of one session behind the first of another.
func spliced() recipe {
	return recipe{"wrong/spliced.session.jsonl", "the first half of one session and the second of another", replayer.Corrupt, func(t testing.TB, path string) {
		a := bytes.SplitAfter(source(t, path, "brief"), []byte("\n"))
		b := bytes.SplitAfter(source(t, path, "end-turn-limit"), []byte("\n"))
		if err := os.WriteFile(path, append(bytes.Join(a[:12], nil), bytes.Join(b[12:], nil)...), 0o644); err != nil {
			t.Fatal(err)
		}
	}}
}

// older makes the session that a version without the guard unknown_tool would have
// recorded, with the digests that it would have.
func older(t testing.TB, path string) {
	var out bytes.Buffer
	w, in := session.NewWriter(&out), session.NewInputs()
	rd := session.NewReader(bytes.NewReader(source(t, path, "end-unchecked")))
	for l, err := rd.Next(); err == nil; l, err = rd.Next() {
		p := bytes.Clone(l.Payload())
		put := func(key string, value []byte) { p = bytes.Replace(p, fieldOf(l, key), value, 1) }
		switch l.Type {
		case session.TypeHeader:
			config := regexp.MustCompile(`,"unknown_tool":\{[^}]*\}`).ReplaceAll(fieldOf(l, "config"), nil)
			put("config", config)
			put("config_digest", fmt.Appendf(nil, "%q", model.Sum(config)))
		case session.TypeState:
			put("inputs", fmt.Appendf(nil, "%q", in.Digest().Short()))
		case session.TypeFooter:
			put("inputs", fmt.Appendf(nil, "%q", in.Digest()))
		}
		if err := w.Line(l.Type, p); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		count(t, in, out.Bytes(), int(w.Lines()))
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// count adds line no of a session to an inputs digest.
func count(t testing.TB, in *session.Inputs, b []byte, no int) {
	t.Helper()
	rd := session.NewReader(bytes.NewReader(b))
	for {
		l, err := rd.Next()
		if err != nil {
			t.Fatal(err)
		}
		if l.No == no {
			if err := in.Add(l); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
}
