//go:build unix

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// A base URL that leads to a web server is no model that fails: all is errored, and
// it is said what came instead of an answer.
func TestRunAgainstAWebServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<h1>It works</h1>")
	}))
	defer server.Close()
	dir := t.TempDir()
	suite, file := fetching(t, dir, server.URL, 2, twoArms, "")
	t.Setenv("ACME_KEY", theKey)
	out, errs := try(t, 4, "run", suite, "--models", file, "-o", filepath.Join(dir, "run"))
	if !strings.Contains(errs, "2 of 2 trials errored") || !strings.Contains(out, "provider: 2 trials") || !strings.Contains(out, "is the base URL that of a chat") {
		t.Errorf("%s%s", out, errs)
	}
}
