package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
)

// Upstream says where requests go: for each family of APIs the URL that a client
// would have as its base URL.
type Upstream struct {
	OpenAI    *url.URL // with the version: https://api.openai.com/v1
	Anthropic *url.URL // without it: https://api.anthropic.com
}

// The providers' own endpoints.
const (
	DefaultOpenAI    = "https://api.openai.com/v1"
	DefaultAnthropic = "https://api.anthropic.com"
)

// ParseUpstream reads the URL of a provider. User and password in it are
// refused, since they would show in logs.
func ParseUpstream(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, errors.New("the upstream is no URL; write it as https://api.openai.com/v1")
	}
	switch {
	case u.User != nil:
		return nil, errors.New("the upstream's URL has a user or password in it; credentials come from the client's headers")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("the upstream %q is not a base URL; write it as https://api.openai.com/v1", s)
	}
	return u, nil
}

// Local reports whether all of it is on this machine.
func (u Upstream) Local() bool {
	return isLoopback(u.OpenAI.Hostname()) && isLoopback(u.Anthropic.Hostname())
}

// target is where a request goes. A client puts its path behind its base URL,
// which for OpenAI ends in the version and for Anthropic does not; its base URL
// is now this endpoint, and what comes behind is put behind the upstream's.
func (u Upstream) target(r *http.Request) *url.URL {
	base := u.OpenAI
	api, _, ok := dialect.Route(r.Method, r.URL.Path)
	claude := ok && api == dialect.Messages || anthropic(r)
	if claude {
		base = u.Anthropic
	}
	rest, root := r.URL.EscapedPath(), strings.TrimSuffix(base.EscapedPath(), "/")
	if root != "" && (!claude || strings.HasSuffix(root, "/v1")) && strings.HasPrefix(rest, "/v1/") {
		rest = strings.TrimPrefix(rest, "/v1")
	}
	out := *base
	out.RawQuery = r.URL.RawQuery
	out.RawPath = root + rest
	if p, err := url.PathUnescape(out.RawPath); err == nil {
		out.Path = p
	}
	return &out
}

// Proxy passes requests on to a provider.
type Proxy struct {
	up  Upstream
	via http.RoundTripper
	log func(string)
}

// NewProxy returns a handler that passes requests on as they are, and answers
// back as they come: bodies byte for byte, each read flushed. Headers of one
// connection are dropped, and identity is the only Accept-Encoding, so that what
// is recorded can be read; a provider that packs its answer all the same is
// passed through packed. Redirects are passed on, not followed. Where no answer
// comes, or it breaks off, the client's connection breaks too, and log, which
// may be nil, is told why.
func NewProxy(up Upstream, log func(string)) *Proxy {
	if log == nil {
		log = func(string) {}
	}
	return &Proxy{up: up, log: log, via: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   30 * time.Second,
		ForceAttemptHTTP2:     true,
		DisableCompression:    true,
		MaxIdleConnsPerHost:   64,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
	}}
}

// Close gives idle connections back.
func (p *Proxy) Close() {
	if t, ok := p.via.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, bad := read(w, r)
	if bad != nil {
		fail(w, speaks("", r), bad)
		return
	}
	resp, err := p.via.RoundTrip(p.onward(r, body.raw))
	if err != nil {
		p.gaveUp(w, r, "no answer", err)
	}
	defer resp.Body.Close()
	out := w.Header()
	for name, values := range passOn(resp.Header) {
		out[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	if resp.ContentLength < 0 {
		_ = http.NewResponseController(w).Flush() // the client sees that an answer has begun
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			if werr := push(w, buf[:n]); werr != nil {
				abort(w, leftText)
			}
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			p.gaveUp(w, r, "the answer broke off", err)
		}
	}
}

// leftText is how an answer ends that nobody waits for.
const leftText = "the client left"

// gaveUp breaks the client's connection as the upstream's broke.
func (p *Proxy) gaveUp(w http.ResponseWriter, r *http.Request, what string, err error) {
	if r.Context().Err() != nil {
		abort(w, leftText)
	}
	p.log(fmt.Sprintf("%s: %s: %v", p.up.target(r).Host, what, err))
	abort(w, what)
}

// onward makes the request to the upstream.
func (p *Proxy) onward(r *http.Request, body []byte) *http.Request {
	out := r.Clone(r.Context())
	out.URL = p.up.target(r)
	out.Host = out.URL.Host
	out.RequestURI = ""
	out.Close = false
	out.TransferEncoding, out.Trailer = nil, nil
	out.Header = passOn(r.Header)
	out.Header.Set("Accept-Encoding", "identity")
	out.Header.Del("Expect")
	if _, ok := out.Header["User-Agent"]; !ok {
		out.Header["User-Agent"] = []string{""} // else net/http names itself
	}
	out.ContentLength = int64(len(body))
	out.Body, out.GetBody = http.NoBody, nil
	if len(body) > 0 {
		out.Body = io.NopCloser(bytes.NewReader(body))
	}
	return out
}
