package wire

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func gzipped(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, s)
	z.Close()
	return b.String()
}

// noise is n bytes that no JSON or UTF-8 reader likes.
func noise(n int) string {
	rnd := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rnd.IntN(256))
	}
	return string(b)
}

// What an upstream may send, in the pieces in which it is flushed.
var nasty = []struct {
	name   string
	status int
	header [2]string
	pieces []string
}{
	{"json", 200, [2]string{"Content-Type", "application/json"}, []string{`{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`}},
	{"crlf", 200, [2]string{"Content-Type", "text/event-stream"}, []string{"data: {\"a\":1}\r\n\r\n", "data: [DONE]\r\n\r\n"}},
	{"comments and pings", 200, [2]string{"Content-Type", "text/event-stream"}, []string{": OPENROUTER PROCESSING\n\n", ":\n\n", "event: ping\ndata: {}\n\n", "data: x\n\n"}},
	{"split utf-8", 200, [2]string{"Content-Type", "text/event-stream"}, []string{"data: {\"t\":\"h\xc3", "\xa9 \xf0\x9f", "\x98\x80\"}", "\n", "\n"}},
	{"bom and cr", 200, [2]string{"Content-Type", "text/event-stream; charset=utf-8"}, []string{"\xef\xbb\xbfdata: 1\rdata: 2\r\r", "data: [DONE]\r\r"}},
	{"one byte a piece", 200, [2]string{"Content-Type", "text/event-stream"}, strings.Split("data: hello\n\n", "")},
	{"no utf-8", 200, [2]string{"Content-Type", "application/octet-stream"}, []string{noise(4 << 10)}},
	{"large", 200, [2]string{"Content-Type", "application/json"}, []string{noise(1 << 20), noise(1<<20 + 7)}},
	{"empty", 200, [2]string{"Content-Type", "application/json"}, nil},
	{"no content", 204, [2]string{"X-Request-Id", "r1"}, nil},
	{"gzip nobody asked for", 200, [2]string{"Content-Encoding", "gzip"}, []string{gzipped(`{"id":"x"}`)}},
	{"no content type", 200, [2]string{"Content-Type", ""}, []string{"<html>"}},
	{"rate limit", 429, [2]string{"Retry-After", "2"}, []string{`{"error":{"message":"slow down","type":"requests"}}`}},
	{"html error", 502, [2]string{"Content-Type", "text/html"}, []string{"<h1>Bad Gateway</h1>"}},
	{"redirect", 307, [2]string{"Location", "https://elsewhere.example/"}, []string{"moved"}},
}

func TestBytesPassUnchangedAndAreReplayed(t *testing.T) {
	for _, tt := range nasty {
		for _, mode := range []string{"", `,"stream":true`} {
			t.Run(tt.name+mode, func(t *testing.T) {
				upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set(tt.header[0], tt.header[1])
					if tt.header[1] == "" {
						w.Header()[tt.header[0]] = nil
					}
					w.WriteHeader(tt.status)
					for _, p := range tt.pieces {
						io.WriteString(w, p)
						w.(http.Flusher).Flush()
					}
				}))
				defer upstream.Close()
				direct := ask(t, upstream.URL+"/v1/chat/completions", chat("hi", mode))
				rec := record(t, proxy(t, upstream.URL))
				noFollow(t)
				through := ask(t, rec.url+"/v1/chat/completions", chat("hi", mode))
				want := strings.Join(tt.pieces, "")
				if direct.err == nil && tt.status != 307 && string(direct.body) != want {
					t.Fatal("the upstream of the test does not say what it should")
				}
				if string(through.body) != want || through.status != tt.status || through.err != nil {
					t.Errorf("status %d, %q, %v; want %d, %q", through.status, through.body, through.err, tt.status, want)
				}
				if got := through.header.Get(tt.header[0]); got != tt.header[1] {
					t.Errorf("%s: %q, want %q", tt.header[0], got, tt.header[1])
				}
				tp := rec.end()
				if got := tp.Exchanges[0].AnswerBody(); string(got) != want {
					t.Errorf("recorded %q, want %q", got, want)
				}
				at, h := replay(t, tp, ReplayOptions{})
				again := ask(t, at+"/v1/chat/completions", chat("hi", mode))
				if string(again.body) != want || again.status != tt.status || again.err != nil {
					t.Errorf("replayed: status %d, %q, %v", again.status, again.body, again.err)
				}
				if got := again.header.Get(tt.header[0]); got != tt.header[1] && tt.status != 307 {
					t.Errorf("replayed %s: %q, want %q", tt.header[0], got, tt.header[1])
				}
				if r := h.Report(); r.Verdict != "EXACT" {
					t.Errorf("%s: %s", r.Verdict, r.Reason)
				}
			})
		}
	}
}

