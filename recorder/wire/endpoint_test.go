package wire

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/harnessbench/harnessbench/loop/model/sim"
)

func TestOnlyLoopbackIsListenedOn(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.com:80", "127.0.0.1"} {
		if e, err := Listen(addr, EndpointOptions{}); err == nil {
			e.Stop(0)
			t.Errorf("%s was taken", addr)
		}
	}
	for _, addr := range []string{"127.0.0.1:0", "localhost:0"} {
		e, err := Listen(addr, EndpointOptions{})
		if err != nil {
			t.Error(err)
			continue
		}
		if u := e.URL(); !strings.HasPrefix(u, "http://127.0.0.1:") && !strings.HasPrefix(u, "http://[::1]:") {
			t.Error(u)
		}
		if err := e.Stop(0); err != nil {
			t.Error(err)
		}
	}
}

func TestWebPagesAreKeptOut(t *testing.T) {
	ok := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {})
	for _, tt := range []struct {
		host, origin string
		want, remote int // without and with AllowRemote
	}{
		{"127.0.0.1:1", "", 200, 200},
		{"localhost", "", 200, 200},
		{"LOCALHOST:80", "", 200, 200},
		{"[::1]:80", "", 200, 200},
		{"127.0.0.1.evil.example", "", 403, 200},
		{"evil.example:80", "", 403, 200},
		{"host.docker.internal:8080", "", 403, 200},
		{"127.0.0.1:1", "https://evil.example", 403, 403},
		{"127.0.0.1:1", "null", 403, 403},
		{"127.0.0.1:1", "http://localhost:3000", 200, 200},
	} {
		for _, remote := range []bool{false, true} {
			e, err := Listen("127.0.0.1:0", EndpointOptions{AllowRemote: remote})
			if err != nil {
				t.Fatal(err)
			}
			e.Serve(ok)
			req, _ := http.NewRequest("POST", e.URL()+"/v1/chat/completions", nil)
			req.Host = tt.host
			if tt.origin != "" {
				req.Header.Set("Origin", tt.origin)
			}
			a := do(req)
			want := tt.want
			if remote {
				want = tt.remote
			}
			if a.status != want || a.header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("Host %s, Origin %s, remote %t: %d, want %d", tt.host, tt.origin, remote, a.status, want)
			}
			e.Stop(0)
		}
	}
}

// lower sets a bound for a test.
func lower[T any](t *testing.T, bound *T, to T) {
	old := *bound
	*bound = to
	t.Cleanup(func() { *bound = old })
}

func zstded(s string) string {
	z, _ := zstd.NewWriter(nil)
	return string(z.EncodeAll([]byte(s), nil))
}

func TestBodiesAreBounded(t *testing.T) {
	lower(t, &maxBody, 1<<20)
	at := endpoint(t, NewSim(SimOptions{Profile: "sim/oracle"}))
	big := chat(strings.Repeat("x", 1<<20))
	for _, tt := range []struct {
		name, body, encoding string
		status               int
	}{
		{"small", chat("hi"), "", 200},
		{"large", big, "", 413},
		{"gzip", gzipped(chat("hi")), "gzip", 200},
		{"gzip bomb", gzipped(big), "gzip", 413},
		{"gzip of nothing", "", "gzip", 400},
		{"no gzip", chat("hi"), "gzip", 400},
		{"half a gzip", gzipped(chat("hi"))[:30], "gzip", 400},
		{"zstd", zstded(chat("hi")), "zstd", 200},
		{"zstd bomb", zstded(big), "zstd", 413},
		{"no zstd", "hello", "zstd", 400},
		{"identity", chat("hi"), "identity", 200},
		{"unknown", chat("hi"), "br", 400},
	} {
		for _, path := range []string{"/v1/chat/completions", "/v1/messages"} {
			if a := ask(t, at+path, strings.Replace(tt.body, `"m"`, `"m","max_tokens":9`, 1), "Content-Encoding", tt.encoding); a.err != nil || a.status != tt.status && !(tt.encoding == "gzip" || tt.encoding == "zstd") {
				t.Errorf("%s: %d %s %v, want %d", tt.name, a.status, a.body, a.err, tt.status)
			} else if tt.status != 200 && (a.status != tt.status || !bytes.Contains(a.body, []byte(`"error"`))) {
				t.Errorf("%s: %d %s, want %d", tt.name, a.status, a.body, tt.status)
			}
		}
	}
}

