package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// EndpointOptions say how an endpoint listens.
type EndpointOptions struct {
	// AllowRemote lets it listen on an address that other machines reach, and
	// takes requests for any host name: an agent in a container needs that.
	// Requests that a web page of another origin makes are refused all the same.
	AllowRemote bool
}

// Endpoint is a server for one handler on one address.
type Endpoint struct {
	listener net.Listener
	server   *http.Server
	cancel   context.CancelFunc // of every request
	mu       sync.Mutex
	stopping bool
	busy     sync.WaitGroup // handlers at work; none begins once it is stopping
	done     chan struct{}  // closed when the server has returned
	err      error          // why it returned; read after done
}

// Listen opens an endpoint on a host:port address; port 0 takes a free one.
// Without AllowRemote the host must be a loopback address or localhost. Requests
// wait until Serve is called.
func Listen(addr string, o EndpointOptions) (*Endpoint, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w; write it as 127.0.0.1:8080, port 0 takes a free one", addr, err)
	}
	if !o.AllowRemote && !isLoopback(host) {
		return nil, fmt.Errorf("listen on %q: other machines reach that address; use 127.0.0.1, or --allow-remote where that is wanted", addr)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", addr, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	e := &Endpoint{listener: l, cancel: cancel, done: make(chan struct{})}
	e.server = &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    1 << 20,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		// net/http would tell of clients that left, which is no news.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	return e, nil
}

// isLoopback reports whether only this machine reaches a host.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return ip != nil && ip.IsLoopback()
}

// URL is the base of the APIs, without /v1 and without a slash at its end. An
// address that stands for all of the machine's is said as 127.0.0.1.
func (e *Endpoint) URL() string {
	a := e.listener.Addr().(*net.TCPAddr)
	host := a.IP.String()
	if a.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, fmt.Sprint(a.Port))
}

// Serve answers with h until Stop is called. It returns at once; call it once.
func (e *Endpoint) Serve(h http.Handler, o EndpointOptions) {
	e.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !e.enter() {
			panic(http.ErrAbortHandler) // it came with the end
		}
		defer e.busy.Done()
		if why := refuse(r, o); why != "" {
			http.Error(w, "harnessbench: "+why, http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
	go func() {
		defer close(e.done)
		if err := e.server.Serve(e.listener); !errors.Is(err, http.ErrServerClosed) {
			e.err = err
		}
	}()
}

// enter counts a handler, unless the endpoint is stopping.
func (e *Endpoint) enter() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.stopping {
		e.busy.Add(1)
	}
	return !e.stopping
}

// refuse keeps web pages out. A page whose name was bound to 127.0.0.1 sends
// that name as Host; a page of another origin sends its Origin with all that can
// change something.
func refuse(r *http.Request, o EndpointOptions) string {
	if !o.AllowRemote && !isLoopback(hostOf(r.Host)) {
		return "the Host of a request is 127.0.0.1 or localhost here; for another use serve --allow-remote"
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || !isLoopback(u.Hostname()) {
			return "web pages of other origins are not answered"
		}
	}
	return ""
}

// hostOf is a Host header without its port.
func hostOf(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return host
}

// Failed is closed when the server has ended, which before Stop means that it
// failed: Stop then says why.
func (e *Endpoint) Failed() <-chan struct{} { return e.done }

// Stop ends the endpoint: no new request is taken, those being answered have
// grace to end and are then cut off. When it returns no handler is at work.
func (e *Endpoint) Stop(grace time.Duration) error {
	ctx, stop := context.WithTimeout(context.Background(), grace)
	defer stop()
	if e.server.Shutdown(ctx) != nil {
		e.cancel()
		e.server.Close()
	}
	e.cancel()
	e.listener.Close() // where Serve was never called
	e.mu.Lock()
	e.stopping = true
	e.mu.Unlock()
	e.busy.Wait()
	if e.server.Handler != nil {
		<-e.done
	}
	return e.err
}