// noFollow has the client of the test show redirects as they come.
func noFollow(t *testing.T) {
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t.Cleanup(func() { client.CheckRedirect = nil })
}

// Every read of the upstream reaches the client before the next one is there.
func TestAnswersAreNotHeldBack(t *testing.T) {
	next := make(chan string)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		for p := range next {
			io.WriteString(w, p)
			w.(http.Flusher).Flush()
		}
	}))
	defer upstream.Close()
	rec := record(t, proxy(t, upstream.URL))
	resp, err := client.Post(rec.url+"/v1/chat/completions", "application/json", strings.NewReader(chat("hi")))
	if err != nil {
		t.Fatal(err) // headers come before the first byte of the body
	}
	defer resp.Body.Close()
	pieces := []string{": ping\n\n", "data: \xf0", "\x9f\x98\x80\n\n", "data: [DONE]\n\n"}
	buf := make([]byte, 100)
	for _, p := range pieces {
		next <- p
		n, err := resp.Body.Read(buf)
		if err != nil || string(buf[:n]) != p {
			t.Errorf("%q, %v; want %q", buf[:n], err, p)
		}
	}
	close(next)
	if _, err := resp.Body.Read(buf); err != io.EOF {
		t.Error(err)
	}
	var got []string
	x := rec.end().Exchanges[0]
	for i, f := range x.Frames {
		got = append(got, string(f.Data))
		if i > 0 && f.At < x.Frames[i-1].At {
			t.Errorf("frame %d is before the one before it", i)
		}
	}
	if diff := cmp.Diff(pieces, got); diff != "" {
		t.Errorf("frames (-sent +recorded):\n%s", diff)
	}
}

func TestRequestsPassUnchanged(t *testing.T) {
	var got *http.Request
	var body []byte
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
	}))
	defer upstream.Close()
	at := endpoint(t, proxy(t, upstream.URL))
	sent := "{ \"model\" : \"m\",\r\n\"messages\":[{\"role\":\"user\",\"content\":\"h\xffi\"}], \"x\": 1.50}"
	req, _ := http.NewRequest("POST", at+"/v1/chat/completions?api-version=1&a=%2F%20b", strings.NewReader(sent))
	for k, v := range map[string]string{"Authorization": "Bearer k", "X-Custom": "a, b", "Accept-Encoding": "gzip, br", "Connection": "X-Hop, close",
		"X-Hop": "1", "Keep-Alive": "5", "Te": "trailers", "Proxy-Authorization": "Basic x", "User-Agent": "agent/1", "Content-Type": "application/json; charset=utf-8"} {
		req.Header.Set(k, v)
	}
	if a := do(req); a.err != nil || a.status != 200 {
		t.Fatal(a)
	}
	if string(body) != sent || got.RequestURI != "/v1/chat/completions?api-version=1&a=%2F%20b" || got.ContentLength != int64(len(sent)) {
		t.Errorf("%s, %d bytes: %q", got.RequestURI, got.ContentLength, body)
	}
	want := http.Header{"Authorization": {"Bearer k"}, "X-Custom": {"a, b"}, "Accept-Encoding": {"identity"}, "User-Agent": {"agent/1"},
		"Content-Type": {"application/json; charset=utf-8"}, "Content-Length": {fmt.Sprint(len(sent))}}
	if diff := cmp.Diff(want, got.Header); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if strings.HasPrefix(got.Host, "127.0.0.1") && "http://"+got.Host != upstream.URL {
		t.Errorf("host %s", got.Host)
	}
}

