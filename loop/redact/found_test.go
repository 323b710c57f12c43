package redact

import (
	"strings"
	"testing"
)

// What was found is told by kind and count, a secret that is known in two ways
// once, and never by what it is.
func TestFound(t *testing.T) {
	const own, key, token = "velvet-Cargo-2201", "sk-live-4fK9aQz27LmXw83RtYb1", "7Gk2vQ9sLx41ZbTn8RcYwE03"
	r := New(own, key)
	for text, want := range map[string]string{
		"":                                     "",
		"plain text, nothing in it":            "",
		own + " and " + own:                    "declared 2",
		"key " + key:                           "sk 1",
		own + ", " + key + ", Bearer " + token: "bearer 1, declared 1, sk 1",
		"-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----": "private key 1",
	} {
		var f Found
		masked := r.Note(text, &f)
		if f.String() != want || len(masked) != len(text) || strings.Contains(masked, own) {
			t.Errorf("%q: %q, %q, want %q", text, masked, f.String(), want)
		}
		var again Found
		if r.Note(masked, &again) != masked || again.String() != "" {
			t.Errorf("%q: found again: %s", masked, again.String())
		}
	}
	var f Found
	r.Note(own, &f)
	New().Note(key, &f)
	if f.String() != "declared 1, sk 1" {
		t.Error(f.String())
	}
	if (*Redactor)(nil).Note(own, nil) != own {
		t.Error("no redactor masks")
	}
}