// What waits for the server's end is ended by it, and Stop returns only then.
func TestStopEndsWhatHangs(t *testing.T) {
	entered := make(chan bool)
	e, err := Listen("127.0.0.1:0", EndpointOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var ended bool
	e.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
		time.Sleep(20 * time.Millisecond)
		ended = true
	}))
	got := make(chan answered, 1)
	go func() { got <- get(t, e.URL()+"/") }()
	<-entered
	if err := e.Stop(10 * time.Millisecond); err != nil {
		t.Error(err)
	}
	if !ended {
		t.Error("a handler is still at work")
	}
	if a := <-got; a.err == nil && a.status == 0 {
		t.Error(a)
	}
	if _, err := net.DialTimeout("tcp", strings.TrimPrefix(e.URL(), "http://"), time.Second); err == nil {
		t.Error("it still listens")
	}
}

func TestAnEndpointThatNeverServedStops(t *testing.T) {
	e, err := Listen("127.0.0.1:0", EndpointOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Stop(0); err != nil {
		t.Error(err)
	}
}

// Two thousand requests leave no goroutine behind; some of them are recorded,
// which waits for the disk each time.
func TestNothingLeaks(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("requests", func(t *testing.T) {
		upstream := httptest.NewServer(NewSim(SimOptions{Profile: "sim/oracle"}))
		defer upstream.Close()
		through := proxy(t, upstream.URL)
		rec := record(t, through)
		plain := endpoint(t, through)
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				for i := range 250 {
					at := plain
					if i%25 == 0 {
						at = rec.url
					}
					a := ask(t, at+"/v1/chat/completions", chat(fmt.Sprintf("lane %d", g), fmt.Sprintf(`,"seed":%d`, i)))
					if a.err != nil || a.status != 200 {
						t.Errorf("%d %v", a.status, a.err)
						return
					}
				}
			})
		}
		wg.Wait()
		if tp := rec.end(); len(tp.Exchanges) != 80 {
			t.Errorf("%d exchanges", len(tp.Exchanges))
		}
	})
	client.CloseIdleConnections()
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > before+2 {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<16)
			t.Fatalf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestMemoryForgetsTheOldest(t *testing.T) {
	m := memory[int, int]{max: 3}
	for i := range 10 {
		m.update(i, func(int) int { return i })
		m.update(i, func(old int) int { return old }) // known: takes no room
		if len(m.m) > 3 {
			t.Fatalf("%d entries", len(m.m))
		}
	}
	for i := range 10 {
		if v, ok := m.get(i); ok != (i >= 7) || ok && v != i {
			t.Errorf("%d: %d, %t", i, v, ok)
		}
	}
}

// Whatever is sent, every path answers: no handler panics but to break a
// connection.
func FuzzSim(f *testing.F) {
	f.Add("/v1/chat/completions", []byte(chat("hi")), "")
	f.Add("/v1/messages", []byte(chat("hi", `,"max_tokens":5,"stream":true`)), "")
	f.Add("/v1/responses", []byte(`{"model":"m","input":"hi","previous_response_id":"x"}`), "")
	f.Add("/v1/messages/count_tokens", []byte(chat("hi")), "gzip")
	f.Add("/v1/models/sim/weak", []byte(nil), "zstd")
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	io.WriteString(w, chat("hi"))
	w.Close()
	f.Add("/v1/chat/completions", z.Bytes(), "gzip")
	h := NewSim(SimOptions{Profile: sim.Profiles()[0].Name})
	f.Fuzz(func(t *testing.T, path string, body []byte, encoding string) {
		for _, method := range []string{"POST", "GET"} {
			r := httptest.NewRequest(method, "/", bytes.NewReader(body))
			r.URL.Path = path
			r.Header.Set("Content-Encoding", encoding)
			w := httptest.NewRecorder()
			func() {
				defer func() {
					if p := recover(); p != nil && p != http.ErrAbortHandler {
						panic(p)
					}
				}()
				h.ServeHTTP(w, r)
			}()
			if w.Code < 200 || w.Code > 599 {
				t.Errorf("status %d", w.Code)
			}
		}
	})
}