func TestTargets(t *testing.T) {
	for _, tt := range []struct{ openai, anthropic, method, path, version, want string }{
		{"https://api.openai.com/v1", "", "POST", "/v1/chat/completions", "", "https://api.openai.com/v1/chat/completions"},
		{"https://api.openai.com/v1/", "", "POST", "/v1/responses?a=1", "", "https://api.openai.com/v1/responses?a=1"},
		{"https://api.openai.com", "", "POST", "/v1/responses", "", "https://api.openai.com/v1/responses"},
		{"https://api.openai.com/v1", "", "GET", "/v1/models/a%2Fb", "", "https://api.openai.com/v1/models/a%2Fb"},
		{"https://openrouter.ai/api/v1", "", "POST", "/v1/chat/completions", "", "https://openrouter.ai/api/v1/chat/completions"},
		{"https://x.example/v1beta/openai", "", "POST", "/v1/chat/completions", "", "https://x.example/v1beta/openai/chat/completions"},
		{"https://x.example/v1", "", "POST", "/chat/completions", "", "https://x.example/v1/chat/completions"},
		{"", "https://api.anthropic.com", "POST", "/v1/messages?beta=true", "", "https://api.anthropic.com/v1/messages?beta=true"},
		{"", "https://api.anthropic.com/v1", "POST", "/v1/messages", "", "https://api.anthropic.com/v1/messages"},
		{"", "https://x.example/anthropic", "POST", "/v1/messages", "", "https://x.example/anthropic/v1/messages"},
		{"https://o.example/v1", "https://a.example", "GET", "/v1/models", "2023-06-01", "https://a.example/v1/models"},
		{"https://o.example/v1", "https://a.example", "GET", "/v1/models", "", "https://o.example/v1/models"},
		{"https://o.example/v1", "https://a.example", "POST", "/v1/embeddings", "", "https://o.example/v1/embeddings"},
	} {
		parse := func(s string) *url.URL {
			u, err := ParseUpstream(s)
			if s != "" && err != nil {
				t.Fatal(err)
			}
			return u
		}
		r := httptest.NewRequest(tt.method, tt.path, nil)
		if tt.version != "" {
			r.Header.Set("Anthropic-Version", tt.version)
		}
		if got := (Upstream{parse(tt.openai), parse(tt.anthropic)}).target(r).String(); got != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.method, tt.path, got, tt.want)
		}
	}
}

func TestUpstreamsAreChecked(t *testing.T) {
	for _, bad := range []string{"", "api.openai.com", "ftp://x.example", "https://", "https://x.example/?key=1", "https://x.example/#a", "https://u:secret@x.example", "http://%zz"} {
		if _, err := ParseUpstream(bad); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// A client that leaves in the middle ends the upstream's work, and what it got is
// recorded as broken off.
func TestClientLeaves(t *testing.T) {
	gone := make(chan error, 1)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		gone <- r.Context().Err()
	}))
	defer upstream.Close()
	rec := record(t, proxy(t, upstream.URL))
	ctx, leave := context.WithCancel(context.Background())
	req, _ := http.NewRequestWithContext(ctx, "POST", rec.url+"/v1/chat/completions", strings.NewReader(chat("hi", `,"stream":true`)))
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := resp.Body.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	leave()
	resp.Body.Close()
	select {
	case <-gone:
	case <-time.After(10 * time.Second):
		t.Fatal("the upstream goes on for nobody")
	}
	x := rec.end().Exchanges[0]
	if x.Broken != leftText || string(x.AnswerBody()) != "data: 1\n\n" || x.Status != 200 {
		t.Errorf("%q after %q", x.Broken, x.AnswerBody())
	}
}

