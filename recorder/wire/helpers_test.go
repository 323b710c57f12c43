package wire

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop/model/sim"
	"github.com/harnessbench/harnessbench/loop/redact"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/recorder/wire/tape"
)

// endpoint serves a handler on loopback until the test ends.
func endpoint(t testing.TB, h http.Handler) string {
	t.Helper()
	e, err := Listen("127.0.0.1:0", EndpointOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e.Serve(h, EndpointOptions{})
	t.Cleanup(func() {
		if err := e.Stop(0); err != nil {
			t.Error(err)
		}
	})
	return e.URL()
}

// recording is an endpoint that records.
type recording struct {
	url, dir, path string
	end            func() *tape.Tape // stops it and loads what was recorded
}

// record serves next and records it.
func record(t testing.TB, next http.Handler, secrets ...string) *recording {
	t.Helper()
	return recordWith(t, next, RecordOptions{Redact: redact.New(secrets...)})
}

func recordWith(t testing.TB, next http.Handler, o RecordOptions) *recording {
	t.Helper()
	if o.Redact == nil {
		o.Redact = redact.New()
	}
	o.Log = func(s string) { t.Log(s) }
	r := &recording{dir: t.TempDir()}
	r.path = filepath.Join(r.dir, "x"+session.Suffix)
	rec, err := tape.Create(r.path, tape.Head{Redact: o.Redact, Upstream: "sim/weak"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := Listen("127.0.0.1:0", EndpointOptions{})
	if err != nil {
		t.Fatal(err)
	}
	h := NewRecord(next, rec, o)
	e.Serve(h, EndpointOptions{})
	r.url = e.URL()
	ended := false
	r.end = func() *tape.Tape {
		t.Helper()
		if ended {
			return nil
		}
		ended = true
		if err := e.Stop(time.Second); err != nil {
			t.Error(err)
		}
		if err := h.Err(); err != nil {
			t.Error(err)
		}
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
		loaded, err := tape.Load(r.path)
		if err != nil {
			t.Fatal(err)
		}
		return loaded
	}
	t.Cleanup(func() { r.end() })
	return r
}

// replay serves a recording.
func replay(t testing.TB, tp *tape.Tape, o ReplayOptions) (string, *Replay) {
	t.Helper()
	h := NewReplay(tape.NewPlayer(tp), o)
	return endpoint(t, h), h
}

// proxy passes on to a server of the test.
func proxy(t testing.TB, upstream string) *Proxy {
	t.Helper()
	u, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	p := NewProxy(Upstream{OpenAI: u, Anthropic: u}, func(s string) { t.Log(s) })
	t.Cleanup(p.Close)
	return p
}

// answered is what a client got.
type answered struct {
	status int
	header http.Header
	body   []byte
	err    error // of reading the body
}

// client keeps bytes as they come.
var client = &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16}}

// ask posts a body; headers are names and values in turn.
func ask(t testing.TB, target, body string, headers ...string) answered {
	t.Helper()
	req, err := http.NewRequest("POST", target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return do(req)
}

func get(t testing.TB, target string) answered {
	t.Helper()
	req, err := http.NewRequest("GET", target, nil)
	if err != nil {
		t.Fatal(err)
	}
	return do(req)
}

func do(req *http.Request) answered {
	resp, err := client.Do(req)
	if err != nil {
		return answered{err: err}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return answered{resp.StatusCode, resp.Header, b, err}
}

// chat is the body of a chat completion that asks one thing.
func chat(prompt string, more ...string) string {
	return `{"model":"m","messages":[{"role":"user","content":` + quote(prompt) + `}]` + strings.Join(more, "") + `}`
}

func quote(s string) string {
	return `"` + strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), `"`, `\"`) + `"`
}

// files joins all that lies below a folder.
func files(t testing.TB, dir string) []byte {
	t.Helper()
	var all bytes.Buffer
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		all.WriteString(path + "\n")
		all.Write(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.Bytes()
}

// desk is a scenario of two lookups at once, then an answer.
const desk = `facts:
  apples: {in: tool, match: 'apples cost (\d+)'}
  pears: {in: tool, match: 'pears cost (\d+)'}
rules:
- {id: answer, need: [apples, pears], do: {say: "Apples ${apples}, pears ${pears}."}}
- id: look
  do: {say: "I look both up.", calls: [{tool: lookup, args: {what: apples}}, {tool: lookup, args: {what: pears}}]}
`

const deskTask = "What do apples and pears cost?"

// simulated answers with the desk script, and with faults.
func simulated(t testing.TB, profile string, faults ...sim.Fault) SimOptions {
	t.Helper()
	script, err := sim.ParseScript("desk", []byte(desk))
	if err != nil {
		t.Fatal(err)
	}
	return SimOptions{
		Profile: profile,
		Find:    func(text string) (string, bool) { return "desk", text == deskTask },
		New: func(_, profile string, seed uint64) (*sim.Model, error) {
			p, _ := sim.Lookup(profile)
			return sim.New(p, sim.Options{Script: script, Seed: seed, Faults: faults}), nil
		},
	}
}
