package wire

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strings"
	"testing"
	"time"
)

// bare is an upstream that says just what it is told to, and keeps what it was sent.
func bare(t *testing.T, answer string) (url string, asked <-chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	got := make(chan string, 16)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			r := bufio.NewReader(conn)
			line, _ := r.ReadString('\n')
			head, _ := textproto.NewReader(r).ReadMIMEHeader()
			var n int
			fmt.Sscan(head.Get("Content-Length"), &n)
			body := make([]byte, n)
			io.ReadFull(r, body)
			got <- strings.TrimRight(line, "\r\n") + " " + string(body)
			io.WriteString(conn, answer)
			conn.Close()
		}
	}()
	return "http://" + l.Addr().String(), got
}

// speak sends bytes and returns all that comes back.
func speak(t *testing.T, url, request string) string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	io.WriteString(conn, request)
	b, err := io.ReadAll(conn)
	if err != nil {
		t.Fatalf("%v after %q", err, b)
	}
	return string(b)
}

// The upstream is asked for just the path and query that the client wrote.
func TestRequestLinesPassUnchanged(t *testing.T) {
	for _, target := range []string{
		"/v1/models/a%2Fb", "/v1/models/a%2Fb|c^d", "/v1//models/%41", "//v1/models", "/v1/models?", "/v1/models?a=%2f%zz;b|c&&d", "/v1/models/[x]/{y}\"",
		"/v1/models/h\xc3\xa9", "/v1/models/%E4%BD%A0", "/other/../v1/models", "/",
	} {
		up, asked := bare(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
		rec := record(t, proxy(t, up+"/v1"))
		raw := speak(t, rec.url, "GET "+target+" HTTP/1.0\r\nHost: localhost\r\n\r\n")
		want := "/v1" + strings.TrimPrefix(target, "/v1")
		if strings.HasPrefix(target, "/v1/") {
			want = target
		}
		if got := <-asked; got != "GET "+want+" HTTP/1.1 " {
			t.Errorf("%s: the upstream was asked %q", target, got)
		}
		if !strings.HasSuffix(raw, "\r\n\r\nhi") {
			t.Errorf("%s: got %q", target, raw)
		}
		rec.end()
	}
}

// What an upstream does not say the endpoint does not say either, and what it says
// after its body comes through.
func TestAnswersPassUnchanged(t *testing.T) {
	for _, tt := range []struct{ name, request, answer, has, hasNot string }{
		{"no content type", "GET /v1/models HTTP/1.1\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>", "\r\n\r\n<html>", "Content-Type"},
		{"of an old server", "GET /v1/models HTTP/1.1\r\n", "HTTP/1.0 200 OK\r\nX-A: b\r\n\r\n<html>", "<html>", "Content-Type"},
		{"to an old client", "GET /v1/models HTTP/1.0\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "\r\n\r\nabc", "chunked"},
		{"trailers", "GET /v1/models HTTP/1.1\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 7\r\n\r\n", "0\r\nX-Sum: 7\r\n\r\n", "Content-Type"},
		{"head", "HEAD /v1/models HTTP/1.1\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nContent-Type: a/b\r\n\r\n", "Content-Length: 6\r\n", "<html>"},
		{"no content", "DELETE /v1/responses/r HTTP/1.1\r\n", "HTTP/1.1 204 No Content\r\n\r\n", "204 No Content", "Content-"},
		{"not modified", "GET /v1/models HTTP/1.1\r\n", "HTTP/1.1 304 Not Modified\r\nEtag: \"x\"\r\n\r\n", "Etag: \"x\"", "Content-"},
		{"continue", "POST /v1/x HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 0\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: a/b\r\n\r\nhi", "\r\n\r\nhi", "text/"},
		{"many headers", "GET /v1/models HTTP/1.1\r\nX-Long: " + strings.Repeat("x", 200<<10) + "\r\n", "HTTP/1.1 200 OK\r\nX-Long: " + strings.Repeat("y", 200<<10) + "\r\nContent-Length: 0\r\n\r\n", strings.Repeat("y", 200<<10), "Content-Type"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			up, asked := bare(t, tt.answer)
			rec := record(t, proxy(t, up))
			raw := speak(t, rec.url, tt.request+"Host: localhost\r\nConnection: close\r\n\r\n")
			<-asked
			if !strings.Contains(raw, tt.has) || strings.Contains(raw, tt.hasNot) {
				t.Errorf("got %.500q", raw)
			}
			if tp := rec.end(); len(tp.Exchanges) != 1 || tp.Exchanges[0].Broken != "" {
				t.Errorf("recorded %+v", tp.Exchanges)
			}
		})
	}
}