// An upstream that dies is seen by the client as it is, and again in the replay.
func TestUpstreamDies(t *testing.T) {
	for _, tt := range []struct {
		name, sent string
		length     bool
	}{{"before the answer", "", false}, {"in mid-stream", "data: 1\n\n", false}, {"in the middle of a body", `{"id":`, true}} {
		t.Run(tt.name, func(t *testing.T) {
			upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if tt.sent != "" {
					w.Header().Set("Content-Type", "text/event-stream")
					if tt.length {
						w.Header().Set("Content-Length", "100")
						w.Header().Set("Content-Type", "application/json")
					}
					io.WriteString(w, tt.sent)
					w.(http.Flusher).Flush()
				}
				panic(http.ErrAbortHandler)
			}))
			defer upstream.Close()
			rec := record(t, proxy(t, upstream.URL))
			check := func(a answered) {
				t.Helper()
				if a.err == nil || string(a.body) != tt.sent || (a.status == 0) != (tt.sent == "") {
					t.Errorf("status %d, %q, %v", a.status, a.body, a.err)
				}
			}
			check(ask(t, rec.url+"/v1/chat/completions", chat("hi", `,"stream":true`)))
			tp := rec.end()
			if x := tp.Exchanges[0]; x.Broken == "" || well(x) {
				t.Errorf("recorded as complete: %+v", x)
			}
			at, h := replay(t, tp, ReplayOptions{})
			check(ask(t, at+"/v1/chat/completions", chat("hi", `,"stream":true`)))
			if r := h.Report(); r.Verdict != "EXACT" {
				t.Errorf("%s: %s", r.Verdict, r.Reason)
			}
		})
	}
}

// Credentials reach the upstream and nothing else: no file, no log.
func TestSecretsAreNotWritten(t *testing.T) {
	secrets := []string{"sk-proj-abcdefghijklmnop1234", "Basic dXNlcjpodW50ZXIyaHVudGVyMg==", "plain-api-key-0001", "azure-key-77777777", "AIzaSyExampleExampleExampleExample01",
		"session-cookie-value-42", "answer-cookie-value-43", "declared-secret-of-the-environment"}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Set-Cookie", "id="+secrets[6]+"; Path=/")
		w.Header().Set("X-Request-Id", "for "+secrets[2])
		w.Header().Set("Content-Type", "text/event-stream")
		// it says all it knows, cut in the middle of secrets
		all := "data: " + r.Header.Get("Authorization") + r.Header.Get("X-Api-Key") + " " + r.URL.Query().Get("key") + " " + r.Header.Get("Cookie") + "\n\ndata: " + string(body) + secrets[6] + "\n\n"
		for piece := range slices.Chunk([]byte(all), 9) {
			w.Write(piece)
			w.(http.Flusher).Flush()
		}
	}))
	defer upstream.Close()
	rec := record(t, proxy(t, upstream.URL), secrets[7])
	for i, path := range []string{"/v1/chat/completions", "/v1/embeddings", "/v1/messages", "/v1/responses"} {
		auth := []string{"Bearer " + secrets[0], secrets[1]}[i%2]
		known := append([]string{auth, secrets[7]}, secrets[2:6]...) // what a client may say: it has just sent them
		body := `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":` + quote("my keys: "+strings.Join(known, " ")) + `}],"input":` + quote(secrets[0]+secrets[7]) + `}`
		a := ask(t, rec.url+path+"?key="+secrets[4], body, "Authorization", auth,
			"X-Api-Key", secrets[2], "Api-Key", secrets[3], "Cookie", "s="+secrets[5])
		if a.err != nil || !bytes.Contains(a.body, []byte(secrets[2])) {
			t.Fatalf("%s: the client does not get what the upstream said: %v", path, a.err)
		}
	}
	if tp := rec.end(); len(tp.Exchanges) != 4 {
		t.Fatalf("%d exchanges", len(tp.Exchanges))
	}
	written := files(t, rec.dir)
	for _, s := range secrets {
		_, bare, _ := strings.Cut(s, " ")
		for _, s := range []string{s, bare} {
			if s != "" && bytes.Contains(written, []byte(s)) {
				t.Errorf("%q is in what was written", s)
			}
		}
	}
	if !bytes.Contains(written, []byte("my keys: ")) {
		t.Error("the prompt is not there at all")
	}
}
